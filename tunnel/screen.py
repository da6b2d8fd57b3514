"""A mirrored panel in lines of text: sessions, what is nested under them, and how far each is. Pure.

Every text in it is a server's own and is escaped; no row of a panel, however it is made, loops or hides another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from node.cli.text import Column, one_line, plural, shorten, table
from node.cli.times import age
from node.core.panel import SESSION, PanelRow
from node.core.views_mirror import MirrorStanding, StreamState

_INDENT: Final = "  "
_DEEPEST: Final = 8
_WORDS: Final[Mapping[str, str]] = {
    "starting": "starting",
    "held": "waits for a person",
    "running": "running",
    "idle": "idle",
    "busy": "busy",
    "needs_input": "needs input",
    "ended": "ended",
    "working": "working",
    "asked": "asked a question",
    "delivered": "delivered",
    "accepted": "accepted",
    "rejected": "rejected",
    "cancelled": "cancelled",
    "failed": "failed",
}
_OVER: Final = frozenset({"ended", "accepted", "rejected", "cancelled", "failed"})
_KINDS: Final = frozenset({SESSION, "delegation", "request"})
_BEGIN, _CLEAR_LINE, _CLEAR_REST = "\x1b[H", "\x1b[K", "\x1b[J"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One server on the screen: its name, how its stream stands, what it shows. `known` once it has shown a panel."""

    name: str
    standing: MirrorStanding | None
    rows: Mapping[str, PanelRow]
    left_out: int
    known: bool


def state_words(row: PanelRow) -> str:
    """The state of a row for people; one that this version does not know is shown as such."""
    return _WORDS.get(row.state) or f"{one_line(row.state) or 'nothing'} (unknown)"


def who(row: PanelRow) -> str:
    """A session's name, or both ends of an exchange, escaped."""
    if row.kind == SESSION:
        return one_line(row.opener)
    kind = "" if row.kind in _KINDS else f"{one_line(row.kind)} (unknown): "
    return f"{kind}{one_line(row.opener)} -> {one_line(row.worker)}"


def nested(rows: Mapping[str, PanelRow]) -> list[tuple[int, PanelRow]]:
    """Every row once, with how deep it is nested: those that go on before those that are over, newest change first."""
    under: dict[str, list[PanelRow]] = {}
    for row in rows.values():
        parent = row.parent if row.parent in rows and row.parent != row.id else ""
        under.setdefault(parent, []).append(row)
    for children in under.values():
        children.sort(key=_order)
    found: dict[str, tuple[int, PanelRow]] = {}
    # What is nested under itself hangs nowhere, and comes last.
    for root in (*under.get("", ()), *sorted(rows.values(), key=_order)):
        waiting = [(0, root)]
        while waiting:
            depth, row = waiting.pop()
            if row.id not in found:
                found[row.id] = (depth, row)
                waiting += [(depth + 1, child) for child in reversed(under.get(row.id, ()))]
    return list(found.values())


def panel_lines(rows: Mapping[str, PanelRow], now_us: int, columns: int | None) -> list[str]:
    """The panel as a table."""
    if not rows:
        return ["Nothing is shown: there is no session and no exchange."]
    heads = (
        Column(heading="WHO", flexible=True, least=12),
        Column(heading="STATE", flexible=True, least=8),
        Column(heading="SINCE", right=True, drop=1),
        Column(heading="TITLE", flexible=True, least=8, drop=2),
        Column(heading="LAST WORD", flexible=True, least=8, drop=3),
    )
    cells = [
        (
            _INDENT * min(depth, _DEEPEST) + who(row),
            state_words(row),
            age(row.changed_us, now_us),
            one_line(row.title),
            one_line(row.last_word),
        )
        for depth, row in nested(rows)
    ]
    return table(heads, cells, columns)


def head_line(section: Section) -> str:
    """A server's name, how its stream stands, and how much it shows."""
    standing = section.standing
    state = standing.state.value if standing is not None else StreamState.CONNECTING.value
    parts = [one_line(section.name), f"{state}: {one_line(standing.why)}" if standing and standing.why else state]
    if section.known:
        parts.append(plural(len(section.rows), "row"))
    if section.left_out:
        parts.append(f"{section.left_out} not shown")
    return "  ".join(parts)


def screen(sections: Sequence[Section], now_us: int, *, columns: int, lines: int) -> str:
    """What to write to a terminal of that size to show the sections over whatever it shows."""
    room = max(columns - 1, 20)
    shown: list[str] = []
    for section in sections:
        shown += ["", head_line(section)] if shown else [head_line(section)]
        if section.known:
            shown += panel_lines(section.rows, now_us, room)
    most = max(lines - 1, 1)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"... {len(shown) - most + 1} more lines"]
    body = "\n".join(f"{shorten(line, room)}{_CLEAR_LINE}" for line in shown)
    return f"{_BEGIN}{body}\n{_CLEAR_REST}"


def change_line(name: str, row: PanelRow, *, gone: bool = False) -> str:
    """One row in one line, for a log of changes."""
    parts = [one_line(name), who(row), "gone" if gone else state_words(row)]
    parts += [f'"{one_line(text)}"' for text in (row.title, row.last_word) if text and not gone]
    return "  ".join(parts)


def changes(before: Mapping[str, PanelRow], after: Mapping[str, PanelRow]) -> Iterable[tuple[PanelRow, bool]]:
    """What differs: rows as they are now, and those that are gone (True) as they were."""
    for depth_row in nested(after):
        row = depth_row[1]
        if before.get(row.id) != row:
            yield row, False
    for one, row in before.items():
        if one not in after:
            yield row, True


def _order(row: PanelRow) -> tuple[bool, bool, int, str]:
    return row.state in _OVER, row.kind != SESSION, -row.changed_us, row.id
