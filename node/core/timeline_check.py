"""The check of a log's chain in one pass and flat memory: what was edited, moved, lost or put in, and at which row.

What stands beside the chain (checkpoints, tiles, texts, prune rows, keys) is for `evidence`, which builds on this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final

from node.core import merkle
from node.core.canonical import MAX_ROW_BYTES, JsonValue, decode, dump, refuse
from node.core.errors import MeshError
from node.core.row_form import in_order, match_row
from node.core.timeline import SCHEMA_VERSION, Head, RowKind

MAX_FINDINGS: Final = 100
CLOCK_TOLERANCE_US: Final = 2_000_000
CLOCK_DRIFT_PPM: Final = 500


class ProblemCode(StrEnum):
    """Why a log does not verify, or (`INCOMPLETE`) why nobody can tell."""

    EDITED = "edited"
    NOT_CANONICAL = "not_canonical"
    UNKNOWN_VERSION = "unknown_version"
    FOREIGN = "foreign"
    RENUMBERED = "renumbered"
    DUPLICATE = "duplicate"
    MISSING = "missing"
    HEAD_MISSING = "head_missing"
    TAIL_MISSING = "tail_missing"
    CHAIN_BROKEN = "chain_broken"
    ROOT_DIFFERS = "root_differs"
    CHECKPOINT_FORGED = "checkpoint_forged"
    CHECKPOINT_KEY = "checkpoint_key"
    KEY_FORGED = "key_forged"
    KEY_UNPROVEN = "key_unproven"
    KEY_UNKNOWN = "key_unknown"
    NOT_VOUCHED = "not_vouched"
    PRUNE_WRONG = "prune_wrong"
    PRUNE_TOO_YOUNG = "prune_too_young"
    TILE_DIFFERS = "tile_differs"
    TEXT_DIFFERS = "text_differs"
    TWIN_MISSING = "twin_missing"
    NOT_COMPARED = "not_compared"
    CUT_SHORT = "cut_short"


INCOMPLETE: Final = frozenset(
    {
        ProblemCode.UNKNOWN_VERSION,
        ProblemCode.KEY_UNPROVEN,
        ProblemCode.KEY_UNKNOWN,
        ProblemCode.NOT_COMPARED,
        ProblemCode.CUT_SHORT,
    }
)
"""Problems which leave open whether anybody tampered with the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The first thing that is wrong: at which row, a code, and words for a person."""

    seq: int
    code: ProblemCode
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """Between the row before and this one, wall time moved this many microseconds against the steady clock.

    Across a restart, where the steady clock says nothing, only a wall clock that went back is a step.
    """

    seq: int
    step_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Rows `first` to `next` - 1 are gone, as the row `row` says, because of their age or of the log's size."""

    first: int
    next: int
    row: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """From row `seq` on the log's key is `key` (its id in signature lines); `how` is what the row says of that."""

    seq: int
    key: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a check of one log found. `rows` counts the rows that verified, from `first_seq` to `last_seq`.

    `root` is the tree's root after them. Lists are cut at `MAX_FINDINGS`; `clock_steps_total` counts all. Signed
    checkpoints cover rows 0 to `covered` - 1; `node` is the node whose key endorsed the log's keys, and `vouched` says
    that this is who the check was told to expect.
    """

    origin: str
    rows: int
    first_seq: int | None
    last_seq: int | None
    root: bytes
    ok: bool
    problem: Problem | None
    clock_steps: tuple[ClockStep, ...]
    clock_steps_total: int
    warnings: tuple[str, ...]
    covered: int = 0
    checkpoints: int = 0
    pruned: tuple[Pruned, ...] = ()
    keys: tuple[KeyChange, ...] = ()
    node: str = ""
    vouched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The fields of a row that the chain stands on."""

    log: str
    seq: int
    prev: str | None
    ts: int
    mono: int
    boot: str
    row: str


class Verifier:
    """Checks one log row by row in flat memory, and stops at the first problem.

    `start` is a trusted head to go on from. A tail cut off or a history rewritten as a whole no chain can show: that is
    found by the checkpoints, which are `evidence`'s.
    """

    def __init__(self, origin: str, *, start: Head | None = None) -> None:
        start = start or Head.empty(origin)
        self.tree = merkle.Tree(start.size, start.frontier)
        self._next = start.size
        self.origin = origin
        self.row, self.boot = b"", b""
        self.side: bytes | None = None
        self.times: tuple[int, int] | None = None
        # The least that wall time less the steady clock was in this boot.
        self._least = 0
        self._raw_origin = origin.encode()
        self._last = b"" if start.last is None else start.last.hex().encode()
        self._first = start.size
        self._problem: Problem | None = None
        self._unread: Problem | None = None
        self._steps: list[ClockStep] = []
        self._steps_total = 0
        self._warnings: list[str] = []
        if start.origin != origin:
            refuse("start", f"it is the head of {start.origin}, not of {origin}")

    @property
    def problem(self) -> Problem | None:
        """The first thing that is wrong so far."""
        return self._problem

    @property
    def ahead(self) -> int:
        """By how much wall time is ahead of the least that it was in this boot: no time that went by proves it."""
        return 0 if self.times is None else self.times[0] - self.times[1] - self._least

    def fail(self, problem: Problem) -> None:
        """Something beside the chain is wrong: that counts if nothing was wrong before."""
        self._problem = self._problem or problem

    def doubt(self, problem: Problem) -> None:
        """Something that leaves open whether all is as it was written: that counts if nothing is wrong."""
        self._unread = self._unread or problem

    def skip(self, height: int, root: bytes, last: bytes) -> None:
        """Before the first row: a complete subtree of 2^height rows that are not here, `last` the last one's leaf."""
        self.tree.add_subtree(height, root)
        self._first = self._next = self.tree.size
        self._last = last.hex().encode()

    def ends(self, head: Head) -> bool:
        """Whether that is where the rows so far end."""
        last = b"" if head.last is None else head.last.hex().encode()
        return (head.size, head.frontier, last) == (self.tree.size, self.tree.frontier, self._last)

    def feed(self, seq: int, data: bytes, stored_leaf: bytes, side: bytes | None = None) -> Problem | None:
        """Check the next stored row. Returns the first problem so far; rows after it are not looked at.

        `side` is what its commitments to texts will be if all its texts are there, in order.
        """
        if self._problem is None:
            self._problem = self._check(seq, data, stored_leaf, side)
        return self._problem

    def finish(self) -> Verification:
        """What was found, once every stored row was fed."""
        size = self.tree.size
        rows = size - self._first
        problem = self._problem or self._unread
        return Verification(
            origin=self.origin,
            rows=rows,
            first_seq=self._first if rows else None,
            last_seq=size - 1 if rows else None,
            root=self.tree.root,
            ok=problem is None,
            problem=problem,
            clock_steps=tuple(self._steps),
            clock_steps_total=self._steps_total,
            warnings=tuple(self._warnings),
        )

    def _check(self, seq: int, data: bytes, stored_leaf: bytes, expected: bytes | None) -> Problem | None:
        if seq != self._next:
            return self._misplaced(seq, self._next)
        leaf = sha256(b"\x00" + data).digest()
        if leaf != stored_leaf:
            return _problem(seq, ProblemCode.EDITED, "its bytes do not have the hash that was stored with them")
        found = match_row(data)
        # The order of names is looked at last: it costs as much as the rest, and most rows have few.
        if found is not None and len(data) <= MAX_ROW_BYTES:
            boot, extra, log, mono, prev, row, number, side, ts = found.groups()
            if (
                log == self._raw_origin
                and int(number) == seq
                and (side is None or side == expected or in_order(side))
                and (extra is None or in_order(extra))
            ):
                if (prev is not None and prev != self._last) or (prev is None and self._last):
                    return _broken(seq)
                self.tree.add(leaf)
                self._next = seq + 1
                self._last = leaf.hex().encode()
                self.row, self.side = row, side
                self._watch_clock(seq, boot, int(ts), int(mono))
                return None
        return self._check_parsed(seq, data, leaf)

    def _check_parsed(self, seq: int, data: bytes, leaf: bytes) -> Problem | None:
        """The same for a row that no pattern knows."""
        header = read_row(self.origin, seq, data)
        self.row, self.side = b"", None
        if isinstance(header, Problem):
            if header.code is not ProblemCode.UNKNOWN_VERSION:
                return header
            # What it says nobody can tell, but its place in the tree can be held against the checkpoints.
            self.doubt(header)
        elif (header.prev or "").encode() != self._last:
            return _broken(seq)
        self.tree.add(leaf)
        self._next = seq + 1
        self._last = leaf.hex().encode()
        if isinstance(header, Header):
            side = decode(data).get("side")
            self.row, self.side = header.row.encode(), None if side is None else dump(side)[1:-1]
            self._watch_clock(seq, header.boot.encode(), header.ts, header.mono)
        return None

    def _misplaced(self, seq: int, expected: int) -> Problem:
        if seq < expected:
            return _problem(seq, ProblemCode.DUPLICATE, f"row {seq} comes again or out of order after {expected - 1}")
        code = ProblemCode.HEAD_MISSING if expected == self._first else ProblemCode.MISSING
        return _problem(expected, code, f"row {expected} is missing; the next stored row is {seq}")

    def _watch_clock(self, seq: int, boot: bytes, ts: int, mono: int) -> None:
        if self.row == _TOLD:
            self.warn(f"row {seq} records a {self.row.decode('ascii')}")
        before, boot_before = self.times, self.boot
        self.times, self.boot = (ts, mono), boot
        if boot != boot_before or ts - mono < self._least:
            self._least = ts - mono
        if before is None:
            return
        step = ts - before[0]
        tolerated = CLOCK_TOLERANCE_US
        if boot == boot_before:
            steady = mono - before[1]
            step -= steady
            if steady >= 0 and -CLOCK_TOLERANCE_US <= step <= CLOCK_TOLERANCE_US:
                return
            if steady < 0:
                self.warn(f"at row {seq} the clock that only goes forward went back {-steady} us")
            # A disciplined clock may be slewed all the time; only what exceeds that is a step.
            tolerated += abs(steady) * CLOCK_DRIFT_PPM // 1_000_000
        elif step > 0:
            return
        if abs(step) > tolerated:
            self._steps_total += 1
            if len(self._steps) < MAX_FINDINGS:
                self._steps.append(ClockStep(seq=seq, step_us=step))

    def warn(self, words: str) -> None:
        """Something a reader should know of, up to a number of such things."""
        if len(self._warnings) < MAX_FINDINGS:
            self._warnings.append(words)
        elif len(self._warnings) == MAX_FINDINGS:
            self._warnings.append("more warnings were left out")


_TOLD: Final = RowKind.GAP.value.encode()


def read_row(origin: str, seq: int, data: bytes) -> Header | Problem:
    """What the chain stands on in the bytes of that log's row of that number, or what is wrong with them alone."""
    try:
        fields = decode(data)
    except MeshError as error:
        return _problem(seq, ProblemCode.NOT_CANONICAL, error.message)
    if fields.get("v") != SCHEMA_VERSION:
        return _problem(seq, ProblemCode.UNKNOWN_VERSION, f"this version reads rows of schema {SCHEMA_VERSION}")
    header = _header(fields)
    if header is None:
        return _problem(seq, ProblemCode.NOT_CANONICAL, "a field that every row has is absent or of another type")
    if header.log != origin:
        return _problem(seq, ProblemCode.FOREIGN, f"it was written for the log {header.log}")
    if header.seq != seq:
        return _problem(seq, ProblemCode.RENUMBERED, f"it was written as row {header.seq}")
    return header


def _header(fields: Mapping[str, JsonValue]) -> Header | None:
    get = fields.get
    log, seq, prev, boot, row = get("log"), get("seq"), get("prev"), get("boot"), get("row")
    ts, mono = get("ts"), get("mono")
    if (
        isinstance(log, str)
        and type(seq) is int
        and (prev is None or isinstance(prev, str))
        and type(ts) is int
        and type(mono) is int
        and isinstance(boot, str)
        and isinstance(row, str)
    ):
        return Header(log=log, seq=seq, prev=prev, ts=ts, mono=mono, boot=boot, row=row)
    return None


def _broken(seq: int) -> Problem:
    return _problem(seq, ProblemCode.CHAIN_BROKEN, "the row before it is not the one it was written after")


def _problem(seq: int, code: ProblemCode, why: str) -> Problem:
    return Problem(seq=seq, code=code, words=f"row {seq}: {why}")
