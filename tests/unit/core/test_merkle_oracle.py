"""Roots and proofs, of trees and out of tiles, against another implementation of RFC 6962, for tests alone."""

from __future__ import annotations

import pytest
from pymerkle import InmemoryTree, InvalidProof, verify_consistency

from node.core import merkle, tiles
from tests.log_lab import began

SIZES = (*range(1, 20), 255, 256, 257, 511, 512, 700)


@pytest.fixture(scope="module")
def other() -> InmemoryTree:
    """The other implementation's tree of the log's rows."""
    tree = InmemoryTree(algorithm="sha256")
    for row in LOG.rows:
        tree.append_entry(row.data)
    return tree


LOG = began(rows=698)
LEAVES = [row.leaf for row in LOG.rows]
# No leaves that a tile holds are asked for.
SUBTREE = tiles.subtrees_in(
    lambda level, index: LOG.tiles.get((level, index), b""), lambda first, end: LEAVES[max(first, 512) : end]
)


@pytest.mark.parametrize("size", SIZES)
def test_roots(other: InmemoryTree, size: int) -> None:
    tree = merkle.Tree()
    for leaf in LEAVES[:size]:
        tree.add(leaf)
    assert tree.root == SUBTREE(0, size) == other.get_root(size)


@pytest.mark.parametrize("size", SIZES)
def test_inclusion_proofs(other: InmemoryTree, size: int) -> None:
    for index in {0, size // 3, size // 2, size - 1}:
        ours = merkle.inclusion_proof(SUBTREE, index, size)
        theirs = [bytes.fromhex(one) for one in other.prove_inclusion(index + 1, size).serialize()["path"]]
        # The other one brings the leaf with it, and sorts by place.
        assert sorted([*ours, LEAVES[index]]) == sorted(theirs)
        assert merkle.verify_inclusion(index, size, LEAVES[index], ours, other.get_root(size))


@pytest.mark.parametrize("size", SIZES)
def test_consistency_proofs(other: InmemoryTree, size: int) -> None:
    for old in {1, size // 3 or 1, size // 2 or 1, size}:
        ours = merkle.consistency_proof(SUBTREE, old, size)
        assert merkle.verify_consistency(old, size, other.get_root(old), other.get_root(size), ours)
        # The other one's proof is of another shape, and must lead from our old root to our new one.
        theirs = other.prove_consistency(old, size)
        verify_consistency(SUBTREE(0, old), SUBTREE(0, size), theirs)
        with pytest.raises(InvalidProof):
            verify_consistency(bytes(32), SUBTREE(0, size), theirs)
