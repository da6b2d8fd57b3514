"""What the palette offers, in which order, and what its keys do. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import count

from node.core.errors import MeshError
from node.core.model import SessionStatus
from node.core.policy import NICKNAME_MAX, clean_nickname, nickname_key, nickname_skeleton
from node.core.views import SessionView

TYPED_MAX = 64
_NAMELESS = "session"
_PROPOSED_CHARS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A session that can be chosen, by a name without its @; a `new` one is only proposed and given on choice."""

    session: str
    name: str
    new: bool
    title: str
    state: str


class Key(Enum):
    """What a key does in the palette."""

    UP = auto()
    DOWN = auto()
    CHOOSE = auto()
    LEAVE = auto()
    RUB_OUT = auto()
    CLEAR = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What was typed so far, and which of the rows that fit it is marked, counted from 0."""

    text: str = ""
    marked: int = 0


def choices(sessions: Sequence[SessionView], pane: str) -> tuple[Choice, ...]:
    """Every session but the one in `pane`: those with a nickname first, else in the order given."""
    others = [session for session in sessions if session.pane != pane or session.status is not SessionStatus.RUNNING]
    taken = [session.nickname for session in sessions if session.nickname is not None]
    made: list[Choice] = []
    for session in others:
        name = session.nickname or propose(session.title, taken)
        if session.nickname is None:
            taken.append(name)
        running = session.status is SessionStatus.RUNNING
        state = session.state.value.replace("_", " ") if running else session.status.value
        made.append(
            Choice(session=session.id, name=name, new=session.nickname is None, title=session.title, state=state)
        )
    return tuple(sorted(made, key=lambda choice: choice.new))


def propose(title: str, taken: Iterable[str]) -> str:
    """A nickname from the first words of `title`, neither one of `taken` nor one that looks like it."""
    name = _spelled(title)
    alike = {nickname_skeleton(other) for other in taken}
    if nickname_skeleton(name) not in alike:
        return name
    for number in count(2):
        suffix = f"-{number}"
        numbered = name[: NICKNAME_MAX - len(suffix)].rstrip("-._") + suffix
        if nickname_skeleton(numbered) not in alike:
            return numbered
    raise AssertionError("numbers do not end")


def _spelled(title: str) -> str:
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", title).lower())
    words = "".join(character if character.isalnum() else " " for character in folded).split()
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word[:_PROPOSED_CHARS]
        if len(longer) > _PROPOSED_CHARS:
            break
        name = longer
    try:
        return clean_nickname(name)
    except MeshError:
        return _NAMELESS


def ranked(all_choices: Sequence[Choice], text: str) -> tuple[Choice, ...]:
    """The choices that fit what was typed: by name before by title, given names before proposed ones.

    Among these a name that begins so comes first; then the order is that of `all_choices`. A title fits that has every
    word in it; case does not count, nor an @ before all.
    """
    wanted = nickname_key(text.strip().removeprefix("@"))
    if not wanted:
        return tuple(all_choices)
    found: list[tuple[tuple[int, bool, int], Choice]] = []
    for choice in all_choices:
        name, title = nickname_key(choice.name), nickname_key(choice.title)
        if wanted in name:
            found.append(((0, choice.new, 0 if name.startswith(wanted) else 1), choice))
        elif all(word in title for word in wanted.split()):
            found.append(((1, choice.new, 0), choice))
    return tuple(choice for _, choice in sorted(found, key=lambda pair: pair[0]))


def pressed(typed: Typed, key: Key | str, rows: int) -> Typed:
    """What is typed and marked after a key which neither chooses nor leaves; `rows` fit what was typed before it."""
    match key:
        case Key.UP:
            return replace(typed, marked=(typed.marked - 1) % max(rows, 1))
        case Key.DOWN:
            return replace(typed, marked=(typed.marked + 1) % max(rows, 1))
        case Key.RUB_OUT:
            return Typed(text=typed.text[:-1])
        case Key.CLEAR:
            return Typed()
        case str():
            return Typed(text=(typed.text + key)[:TYPED_MAX])
        case _:
            return typed


# Arrows come in two forms; Ctrl-J is what some terminals make of Enter.
_SEQUENCES = {
    b"\x1b[A": Key.UP, b"\x1bOA": Key.UP, b"\x10": Key.UP, b"\x0b": Key.UP, b"\x1b[Z": Key.UP,
    b"\x1b[B": Key.DOWN, b"\x1bOB": Key.DOWN, b"\x0e": Key.DOWN,
    b"\t": Key.CHOOSE, b"\r": Key.CHOOSE, b"\n": Key.CHOOSE,
    b"\x7f": Key.RUB_OUT, b"\x08": Key.RUB_OUT, b"\x15": Key.CLEAR, b"\x17": Key.CLEAR,
    b"\x03": Key.LEAVE, b"\x04": Key.LEAVE, b"\x07": Key.LEAVE,
}  # fmt: skip
_ESCAPE = b"\x1b"


def read_keys(data: bytes) -> tuple[Key | str, ...]:
    """The keys in what a terminal sent at once; a lone Esc leaves, other sequences and broken text say nothing."""
    keys: list[Key | str] = []
    while data:
        known = next((sequence for sequence in _SEQUENCES if data.startswith(sequence)), None)
        if known is not None:
            keys.append(_SEQUENCES[known])
            data = data[len(known) :]
        elif data == _ESCAPE or data.startswith(_ESCAPE * 2):
            return (*keys, Key.LEAVE)
        elif data.startswith(_ESCAPE):
            data = data[_sequence_length(data) :]
        else:
            text, data = _text(data)
            keys += [character for character in text if character.isprintable()]
    return tuple(keys)


def _sequence_length(data: bytes) -> int:
    """How long the control sequence (or the key with Alt) is that `data` begins with."""
    if data[1:2] not in {b"[", b"O"}:
        return 2
    return next((at + 1 for at in range(2, len(data)) if 0x40 <= data[at] <= 0x7E), len(data))


def _text(data: bytes) -> tuple[str, bytes]:
    """The text before the next control character, and what follows."""
    end = next((at for at, byte in enumerate(data) if byte < 0x20 or byte == 0x7F), len(data))
    return data[: max(end, 1)].decode("utf-8", "ignore"), data[max(end, 1) :]
