"""Security timeline: the row's schema, its bytes and hash, and the chain that it is appended to.

A row is hashed as stored and never written again; a field without a value is left out. Names, titles and texts are
never in a row: it holds ids, codes, sizes and salted commitments to texts kept elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final

from node.core import merkle
from node.core.canonical import (
    CODE,
    HASH,
    MAX_EXTRA_DEPTH,
    MAX_INT,
    MAX_ROW_BYTES,
    TOKEN,
    JsonValue,
    check,
    choice,
    count,
    dump,
    dump_sorted,
    integer,
    plain,
    refuse,
)
from node.core.errors import ErrorCode, MeshError

SCHEMA_VERSION: Final = 1
KEPT_WHEN_TRIMMED: Final = 8
SALT_BYTES: Final = 16

LEGS: Final = frozenset({"local", "egress", "ingress"})
SCAN_STATUSES: Final = frozenset({"clean", "flagged", "unavailable", "skipped"})

is_origin = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}", re.ASCII).fullmatch
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
        if is_origin(self.origin) is None:
            refuse("log", f"{self.origin!r} is not a log origin such as local/<node id>/<epoch>")
        if self.size < 0 or len(self.frontier) != self.size.bit_count() or (self.last is None) != (self.size == 0):
            refuse("head", f"a log of {self.size} rows cannot have this last leaf and frontier")

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
    data = dump_sorted(fields)
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
        refuse("salt", f"a salt has {SALT_BYTES} bytes, this one has {len(salt)}")
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
    check(CODE, _CODE_FIELDS, (row.engine, row.decision, row.reason, row.kind))
    check(
        TOKEN,
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
        "depth": None if row.depth is None else count("depth", row.depth),
        "engine": row.engine,
        "extra": plain("extra", dict(row.extra), MAX_EXTRA_DEPTH + 1) if row.extra else None,
        "from": None if row.src is None else _party(src),
        "kind": row.kind,
        "leg": None if row.leg is None else choice("leg", row.leg, LEGS),
        "log": head.origin,
        "mono": count("mono", clock.mono_us),
        "msg": row.msg,
        "off": None if clock.off_us is None else integer("off", clock.off_us),
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
        "ts": count("ts", clock.ts_us),
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
    check(HASH, ("content.commit", *("content.files",) * len(content.files)), commits)
    fields: dict[str, JsonValue] = {"bytes": count("content.bytes", content.bytes)}
    fields["chars"] = count("content.chars", content.chars)
    if content.commit is not None:
        fields["commit"] = content.commit
    if content.files:
        fields["files"] = [[commit, count("content.files", size)] for commit, size in content.files]
    fields["truncated"] = bool(content.truncated)
    return fields


def _side(side: Mapping[str, str]) -> JsonValue:
    names = sorted(side)
    commits = tuple(side[name] for name in names)
    check(CODE, ("side",) * len(names), names)
    check(HASH, names, commits)
    return dict(zip(names, commits, strict=True))


def _scan(scan: Scan) -> JsonValue:
    check(TOKEN, ("scan.engine", "scan.version"), (scan.engine, scan.version))
    fields: dict[str, JsonValue] = {"engine": scan.engine}
    if scan.rules:
        check(CODE, ("scan.rules",) * len(scan.rules), scan.rules)
        fields["rules"] = list(scan.rules)
    if not 0 <= scan.score <= 1000:
        refuse("scan.score", "it must be a score per mille, from 0 to 1000")
    fields["score"] = scan.score
    fields["status"] = choice("scan.status", scan.status, SCAN_STATUSES)
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
            if len(data := dump(fields)) <= MAX_ROW_BYTES:
                return data
    extra = fields.pop("extra", None)
    if isinstance(extra, dict):
        cut["extra"] = _left_out(extra)
    data = dump(fields)
    if len(data) <= MAX_ROW_BYTES:
        return data
    raise MeshError(
        ErrorCode.AUDIT_UNAVAILABLE,
        f"The timeline row has {len(data)} bytes after trimming and the limit is {MAX_ROW_BYTES}, so nothing was done; "
        "give it fewer side fields.",
        {"bytes": len(data), "limit": MAX_ROW_BYTES},
    )


def _left_out(items: list[JsonValue] | dict[str, JsonValue]) -> JsonValue:
    return {"count": len(items), "sha256": sha256(dump(items)).hexdigest()}
