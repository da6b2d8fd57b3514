"""The weights of runs of letters and words, learnt on windows by logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from node.core.screen_grams import counts, word_grams
from node.core.screen_tokens import MAX_CHARS, Alphabet, Hashes, Tokens, grams
from tools.screen.corpus import Row, group
from tools.screen.learn import doubt
from tools.screen.shape import BLOCK, GRAMS, WINDOW

Floats = npt.NDArray[np.float64]
RARE = 3  # a run that fewer windows hold has no weight
KEEP = {"engineering": 1500, "corpus_hostile": 2000, "trigger_words": 600, "chat": 800, "encoded_benign": 50}
MINED = 3500  # benign windows of the corpus which the first fit finds loudest are added for the second
CORPUS_WEIGHT = 0.5
MOST_WINDOWS = 5  # of one text
STRENGTH = 2.0  # inverse of the penalty
SIZE = 1 << GRAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    buckets: npt.NDArray[np.int64]
    share: float  # of each run in the window's sum
    hostile: bool
    weight: float


def gram_table(rows: Sequence[Row], alphabet: Alphabet, *, seed: int) -> npt.NDArray[np.float32]:
    """The weight of each bucket of runs; windows are hostile where they hold much of a payload."""
    draw = np.random.default_rng(seed)
    groups = np.array([group(row) for row in rows])
    chosen = np.array([name not in KEEP for name in groups])
    for name, count in KEEP.items():
        members = np.flatnonzero(groups == name)
        chosen[draw.permutation(members)[:count]] = True
    windows = [window for at in np.flatnonzero(chosen) for window in _read(rows[int(at)], alphabet, draw)]
    table = _fitted(windows, seed)
    loudest: list[tuple[float, int, _Window]] = []
    for at in np.flatnonzero(~chosen):
        if not rows[int(at)].hostile:
            found = _read(rows[int(at)], alphabet, draw)
            sums = [float(table[window.buckets].sum()) * window.share for window in found]
            loudest.extend((total, int(at), window) for total, window in zip(sums, found, strict=True))
    loudest.sort(key=lambda one: one[:2], reverse=True)
    return _fitted([*windows, *(window for _, _, window in loudest[:MINED])], seed)


def _read(row: Row, alphabet: Alphabet, draw: np.random.Generator) -> list[_Window]:
    tokens = alphabet.tokens(row.text[:MAX_CHARS])
    if not len(tokens):
        return []
    hashes, runs = (grams(tokens), word_grams(tokens)), counts(tokens)
    weight = 1.0 if row.writer or not row.hostile else CORPUS_WEIGHT * doubt(row)
    return [
        _Window(
            buckets=_buckets(tokens, *hashes, first, last),
            share=1 / np.sqrt(float(runs[first:last].sum())),
            hostile=row.hostile,
            weight=weight,
        )
        for first, last in _windows(row, tokens, draw)
    ]


def _fitted(windows: Sequence[_Window], seed: int) -> npt.NDArray[np.float32]:
    bounds = np.cumsum([0, *(len(window.buckets) for window in windows)])
    shares = np.repeat([window.share for window in windows], np.diff(bounds))
    buckets = np.concatenate([window.buckets for window in windows])
    held = sparse.csr_matrix((shares, buckets, bounds), shape=(len(windows), SIZE))
    held.sum_duplicates()
    many = np.bincount(held.indices, minlength=SIZE)
    rarity = np.where(many >= RARE, np.log((1 + len(windows)) / (1 + many)) + 1, 0.0)
    fit = LogisticRegression(
        C=STRENGTH, class_weight="balanced", solver="liblinear", tol=1e-2, max_iter=60, random_state=seed
    )
    labels, weights = [window.hostile for window in windows], [window.weight for window in windows]
    fit.fit(held @ sparse.diags(rarity), np.array(labels), np.array(weights))
    return np.asarray(fit.coef_[0] * rarity, np.float32)


def _windows(row: Row, tokens: Tokens, draw: np.random.Generator) -> list[tuple[int, int]]:
    size, length = len(tokens), BLOCK * WINDOW
    if size <= length:
        return [(0, size)]
    starts = np.arange(0, size - BLOCK * (WINDOW - 1), BLOCK)
    if row.hostile:
        first, last = row.span or (0, len(row.text))
        inside = np.concatenate([[0], np.cumsum((tokens.starts < last) & (tokens.ends > first))])
        held = inside[np.minimum(starts + length, size)] - inside[starts]
        starts = starts[held >= 0.8 * held.max()]
    else:
        starts = starts[draw.integers(0, WINDOW) :: WINDOW] if len(starts) > WINDOW else starts[:1]
    if len(starts) > MOST_WINDOWS:
        starts = np.sort(draw.choice(starts, MOST_WINDOWS, replace=False))
    return [(int(start), min(int(start) + length, size)) for start in starts]


def _buckets(tokens: Tokens, runs: list[Hashes], words: list[Hashes], first: int, last: int) -> npt.NDArray[np.int64]:
    begin = int(tokens.places[first]) - 1
    end = int(tokens.places[last]) - 1 if last < len(tokens) else len(tokens.letters)
    parts = [hashes[begin:end] for hashes in runs] + [hashes[first:last] for hashes in words]
    return (np.concatenate(parts) >> np.uint64(64 - GRAMS)).astype(np.int64)
