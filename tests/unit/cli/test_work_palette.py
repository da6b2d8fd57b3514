"""The palette without a terminal: what it offers in which order, what its keys do, and how it is drawn."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cli.palette_choices import Choice, Key, Typed, choices, pressed, propose, ranked, read_keys
from node.cli.palette_screen import choice_lines, screen
from node.cli.text import width
from node.core.errors import ErrorCode
from node.core.escape import escape
from node.core.model import AgentState, SessionStatus
from node.core.policy import clean_nickname, nickname_skeleton
from node.core.views import SessionView
from node.errmap import MEANINGS
from tests.local_twins import HOSTILE

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def session(number: int, nickname: str | None = None, title: str = "", **changes: object) -> SessionView:
    given = {
        "id": f"{number}" * 16, "nickname": nickname, "title": title, "workspace": "default", "profile": "",
        "argv": ("claude",), "cwd": "/", "status": SessionStatus.RUNNING, "state": AgentState.NEEDS_INPUT,
        "created_us": 1, "changed_us": 1, "unread": 0, "open_exchanges": 0, "pane": f"%{number}", "branch": None,
    }  # fmt: skip
    return SessionView(**(given | changes))  # type: ignore[arg-type]


def choice(name: str, title: str = "", *, new: bool = False) -> Choice:
    return Choice(session=name * 2, name=name, new=new, title=title, state="idle")


def names(found: tuple[Choice, ...]) -> list[str]:
    return [one.name for one in found]


# --- what is offered --------------------------------------------------------------------------------------------------


def test_every_session_but_the_current_is_offered_named_ones_first():
    found = choices([session(1, title="Fix the login"), session(2, "api"), session(3, "me"), session(4, "db")], "%3")
    assert [(one.name, one.new) for one in found] == [("api", False), ("db", False), ("fix-the-login", True)]
    assert found[0].state == "needs input"


def test_an_ended_session_is_offered_even_if_its_pane_number_is_in_use_again():
    ended = session(1, "old", pane="%3", status=SessionStatus.ENDED)
    (one,) = choices([ended, session(3, "me")], "%3")
    assert (one.name, one.state) == ("old", "ended")


def test_proposed_names_differ_from_all_names_and_from_each_other():
    sessions = [session(1, title="API"), session(2, title="api"), session(3, "Api"), session(4, title="Ap1")]
    found = choices(sessions, "%9")
    assert [(one.name, one.new) for one in found][1:] == [("api-2", True), ("api-3", True), ("ap1-4", True)]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix the login page", "fix-the-login-page"),
        ("Fix: the (login) page!", "fix-the-login-page"),
        ("Refactor the payment service and all tests", "refactor-the-payment"),
        ("Überprüfe Ωmega", "überprüfe-ωmega"),
        ("支付服务", "支付服务"),
        ("x" * 90, "x" * 24),
        ("", "session"),
        ("\x1b[2J\u202e!!", "2j"),
        ("😀 !!", "session"),
        ("@payments", "payments"),
    ],
)
def test_a_name_is_made_of_the_first_words_of_a_title(title, name):
    assert propose(title, []) == name


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=3))
def test_whatever_the_title_the_name_can_be_given_and_looks_like_no_other(title, taken):
    name = propose(title, [*taken, "session"])
    assert clean_nickname(name) == name
    assert nickname_skeleton(name) not in {nickname_skeleton(other) for other in [*taken, "session"]}


# --- in which order ---------------------------------------------------------------------------------------------------

OFFERED = (
    choice("billing", "Payment invoices"),
    choice("my-pay", "x"),
    choice("payments", "The service"),
    choice("pay-later", "y", new=True),
    choice("other", "Pay day", new=True),
)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", ["billing", "my-pay", "payments", "pay-later", "other"]),
        ("pay", ["payments", "my-pay", "pay-later", "billing", "other"]),
        ("@PAY", ["payments", "my-pay", "pay-later", "billing", "other"]),
        (" day pay ", ["other"]),
        ("invoices payment", ["billing"]),
        ("service", ["payments"]),
        ("zzz", []),
    ],
)
def test_names_come_before_titles_given_names_before_proposed_ones(typed, expected):
    assert names(ranked(OFFERED, typed)) == expected


@given(st.text(max_size=8))
def test_filtering_invents_nothing_and_repeats_nothing(typed):
    found = ranked(OFFERED, typed)
    assert set(found) <= set(OFFERED)
    assert len(set(found)) == len(found)


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"ab", ("a", "b")),
        ("ü語".encode(), ("ü", "語")),
        (b"\x1b", (Key.LEAVE,)),
        (b"\x1b\x1b", (Key.LEAVE,)),
        (b"\x03", (Key.LEAVE,)),
        (b"\x1b[A\x1bOB", (Key.UP, Key.DOWN)),
        (b"\x0e\x10", (Key.DOWN, Key.UP)),
        (b"a\t", ("a", Key.CHOOSE)),
        (b"\r\n", (Key.CHOOSE, Key.CHOOSE)),
        (b"\x7f\x15", (Key.RUB_OUT, Key.CLEAR)),
        (b"\x1b[1;5Cx", ("x",)),
        (b"\x1bfx", ("x",)),
        (b"\x1b[200~a\x1b[201~", ("a",)),
        (b"\xff\x01z", ("z",)),
        (b"", ()),
    ],
)
def test_what_a_terminal_sends_is_read_as_keys(data, keys):
    assert read_keys(data) == keys


@given(st.binary(max_size=12))
def test_no_bytes_hang_or_type_anything_unprintable(data):
    assert all(isinstance(key, Key) or key.isprintable() for key in read_keys(data))


def test_typing_marks_the_best_row_again_and_moving_goes_round():
    typed = Typed(text="a", marked=2)
    assert pressed(typed, "b", 3) == Typed(text="ab", marked=0)
    assert pressed(typed, Key.RUB_OUT, 3) == Typed()
    assert pressed(typed, Key.CLEAR, 3) == Typed()
    assert pressed(typed, Key.DOWN, 3) == Typed(text="a", marked=0)
    assert pressed(Typed(), Key.UP, 3) == Typed(marked=2)
    assert pressed(Typed(), Key.DOWN, 0) == Typed()
    assert len(pressed(Typed(text="x" * 64), "y", 1).text) == 64


# --- drawing ----------------------------------------------------------------------------------------------------------


def drawn(text: str) -> str:
    return SEQUENCE.sub("", text)


def test_the_marked_row_and_new_names_stand_out():
    lines = choice_lines([choice("api", "The API"), choice("fix", "Fix it", new=True)], 1, columns=60, rows=9)
    assert [drawn(line).split() for line in lines] == [
        ["@api", "idle", "The", "API"], ["\u276f", "@fix", "new", "name", "Fix", "it"],
    ]  # fmt: skip
    assert [line.startswith("\x1b[7m") for line in lines] == [False, True]


def test_the_marked_row_is_always_in_view():
    many = [choice(f"n{number}") for number in range(40)]
    for marked in range(40):
        lines = choice_lines(many, marked, columns=40, rows=7)
        assert len(lines) == 7
        assert sum(f"\u276f @n{marked} " in line for line in lines) == 1


@given(
    st.lists(st.builds(choice, st.just(HOSTILE), st.text(max_size=80)), max_size=5),
    st.text(max_size=70),
    st.integers(1, 120),
    st.integers(1, 30),
)
def test_no_text_draws_outside_of_its_line(offered, typed, columns, rows):
    shown = screen(offered, Typed(text=typed), total=5, columns=columns, rows=rows)
    lines = [drawn(part) for part in re.split(r"\r\n|\x1b\[\d+;\d+H", shown)]
    assert max(width(line) for line in lines) < max(columns, 20)
    # The last two are the footer and nothing, behind the cursor's places.
    assert len(lines) - 2 < max(rows, 4)
    assert all(escape(line) == line.replace("\\", "\\\\") for line in lines)


def test_an_empty_list_says_why():
    assert "There is no other session." in screen([], Typed(), total=0, columns=60, rows=10)
    assert "No session fits." in screen([], Typed(text="x"), total=3, columns=60, rows=10)
    assert "@x is taken" in screen([], Typed(), total=0, columns=60, rows=10, said="@x is taken\n\x1b[2J")


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pane", ["3", "%", "%3;kill-server", "", "%x", "main:1"])
def test_only_a_pane_by_its_id_is_taken(helio, pane):
    assert helio("palette", "--pane", pane).exit_code == MEANINGS[ErrorCode.INVALID_ARGUMENT].exit


def test_without_a_terminal_there_is_no_palette(helio):
    result = helio("palette", "--pane", "%3")
    assert result.exit_code == MEANINGS[ErrorCode.INVALID_ARGUMENT].exit
    assert "needs a terminal" in result.stderr
