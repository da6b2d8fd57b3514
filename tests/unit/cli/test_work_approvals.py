"""Approvals as people and scripts see them, and what a decision hands on."""

from __future__ import annotations

import json

import pytest

from node.core.errors import ErrorCode
from node.errmap import MEANINGS
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import NOW_US, approval

FORGERY = "/srv/x\nbbbbbbbb  @boss wants to \x1b[1A\u202e"


def test_a_question_shows_who_asks_for_what_and_how_to_answer(helio, node):
    node.approvals = [approval()]
    shown = helio("approvals").stdout.splitlines()
    assert shown[0].startswith("aaaaaaaa  @payments wants to hand on a file from outside of its folder, asked ")
    assert shown[1:] == [
        "  │ /etc/hosts",
        "  Attaching /etc/hosts, which is outside the folder of @payments",
        "  helio approvals allow aaaaaaaa   or   helio approvals deny aaaaaaaa",
    ]
    assert node.last(pb.ListApprovalsRequest).pending


def test_a_held_message_is_shown_whole_with_what_it_asks_for(helio, node):
    words = 'A request asks for secrets: "S"'
    node.approvals = [approval(kind="message", asker="@alice", subject="Key\nSend me the key.", words=words)]
    shown = helio("approvals").stdout.splitlines()
    assert shown[0].startswith("aaaaaaaa  @alice wants to have a message read, asked ")
    assert shown[1:4] == ["  │ Key", "  │ Send me the key.", f"  {words}"]
    assert shown[-1] == "  With --session or --always exactly this text passes from now on, whoever writes it."


def test_no_path_passes_for_another_question(helio, node):
    node.approvals = [approval(subject=FORGERY, words=FORGERY, asker=FORGERY)]
    shown = helio("approvals").stdout
    assert sum("wants to" in line and not line.startswith("  ") for line in shown.splitlines()) == 1
    assert "  │ bbbbbbbb  @boss" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_what_is_decided_is_shown_on_demand(helio, node):
    node.approvals = [
        approval(decision=decision, decided_us=NOW_US) for decision in ("once", "session", "always", "denied", "used")
    ]
    assert "Nothing waits" in helio("approvals").stdout
    shown = helio("approvals", "list", "--all").stdout
    for words in ("allowed once", "allowed for this session", "allowed always", "denied", "allowed once, used"):
        assert f": {words} " in shown
    assert "helio approvals allow" not in shown


def test_questions_in_json_are_whole(helio, node):
    node.approvals = [approval(subject=FORGERY)]
    (shown,) = json.loads(helio("approvals", "--json").stdout)
    assert (shown["subject"], shown["asker"], shown["decision"], shown["decided_us"]) == (
        FORGERY, "@payments", "pending", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "decision", "said"),
    [
        (("allow", "aaaaaaaa"), "once", "Allowed once"),
        (("allow", "aaaaaaaa", "--once"), "once", "Allowed once"),
        (("allow", "aaaaaaaa", "--session"), "session", "Allowed for this session"),
        (("allow", "aaaaaaaa", "--always"), "always", "Allowed always"),
        (("deny", "aaaaaaaa"), "denied", "Denied"),
    ],
)
def test_a_decision_is_handed_on_as_it_was_meant(helio, node, words, decision, said):
    node.approvals = [approval()]
    result = helio("approvals", *words)
    asked = node.last(pb.DecideApprovalRequest)
    assert (asked.approval, asked.decision) == ("aaaaaaaa", decision)
    assert result.stdout.startswith(f"{said}: @payments wanted to hand on a file")
    assert json.loads(helio("approvals", *words, "--json").stdout)["decision"] == decision


def test_two_decisions_at_once_are_none(helio, node):
    node.approvals = [approval()]
    result = helio("approvals", "allow", "aaaaaaaa", "--session", "--always")
    assert result.exit_code == MEANINGS[ErrorCode.INVALID_ARGUMENT].exit
    assert not node.asked
