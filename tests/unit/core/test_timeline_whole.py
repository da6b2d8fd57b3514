"""A message's rows stay together: what is wanted of one brings the others."""

from __future__ import annotations

from dataclasses import replace

from node.core.limits import TIMELINE_SPAN
from node.core.timeline import Clock, Head, Row, RowKind, append
from node.core.timeline_filter import RowFilter
from node.core.timeline_whole import Whole
from node.ports_timeline import StoredRow


class Log:
    """Rows as a node writes them, each a second after the one before."""

    def __init__(self) -> None:
        self.head = Head.empty("local/n/1")

    def row(self, decision: str, message: str | None, *, title: str = "", reason: str | None = None) -> StoredRow:
        kind = RowKind.MESSAGE if decision in {"relayed", "withheld", "held"} else RowKind.OUTCOME
        made = Row(
            row=RowKind.LIFECYCLE if message is None else kind, engine="agent.request", decision=decision, sw="t/1",
            msg=message, reason=reason,
        )  # fmt: skip
        at = self.head.size
        clock = Clock(ts_us=at * 1_000_000, mono_us=at, boot="b")
        self.head, entry = append(self.head, clock, made)
        side = (("title", title),) if title else ()
        return StoredRow(seq=entry.seq, data=entry.data, leaf=entry.leaf, side=side)


def given(wanted: RowFilter, rows: list[StoredRow]) -> list[int]:
    whole = Whole[StoredRow](wanted)
    return [one.seq for row in rows for one in whole.feed(row).rows]


def story(log: Log) -> list[StoredRow]:
    return [
        log.row("relayed", "a", title="port"),  # 0
        log.row("relayed", "b", title="starboard"),  # 1
        log.row("noticed", "b"),  # 2
        log.row("read", "a"),  # 3
        log.row("started", None),  # 4
        log.row("failed", "b", reason="files"),  # 5
        log.row("withheld", "c", title="port"),  # 6
        log.row("answered", "a"),  # 7
    ]


def test_without_a_filter_rows_come_as_they_are() -> None:
    assert given(RowFilter(), story(Log())) == list(range(8))


def test_what_is_said_of_a_wanted_message_comes_too() -> None:
    assert given(RowFilter(text="port"), story(Log())) == [0, 3, 6, 7]
    assert given(RowFilter(decision="withheld"), story(Log())) == [6]


def test_a_wanted_outcome_brings_its_message_and_what_comes_after() -> None:
    assert given(RowFilter(outcome="read"), story(Log())) == [0, 3, 7]
    assert given(RowFilter(outcome="failed"), story(Log())) == [1, 2, 5]
    assert given(RowFilter(outcome="failed", reason="files"), story(Log())) == [1, 2, 5]
    assert given(RowFilter(outcome="failed", reason="unread"), story(Log())) == []


def test_an_outcome_and_something_else_may_be_of_two_rows() -> None:
    assert given(RowFilter(outcome="read", text="port"), story(Log())) == [0, 3, 7]
    assert given(RowFilter(outcome="read", text="starboard"), story(Log())) == []
    assert given(RowFilter(outcome="answered", decision="relayed"), story(Log())) == [0, 3, 7]


def test_what_is_of_another_time_stays_away() -> None:
    assert given(RowFilter(text="port", until_us=7_000_000), story(Log())) == [0, 3, 6]
    assert given(RowFilter(since_us=1_000_000, outcome="read"), story(Log())) == [3, 7]


def test_nothing_new_begins_where_it_may_not() -> None:
    log, whole = Log(), Whole[StoredRow](RowFilter())
    first, second, outcome = log.row("relayed", "a"), log.row("relayed", "b"), log.row("read", "a")
    assert whole.feed(first).begins
    assert not whole.feed(second, begin=False).rows
    assert whole.feed(outcome, begin=False).rows == (outcome,)
    # What was only remembered comes with the first row of it that may be shown.
    late = log.row("read", "b")
    assert list(whole.feed(late).rows) == [second, late]


def test_memory_is_bounded() -> None:
    log, whole = Log(), Whole[StoredRow](RowFilter(outcome="read"))
    rows = [log.row("relayed", f"m{number}") for number in range(TIMELINE_SPAN + 1)]
    assert not [one for row in rows for one in whole.feed(row).rows]
    forgotten, known = log.row("read", "m0"), log.row("read", "m1000")
    assert list(whole.feed(forgotten).rows) == [forgotten]
    assert list(whole.feed(known).rows) == [rows[1000], known]


def test_a_damaged_row_is_shown_whatever_is_wanted() -> None:
    damaged = StoredRow(seq=5, data=b'{"row":"message"}', leaf=b"\1" * 32)
    assert given(RowFilter(text="nowhere", outcome="read", engine="x"), [damaged]) == [5]


def test_a_damaged_row_is_shown_whatever_time_is_wanted() -> None:
    """Its time is what somebody may have changed."""
    log = Log()
    row = log.row("relayed", "a")
    assert given(RowFilter(since_us=1), [row]) == []
    assert given(RowFilter(since_us=1), [replace(row, leaf=b"\1" * 32)]) == [0]
    assert given(RowFilter(since_us=1, outcome="read"), [replace(row, leaf=b"\1" * 32)]) == [0]


def test_a_seal_is_no_text() -> None:
    log = Log()
    sealed = replace(log.row("relayed", "a"), side=(("seal", "abad1dea"), ("title", "port")))
    assert given(RowFilter(text="abad"), [sealed]) == []
    assert given(RowFilter(text="port"), [sealed]) == [0]
