#!/usr/bin/env python3
"""Learns the weights of the scorer, node/data/screen.npz, from labelled texts. Needs tools/screen/requirements.txt.

    PYTHONPATH=. python tools/screen/train.py DATA… --validation FILE… [--cache DIR] [--out FILE]

DATA are files of JSON lines (docs/screen-model.md says which). Held-out rows of a corpus and the validation files are
never learnt from; the thresholds and the calibration come from them alone. The same data, seed and versions give the
same weights. The word vectors take minutes and are kept in the cache.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from node.core.screen_scorer import Scorer
from node.core.screen_tokens import Alphabet
from tools.screen.alphabet import alphabet_tables
from tools.screen.batches import Lexicon, stored
from tools.screen.concepts import concept_numbers
from tools.screen.corpus import UNKNOWN, Row, by_group, group, parted, read
from tools.screen.encoder import Encoder
from tools.screen.export import exported, relined
from tools.screen.frontier import best_lines
from tools.screen.learn import learnt
from tools.screen.linear import gram_table
from tools.screen.vocabulary import known_words, near_words, turned, vectors, words_of_texts

KNOWN = 80_000
DIRECTIONS = 48
NEAR_COUNT, NEAR_LEAST = 6, 0.55
GRAM_SHARES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # tried; the one that finds most stays
VECTOR_SCALE, CONCEPT_SCALE = 3.0, 1.0
RARE_ATTACK, RARE_ASK = 100, 2  # texts among which one is taken to be hostile, to ask
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Slope, offset and length correction of a head, so that a logit becomes a probability."""

    slope: float
    offset: float
    correction: float

    def row(self) -> list[float]:
        return [self.slope, self.offset, self.correction]


def say(text: str) -> None:
    print(text, flush=True)


def lexicon_of(texts: Sequence[str], alphabet: Alphabet, cache: Path) -> Lexicon:
    """The known words and their numbers. Which words there are is settled once and kept in the cache."""
    stored_at = cache / f"words-{KNOWN}.npz"
    if not stored_at.exists():
        encoder = Encoder().eval()
        names, _ = known_words(encoder, words_of_texts(alphabet, texts), alphabet, KNOWN)
        say(f"reading {len(names)} words")
        np.savez(stored_at, words=np.array(names), read=vectors(encoder, names))
    with np.load(stored_at) as kept:
        names, read_as = [str(word) for word in kept["words"]], kept["read"]
    cut = [alphabet.tokens(name) for name in names]
    keys = np.array([int(tokens.words[0]) >> 32 for tokens in cut], np.uint32)
    known, order = np.unique(keys, return_index=True)
    made = turned(read_as, DIRECTIONS)[order]
    words = [names[at] for at in order]
    concepts = concept_numbers(words, made)
    numbers = np.concatenate([VECTOR_SCALE * made, CONCEPT_SCALE * concepts], axis=1)
    scale = np.maximum(np.abs(numbers).max(axis=0), 1e-9) / 127  # as they are stored, so that training sees the same
    numbers = (np.round(numbers / scale) * scale).astype(np.float32)
    near = near_words(made, NEAR_COUNT, NEAR_LEAST)
    return Lexicon(
        known=known,
        vectors=np.concatenate([np.zeros((1, numbers.shape[1]), np.float32), numbers]),
        near=np.concatenate([np.zeros((1, NEAR_COUNT), np.int64), near]),
        heads=np.array([int(cut[at].heads[0]) for at in order], np.uint64),
        tails=np.array([int(cut[at].tails[0]) for at in order], np.uint64),
    )


def fitted(
    logits: Floats, windows: Floats, positive: npt.NDArray[np.bool_], counted: npt.NDArray[np.bool_], rarity: float
) -> Fit:
    """Platt's fit, for one positive text in `rarity`; the correction levels ordinary texts of all lengths."""
    quiet = counted & ~positive
    length = np.log(windows)
    levels = np.unique(np.round(length[quiet] * 2) / 2)
    tops = [(level, np.quantile(logits[quiet & (np.round(length * 2) / 2 == level)], 0.98)) for level in levels]
    many = [(a, b) for a, b in tops if (np.round(length[quiet] * 2) / 2 == a).sum() >= 60]
    slope = np.polyfit([a for a, _ in many], [b for _, b in many], 1)[0] if len(many) > 2 else 0.0
    correction = float(np.clip(slope, 0.0, 1.0))
    levelled = torch.tensor(logits - correction * length)[counted]
    wanted = torch.tensor(positive[counted], dtype=torch.float64)
    share = wanted * (0.5 / wanted.sum()) + (1 - wanted) * (0.5 / (1 - wanted).sum())
    line = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    solver = torch.optim.LBFGS([line], max_iter=100)

    def closure() -> torch.Tensor:
        solver.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(line[0] * levelled + line[1], wanted, share)
        loss.backward()
        return loss

    solver.step(closure)
    return Fit(
        slope=float(line[0].detach()), offset=float(line[1].detach()) - math.log(rarity - 1), correction=correction
    )


def calibrated(rows: Sequence[Row], injection: Floats, ask: Floats, windows: Floats) -> npt.NDArray[np.float64]:
    """The fits of injection and ask on validation rows."""
    groups = np.array([group(row) for row in rows])
    hostile = np.array([row.hostile for row in rows])
    asked = np.array([row.ask not in ("", UNKNOWN) for row in rows])
    plain = np.isin(groups, ["encoded_hostile", "corpus_hostile", "written_ask"], invert=True)
    labelled = np.array([row.ask != UNKNOWN for row in rows])
    fits = [fitted(injection, windows, hostile, plain, RARE_ATTACK), fitted(ask, windows, asked, labelled, RARE_ASK)]
    return np.array([fit.row() for fit in fits])


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="train.py", description="Learn the weights of the screen's scorer.")
    parser.add_argument("data", nargs="+", type=Path, help="files of JSON lines to learn from")
    parser.add_argument("--validation", nargs="+", type=Path, required=True, help="files never learnt from")
    parser.add_argument("--cache", type=Path, default=Path("screen-cache"), help="a folder for the word vectors")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "node" / "data" / "screen.npz")
    parser.add_argument("--lines-only", action="store_true", help="keep the weights in --out, draw the lines again")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--draws", type=int, default=24_000, help="examples of an epoch")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(argv)
    torch.set_num_threads(options.threads)
    options.cache.mkdir(parents=True, exist_ok=True)
    tables = alphabet_tables()
    alphabet = Alphabet(*tables)
    learn_rows, held_rows = parted(read(options.data))
    measure_rows = [*held_rows, *read(options.validation)]
    unseen = {row.text for row in measure_rows}
    learn_rows = [row for row in learn_rows if row.text not in unseen]
    for name, part in by_group(learn_rows):
        say(f"learning from {len(part):6} {name}")
    for name, part in by_group(measure_rows):
        say(f"measuring on  {len(part):6} {name}")
    if options.lines_only:
        written(options.out, finished(options.out.read_bytes(), measure_rows))
        return 0
    lexicon = lexicon_of([row.text for row in learn_rows], alphabet, options.cache)
    table = gram_table(learn_rows, alphabet, seed=options.seed)
    say(f"{np.count_nonzero(table)} runs of letters and words have a weight")
    network = learnt(
        stored(learn_rows, alphabet, lexicon),
        lexicon,
        seed=options.seed,
        epochs=options.epochs,
        draws=options.draws,
        say=say,
    )
    learnt_from = "\n".join(sorted(row.text for row in learn_rows)).encode("utf-8", "replace")
    version = hashlib.sha256(learnt_from).hexdigest()[:8]
    data = exported(network, lexicon, tables, table=table, version=f"1-{version}-{options.seed}")
    written(options.out, finished(data, measure_rows))
    return 0


def written(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    say(f"{path}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def finished(data: bytes, rows: Sequence[Row]) -> bytes:
    """The weights, calibrated and with lines drawn on the validation rows, as the scorer itself scores them."""
    best, best_recall = b"", -1.0
    for share in GRAM_SHARES:
        scorer = Scorer.load(
            relined(data, share=share, calibration=np.array([[1.0, 0.0, 0.0]] * 2), lines=(1000, 1000))
        )
        found = [scorer.logits(row.text) for row in rows]
        injection, ask = np.array([one.injection for one in found]), np.array([one.ask for one in found])
        windows = np.array([max(1, one.windows) for one in found], np.float64)
        fits = calibrated(rows, injection, ask, windows)
        scored = [
            1000 / (1 + np.exp(-(slope * (logits - correction * np.log(windows)) + offset)))
            for logits, (slope, offset, correction) in zip((injection, ask), fits, strict=True)
        ]
        drawn = best_lines(rows, scored[0], scored[1])
        loose = best_lines(rows, scored[0], scored[1], 3.0)
        say(f"share {share}: {drawn}; at three times the allowances {loose.recall:.3f}")
        if drawn.recall + loose.recall > best_recall:
            best_recall = drawn.recall + loose.recall
            lines = (min(1000.0, np.ceil(drawn.injection)), min(1000.0, np.ceil(drawn.ask)))
            best = relined(data, share=share, calibration=fits, lines=lines)
    return best


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
