"""Disguises that a canonical form takes off without a trace: wide letters, and characters that nobody sees in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from node.core import screen_shape
from node.core.screen_decoders import INVISIBLE, Run
from node.core.screen_passages import MOST_PASSAGES, Passage, joined_up
from node.core.screen_views import canonical

# Letters that are drawn as wide as a sign of Chinese. Of these, words are written to look odd, not to be read.
_WIDE = re.compile("[\uff21-\uff3a\uff41-\uff5a]")
_LEAST_WIDE, _LEAST_PARTED = 12, 3
# Joiners have their place in Arabic and Indic words, the others in none. Vowels of those scripts are no letters.
_IN_WORD = "[^\\W\\d_]|[\u064b-\u0652\u0900-\u0dff]"
_PARTED = re.compile(
    f"(?<={_IN_WORD})[\u200b\u2060-\u2064\ufeff\u00ad](?={_IN_WORD})"
    "|(?<=[A-Za-z\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3])[\u200c\u200d](?=[^\\W\\d_])"
)


def disguised_passages(text: str) -> Iterator[Passage]:
    """What of a raw text is written in wide letters, or parted by characters that nobody sees, as it reads."""
    if text.isascii():
        return
    odd = screen_shape.odd_of(text)
    for sign, found, least in ((_WIDE, _WIDE, _LEAST_WIDE), (INVISIBLE, _PARTED, _LEAST_PARTED)):
        if sign.search(odd) is None:
            continue
        places: list[Run] = [(match.start(), match.end(), match.group()) for match in found.finditer(text)]
        if len(places) < least:
            continue
        for start, end, piece in islice(joined_up(text, places, least), MOST_PASSAGES):
            yield Passage(text=canonical(_whole_words(text, start, end) or piece).text, start=start, end=end)


def _whole_words(text: str, start: int, end: int) -> str:
    """The stretch with the rest of the words that it begins and ends in."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end]
