"""What the security timeline asks of the node's store, and what doors ask of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from node.core.export_manifest import ExportNote, Proof, Recorded
from node.core.timeline import Head, Row
from node.core.timeline_check import Verification
from node.core.timeline_filter import RowFilter as RowFilter  # noqa: PLC0414  (doors have it from here)
from node.core.timeline_overview import Overview


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """One timeline row as stored, with its erasable side texts by field."""

    seq: int
    data: bytes
    leaf: bytes
    side: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A text beside a row: what the row's commitment of that field was made of."""

    seq: int
    field: str
    salt: bytes
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInfo:
    """One log of the node: rows `first` to `size` - 1 are kept. The one with the highest id is the current one."""

    id: int
    origin: str
    size: int
    first: int
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What the node signed of a log: its size, its root (32 bytes), the whole signed note, and when."""

    size: int
    root: bytes
    note: str
    made_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyProgress:
    """How far a verification is; `result` comes with the last one."""

    rows: int
    total: int
    result: Verification | None = None


class Audit(Protocol):
    """Reads and verifies the timeline."""

    def rows(self, wanted: RowFilter, *, follow: bool) -> AsyncIterator[StoredRow]: ...
    def verify(self) -> AsyncIterator[VerifyProgress]: ...
    async def logs(self) -> tuple[LogInfo, ...]: ...
    async def overview(self, since_us: int) -> Overview[StoredRow]: ...


class Exports(Protocol):
    """Writes the rows about exports, and proves what they hold."""

    async def record(self, note: ExportNote) -> Recorded: ...
    async def prove(self, log: str, seq: int, size: int) -> Proof: ...
    async def salts(self, log: str, seqs: Sequence[int]) -> Mapping[int, Mapping[str, bytes]]:
        """By row and field, what the commitments to its texts were made with."""
        ...


class TimelineReader(Protocol):
    """Questions about the logs; `log` is an id, None for the current one. Blocking, as all of a Reader."""

    def logs(self) -> tuple[LogInfo, ...]: ...
    def rows(self, after: int, limit: int, log: int | None = None) -> tuple[StoredRow, ...]: ...
    def sides(self, first: int, end: int, log: int | None = None) -> tuple[Side, ...]: ...
    def size(self) -> int: ...
    def head(self, log: int | None = None) -> Head: ...
    def tile(self, level: int, index: int, log: int | None = None) -> bytes: ...
    def checkpoints(self, after: int, limit: int, log: int | None = None) -> tuple[Checkpoint, ...]: ...
    def last_checkpoint(self, log: int | None = None) -> Checkpoint | None: ...


class TimelineTx(TimelineReader, Protocol):
    """Writes to the current log."""

    def append(self, row: Row, side: Sequence[tuple[str, str]] = ()) -> int: ...
    def open_log(self, origin: str) -> None: ...
    def add_checkpoint(self, checkpoint: Checkpoint) -> None: ...
