"""Texts as rows of numbers, and the batches to learn from: cropped, buried in ordinary text, reworded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from node.core.screen_tokens import MAX_CHARS, Alphabet, KnownWords
from tools.screen.corpus import ASKS, ATTACKS, UNKNOWN, Row
from tools.screen.shape import BLOCK, HEADS, TAILS, WORDS

Ints = npt.NDArray[np.int64]
CROP = 192  # tokens of one example
BURIED = 0.5  # of the hostile texts, and of a part of the benign ones, are put in the midst of others
ALONE = 0.4  # of the hostile texts that are longer than their payload, only that is taken into other company
AMONG_AGENTS = 0.6  # of the company is what agents write to each other, the rest what engineers write
REWORDED, REWORDED_WORDS = 0.2, 0.2  # share of texts, and of their words, for which a neighbour stands
DROPPED_WORDS = 0.05
FORGOTTEN = 0.08  # share of known words that are read by their letters only


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """The known words: upper halves of their hashes, rising; vectors after a row of zeros; near words of each."""

    known: npt.NDArray[np.uint32]
    vectors: npt.NDArray[np.float32]
    near: Ints
    heads: npt.NDArray[np.uint64]
    tails: npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """All tokens of all rows behind one another; row i has those from bounds[i] to bounds[i + 1]."""

    rows: Sequence[Row]
    bounds: Ints
    known: Ints
    words: Ints
    heads: Ints
    tails: Ints
    marked: npt.NDArray[np.bool_]  # part of the payload

    def size(self, row: int) -> int:
        return int(self.bounds[row + 1] - self.bounds[row])


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Each of shape (texts, tokens), but the targets."""

    known: torch.Tensor
    words: torch.Tensor
    heads: torch.Tensor
    tails: torch.Tensor
    real: torch.Tensor
    marked: torch.Tensor
    hostile: torch.Tensor
    weight: torch.Tensor
    kind: torch.Tensor  # -1 where unknown
    asks: torch.Tensor  # (texts, asks)
    asks_known: torch.Tensor


def stored(rows: Sequence[Row], alphabet: Alphabet, lexicon: Lexicon) -> Store:
    """Cuts every row into tokens; a text beyond one stretch is read to there."""
    known_words = KnownWords(lexicon.known)
    parts: list[tuple[Ints, Ints, Ints, Ints, npt.NDArray[np.bool_]]] = []
    for row in rows:
        tokens = alphabet.tokens(row.text[:MAX_CHARS])
        start, end = row.span or ((0, len(row.text)) if row.hostile else (0, 0))
        parts.append(
            (
                known_words.rows(tokens.words),
                (tokens.words >> np.uint64(64 - WORDS)).astype(np.int64),
                (tokens.heads >> np.uint64(64 - HEADS)).astype(np.int64),
                (tokens.tails >> np.uint64(64 - TAILS)).astype(np.int64),
                (tokens.starts < end) & (tokens.ends > start),
            )
        )
    sizes = [len(part[0]) for part in parts]
    known, words, heads, tails, marked = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Store(
        rows=rows,
        bounds=np.concatenate([[0], np.cumsum(sizes)]),
        known=known,
        words=words,
        heads=heads,
        tails=tails,
        marked=marked,
    )


class Mixer:
    """Draws training examples; everything follows from the seed."""

    def __init__(self, store: Store, lexicon: Lexicon, weights: npt.NDArray[np.float64], seed: int) -> None:
        self._store, self._lexicon, self._weights = store, lexicon, weights
        self._random = np.random.default_rng(seed)
        rows = store.rows
        base = [row.source.partition(":")[0] for row in rows]
        self._ordinary = np.array([i for i, name in enumerate(base) if name in ("eng_commits", "eng_docs")])
        self._honest = np.array([i for i, row in enumerate(rows) if row.writer and not row.hostile and not row.ask])
        self._buriable = np.array([bool(row.writer) for row in rows])
        self._asks = np.array([[row.ask == ask for ask in ASKS] for row in rows], np.float32)
        self._asks_known = np.array([row.ask != UNKNOWN for row in rows], np.float32)
        kinds = [row.kind.removeprefix("hard_") if row.hostile and row.writer else "" for row in rows]
        self._kinds = np.array([ATTACKS.index(kind) if kind in ATTACKS else -1 for kind in kinds])

    def batch(self, chosen: Ints) -> Batch:
        """The examples made of the chosen rows."""
        indexes = [self._example(int(row)) for row in chosen]
        rows = self._store.rows
        return self.gathered(
            indexes,
            hostile=np.array([rows[row].hostile for row in chosen]),
            chosen=chosen,
            changed=True,
        )

    def gathered(
        self, indexes: Sequence[Ints], hostile: npt.NDArray[np.bool_], chosen: Ints, *, changed: bool
    ) -> Batch:
        """Token indexes of each example as a padded batch; `changed` says whether words are dropped and replaced."""
        length = -(-max(1, *map(len, indexes)) // BLOCK) * BLOCK
        at = np.zeros((len(indexes), length), np.int64)
        real = np.zeros((len(indexes), length), np.bool_)
        for n, index in enumerate(indexes):
            at[n, : len(index)] = index
            real[n, : len(index)] = True
        store = self._store
        known, words, heads, tails = store.known[at], store.words[at], store.heads[at], store.tails[at]
        marked = store.marked[at] & real & hostile[:, None]
        if changed:
            known, words, heads, tails = self._reworded(known, words, heads, tails)
            forgotten = self._random.random(known.shape) < FORGOTTEN
            known = np.where(forgotten, 0, known)
            real &= self._random.random(known.shape) >= DROPPED_WORDS
        return Batch(
            known=torch.from_numpy(known),
            words=torch.from_numpy(words),
            heads=torch.from_numpy(heads),
            tails=torch.from_numpy(tails),
            real=torch.from_numpy(real.astype(np.float32)),
            marked=torch.from_numpy(marked.astype(np.float32)),
            hostile=torch.from_numpy(hostile.astype(np.float32)),
            weight=torch.from_numpy(self._weights[chosen].astype(np.float32)),
            kind=torch.from_numpy(self._kinds[chosen]),
            asks=torch.from_numpy(self._asks[chosen]),
            asks_known=torch.from_numpy(self._asks_known[chosen]),
        )

    def _reworded(self, known: Ints, words: Ints, heads: Ints, tails: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        lexicon, draw = self._lexicon, self._random
        touched = (draw.random((len(known), 1)) < REWORDED) & (draw.random(known.shape) < REWORDED_WORDS)
        touched &= known > 0
        other = lexicon.near[known, draw.integers(0, lexicon.near.shape[1], known.shape)]
        touched &= other > 0
        slot = np.maximum(other - 1, 0)
        return (
            np.where(touched, other, known),
            np.where(touched, lexicon.known[slot].astype(np.int64) >> (32 - WORDS), words),
            np.where(touched, (lexicon.heads[slot] >> np.uint64(64 - HEADS)).astype(np.int64), heads),
            np.where(touched, (lexicon.tails[slot] >> np.uint64(64 - TAILS)).astype(np.int64), tails),
        )

    def _example(self, row: int) -> Ints:
        store, draw = self._store, self._random
        first, last = int(store.bounds[row]), int(store.bounds[row + 1])
        hostile, size = store.rows[row].hostile, last - first
        payload = first + np.flatnonzero(store.marked[first:last])
        if hostile and 0 < len(payload) < min(size, CROP - BLOCK) and draw.random() < ALONE:
            return self._in_company(payload)
        if size > CROP:
            if hostile and store.rows[row].span is not None:
                inside = np.flatnonzero(store.marked[first:last])
                middle = int(inside[draw.integers(len(inside))]) if len(inside) else 0
                start = int(np.clip(middle - draw.integers(CROP), 0, size - CROP))
            else:
                start = int(draw.integers(size - CROP + 1))
            return np.arange(first + start, first + start + CROP)
        whole = np.arange(first, last)
        if (
            not (hostile or self._buriable[row])
            or size > CROP - 16
            or draw.random() > BURIED
            or not len(self._ordinary)
        ):
            return whole
        return self._in_company(whole)

    def _in_company(self, whole: Ints) -> Ints:
        draw, room = self._random, CROP - len(whole)
        before = int(draw.integers(room + 1)) if draw.random() < 0.7 else 0
        after = int(draw.integers(room - before + 1)) if draw.random() < 0.7 else 0
        return np.concatenate([self._piece(before), whole, self._piece(after)])

    def _piece(self, size: int) -> Ints:
        agents = len(self._honest) and self._random.random() < AMONG_AGENTS
        company = self._honest if agents else self._ordinary
        row = int(company[self._random.integers(len(company))])
        first, last = int(self._store.bounds[row]), int(self._store.bounds[row + 1])
        size = min(size, last - first)
        start = first + int(self._random.integers(last - first - size + 1))
        return np.arange(start, start + size)
