"""The palette as it is drawn: a line to type on, the sessions below it, a line of help. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from node.cli.palette_choices import Choice, Typed
from node.cli.text import one_line, shorten, width

HELP = "Tab insert   \u2191\u2193 move   Esc leave"
NEW = "new name"
_MARK, _NO_MARK = "\u276f ", "  "
_NAME_SHARE = 3
_LEAST_COLUMNS, _LEAST_ROWS = 20, 4
_REVERSE, _DIM, _BOLD, _PLAIN = "\x1b[7m", "\x1b[2m", "\x1b[1m", "\x1b[0m"


def screen(fitting: Sequence[Choice], typed: Typed, *, total: int, columns: int, rows: int, said: str = "") -> str:
    """What to write to a terminal of that size to show the palette, over whatever it shows.

    `total` counts the sessions that could be chosen if nothing was typed; `said` takes the place of the help.
    """
    columns, rows = max(columns, _LEAST_COLUMNS), max(rows, _LEAST_ROWS)
    prompt = shorten(f"@{one_line(typed.text)}", columns - 2)
    lines = [f"{_BOLD}{prompt}{_PLAIN}"]
    nothing = shorten("No session fits." if total else "There is no other session.", columns - 1)
    lines += choice_lines(fitting, typed.marked, columns=columns, rows=rows - 3) or [f"{_DIM}{nothing}{_PLAIN}"]
    shown = "\r\n".join([lines[0], "", *lines[1:]])
    footer = shorten(one_line(said) if said else HELP, columns - 1)
    cursor = f"\x1b[1;{width(prompt) + 1}H"
    return f"\x1b[H\x1b[2J{shown}\x1b[{rows};1H{_DIM}{footer}{_PLAIN}{cursor}"


def choice_lines(fitting: Sequence[Choice], marked: int, *, columns: int, rows: int) -> list[str]:
    """A line for each choice, as many as `rows` hold, such that the marked one is among them."""
    first = max(0, min(marked - rows // 2, len(fitting) - rows))
    shown = fitting[first : first + rows]
    name_room = min(max((width(_label(choice)) for choice in shown), default=0), columns // _NAME_SHARE)
    lines: list[str] = []
    for row, choice in enumerate(shown, start=first):
        note = NEW if choice.new else one_line(choice.state)
        room = columns - len(_MARK) - name_room - len(NEW) - 5
        name = shorten(_label(choice), name_room)
        title = shorten(one_line(choice.title), max(room, 1))
        gap = " " * (name_room - width(name))
        text = f"{name}{gap}  {note:{len(NEW) + 2}}  {title}"
        line = shorten((_MARK if row == marked else _NO_MARK) + text, columns - 1)
        lines.append(f"{_REVERSE}{line}{_PLAIN}" if row == marked else line)
    return lines


def _label(choice: Choice) -> str:
    return f"@{one_line(choice.name)}"
