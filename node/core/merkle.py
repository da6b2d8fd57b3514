"""Merkle tree hashing of RFC 6962 (SHA-256): roots, O(log n) growth, proofs and their checks.

A *frontier* is what is left of a tree when all that can no longer change is folded away: the roots of its complete
subtrees, largest first, one for each set bit of the size. It is all that growing a tree or naming its root needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TypeAlias

from node.core.errors import ErrorCode, MeshError

HASH_BYTES = 32
TILE_WIDTH = 256
"""Hashes in a full tile (C2SP tlog-tiles)."""
EMPTY_ROOT = sha256(b"").digest()

Frontier: TypeAlias = tuple[bytes, ...]
SubtreeRoot: TypeAlias = Callable[[int, int], bytes]
"""Root of the leaves [first, end). Proofs ask only for log n of them, so a store may answer from kept inner nodes."""


def leaf_hash(data: bytes) -> bytes:
    """Hash of one entry; the 0x00 keeps entries apart from inner nodes."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node over its two children's hashes."""
    return sha256(b"\x01" + left + right).digest()


def grow(size: int, frontier: Frontier, leaf: bytes) -> Frontier:
    """Frontier of the tree of `size` leaves after one more leaf hash."""
    kept = len(frontier)
    merged = leaf
    while size & 1:
        kept -= 1
        merged = node_hash(frontier[kept], merged)
        size >>= 1
    return (*frontier[:kept], merged)


def frontier_root(frontier: Frontier) -> bytes:
    """Root of the tree that has this frontier; the empty tree's root is SHA-256 of nothing."""
    if not frontier:
        return EMPTY_ROOT
    folded = frontier[-1]
    for subtree in frontier[-2::-1]:
        folded = node_hash(subtree, folded)
    return folded


class Tree:
    """A tree that grows, for the many leaves of a check: changed in place, and hashed a tile at a time where it can be.

    `filled` gathers the roots of subtrees that stand in tiles, of 256 leaves, 65,536 and so on, as they become
    complete: (level, index at that level, hash). Whoever looks at them folds the tree first, and empties it.
    """

    __slots__ = ("_folded", "_frontier", "_waiting", "filled")

    def __init__(self, size: int = 0, frontier: Frontier = ()) -> None:
        self._folded = size
        self._frontier = list(frontier)
        self._waiting: list[bytes] = []
        self.filled: list[tuple[int, int, bytes]] = []

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._folded + len(self._waiting)

    def add(self, leaf: bytes) -> None:
        """One more leaf hash."""
        self._waiting.append(leaf)
        if len(self._waiting) > TILE_WIDTH:
            self.fold()

    def add_subtree(self, height: int, root: bytes) -> None:
        """A complete subtree of 2^height leaves, whose place must be the next one of that size."""
        if self._waiting:
            self.fold()
        self._push(height, root)

    def fold(self) -> None:
        """Hashes what was added since."""
        waiting, at = self._waiting, 0
        while at < len(waiting):
            if self._folded % TILE_WIDTH == 0 and len(waiting) - at >= TILE_WIDTH:
                self._push(8, _tile_root(waiting[at : at + TILE_WIDTH]), tile=True)
                at += TILE_WIDTH
            else:
                self._push(0, waiting[at])
                at += 1
        waiting.clear()

    def _push(self, height: int, root: bytes, *, tile: bool = False) -> None:
        frontier, place, merged = self._frontier, self._folded >> height, root
        self._folded += 1 << height
        if tile:
            self.filled.append((1, place, root))
        while place & 1:
            merged = sha256(b"\x01" + frontier.pop() + merged).digest()
            place >>= 1
            height += 1
            if not height & 7:
                self.filled.append((height >> 3, place, merged))
        frontier.append(merged)

    @property
    def frontier(self) -> Frontier:
        """What a tree that goes on from here begins with."""
        self.fold()
        return tuple(self._frontier)

    @property
    def root(self) -> bytes:
        """Root over all leaves so far."""
        return frontier_root(self.frontier)


def _tile_root(hashes: list[bytes]) -> bytes:
    """Root over the 256 hashes of a full tile."""
    while len(hashes) > 1:
        pairs = iter(hashes)
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in zip(pairs, pairs, strict=True)]
    return hashes[0]


def cover(first: int, end: int) -> tuple[tuple[int, int], ...]:
    """The complete subtrees that leaves [first, end) are made of in any tree, as (height, index at that height)."""
    found: list[tuple[int, int]] = []
    while first < end:
        height = (end - first).bit_length() - 1
        if first:
            height = min(height, (first & -first).bit_length() - 1)
        found.append((height, first >> height))
        first += 1 << height
    return tuple(found)


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Root over leaf hashes, in one pass and O(log n) memory."""
    frontier: Frontier = ()
    for size, leaf in enumerate(leaves):
        frontier = grow(size, frontier, leaf)
    return frontier_root(frontier)


def subtrees_of(leaves: Sequence[bytes]) -> SubtreeRoot:
    """Answers subtree roots from leaf hashes held in memory."""
    return lambda first, end: root_of(leaves[first:end])


def inclusion_proof(subtree: SubtreeRoot, index: int, size: int) -> tuple[bytes, ...]:
    """Audit path of leaf `index` in the tree of `size` leaves, leaf end first. INVALID_ARGUMENT outside the tree."""
    if not 0 <= index < size:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"Leaf {index} is not in a tree of {size} leaves; ask for one from 0 to {size - 1}.",
            {"index": index, "size": size},
        )
    path: list[bytes] = []
    first, end = 0, size
    while end - first > 1:
        middle = first + _split(end - first)
        if index < middle:
            path.append(subtree(middle, end))
            end = middle
        else:
            path.append(subtree(first, middle))
            first = middle
    return tuple(reversed(path))


def consistency_proof(subtree: SubtreeRoot, old_size: int, size: int) -> tuple[bytes, ...]:
    """Proof that the tree of `old_size` leaves is a prefix of that of `size`. INVALID_ARGUMENT if it is the larger."""
    if not 0 <= old_size <= size:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"A tree of {old_size} leaves cannot be a prefix of one of {size}; give the older size first.",
            {"old_size": old_size, "size": size},
        )
    if old_size in (0, size):
        return ()
    path: list[bytes] = []
    first, end = 0, size
    while end != old_size:
        middle = first + _split(end - first)
        if old_size <= middle:
            path.append(subtree(middle, end))
            end = middle
        else:
            path.append(subtree(first, middle))
            first = middle
    # The subtree where the walk ends is the old root itself if nothing lies to its left: the verifier has that one.
    if first > 0:
        path.append(subtree(first, end))
    return tuple(reversed(path))


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether `proof` shows `leaf` at `index` under `root` of `size` leaves (RFC 9162 section 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, folded = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            folded = node_hash(sibling, folded)
            place, last = _skip_lone_levels(place, last)
        else:
            folded = node_hash(folded, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and folded == root


def verify_consistency(old_size: int, size: int, old_root: bytes, root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that the old tree is a prefix of the new one (RFC 9162 section 2.1.4.2)."""
    if not 0 <= old_size <= size:
        return False
    if old_size == size:
        return not proof and old_root == root
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT
    hashes = list(proof)
    if old_size & (old_size - 1) == 0:
        hashes.insert(0, old_root)
    if not hashes:
        return False
    place, last = old_size - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_folded = folded = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old_folded = node_hash(sibling, old_folded)
            folded = node_hash(sibling, folded)
            place, last = _skip_lone_levels(place, last)
        else:
            folded = node_hash(folded, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and old_folded == old_root and folded == root


def _split(count: int) -> int:
    """Largest power of two below `count` (at least 2): the size of the left child."""
    return 1 << ((count - 1).bit_length() - 1)


def _skip_lone_levels(place: int, last: int) -> tuple[int, int]:
    """Climb the levels at which this node has no sibling, being the last of an incomplete tree."""
    while place and not place & 1:
        place, last = place >> 1, last >> 1
    return place, last
