"""What every export is made from: a row read once, and its values by the names that tables give them.

A row whose bytes are damaged is exported like any other, with its bytes in hex and without values: an export that left
it out would hide it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Final, TypeAlias

from node.core.canonical import JsonValue, decode
from node.core.errors import MeshError
from node.core.row_codes import ALARMING, SideField
from node.core.views import TimelineRowView

Value: TypeAlias = "str | int | bool | None"
Offset: TypeAlias = "Callable[[int], int]"
"""Seconds that the local time zone is ahead of UTC at a moment, in microseconds since 1970."""

MICRO: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# What datetime can say in any zone; beyond it a time is the bare number it is.
_LAST_US: Final = (datetime(9999, 12, 30, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)

_ASCII: Final = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"), sort_keys=True
)


class Format(StrEnum):
    """The formats of an export, by the name that a person types."""

    JSONL = "jsonl"
    CSV = "csv"
    OCSF = "ocsf"
    SYSLOG = "syslog"
    OTLP = "otlp"
    PARQUET = "parquet"


class Step(StrEnum):
    """How far an export is, as its rows in the timeline say."""

    BEGUN = "begun"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Sort(StrEnum):
    """What a column holds."""

    TEXT = "text"
    COUNT = "count"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its name, and where in a row its value stands (an array counts, or lists its texts)."""

    name: str
    path: tuple[str, ...]
    sort: Sort = Sort.TEXT


def _ends(end: str) -> tuple[Column, ...]:
    parts = ("node", "workspace", "session", "agent", "role")
    return tuple(Column(name=f"{end}_{part}", path=(end, part)) for part in parts)


# The order of the columns of a CSV file: what a person reads first comes first. Names are never reused.
COLUMNS: Final = (
    Column(name="row", path=("row",)),
    Column(name="engine", path=("engine",)),
    Column(name="decision", path=("decision",)),
    Column(name="reason", path=("reason",)),
    Column(name="kind", path=("kind",)),
    Column(name="leg", path=("leg",)),
    Column(name="exchange", path=("conv",)),
    Column(name="message", path=("msg",)),
    Column(name="parent", path=("parent",)),
    Column(name="root", path=("root",)),
    Column(name="depth", path=("depth",), sort=Sort.COUNT),
    *_ends("from"),
    *_ends("to"),
    Column(name="content_bytes", path=("content", "bytes"), sort=Sort.COUNT),
    Column(name="content_chars", path=("content", "chars"), sort=Sort.COUNT),
    Column(name="content_commit", path=("content", "commit")),
    Column(name="content_files", path=("content", "files"), sort=Sort.COUNT),
    Column(name="content_truncated", path=("content", "truncated"), sort=Sort.FLAG),
    Column(name="scan_engine", path=("scan", "engine")),
    Column(name="scan_version", path=("scan", "version")),
    Column(name="scan_status", path=("scan", "status")),
    Column(name="scan_score", path=("scan", "score"), sort=Sort.COUNT),
    Column(name="scan_rules", path=("scan", "rules")),
    Column(name="policy", path=("policy",)),
    Column(name="software", path=("sw",)),
    Column(name="boot", path=("boot",)),
    Column(name="mono_us", path=("mono",), sort=Sort.COUNT),
    Column(name="offset_us", path=("off",), sort=Sort.COUNT),
)
# Texts beside a row that have a column each; the others are in the column of them all.
TEXTS: Final = ("title", "sender", "recipient", "preview", "snippet", "name", "nickname")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row and what its bytes say; `fields` is None when they are not a row as a node writes it."""

    seq: int
    data: bytes
    leaf: bytes
    side: Mapping[str, str]
    salts: Mapping[str, bytes]
    fields: dict[str, JsonValue] | None
    log: str

    @property
    def uid(self) -> str:
        """What names this row among the rows of all nodes: `<log>#<seq>`."""
        return f"{self.log}#{self.seq}"

    @property
    def ts_us(self) -> int | None:
        """When the row was written, in microseconds since 1970."""
        found = self.at("ts")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    @property
    def alarming(self) -> bool:
        """Whether the row tells of something that was stopped, or is damaged itself."""
        return self.fields is None or self.text("decision") in ALARMING

    def at(self, *path: str) -> JsonValue:
        """The value at that place; None where there is none, or the row has another shape."""
        found: JsonValue = self.fields
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def text(self, *path: str) -> str | None:
        """The string at that place; strings of an array with blanks between them."""
        found = self.at(*path)
        if isinstance(found, list):
            texts = [item for item in found if isinstance(item, str)]
            return " ".join(texts) if texts else None
        return found if isinstance(found, str) else None

    def count(self, *path: str) -> int | None:
        """The integer at that place; of an array, how many items it has."""
        found = self.at(*path)
        if isinstance(found, list):
            return len(found)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def flag(self, *path: str) -> bool | None:
        """The truth value at that place."""
        found = self.at(*path)
        return found if isinstance(found, bool) else None

    def value(self, column: Column) -> Value:
        """What the row has in that column."""
        if self.fields is None or column.path[0] not in self.fields:
            # Of most columns a row has nothing.
            return None
        if column.sort is Sort.TEXT:
            return self.text(*column.path)
        return self.count(*column.path) if column.sort is Sort.COUNT else self.flag(*column.path)


def record_of(view: TimelineRowView, log: str) -> Record:
    """The row as exports read it; `log` is the origin that it was read from.

    What commitments are checked with is in no export but those that have the salts.
    """
    salted = bool(view.salts)
    fields: dict[str, JsonValue] | None
    try:
        fields = decode(view.data)
    except MeshError:
        fields = None
    return Record(
        seq=view.seq,
        data=view.data,
        leaf=view.leaf,
        side={name: text for name, text in view.side if salted or name != SideField.SEAL},
        salts=dict(view.salts),
        fields=fields,
        log=log,
    )


def ascii_json(value: JsonValue) -> str:
    """One line of JSON in ASCII, its keys sorted: nothing in it ends a line, hides or turns around, anywhere."""
    return _ASCII.encode(value)


def line_of(record: Record) -> bytes:
    r"""A line of JSON with the row's exact bytes under `row` (`damaged`, in hex, when they are no row), ended by LF.

    `leaf` is the SHA-256 of a zero byte and those bytes (RFC 6962). `side` holds the texts that are not erased; with
    their `salts`, in hex, the row's commitments to them can be checked.
    """
    head = f'{{"seq":{record.seq},"leaf":"{record.leaf.hex()}",'
    # The bytes of a row are ASCII JSON without a line end: they were compared with what its values are written as.
    body = f'"damaged":"{record.data.hex()}"' if record.fields is None else f'"row":{record.data.decode("ascii")}'
    salts = f',"salts":{ascii_json({name: salt.hex() for name, salt in record.salts.items()})}' if record.salts else ""
    return f'{head}{body},"side":{ascii_json(dict(record.side))}{salts}}}\n'.encode("ascii")


def utc_text(us: int | None) -> str:
    """`2027-01-31T08:30:00.250000Z`; the bare number for a moment that no calendar holds, nothing for none."""
    if us is None:
        return ""
    if not 0 <= us <= _LAST_US:
        return str(us)
    return _moment(us, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def local_texts(us: int | None, offset: Offset) -> tuple[str, str]:
    """The same moment in the local zone, as `UTC+01:00` and `2027-01-31T09:30:00.250000+01:00`.

    A cell that began with the sign would be a formula.
    """
    if us is None or not 0 <= us <= _LAST_US:
        return "", utc_text(us)
    local = _moment(us, timezone(timedelta(seconds=offset(us)))).isoformat(timespec="microseconds")
    return "UTC" + local[26:], local


def _moment(us: int, zone: timezone) -> datetime:
    return (_EPOCH + timedelta(microseconds=us)).astimezone(zone)
