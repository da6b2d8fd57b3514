"""The network: a word's number, its neighbours, the best of a window, and what a window then says."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from tools.screen.batches import Batch
from tools.screen.corpus import ASKS, ATTACKS
from tools.screen.shape import BLOCK, FEATURES, HEADS, HIDDEN, TAILS, WIDTH, WINDOW, WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Logits of each window (texts, windows, ...); `real` is 1 where it holds a word, `marked` counts the payload's."""

    injection: torch.Tensor
    asks: torch.Tensor
    kinds: torch.Tensor
    real: torch.Tensor
    marked: torch.Tensor


class Network(nn.Module):
    """`vectors` are the fixed ones of known words, row 0 for unknown ones."""

    def __init__(self, vectors: torch.Tensor, *, context: bool = True) -> None:
        super().__init__()
        self.context = context
        self.fixed = nn.Embedding.from_pretrained(vectors, freeze=True)
        self.turn = nn.Linear(vectors.shape[1], WIDTH, bias=False)
        self.words = nn.Embedding(1 << WORDS, WIDTH)
        self.heads = nn.Embedding(1 << HEADS, WIDTH)
        self.tails = nn.Embedding(1 << TAILS, WIDTH)
        for table in (self.words, self.heads, self.tails):
            nn.init.normal_(table.weight, std=0.05)
        self.near = nn.Linear(3 * WIDTH, FEATURES)
        self.hidden = nn.Linear((3 if context else 2) * FEATURES, HIDDEN)
        self.says = nn.Linear(HIDDEN, 1 + len(ASKS) + len(ATTACKS))
        self.drop_words, self.drop_noise, self.drop_hidden = 0.2, 0.1, 0.2

    def forward(self, batch: Batch) -> Windows:
        real = batch.real[..., None]
        fixed = self.fixed(batch.known)
        learnt = self.words(batch.words)
        if self.training:
            fixed = fixed + self.drop_noise * torch.randn_like(fixed)
            learnt = learnt * (torch.rand(learnt.shape[:2]) >= self.drop_words)[..., None]
        unknown = (batch.known == 0)[..., None]
        x = self.turn(fixed) + learnt + unknown * (self.heads(batch.heads) + self.tails(batch.tails))
        x = x * real
        pad = torch.zeros_like(x[:, :1])
        around = torch.cat([torch.cat([pad, x[:, :-1]], 1), x, torch.cat([x[:, 1:], pad], 1)], -1)
        features = torch.relu(self.near(around)) * real
        return self._windows(features, batch.real, batch.marked)

    def _windows(self, features: torch.Tensor, real: torch.Tensor, marked: torch.Tensor) -> Windows:
        texts, tokens, width = features.shape
        blocks = features.view(texts, tokens // BLOCK, BLOCK, width)
        best, total = _joined(blocks.amax(2), "max"), _joined(blocks.sum(2), "sum")
        count = _joined(real.view(texts, -1, BLOCK).sum(2, keepdim=True), "sum")
        inside = _joined(marked.view(texts, -1, BLOCK).sum(2, keepdim=True), "sum")[..., 0]
        parts = [best, total / count.clamp(min=1)]
        if self.context:
            parts.append(_surroundings(blocks.sum(2), real.view(texts, -1, BLOCK).sum(2, keepdim=True)))
        hidden = torch.relu(self.hidden(nn.functional.dropout(torch.cat(parts, -1), self.drop_hidden, self.training)))
        says = self.says(nn.functional.dropout(hidden, self.drop_hidden, self.training))
        asks = says[..., 1 : 1 + len(ASKS)]
        return Windows(
            injection=says[..., 0],
            asks=asks,
            kinds=says[..., 1 + len(ASKS) :],
            real=(count[..., 0] > 0).float(),
            marked=inside,
        )


AROUND = 6  # blocks on each side of a window's own that make its surroundings


def _joined(blocks: torch.Tensor, how: str) -> torch.Tensor:
    """Windows of WINDOW blocks each, one from every block but the last ones; at least one."""
    missing = max(0, WINDOW - blocks.shape[1])
    if missing:
        blocks = torch.cat([blocks, torch.zeros_like(blocks[:, :1]).expand(-1, missing, -1)], 1)
    rows = blocks.unfold(1, WINDOW, 1)
    return rows.amax(-1) if how == "max" else rows.sum(-1)


def _surroundings(total: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """The mean over the blocks of each window and AROUND ones on each side."""
    missing = max(0, WINDOW - total.shape[1])
    after = AROUND + missing

    def wide(blocks: torch.Tensor) -> torch.Tensor:
        padded = nn.functional.pad(blocks, (0, 0, AROUND, after))
        return padded.unfold(1, 2 * AROUND + WINDOW, 1).sum(-1)

    return wide(total) / wide(count).clamp(min=1)
