"""OCSF events are valid by the schema, mean what their rows mean, and form a chain."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.export_ocsf import Version, events
from node.core.export_record import Record
from node.core.row_codes import RowDecision, RowEngine
from node.core.timeline import Row, RowKind
from tests.export_rows import HOSTILE, LOG, MESSAGE, NODE, SIDES, WITHHELD, damaged, record, records, utc
from tests.ocsf_schema import faults
from tests.property.test_timeline import ROWS

BOTH = pytest.mark.parametrize("version", list(Version))


def told(row: Record, version: Version = Version.V1_9) -> list[dict[str, Any]]:
    return [json.loads(line) for line in events(row, utc, version=version)[0].splitlines()]


@BOTH
@pytest.mark.parametrize(
    "row",
    [
        record(MESSAGE, side={f"t{number}": text for number, text in enumerate(HOSTILE)}),
        record(WITHHELD),
        record(replace(MESSAGE, decision="held", reason="risk")),
        *(record(Row(row=kind, engine="session", decision="started", sw="1")) for kind in RowKind),
        damaged(b"\xff\x00{"),
        damaged(b""),
        record(MESSAGE, ts_us=2**53 - 1),
    ],
)
def test_events_are_valid_by_the_schema(row: Record, version: Version) -> None:
    for event in told(row, version):
        assert faults(event) == []


@settings(deadline=None, max_examples=60)
@given(ROWS, SIDES, st.sampled_from(Version))
def test_any_row_makes_valid_events(row: Row, side: dict[str, str], version: Version) -> None:
    for event in told(record(row, side=side), version):
        assert faults(event) == []


def test_the_schema_of_these_tests_finds_faults() -> None:
    (event,) = told(record(MESSAGE))
    assert faults({**event, "invented": 1})
    assert faults({**event, "type_uid": 600399999})
    assert faults({**event, "attestation": {"chain_uid": "x"}})
    assert faults({**event, "delegation": {"parent_uid": "x"}})
    assert faults({**event, "actor": {"app_name": "x"}})
    assert faults({key: value for key, value in event.items() if key != "src_endpoint"})


def test_a_relayed_message_is_an_allowed_activity_with_agent_and_delegation() -> None:
    (event,) = told(record(MESSAGE))
    assert (event["class_uid"], event["activity_id"], event["type_uid"]) == (6003, 1, 600301)
    assert (event["action_id"], event["disposition_id"], event["status_id"]) == (1, 1, 1)
    assert event["metadata"]["uid"] == f"{LOG}#0"
    assert event["metadata"]["correlation_uid"] == "c" * 16
    assert event["ai_agent"] == {
        "uid": f"{NODE}/claude", "instance_uid": "s" * 16, "name": "claude", "type_id": 0, "type": "Unknown",
    }  # fmt: skip
    assert event["delegation"] == {"uid": "c" * 16, "parent_uid": "p" * 16, "issuer_uid": NODE}
    assert event["dst_endpoint"] == {"uid": "peerbbbbbbbbbbbb", "instance_uid": "t" * 16}
    assert (event["time"], event["time_dt"]) == (1_790_000_000_250, "2026-09-21T14:13:20.250000Z")


@pytest.mark.parametrize(
    ("engine", "decision", "meant"),
    [
        (RowEngine.APPROVAL, RowDecision.ALLOWED_ONCE, (1, 1, 1)),
        (RowEngine.APPROVAL, RowDecision.ALLOWED_SESSION, (1, 1, 1)),
        (RowEngine.APPROVAL, RowDecision.ALLOWED_ALWAYS, (1, 1, 1)),
        (RowEngine.APPROVAL, RowDecision.DENIED, (2, 25, 2)),
        (RowEngine.REQUEST, RowDecision.RELEASED, (1, 1, 1)),
        (RowEngine.REQUEST, RowDecision.REFUSED_BY_PERSON, (2, 25, 2)),
        (RowEngine.REQUEST, RowDecision.EXPIRED, (3, 27, 2)),
        (RowEngine.MIRROR, RowDecision.LINK_REFUSED, (2, 25, 2)),
        (RowEngine.SESSION, RowDecision.LAUNCH_FAILED, (3, 27, 2)),
        (RowEngine.SESSION, RowDecision.STARTED, (3, 17, 1)),
    ],
)
def test_what_a_person_or_the_node_decided_is_no_mere_observation(
    engine: RowEngine, decision: RowDecision, meant: tuple[int, int, int]
) -> None:
    (event,) = told(record(Row(row=RowKind.POLICY, engine=engine, decision=decision, sw="1")))
    assert (event["action_id"], event["disposition_id"], event["status_id"]) == meant
    assert faults(event) == []


def test_what_1_8_has_no_place_for_is_unmapped() -> None:
    (event,) = told(record(MESSAGE), Version.V1_8)
    assert event["metadata"]["version"] == "1.8.0"
    assert not {"ai_agent", "delegation", "attestation"} & set(event)
    assert {"ai_agent", "delegation"} <= set(event["unmapped"]["heliograph"])


def test_a_withheld_message_is_blocked_and_a_finding_points_to_it() -> None:
    activity, finding = told(record(WITHHELD))
    assert (activity["action_id"], activity["disposition_id"], activity["status_id"]) == (2, 2, 2)
    assert activity["status_code"] == "prompt_injection"
    assert (finding["class_uid"], finding["type_uid"]) == (2004, 200401)
    assert finding["finding_info"]["related_events"] == [{"uid": f"{LOG}#0", "type_uid": 600301}]
    assert finding["metadata"]["uid"] == f"{LOG}#0/finding"
    assert finding["confidence_score"] == 90
    assert finding["unmapped"]["heliograph"]["rules"] == ["override", "disguise"]


def test_events_point_to_the_one_before_and_say_so_when_it_is_not_there() -> None:
    first, second, third, fourth = records([MESSAGE, WITHHELD, MESSAGE, MESSAGE])
    lines, before = events(first, utc)
    seen = [json.loads(lines)]
    for row in (second, third):
        lines, before = events(row, utc, before=before)
        seen += [json.loads(line) for line in lines.splitlines()]
    assert "prev_event" not in seen[0]["attestation"]
    for earlier, later in pairwise(seen):
        assert later["attestation"]["prev_event"] == {
            "uid": earlier["metadata"]["uid"],
            "type_uid": earlier["type_uid"],
            "fingerprint": earlier["attestation"]["fingerprint"],
        }
    _, of_second = events(second, utc)
    for known in (None, of_second):
        lines, _ = events(fourth, utc, before=known)
        assert json.loads(lines)["attestation"]["prev_event"] == {"uid": f"{LOG}#2"}
