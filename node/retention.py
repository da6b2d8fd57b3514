"""Keeps the timeline to an age and a size: whole tiles of rows go, once a row says so and is signed.

The order is what makes it safe to be stopped at any point: the prune row, a checkpoint that covers it, and only then
the rows, a tile at a time. What was to be deleted and is still there is deleted at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from node.config import TimelineConfig
from node.core.canonical import decode
from node.core.errors import MeshError
from node.core.merkle import TILE_WIDTH
from node.core.retention import DAY_US, Doubt, Moment, Range, boots, doubt, doubt_of_age, prune_row, told_again, told_of
from node.core.tiles import subtrees_in
from node.core.timeline import Clock as RowClock
from node.ports import Reader, Store, Tx
from node.ports_timeline import LogInfo, Prune, PruneStep
from node.row_times import moments, moments_of
from node.version import SOFTWARE

_log = logging.getLogger(__name__)

_TILES_IN_A_RANGE: Final = 256
_CHECKPOINTS_KEPT: Final = 512


class Retention:
    """Implements ports_timeline.Retention. `sign` makes a checkpoint; `scrub` empties the write-ahead log."""

    def __init__(
        self,
        *,
        store: Store,
        keep: TimelineConfig,
        node: str,
        row_clock: Callable[[], RowClock],
        sign: Callable[[], Awaitable[None]],
        scrub: Callable[[], Awaitable[bool]],
    ) -> None:
        self._store = store
        self._keep = keep
        self._node = node
        self._row_clock = row_clock
        self._sign = sign
        self._scrub = scrub
        self._turn = asyncio.Lock()

    async def tend(self) -> None:
        """Does what is due by itself: goes on with what was begun, prunes, and forgets checkpoints nobody needs."""
        doubts: set[Doubt] = set()
        async for step in self.prune(dry_run=False, by_person=False):
            if step.doubt is not None:
                doubts.add(step.doubt)
        for one in sorted(doubts):
            _log.warning("rows are old enough to be pruned, and are not: %s", one)
        for log in await self._store.read(lambda reader: reader.logs()):
            await self._store.write(partial(_thin, log=log.id))

    async def prune(self, *, dry_run: bool, by_person: bool) -> AsyncIterator[PruneStep]:
        """Every range that is to go, as it goes; and each that would, did not a doubt keep it."""
        async with self._turn:
            if not dry_run:
                await self._finish()
                await self._sign_all()
            deleted = 0
            try:
                async for found, doubted in self._ranges():
                    if doubted is not None or dry_run:
                        yield PruneStep(range=found, doubt=doubted)
                        continue
                    await self._say(found, by_person=by_person)
                    await self._sign()
                    async for deleted in self._delete(found):
                        yield PruneStep(range=found, deleted=deleted)
            finally:
                if deleted:
                    # Texts stood beside the rows: their bytes are in the write-ahead log until it is emptied.
                    await self._scrub()

    async def _finish(self) -> None:
        """Deletes what an earlier run said would be deleted, as far as that is signed by now."""
        due = await self._store.read(lambda reader: reader.prunes())
        if any(not prune.covered for prune in due):
            await self._sign_all()
        for prune in await self._store.read(lambda reader: reader.prunes()):
            if prune.covered:
                while await self._store.write(partial(_delete_tile, log=prune.log)):
                    pass
        if due:
            await self._scrub()

    async def _sign_all(self) -> None:
        try:
            await self._sign()
        except MeshError as error:
            # What is not signed is not pruned, and that is said of each range.
            _log.warning("the timeline could not be signed, so less of it is pruned: %s", error.message)

    async def _ranges(self) -> AsyncIterator[tuple[Range, Doubt | None]]:
        """What is too old, or too much, range by range and the oldest first; and the doubt that keeps it."""
        now, kept = self._row_clock(), await moments(self._store)
        logs = await self._store.read(_logs)
        too_much = sum(size for _, size, _ in logs) - self._keep.keep_bytes
        clock = doubt(now, kept)
        for log, _, signed in logs:
            first = log.first
            while first < log.size:
                found, freed = await self._range(log, first, now, too_much, signed)
                if found is None:
                    break
                doubted = clock
                if found.why == "age" and clock is None:
                    keep_us = self._keep.keep_days * DAY_US
                    doubted = doubt_of_age(now, kept, last=found.end, last_us=found.last_us, keep_us=keep_us)
                if doubted is None and found.next > signed:
                    doubted = Doubt.UNSIGNED
                yield found, doubted
                if doubted is not None:
                    # What stands behind it is younger.
                    break
                first, too_much = found.next, too_much - freed

    async def _range(
        self, log: LogInfo, first: int, now: RowClock, too_much: int, signed: int
    ) -> tuple[Range | None, int]:
        """The longest range from `first` on that is to go for one reason, all signed or not, and its bytes."""
        found: Range | None = None
        freed, at, last = 0, first, log.size // TILE_WIDTH * TILE_WIDTH
        while at < min(last, first + _TILES_IN_A_RANGE * TILE_WIDTH):
            rows, size = await self._store.read(partial(_tile, log=log.id, first=at))
            times = await asyncio.to_thread(moments_of, log.id, rows)
            if len(times) != TILE_WIDTH:
                # Rows that cannot be read, or are not there: nobody deletes what the check of the timeline must see.
                break
            oldest, newest = min(time.ts_us for time in times), max(time.ts_us for time in times)
            why = "age" if now.ts_us - newest >= self._keep.keep_days * DAY_US else "size" if too_much > freed else ""
            if not why or (found is not None and (found.why != why or found.next <= signed < at + TILE_WIDTH)):
                break
            at, freed = at + TILE_WIDTH, freed + size
            if found is not None:
                oldest, newest = min(found.first_us, oldest), max(found.last_us, newest)
            found = Range(
                log=log.id,
                origin=log.origin,
                first=first,
                next=at,
                first_us=oldest,
                last_us=newest,
                end=times[-1],
                why=why,
            )
        return found, freed

    async def _say(self, found: Range, *, by_person: bool) -> None:
        """Writes the prune row, and with it that its rows are to be deleted."""
        kept = await moments(self._store)
        await self._store.write(partial(self._write, found=found, kept=kept, by_person=by_person))

    def _write(self, tx: Tx, *, found: Range, kept: Sequence[Moment], by_person: bool) -> None:
        subtrees = subtrees_in(
            lambda level, index: tx.tile(level, index, found.log),
            lambda first, end: [leaf for _, _, leaf in tx.entries(first, end, found.log)],
        )
        current = tx.logs()[-1]
        row = prune_row(
            found,
            root=subtrees(0, found.next),
            keep_days=self._keep.keep_days,
            boots_since=boots(kept, found.end),
            current=current.origin,
            by_person=by_person,
            node=self._node,
            sw=SOFTWARE,
        )
        seq = tx.append(row)
        if found.log != current.id:
            tx.tell(found.log, (current.id, seq))
        for log in tx.logs():
            told = tx.told(log.id)
            if told is not None and told[0] == found.log and told[1] < found.next:
                # What says that rows of a closed log were pruned goes itself: it is said once more.
                self._tell_again(tx, log, told, current.id)
        tx.begin_prune(Prune(log=found.log, first=found.first, next=found.next, row_log=current.id, row_seq=seq))

    def _tell_again(self, tx: Tx, log: LogInfo, told: tuple[int, int], current: int) -> None:
        for row in tx.rows(told[1], 1, told[0]):
            extra = decode(row.data).get("extra")
            if row.seq == told[1] and isinstance(extra, dict) and told_of(extra, log.origin) is not None:
                tx.tell(log.id, (current, tx.append(told_again(extra, node=self._node, sw=SOFTWARE))))

    async def _delete(self, found: Range) -> AsyncIterator[int]:
        """Deletes a range tile by tile; gives how many of its rows are gone."""
        deleted, more = 0, True
        while more:
            more = await self._store.write(partial(_delete_tile, log=found.log))
            deleted += TILE_WIDTH
            yield min(deleted, found.next - found.first)


def _logs(reader: Reader) -> list[tuple[LogInfo, int, int]]:
    """Each log, what it takes in bytes, and how many of its rows are signed."""
    found: list[tuple[LogInfo, int, int]] = []
    for log in reader.logs():
        signed = reader.last_checkpoint(log.id)
        found.append((log, reader.log_bytes(log.id), 0 if signed is None else signed.size))
    return found


def _tile(reader: Reader, *, log: int, first: int) -> tuple[list[tuple[int, bytes, bytes]], int]:
    end = first + TILE_WIDTH
    return reader.entries(first, end, log), reader.row_sizes(first, end, log)


def _delete_tile(tx: Tx, *, log: int) -> bool:
    return tx.prune_tile(log)


def _thin(tx: Tx, *, log: int) -> int:
    return tx.thin_checkpoints(log, _CHECKPOINTS_KEPT, DAY_US)
