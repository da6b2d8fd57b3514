"""Reads the timeline: filters, the tail, and following it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import partial

from node.core.limits import TIMELINE_SPAN
from node.core.model import Address
from node.core.timeline_filter import Matcher, RowFilter, message_of, time_of
from node.core.timeline_overview import Count, Overview, first_since
from node.core.timeline_whole import Whole, outcome_of
from node.log_trees import log_of
from node.ports import Reader, Store
from node.ports_timeline import LogInfo, StoredRow

_PAGE = 500
_NEAR = 16


class Audit:
    """Implements ports.Audit, and ports.Bells to know of new rows."""

    def __init__(self, *, store: Store, poll_s: float) -> None:
        self._store = store
        self._poll_s = poll_s
        self._rung = asyncio.Event()

    def ring(self, _addresses: Sequence[Address]) -> None:
        """A commit happened."""
        self._rung.set()
        self._rung = asyncio.Event()

    async def rows(self, wanted: RowFilter, *, follow: bool) -> AsyncGenerator[StoredRow, None]:
        """Matching rows in order, each exactly once; with `follow`, for ever, and into the log that comes next.

        A whole message's rows come together, so what is remembered of one may be older than what came before.
        """
        log, at = await self._store.read(partial(_begin, wanted=wanted))
        picks = _Picks(wanted)
        if wanted.tail and wanted.limit:
            at = await self._tail(log, at, wanted, picks)
        while True:
            rung = self._rung
            # Asked before the rows: what this log gets until the next one begins is not missed.
            following = await self._store.read(partial(_after, log=log)) if follow and not wanted.log else None
            while True:
                look = await self._store.read(partial(_look, log=log, first=at, wanted=wanted, picks=picks))
                for row in look.rows:
                    yield row
                if picks.enough or look.end:
                    break
                at = look.next
            if picks.enough or not follow:
                return
            if following is not None:
                log, at = following, 0
                continue
            try:
                async with asyncio.timeout(self._poll_s):
                    await rung.wait()
            except TimeoutError:
                continue

    async def _tail(self, log: LogInfo, first: int, wanted: RowFilter, picks: _Picks) -> int:
        """Where the last rows begin that are wanted, found from the end; the rows before it are remembered."""
        last = end = min(wanted.before_seq or log.size, log.size)
        count = _FromTheEnd(wanted)
        while end > first and not count.enough:
            start = max(end - _PAGE, first)
            await self._store.read(partial(_count, log=log, first=start, end=end, count=count))
            end = start
        # Where nothing is wanted so far, all that may be is still to come.
        at = max(last if count.start is None else count.start, first)
        if wanted.whole:
            for start in range(max(first, at - TIMELINE_SPAN), at, _PAGE):
                await self._store.read(
                    partial(_remember, log=log, first=start, end=min(start + _PAGE, at), picks=picks)
                )
        return at

    async def logs(self) -> tuple[LogInfo, ...]:
        """The logs of the node, the current one last."""
        return await self._store.read(lambda reader: reader.logs())

    async def overview(self, since_us: int) -> Overview[StoredRow]:
        """Numbers of the current log's rows since then, up to its head as it is now."""
        node, log, at = await self._store.read(partial(_begin_overview, since_us=since_us))
        count = Count[StoredRow](node=node, since_us=since_us)
        while at < log.size:
            page = await self._store.read(partial(_feed_overview, log=log, first=at, count=count))
            if page is None:
                break
            at = page
        return count.result()


def _begin(reader: Reader, *, wanted: RowFilter) -> tuple[LogInfo, int]:
    log = log_of(reader, wanted.log)
    return log, max(wanted.from_seq, log.first)


def _after(reader: Reader, *, log: LogInfo) -> LogInfo | None:
    """The log that was begun after this one."""
    return next((one for one in reader.logs() if one.id > log.id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What is wanted of one page, where the next begins, and whether there is none."""

    rows: tuple[StoredRow, ...]
    next: int
    end: bool


class _Picks:
    """Takes the rows of a log in order and picks what is wanted, up to the limit."""

    def __init__(self, wanted: RowFilter) -> None:
        self._whole = Whole[StoredRow](wanted) if wanted.whole else None
        self._wanted = Matcher(wanted)
        self._limit = 0 if wanted.tail else wanted.limit
        self._given = 0
        # After the last message, what becomes of it is still looked for.
        self._left = TIMELINE_SPAN
        self.enough = False

    def take(self, row: StoredRow) -> Sequence[StoredRow]:
        """What is to be given now that this row was read."""
        full = bool(self._limit) and self._given >= self._limit
        if self._whole is None:
            picked: Sequence[StoredRow] = (row,) if self._wanted(row.data, row.leaf, row.side) else ()
            self._given += len(picked)
            self.enough = bool(self._limit) and self._given >= self._limit
            return picked
        found = self._whole.feed(row, begin=not full)
        self._given += int(found.begins)
        if full:
            self._left -= 1
            self.enough = self._left <= 0
        return found.rows

    def remember(self, row: StoredRow) -> None:
        """The row is from before the first that is wanted; those after it may belong to it."""
        if self._whole is not None:
            self._whole.feed(row, begin=False)


class _FromTheEnd:
    """Counts what is wanted from a log's end backwards, until there are as many as asked for."""

    def __init__(self, wanted: RowFilter) -> None:
        # What an outcome belongs to is not known yet, on the way back.
        self._matches = Matcher(outcome_of(wanted) if wanted.whole and wanted.outcome else wanted)
        self._whole = wanted.whole
        self._limit = wanted.limit
        self._seen: set[str | int] = set()
        self.start: int | None = None

    @property
    def enough(self) -> bool:
        """Whether there are as many; `start` is the first row of them, None while there is none."""
        return len(self._seen) >= self._limit

    def take(self, row: StoredRow) -> None:
        """The row before those taken so far."""
        if self._matches(row.data, row.leaf, row.side):
            message = message_of(row.data) if self._whole else None
            self._seen.add(row.seq if message is None else message)
            self.start = row.seq


def _look(reader: Reader, *, log: LogInfo, first: int, wanted: RowFilter, picks: _Picks) -> _Look:
    page = reader.rows(first, _PAGE, log.id)
    rows: list[StoredRow] = []
    for row in page:
        if wanted.before_seq and row.seq >= wanted.before_seq:
            return _Look(rows=tuple(rows), next=row.seq, end=True)
        rows += picks.take(row)
        if picks.enough:
            break
    # A page that is not full is the last, but for what is written meanwhile.
    return _Look(rows=tuple(rows), next=page[-1].seq + 1 if page else first, end=not page)


def _count(reader: Reader, *, log: LogInfo, first: int, end: int, count: _FromTheEnd) -> None:
    for row in reversed(_between(reader, log, first, end)):
        count.take(row)
        if count.enough:
            return


def _remember(reader: Reader, *, log: LogInfo, first: int, end: int, picks: _Picks) -> None:
    for row in _between(reader, log, first, end):
        picks.remember(row)


def _between(reader: Reader, log: LogInfo, first: int, end: int) -> Sequence[StoredRow]:
    return [row for row in reader.rows(first, end - first, log.id) if row.seq < end]


def _begin_overview(reader: Reader, *, since_us: int) -> tuple[str, LogInfo, int]:
    """The node's id in the log, the log, and the first of its rows from which on all are of that time or later."""

    def time_at(seq: int) -> int | None:
        # Where a row is damaged, one after it tells about as much.
        times = (time_of(row.data) for row in reader.rows(seq, _NEAR, log.id))
        return next((when for when in times if when is not None), None)

    log = log_of(reader, "")
    node = reader.own_node() or log.origin.split("/")[1]
    at = first_since(since_us, log.first, log.size, time_at)
    # The row before tells whether the clock stepped at the first.
    return node, log, max(at - 1, log.first)


def _feed_overview(reader: Reader, *, log: LogInfo, first: int, count: Count[StoredRow]) -> int | None:
    page = reader.rows(first, _PAGE, log.id)
    for row in page:
        count.feed(row)
    return page[-1].seq + 1 if page else None
