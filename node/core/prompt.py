"""What a terminal's screen says about the agent in it, judged by shape, and the words for why a notice waits."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneRef:
    """One life of one terminal pane. Equal only for the same pane with the same process in it.

    `server` is the terminal server's socket path, `pane` its id there ("%3"), `pid` the pane's first process,
    `started` that process's start as `node.platform.processes` tells it: a reused id, pid or tty differs in it.
    """

    server: str
    pane: str
    pid: int
    started: int
    tty: str


class PromptState(StrEnum):
    """What a screen shows. Only IDLE (the box is there, and empty) allows typing."""

    IDLE = "idle"
    BUSY = "busy"
    DRAFT = "draft"
    DIALOG = "dialog"
    UNKNOWN = "unknown"


class HeldReason(StrEnum):
    """Why a notice was not typed, or not known to have been taken."""

    BUSY = "busy"
    DRAFT = "draft"
    DIALOG = "dialog"
    COPY_MODE = "copy_mode"
    NOT_FOREGROUND = "not_foreground"
    STOPPED = "stopped"
    GONE = "gone"
    OTHER_PROGRAM = "other_program"
    UNKNOWN_SCREEN = "unknown_screen"
    SWALLOWED = "swallowed"
    UNCONFIRMED = "unconfirmed"
    STANDING = "standing"
    TYPING = "typing"

    @property
    def words(self) -> str:
        """The reason as a sender reads it."""
        return _HELD_WORDS[self]


_HELD_WORDS: Final = {
    HeldReason.BUSY: "the agent is working",
    HeldReason.DRAFT: "there is a half-typed line at its prompt",
    HeldReason.DIALOG: "it waits for a person to answer a dialog",
    HeldReason.COPY_MODE: "a person is scrolling back in its terminal",
    HeldReason.NOT_FOREGROUND: "another program of the agent has the terminal",
    HeldReason.STOPPED: "the agent is stopped (Ctrl-Z)",
    HeldReason.GONE: "its terminal has ended",
    HeldReason.OTHER_PROGRAM: "a program that is not the agent has the terminal",
    HeldReason.UNKNOWN_SCREEN: "its screen does not show an empty prompt",
    HeldReason.SWALLOWED: "the prompt did not show the notice",
    HeldReason.UNCONFIRMED: "the notice was entered, but no turn was seen to start",
    HeldReason.STANDING: "the notice stands at its prompt: Enter was taken for a line end",
    HeldReason.TYPING: "somebody is typing in its terminal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What became of a notice at a prompt: typed and confirmed, or held and why."""

    held: HeldReason | None = None

    @property
    def confirmed(self) -> bool:
        """Whether a turn was seen to start."""
        return self.held is None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptProfile:
    """How one agent's screen looks, as data.

    `prompt` matches, from its start, the line that opens the input box up to where input begins. `placeholder`, matched
    against all of the text in the box, is what an empty box may show. `box_end` matches the first line below the box; a
    profile without it is a plain line prompt, whose input runs on at the full width of the terminal. `frame` are
    characters that the program draws around input. `cursor_in_box`: the terminal's cursor is where input goes on.
    `shows_placeholder`: an empty box always shows its placeholder, so one that looks empty without it holds blanks.
    `edge` matches the line that closes the box below, up to its right end: what stands further right is another column.
    `above` must match the two lines above the box's first (joined by a line end) where a prompt alone does not tell it
    from lines of a text or of what was said.
    `busy` and `dialog` count only within the last `tail` lines; when a prompt is seen, `dialog` (and for a line prompt
    `busy`) only from its line downward: what stands above is conversation, which may quote a dialog.
    `programs` are the names that the agent's process may have; none means the pane's own process, if it is no shell.
    """

    name: str
    prompt: re.Pattern[str]
    placeholder: re.Pattern[str] | None = None
    busy: tuple[re.Pattern[str], ...] = ()
    dialog: tuple[re.Pattern[str], ...] = ()
    box_end: re.Pattern[str] | None = None
    frame: str = ""
    programs: frozenset[str] = frozenset()
    cursor_in_box: bool = True
    shows_placeholder: bool = False
    above: re.Pattern[str] | None = None
    edge: re.Pattern[str] | None = None
    tail: int = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """The visible lines of a terminal from the top, its cursor (column, line) in cells from 0, its width in cells."""

    lines: tuple[str, ...]
    cursor: tuple[int, int]
    width: int


# The marks before input that agent CLIs draw: ">" and two ornamental ones.
_MARKS: Final = "\u276f\u203a>"

# An answer that a question at the bottom waits for, and menus with a marked first choice.
_ANY_DIALOG: Final = (
    re.compile(r"[\[(]\s*y(?:es)?\s*/\s*n(?:o)?\s*[\])]", re.IGNORECASE),
    re.compile(rf"^\W*[{_MARKS}\u25cf]\s*\d[.)]\s"),
    re.compile(r"\b(?:enter|return) to (?:confirm|submit|select)\b|\besc to (?:cancel|reject)\b", re.IGNORECASE),
    re.compile(r"\bpassword\b.*:\s*$|\bpassphrase\b.*:\s*$", re.IGNORECASE),
)
_ANY_BUSY: Final = (re.compile(r"\besc to interrupt\b|\bpress esc to stop\b", re.IGNORECASE),)

GENERIC: Final = PromptProfile(
    name="generic",
    prompt=re.compile(rf"\s*(?:[\w.-]+ ?)?[{_MARKS}](?: |$)"),
    busy=_ANY_BUSY,
    dialog=_ANY_DIALOG,
)

# The scripted agent of the demo: a line prompt, a line while it works, a question it asks of a person.
DEMO: Final = PromptProfile(
    name="helio-agent",
    prompt=re.compile(r"helio-agent>(?: |$)"),
    busy=(re.compile(r"^helio-agent is working"),),
    dialog=(*_ANY_DIALOG, re.compile(r"^helio-agent asks:")),
)


def judge(screen: Screen, profile: PromptProfile) -> PromptState:
    """What `screen` shows, read as `profile` describes it; UNKNOWN rather than a guess."""
    screen = _one_column(screen, profile)
    end = _end(screen, profile)
    first = max(0, end - profile.tail)
    row = _prompt_row(screen, profile, first, end)
    live = first if row is None else row
    if _any(profile.dialog, screen.lines[live:end]):
        return PromptState.DIALOG
    if _any(profile.busy, screen.lines[live if profile.box_end is None else first : end]):
        return PromptState.BUSY
    if row is None:
        return PromptState.UNKNOWN
    draft = _draft(screen, profile, row)
    if draft is None:
        return PromptState.UNKNOWN
    return PromptState.DRAFT if draft else PromptState.IDLE


def stands(screen: Screen, profile: PromptProfile, text: str) -> bool:
    """Whether the input box holds exactly `text`, the wrapping of lines aside."""
    screen = _one_column(screen, profile)
    end = _end(screen, profile)
    row = _prompt_row(screen, profile, max(0, end - profile.tail), end)
    if row is None:
        return False
    draft = _draft(screen, profile, row)
    return draft is not None and draft == _squeezed(text, profile)


def left_behind(screen: Screen, profile: PromptProfile, text: str) -> bool:
    """Whether a line prompt shows `text` as a line that was entered: complete, with the cursor on a line below."""
    if profile.box_end is not None or not profile.cursor_in_box:
        return False
    wanted, below = _squeezed(text, profile), min(screen.cursor[1], len(screen.lines))
    for row in range(below - 1, -1, -1):
        opening = profile.prompt.match(screen.lines[row])
        if opening is None:
            continue
        taken = [screen.lines[row][opening.end() :]]
        for above, line in pairwise(screen.lines[row:below]):
            if cells(above) < screen.width - 1:
                break
            taken.append(line)
        return _squeezed("".join(taken), profile) == wanted
    return False


def cells(text: str) -> int:
    """How many terminal cells `text` takes."""
    width = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
            continue
        width += 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
    return width


def _one_column(screen: Screen, profile: PromptProfile) -> Screen:
    """The screen without what stands to the right of its input box."""
    if profile.edge is None:
        return screen
    found = (profile.edge.match(line) for line in reversed(screen.lines))
    edge = next((match for match in found if match is not None), None)
    if edge is None:
        return screen
    width = cells(edge.group())
    return replace(screen, lines=tuple(_cut(line, width) for line in screen.lines), width=min(screen.width, width))


def _cut(line: str, width: int) -> str:
    """The first `width` cells of a line."""
    kept = line[:width]
    while cells(kept) > width:
        kept = kept[:-1]
    return kept.rstrip()


def _end(screen: Screen, profile: PromptProfile) -> int:
    """One past the last line that shows something, or holds a cursor that means something."""
    least = screen.cursor[1] + 1 if profile.cursor_in_box else 0
    end = len(screen.lines)
    while end > least and not screen.lines[end - 1].strip():
        end -= 1
    return end


def _prompt_row(screen: Screen, profile: PromptProfile, first: int, end: int) -> int | None:
    """The line on which the live input box opens, or None when none is seen."""
    last = min(end, screen.cursor[1] + 1) if profile.cursor_in_box else end
    return next((row for row in range(last - 1, first - 1, -1) if _opens(screen, profile, row)), None)


def _opens(screen: Screen, profile: PromptProfile, row: int) -> bool:
    """Whether an input box may open at `row`."""
    if profile.above is not None:
        over = "\n".join(line.rstrip() for line in screen.lines[max(0, row - 2) : row])
        if profile.above.fullmatch(over) is None:
            return False
    return profile.prompt.match(screen.lines[row]) is not None


def _draft(screen: Screen, profile: PromptProfile, row: int) -> str | None:
    """What the box opening at `row` holds, squeezed; "" when it is empty, None when that box is not live."""
    # Captured lines end at their last letter, but the blanks between prompt and input belong to the prompt.
    line = screen.lines[row].ljust(screen.width)
    opening = profile.prompt.match(line)
    if opening is None:
        return None
    below = _box_below(screen, profile, row)
    if below is None:
        return None
    inside = [line[opening.end() :], *below]
    text = _squeezed("".join(inside), profile)
    hint = " ".join("".join(" " if letter in profile.frame else letter for letter in " ".join(inside)).split())
    if profile.placeholder is not None and profile.placeholder.fullmatch(hint):
        text = ""
    elif profile.shows_placeholder and not text:
        return "\n"
    if not profile.cursor_in_box:
        return text
    column, at = screen.cursor
    # A cursor away from the start of an empty box tells of blanks or of lines which somebody has typed.
    at_start = at == row and column <= max(cells(opening.group()), cells(opening.group().rstrip()) + 1)
    return text or ("" if at_start else "\n")


def _box_below(screen: Screen, profile: PromptProfile, row: int) -> tuple[str, ...] | None:
    """The lines of the box below its first, or None when the box that opens at `row` is no longer the live one."""
    if profile.box_end is not None:
        for after in range(row + 1, len(screen.lines)):
            if profile.box_end.search(screen.lines[after]):
                inside = not profile.cursor_in_box or row <= screen.cursor[1] < after
                return screen.lines[row + 1 : after] if inside else None
        return None
    line = screen.cursor[1]
    # Only a line that is full (or one cell short of a wide character) runs on: else the cursor has left the prompt.
    if any(cells(above) < screen.width - 1 for above in screen.lines[row:line]):
        return None
    # Text right below the cursor's line belongs to no prompt that waits at the bottom.
    if any(under.strip() for under in screen.lines[line + 1 :]):
        return None
    return screen.lines[row + 1 : line + 1]


def _squeezed(text: str, profile: PromptProfile) -> str:
    """`text` without blanks and frames: programs break lines where they like."""
    return "".join(character for character in text if not character.isspace() and character not in profile.frame)


def _any(patterns: tuple[re.Pattern[str], ...], lines: tuple[str, ...]) -> bool:
    return any(pattern.search(line) for pattern in patterns for line in lines)
