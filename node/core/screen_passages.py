"""Decoded runs that stand together, as one passage to be judged by itself."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from node.core.screen_decoders import Run, spelled_out

APART = 40  # characters between two decoded runs that are read as one passage
MOST_PASSAGES = 64  # of a view
LEAST_DECODED = 12
_LEAST_PARTED = 3
_LONGEST_ADDRESS = 400
_TAIL = re.compile(r"\S+")
_DENSE = 3  # letters that a sign of a script without blanks stands for


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Something that was disguised, as it reads without its disguise, and where in the source it stands."""

    text: str
    start: int
    end: int


def joined_up(
    text: str, runs: Sequence[Run], least: int = LEAST_DECODED, size: Callable[[str], int] = len
) -> Iterator[tuple[int, int, str]]:
    """Runs that stand next to each other with what is between them: where, and how it reads.

    Those with fewer than `least` decoded characters are left out: numbers, and names that happen to decode.
    """
    pieces: list[str] = []
    first = last = decoded = 0
    for start, end, piece in (*runs, (len(text) + 2 * APART, 0, "")):
        if pieces and start - last > APART:
            if decoded >= least:
                yield first, last, "".join(pieces)
            pieces.clear()
            decoded = 0
        if pieces:
            pieces.append(text[last:start])
        else:
            first = start
        pieces.append(spelled_out(piece))
        decoded += size(piece)
        last = end


def in_letters(text: str) -> int:
    """About as many letters as an alphabet would take for a text."""
    return len(text) if text.isascii() else sum(_DENSE if "\u2e80" <= char < "\ufb00" else 1 for char in text)


def blanks_between(text: str, runs: Sequence[Run]) -> Iterator[tuple[int, int, str]]:
    """The same for prose of which only blanks and signs are encoded, with the words at both ends.

    Not in an address, which parts words like that for honest reasons: there as much must be encoded as anywhere.
    """
    for start, end, piece in joined_up(text, runs, _LEAST_PARTED):
        before = text[max(0, start - _LONGEST_ADDRESS) : start]
        tail = _TAIL.match(text, end, end + APART)
        word = "" if before[-1:].isspace() else (before.split() or [""])[-1]
        if "://" in word or "://" in piece:
            yield from ((one, two, said) for one, two, said in joined_up(text, _within(runs, start, end)))
        else:
            head = word[-APART:]
            last = tail.end() if tail else end
            yield start - len(head), last, head + piece + text[end:last]


def _within(runs: Sequence[Run], start: int, end: int) -> list[Run]:
    return list(runs[bisect_left(runs, start, key=_start_of) : bisect_left(runs, end, key=_start_of)])


def _start_of(run: Run) -> int:
    return run[0]
