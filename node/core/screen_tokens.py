"""A text cut into words, each as a few numbers: where it stands and the hashes of its letters.

Everything is done on whole arrays: the hash of any stretch of letters comes out of one running sum, so a text costs
the same for each of its characters, whatever it holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

LONGEST_GRAM = 5
MAX_CHARS = 32768  # of one call; a longer text is read in stretches

# What a code point is, as the table `classes` says. Words are runs of one class.
GAP, LETTER, SIGN, UNSPACED, KATAKANA, HANGUL = range(6)
CLASSES = 6
_BUCKET_BITS = 18
_BEYOND = 0xFFFF  # stands for every code point outside the basic plane
_BASE = np.uint64(0x9E3779B97F4A7C15)
_BLANK = np.uint64(33)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HEAD = np.array([0, 5, 1, 1, 3, 2], np.int64)  # letters of a word's beginning and end, by class
_TAIL = np.array([0, 4, 1, 1, 3, 2], np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Token i is the text's [starts[i], ends[i]); `words`, `heads`, `tails` hash it whole, its beginning, its end.

    `letters` is the text folded, with one blank for each gap and one at both ends; token i begins at places[i] of it.
    """

    starts: Ints
    ends: Ints
    words: Hashes
    heads: Hashes
    tails: Hashes
    letters: Hashes
    places: Ints

    def __len__(self) -> int:
        return len(self.starts)


def pairs(words: Hashes, apart: int) -> Hashes:
    """For each word but the last ones, the hash of it and of the word `apart` places on; of the same length."""
    later = np.zeros_like(words)
    later[: max(0, len(words) - apart)] = words[apart:]
    return _mixed(words * _MIX + later + np.uint64(apart))


def grams(tokens: Tokens) -> list[Hashes]:
    """Hashes of the runs of letters that begin at each of `letters`, one array for each length of run."""
    found: list[Hashes] = []
    power = 1
    rolling = tokens.letters * _BASE
    for length in range(2, LONGEST_GRAM + 1):
        power = power * int(_BASE) & 0xFFFFFFFFFFFFFFFF
        rolling = rolling[:-1] + tokens.letters[length - 1 :] * np.uint64(power)
        found.append(_mixed(rolling + np.uint64(length)))
    return found


def _mixed(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(32))) * _MIX
    return hashes ^ (hashes >> np.uint64(29))


class KnownWords:
    """Finds words by the upper halves of their hashes, of which `keys` holds the known ones, rising."""

    def __init__(self, keys: npt.NDArray[np.uint32]) -> None:
        # A search by halves misses the processor's cache at every step; here the first step leads next to the end.
        self._shift = np.uint32(32 - _BUCKET_BITS)
        self._firsts = np.searchsorted(keys >> self._shift, np.arange(1 << _BUCKET_BITS)).astype(np.int64)
        sizes = np.diff(self._firsts, append=len(keys))
        self._steps = int(sizes.max())
        self._keys = np.concatenate([keys, np.full(1, 0xFFFFFFFF, np.uint32)])

    def rows(self, words: Hashes) -> Ints:
        """For each word its place among the known ones, counted from 1, or 0."""
        wanted = (words >> np.uint64(32)).astype(np.uint32)
        at = self._firsts[wanted >> self._shift]
        for _ in range(self._steps):
            behind = self._keys[at] < wanted
            if not behind.any():
                break
            at += behind
        rows: Ints = (at + 1) * (self._keys[at] == wanted) * (at < len(self._keys) - 1)
        return rows


class Alphabet:
    """Cuts texts; `classes` (uint8) and `folded` (uint16) say of each code point of the basic plane what it is."""

    def __init__(self, classes: npt.NDArray[np.uint8], folded: npt.NDArray[np.uint16]) -> None:
        if classes.shape != (0x10000,) or classes.dtype != np.uint8 or int(classes.max()) >= CLASSES:
            raise ValueError("the table of classes is damaged")
        if folded.shape != (0x10000,) or folded.dtype != np.uint16:
            raise ValueError("the table of folded letters is damaged")
        self._classes = classes
        self._letters = folded.astype(np.uint64) + np.uint64(1)
        inverse = pow(int(_BASE), -1, 1 << 64)
        self._powers = np.cumprod(np.full(MAX_CHARS, _BASE, np.uint64))
        self._inverse = np.cumprod(np.full(MAX_CHARS, np.uint64(inverse), np.uint64))

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text of at most MAX_CHARS code points."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
        codes = np.minimum(codes, np.uint32(_BEYOND))
        size = len(codes)
        kinds = self._classes[codes]
        letters = self._letters[codes]
        begins = np.empty(size, np.bool_)
        begins[:1] = True
        np.not_equal(kinds[1:], kinds[:-1], out=begins[1:])
        begins |= kinds == UNSPACED
        begins[1:] |= (kinds[1:] == SIGN) & (letters[1:] != letters[:-1])
        bounds = np.flatnonzero(begins)
        kind = kinds[bounds]
        ends = np.empty_like(bounds)
        ends[:-1] = bounds[1:]
        ends[-1:] = size
        # A character of a script without blanks is read together with its neighbour, as most of its words have two.
        paired = np.flatnonzero((kind[:-1] == UNSPACED) & (kind[1:] == UNSPACED))
        ends[paired] += 1
        kept = np.flatnonzero(kind != GAP)
        starts, ends, kind = bounds[kept], ends[kept], kind[kept]
        sums = np.zeros(size + 1, np.uint64)
        np.cumsum(letters * self._powers[:size], out=sums[1:])
        # A run of one sign is one token, and as long as it may be the same one.
        ended = np.where(kind == SIGN, starts + 1, ends)
        first = np.minimum(ended, starts + _HEAD[kind])
        last = np.maximum(starts, ended - _TAIL[kind])
        gap = kinds == GAP
        solid = ~gap
        solid[1:] |= ~gap[:-1]
        squeezed = np.full(int(np.count_nonzero(solid)) + 2, _BLANK, np.uint64)
        squeezed[1:-1] = np.where(gap, _BLANK, letters)[solid]
        return Tokens(
            letters=squeezed,
            places=np.cumsum(solid)[starts],
            starts=starts,
            ends=ends,
            words=self._hashed(sums, starts, ended, 0),
            heads=self._hashed(sums, starts, first, 1),
            tails=self._hashed(sums, last, ended, 2),
        )

    def _hashed(self, sums: Hashes, starts: Ints, ends: Ints, salt: int) -> Hashes:
        """A hash of the letters from each start to its end, wherever in the text they stand."""
        letters = np.subtract(sums[ends], sums[starts], dtype=np.uint64) * self._inverse[starts]
        return _mixed(np.add(letters, np.uint64(salt), dtype=np.uint64))
