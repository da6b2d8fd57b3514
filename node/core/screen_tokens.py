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
_BASE = np.array(0x9E3779B97F4A7C15, np.uint64)
_BLANK = np.uint64(33)
_MIX = np.array(0xD6E8FEB86659FD93, np.uint64)
# As arrays they need not be made into ones, which takes as long as a short text's sum.
_HALF, _LESS = np.array(32, np.uint64), np.array(29, np.uint64)
_HEAD_SALT, _TAIL_SALT = np.array(1, np.uint64), np.array(2, np.uint64)
_HEAD = np.array([0, 5, 1, 1, 3, 2], np.int64)  # letters of a word's beginning and end, by class
_TAIL = np.array([0, 4, 1, 1, 3, 2], np.int64)
_POWERS = np.array([pow(int(_BASE), power, 1 << 64) for power in range(1, LONGEST_GRAM)], np.uint64)
_APART = np.arange(1, 3, dtype=np.uint64)[:, None]
_LENGTHS = np.arange(2, LONGEST_GRAM + 1, dtype=np.uint64)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Token i is the text's [starts[i], ends[i]); `words` hash it whole, `heads` its beginning, `tails` its end.

    `letters` is the text folded, with one blank for each gap and one at both ends; token i begins at places[i] of it.
    """

    starts: Ints
    ends: Ints
    words: Hashes
    letters: Hashes
    places: Ints
    kinds: npt.NDArray[np.uint8]
    ended: Ints  # where what is hashed of each token ends
    sums: Hashes
    inverse: Hashes

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def heads(self) -> Hashes:
        """Of all tokens."""
        return self.edges(np.arange(len(self)))[0]

    @property
    def tails(self) -> Hashes:
        """Of all tokens."""
        return self.edges(np.arange(len(self)))[1]

    def edges(self, chosen: Ints) -> tuple[Hashes, Hashes]:
        """The hashes of the beginnings and of the ends of the tokens with these numbers."""
        starts, ended, kinds = self.starts.take(chosen), self.ended.take(chosen), self.kinds.take(chosen)
        begins = np.concatenate([starts, np.maximum(starts, ended - _TAIL.take(kinds))])
        ends = np.concatenate([np.minimum(ended, starts + _HEAD.take(kinds)), ended])
        letters = _letters(self.sums, self.inverse, begins, ends)
        letters[: len(chosen)] += _HEAD_SALT
        letters[len(chosen) :] += _TAIL_SALT
        mixed = _mixed(letters)
        return mixed[: len(chosen)], mixed[len(chosen) :]


def pairs(words: Hashes, apart: int) -> Hashes:
    """For each word but the last ones, the hash of it and of the word `apart` places on; of the same length."""
    later = np.zeros_like(words)
    later[: max(0, len(words) - apart)] = words[apart:]
    return _mixed(words * _MIX + later + np.uint64(apart))


def word_buckets(words: Hashes, salt: np.uint64, bits: int) -> Ints:
    """The upper `bits` (29 at most) of the hash of each word, salted, and of what `pairs` gives for 1 and 2."""
    rows = np.empty((3, len(words)), np.uint64)
    np.bitwise_xor(words, salt, out=rows[0])
    both = rows[1:]
    np.multiply(words, _MIX, out=both)
    both[0, :-1] += words[1:]
    both[1, :-2] += words[2:]
    both += _APART
    both ^= both >> _HALF
    both *= _MIX
    rows >>= np.uint64(64 - bits)
    return rows.view(np.int64)


def grams(tokens: Tokens) -> list[Hashes]:
    """Hashes of the runs of letters that begin at each of `letters`, one array for each length of run."""
    size = len(tokens.letters)
    rows = np.empty((LONGEST_GRAM - 1, size), np.uint64)
    return [
        _mixed(row[: max(0, size - length + 1)]) for length, row in enumerate(_gram_sums(tokens.letters, rows), start=2)
    ]


def gram_buckets(letters: Hashes, bits: int, rows: Hashes, spare: Hashes) -> Ints:
    """The upper `bits` (29 at most) of what `grams` gives, a row for each length; of no use where a run is cut off.

    Written to `rows`, by way of `spare`; both are as wide as there are letters, and their rows are contiguous.
    """
    sums = _gram_sums(letters, rows)
    np.right_shift(sums, _HALF, out=spare)
    sums ^= spare
    # The upper 29 bits are mixed by now.
    sums *= _MIX
    sums >>= np.uint64(64 - bits)
    return sums.view(np.int64)


def _gram_sums(letters: Hashes, rows: Hashes) -> Hashes:
    size = len(letters)
    before = letters * _BASE
    for length, row in enumerate(rows, start=2):
        kept = max(0, size - length + 1)
        np.multiply(letters[length - 1 :], _POWERS[length - 2], out=row[:kept])
        row[kept:] = 0
        row += before
        before = row
    rows += _LENGTHS
    return rows


def _mixed(hashes: Hashes) -> Hashes:
    mixed = hashes >> _HALF
    mixed ^= hashes
    mixed *= _MIX
    mixed ^= mixed >> _LESS
    return mixed


def _letters(sums: Hashes, inverse: Hashes, starts: Ints, ends: Ints) -> Hashes:
    """A number for the letters from each start to its end, the same wherever in the text they stand."""
    letters: Hashes = sums.take(ends)
    letters -= sums.take(starts)
    letters *= inverse.take(starts)
    return letters


class KnownWords:
    """Finds words by the upper halves of their hashes, of which `keys` holds the known ones, rising."""

    def __init__(self, keys: npt.NDArray[np.uint32]) -> None:
        # A search by halves misses the processor's cache at every step; here the first step leads next to the end.
        self._first_shift = np.uint64(64 - _BUCKET_BITS)
        buckets = keys >> np.uint32(32 - _BUCKET_BITS)
        self._firsts = np.searchsorted(buckets, np.arange(1 << _BUCKET_BITS)).astype(np.int64)
        sizes = np.diff(self._firsts, append=len(keys))
        self._steps = int(sizes.max())
        self._keys = np.concatenate([keys, np.full(1, 0xFFFFFFFF, np.uint32)])

    def rows(self, words: Hashes) -> Ints:
        """For each word its place among the known ones, counted from 1, or 0."""
        wanted = (words >> _HALF).astype(np.uint32)
        at = self._firsts.take((words >> self._first_shift).view(np.int64))
        found = self._keys.take(at)
        for _ in range(self._steps):
            behind = found < wanted
            if not np.count_nonzero(behind):
                break
            at += behind
            found = self._keys.take(at)
        rows: Ints = (at + 1) * ((found == wanted) & (at < len(self._keys) - 1))
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
        self._letters[classes == GAP] = _BLANK
        # Two neighbours belong to one token if these are equal: signs differ from one another, letters do not.
        self._marks = np.where(classes == SIGN, self._letters.astype(np.int32) + CLASSES, classes.astype(np.int32))
        inverse = pow(int(_BASE), -1, 1 << 64)
        self._powers = np.cumprod(np.full(MAX_CHARS, _BASE, np.uint64))
        self._inverse: Hashes = np.cumprod(np.full(MAX_CHARS + 1, np.uint64(inverse), np.uint64), dtype=np.uint64)

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text of at most MAX_CHARS code points."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4")).astype(np.int64)
        np.minimum(codes, _BEYOND, out=codes)
        size = len(codes)
        marks = self._marks.take(codes)
        letters = self._letters.take(codes)
        begins = np.empty(size, np.bool_)
        begins[:1] = True
        np.not_equal(marks[1:], marks[:-1], out=begins[1:])
        unspaced = marks == UNSPACED
        foreign = np.count_nonzero(unspaced) > 0
        if foreign:
            begins |= unspaced
        bounds = begins.nonzero()[0]
        kind = self._classes.take(codes.take(bounds))
        ends = np.empty_like(bounds)
        ends[:-1] = bounds[1:]
        ends[-1:] = size
        kept = kind.nonzero()[0]  # all but gaps
        starts, stops, kind = bounds.take(kept), ends.take(kept), kind.take(kept)
        # With one blank for each gap, a token begins behind the one before it, or one further.
        places = np.empty_like(starts)
        places[:1] = 1
        np.add.accumulate(np.minimum(starts[1:] - stops[:-1], 1) + (stops - starts)[:-1], out=places[1:])
        places[1:] += 1
        if foreign:
            # A character of a script without blanks is read together with its neighbour, as most of its words have two.
            paired = np.flatnonzero((kind[:-1] == UNSPACED) & (kind[1:] == UNSPACED) & (starts[1:] == stops[:-1]))
            stops[paired] += 1
        sums = np.zeros(size + 1, np.uint64)
        np.add.accumulate(letters * self._powers[:size], out=sums[1:])
        # A run of one sign is one token, and as long as it may be the same one.
        ended = np.where(kind == SIGN, starts + 1, stops)
        return Tokens(
            letters=_squeezed(letters, marks),
            places=places,
            starts=starts,
            ends=stops,
            words=_mixed(_letters(sums, self._inverse, starts, ended)),
            kinds=kind,
            ended=ended,
            sums=sums,
            inverse=self._inverse,
        )


def _squeezed(letters: Hashes, marks: npt.NDArray[np.int32]) -> Hashes:
    """The letters with one blank for each gap, and one at both ends."""
    solid = marks != GAP
    solid[1:] |= solid[:-1].copy()
    kept = int(np.count_nonzero(solid))
    squeezed = np.empty(kept + 2, np.uint64)
    squeezed[0] = squeezed[-1] = _BLANK
    squeezed[1:-1] = letters if kept == len(letters) else letters[solid]
    return squeezed
