r"""The timeline as CSV for spreadsheets: RFC 4180 with every field quoted and CRLF after each record.

No cell is taken for a formula, none ends its line, hides or turns anything around; what was in it can be had back:
`original` of a cell and whether its column stands under `guarded`, or the columns `entry` and `side`, which hold the
row's exact bytes and all its texts as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from node.core.escape import escape
from node.core.export_record import (
    COLUMNS,
    TEXTS,
    Offset,
    Record,
    Value,
    ascii_json,
    local_texts,
    utc_text,
)

BOM: Final = "\ufeff"
GUARD: Final = "'"
# What spreadsheets take for the beginning of a formula, in full width too, and behind blanks that an import drops.
_FORMULA: Final = re.compile("[\\s\x00-\x1f\ufeff]*[=+\\-@\uff1d\uff0b\uff0d\uff20\u2212]")
_LEADING: Final = frozenset("\t\r\n")
_ESCAPE: Final = re.compile(r"\\(?:\\|x([0-9a-f]{2})|u\{([0-9a-f]{1,6})\})")

_FIRST: Final = ("seq", "time_utc", "utc_offset", "time_local")
_LAST: Final = ("log", "prev", "leaf", "damaged", "entry", "side", "guarded")
_MIDDLE: Final = (*(column.name for column in COLUMNS), *TEXTS)
HEADER: Final = (*_FIRST, *_MIDDLE, *_LAST)


def guarded(text: str) -> tuple[str, bool]:
    """`text` as a cell shows it, and whether an apostrophe was put before it so that it is no formula."""
    # Most cells hold codes and ids.
    risky = not text[:1].isalnum() and (text[:1] in _LEADING or _FORMULA.match(text) is not None)
    return (GUARD + escape(text) if risky else escape(text)), risky


def original(cell: str, *, was_guarded: bool) -> str:
    """The text that a cell was made of."""
    return _ESCAPE.sub(_plain, cell.removeprefix(GUARD) if was_guarded else cell)


def header(*, bom: bool) -> bytes:
    """The names of the columns, behind a byte order mark for programs that take the file for Latin-1 without one."""
    return (BOM if bom else "").encode() + _line(HEADER)


def line(record: Record, offset: Offset) -> bytes:
    """The row as a record."""
    when = record.ts_us
    texts = [record.value(column) for column in COLUMNS]
    texts += [record.side.get(name) for name in TEXTS]
    cells = [str(record.seq), utc_text(when), *local_texts(when, offset)]
    flagged: list[str] = []
    for name, value in zip(_MIDDLE, texts, strict=True):
        cell, risky = _cell(value)
        cells.append(cell)
        if risky:
            flagged.append(name)
    damaged = record.fields is None
    cells += [
        record.log,
        record.text("prev") or "",
        record.leaf.hex(),
        record.data.hex() if damaged else "",
        "" if damaged else record.data.decode("ascii"),
        ascii_json(dict(record.side)),
        " ".join(flagged),
    ]
    return _line(cells)


def _cell(value: Value) -> tuple[str, bool]:
    # Most cells are empty, and most of the others are codes.
    if value is None:
        return "", False
    if isinstance(value, str):
        return guarded(value)
    return (("false", "true")[value] if isinstance(value, bool) else str(value)), False


def _line(cells: Sequence[str]) -> bytes:
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    return f"{quoted}\r\n".encode()


def _plain(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return "\\" if code is None else chr(int(code, 16))
