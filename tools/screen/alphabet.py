"""The tables which the tokeniser of the screen reads: what each code point is, and the letter that stands for it."""

from __future__ import annotations

import unicodedata

import numpy as np
import numpy.typing as npt

from node.core.screen_tokens import GAP, HANGUL, KATAKANA, LETTER, SIGN, UNSPACED

# Scripts that put no blanks between words.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3041, 0x309F),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
)  # fmt: skip
_KATAKANA = ((0x30A1, 0x30FF), (0xFF66, 0xFF9F))
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7A3))
# Of these the accents are dropped: people leave them out when they type in haste.
_ACCENTED = ((0x00C0, 0x024F), (0x0370, 0x052F), (0x1E00, 0x1FFF))
_ALONE = {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ß": "s", "æ": "a", "œ": "o", "’": "'", "‘": "'", "“": '"', "”": '"'}


def _among(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def _kind(code: int) -> int:
    category = unicodedata.category(chr(code))
    if _among(code, _HANGUL):
        return HANGUL
    if _among(code, _KATAKANA) and category[0] in "LM":
        return KATAKANA
    if _among(code, _UNSPACED) and category[0] in "LMN":
        return UNSPACED
    if category[0] in "LMN":
        return LETTER
    if category[0] in "PS" and chr(code) != "_":
        return SIGN
    return SIGN if chr(code) == "\n" or category == "Cs" else GAP


def _folded(code: int) -> int:
    char = chr(code)
    if char.isdecimal():
        return ord("0")
    lower = char.lower()
    if len(lower) != 1:
        lower = lower[0]
    if _among(code, _ACCENTED):
        lower = unicodedata.normalize("NFD", lower)[0]
    elif 0xFF01 <= code <= 0xFF5E:
        lower = unicodedata.normalize("NFKC", lower)[0]
    return ord(_ALONE.get(lower, lower))


def alphabet_tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint16]]:
    """(classes, folded) for `node.core.screen_tokens.Alphabet`."""
    classes = np.array([_kind(code) for code in range(0x10000)], np.uint8)
    classes[0xFFFF] = SIGN
    return classes, np.array([_folded(code) for code in range(0x10000)], np.uint16)
