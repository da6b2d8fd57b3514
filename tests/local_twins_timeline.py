"""The part of a simulated node that writes the rows about exports: it notes what it was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from node.core.export_manifest import ExportNote, Proof, Recorded, Standing


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
