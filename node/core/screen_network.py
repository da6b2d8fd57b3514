"""The network of the scorer: what each word of a text is among its neighbours, gathered for each block of words.

A text says most of its words more than once, so what a word adds to its own place and to those beside it is worked out
once for each different word. Places are then read in slabs, which stay in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from node.core.screen_tokens import Hashes, Ints, KnownWords, Tokens
from node.core.screen_weights import Floats, Weights

BLOCK = 16  # tokens; a window is WINDOW blocks, and one begins with every block
WINDOW = 3
AROUND = 6  # blocks on each side of a window that make its surroundings
_SLAB = 64  # blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What a text's words add: place i of it holds the word row[i] of each table, the first row of which is nothing.

    There is one such place before the first token and one after the last.
    """

    rows: Ints
    before: Floats  # to the place behind the word
    here: Floats
    after: Floats  # to the place in front of the word

    def __len__(self) -> int:
        return len(self.rows) - 2


class Network:
    """From tokens to features, and from the features of windows to logits."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._known = KnownWords(weights.known)
        self._shifts = [
            np.uint64(65 - len(table).bit_length()) for table in (weights.words, weights.heads, weights.tails)
        ]
        width = weights.words.shape[1]
        self._near = weights.near.reshape(3, width, -1)
        self._features = len(weights.near_bias)

    def places(self, tokens: Tokens) -> Places:
        """The tokens, each as what its word adds."""
        chosen, rows = distinct(tokens.words)
        return self._placed(self._numbers(tokens, chosen), rows)

    def numbers(self, tokens: Tokens, first: int, last: int) -> Floats:
        """What each of some tokens stands for, (tokens, width)."""
        return self._numbers(tokens, np.arange(first, last))

    def alone(self, numbers: Floats) -> Places:
        """Words with these numbers and no others beside them."""
        return self._placed(numbers, np.arange(len(numbers)))

    def _numbers(self, tokens: Tokens, chosen: Ints) -> Floats:
        weights = self._weights
        words = tokens.words.take(chosen)
        known = self._known.rows(words)
        numbers: Floats = weights.fixed.take(known, axis=0)
        numbers += weights.words.take((words >> self._shifts[0]).view(np.int64), axis=0)
        strange = np.flatnonzero(known == 0)
        if len(strange):
            heads, tails = tokens.edges(chosen.take(strange))
            edges = weights.heads.take((heads >> self._shifts[1]).view(np.int64), axis=0)
            edges += weights.tails.take((tails >> self._shifts[2]).view(np.int64), axis=0)
            numbers[strange] += edges
        return numbers

    def _placed(self, numbers: Floats, rows: Ints) -> Places:
        tables = np.empty((3, len(numbers) + 1, self._features), np.float32)
        tables[:, 0] = 0
        np.matmul(numbers, self._near, out=tables[:, 1:])
        before, here, after = tables
        here += self._weights.near_bias
        placed = np.zeros(len(rows) + 2, np.int64)
        np.add(rows, 1, out=placed[1:-1])
        return Places(rows=placed, before=before, here=here, after=after)

    def features(self, tokens: Tokens, first: int, last: int) -> Floats:
        """What each of the tokens from `first` to `last` is among its neighbours, none below zero."""
        size, low = last - first, max(0, first - 1)
        rows = np.arange(min(last + 1, len(tokens)) - low)
        places = self._placed(self._numbers(tokens, rows + low), rows)
        found, other = np.empty((2, size, self._features), np.float32)
        at = tuple(places.rows[first - low + shift : first - low + shift + size] for shift in range(3))
        return _features(places, at, found, other)

    def blocks(self, places: Places) -> tuple[Floats, Floats]:
        """For each BLOCK of tokens the highest of each feature and its sum; at least WINDOW of them."""
        size = len(places)
        whole = -(-size // BLOCK)
        # The first tokens of all blocks, then the second ones, and so on: block after block would be slower to gather.
        rows = np.zeros(whole * BLOCK + 2, np.int64)
        rows[: size + 2] = places.rows
        at = tuple(rows[shift : shift + whole * BLOCK].reshape(whole, BLOCK).T for shift in range(3))
        best, total = np.zeros((2, max(WINDOW, whole), self._features), np.float32)
        found, other = np.empty((2, BLOCK * min(_SLAB, whole) * self._features), np.float32)
        for start in range(0, whole, _SLAB):
            end = min(start + _SLAB, whole)
            shape = (BLOCK, end - start, self._features)
            needed = BLOCK * (end - start) * self._features
            features = found[:needed].reshape(shape)
            _features(places, tuple(column[:, start:end] for column in at), features, other[:needed].reshape(shape))
            if end * BLOCK > size:
                features[size - end * BLOCK :, -1] = 0  # no tokens, though the last one is beside them
            np.maximum.reduce(features, axis=0, out=best[start:end])
            np.add.reduce(features, axis=0, out=total[start:end])
        return best, total

    def says(self, inputs: Floats) -> Floats:
        """The logits of windows."""
        weights = self._weights
        hidden = inputs @ weights.hidden
        hidden += weights.hidden_bias
        np.maximum(hidden, 0, out=hidden)
        logits: Floats = np.matmul(hidden, weights.says, dtype=np.float32)
        logits += weights.says_bias
        return logits


def distinct(words: Hashes) -> tuple[Ints, Ints]:
    """Places that hold all the different words, nearly every one once, and for each word the number of its place."""
    size = len(words)
    bits = max(8, (2 * size).bit_length())
    slots = (words >> np.uint64(64 - bits)).view(np.int64)
    every = np.arange(size)
    # Not cleared, as no slot is read that was not written just before.
    last = np.empty(1 << bits, np.int64)
    last[slots] = every
    holder = last.take(slots)
    # Of different words that meet in a slot the last one has it; the others stand for themselves, each time.
    holder = np.where(words.take(holder) == words, holder, every)
    chosen = (holder == every).nonzero()[0]
    number = last[:size]
    number[chosen] = np.arange(len(chosen))
    return chosen, number.take(holder)


def _features(places: Places, at: tuple[Ints, ...], found: Floats, other: Floats) -> Floats:
    """Of tokens, by the rows of the word before each, of its own, and of the one after; in `found`, using `other`."""
    # Nothing is out of range; to be told so saves a copy.
    places.before.take(at[0], axis=0, out=found, mode="clip")
    places.here.take(at[1], axis=0, out=other, mode="clip")
    found += other
    places.after.take(at[2], axis=0, out=other, mode="clip")
    found += other
    np.maximum(found, 0, out=found)
    return found


def windows(best: Floats, total: Floats, size: int) -> Floats:
    """For each window of `size` tokens: the highest of each feature, its mean, and its mean in the surroundings."""
    blocks, width = best.shape
    count = max(1, -(-size // BLOCK) - WINDOW + 1)
    sums = np.zeros((blocks + 1, width), np.float32)
    np.add.accumulate(total, axis=0, out=sums[1:])
    inputs = np.empty((count, 3 * width), np.float32)
    highest = inputs[:, :width]
    np.maximum(best[:count], best[1 : count + 1], out=highest)
    np.maximum(highest, best[2 : count + 2], out=highest)
    start = np.arange(count)
    low, high = np.maximum(start - AROUND, 0), np.minimum(start + (WINDOW + AROUND), blocks)
    np.subtract(sums[WINDOW : count + WINDOW], sums[:count], out=inputs[:, width : 2 * width])
    np.subtract(sums.take(high, axis=0), sums.take(low, axis=0), out=inputs[:, 2 * width :])
    tokens = np.empty((count, 2, 1), np.float32)
    np.subtract(np.minimum((start + WINDOW) * BLOCK, size), start * BLOCK, out=tokens[:, 0, 0])
    np.subtract(np.minimum(high * BLOCK, size), low * BLOCK, out=tokens[:, 1, 0])
    means: Floats = inputs[:, width:].reshape(count, 2, width)
    means /= tokens
    return inputs
