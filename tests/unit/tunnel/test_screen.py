"""A mirrored panel in lines of text: nothing loops, nothing hides another, nothing leaves its line."""

from __future__ import annotations

from dataclasses import replace
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cli.text import width
from node.core.mesh import Grant
from node.core.panel import PanelRow
from node.core.views_mirror import MirrorStanding, StreamState
from tests.panels import panel_id, panel_row
from tunnel.screen import Section, changes, head_line, nested, panel_lines, screen, state_words, who

NOW_US = 60_000_000
LIVE = MirrorStanding(state=StreamState.LIVE, why="", grants=frozenset({Grant.MIRROR_PANEL}), since_us=1)


def rows(*some: PanelRow) -> dict[str, PanelRow]:
    return {row.id: row for row in some}


def session(number: int, **changes: object) -> PanelRow:
    given = {"kind": "session", "opener": f"@s{number}", "worker": "", "state": "idle"} | changes
    return panel_row(number, **given)


def test_what_is_nested_stands_under_its_parent_and_what_is_over_comes_last() -> None:
    lead, hand = session(1), session(2, parent=panel_id(1))
    old, new = panel_row(3, parent=panel_id(1)), panel_row(4, parent=panel_id(1), state="accepted")
    orphan, over = panel_row(5, parent=panel_id(99)), session(6, state="ended")
    order = [(depth, row.id) for depth, row in nested(rows(over, new, orphan, old, hand, lead))]
    assert order == [
        (0, lead.id), (1, hand.id), (1, old.id), (1, new.id), (0, orphan.id), (0, over.id),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_each_row_is_there_once_however_they_are_nested(pairs: list[tuple[int, int]]) -> None:
    some = rows(*(panel_row(number, parent=panel_id(parent)) for number, parent in pairs))
    shown = nested(some)
    assert {row.id for _, row in shown} == set(some)
    assert len(shown) == len(some)
    assert all(depth <= len(some) for depth, _ in shown)


@given(st.text(max_size=60), st.integers(10, 200), st.integers(1, 60))
def test_a_screen_has_the_size_of_its_terminal_whatever_is_on_it(text: str, columns: int, lines: int) -> None:
    row = replace(panel_row(1), kind=text, title=text, state=text, opener=text, worker=text, last_word=text)
    section = Section(name=text, standing=LIVE, rows=rows(row, session(2)), left_out=3, known=True)
    drawn = screen([section, section], NOW_US, columns=columns, lines=lines)
    assert drawn.startswith("\x1b[H")
    assert drawn.endswith("\x1b[K\n\x1b[J")
    body = drawn.removeprefix("\x1b[H").removesuffix("\n\x1b[J").split("\n")
    assert len(body) <= max(lines - 1, 1)
    for line in body:
        shown = line.removesuffix("\x1b[K")
        assert not [ch for ch in shown if category(ch) in {"Cc", "Zl", "Zp", "Cs"} or ch in "\u202e\u200b"]
        assert width(shown) <= max(columns - 1, 20)


def test_more_than_a_screen_holds_is_counted() -> None:
    section = Section(name="studio", standing=LIVE, rows=rows(*map(session, range(30))), left_out=0, known=True)
    body = screen([section], NOW_US, columns=80, lines=10).split("\n")
    assert body[-2].startswith("... 24 more lines")


@pytest.mark.parametrize(("state", "words"), [
    ("asked", "asked a question"), ("needs_input", "needs input"), ("dancing", "dancing (unknown)"),
    ("", "nothing (unknown)"), ("\x1b[2J", "\\x1b[2J (unknown)"),
])  # fmt: skip
def test_a_state_that_is_not_known_is_shown_as_such(state: str, words: str) -> None:
    assert state_words(panel_row(1, state=state)) == words


def test_who_is_in_a_row() -> None:
    assert who(session(1)) == "@s1"
    assert who(panel_row(1)) == "@lead -> @hand"
    assert who(panel_row(1, kind="fan\nout")) == "fan out (unknown): @lead -> @hand"


def test_the_head_of_a_server_says_how_it_stands() -> None:
    section = Section(name="studio", standing=None, rows={}, left_out=0, known=False)
    assert head_line(section) == "studio  connecting"
    down = replace(LIVE, state=StreamState.CONNECTING, why="the link is down")
    assert head_line(replace(section, standing=down)) == "studio  connecting: the link is down"
    shown = replace(section, standing=LIVE, rows=rows(session(1)), left_out=4, known=True)
    assert head_line(shown) == "studio  live  1 row  4 not shown"
    assert panel_lines({}, NOW_US, 80) == ["Nothing is shown: there is no session and no exchange."]


def test_what_changed_is_told_once() -> None:
    one, two, three = session(1), session(2), session(3)
    busy = replace(two, state="busy")
    assert list(changes(rows(one, two, three), rows(one, busy))) == [(busy, False), (three, True)]
