"""Text for a terminal: how wide it is, how it is cut and folded, and tables of it. Pure.

Everything an agent, a peer or a file name may have written passes `one_line` or `barred`; what comes out holds no
control, no hidden and no direction-changing character, so it can neither move the cursor nor pass for a line of ours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from node.core.escape import ELLIPSIS, escape

BAR = "│ "
GAP = 2
TAB = 4


def width(text: str) -> int:
    """Columns that escaped `text` takes on a terminal."""
    return len(text) if text.isascii() else sum(_columns(ch) for ch in text)


def _columns(character: str) -> int:
    # The selector of the emoji form (U+FE0F) makes its neighbour wide, so it counts as the second column.
    if character != "\ufe0f" and unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def one_line(text: str) -> str:
    """`text` escaped, on one physical line, runs of white space as one blank."""
    return escape(" ".join(text.split()))


def shorten(text: str, columns: int) -> str:
    """Escaped `text` in at most `columns` (>= 1), cut at the end and marked."""
    if width(text) <= columns:
        return text
    room = columns - 1
    kept: list[str] = []
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + ELLIPSIS


def shorten_left(text: str, columns: int) -> str:
    """Escaped `text` in at most `columns` (>= 1), cut at the beginning and marked: a path's end tells most."""
    if width(text) <= columns:
        return text
    cut = text
    while width(cut) > columns - 1:
        cut = cut[1:]
    return ELLIPSIS + cut


def fold(text: str, columns: int | None) -> list[str]:
    """Escaped one-line `text` as rows of at most `columns`, at blanks where there are some; None does not fold."""
    if columns is None or width(text) <= columns:
        return [text]
    rows: list[str] = []
    row, used = "", 0
    for character in text:
        size = _columns(character)
        if used + size > columns:
            head, blank, tail = row.rpartition(" ")
            # A blank that comes late enough makes a better end than the middle of a word.
            if blank and width(tail) < columns // 2:
                rows.append(head)
                row = tail
            else:
                rows.append(row)
                row = ""
            used = width(row)
        row += character
        used += size
    return [*rows, row]


def barred(text: str, columns: int | None, bar: str = BAR) -> list[str]:
    """Somebody's text with `bar` before every physical line, so that none of it passes for ours.

    Lines end at LF alone (CRLF counts as LF): every other line end is shown as an escape. `columns` None: no folding.
    """
    room = None if columns is None else max(columns - width(bar), 8)
    rows: list[str] = []
    for line in text.replace("\r\n", "\n").rstrip("\n").split("\n"):
        rows += [bar + row for row in fold(escape(line.expandtabs(TAB)), room)]
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its heading, and whether it gives way (down to `least` columns) when the terminal is narrow.

    Where that is not enough, whole columns go, the highest `drop` first and 0 never; one with a `worth_from` is only
    shown where there are that many columns. `path` cuts cells at their beginning.
    """

    heading: str
    flexible: bool = False
    least: int = 8
    right: bool = False
    drop: int = 0
    worth_from: int = 0
    path: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int | None) -> list[str]:
    """Heading and rows of escaped cells, aligned; flexible columns are shortened to fit `room` (None: whole)."""
    widths = [
        max(width(column.heading), *(width(row[index]) for row in rows)) if rows else width(column.heading)
        for index, column in enumerate(columns)
    ]
    if room is not None:
        kept = _kept(columns, widths, room)
        columns = [columns[index] for index in kept]
        rows = [[row[index] for index in kept] for row in rows]
        widths = _fitted(columns, [widths[index] for index in kept], room)
    lines = [_row(columns, [column.heading for column in columns], widths)]
    lines += [_row(columns, row, widths) for row in rows]
    return lines


def _kept(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """Which columns have room once the flexible ones have given all they can."""
    kept = [index for index, column in enumerate(columns) if room >= column.worth_from]

    def least(index: int) -> int:
        return min(widths[index], columns[index].least) if columns[index].flexible else widths[index]

    while sum(least(index) for index in kept) + GAP * (len(kept) - 1) > room:
        droppable = [index for index in kept if columns[index].drop]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda index: columns[index].drop))
    return kept


def _fitted(columns: Sequence[Column], widths: list[int], room: int) -> list[int]:
    fitted = list(widths)
    over = sum(fitted) + GAP * (len(fitted) - 1) - room
    while over > 0:
        # The widest one gives first, so that two long columns end up equally long.
        givers = [i for i, column in enumerate(columns) if column.flexible and fitted[i] > column.least]
        if not givers:
            break
        fitted[max(givers, key=lambda i: fitted[i])] -= 1
        over -= 1
    return fitted


def _row(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]) -> str:
    parts: list[str] = []
    for column, cell, room in zip(columns, cells, widths, strict=True):
        cut = shorten_left if column.path else shorten
        text = cut(cell, room) if column.flexible else cell
        pad = " " * max(room - width(text), 0)
        parts.append(pad + text if column.right else text + pad)
    return (" " * GAP).join(parts).rstrip()


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def key_place(*, in_keychain: bool) -> str:
    """Where the node's key is kept."""
    return "the macOS Keychain" if in_keychain else "a file of this node"
