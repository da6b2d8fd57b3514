"""Node ids as people read, compare and type them: eight groups of seven, with characters that tell a slip.

Each 13 characters of the id are followed by one check character (Luhn mod 32), so a block is two groups.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape

LENGTH: Final = 52
GROUP: Final = 7
GROUPS: Final = 8
SEPARATOR: Final = "-"

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_VALUES: Final = {character: value for value, character in enumerate(_ALPHABET)}
_BASE: Final = len(_ALPHABET)
_DATA: Final = 13
_BLOCK: Final = 2 * GROUP
_ID: Final = re.compile(r"[a-z2-7]{52}\Z")
# Digits that are not in the alphabet are read as the letters they look like; case does not matter.
_MEANT: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz018", "ABCDEFGHIJKLMNOPQRSTUVWXYZOIB")
_GAPS: Final = re.compile(r"[\s\-\u2010-\u2015\u2212]+")
_MOST_CHARS: Final = 256


def is_node_id(text: str) -> bool:
    """Whether `text` is a node id as it is stored: 52 lowercase base32 characters."""
    return _ID.match(text) is not None


def show(node_id: str) -> str:
    """The id in upper case, eight groups of seven joined by "-", check characters included."""
    if not is_node_id(node_id):
        raise ValueError(f"a node id is {LENGTH} lowercase base32 characters, not {node_id[:80]!r}")
    upper = node_id.upper()
    checked = "".join(
        upper[at : at + _DATA] + _check_character(upper[at : at + _DATA]) for at in range(0, LENGTH, _DATA)
    )
    return SEPARATOR.join(checked[at : at + GROUP] for at in range(0, len(checked), GROUP))


def short(shown: str) -> str:
    """The first group of an id as `show` shows it, to tell nodes apart by; it proves nothing."""
    return shown[:GROUP]


def parse(text: str) -> str:
    """The node id that a person typed as `show` shows it; INVALID_ARGUMENT names the groups that are wrong.

    Case, blanks and dashes do not matter; 0, 1 and 8 are read as O, I and B.
    """
    if len(text) > _MOST_CHARS:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"That text has {len(text)} characters and cannot be a node id. Copy the node id alone from the other "
            "node: eight groups of seven letters and digits.",
        )
    pieces = [piece for piece in _GAPS.split(text.translate(_MEANT)) if piece]
    _check_lengths(pieces)
    typed = "".join(pieces)
    for at, character in enumerate(typed):
        if character not in _VALUES:
            _refuse(typed, (at // GROUP,), f"has {escape(character)}, which is in no node id")
    for at in range(0, len(typed), _BLOCK):
        data, check = typed[at : at + _DATA], typed[at + _DATA]
        if check != _check_character(data):
            first = at // GROUP
            _refuse(typed, (first, first + 1), "do not fit together: a character is wrong, or two have changed places")
    return "".join(typed[at : at + _DATA] for at in range(0, len(typed), _BLOCK)).lower()


def _check_lengths(pieces: list[str]) -> None:
    if len(pieces) == GROUPS:
        for number, piece in enumerate(pieces):
            if len(piece) != GROUP:
                _refuse("".join(pieces), (number,), f"has {len(piece)} characters instead of {GROUP}", piece)
    length = sum(len(piece) for piece in pieces)
    if length != GROUPS * GROUP:
        plain = " without its check characters" if length == LENGTH else ""
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"That is no node id{plain}: it has {length} letters and digits instead of {GROUPS * GROUP}. Copy the id "
            "from the other node as it is shown there, in eight groups of seven.",
        )


def _check_character(data: str) -> str:
    """Luhn mod 32: from the right, every other value is doubled and its two digits (base 32) are added."""
    total = 0
    for place, character in enumerate(reversed(data)):
        value = _VALUES[character] * (1 if place % 2 else 2)
        total += value // _BASE + value % _BASE
    return _ALPHABET[-total % _BASE]


def _refuse(typed: str, groups: tuple[int, ...], why: str, piece: str | None = None) -> NoReturn:
    shown = piece if piece is not None else SEPARATOR.join(typed[g * GROUP : (g + 1) * GROUP] for g in groups)
    names = " and ".join(str(group + 1) for group in groups)
    noun = "Group" if len(groups) == 1 else "Groups"
    raise MeshError(
        ErrorCode.INVALID_ARGUMENT,
        f"{noun} {names} of the node id ({escape(shown)}) {why}. Compare with what the other node shows.",
        {"groups": tuple(str(group + 1) for group in groups)},
    )
