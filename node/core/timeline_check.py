"""The check of a whole log in one pass and flat memory: what was edited, moved, lost or put in, and at which row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from node.core import merkle
from node.core.canonical import JsonValue, decode, refuse
from node.core.errors import MeshError
from node.core.timeline import SCHEMA_VERSION, Head, RowKind

MAX_FINDINGS: Final = 100
CLOCK_TOLERANCE_US: Final = 2_000_000
CLOCK_DRIFT_PPM: Final = 500


class ProblemCode(StrEnum):
    """Why a log does not verify."""

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
class Verification:
    """What a check of one log found. `rows` counts the rows that verified, from `first_seq` to `last_seq`.

    `root` is the tree's root after them. Lists are cut at `MAX_FINDINGS`; `clock_steps_total` counts all.
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

    `start` is a trusted head to go on from when older rows were pruned. `checkpoints` maps trusted sizes to roots:
    they alone can show a tail cut off or a history rewritten as a whole, which a chain cannot.
    """

    def __init__(
        self, origin: str, *, start: Head | None = None, checkpoints: Mapping[int, bytes] | None = None
    ) -> None:
        self._head = start or Head.empty(origin)
        self._origin = origin
        self._first = self._head.size
        self._checkpoints = checkpoints or {}
        self._before: Header | None = None
        self._problem: Problem | None = None
        self._steps: list[ClockStep] = []
        self._steps_total = 0
        self._warnings: list[str] = []
        if self._head.origin != origin:
            refuse("start", f"it is the head of {self._head.origin}, not of {origin}")
        if self._first:
            self._warn(f"rows 0 to {self._first - 1} were not read; the check goes on from a trusted head")
        if any(size < self._first for size in self._checkpoints):
            self._warn(f"checkpoints of less than {self._first} rows were not compared")
        self._compare_root()

    def feed(self, seq: int, data: bytes, stored_leaf: bytes) -> Problem | None:
        """Check the next stored row. Returns the first problem so far; rows after it are not looked at."""
        if self._problem is None:
            self._problem = self._check(seq, data, stored_leaf)
        return self._problem

    def finish(self) -> Verification:
        """What was found, once every stored row was fed."""
        size = self._head.size
        beyond = [wanted for wanted in self._checkpoints if wanted > size]
        if self._problem is None and beyond:
            words = f"a checkpoint names {max(beyond)} rows, the log ends after {size}"
            self._problem = Problem(seq=size, code=ProblemCode.TAIL_MISSING, words=words)
        rows = size - self._first
        return Verification(
            origin=self._origin,
            rows=rows,
            first_seq=self._first if rows else None,
            last_seq=size - 1 if rows else None,
            root=self._head.root,
            ok=self._problem is None,
            problem=self._problem,
            clock_steps=tuple(self._steps),
            clock_steps_total=self._steps_total,
            warnings=tuple(self._warnings),
        )

    def _check(self, seq: int, data: bytes, stored_leaf: bytes) -> Problem | None:
        expected = self._head.size
        if seq < expected:
            return _problem(seq, ProblemCode.DUPLICATE, f"row {seq} comes again or out of order after {expected - 1}")
        if seq > expected:
            code = ProblemCode.HEAD_MISSING if expected == self._first else ProblemCode.MISSING
            return _problem(expected, code, f"row {expected} is missing; the next stored row is {seq}")
        leaf = merkle.leaf_hash(data)
        if leaf != stored_leaf:
            return _problem(seq, ProblemCode.EDITED, "its bytes do not have the hash that was stored with them")
        header = read_row(self._origin, seq, data)
        if isinstance(header, Problem):
            return header
        if header.prev != (self._head.last.hex() if self._head.last is not None else None):
            return _problem(seq, ProblemCode.CHAIN_BROKEN, "the row before it is not the one it was written after")
        grown = merkle.grow(expected, self._head.frontier, leaf)
        self._head = Head(origin=self._origin, size=expected + 1, last=leaf, frontier=grown)
        self._watch_clock(header)
        if header.row in (RowKind.GAP, RowKind.KEY, RowKind.PRUNE):
            self._warn(f"row {seq} records a {header.row}")
        return self._compare_root()

    def _compare_root(self) -> Problem | None:
        size = self._head.size
        trusted = self._checkpoints.get(size)
        if trusted is None or trusted == self._head.root:
            return None
        # Kept as well as returned: the head a check starts from is compared before any row is fed.
        words = f"the first {size} rows are not those that a checkpoint was made of"
        self._problem = _problem(max(size - 1, 0), ProblemCode.ROOT_DIFFERS, words)
        return self._problem

    def _watch_clock(self, now: Header) -> None:
        before, self._before = self._before, now
        if before is None:
            return
        step = now.ts - before.ts
        tolerated = CLOCK_TOLERANCE_US
        if now.boot == before.boot:
            steady = now.mono - before.mono
            if steady < 0:
                self._warn(f"at row {now.seq} the clock that only goes forward went back {-steady} us")
            step -= steady
            # A disciplined clock may be slewed all the time; only what exceeds that is a step.
            tolerated += abs(steady) * CLOCK_DRIFT_PPM // 1_000_000
        elif step > 0:
            return
        if abs(step) > tolerated:
            self._steps_total += 1
            if len(self._steps) < MAX_FINDINGS:
                self._steps.append(ClockStep(seq=now.seq, step_us=step))

    def _warn(self, words: str) -> None:
        if len(self._warnings) < MAX_FINDINGS:
            self._warnings.append(words)
        elif len(self._warnings) == MAX_FINDINGS:
            self._warnings.append("more warnings were left out")


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
        and isinstance(seq, int)
        and (prev is None or isinstance(prev, str))
        and isinstance(ts, int)
        and isinstance(mono, int)
        and isinstance(boot, str)
        and isinstance(row, str)
    ):
        return Header(log=log, seq=seq, prev=prev, ts=ts, mono=mono, boot=boot, row=row)
    return None


def _problem(seq: int, code: ProblemCode, why: str) -> Problem:
    return Problem(seq=seq, code=code, words=f"row {seq}: {why}")
