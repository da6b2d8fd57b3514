"""Rows as people are shown them: a message with its outcomes is one thing, in order, in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from node.core.limits import TIMELINE_SPAN
from node.core.timeline_groups import Grouper, Shown
from node.ports_timeline import StoredRow
from tests.unit.core.test_timeline_whole import Log


def shown(rows: list[StoredRow], *, flush: bool = True) -> list[Shown[StoredRow]]:
    grouper = Grouper[StoredRow]()
    found = [one for row in rows for one in grouper.feed(row)]
    return found + list(grouper.flush()) if flush else found


def said(one: Shown[StoredRow]) -> tuple[int, bool, list[tuple[str, int]]]:
    return one.row.seq, one.late, [(outcome.decision, outcome.times) for outcome in one.outcomes]


def test_a_message_and_its_outcomes_are_one_thing() -> None:
    log = Log()
    rows = [
        log.row("relayed", "a"), log.row("relayed", "b"), log.row("noticed", "a"), log.row("noticed", "b"),
        log.row("started", None), log.row("noticed", "a"), log.row("read", "a"),
    ]  # fmt: skip
    assert [said(one) for one in shown(rows)] == [
        (0, False, [("noticed", 2), ("read", 1)]),
        (1, False, [("noticed", 1)]),
        (4, False, []),
    ]
    first = shown(rows)[0]
    assert (first.at_us, first.begun_us, first.last) == (0, 0, 6)
    assert [(one.first_us, one.last_us) for one in first.outcomes] == [(2_000_000, 5_000_000), (6_000_000, 6_000_000)]


def test_what_comes_after_a_message_was_shown_is_late() -> None:
    log, grouper = Log(), Grouper[StoredRow]()
    assert not list(grouper.feed(log.row("relayed", "a")))
    assert [said(one) for one in grouper.flush()] == [(0, False, [])]
    assert not list(grouper.feed(log.row("noticed", "a")))
    assert not list(grouper.feed(log.row("read", "a")))
    (late,) = grouper.flush()
    assert said(late) == (0, True, [("noticed", 1), ("read", 1)])
    assert (late.at_us, late.begun_us) == (1_000_000, 0)
    assert not list(grouper.feed(log.row("answered", "a")))
    assert [said(one) for one in grouper.flush()] == [(0, True, [("answered", 1)])]


def test_an_outcome_of_a_message_that_was_never_seen_stands_by_itself() -> None:
    log = Log()
    (one,) = shown([log.row("read", "a")])
    assert said(one) == (0, True, [("read", 1)])
    assert (one.begun_us, one.at_us) == (None, 0)


def test_reasons_tell_outcomes_apart() -> None:
    log = Log()
    rows = [log.row("relayed", "a"), *(log.row("noticed", "a", reason=one) for one in ("busy", "draft", "busy"))]
    (one,) = shown(rows)
    assert [(outcome.reason, outcome.times) for outcome in one.outcomes] == [("busy", 2), ("draft", 1)]


def test_older_rows_that_come_later_stand_where_they_belong() -> None:
    log = Log()
    old, new, read = log.row("relayed", "a"), log.row("relayed", "b"), log.row("read", "a")
    assert [one.row.seq for one in shown([new, old, read])] == [0, 1]


def test_a_damaged_row_is_shown_as_such() -> None:
    (one,) = shown([StoredRow(seq=7, data=b"\xff", leaf=b"")])
    assert one.fields is None
    assert one.damage


def test_memory_is_bounded_however_long_a_log_is() -> None:
    log = Log()
    rows = [log.row("relayed", f"m{number}") for number in range(TIMELINE_SPAN + 10)]
    assert [one.row.seq for one in shown(rows, flush=False)] == list(range(10))
    codes = [log.row("noticed", "m9999", reason=f"r{number}") for number in range(100)]
    (one,) = shown(codes)
    assert len(one.outcomes) < 100


@given(st.lists(st.tuples(st.sampled_from(["relayed", "read", "started"]), st.sampled_from("abc"), st.booleans())))
def test_no_row_is_lost_and_none_is_shown_twice(story: list[tuple[str, str, bool]]) -> None:
    log, grouper = Log(), Grouper[StoredRow]()
    found: list[Shown[StoredRow]] = []
    for decision, message, quiet in story:
        found += grouper.feed(log.row(decision, None if decision == "started" else message))
        found += grouper.flush() if quiet else ()
    found += grouper.flush()
    begun = [one for one in found if not one.late]
    outcomes = sum(outcome.times for one in found for outcome in one.outcomes)
    assert len(begun) == sum(decision != "read" for decision, _, _ in story)
    assert outcomes == sum(decision == "read" for decision, _, _ in story)
    assert len({one.row.seq for one in begun}) == len(begun)
