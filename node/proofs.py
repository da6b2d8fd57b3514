"""Verifies the node's own timeline, and gives others what they need to verify it without the node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from node.core import bundle, excuse, log_key, merkle, note
from node.core.bundle import BundleHeader, End, Later, Salts, Signed, Skipped
from node.core.errors import ErrorCode, MeshError
from node.core.evidence import Evidence, Page
from node.core.excuse import Excuse
from node.core.log_key import Checks, Endorsement
from node.core.merkle import TILE_WIDTH, leaf_hash
from node.core.note import TreeHead
from node.core.timeline import Head
from node.core.timeline_check import ProblemCode, Verification
from node.log_trees import log_of, path_of, subtrees
from node.ports import Clock, Reader, Store
from node.ports_timeline import BundleWish, Checkpoint, LogInfo, LogKeyKeeper, Side, StoredRow, VerifyProgress

_PAGE: Final = 4 * TILE_WIDTH
_TILES_A_PAGE: Final = 64
_TRIES: Final = 4
_LAST_PLACE: Final = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    """A log as it stood at one moment, and what in it is not where a node would put it."""

    info: LogInfo
    head: Head
    signed: int
    stray: str
    excuses: tuple[Excuse, ...] = ()

    @property
    def log(self) -> int:
        return self.info.id


class _PrunedMeanwhileError(MeshError):
    """Rows were pruned while they were read."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNAVAILABLE, "Rows were pruned while they were read; try again.")


class Proofs:
    """Implements ports_timeline.Proofs. `sign` makes a checkpoint of what is not signed yet."""

    def __init__(
        self, *, store: Store, keys: LogKeyKeeper, checks: Checks, clock: Clock, sign: Callable[[], Awaitable[None]]
    ) -> None:
        self._store = store
        self._keys = keys
        self._checks = checks
        self._clock = clock
        self._sign = sign

    async def verify(self, *, log: str = "", seen: Sequence[str] = ()) -> AsyncIterator[VerifyProgress]:
        """Checks a log up to its end as it was at the start, with progress on the way."""
        heads = tuple(map(read_seen, seen))
        for _ in range(_TRIES):
            at = await self._store.read(partial(_snapshot, origin=log))
            evidence = Evidence(
                at.info.origin, checks=self._checks, endorsed=await self._endorsed(at.info.origin), seen=heads
            )
            try:
                async for rows in self._walk(at, evidence):
                    yield VerifyProgress(rows=rows, total=at.head.size)
            except _PrunedMeanwhileError:
                # What was read of the log is no more; the rest is read again from where it now begins.
                continue
            result = await asyncio.to_thread(self._finished, evidence, at)
            yield VerifyProgress(rows=result.rows + at.info.first, total=at.head.size, result=result)
            return
        raise _PrunedMeanwhileError

    def _finished(self, evidence: Evidence, at: _Snapshot) -> Verification:
        if at.stray:
            evidence.fail(ProblemCode.TEXT_DIFFERS, at.stray)
        own = Endorsement(log="", first=0, key=self._keys.signer().key, spki=self._keys.signer().spki).node
        return evidence.finish(
            first=at.info.first, claimed=at.head, signed=at.signed, trusted=frozenset({own}), signing=True,
            excuses=at.excuses,
        )  # fmt: skip

    async def _walk(self, at: _Snapshot, evidence: Evidence) -> AsyncIterator[int]:
        """Feeds all of the log; gives how many rows were looked at so far."""
        pruned = at.info.first // TILE_WIDTH
        for first in range(0, pruned, _TILES_A_PAGE):
            end = min(first + _TILES_A_PAGE, pruned)
            kept = await self._store.read(partial(_tiles, first=first, end=end, log=at.log))
            await asyncio.to_thread(_skip, evidence, first, end, kept)
            yield end * TILE_WIDTH
        for first in range(at.info.first, at.head.size, _PAGE):
            end = min(first + _PAGE, at.head.size)
            page = await self._store.read(partial(_page, first=first, end=end, log=at.log, begins=at.info.first))
            if await asyncio.to_thread(evidence.feed, page) is not None:
                return
            yield end

    async def _endorsed(self, origin: str) -> tuple[Endorsement, ...]:
        """What this node says of the keys of its log."""

        def work() -> tuple[Endorsement, ...]:
            signer = self._keys.signer()
            return tuple(
                log_key.endorse(origin, one.first, one.key, signer) for one in self._keys.known() if one.log == origin
            )

        return await asyncio.to_thread(work)

    async def bundle(self, wish: BundleWish) -> AsyncIterator[StoredRow | str]:
        """All that somebody else needs to verify a piece of a log; what was not signed yet is signed first."""
        await self._sign()
        at = await self._store.read(partial(_snapshot, origin=wish.log))
        last = at.head.size if wish.to_seq is None else min(wish.to_seq + 1, at.head.size)
        if last < at.info.first:
            raise MeshError(
                ErrorCode.NOT_FOUND,
                f"Rows up to {last - 1} of this log were pruned. Ask for some of those that are kept, from row "
                f"{at.info.first} on.",
            )
        # Whole tiles alone can be named by few hashes, and prune rows are about them.
        first = max(min(wish.from_seq, last), at.info.first) // TILE_WIDTH * TILE_WIDTH
        keys = await self._endorsed(at.info.origin)
        header = BundleHeader(
            log=at.info.origin, first=first, end=last, kept=at.info.first, size=at.head.size,
            made_us=self._clock.wall_us(), keys=keys,
        )  # fmt: skip
        yield bundle.header_line(header)
        if header.whole and (later := await self._store.read(partial(_later, info=at.info))) is not None:
            yield bundle.later_line(replace(later, keys=await self._endorsed(later.log)))
        if first:
            yield bundle.skipped_line(await self._store.read(partial(_skipped, first=0, end=first, log=at.log)))
        for begin in range(first, last, _PAGE):
            end = min(begin + _PAGE, last)
            for item in await self._store.read(partial(_lines_of, first=begin, end=end, info=at.info)):
                yield item
        upto = await self._store.read(partial(_covering, size=last, log=at.log))
        if upto is not None and (upto.size > last or first == last):
            if upto.size > last:
                yield bundle.skipped_line(
                    await self._store.read(partial(_skipped, first=last, end=upto.size, log=at.log))
                )
            yield bundle.signed_line(upto)
        yield bundle.end_line(End(rows=last - first))

    async def prove(self, seq: int, *, log: str = "") -> str:
        """A tlog-proof (C2SP) of a row in the tree of the last checkpoint, which is made if there is none of it."""
        await self._sign()
        at = await self._store.read(partial(_snapshot, origin=log))
        if not at.info.first <= seq < at.signed:
            raise MeshError(
                ErrorCode.NOT_FOUND,
                f"Row {seq} cannot be proven: signed rows of this log that are kept go from {at.info.first} to "
                f"{at.signed - 1}.",
            )

        def work(reader: Reader) -> str:
            (signed,) = reader.checkpoints(at.signed - 1, 1, at.log)
            hashes = "".join(f"{note.encode64(one)}\n" for one in path_of(reader, at.log, seq, signed.size))
            return f"c2sp.org/tlog-proof@v1\nindex {seq}\n{hashes}\n{signed.note}"

        return await self._store.read(work)


def read_seen(written: str) -> TreeHead:
    """What a checkpoint says that somebody kept; INVALID_ARGUMENT when it is none."""
    try:
        return note.read_head(note.read(written).text)
    except MeshError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"What is to be compared is no checkpoint of a log. {error.message} Give the file as it was kept.",
        ) from error


def _snapshot(reader: Reader, *, origin: str) -> _Snapshot:
    info = log_of(reader, origin)
    last = reader.last_checkpoint(info.id)
    stray = ""
    if reader.sides(info.size, _LAST_PLACE - 1, info.id) or reader.sides(0, info.first, info.id):
        stray = "there are texts beside rows that there are not"
    return _Snapshot(
        info=info,
        head=reader.head(info.id),
        signed=last.size if last else 0,
        stray=stray,
        excuses=_excuses(reader, info),
    )


def _told(reader: Reader, info: LogInfo) -> tuple[LogInfo, StoredRow] | None:
    """The row of a later log that says last what was pruned of this closed one, and its log."""
    told = reader.told(info.id)
    if told is None:
        return None
    later = next((one for one in reader.logs() if one.id == told[0]), None)
    row = next((one for one in reader.rows(told[1], 1, told[0]) if one.seq == told[1]), None)
    return None if later is None or row is None else (later, row)


def _excuses(reader: Reader, info: LogInfo) -> tuple[Excuse, ...]:
    """What a row of a later log says that was pruned of this closed one, if that is what its tiles say, too."""
    told = _told(reader, info)
    if told is None or leaf_hash(told[1].data) != told[1].leaf:
        return ()
    later, row = told
    tree = subtrees(reader, info.id)
    try:
        found = excuse.of_closed(
            info.origin, later.origin, row.seq, row.data, lambda size: tree(0, size) if size <= info.size else None
        )
    except MeshError:
        return ()
    return () if found is None else (found,)


def _later(reader: Reader, *, info: LogInfo) -> Later | None:
    """The row of a later log that says what was pruned of this closed one, up to a checkpoint that covers it."""
    told = _told(reader, info)
    if told is None:
        return None
    later, row = told
    signed = _covering(reader, size=row.seq + 1, log=later.id)
    if signed is None:
        raise MeshError(
            ErrorCode.UNAVAILABLE, f"Row {row.seq} of {later.origin}, by which rows were pruned, is not signed yet."
        )
    path = path_of(reader, later.id, row.seq, signed.size)
    return Later(log=later.origin, seq=row.seq, data=row.data, path=path, signed=signed, keys=())


def _tiles(reader: Reader, *, first: int, end: int, log: int) -> dict[tuple[int, int], bytes]:
    """Leaf tiles `first` to `end` - 1, and the tiles further up that their roots are in."""
    kept = {(0, index): reader.tile(0, index, log) for index in range(first, end)}
    level, width = 1, TILE_WIDTH
    while first < end:
        for index in range(first // width, (end - 1) // width + 1):
            kept[level, index] = reader.tile(level, index, log)
        # Only what completes a tile goes further up.
        if end // width == first // width:
            break
        level, width = level + 1, width * TILE_WIDTH
    return kept


def _skip(evidence: Evidence, first: int, end: int, kept: dict[tuple[int, int], bytes]) -> None:
    for index in range(first, end):
        evidence.skip_tile(index, kept[0, index], kept)


def _page(reader: Reader, *, first: int, end: int, log: int, begins: int) -> Page:
    _see_kept(reader, log, begins)
    # At the very first row there may be a checkpoint of as many rows as were pruned, too.
    signed = reader.checkpoints(first - 1 if first == begins else first, end - first + 1, log)
    return Page(
        rows=reader.entries(first, end, log),
        texts=reader.salted(first, end, log),
        checkpoints=[one for one in signed if one.size <= end],
        tiles=_tiles(reader, first=first // TILE_WIDTH, end=end // TILE_WIDTH, log=log),
    )


def _see_kept(reader: Reader, log: int, begins: int) -> None:
    if any(one.id == log and one.first != begins for one in reader.logs()):
        raise _PrunedMeanwhileError


def _lines_of(reader: Reader, *, first: int, end: int, info: LogInfo) -> list[StoredRow | str]:
    log = info.id
    _see_kept(reader, log, info.first)
    rows, sides = reader.rows(first, end - first, log), reader.sides(first, end, log)
    return _lines(rows, sides, [one for one in reader.checkpoints(first, end - first, log) if one.size <= end])


def _lines(
    rows: Sequence[StoredRow], texts: Sequence[Side], checkpoints: Sequence[Checkpoint]
) -> list[StoredRow | str]:
    salts: dict[int, list[Side]] = {}
    for text in texts:
        salts.setdefault(text.seq, []).append(text)
    signed = {one.size: one for one in checkpoints}
    lines: list[StoredRow | str] = []
    for row in rows:
        lines.append(row)
        if row.seq in salts:
            pairs = tuple((one.field, one.salt) for one in salts[row.seq])
            lines.append(bundle.salts_line(Salts(seq=row.seq, salts=pairs)))
        if (made := signed.get(row.seq + 1)) is not None:
            lines.append(bundle.signed_line(Signed(size=made.size, root=made.root, note=made.note)))
    return lines


def _covering(reader: Reader, *, size: int, log: int) -> Signed | None:
    """The smallest checkpoint of at least so many rows."""
    found = reader.checkpoints(size - 1, 1, log)
    return Signed(size=found[0].size, root=found[0].root, note=found[0].note) if found else None


def _skipped(reader: Reader, *, first: int, end: int, log: int) -> Skipped:
    tree = subtrees(reader, log)
    hashes = tuple(tree(index << height, index + 1 << height) for height, index in merkle.cover(first, end))
    return Skipped(first=first, end=end, hashes=hashes, last=tree(end - 1, end))
