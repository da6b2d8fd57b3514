"""Merkle roots and proofs against the definitions of RFC 6962 section 2.1, written down as they stand there."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from node.core import merkle

ENTRIES = st.lists(st.binary(max_size=4), min_size=1, max_size=70)


def split(count: int) -> int:
    size = 1
    while size * 2 < count:
        size *= 2
    return size


def tree_hash(entries: list[bytes]) -> bytes:
    if not entries:
        return sha256().digest()
    if len(entries) == 1:
        return sha256(b"\0" + entries[0]).digest()
    k = split(len(entries))
    return sha256(b"\1" + tree_hash(entries[:k]) + tree_hash(entries[k:])).digest()


def path(m: int, entries: list[bytes]) -> list[bytes]:
    if len(entries) == 1:
        return []
    k = split(len(entries))
    if m < k:
        return [*path(m, entries[:k]), tree_hash(entries[k:])]
    return [*path(m - k, entries[k:]), tree_hash(entries[:k])]


def subproof(m: int, entries: list[bytes], *, known: bool) -> list[bytes]:
    if m == len(entries):
        return [] if known else [tree_hash(entries)]
    k = split(len(entries))
    if m <= k:
        return [*subproof(m, entries[:k], known=known), tree_hash(entries[k:])]
    return [*subproof(m - k, entries[k:], known=False), tree_hash(entries[:k])]


def hashed(entries: list[bytes]) -> list[bytes]:
    return [merkle.leaf_hash(entry) for entry in entries]


@given(ENTRIES)
def test_growing_gives_the_defined_root_at_every_size(entries: list[bytes]) -> None:
    frontier: merkle.Frontier = ()
    for size, leaf in enumerate(hashed(entries)):
        assert merkle.frontier_root(frontier) == tree_hash(entries[:size])
        frontier = merkle.grow(size, frontier, leaf)
    assert merkle.frontier_root(frontier) == tree_hash(entries) == merkle.root_of(hashed(entries))
    assert len(frontier) == len(entries).bit_count()


@given(ENTRIES, st.data())
def test_inclusion_proofs_are_the_defined_ones_and_verify(entries: list[bytes], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(entries) - 1))
    proof = merkle.inclusion_proof(merkle.subtrees_of(hashed(entries)), index, len(entries))
    assert list(proof) == path(index, entries)
    root = tree_hash(entries)
    assert merkle.verify_inclusion(index, len(entries), merkle.leaf_hash(entries[index]), proof, root)
    assert not merkle.verify_inclusion(index, len(entries), merkle.leaf_hash(b"other than any"), proof, root)


@given(ENTRIES, st.data())
def test_consistency_proofs_are_the_defined_ones_and_verify(entries: list[bytes], data: st.DataObject) -> None:
    old, size = data.draw(st.integers(1, len(entries))), len(entries)
    proof = merkle.consistency_proof(merkle.subtrees_of(hashed(entries)), old, size)
    assert list(proof) == subproof(old, entries, known=True)
    assert merkle.verify_consistency(old, size, tree_hash(entries[:old]), tree_hash(entries), proof)


@settings(max_examples=300)
@given(ENTRIES, st.data())
def test_a_proof_with_any_bit_changed_does_not_verify(entries: list[bytes], data: st.DataObject) -> None:
    size = len(entries)
    subtree, root = merkle.subtrees_of(hashed(entries)), tree_hash(entries)
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))

    def flipped(proof: tuple[bytes, ...]) -> tuple[bytes, ...]:
        place = data.draw(st.integers(0, len(proof) - 1))
        node = bytearray(proof[place])
        node[data.draw(st.integers(0, 31))] ^= 1 << data.draw(st.integers(0, 7))
        return (*proof[:place], bytes(node), *proof[place + 1 :])

    inclusion = merkle.inclusion_proof(subtree, index, size)
    if inclusion:
        leaf = merkle.leaf_hash(entries[index])
        assert not merkle.verify_inclusion(index, size, leaf, flipped(inclusion), root)
    consistency = merkle.consistency_proof(subtree, old, size)
    if consistency:
        old_root = tree_hash(entries[:old])
        assert not merkle.verify_consistency(old, size, old_root, root, flipped(consistency))


@given(ENTRIES, st.integers(1, 70), st.lists(st.binary(min_size=32, max_size=32), max_size=8))
def test_an_edited_history_is_consistent_with_no_proof(entries: list[bytes], old: int, junk: list[bytes]) -> None:
    old = min(old, len(entries))
    edited = [*entries[: old - 1], b"edited entry", *entries[old:]]
    honest = merkle.consistency_proof(merkle.subtrees_of(hashed(edited)), old, len(edited))
    for proof in (honest, tuple(junk), (*honest, *junk)):
        assert not merkle.verify_consistency(old, len(edited), tree_hash(entries[:old]), tree_hash(edited), proof)
