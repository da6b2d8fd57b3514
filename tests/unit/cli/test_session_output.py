"""Sessions as people and scripts see them, and what `helio run` hands on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from node.cli.console import Console
from node.cli.conversation import exchange_table
from node.cli.session_commands import folder_words, session_environment, session_table
from node.cli.text import width
from node.codec import exchange_from_wire, session_from_wire
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import NOW_US, REQUEST_ID, exchange, session

FORGERY = "evil\nsession  bbbbbbbb  idle\x1b[2K"


def test_sessions_are_a_table(helio, node):
    node.sessions = [session(unread=3, open_exchanges=1), session("", session_id="ccccccccccccccc2", status="ended")]
    heading, first, second = helio("sessions").stdout.splitlines()
    assert heading.split()[:5] == ["SESSION", "ID", "STATE", "UNREAD", "OPEN"]
    assert first.split()[:5] == ["@payments", "ssssssss", "idle", "3", "1"]
    assert second.split()[:3] == ["cccccccc", "cccccccc", "ended"]


def test_no_text_of_a_session_makes_a_line_of_its_own(helio, node):
    node.sessions = [session(title=FORGERY, argv=[FORGERY], cwd=FORGERY)]
    shown = helio("sessions").stdout
    assert len(shown.splitlines()) == 2
    assert "\x1b" not in shown


def test_sessions_put_away_are_listed_on_demand(helio, node):
    node.sessions = [session(status="archived")]
    assert "helio run" in helio("sessions").stdout
    assert "archived" in helio("sessions", "--all").stdout


def test_sessions_in_json_are_whole(helio, node):
    node.sessions = [session(title=FORGERY)]
    result = helio("sessions", "--json")
    assert result.stdout.isascii()
    (shown,) = json.loads(result.stdout)
    assert shown["title"] == FORGERY
    assert shown["nickname"] == "payments"
    assert shown["argv"] == ["claude"]


def test_run_hands_on_folder_words_and_environment(helio, node):
    result = helio("run", "--nick", "payments", "--", "agent", "--flag", "-d", env={"API_URL": "http://x", "TMUX": "1"})
    assert result.exit_code == 0
    assert "@payments" in result.stdout
    assert "helio attach @payments" in result.stdout
    asked = node.last(pb.RunSessionRequest)
    assert list(asked.argv) == ["agent", "--flag", "-d"]
    assert asked.cwd == os.getcwd()  # noqa: PTH109  (as the command line sees it)
    assert asked.env["API_URL"] == "http://x"
    assert "TMUX" not in asked.env


def test_run_takes_what_follows_the_program_for_the_programs_own(helio, node):
    assert helio("run", "-d", "agent", "--nick", "x").exit_code == 0
    assert list(node.last(pb.RunSessionRequest).argv) == ["agent", "--nick", "x"]


def test_run_in_json_gives_the_session(helio, node):
    node.look_alikes = ["@pаyments"]
    shown = json.loads(helio("run", "--nick", "payments", "--json", "--", "agent").stdout)
    assert shown["session"]["id"] == "sssssssssssssss2"
    assert shown["look_alikes"] == ["@pаyments"]


def test_a_nickname_that_looks_like_another_is_pointed_out(helio, node):
    node.look_alikes = ["@pаyments"]
    assert "looks like @pаyments" in helio("run", "--nick", "payments", "--", "agent").stderr


def test_the_terminal_that_run_is_typed_in_is_not_handed_on():
    given = {"PATH": "/bin", "TERM": "xterm", "TMUX_PANE": "%1", "ITERM_PROFILE": "x", "BAD": "caf\udce9"}
    assert session_environment(given) == (("PATH", "/bin"),)


def test_a_nickname_is_given_and_taken_away(helio, node):
    node.sessions = [session()]
    assert "@billing" in helio("nick", "@payments", "billing").stdout
    assert "no nickname any more" in helio("nick", "@billing", "--clear").stdout
    assert node.last(pb.SetNicknameRequest).nickname == ""


def test_archive_unarchive_and_rename(helio, node):
    node.sessions = [session()]
    assert "helio unarchive ssssssss" in helio("archive", "@payments").stdout
    assert "@payments belongs to another session" in helio("unarchive", "ssssssss").stdout
    assert "titled: New" in helio("rename", "@payments", "New").stdout
    assert json.loads(helio("rename", "@payments", "New", "--json").stdout)["title"] == "New"


def test_rm_with_open_exchanges_wants_a_yes(helio, node):
    node.sessions = [session(open_exchanges=2)]
    result = helio("rm", "@PAYMENTS", given="y\n")
    assert result.exit_code == 7
    assert "2 open exchanges" in result.stderr
    assert "--yes" in result.stderr
    assert not [call for call in node.asked if isinstance(call, pb.RemoveSessionRequest)]


def test_rm_says_what_failed_with_it(helio, node):
    node.sessions = [session(open_exchanges=2)]
    assert f"failed with it: {REQUEST_ID[:8]}" in helio("rm", "@payments", "--yes").stdout


def test_rm_without_open_exchanges_does_not_ask(helio, node):
    node.sessions = [session()]
    assert helio("rm", "sssssss").exit_code == 0


@pytest.mark.parametrize("words", [("attach", "@nobody"), ("archive", "@nobody"), ("rm", "@nobody")])
def test_an_unknown_session_is_named(helio, node, words):
    result = helio(*words)
    assert result.exit_code == 4
    assert "@nobody" in result.stderr


def test_attach_needs_a_terminal(helio, node):
    node.sessions = [session()]
    result = helio("attach", "@payments")
    assert result.exit_code == 2
    assert "terminal" in result.stderr


def test_lists_fit_their_terminal():
    """Long values everywhere: no row is wider than the terminal, down to the narrowest that is told apart."""
    known = session_from_wire(
        session("n" * 32, state="needs_input", cwd="/srv/" + "folder/" * 20, title="t" * 80, argv=["claude"] * 30)
    )
    talk = exchange_from_wire(
        exchange(status="asked", status_words="Asked a question", title="t" * 80, worker="@" + "n" * 32, rung="r" * 60)
    )
    for columns in (40, 60, 80, 99, 100, 200):
        console = Console(columns=columns, colour=False, live=False)
        rows = [*session_table([known], NOW_US, console), *exchange_table([talk], NOW_US, console)]
        assert max(width(row) for row in rows) <= columns
        assert ("COMMAND" in rows[0]) is (columns >= 100)


def test_eighty_columns_show_where_a_session_works():
    known = session_from_wire(session(cwd="/srv/" + "deep/" * 20 + "payments"))
    heading, row = session_table([known], NOW_US, Console(columns=80, colour=False, live=False))
    assert "FOLDER" in heading
    assert "payments" in row.removeprefix("@payments")


def test_the_home_is_a_tilde():
    home = Path("/home/ana")
    assert folder_words("/home/ana", home) == "~"
    assert folder_words("/home/ana/shop", home) == "~/shop"
    assert folder_words("/home/anabel/shop", home) == "/home/anabel/shop"
