"""What the letters and neighbouring words of a text say by themselves: a learnt weight for each short run of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from node.core.screen_tokens import LONGEST_GRAM, Hashes, Ints, Tokens, gram_buckets, pairs, word_buckets

Floats = npt.NDArray[np.float32]
_SLAB = 8192  # letters that are looked up at once: few enough to stay in the processor's cache
_SALT = np.uint64(0xA24BAED4963EE407)


def word_grams(tokens: Tokens) -> list[Hashes]:
    """For each token the hashes of it, of it with the next one, and of it with the one after that."""
    return [tokens.words ^ _SALT, pairs(tokens.words, 1), pairs(tokens.words, 2)]


def counts(tokens: Tokens) -> Ints:
    """How many runs are counted for each token: those of letters that begin with it or with the blank before it."""
    places = tokens.places
    found = np.empty_like(places)
    np.subtract(places[1:], places[:-1], out=found[:-1])
    found[-1:] = len(tokens.letters) - 1 - places[-1:]
    found *= LONGEST_GRAM - 1
    found += 3
    return found


class GramWeights:
    """Sums the weights in `table`, whose size is a power of two, over a text."""

    def __init__(self, table: Floats) -> None:
        self._table = table
        self._bits = len(table).bit_length() - 1

    def sums(self, tokens: Tokens) -> Floats:
        """For each token the sum of the weights of the runs that begin in it or in the blank before it."""
        size = len(tokens.letters)
        totals = np.empty(size, np.float32)
        width = min(_SLAB, size) + LONGEST_GRAM - 1
        letters = np.zeros(size + LONGEST_GRAM - 1, np.uint64)
        letters[:size] = tokens.letters
        rows, spare = np.empty((2, LONGEST_GRAM - 1, width), np.uint64)
        for start in range(0, size, _SLAB):
            end = min(start + _SLAB, size)
            read = end - start + LONGEST_GRAM - 1
            if read < width:
                rows, spare = np.empty((2, LONGEST_GRAM - 1, read), np.uint64)
            found = self._table.take(gram_buckets(letters[start : start + read], self._bits, rows, spare))
            for cut in range(1, LONGEST_GRAM):
                found[cut - 1, max(0, size - start - cut) :] = 0  # the text ends within the run
            np.add.reduce(found[:, : end - start], axis=0, out=totals[start:end])
        # Every run belongs to the token behind it, so sums of tokens are sums of stretches.
        sums: Floats = np.add.reduceat(totals, tokens.places - 1)
        for found in self._table.take(word_buckets(tokens.words, _SALT, self._bits)):
            sums += found
        return sums
