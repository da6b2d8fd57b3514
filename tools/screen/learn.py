"""Training: what is drawn how often, what is to be learnt of it, and the search for benign texts that still ring."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tools.screen.batches import Batch, Lexicon, Mixer, Store
from tools.screen.corpus import Row, group
from tools.screen.network import Network, Windows

Floats = npt.NDArray[np.float64]
BATCH = 64
# Share of all examples that a group makes.
SHARES = {
    "written_hostile": 0.32, "corpus_hostile": 0.10, "written_hard": 0.18, "written_benign": 0.10, "written_ask": 0.03,
    "engineering": 0.18, "trigger_words": 0.04, "chat": 0.04, "encoded_benign": 0.01,
}  # fmt: skip
# Sources whose label says less: many of their texts read like any chat.
DOUBTFUL = {
    "cyberseceval_pi": 0.2, "cyberseceval_pi_multi": 0.2, "deepset_train": 0.3, "akarma_synth": 0.3, "hinglish": 0.2,
    "trustairlab_jailbreaks": 0.5, "pyrit_jailbreaks": 0.5,
}  # fmt: skip
HARD_TIMES, HARD_SHARE = 6.0, 0.04  # the benign texts that ring loudest are drawn so much more often
EMA = 0.998
FULL = 2048  # tokens of a text that are read when it is scored here


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Of each row: the highest logits over its windows, the best window, and how many windows there are."""

    injection: Floats
    asks: Floats  # (rows, asks)
    best: npt.NDArray[np.int64]
    windows: npt.NDArray[np.int64]
    inside: npt.NDArray[np.bool_]  # whether the best window touches the payload


def doubt(row: Row) -> float:
    names = row.source.split(":")
    return min(DOUBTFUL.get(name, 1.0) for name in names)


def draw_shares(rows: Sequence[Row]) -> Floats:
    """How likely each row is drawn."""
    groups = [group(row) for row in rows]
    weights = np.array([doubt(row) for row in rows])
    chances = np.zeros(len(rows))
    for name, share in SHARES.items():
        members = np.array([other == name for other in groups])
        if members.any():
            chances[members] = share * weights[members] / weights[members].sum()
    return chances / chances.sum()


def loss_of(windows: Windows, batch: Batch) -> torch.Tensor:
    """What the network has still to learn from a batch."""
    hostile = batch.hostile
    bce = nn.functional.binary_cross_entropy_with_logits
    away = (1 - windows.real) * 1e4
    touched = (windows.marked > 0).float()
    # The loudest window of a hostile text must be one that holds the payload.
    spoken = torch.where(
        (hostile[:, None] > 0) & (touched.sum(1, keepdim=True) > 0), 1 - touched, torch.zeros_like(touched)
    )
    best = (windows.injection - away - spoken * 1e4).amax(1)
    soft = hostile * 0.98 + 0.01
    whole = (bce(best, soft, reduction="none") * batch.weight).mean()
    most = torch.minimum(windows.marked.amax(1, keepdim=True), torch.full_like(windows.marked[:, :1], 40.0))
    full = ((windows.marked >= 0.7 * most) & (windows.marked > 0)).float()
    counts = windows.real * torch.maximum(full, 1 - touched) * batch.weight[:, None]
    each = bce(windows.injection, full * 0.98 + 0.01, reduction="none") * counts
    single = (each.sum(1) / counts.sum(1).clamp(min=1)).mean()
    asked = (windows.asks - away[..., None]).amax(1)
    asks = bce(asked, batch.asks * 0.98 + 0.005, reduction="none").sum(1)
    asks_loss = (asks * batch.asks_known).mean()
    kinds = (windows.kinds - away[..., None] - spoken[..., None] * 1e4).amax(1)
    known = batch.kind >= 0
    kind_loss = nn.functional.cross_entropy(kinds[known], batch.kind[known]) if bool(known.any()) else whole * 0
    return whole + 0.5 * single + 0.5 * asks_loss + 0.2 * kind_loss


def learnt(
    store: Store,
    lexicon: Lexicon,
    *,
    seed: int,
    epochs: int,
    draws: int,
    say: Callable[[str], None],
    context: bool = True,
) -> Network:
    """A network trained on all rows of the store."""
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    chances = draw_shares(store.rows)
    weights = np.array([max(0.3, doubt(row)) for row in store.rows])
    mixer = Mixer(store, lexicon, weights, seed + 1)
    network = Network(torch.from_numpy(lexicon.vectors), context=context)
    tables = [table.weight for table in (network.words, network.heads, network.tails) if table.weight.requires_grad]
    others = [p for p in network.parameters() if p.requires_grad and all(p is not table for table in tables)]
    optimiser = torch.optim.AdamW(
        [{"params": others, "weight_decay": 0.01}, {"params": tables, "weight_decay": 0.02}], lr=2e-3, betas=(0.9, 0.98)
    )
    steps = epochs * (draws // BATCH)
    # The mean of the last steps finds more than any one of them.
    averaged = torch.optim.swa_utils.AveragedModel(
        network, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(EMA)
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=3e-3, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        started, total = time.monotonic(), 0.0
        network.train()
        for _ in range(draws // BATCH):
            batch = mixer.batch(draw.choice(len(chances), BATCH, p=chances))
            loss = loss_of(network(batch), batch)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimiser.step()
            schedule.step()
            averaged.update_parameters(network)
            total += float(loss.detach())
        if epoch in (epochs // 3, 2 * epochs // 3):
            chances = mined(network, store, lexicon, chances)
        say(f"epoch {epoch}: loss {total / (draws // BATCH):.4f}, {time.monotonic() - started:.0f} s")
    network.load_state_dict(averaged.module.state_dict())
    return network.eval()


def mined(network: Network, store: Store, lexicon: Lexicon, chances: Floats) -> Floats:
    """The chances, with those of the loudest benign texts raised."""
    benign = np.array([not row.hostile and not row.writer for row in store.rows])
    index = np.flatnonzero(benign)
    found = scores(network, store, lexicon, index)
    loud = np.maximum(found.injection, found.asks.max(1))
    worst = index[np.argsort(-loud)[: int(HARD_SHARE * len(index))]]
    raised = chances.copy()
    raised[worst] *= HARD_TIMES
    raised[benign] *= chances[benign].sum() / raised[benign].sum()
    return raised / raised.sum()


def scores(network: Network, store: Store, lexicon: Lexicon, index: npt.NDArray[np.int64]) -> Scores:
    """What the network says of whole texts, in the order of `index`."""
    mixer = Mixer(store, lexicon, np.ones(len(store.rows)), 0)
    sizes = np.array([min(FULL, store.size(int(row))) for row in index])
    order = np.argsort(sizes, kind="stable")
    injection, asks = np.zeros(len(index)), np.zeros((len(index), 8))
    best, count = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    inside = np.zeros(len(index), np.bool_)
    network.eval()
    start = 0
    with torch.no_grad():
        while start < len(order):
            stop = start + 1
            while stop < len(order) and (stop + 1 - start) * max(64, sizes[order[stop]]) <= 32768:
                stop += 1
            part = order[start:stop]
            rows = index[part]
            tokens = [
                np.arange(store.bounds[row], min(store.bounds[row + 1], store.bounds[row] + FULL)) for row in rows
            ]
            hostile = np.array([store.rows[row].hostile for row in rows])
            windows = network(mixer.gathered(tokens, hostile, rows, changed=False))
            logits = windows.injection - (1 - windows.real) * 1e4
            injection[part] = logits.amax(1).numpy()
            best[part] = logits.argmax(1).numpy()
            inside[part] = (windows.marked.gather(1, logits.argmax(1, keepdim=True)) > 0)[:, 0].numpy()
            asks[part] = (windows.asks - (1 - windows.real)[..., None] * 1e4).amax(1).numpy()
            count[part] = windows.real.sum(1).numpy().astype(np.int64)
            start = stop
    return Scores(injection=injection, asks=asks, best=best, windows=np.maximum(count, 1), inside=inside)
