"""Security timeline: the row's schema, its bytes and hash, and the chain that it is appended to.

A row is hashed as stored and never written again; a field without a value is left out. Names, titles and texts are
never in a row: it holds ids, codes, sizes and salted commitments to texts kept elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
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
_TOKEN_FIELDS: Final = ("boot", "sw", "policy", "msg", "conv", "parent", "root")
# Ends of messages that are remembered as they are written: those of an exchange come with each of its rows.
_PARTIES: Final = 1_024
# And words of the screen: most rows have one of a few scores of the same version.
_SCANS: Final = 1_024


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


def append(head: Head, clock: Clock, row: Row, side: Mapping[str, str] | None = None) -> tuple[Head, Entry]:
    """The log's next head and the row as it must be stored; `side` stands for the row's own where it is given.

    A row that would exceed 8 KiB is trimmed, in this order and only as far as needed: files beyond the first 8, rule
    ids beyond the first 8, all of `extra`. What went is noted in `cut` as its count and the SHA-256 of its canonical
    JSON, so it stays provable. INVALID_ARGUMENT for a field outside the schema; AUDIT_UNAVAILABLE if no row can be
    written: it is too long even so, or the log is full.
    """
    if head.size > MAX_INT:
        raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, "The timeline is full; start a new log epoch.")
    data = _written(head, clock, row, row.side if side is None else side)
    if len(data) > MAX_ROW_BYTES:
        data = _trimmed(json.loads(data))
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


def _written(head: Head, clock: Clock, row: Row, side: Mapping[str, str]) -> bytes:
    """The row's canonical bytes, however long.

    Written piece by piece, in the order of the keys: what is checked here has nothing in it that JSON would escape, and
    rows are written while messages wait. INVALID_ARGUMENT for what is outside the schema.
    """
    check(CODE, _CODE_FIELDS, (row.engine, row.decision, row.reason, row.kind))
    tokens = (clock.boot, row.sw, row.policy, row.msg, row.conv, row.parent, row.root)
    check(TOKEN, _TOKEN_FIELDS, tokens)
    extra = row.extra
    pieces = (
        f'{{"boot":"{clock.boot}"',
        "" if row.content is None else f',"content":{_content(row.content)}',
        "" if row.conv is None else f',"conv":"{row.conv}"',
        f',"decision":"{row.decision}"',
        "" if row.depth is None else f',"depth":{count("depth", row.depth)}',
        f',"engine":"{row.engine}"',
        f',"extra":{_extra(extra)}' if extra else "",
        "" if row.src is None else f',"from":{_party("from", row.src)}',
        "" if row.kind is None else f',"kind":"{row.kind}"',
        "" if row.leg is None else f',"leg":"{choice("leg", row.leg, LEGS)}"',
        f',"log":"{head.origin}","mono":{count("mono", clock.mono_us)}',
        "" if row.msg is None else f',"msg":"{row.msg}"',
        "" if clock.off_us is None else f',"off":{integer("off", clock.off_us)}',
        "" if row.parent is None else f',"parent":"{row.parent}"',
        "" if row.policy is None else f',"policy":"{row.policy}"',
        "" if head.last is None else f',"prev":"{head.last.hex()}"',
        "" if row.reason is None else f',"reason":"{row.reason}"',
        "" if row.root is None else f',"root":"{row.root}"',
        f',"row":"{row.row.value}"',
        "" if row.scan is None else f',"scan":{_scan(row.scan)}',
        f',"seq":{head.size}',
        f',"side":{_side(side)}' if side else "",
        f',"sw":"{row.sw}"',
        "" if row.dst is None else f',"to":{_party("to", row.dst)}',
        f',"ts":{count("ts", clock.ts_us)},"v":{SCHEMA_VERSION}}}',
    )
    return "".join(pieces).encode("ascii")


@lru_cache(maxsize=_PARTIES)
def _party(end: str, party: Party) -> str:
    fields = {
        "agent": party.agent,
        "node": party.node,
        "role": party.role,
        "session": party.session,
        "workspace": party.workspace,
    }
    check(TOKEN, [f"{end}.{name}" for name in fields], list(fields.values()))
    return "{" + ",".join(f'"{name}":"{value}"' for name, value in fields.items() if value is not None) + "}"


def _content(content: Content) -> str:
    size, chars = count("content.bytes", content.bytes), count("content.chars", content.chars)
    commits = (content.commit, *(commit for commit, _ in content.files))
    check(HASH, ("content.commit", *("content.files",) * len(content.files)), commits)
    whole = "" if content.commit is None else f',"commit":"{content.commit}"'
    files = ",".join(f'["{commit}",{count("content.files", size)}]' for commit, size in content.files)
    among = f',"files":[{files}]' if files else ""
    return f'{{"bytes":{size},"chars":{chars}{whole}{among},"truncated":{"true" if content.truncated else "false"}}}'


def _extra(extra: Mapping[str, JsonValue]) -> str:
    return dump_sorted(plain("extra", dict(extra), MAX_EXTRA_DEPTH + 1)).decode("ascii")


def _side(side: Mapping[str, str]) -> str:
    names = sorted(side)
    commits = [side[name] for name in names]
    check(CODE, ("side",) * len(names), names)
    check(HASH, names, commits)
    return "{" + ",".join(f'"{name}":"{commit}"' for name, commit in zip(names, commits, strict=True)) + "}"


@lru_cache(maxsize=_SCANS)
def _scan(scan: Scan) -> str:
    check(TOKEN, ("scan.engine", "scan.version"), (scan.engine, scan.version))
    if not 0 <= scan.score <= 1000:
        refuse("scan.score", "it must be a score per mille, from 0 to 1000")
    rules = ""
    if scan.rules:
        check(CODE, ("scan.rules",) * len(scan.rules), scan.rules)
        rules = ',"rules":["' + '","'.join(scan.rules) + '"]'
    status = choice("scan.status", scan.status, SCAN_STATUSES)
    score = count("scan.score", scan.score)
    return f'{{"engine":"{scan.engine}"{rules},"score":{score},"status":"{status}","version":"{scan.version}"}}'


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
