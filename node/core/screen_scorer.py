"""The learnt half of the screen: how much a text reads like an attack, how much it asks for, and where.

A small network over words: a number for each word, mixed with its neighbours', the strongest of each window, and what
the windows then say. Total over `str`, deterministic, and linear in the text's length; it keeps no more than one
stretch of a text in memory at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from node.core.screen_grams import GramWeights, counts
from node.core.screen_network import BLOCK, WINDOW, Network, windows
from node.core.screen_tokens import MAX_CHARS, Alphabet, Ints, Tokens
from node.core.screen_weights import Floats, Weights, read_weights

OVERLAP = 1024  # characters that two stretches of a long text share
UNIT = 4  # tokens by which a window is shrunk to its payload
KEPT = 0.7  # of the window's logit a shrunk span may lose
SHRINK_AT = 300  # per mille; below it nobody is shown the place
STRONGEST = 8

_Number = TypeVar("_Number", bound=np.generic)
_Sum = TypeVar("_Sum", np.float64, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Per mille, calibrated. [start, end) is the likeliest payload in code points; kinds are empty for an empty text.

    `kind` is the likeliest kind of attack and `ask_kind` of request, whatever their scores.
    """

    injection: int
    ask: int
    kind: str
    ask_kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Logits:
    """What the calibration starts from: the highest logits over the windows of a text, and how many there are."""

    injection: float
    ask: float
    windows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowScore:
    start: int
    end: int
    injection: int
    ask: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`words` are those of the best window without which it would score less, strongest first."""

    scored: Scored
    windows: tuple[WindowScore, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """A piece of a text that was read: logits (windows, outputs), parts of hidden inputs.

    `sums` and `runs` have the sum and the number of the weighed runs before each token, and of all at their end.
    """

    offset: int
    tokens: Tokens
    logits: Floats
    inputs: Floats
    sums: npt.NDArray[np.float64]
    runs: Ints

    def runs_say(self, firsts: Ints, lasts: Ints) -> Floats:
        """What the runs of letters and words add to the logit of each stretch of tokens."""
        total = self.runs[lasts] - self.runs[firsts]
        return np.asarray((self.sums[lasts] - self.sums[firsts]) / np.sqrt(np.maximum(total, 1)), np.float32)


class Scorer:
    """Judges texts by learnt weights; `withhold_at` and `hold_at` are per mille, as chosen when they were learnt."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._alphabet = Alphabet(weights.classes, weights.folded)
        self._network = Network(weights)
        self._grams = GramWeights(weights.grams * np.float32(weights.gram_share))
        self.version = weights.version
        self.digest = weights.digest
        self.withhold_at, self.hold_at = round(float(weights.lines[0])), round(float(weights.lines[1]))

    @classmethod
    def load(cls, data: bytes) -> Scorer:
        """The scorer with the weights in `data`; ValueError when they are damaged or of another format."""
        return cls(read_weights(data))

    def score(self, text: str) -> Scored:
        """How `text` reads. Pass the text as a person sees it, case and accents kept, once per decoded view."""
        count, best, loudest, ask_kind = 0, None, -math.inf, 0
        place, strongest = 0, -math.inf
        for stretch in self._stretches(text):
            count += len(stretch.logits)
            at = int(stretch.logits[:, 0].argmax())
            if best is None or stretch.logits[at, 0] > loudest:
                best, place, loudest = stretch, at, float(stretch.logits[at, 0])
            asks = stretch.logits[:, 1 : 1 + len(self._weights.asks)].max(axis=0)
            if float(asks.max()) > strongest:
                strongest, ask_kind = float(asks.max()), int(asks.argmax())
        if best is None:
            return Scored(injection=0, ask=0, kind="", ask_kind="", start=0, end=0)
        injection, ask = self._per_mille(0, loudest, count), self._per_mille(1, strongest, count)
        first, last = place * BLOCK, min((place + WINDOW) * BLOCK, len(best.tokens))
        if injection >= SHRINK_AT:  # an ask has no place of its own
            first, last = self._shrunk(best, place, first, last)
        kinds = best.logits[place, 1 + len(self._weights.asks) :]
        return Scored(
            injection=injection,
            ask=ask,
            kind=self._weights.kinds[int(kinds.argmax())],
            ask_kind=self._weights.asks[ask_kind],
            start=best.offset + int(best.tokens.starts[first]),
            end=best.offset + int(best.tokens.ends[last - 1]),
        )

    def logits(self, text: str) -> Logits:
        """The numbers behind the scores, for drawing the lines; all zero for a text without words."""
        rows = [stretch.logits for stretch in self._stretches(text)]
        if not rows:
            return Logits(injection=0.0, ask=0.0, windows=0)
        return Logits(
            injection=max(float(row[:, 0].max()) for row in rows),
            ask=max(float(row[:, 1 : 1 + len(self._weights.asks)].max()) for row in rows),
            windows=sum(map(len, rows)),
        )

    def explain(self, text: str) -> Explanation:
        """The scores of the windows and the words that made the best of them; slower than `score`."""
        windows: list[WindowScore] = []
        words: list[str] = []
        loudest = -math.inf
        for stretch in self._stretches(text):
            starts, ends = stretch.tokens.starts, stretch.tokens.ends
            for at, row in enumerate(stretch.logits):
                windows.append(
                    WindowScore(
                        start=stretch.offset + int(starts[at * BLOCK]),
                        end=stretch.offset + int(ends[min((at + WINDOW) * BLOCK, len(starts)) - 1]),
                        injection=self._per_mille(0, float(row[0]), 1),
                        ask=self._per_mille(1, float(row[1 : 1 + len(self._weights.asks)].max()), 1),
                    )
                )
            at = int(stretch.logits[:, 0].argmax())
            if float(stretch.logits[at, 0]) > loudest:
                loudest = float(stretch.logits[at, 0])
                words = self._strongest(text, stretch, at)
        return Explanation(scored=self.score(text), windows=tuple(windows), words=tuple(words))

    # --- a text to logits ---------------------------------------------------------------------------------------------

    def _stretches(self, text: str) -> Iterator[_Stretch]:
        for offset in range(0, max(1, len(text) - OVERLAP), MAX_CHARS - OVERLAP):
            tokens = self._alphabet.tokens(text[offset : offset + MAX_CHARS])
            if len(tokens):
                # Its places are not kept: they take more memory than all the rest.
                inputs = windows(*self._network.blocks(self._network.places(tokens)), len(tokens))
                stretch = _Stretch(
                    offset=offset,
                    tokens=tokens,
                    logits=self._network.says(inputs),
                    inputs=inputs,
                    sums=_running(self._grams.sums(tokens), np.float64),
                    runs=_running(counts(tokens), np.int64),
                )
                firsts = np.arange(len(inputs)) * BLOCK
                lasts = np.minimum(firsts + BLOCK * WINDOW, len(tokens))
                stretch.logits[:, 0] += stretch.runs_say(firsts, lasts)
                yield stretch

    def _per_mille(self, row: int, logit: float, windows: int) -> int:
        slope, offset, correction = (float(value) for value in self._weights.calibration[row])
        value = slope * (logit - correction * math.log(max(1, windows))) + offset
        return round(1000 / (1 + math.exp(-min(60.0, max(-60.0, value)))))

    # --- a window to its payload --------------------------------------------------------------------------------------

    def _shrunk(self, stretch: _Stretch, place: int, first: int, last: int) -> tuple[int, int]:
        """The shortest run of UNITs within a window that still says nearly what the window says."""
        features = self._network.features(stretch.tokens, first, last)
        units = -(-len(features) // UNIT)
        padded = np.zeros((units * UNIT, features.shape[1]), np.float32)
        padded[: len(features)] = features
        blocks = padded.reshape(units, UNIT, -1)
        spans = [(a, b) for size in range(1, units + 1) for a in range(units - size + 1) for b in (a + size,)]
        best = blocks.max(axis=1)
        sums = np.concatenate([np.zeros((1, features.shape[1]), np.float32), np.cumsum(blocks.sum(axis=1), axis=0)])
        size = features.shape[1]
        inputs = np.empty((len(spans), 3 * size), np.float32)
        tops: dict[tuple[int, int], npt.NDArray[np.float32]] = {}
        for row, (a, b) in enumerate(spans):
            tops[a, b] = best[a] if b == a + 1 else np.maximum(tops[a, b - 1], best[b - 1])
            inputs[row, :size] = tops[a, b]
            # The mean stays that of a whole window, so that a short span is not taken for a dense one.
            inputs[row, size : 2 * size] = (sums[b] - sums[a]) / len(features)
        inputs[:, 2 * size :] = stretch.inputs[place, 2 * size :]
        firsts = np.array([first + a * UNIT for a, _ in spans])
        lasts = np.array([min(first + b * UNIT, last) for _, b in spans])
        # Over the root of the whole window's number, so that a short span gains nothing by being short.
        total = max(1, int(stretch.runs[last] - stretch.runs[first]))
        logits = self._network.says(inputs)[:, 0] + (stretch.sums[lasts] - stretch.sums[firsts]) / math.sqrt(total)
        fitting = np.flatnonzero(logits >= logits[-1] - KEPT)
        a, b = spans[int(fitting[0])]
        return first + a * UNIT, min(first + b * UNIT, last)

    def _strongest(self, text: str, stretch: _Stretch, place: int) -> list[str]:
        first, last = place * BLOCK, min((place + WINDOW) * BLOCK, len(stretch.tokens))
        starts, ends = stretch.tokens.starts, stretch.tokens.ends
        numbers = self._network.numbers(stretch.tokens, first, last)
        runs = max(1, int(stretch.runs[last] - stretch.runs[first]))
        losses = np.diff(stretch.sums[first : last + 1]) / math.sqrt(runs)
        whole = self._alone(numbers)
        for at in range(len(numbers)):
            without = numbers.copy()
            without[at] = 0
            losses[at] += whole - self._alone(without)
        order = [int(at) for at in np.argsort(-losses, kind="stable")[:STRONGEST] if losses[at] > 0]
        return [text[stretch.offset + int(starts[first + at]) : stretch.offset + int(ends[first + at])] for at in order]

    def _alone(self, numbers: Floats) -> float:
        """The logit of one window of words with these numbers and nothing around it."""
        blocks = self._network.blocks(self._network.alone(numbers))
        return float(self._network.says(windows(*blocks, len(numbers)))[0, 0])


def _running(values: npt.NDArray[_Number], kind: type[_Sum]) -> npt.NDArray[_Sum]:
    """The sum of the values before each place, and of all."""
    sums = np.zeros(len(values) + 1, kind)
    np.add.accumulate(values, out=sums[1:], dtype=kind)
    return sums
