"""Which words the scorer knows, and a vector for each that puts words of like meaning together in all languages."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from node.core.screen_tokens import MAX_CHARS, Alphabet
from tools.screen.encoder import Encoder

Floats = npt.NDArray[np.float32]
Hashes = npt.NDArray[np.uint64]

# A word that the texts hold less often must be one of the encoder's own to count; pairs of signs are often no words.
RARE, RARE_PAIR = 5, 10
_SCRIPTS = ("LATIN", "CYRILLIC", "ARABIC", "HEBREW", "DEVANAGARI", "HANGUL", "KATAKANA", "HIRAGANA", "CJK", "GREEK")
_PAIRED = ("HIRAGANA", "CJK")
_BATCH = 512


def words_of_texts(alphabet: Alphabet, texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in the texts, in small letters; the words are cut as the scorer cuts them."""
    counts: Counter[str] = Counter()
    for text in texts:
        piece = text[:MAX_CHARS]
        tokens = alphabet.tokens(piece)
        starts, ends = tokens.starts.tolist(), tokens.ends.tolist()
        counts.update(piece[a:b].lower() for a, b in zip(starts, ends, strict=True) if b - a < 30)
    return counts


def known_words(encoder: Encoder, counts: Counter[str], alphabet: Alphabet, size: int) -> tuple[list[str], Hashes]:
    """The `size` words that are most worth a vector, with the hash of each: frequent ones, then the encoder's own."""
    frequent = [
        word
        for word, count in counts.most_common()
        if word[0].isalpha() and count >= (RARE_PAIR if word[0] >= "\u0e00" and len(word) < 3 else RARE)
    ]
    candidates = [*frequent, *_pieces(encoder)]
    words: list[str] = []
    hashes: list[int] = []
    seen: set[int] = set()
    for word in candidates:
        tokens = alphabet.tokens(word)
        # A pair of signs of a script without blanks makes two tokens, the second of which is its last sign alone.
        whole = len(tokens) == 1 or (len(tokens) == 2 and tokens.ends[0] == len(word) == 2)
        key = int(tokens.words[0]) if len(tokens) else 0
        if whole and key not in seen:
            seen.add(key)
            words.append(word)
            hashes.append(key)
        if len(words) == size:
            break
    return words, np.array(hashes, np.uint64)


def _pieces(encoder: Encoder) -> Iterable[str]:
    vocabulary = encoder.tokenizer.get_vocab()
    for piece in sorted(vocabulary, key=vocabulary.__getitem__):
        word = piece.removeprefix("▁").lower()
        if not word.isalpha() or len(word) < 2:
            continue
        script = unicodedata.name(word[0], "?").split()[0]
        if script in _PAIRED:
            if len(word) == 2:
                yield word
        elif script in _SCRIPTS and piece.startswith("▁"):
            yield word


def vectors(encoder: Encoder, words: Sequence[str]) -> Floats:
    """For each word the encoder's reading of it alone, as long as one another."""
    read = np.empty((len(words), 384), np.float32)
    order = sorted(range(len(words)), key=lambda at: len(words[at]))
    with torch.no_grad():
        for start in range(0, len(order), _BATCH):
            part = order[start : start + _BATCH]
            ids, real = encoder.batch([f"query: {words[at]}" for at in part], 24)
            state = encoder(ids, real) * real[..., None]
            mean = torch.nn.functional.normalize(state.sum(1), dim=-1)
            read[part] = mean.numpy()
    return read


def turned(read: Floats, width: int) -> Floats:
    """Centred, turned to the main directions, and made as long as one another."""
    centred = read - read.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred / len(read))
    best = directions[:, ::-1][:, :width]
    # Between raw and fully whitened: the first directions tell scripts apart, the later ones meanings.
    scaled = (centred @ best) / np.sqrt(np.sqrt(values[::-1][:width]))
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True) + 1e-9
    return np.asarray(scaled, np.float32)


def near_words(made: Floats, count: int, least: float) -> npt.NDArray[np.int64]:
    """For each vector the rows, counted from 1, of up to `count` others that are `least` like it; 0 for none."""
    near = np.zeros((len(made), count), np.int64)
    for start in range(0, len(made), 2048):
        like = torch.from_numpy(made[start : start + 2048] @ made.T)
        like[torch.arange(like.shape[0]), torch.arange(start, start + like.shape[0])] = -1
        values, rows = like.topk(count, dim=1)
        near[start : start + 2048] = torch.where(values >= least, rows + 1, 0).numpy()
    return near
