"""What the letters and neighbouring words of a text say by themselves: a learnt weight for each short run of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from node.core.screen_tokens import LONGEST_GRAM, Hashes, Ints, Tokens, grams, pairs

Floats = npt.NDArray[np.float32]
_SALT = np.uint64(0xA24BAED4963EE407)


def word_grams(tokens: Tokens) -> list[Hashes]:
    """For each token the hashes of it, of it with the next one, and of it with the one after that."""
    return [tokens.words ^ _SALT, pairs(tokens.words, 1), pairs(tokens.words, 2)]


def counts(tokens: Tokens) -> Ints:
    """How many runs are counted for each token: those of letters that begin with it or with the blank before it."""
    ends = np.append(tokens.places[1:], len(tokens.letters) - 1)
    return (ends - tokens.places) * (LONGEST_GRAM - 1) + 3


class GramWeights:
    """Sums the weights in `table`, whose size is a power of two, over a text."""

    def __init__(self, table: Floats) -> None:
        self._table = table
        self._shift = np.uint64(65 - len(table).bit_length())

    def sums(self, tokens: Tokens) -> Floats:
        """For each token the sum of the weights of the runs that begin in it or in the blank before it."""
        totals = np.zeros(len(tokens.letters), np.float32)
        for hashes in grams(tokens):
            totals[: len(hashes)] += self._table.take((hashes >> self._shift).view(np.int64))
        # Every run belongs to the token behind it, so sums of tokens are sums of stretches.
        sums: Floats = np.add.reduceat(totals, tokens.places - 1).astype(np.float32)
        for hashes in word_grams(tokens):
            sums += self._table.take((hashes >> self._shift).view(np.int64))
        return sums
