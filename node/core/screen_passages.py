"""Decoded runs that stand together, as one passage to be judged by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.core.screen_decoders import Run, spelled_out

APART = 40  # characters between two decoded runs that are read as one passage
MOST_PASSAGES = 64  # of a view
LEAST_DECODED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Something that was disguised, as it reads without its disguise, and where in the source it stands."""

    text: str
    start: int
    end: int


def joined_up(text: str, runs: Sequence[Run], least: int = LEAST_DECODED) -> Iterator[tuple[int, int, str]]:
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
        decoded += len(piece)
        last = end
