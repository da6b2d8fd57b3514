"""What people and scripts see of rows that are deleted and texts that are erased, and of a timeline in trouble."""

from __future__ import annotations

import json

import pytest

from node.core.retention import DAY_US, DOUBTS, Doubt
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import NOW_US, session


def step(**changes: object) -> pb.PruneTimelineResponse:
    given = {"log": "local/x/1", "first": 0, "next": 512, "first_us": NOW_US, "last_us": NOW_US + DAY_US, "why": "age"}
    return pb.PruneTimelineResponse(**(given | changes))


def test_each_range_is_a_line_and_its_last_word_counts(helio, node):
    node.prunes = [
        step(deleted=256), step(deleted=512),
        step(first=512, next=768, why="size", deleted=256),
        step(first=768, next=1024, doubt="clock_stepped"), step(log="local/x/2", doubt="clock_stepped"),
    ]  # fmt: skip
    result = helio("timeline", "prune")
    first, second, third, fourth = result.stdout.splitlines()
    assert first.startswith("rows 0 to 511 of local/x/1, ")
    assert first.endswith(": deleted (older than they are kept)")
    assert second.startswith("rows 512 to 767 of local/x/1, ")
    assert second.endswith(": deleted (more than is kept)")
    assert third.endswith(": stay (older than they are kept)")
    assert "local/x/2" in fourth
    # Said once, however many ranges it keeps.
    assert result.stderr.count(DOUBTS[Doubt.STEPPED]) == 1
    assert not node.last(pb.PruneTimelineRequest).dry_run


def test_a_dry_run_says_what_would_go_and_asks_for_no_more(helio, node):
    node.prunes = [step()]
    assert ": would go (older" in helio("timeline", "prune", "--dry-run").stdout
    assert node.last(pb.PruneTimelineRequest).dry_run


def test_nothing_due_is_said(helio, node):
    assert helio("timeline", "prune").stdout.startswith("Nothing is due")
    assert json.loads(helio("timeline", "prune", "--json").stdout) == {"dry_run": False, "ranges": []}


def test_ranges_in_json(helio, node):
    node.prunes = [step(deleted=512)]
    (one,) = json.loads(helio("timeline", "prune", "--json").stdout)["ranges"]
    assert (one["first"], one["next"], one["deleted"], one["doubt"]) == (0, 512, 512, None)


def test_a_hostile_log_cannot_pass_for_a_line_of_ours(helio, node):
    node.prunes = [step(log="x\nrows 1 to 2\x1b[2J")]
    assert len(helio("timeline", "prune").stdout.splitlines()) == 1


def test_an_erasure_asks_first_and_is_not_done_where_nobody_can_answer(helio, node):
    node.erases = [pb.EraseTimelineResponse(seq=9, size=9, found=3)]
    result = helio("timeline", "erase", "4", "5")
    assert result.exit_code != 0
    assert "Nothing was erased" in result.stderr
    assert "3 texts beside rows" in result.stderr
    assert [call.dry_run for call in node.asked if isinstance(call, pb.EraseTimelineRequest)] == [True]


def test_an_erasure_says_what_it_did(helio, node):
    node.sessions = [session()]
    node.erases = [pb.EraseTimelineResponse(seq=9, size=9, found=3, erased=3)]
    words = ("4", "--field", "title", "--exchange", "ABC", "--session", "@payments", "--older-than", "30d", "--yes")
    assert helio("timeline", "erase", *words).stdout == "3 texts erased.\n"
    asked = node.last(pb.EraseTimelineRequest)
    assert (list(asked.seqs), asked.field, asked.exchange, asked.dry_run) == ([4], "title", "abc", False)
    assert asked.session == "sssssssssssssss2"
    assert asked.before_us > 0
    assert json.loads(helio("timeline", "erase", "4", "--yes", "--json").stdout) == {"erased": 3}


def test_no_texts_to_erase_is_no_question(helio, node):
    node.erases = [pb.EraseTimelineResponse(seq=9, size=9)]
    assert helio("timeline", "erase", "4").stdout == "There are no such texts.\n"


@pytest.mark.parametrize("writable", [True, False])
def test_alarms_are_where_people_look(helio, node, writable):
    node.timeline_writable = writable
    node.alarms = ["The disk is full.", "Two\nlines."]
    shown = helio("status").stdout
    assert "           The disk is full.\n" in shown
    assert "Two lines." in shown
    assert json.loads(helio("status", "--json").stdout)["timeline_alarms"] == node.alarms
    found = [one for one in json.loads(helio("doctor", "--json").stdout)["checks"] if one["check"] == "timeline"]
    assert [one["level"] for one in found] == (["warn", "warn"] if writable else ["fail", "warn"])
    assert "The disk is full." in (found[0]["found"] + found[0]["remedy"])
