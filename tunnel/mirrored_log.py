"""A server's timeline as it is mirrored: each row is held to its own hash and to the row before it.

What is missing or does not fit is a break that stays visible; the check goes on behind it. Nothing here can tell a
server's story that is made up from the beginning: what is proven is that nobody changed it since it was first told.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from node.core.canonical import JsonValue, decode
from node.core.escape import escape_to_width
from node.core.merkle import leaf_hash
from node.core.timeline import is_origin
from node.core.timeline_check import Problem, ProblemCode, read_row

BREAKS_KEPT: Final = 16
SIDE_CHARS: Final = 300
_SHOWN_CHARS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SideText:
    """A text beside a row, which nothing proves: its salt stays at the server."""

    seq: int
    field: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBatch:
    """Rows of one log in order, as bytes, the first one's number, and texts beside them."""

    origin: str
    first_seq: int
    rows: tuple[bytes, ...]
    texts: tuple[SideText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """A row that was taken."""

    seq: int
    data: bytes
    leaf: bytes
    side: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Where the chain does not hold, and why: rows `first` to `last` are missing, or row `first` does not fit."""

    first: int
    last: int
    code: ProblemCode
    words: str


class MirroredLog:
    """Follows one log from the first row that it is given. Keeps the last `keep` rows to show, and the last breaks."""

    def __init__(self, *, keep: int) -> None:
        self.origin = ""
        self.next = 0
        # From here up to `next` every row follows the one before it.
        self.since = 0
        self.breaks_total = 0
        self.rows_total = 0
        self.breaks: deque[Break] = deque(maxlen=BREAKS_KEPT)
        self.rows: deque[LogRow] = deque(maxlen=keep)
        self._last: bytes | None = None
        self._begun = False

    @property
    def wanted(self) -> tuple[str, int]:
        """The log and the number to go on from; an empty name before the first row."""
        return self.origin, self.next

    def take(self, batch: LogBatch) -> tuple[LogRow, ...]:
        """The rows that are new, each held to the one before; rows of another log are refused."""
        if not self._begun:
            if is_origin(batch.origin) is None:
                self._break(batch.first_seq, batch.first_seq, ProblemCode.FOREIGN, "the log has no proper name")
                return ()
            self.origin = batch.origin
        if batch.origin != self.origin:
            words = f"rows of another log came ({escape_to_width(batch.origin, _SHOWN_CHARS)}) and were refused"
            self._break(self.next, self.next, ProblemCode.FOREIGN, words)
            return ()
        taken = [row for at, data in enumerate(batch.rows) if (row := self._row(batch, at, data)) is not None]
        self.rows.extend(taken)
        self.rows_total += len(taken)
        return tuple(taken)

    def heard(self, size: int) -> bool:
        """The server says that it has given all of a log of that size; whether rows are missing."""
        if self._begun and size < self.next:
            words = f"the server has {size} rows now, and had {self.next}"
            self._break(size, self.next - 1, ProblemCode.TAIL_MISSING, words)
        return self._begun and size > self.next

    def _row(self, batch: LogBatch, at: int, data: bytes) -> LogRow | None:
        seq = batch.first_seq + at
        if self._begun and seq < self.next:
            # It was taken before, or is older than all that was.
            return None
        header = read_row(self.origin, seq, data)
        if isinstance(header, Problem):
            self._break(seq, seq, header.code, header.words)
            return None
        if not self._begun:
            self._begun, self.since, self._last = True, seq, None
            fits = (header.prev is None) is (seq == 0)
        elif seq > self.next:
            self._break(self.next, seq - 1, ProblemCode.MISSING, f"rows {self.next} to {seq - 1} are missing")
            self.since, fits = seq, header.prev is not None
        else:
            fits = header.prev == (self._last.hex() if self._last is not None else None)
        if not fits:
            words = f"row {seq}: the row before it is not the one it was written after"
            self._break(seq, seq, ProblemCode.CHAIN_BROKEN, words)
            self.since = seq
        self._last, self.next = leaf_hash(data), seq + 1
        return LogRow(seq=seq, data=data, leaf=self._last, side=_side(batch, seq, data))

    def _break(self, first: int, last: int, code: ProblemCode, words: str) -> None:
        found = Break(first=first, last=last, code=code, words=words)
        if not self.breaks or self.breaks[-1] != found:
            self.breaks.append(found)
            self.breaks_total += 1


def _side(batch: LogBatch, seq: int, data: bytes) -> tuple[tuple[str, str], ...]:
    """The texts of a row which it has commitments to, cut."""
    committed: JsonValue = decode(data).get("side")
    if not isinstance(committed, dict):
        return ()
    found = {text.field: text.text for text in batch.texts if text.seq == seq and text.field in committed}
    return tuple((name, text[:SIDE_CHARS]) for name, text in sorted(found.items()))
