"""Security timeline: the row's schema, its canonical bytes, the hash chain, and the check of a whole log in one pass.

A row is hashed as stored and never written again. Its bytes are canonical JSON: ASCII with JSON escapes, sorted unique
keys, no white space, no floats, integers below 2^53 in size, at most 8 KiB; a field without a value is left out.
Names, titles and texts are never in a row: it holds ids, codes, sizes and salted commitments to texts kept elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final, NoReturn, TypeAlias

from node.core import merkle
from node.core.errors import ErrorCode, MeshError

JsonValue: TypeAlias = "bool | int | str | list[JsonValue] | dict[str, JsonValue] | None"

SCHEMA_VERSION: Final = 1
MAX_ROW_BYTES: Final = 8192
MAX_INT: Final = 2**53 - 1
MAX_EXTRA_DEPTH: Final = 3
KEPT_WHEN_TRIMMED: Final = 8
SALT_BYTES: Final = 16
MAX_FINDINGS: Final = 100
CLOCK_TOLERANCE_US: Final = 2_000_000
CLOCK_DRIFT_PPM: Final = 500

LEGS: Final = frozenset({"local", "egress", "ingress"})
SCAN_STATUSES: Final = frozenset({"clean", "flagged", "unavailable", "skipped"})

_is_origin = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}", re.ASCII).fullmatch


# ---------------------------------------------------------------------------------------------------------------------
# Canonical JSON

_AS_GIVEN = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"))
_SORTING = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"), sort_keys=True
)


def _dump(value: JsonValue) -> bytes:
    return _SORTING.encode(value).encode("ascii")


def _dump_sorted(value: JsonValue) -> bytes:
    """As `_dump`, for what has its keys in order already: sorting costs as much again as writing."""
    return _AS_GIVEN.encode(value).encode("ascii")


def _no_float(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not an integer")


def _small_int(literal: str) -> int:
    # 2^53 has 16 digits; the length is looked at first because reading long digits takes time that grows faster.
    if len(literal) > 17 or abs(value := int(literal)) > MAX_INT:
        raise ValueError("an integer beyond 2^53")
    return value


_DECODER = json.JSONDecoder(parse_float=_no_float, parse_int=_small_int, parse_constant=_no_float)


def _plain(name: str, value: JsonValue, depth: int, *, any_text: bool = False) -> JsonValue:
    """`value` copied if it is plain data no deeper than `depth`, with strings that are codes or ids (or any text)."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(name, value)
    if isinstance(value, str):
        if not any_text:
            _check(_TOKEN, (name,), (value,))
        return value
    if depth == 0:
        _refuse(name, f"it is nested more than {MAX_EXTRA_DEPTH} deep")
    if isinstance(value, list):
        return [_plain(name, item, depth - 1, any_text=any_text) for item in value]
    # Types are not checked when a node runs, and a float would end up in a log that nobody can verify.
    if not isinstance(value, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
        _refuse(name, f"a {type(value).__name__} is not a plain value")
    _check(_CODE, (name,) * len(value), tuple(value))
    return {key: _plain(f"{name}.{key}", item, depth - 1, any_text=any_text) for key, item in sorted(value.items())}


class _Form:
    """A shape that strings of a row have; many are matched at once, as rows are written while messages wait."""

    def __init__(self, one: str, words: str) -> None:
        self.one = re.compile(one, re.ASCII).fullmatch
        self.many = re.compile(f"{one}(?:\n{one})*+", re.ASCII).fullmatch
        self.words = words


_CODE = _Form(r"[a-z][a-z0-9_.-]{0,63}", "it must be a code: a-z first, then at most 63 of a-z 0-9 _ . -")
_TOKEN = _Form(
    r"[A-Za-z0-9._:+/=@-]{1,128}",
    "it must be an id or code of 1 to 128 of A-Z a-z 0-9 . _ : + / = @ -; names and texts go in as commitments",
)
_HASH = _Form(r"[0-9a-f]{64}", "it must be a commitment of 64 lower-case hex digits")


def _check(form: _Form, names: Sequence[str], values: Sequence[str | None]) -> None:
    """INVALID_ARGUMENT, with the name of the first, if a value that is there has not the form."""
    given = [value for value in values if value is not None]
    joined = "\n".join(given)
    if not given or (form.many(joined) is not None and joined.count("\n") == len(given) - 1):
        return
    for name, value in zip(names, values, strict=True):
        if value is not None and form.one(value) is None:
            _refuse(name, form.words)


def _choice(name: str, value: str, choices: frozenset[str]) -> str:
    if value not in choices:
        _refuse(name, f"it must be one of {', '.join(sorted(choices))}")
    return value


def _integer(name: str, value: int) -> int:
    if type(value) is not int or not -MAX_INT <= value <= MAX_INT:
        _refuse(name, "it must be an integer below 2^53 in size")
    return value


def _count(name: str, value: int) -> int:
    if type(value) is not int or not 0 <= value <= MAX_INT:
        _refuse(name, "it must be an integer from 0 to below 2^53")
    return value


def _refuse(name: str, why: str) -> NoReturn:
    # The value itself stays out of the message: it may be the very text that a row must not hold.
    raise MeshError(
        ErrorCode.INVALID_ARGUMENT, f"The timeline field {name!r} was refused by this node: {why}.", {"field": name}
    )


def _not_canonical(why: str) -> MeshError:
    return MeshError(ErrorCode.TAMPERED, f"This is not a timeline row as a node writes it: {why}.")


def encode(value: Mapping[str, JsonValue]) -> bytes:
    """Canonical bytes of an object whose keys are codes, of any size. INVALID_ARGUMENT for what a row cannot hold."""
    return _dump(_plain("object", dict(value), MAX_EXTRA_DEPTH + 1, any_text=True))


def decode(data: bytes) -> dict[str, JsonValue]:
    """The object in a row's bytes, only if they are its one canonical form and at most 8 KiB; else TAMPERED."""
    if len(data) > MAX_ROW_BYTES:
        raise _not_canonical(f"it has {len(data)} bytes, the limit is {MAX_ROW_BYTES}")
    try:
        value: JsonValue = _DECODER.decode(data.decode("ascii"))
        # Key order, duplicate keys, white space and odd escapes all show as a difference from our own writing.
        same = isinstance(value, dict) and _dump(value) == data
    except (ValueError, RecursionError) as error:
        raise _not_canonical("it is not JSON of integers, ASCII and no more depth than a row has") from error
    if not isinstance(value, dict) or not same:
        raise _not_canonical("its bytes differ from the canonical form of what they say")
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Rows

_CODE_FIELDS: Final = ("engine", "decision", "reason", "kind")
_TOKEN_FIELDS: Final = (
    *("boot", "sw", "policy", "msg", "conv", "parent", "root"),
    *(f"{end}.{part}" for end in ("from", "to") for part in ("node", "workspace", "session", "agent", "role")),
)


class RowKind(StrEnum):
    """What a row is about; a `message` row is durable before its message is delivered, an `outcome` row follows."""

    MESSAGE = "message"
    OUTCOME = "outcome"
    POLICY = "policy"
    LIFECYCLE = "lifecycle"
    PRUNE = "prune"
    GAP = "gap"
    CLOCK = "clock"
    KEY = "key"
    EXPORT = "export"
    OVERRIDE = "override"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """One reading: wall UTC in microseconds, a clock that counts through sleep, the boot it counts from.

    `off_us` is the last known offset to the collector's clock, None while there is none.
    """

    ts_us: int
    mono_us: int
    boot: str
    off_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """One end of a message, by ids and codes; names are in `Row.side` as commitments."""

    node: str | None = None
    workspace: str | None = None
    session: str | None = None
    agent: str | None = None
    role: str | None = None


_NOBODY: Final = Party()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The size of a message and a commitment (hex) to it; `files` holds (commitment, bytes) of each file."""

    bytes: int
    chars: int
    commit: str | None = None
    files: tuple[tuple[str, int], ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the screen said: status is one of `SCAN_STATUSES`, score is per mille, rules are rule ids."""

    engine: str
    version: str
    status: str
    score: int = 0
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One decision. Codes and ids only; `side` maps a field's name to the commitment (hex) of its text.

    `extra` holds plain values nested at most three deep, whose strings are codes or ids.
    """

    row: RowKind
    engine: str
    decision: str
    sw: str
    reason: str | None = None
    msg: str | None = None
    conv: str | None = None
    parent: str | None = None
    root: str | None = None
    depth: int | None = None
    kind: str | None = None
    leg: str | None = None
    src: Party | None = None
    dst: Party | None = None
    content: Content | None = None
    side: Mapping[str, str] = field(default_factory=dict[str, str])
    scan: Scan | None = None
    policy: str | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row as stored: its number, its canonical bytes, its RFC 6962 leaf hash."""

    seq: int
    data: bytes
    leaf: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a log stands: rows so far, leaf hash of the last, frontier of its tree. INVALID_ARGUMENT if they clash."""

    origin: str
    size: int
    last: bytes | None
    frontier: merkle.Frontier

    def __post_init__(self) -> None:
        if _is_origin(self.origin) is None:
            _refuse("log", f"{self.origin!r} is not a log origin such as local/<node id>/<epoch>")
        if self.size < 0 or len(self.frontier) != self.size.bit_count() or (self.last is None) != (self.size == 0):
            _refuse("head", f"a log of {self.size} rows cannot have this last leaf and frontier")

    @classmethod
    def empty(cls, origin: str) -> Head:
        """The head of a log that has no row yet."""
        return cls(origin=origin, size=0, last=None, frontier=())

    @property
    def root(self) -> bytes:
        """Root of the tree over all rows so far, 32 bytes."""
        return merkle.frontier_root(self.frontier)


def append(head: Head, clock: Clock, row: Row) -> tuple[Head, Entry]:
    """The log's next head and the row as it must be stored.

    A row that would exceed 8 KiB is trimmed, in this order and only as far as needed: files beyond the first 8, rule
    ids beyond the first 8, all of `extra`. What went is noted in `cut` as its count and the SHA-256 of its canonical
    JSON, so it stays provable. INVALID_ARGUMENT for a field outside the schema; AUDIT_UNAVAILABLE if no row can be
    written: it is too long even so, or the log is full.
    """
    if head.size > MAX_INT:
        raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, "The timeline is full; start a new log epoch.")
    fields = _fields(head, clock, row)
    data = _dump_sorted(fields)
    if len(data) > MAX_ROW_BYTES:
        data = _trimmed(fields)
    leaf = merkle.leaf_hash(data)
    grown = merkle.grow(head.size, head.frontier, leaf)
    return (
        Head(origin=head.origin, size=head.size + 1, last=leaf, frontier=grown),
        Entry(seq=head.size, data=data, leaf=leaf),
    )


def commitment(salt: bytes, text: str) -> str:
    """Hex SHA-256 of the 16-byte salt and the UTF-8 text; erasing both leaves a hash that says nothing."""
    if len(salt) != SALT_BYTES:
        _refuse("salt", f"a salt has {SALT_BYTES} bytes, this one has {len(salt)}")
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        # Halves of one character that stand side by side become that character, as they do on any way through JSON.
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        encoded = joined.encode("utf-8", "surrogatepass")
    return sha256(salt + encoded).hexdigest()


def _fields(head: Head, clock: Clock, row: Row) -> dict[str, JsonValue]:
    """The row as an object, its keys in the order in which they are written at every level."""
    src, dst, content, scan = row.src or _NOBODY, row.dst or _NOBODY, row.content, row.scan
    _check(_CODE, _CODE_FIELDS, (row.engine, row.decision, row.reason, row.kind))
    _check(
        _TOKEN,
        _TOKEN_FIELDS,
        (
            *(clock.boot, row.sw, row.policy, row.msg, row.conv, row.parent, row.root),
            *(src.node, src.workspace, src.session, src.agent, src.role),
            *(dst.node, dst.workspace, dst.session, dst.agent, dst.role),
        ),
    )
    fields: dict[str, JsonValue] = {
        "boot": clock.boot,
        "content": None if content is None else _content(content),
        "conv": row.conv,
        "decision": row.decision,
        "depth": None if row.depth is None else _count("depth", row.depth),
        "engine": row.engine,
        "extra": _plain("extra", dict(row.extra), MAX_EXTRA_DEPTH + 1) if row.extra else None,
        "from": None if row.src is None else _party(src),
        "kind": row.kind,
        "leg": None if row.leg is None else _choice("leg", row.leg, LEGS),
        "log": head.origin,
        "mono": _count("mono", clock.mono_us),
        "msg": row.msg,
        "off": None if clock.off_us is None else _integer("off", clock.off_us),
        "parent": row.parent,
        "policy": row.policy,
        "prev": None if head.last is None else head.last.hex(),
        "reason": row.reason,
        "root": row.root,
        "row": row.row.value,
        "scan": None if scan is None else _scan(scan),
        "seq": head.size,
        "side": _side(row.side) if row.side else None,
        "sw": row.sw,
        "to": None if row.dst is None else _party(dst),
        "ts": _count("ts", clock.ts_us),
        "v": SCHEMA_VERSION,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _party(party: Party) -> JsonValue:
    fields: dict[str, JsonValue] = {
        "agent": party.agent,
        "node": party.node,
        "role": party.role,
        "session": party.session,
        "workspace": party.workspace,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _content(content: Content) -> JsonValue:
    commits = (content.commit, *(commit for commit, _ in content.files))
    _check(_HASH, ("content.commit", *("content.files",) * len(content.files)), commits)
    fields: dict[str, JsonValue] = {"bytes": _count("content.bytes", content.bytes)}
    fields["chars"] = _count("content.chars", content.chars)
    if content.commit is not None:
        fields["commit"] = content.commit
    if content.files:
        fields["files"] = [[commit, _count("content.files", size)] for commit, size in content.files]
    fields["truncated"] = bool(content.truncated)
    return fields


def _side(side: Mapping[str, str]) -> JsonValue:
    names = sorted(side)
    commits = tuple(side[name] for name in names)
    _check(_CODE, ("side",) * len(names), names)
    _check(_HASH, names, commits)
    return dict(zip(names, commits, strict=True))


def _scan(scan: Scan) -> JsonValue:
    _check(_TOKEN, ("scan.engine", "scan.version"), (scan.engine, scan.version))
    fields: dict[str, JsonValue] = {"engine": scan.engine}
    if scan.rules:
        _check(_CODE, ("scan.rules",) * len(scan.rules), scan.rules)
        fields["rules"] = list(scan.rules)
    if not 0 <= scan.score <= 1000:
        _refuse("scan.score", "it must be a score per mille, from 0 to 1000")
    fields["score"] = scan.score
    fields["status"] = _choice("scan.status", scan.status, SCAN_STATUSES)
    fields["version"] = scan.version
    return fields


def _trimmed(fields: dict[str, JsonValue]) -> bytes:
    cut: dict[str, JsonValue] = {}
    fields = {**fields, "cut": cut}
    for part, name in (("content", "files"), ("scan", "rules")):
        inside = fields.get(part)
        items = inside.get(name) if isinstance(inside, dict) else None
        if isinstance(inside, dict) and isinstance(items, list) and len(items) > KEPT_WHEN_TRIMMED:
            fields[part] = {**inside, name: items[:KEPT_WHEN_TRIMMED]}
            cut[name] = _left_out(items[KEPT_WHEN_TRIMMED:])
            if len(data := _dump(fields)) <= MAX_ROW_BYTES:
                return data
    extra = fields.pop("extra", None)
    if isinstance(extra, dict):
        cut["extra"] = _left_out(extra)
    data = _dump(fields)
    if len(data) <= MAX_ROW_BYTES:
        return data
    raise MeshError(
        ErrorCode.AUDIT_UNAVAILABLE,
        f"The timeline row has {len(data)} bytes after trimming and the limit is {MAX_ROW_BYTES}, so nothing was done; "
        "give it fewer side fields.",
        {"bytes": len(data), "limit": MAX_ROW_BYTES},
    )


def _left_out(items: list[JsonValue] | dict[str, JsonValue]) -> JsonValue:
    return {"count": len(items), "sha256": sha256(_dump(items)).hexdigest()}


# ---------------------------------------------------------------------------------------------------------------------
# Verification


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
class _Header:
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
        self._before: _Header | None = None
        self._problem: Problem | None = None
        self._steps: list[ClockStep] = []
        self._steps_total = 0
        self._warnings: list[str] = []
        if self._head.origin != origin:
            _refuse("start", f"it is the head of {self._head.origin}, not of {origin}")
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
        try:
            fields = decode(data)
        except MeshError as error:
            return _problem(seq, ProblemCode.NOT_CANONICAL, error.message)
        if fields.get("v") != SCHEMA_VERSION:
            return _problem(seq, ProblemCode.UNKNOWN_VERSION, f"this version reads rows of schema {SCHEMA_VERSION}")
        header = _header(fields)
        if header is None:
            return _problem(seq, ProblemCode.NOT_CANONICAL, "a field that every row has is absent or of another type")
        if header.log != self._origin:
            return _problem(seq, ProblemCode.FOREIGN, f"it was written for the log {header.log}")
        if header.seq != seq:
            return _problem(seq, ProblemCode.RENUMBERED, f"it was written as row {header.seq}")
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

    def _watch_clock(self, now: _Header) -> None:
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


def _header(fields: Mapping[str, JsonValue]) -> _Header | None:
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
        return _Header(log=log, seq=seq, prev=prev, ts=ts, mono=mono, boot=boot, row=row)
    return None


def _problem(seq: int, code: ProblemCode, why: str) -> Problem:
    return Problem(seq=seq, code=code, words=f"row {seq}: {why}")
