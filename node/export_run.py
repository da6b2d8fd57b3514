"""One run of an export: noted in the timeline before its first byte leaves, streamed, proven, and noted again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, Protocol

from node.core.canonical import JsonValue
from node.core.errors import ErrorCode, MeshError
from node.core.export_manifest import ExportNote, Manifest, Proof, Recorded, Tally
from node.core.export_record import Format, Record, Step, record_of
from node.core.merkle import leaf_hash
from node.core.timeline_filter import RowFilter
from node.core.views import TimelineRowView

# How long a cancelled run tries to tell the node so.
_LAST_WORD_S: Final = 5.0


class Source(Protocol):
    """The node, as an export needs it: see LocalClient."""

    def exported(self, wanted: RowFilter, *, salts: bool = False) -> AsyncGenerator[TimelineRowView, None]: ...
    async def record_export(self, note: ExportNote) -> Recorded: ...
    async def prove_exported(self, log: str, seq: int, size: int) -> Proof: ...


class Sink(Protocol):
    """Where rows go. `finish` hands over what is left, `publish` makes it what was asked for, `abandon` undoes all.

    `warnings` are what a receiver said although it took the rows.
    """

    @property
    def written(self) -> int: ...
    @property
    def sha256(self) -> str: ...
    @property
    def warnings(self) -> Sequence[str]: ...
    async def open(self) -> None: ...
    async def add(self, record: Record) -> None: ...
    async def finish(self) -> None: ...
    async def publish(self, manifest: bytes) -> None: ...
    async def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be exported and how; `destination` and `words` (of the filter) are for a person to read.

    `file` is the name that the manifest has, None where there is no file.
    """

    format: Format
    wanted: RowFilter
    destination: str
    file: str | None
    words: str
    now_us: Callable[[], int]
    software: str
    filter: Mapping[str, JsonValue]
    options: Mapping[str, JsonValue]

    @property
    def whole(self) -> bool:
        """Whether every row of a stretch is wanted, so that one that is missing is missed."""
        return replace(self.wanted, log="", from_seq=0, before_seq=0, limit=0, tail=False) == RowFilter()


class Run:
    """An export as it goes; `tally` is how far it is."""

    def __init__(self, wish: Wish, sink: Sink) -> None:
        self.tally = Tally(contiguous=True if wish.whole else None)
        self._total = 0
        self._first = 0
        self.export = ""
        self._wish = wish
        self._sink = sink

    @property
    def written(self) -> int:
        """How much was written or handed over."""
        return self._sink.written

    @property
    def per_cent(self) -> int:
        """How much is done: of the rows that are looked at, or of as many as were asked for."""
        last, asked = self.tally.last, self._wish.wanted.limit
        looked = 0 if last is None else (last + 1 - self._first) / max(self._total, 1)
        return min(int(100 * (self.tally.count / asked if self._wish.wanted.tail else looked)), 100)

    async def play(self, node: Source, progress: Callable[[Run], None]) -> Manifest:
        """All of it. A failure leaves nothing of a file behind and is noted in the timeline, as is being cancelled."""
        wish = self._wish
        note = ExportNote(
            step=Step.BEGUN,
            format=wish.format,
            destination=wish.destination,
            wanted=wish.words,
            log=wish.wanted.log,
            first=wish.wanted.from_seq,
        )
        recorded = await node.record_export(note)
        self.export = recorded.export
        self._first = max(wish.wanted.from_seq, recorded.standing.first_kept)
        self._total = min(recorded.end, wish.wanted.before_seq or recorded.end) - self._first
        # From here on by its name: while this runs, another log may begin.
        note = replace(note, export=recorded.export, log=recorded.standing.origin)
        try:
            manifest = await self._stream(node, recorded, progress)
        except asyncio.CancelledError:
            await self._give_up(node, replace(note, step=Step.CANCELLED))
            raise
        except MeshError as error:
            await self._give_up(node, replace(note, step=Step.FAILED, reason=error.code.value))
            raise
        except OSError as error:
            # Of standard output: somebody who read it has had enough, or it is a file on a full disk.
            enough = isinstance(error, BrokenPipeError)
            await self._give_up(node, replace(note, step=Step.CANCELLED if enough else Step.FAILED))
            raise
        reason = ErrorCode.TAMPERED.value if manifest.proven is False else ""
        ended = replace(note, step=Step.FINISHED, sha256=self.tally.sha256, reason=reason)
        try:
            await node.record_export(self._told(ended))
        except MeshError as error:
            raise MeshError(
                error.code,
                f"The export is whole, but the timeline does not say that it came to its end: {error.message}",
                error.details,
            ) from error
        return manifest

    async def _stream(self, node: Source, recorded: Recorded, progress: Callable[[Run], None]) -> Manifest:
        wish, standing = self._wish, recorded.standing
        await self._sink.open()
        leaf = b""
        end = min(recorded.end, wish.wanted.before_seq or recorded.end)
        wanted = replace(wish.wanted, log=standing.origin, before_seq=end)
        async with aclosing(node.exported(wanted, salts=wish.format is Format.JSONL)) as rows:
            async for row in rows:
                if row.seq >= end:
                    # There was no row yet, which is no bound for the node.
                    break
                record = record_of(row, standing.origin)
                await self._sink.add(record)
                leaf = row.leaf
                self._count(record)
                progress(self)
        await self._sink.finish()
        self.tally = replace(self.tally, bytes=self._sink.written, sha256=self._sink.sha256)
        manifest = Manifest(
            format=wish.format,
            export=recorded.export,
            begun_seq=recorded.seq,
            file=wish.file,
            wanted=wish.filter,
            tally=self.tally,
            standing=standing,
            proof=await self._proof(node, recorded, leaf),
            made_us=wish.now_us(),
            software=wish.software,
            options=wish.options,
        )
        await self._sink.publish(json.dumps(manifest.document(), indent=2).encode("ascii") + b"\n")
        return manifest

    async def _proof(self, node: Source, recorded: Recorded, leaf: bytes) -> Proof | None:
        """The proof of the last row; None without rows, and where the log no longer has what proves it."""
        standing, last = recorded.standing, self.tally.last
        if last is None:
            return None
        try:
            proof = await node.prove_exported(standing.origin, last, standing.size)
        except MeshError as error:
            if error.code is not ErrorCode.UNAVAILABLE:
                raise
            return None
        # One that does not hold is told as such: whoever looks into a log that was changed needs its export most.
        return proof if proof.leaf == leaf else replace(proof, leaf=leaf)

    def _count(self, record: Record) -> None:
        tally = self.tally
        followed = tally.last is None or record.seq == tally.last + 1
        self.tally = replace(
            tally,
            count=tally.count + 1,
            first=record.seq if tally.first is None else tally.first,
            last=record.seq,
            damaged=tally.damaged + (record.fields is None or leaf_hash(record.data) != record.leaf),
            contiguous=tally.contiguous and followed,
        )

    async def _give_up(self, node: Source, note: ExportNote) -> None:
        await self._sink.abandon()
        told = self._told(note)
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                await node.record_export(replace(told, bytes=self._sink.written))
        except (MeshError, TimeoutError):
            # The node is away. Its row of the beginning, which has no end, says as much.
            return

    def _told(self, note: ExportNote) -> ExportNote:
        tally = self.tally
        if tally.first is None or tally.last is None:
            return replace(note, next=note.first)
        return replace(note, first=tally.first, next=tally.last + 1, count=tally.count, bytes=tally.bytes)
