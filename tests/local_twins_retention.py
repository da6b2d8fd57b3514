"""Twins of what deletes rows and erases texts: they give the steps that a test put in, and note what was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator

from node.core.retention import Doubt, Moment, Range
from node.ports_timeline import EraseStep, Erasure, PruneStep

RANGE = Range(
    log=0, origin="local/x/1", first=256, next=768, first_us=5, last_us=2**53, why="age",
    end=Moment(log=0, seq=767, ts_us=2**53, mono_us=1, boot="b"),
)  # fmt: skip


class Pruning:
    """A twin of retention."""

    def __init__(self) -> None:
        self.asked: list[tuple[bool, bool]] = []
        self.steps = [PruneStep(range=RANGE, deleted=512), PruneStep(range=RANGE, doubt=Doubt.STEPPED)]

    async def prune(self, *, dry_run: bool, by_person: bool) -> AsyncIterator[PruneStep]:
        self.asked.append((dry_run, by_person))
        for step in self.steps:
            yield step


class Erasing:
    """A twin of erasure."""

    def __init__(self) -> None:
        self.asked: list[tuple[Erasure, bool]] = []

    async def erase(self, wish: Erasure, *, dry_run: bool) -> AsyncIterator[EraseStep]:
        self.asked.append((wish, dry_run))
        yield EraseStep(seq=2, size=9, found=1, erased=0)
        yield EraseStep(seq=9, size=9, found=4, erased=0 if dry_run else 4)
