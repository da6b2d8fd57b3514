"""Reads and verifies the timeline; the only reader of its rows for every door."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from functools import partial

from node.core.canonical import JsonValue, decode
from node.core.errors import ErrorCode, MeshError
from node.core.model import Address
from node.core.timeline_check import Verifier
from node.ports import Reader, Store
from node.ports_timeline import RowFilter, StoredRow, VerifyProgress

_PAGE = 500
_TAIL_MAX = 100_000


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

    async def rows(self, wanted: RowFilter, *, follow: bool) -> AsyncIterator[StoredRow]:
        """Matching rows in order, each exactly once; with `follow`, for ever."""
        given = 0
        at = wanted.from_seq
        log = await self._store.read(partial(_log_named, origin=wanted.log))
        if wanted.tail and wanted.limit:
            last: deque[StoredRow] = deque(maxlen=min(wanted.limit, _TAIL_MAX))
            while page := await self._page(at, log):
                last.extend(row for row in page if _matches(row.data, wanted))
                at = page[-1].seq + 1
            for row in last:
                yield row
            if not follow:
                return
        while True:
            rung = self._rung
            while page := await self._page(at, log):
                for row in page:
                    if not _matches(row.data, wanted):
                        continue
                    yield row
                    given += 1
                    if wanted.limit and not wanted.tail and given >= wanted.limit:
                        return
                at = page[-1].seq + 1
            if not follow:
                return
            try:
                async with asyncio.timeout(self._poll_s):
                    await rung.wait()
            except TimeoutError:
                continue

    async def _page(self, first: int, log: int | None) -> tuple[StoredRow, ...]:
        return await self._store.read(partial(_page, first=first, limit=_PAGE, log=log))

    async def verify(self) -> AsyncIterator[VerifyProgress]:
        """Re-hashes every row up to the head as it was at the start, with progress on the way."""
        head = await self._store.read(lambda reader: reader.head())
        size = head.size
        verifier = Verifier(head.origin, checkpoints={size: head.root})
        at = 0
        while at < size:
            page = await self._store.read(partial(_page, first=at, limit=min(_PAGE, size - at)))
            if not page:
                break
            await asyncio.to_thread(_feed, verifier, page)
            at = page[-1].seq + 1
            yield VerifyProgress(rows=min(at, size), total=size)
        yield VerifyProgress(rows=min(at, size), total=size, result=verifier.finish())


def _log_named(reader: Reader, *, origin: str) -> int | None:
    """The id of the log of that origin, None for the current one; NOT_FOUND when there is none."""
    if not origin:
        return None
    for log in reader.logs():
        if log.origin == origin:
            return log.id
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"This node has no log of the origin {origin[:160]!r}; leave it out to read the current one.",
    )


def _page(reader: Reader, *, first: int, limit: int, log: int | None = None) -> tuple[StoredRow, ...]:
    return reader.rows(first, limit, log)


def _feed(verifier: Verifier, page: Sequence[StoredRow]) -> None:
    for row in page:
        verifier.feed(row.seq, row.data, row.leaf)


def _matches(data: bytes, wanted: RowFilter) -> bool:
    if not any(
        (
            wanted.engine,
            wanted.decision,
            wanted.session,
            wanted.exchange,
            wanted.message,
            wanted.since_us,
            wanted.until_us,
        )
    ):
        return True
    try:
        row = decode(data)
    except MeshError:
        # A damaged row is never filtered away: whoever looks must see it.
        return True
    when = row.get("ts")
    return (
        (not wanted.engine or row.get("engine") == wanted.engine)
        and (not wanted.decision or row.get("decision") == wanted.decision)
        and (not wanted.exchange or _begins(row.get("conv"), wanted.exchange))
        and (not wanted.message or _begins(row.get("msg"), wanted.message))
        and (not wanted.session or any(_begins(_session(row, end), wanted.session) for end in ("from", "to")))
        and (not isinstance(when, int) or (when >= wanted.since_us and (not wanted.until_us or when < wanted.until_us)))
    )


def _begins(value: JsonValue, prefix: str) -> bool:
    return isinstance(value, str) and value.startswith(prefix)


def _session(row: dict[str, JsonValue], end: str) -> JsonValue:
    party = row.get(end)
    return party.get("session") if isinstance(party, dict) else None
