"""The timeline as syslog messages: RFC 5424, each in a frame of RFC 5425.

The structured data names the row by ids and codes; the message is the row as a line of JSON, in ASCII. A message that
would be longer than `MESSAGE_BYTES` is not cut: it goes on in further messages that say which part of how many they
are, and the parts' texts one behind the other are the line again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from node.core.escape import escape
from node.core.export_record import Record, line_of, utc_text

# What every receiver should take (RFC 5425 section 4.3.1); much more than 2 KiB need not be.
MESSAGE_BYTES: Final = 8192
APP_NAME: Final = "heliograph"
DEFAULT_PORT: Final = 6514
# Nobody has registered a number for this program. 32473 is the one kept for documentation (RFC 5612).
ENTERPRISE: Final = 32473
_LOG_AUDIT: Final = 13
_WARNING, _INFORMATIONAL = 4, 6
_SEQUENCE_MAX: Final = 2**31 - 1
# Of a value of the structured data; every value of a row as nodes write it has fewer.
_VALUE_CHARS: Final = 128
# Many times what the longest row and the texts beside it come to.
_PARTS_MAX: Final = 9_999_999
_NIL: Final = "-"
_NOT_PRINTED: Final = re.compile(r"[^\x21-\x7e]")
_SPECIAL: Final = re.compile(r'(["\\\]])')

# Parameter name, and where in a row its value stands.
_PARAMETERS: Final = (
    ("row", ("row",)),
    ("engine", ("engine",)),
    ("decision", ("decision",)),
    ("reason", ("reason",)),
    ("kind", ("kind",)),
    ("leg", ("leg",)),
    ("exchange", ("conv",)),
    ("message", ("msg",)),
    ("fromNode", ("from", "node")),
    ("fromSession", ("from", "session")),
    ("fromAgent", ("from", "agent")),
    ("toNode", ("to", "node")),
    ("toSession", ("to", "session")),
    ("toAgent", ("to", "agent")),
    ("scan", ("scan", "status")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What every message of an export has in its header."""

    hostname: str
    version: str
    enterprise: int = ENTERPRISE


def frames(record: Record, header: Header, first: int) -> Iterator[bytes]:
    """The row's messages in octet-counted frames; `first` counts the messages sent before, from 1 on."""
    text = line_of(record).rstrip(b"\n")
    whole = _message(record, header, first, text, part=0, parts=0)
    if len(whole) <= MESSAGE_BYTES:
        yield _framed(whole)
        return
    # What a part has besides its piece of the text differs in its numbers alone, which have room here.
    room = MESSAGE_BYTES - len(_message(record, header, _SEQUENCE_MAX, b"", part=_PARTS_MAX, parts=_PARTS_MAX))
    pieces = [text[at : at + room] for at in range(0, len(text), room)]
    for number, piece in enumerate(pieces, start=1):
        yield _framed(_message(record, header, first + number - 1, piece, part=number, parts=len(pieces)))


def _message(record: Record, header: Header, sequence: int, text: bytes, *, part: int, parts: int) -> bytes:
    severity = _WARNING if record.alarming else _INFORMATIONAL
    when = utc_text(record.ts_us)
    head = " ".join(
        (
            f"<{_LOG_AUDIT * 8 + severity}>1",
            when if when.endswith("Z") else _NIL,
            _printable(header.hostname, 255),
            APP_NAME,
            _NIL,
            _printable(record.text("row") or "damaged", 32),
        )
    )
    named = [("log", record.log), ("seq", str(record.seq)), ("leaf", record.leaf.hex())]
    named += [(name, value) for name, path in _PARAMETERS if (value := record.text(*path)) is not None]
    if parts:
        named += [("part", str(part)), ("parts", str(parts))]
    data = (
        # Counts on from 1 after the highest that RFC 5424 has.
        _element("meta", [("sequenceId", str((sequence - 1) % _SEQUENCE_MAX + 1))])
        + _element("origin", [("software", APP_NAME), ("swVersion", header.version[:32])])
        + _element(f"{APP_NAME}@{header.enterprise}", named)
    )
    return f"{head} {data} ".encode() + text


def _framed(message: bytes) -> bytes:
    return b"%d %b" % (len(message), message)


def _element(name: str, parameters: Sequence[tuple[str, str]]) -> str:
    inside = "".join(
        f' {key}="{_SPECIAL.sub(_BACKSLASHED, escape(value)[:_VALUE_CHARS])}"' for key, value in parameters
    )
    return f"[{name}{inside}]"


_BACKSLASHED: Final = r"\\\1"


def _printable(text: str, limit: int) -> str:
    """A field of the header: it has no blanks and is never empty."""
    return _NOT_PRINTED.sub("_", text)[:limit] or _NIL
