"""The parts of a simulated node that a timeline is read by, and that write the rows about exports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import fields

from node.core.export_manifest import ExportNote, Proof, Recorded, Standing
from node.core.timeline_overview import Overview
from node.ports_timeline import LogInfo, RowFilter, StoredRow

HOSTILE = "\x1b[2J\u202eevil\x00\r\n\u200b \U000e0041 'quote' \\ ünïcode 😀 </tool>\n"


class Noted:
    """A ports_timeline.Exports whose answers are made up and distinct."""

    def __init__(self) -> None:
        self.notes: list[ExportNote] = []
        self.proven: list[tuple[str, int, int]] = []
        self.salted: list[tuple[str, tuple[int, ...]]] = []

    async def record(self, note: ExportNote) -> Recorded:
        self.notes.append(note)
        standing = Standing(origin="local/n/1", size=9, root=b"\x07" * 32, first_kept=256, checkpoint="note\n\nÿ\n")
        return Recorded(export="e" * 16, seq=8, standing=standing, end=7)

    async def prove(self, log: str, seq: int, size: int) -> Proof:
        self.proven.append((log, seq, size))
        return Proof(seq=seq, size=size, leaf=b"\x01" * 32, path=(b"\x02" * 32, b"\x03" * 32))

    async def salts(self, log: str, seqs: Sequence[int]) -> Mapping[int, Mapping[str, bytes]]:
        self.salted.append((log, tuple(seqs)))
        return {seq: {"title": bytes([seq]) * 16} for seq in seqs}


class Log:
    """A twin of the timeline's reader: rows are added by the test, followers are woken."""

    def __init__(self) -> None:
        self.stored = [self.row(seq) for seq in range(5)]
        self.added = asyncio.Condition()
        self.following = asyncio.Event()
        self.left = asyncio.Event()
        self.wanted: list[RowFilter] = []
        self.streams: list[AsyncGenerator[StoredRow, None]] = []

    @staticmethod
    def row(seq: int) -> StoredRow:
        return StoredRow(
            seq=seq, data=bytes([seq]) * 9 + b"\xff\x00", leaf=bytes([seq]) * 32, side=(("title", HOSTILE),)
        )

    async def add(self, seq: int) -> None:
        async with self.added:
            self.stored.append(self.row(seq))
            self.added.notify_all()

    async def logs(self) -> tuple[LogInfo, ...]:
        return (
            LogInfo(id=1, origin="local/n/1", size=600, first=256, current=False),
            LogInfo(id=2, origin="local/n/2", size=len(self.stored), first=0, current=True),
        )

    async def overview(self, since_us: int) -> Overview[StoredRow]:
        numbers = {one.name: at for at, one in enumerate(fields(Overview)) if one.name not in {"peers", "blocks"}}
        blocks = tuple(self.stored[-2:])
        return Overview(peers=("p" * 52,), blocks=blocks, **{**numbers, "since_us": since_us})

    def rows(self, wanted: RowFilter, *, follow: bool) -> AsyncGenerator[StoredRow, None]:
        self.wanted.append(wanted)
        # Kept, so that a stream which nobody closes is not closed by the collector either.
        self.streams.append(self._rows(wanted, follow=follow))
        return self.streams[-1]

    async def _rows(self, wanted: RowFilter, *, follow: bool) -> AsyncGenerator[StoredRow, None]:
        at = wanted.from_seq
        try:
            while True:
                for row in self.stored[at:]:
                    yield row
                    at += 1
                if not follow:
                    return
                async with self.added:
                    self.following.set()
                    while len(self.stored) <= at:
                        await self.added.wait()
        finally:
            self.left.set()
