"""Merkle hashing against the published vectors of certificate transparency, and proofs that must not pass."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from node.core import merkle
from node.core.errors import ErrorCode, MeshError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "timeline_merkle.json").read_text())
LEAVES = [merkle.leaf_hash(bytes.fromhex(entry)) for entry in VECTORS["entries"]]
ROOTS = [bytes.fromhex(root) for root in VECTORS["roots"]]
SUBTREE = merkle.subtrees_of(LEAVES)


@pytest.mark.parametrize("size", range(len(ROOTS)))
def test_roots_are_the_published_ones(size: int) -> None:
    assert merkle.root_of(LEAVES[:size]) == ROOTS[size]


def test_growing_leaf_by_leaf_gives_every_root() -> None:
    frontier: merkle.Frontier = ()
    for size, leaf in enumerate(LEAVES):
        assert merkle.frontier_root(frontier) == ROOTS[size]
        assert len(frontier) == size.bit_count()
        frontier = merkle.grow(size, frontier, leaf)
    assert merkle.frontier_root(frontier) == ROOTS[-1]


@pytest.mark.parametrize(("index", "size", "path"), [tuple(vector.values()) for vector in VECTORS["inclusion"]])
def test_inclusion_proofs_are_the_published_ones(index: int, size: int, path: list[str]) -> None:
    published = tuple(bytes.fromhex(node) for node in path)
    assert merkle.inclusion_proof(SUBTREE, index, size) == published
    assert merkle.verify_inclusion(index, size, LEAVES[index], published, ROOTS[size])


@pytest.mark.parametrize(("old", "size", "path"), [tuple(vector.values()) for vector in VECTORS["consistency"]])
def test_consistency_proofs_are_the_published_ones(old: int, size: int, path: list[str]) -> None:
    published = tuple(bytes.fromhex(node) for node in path)
    assert merkle.consistency_proof(SUBTREE, old, size) == published
    assert merkle.verify_consistency(old, size, ROOTS[old], ROOTS[size], published)


def test_an_inclusion_proof_holds_for_one_leaf_one_place_and_one_size_only() -> None:
    proof = merkle.inclusion_proof(SUBTREE, 5, 8)
    assert merkle.verify_inclusion(5, 8, LEAVES[5], proof, ROOTS[8])
    assert not merkle.verify_inclusion(4, 8, LEAVES[5], proof, ROOTS[8])
    assert not merkle.verify_inclusion(5, 6, LEAVES[5], proof, ROOTS[8])
    assert not merkle.verify_inclusion(5, 9, LEAVES[5], proof, ROOTS[8])
    assert not merkle.verify_inclusion(5, 7, LEAVES[5], proof, ROOTS[7])
    assert not merkle.verify_inclusion(5, 8, LEAVES[4], proof, ROOTS[8])
    assert not merkle.verify_inclusion(5, 8, LEAVES[5], proof, ROOTS[7])
    assert not merkle.verify_inclusion(5, 8, LEAVES[5], proof[:-1], ROOTS[8])
    assert not merkle.verify_inclusion(5, 8, LEAVES[5], (*proof, proof[0]), ROOTS[8])
    assert not merkle.verify_inclusion(8, 8, LEAVES[5], proof, ROOTS[8])
    assert not merkle.verify_inclusion(-1, 8, LEAVES[5], proof, ROOTS[8])


def test_an_inner_node_does_not_pass_for_a_leaf() -> None:
    inner = merkle.node_hash(LEAVES[0], LEAVES[1])
    as_entry = merkle.leaf_hash(LEAVES[0] + LEAVES[1])
    assert inner != as_entry
    assert not merkle.verify_inclusion(0, 1, LEAVES[1], (LEAVES[0],), ROOTS[2]), "a proof longer than the tree is high"
    assert not merkle.verify_inclusion(0, 2, as_entry, (merkle.node_hash(LEAVES[2], LEAVES[3]),), ROOTS[4])


@pytest.mark.parametrize("old", range(1, 8))
def test_a_consistency_proof_refuses_another_history(old: int) -> None:
    proof = merkle.consistency_proof(SUBTREE, old, 8)
    assert merkle.verify_consistency(old, 8, ROOTS[old], ROOTS[8], proof)
    assert not merkle.verify_consistency(old, 8, ROOTS[old - 1], ROOTS[8], proof)
    assert not merkle.verify_consistency(old, 8, ROOTS[old], ROOTS[7], proof)
    assert not merkle.verify_consistency(old, 8, ROOTS[old], ROOTS[8], proof[1:])
    assert not merkle.verify_consistency(old, 8, ROOTS[old], ROOTS[8], (*proof, proof[0]))
    for first, second in pairwise(range(len(proof))):
        swapped = list(proof)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        assert not merkle.verify_consistency(old, 8, ROOTS[old], ROOTS[8], swapped)


def test_consistency_at_the_edges() -> None:
    assert merkle.verify_consistency(0, 8, merkle.EMPTY_ROOT, ROOTS[8], ())
    assert not merkle.verify_consistency(0, 8, ROOTS[1], ROOTS[8], ())
    assert merkle.verify_consistency(8, 8, ROOTS[8], ROOTS[8], ())
    assert not merkle.verify_consistency(8, 8, ROOTS[7], ROOTS[8], ())
    assert not merkle.verify_consistency(8, 8, ROOTS[8], ROOTS[8], (ROOTS[8],))
    assert not merkle.verify_consistency(8, 4, ROOTS[8], ROOTS[4], ())
    assert not merkle.verify_consistency(3, 8, ROOTS[3], ROOTS[8], ())


def test_proofs_of_what_is_not_in_the_tree_are_refused() -> None:
    with pytest.raises(MeshError) as outside:
        merkle.inclusion_proof(SUBTREE, 8, 8)
    assert outside.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(MeshError) as reversed_sizes:
        merkle.consistency_proof(SUBTREE, 5, 4)
    assert reversed_sizes.value.code is ErrorCode.INVALID_ARGUMENT
