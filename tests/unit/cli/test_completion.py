"""What TAB offers with a node running: nicknames, ids and questions, with texts of agents made harmless."""

from __future__ import annotations

import pytest

from tests.unit.cli.twin_node import ASK_ID, REQUEST_ID, exchange, session


def _complete(helio, words: str) -> list[str]:
    count = len(words.split(" ")) - 1
    env = {"_HELIO_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    result = helio(env=env)
    assert result.stderr == ""
    # Three lines an item: its type, what it puts in, its help.
    return [line for line in result.stdout.split("\n")[1::3] if line]


@pytest.fixture
def sessions(node):
    node.sessions = [
        session("payments"),
        session("Billing", session_id="bbbbbbbbbbbbbbb2"),
        session("", session_id="ccccccccccccccc2"),
        session("", session_id="ddddddddddddddd2", status="archived"),
    ]


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("helio attach @", ["@payments", "@Billing", "cccccccc"]),
        ("helio request @pay", ["@payments"]),
        ("helio nick bil", ["@Billing"]),
        ("helio rm d", ["dddddddd"]),
        ("helio unarchive d", ["dddddddd"]),
        ("helio archive d", []),
    ],
)
def test_sessions_are_offered_by_nickname_or_id(helio, words, offered):
    assert _complete(helio, words) == offered


def test_ids_are_offered_with_titles_that_do_no_harm(helio, node):
    node.exchanges = [exchange(title="evil\n\x1b[2Jtitle", questions=[ASK_ID])]
    shown = helio(
        env={"_HELIO_COMPLETE": "zsh_complete", "COMP_WORDS": "helio cancel ", "COMP_CWORD": "2"}
    ).stdout.split("\n")
    assert shown[1] == REQUEST_ID
    assert shown[2] == "evil \\x1b[2Jtitle"
    assert _complete(helio, "helio answer ask") == [ASK_ID]
    assert _complete(helio, "helio answer zzz") == []
