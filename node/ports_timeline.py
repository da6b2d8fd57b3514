"""What the security timeline asks of the node's store, and what doors ask of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from node.core.export_manifest import ExportNote, Proof, Recorded
from node.core.log_key import KnownKey, LogKey, LogSigner
from node.core.retention import Doubt, Range
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
class Prune:
    """Rows `first` to `next` - 1 of a log are to be deleted, as row `row_seq` of the log `row_log` says.

    Nothing is deleted before that row is `covered` by a checkpoint.
    """

    log: int
    first: int
    next: int
    row_log: int
    row_seq: int
    covered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPlace:
    """Where there is a text: its row's number and bytes (empty if the row is gone), and its field."""

    seq: int
    field: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneStep:
    """What became of a range that may be pruned: how many of its rows are deleted so far, or why none will be."""

    range: Range
    deleted: int = 0
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """Which texts to erase: those of which all that is given is true. Ids may be cut short; `log` is an origin."""

    log: str = ""
    seqs: tuple[int, ...] = ()
    field: str = ""
    exchange: str = ""
    session: str = ""
    before_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseStep:
    """How far an erasure is: up to which row it has looked, how many texts it found, how many of them it erased."""

    seq: int
    size: int
    found: int
    erased: int
    doubt: Doubt | None = None


class Retention(Protocol):
    """Deletes what is older than it is kept, or more than is kept."""

    def prune(self, *, dry_run: bool, by_person: bool) -> AsyncIterator[PruneStep]: ...


class Erasures(Protocol):
    """Erases texts beside rows."""

    def erase(self, wish: Erasure, *, dry_run: bool) -> AsyncIterator[EraseStep]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyProgress:
    """How far a verification is; `result` comes with the last one."""

    rows: int
    total: int
    result: Verification | None = None


class Audit(Protocol):
    """Reads the timeline."""

    def rows(self, wanted: RowFilter, *, follow: bool) -> AsyncGenerator[StoredRow, None]: ...
    async def logs(self) -> tuple[LogInfo, ...]: ...
    async def overview(self, since_us: int) -> Overview[StoredRow]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleWish:
    """Which rows of which log: `from_seq` to `to_seq` (None: the last), `log` an origin, empty for the current one."""

    log: str = ""
    from_seq: int = 0
    to_seq: int | None = None


class Proofs(Protocol):
    """Verifies the timeline, and gives what others need to verify it."""

    def verify(self, *, log: str = "", seen: Sequence[str] = ()) -> AsyncIterator[VerifyProgress]:
        """Progress, then the result; `seen` are checkpoints (signed notes) that somebody kept elsewhere."""
        ...

    def bundle(self, wish: BundleWish) -> AsyncIterator[StoredRow | str]:
        """A bundle's lines, of which rows are still to be written as such."""
        ...

    async def prove(self, seq: int, *, log: str = "") -> str:
        """That a row is in the log: a tlog-proof with a signed checkpoint."""
        ...


class LogKeyKeeper(Protocol):
    """The keys that sign this node's logs. Blocking, and MeshError when a key cannot be had."""

    def signer(self) -> LogSigner:
        """The key in use."""
        ...

    def former(self, key_ids: frozenset[bytes], origin: str) -> LogSigner | None:
        """A former one that is still here, by its id in signature lines."""
        ...

    def forget_former(self) -> None: ...
    def known(self) -> tuple[KnownKey, ...]:
        """All that ever signed, oldest first."""
        ...

    def remember(self, log: str, first: int, key: LogKey) -> None: ...


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
    def entries(self, first: int, end: int, log: int | None = None) -> list[tuple[int, bytes, bytes]]:
        """Rows `first` to `end` - 1 for a check, which looks at many: (number, bytes, leaf)."""
        ...

    def salted(self, first: int, end: int, log: int | None = None) -> list[tuple[int, bytes, bytes, bytes]]:
        """The texts beside them: (number, field, salt, text), by number and field."""
        ...

    def sides(self, first: int, end: int, log: int | None = None) -> tuple[Side, ...]: ...
    def size(self) -> int: ...
    def head(self, log: int | None = None) -> Head: ...
    def tile(self, level: int, index: int, log: int | None = None) -> bytes: ...
    def checkpoints(self, after: int, limit: int, log: int | None = None) -> tuple[Checkpoint, ...]: ...
    def last_checkpoint(self, log: int | None = None) -> Checkpoint | None: ...


class RetentionReader(Protocol):
    """Questions about what of the logs is to go; `log` is an id. Blocking, as all of a Reader."""

    def log_bytes(self, log: int) -> int: ...
    def row_sizes(self, first: int, end: int, log: int) -> int: ...
    def prunes(self) -> tuple[Prune, ...]: ...
    def told(self, log: int) -> tuple[int, int] | None: ...
    def texts(self, first: int, end: int, limit: int, log: int) -> tuple[TextPlace, ...]: ...


class RetentionTx(RetentionReader, Protocol):
    """Deletes what is to go."""

    def begin_prune(self, prune: Prune) -> None: ...
    def tell(self, log: int, row: tuple[int, int]) -> None: ...
    def prune_tile(self, log: int) -> bool: ...
    def erase_texts(self, log: int, places: Sequence[tuple[int, str]]) -> int: ...
    def thin_checkpoints(self, log: int, newest: int, day_us: int) -> int: ...


class TimelineTx(TimelineReader, Protocol):
    """Writes to the current log."""

    def append(self, row: Row, side: Sequence[tuple[str, str]] = ()) -> int: ...
    def tell_clock_step(self, sw: str) -> None:
        """Writes the row of a step of the clock if one is due, for who has to know the next row's number."""
        ...

    def open_log(self, origin: str) -> None: ...
    def add_checkpoint(self, checkpoint: Checkpoint) -> None: ...
