"""Erases texts beside rows, one by one or by their age; the rows keep commitments that say nothing any more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from node.core.canonical import JsonValue, decode
from node.core.errors import ErrorCode, MeshError
from node.core.retention import DAY_US, Doubt, Moment, doubt_of_age
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason, RowRole
from node.core.timeline import Clock as RowClock
from node.core.timeline import Party, Row, RowKind
from node.log_trees import log_of
from node.ports import Reader, Store, Tx
from node.ports_timeline import EraseStep, Erasure, LogInfo, TextPlace
from node.row_times import moment_of, moments
from node.version import SOFTWARE

_log = logging.getLogger(__name__)

# Deleted bytes are written over, so many texts at once are a few milliseconds of the writer's time.
TEXTS_AT_ONCE: Final = 256
_ROWS_AT_ONCE: Final = 32
_NOT_GONE: Final = (
    "Bytes of texts that are erased may still stand in the database's write-ahead log, because something reads it. The "
    "node empties it by itself; run the same again to see whether it has."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Texts that are to go, where to look on, and when their rows were written."""

    places: tuple[tuple[int, str], ...]
    after: int
    more: bool
    moments: tuple[Moment, ...] = ()


class Erasures:
    """Implements ports_timeline.Erasures. `scrub` empties the write-ahead log, and says whether it could."""

    def __init__(
        self,
        *,
        store: Store,
        node: str,
        texts_days: int,
        row_clock: Callable[[], RowClock],
        scrub: Callable[[], Awaitable[bool]],
    ) -> None:
        self._store = store
        self._node = node
        self._texts_days = texts_days
        self._row_clock = row_clock
        self._scrub = scrub
        self._turn = asyncio.Lock()
        # The day up to which texts went for their age: until the next one there is nothing to look for.
        self._done_us = 0

    async def tend(self) -> None:
        """Erases the texts that are older than they are kept, once a day."""
        now = self._row_clock()
        before_us = (now.ts_us - self._texts_days * DAY_US) // DAY_US * DAY_US
        if before_us == self._done_us:
            return
        doubted: Doubt | None = None
        for log in await self._store.read(lambda reader: reader.logs()):
            wish = Erasure(log=log.origin, before_us=before_us)
            async with self._turn:
                async for step in self._erase(log, wish, dry_run=False, by_age=now):
                    doubted = step.doubt or doubted
        if doubted is None:
            self._done_us = before_us
        else:
            _log.warning("texts of the timeline are old enough to be erased, and are not: %s", doubted)

    async def erase(self, wish: Erasure, *, dry_run: bool) -> AsyncIterator[EraseStep]:
        """Progress, the last step at the end of the log; with `dry_run` it only counts. For the person."""
        if not (wish.seqs or wish.exchange or wish.session or wish.before_us or wish.field):
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                "Say which texts to erase: rows, a field, an exchange, a session, or an age.",
            )
        log = await self._store.read(partial(log_of, origin=wish.log))
        async with self._turn:
            async for step in self._erase(log, wish, dry_run=dry_run, by_age=None):
                yield step

    async def _erase(
        self, log: LogInfo, wish: Erasure, *, dry_run: bool, by_age: RowClock | None
    ) -> AsyncIterator[EraseStep]:
        found = erased = 0
        kept: tuple[Moment, ...] | None = None
        try:
            async for some in self._pages(log, wish):
                if by_age is not None and some.places:
                    kept = await moments(self._store) if kept is None else kept
                    if (doubted := self._doubt(by_age, kept, some)) is not None:
                        yield EraseStep(seq=some.after, size=log.size, found=found, erased=erased, doubt=doubted)
                        return
                found += len(some.places)
                if some.places and not dry_run:
                    erased += await self._store.write(
                        partial(self._write, log=log, places=some.places, by_person=by_age is None)
                    )
                yield EraseStep(seq=some.after, size=log.size, found=found, erased=erased)
        finally:
            # A person who finds nothing may have been told before that bytes were left, and asks after them.
            gone = await self._scrub() if erased or (by_age is None and not found) else True
        if not gone and by_age is None:
            raise MeshError(ErrorCode.UNAVAILABLE, _NOT_GONE)
        yield EraseStep(seq=log.size, size=log.size, found=found, erased=erased)

    async def _pages(self, log: LogInfo, wish: Erasure) -> AsyncIterator[_Found]:
        """What is to go, a page of texts at a time."""
        seqs = _checked(log, wish)
        for at in range(0, len(seqs), _ROWS_AT_ONCE):
            some = seqs[at : at + _ROWS_AT_ONCE]
            page = await self._store.read(partial(_beside, log=log.id, seqs=some))
            yield await asyncio.to_thread(_chosen, page, log, wish, some[-1] + 1)
        first, more = log.first, not seqs
        while more and first < log.size:
            page = await self._store.read(partial(_page, log=log.id, first=first, end=log.size))
            chosen = await asyncio.to_thread(_chosen, page, log, wish, log.size)
            yield chosen
            first, more = chosen.after, chosen.more

    def _doubt(self, now: RowClock, kept: Sequence[Moment], some: _Found) -> Doubt | None:
        last_us = max(moment.ts_us for moment in some.moments)
        keep_us = self._texts_days * DAY_US
        return doubt_of_age(now, kept, last=some.moments[-1], last_us=last_us, keep_us=keep_us)

    def _write(self, tx: Tx, *, log: LogInfo, places: Sequence[tuple[int, str]], by_person: bool) -> int:
        erased = tx.erase_texts(log.id, places)
        if erased:
            extra: dict[str, JsonValue] = {
                ExtraKey.COUNT: erased,
                ExtraKey.FROM_SEQ: places[0][0],
                ExtraKey.TO_SEQ: places[-1][0],
            }
            if not log.current:
                extra[ExtraKey.LOG] = log.origin
            tx.append(
                Row(
                    row=RowKind.POLICY,
                    engine=RowEngine.TIMELINE,
                    decision=RowDecision.ERASED,
                    reason=RowReason.BY_PERSON if by_person else RowReason.AGE,
                    sw=SOFTWARE,
                    src=Party(node=self._node, role=RowRole.PERSON if by_person else RowRole.NODE),
                    extra=extra,
                )
            )
        return erased


def _checked(log: LogInfo, wish: Erasure) -> list[int]:
    """The rows that were named, in order; NOT_FOUND for one that is not there."""
    beyond = [seq for seq in wish.seqs if not log.first <= seq < log.size]
    if beyond:
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"Row {beyond[0]} is not in the log, which has rows {log.first} to {log.size - 1}. Nothing was erased.",
        )
    return sorted(set(wish.seqs))


def _beside(reader: Reader, *, log: int, seqs: Sequence[int]) -> tuple[TextPlace, ...]:
    return tuple(text for seq in seqs for text in reader.texts(seq, seq + 1, TEXTS_AT_ONCE, log))


def _page(reader: Reader, *, log: int, first: int, end: int) -> tuple[TextPlace, ...]:
    return reader.texts(first, end, TEXTS_AT_ONCE, log)


def _chosen(page: Sequence[TextPlace], log: LogInfo, wish: Erasure, end: int) -> _Found:
    """Which texts of a page are to go. A page that is full may end within a row, which the next one begins with."""
    full = not wish.seqs and len(page) == TEXTS_AT_ONCE
    after = page[-1].seq if full else end
    whole = [text for text in page if text.seq < after]
    if full and not whole:
        # All of it is of one row, which has no more fields than a row has room for.
        whole, after = list(page), after + 1
    places: list[tuple[int, str]] = []
    written: list[Moment] = []
    for text in whole:
        moment = moment_of(log.id, text.seq, text.data)
        if wish.before_us and (moment is None or moment.ts_us >= wish.before_us):
            continue
        if (wish.field and text.field != wish.field) or not _concerns(text.data, wish):
            continue
        places.append((text.seq, text.field))
        if moment is not None:
            written.append(moment)
    return _Found(places=tuple(places), after=after, more=full, moments=tuple(written))


def _concerns(data: bytes, wish: Erasure) -> bool:
    if not wish.exchange and not wish.session:
        return True
    try:
        row = decode(data)
    except MeshError:
        return False
    return (not wish.exchange or _begins(row.get("conv"), wish.exchange)) and (
        not wish.session or any(_begins(_session(row.get(end)), wish.session) for end in ("from", "to"))
    )


def _session(party: JsonValue) -> JsonValue:
    return party.get("session") if isinstance(party, dict) else None


def _begins(value: JsonValue, prefix: str) -> bool:
    return isinstance(value, str) and value.startswith(prefix)
