"""The timeline as people and scripts see it, and the exit status of its verification."""

from __future__ import annotations

import hashlib
import json
import time

import pytest

from node.core.timeline import Party, Scan
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import MESSAGE_ID, NOW_US, REQUEST_ID, session

FORGERY = "x\n2026-09-21 14:13:20.000+00:00  #99  message  agent.request  relayed\x1b[8m"


@pytest.fixture(autouse=True)
def _utc(home):
    time.tzset()


def test_a_row_is_a_line_with_time_codes_ends_and_ids(helio, node):
    node.timeline.add(
        "withheld", reason="prompt_injection", conv=REQUEST_ID, msg=MESSAGE_ID, kind="request",
        src=Party(session="sssssssssssssss2"), dst=Party(role="person"), side={"title": "Port", "sender": "@payments"},
        scan=Scan(engine="rules", version="1", status="flagged", score=900, rules=("override",)),
    )  # fmt: skip
    assert helio("timeline").stdout == (
        "2026-09-21 14:13:20.000+00:00  #0  message  agent.request  withheld (prompt_injection)  @payments -> person  "
        'request  exchange rqqqqqqq message mmmmmmmm  screen flagged: override  title="Port"\n'
    )


def test_no_text_beside_a_row_makes_a_row(helio, node):
    node.timeline.add("relayed", side={"title": FORGERY, "sender": FORGERY, "preview": FORGERY})
    shown = helio("timeline").stdout
    assert len(shown.splitlines()) == 1
    assert "\x1b" not in shown


def test_rows_in_json_hold_the_bytes_that_were_hashed(helio, node):
    node.timeline.add("relayed", conv=REQUEST_ID, side={"title": FORGERY})
    node.timeline.add("relayed")
    lines = helio("timeline", "--json").stdout.splitlines()
    for line, stored in zip(lines, node.timeline.stored, strict=True):
        shown = json.loads(line)
        again = json.dumps(shown["row"], sort_keys=True, separators=(",", ":")).encode()
        assert again == stored.data
        assert hashlib.sha256(b"\0" + again).hexdigest() == shown["leaf"] == stored.leaf.hex()
    assert json.loads(lines[0])["side"] == {"title": FORGERY}
    assert lines[0].isascii()


def test_a_damaged_row_is_shown_as_such(helio, node):
    node.timeline.stored.append(pb.ReadTimelineResponse(seq=7, data=b'{"a": 1}\n\x1b', leaf=b"\1" * 32))
    assert helio("timeline").stdout.startswith("#7  DAMAGED: ")
    assert json.loads(helio("timeline", "--json").stdout)["damaged"] == b'{"a": 1}\n\x1b'.hex()


def test_filters_reach_the_node(helio, node):
    node.sessions = [session()]
    helio(
        "timeline", "--engine", "agent.request", "--decision", "withheld", "--session", "@Payments", "--exchange",
        "RQQQQQQQ", "--message", "mmmmmm", "--since", "2026-09-21T14:13:20Z", "--until", "2026-09-21T14:13:21Z",
        "--from-seq", "3", "--limit", "5",
    )  # fmt: skip
    asked = node.last(pb.ReadTimelineRequest)
    assert asked == pb.ReadTimelineRequest(
        from_seq=3, limit=5, tail=True, engine="agent.request", decision="withheld", session="sssssssssssssss2",
        exchange="rqqqqqqq", message="mmmmmm", since_us=NOW_US, until_us=NOW_US + 1_000_000,
    )  # fmt: skip


def test_everything_is_shown_where_there_is_no_terminal(helio, node):
    helio("timeline")
    assert node.last(pb.ReadTimelineRequest) == pb.ReadTimelineRequest()


def test_a_nickname_that_nobody_has_is_refused(helio, node):
    result = helio("timeline", "--session", "@nobody")
    assert result.exit_code == 4
    assert "ids, not names" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"), [(("timeline",), "no rows yet"), (("timeline", "--engine", "x"), "No rows match")]
)
def test_nothing_to_show_is_said_beside_the_output(helio, node, words, said):
    result = helio(*words)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert said in result.stderr


GOOD = pb.VerifyTimelineResponse(rows=5, total=5, done=True, ok=True, root="ab" * 32, origin="local/x/1")
BAD = pb.VerifyTimelineResponse(
    rows=2, total=5, done=True, root="ab" * 32, origin="local/x/1", problem_seq=2, problem_code="edited",
    problem_words="its bytes do not have the hash",
)  # fmt: skip
NEWER = pb.VerifyTimelineResponse(rows=2, total=5, done=True, problem_seq=2, problem_code="unknown_version")
HALF = pb.VerifyTimelineResponse(rows=2, total=5)


@pytest.mark.parametrize(
    ("last", "status", "said"),
    [(GOOD, 0, "ok  5 rows"), (BAD, 1, "NOT OK  row 2: its bytes"), (NEWER, 2, "unknown_version"), (HALF, 2, "")],
    ids=["good", "tampered", "newer schema", "cut short"],
)
def test_verify_tells_by_its_exit_status(helio, node, last, status, said):
    node.verification = [HALF, last]
    result = helio("timeline", "verify")
    assert result.exit_code == status
    assert said in result.stdout
    assert bool(result.stderr) is (last is HALF)


@pytest.mark.parametrize(("last", "status"), [(GOOD, 0), (BAD, 1), (HALF, 2)])
def test_verify_in_json_is_one_object(helio, node, last, status):
    node.verification = [last]
    result = helio("timeline", "verify", "--json")
    assert result.exit_code == status
    assert json.loads(result.stdout)["rows"] == last.rows
    assert (json.loads(result.stdout)["result"] or {}).get("ok") is {0: True, 1: False, 2: None}[status]


def test_following_says_when_the_node_stopped(helio, node):
    node.timeline.add("relayed")
    node.stops = True
    result = helio("timeline", "--follow")
    assert result.exit_code == 3
    assert "relayed" in result.stdout
    assert "The node stopped" in result.stderr
