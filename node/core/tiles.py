"""Roots of subtrees out of hash tiles (C2SP tlog-tiles) and the leaves that no tile holds yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from node.core import merkle
from node.core.merkle import HASH_BYTES, TILE_WIDTH, SubtreeRoot

Tile: TypeAlias = Callable[[int, int], bytes]
"""The hashes of the tile (level, index), of 32 bytes each; of a leaf tile all 256 or none."""
Leaves: TypeAlias = Callable[[int, int], Sequence[bytes]]
"""The leaf hashes [first, end), asked for only where there is no tile."""

_TILE_BITS = 8


def subtrees_in(tile: Tile, leaves: Leaves) -> SubtreeRoot:
    """Answers subtree roots, as proofs ask for them, from tiles."""

    def root(first: int, end: int) -> bytes:
        return merkle.frontier_root(tuple(complete(tile, leaves, *one) for one in merkle.cover(first, end)))

    return root


def complete(tile: Tile, leaves: Leaves, height: int, index: int) -> bytes:
    """The root of the complete subtree of 2^height leaves of that index at that height."""
    level, above = divmod(height, _TILE_BITS)
    count = 1 << above
    first = index << above
    hashes = tile(level, first // TILE_WIDTH)[first % TILE_WIDTH * HASH_BYTES :][: count * HASH_BYTES]
    if level == 0 and not hashes:
        return merkle.root_of(leaves(first, first + count))
    return merkle.root_of(hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))
