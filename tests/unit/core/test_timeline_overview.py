"""The overview's count: what is a block, what is held, when the clock stepped, and where a time begins."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.limits import OVERVIEW_BLOCKS
from node.core.timeline import Clock, Content, Head, Party, Row, RowKind, append
from node.core.timeline_overview import Count, Overview, first_since
from node.ports_timeline import StoredRow

ME = "n" * 16
SECOND = 1_000_000
ROW = Row(row=RowKind.MESSAGE, engine="agent.request", decision="relayed", sw="t/1", msg="m")


def counted(*rows: tuple[Row, Clock], since_us: int = 0) -> Overview[StoredRow]:
    head, count = Head.empty(f"local/{ME}/1"), Count[StoredRow](node=ME, since_us=since_us)
    for row, clock in rows:
        head, entry = append(head, clock, row)
        count.feed(StoredRow(seq=entry.seq, data=entry.data, leaf=entry.leaf))
    return count.result()


def at(ts: float, mono: float | None = None, boot: str = "b") -> Clock:
    return Clock(ts_us=int(ts * SECOND), mono_us=int((ts if mono is None else mono) * SECOND), boot=boot)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (ROW, "relayed"),
        (replace(ROW, decision="withheld"), "withheld"),
        (replace(ROW, decision="held", reason="secrets"), "held"),
        (replace(ROW, decision="refused"), "refused"),
        (replace(ROW, row=RowKind.OUTCOME, decision="withheld"), "withheld"),
        (replace(ROW, row=RowKind.OUTCOME, decision="refused_by_person"), "refused"),
        (replace(ROW, row=RowKind.OUTCOME, decision="held", reason="permission"), "held"),
        (replace(ROW, row=RowKind.OUTCOME, decision="held", reason="busy"), None),
        (replace(ROW, row=RowKind.OUTCOME, decision="expired"), "undelivered"),
        (replace(ROW, row=RowKind.OUTCOME, decision="read"), None),
        (Row(row=RowKind.POLICY, engine="approval", decision="allowed_session", sw="t"), "approvals_allowed"),
        (Row(row=RowKind.OVERRIDE, engine="override", decision="relayed", sw="t", reason="person"), "overrides"),
        (Row(row=RowKind.OVERRIDE, engine="override", decision="relayed", sw="t", reason="owner_allowed"), "gaps"),
        (Row(row=RowKind.EXPORT, engine="export", decision="begun", sw="t"), "exports"),
        (Row(row=RowKind.EXPORT, engine="export", decision="finished", sw="t"), None),
        (Row(row=RowKind.PRUNE, engine="prune", decision="refused", sw="t"), None),
        (Row(row=RowKind.POLICY, engine="mesh", decision="refused", sw="t"), "turned_away"),
    ],
)
def test_what_a_row_counts_as(row: Row, name: str | None) -> None:
    names = {one.name for one in fields(Overview)} - {"since_us", "rows", "peers", "peers_total", "blocks"}
    found = counted((row, at(1)))
    assert {one for one in names if getattr(found, one)} == ({name} if name else set())
    assert bool(found.blocks) is (name in {"withheld", "refused", "turned_away"})


@pytest.mark.parametrize(
    ("clocks", "steps"),
    [
        ([at(1), at(2), at(1000)], 0),
        ([at(1), at(5, mono=2)], 1),
        ([at(10), at(3, mono=11), at(4, mono=12)], 1),
        ([at(1), at(3.9, mono=2)], 0),
        # Slewed by less than a clock may be, for a long time.
        ([at(0), at(100_040, mono=100_000)], 0),
        ([at(10, boot="a"), at(5_000, mono=1, boot="b")], 0),
        ([at(10, boot="a"), at(2, mono=1, boot="b")], 1),
    ],
)
def test_clock_steps(clocks: list[Clock], steps: int) -> None:
    assert counted(*((ROW, clock) for clock in clocks)).clock_steps == steps


def test_a_step_between_the_last_row_before_and_the_first_counts() -> None:
    found = counted((ROW, at(5)), (ROW, at(100, mono=6)), since_us=50 * SECOND)
    assert (found.rows, found.clock_steps) == (1, 1)


def test_the_node_itself_is_no_peer() -> None:
    rows = [replace(ROW, src=Party(node=ME), dst=Party(node=one * 16)) for one in "abac"]
    found = counted(*((row, at(1)) for row in rows))
    assert (found.peers, found.peers_total) == (("a" * 16, "b" * 16, "c" * 16), 3)


def test_files_beyond_those_a_row_names_are_counted() -> None:
    files = tuple(("ab" * 32, 10) for _ in range(200))
    found = counted((replace(ROW, content=Content(bytes=1, chars=1, files=files)), at(1)))
    assert found.files == 200


def test_only_the_last_blocks_are_kept() -> None:
    rows = [(replace(ROW, decision="withheld"), at(number)) for number in range(OVERVIEW_BLOCKS + 5)]
    assert [row.seq for row in counted(*rows).blocks] == list(range(5, OVERVIEW_BLOCKS + 5))


def test_what_cannot_be_read_is_counted_as_such() -> None:
    count = Count[StoredRow](node=ME, since_us=10**18)
    count.feed(StoredRow(seq=0, data=b"{}", leaf=b""))
    count.feed(StoredRow(seq=1, data=b"\xff", leaf=b""))
    assert (count.result().rows, count.result().damaged) == (2, 2)


@given(st.lists(st.integers(0, 50) | st.none(), max_size=40), st.integers(0, 60), st.integers(0, 5))
def test_where_a_time_begins(times: list[int | None], since: int, first: int) -> None:
    """Rows in order of time: none before the place is of that time, none after it is older."""
    known = sorted(time for time in times if time is not None)
    found = first_since(since, first, first + len(known), lambda seq: known[seq - first])
    assert all(time < since for time in known[: found - first])
    assert all(time >= since for time in known[found - first :])
    # Whatever cannot be read, the place is one of the log's.
    assert first <= first_since(since, first, first + len(times), lambda seq: times[seq - first]) <= first + len(times)
