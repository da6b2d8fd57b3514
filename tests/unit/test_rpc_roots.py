"""Roots of the port: who needs one, who is issued a certificate, and what becomes of it without a disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from node import certificates
from node.core.limits import Limits
from node.core.mesh import Peer
from node.rpc_roots import Roots
from tests.integration.mesh import scenario
from tests.peer_twin import NOWHERE, TrustTwin, person, roots_of

FEW = Limits(peers_pinned=4)
OLDER = tuple(replace(person().peer(), paired_us=n) for n in range(1, 10))
NEWEST = replace(person().peer(), paired_us=100)


def always_in(roots: Roots, peer: Peer) -> bool:
    """Whether it is a root in every turn until all have had one."""
    found = []
    for _ in range(6):
        found.append(peer.certificate in roots.text())
        roots.next_turn()
    assert any(found)
    return all(found)


@scenario
async def test_whoever_has_shown_an_issued_certificate_makes_room_until_it_is_paired_again(tmp_path: Path) -> None:
    trust = TrustTwin(*OLDER, NEWEST)
    roots = roots_of(trust, FEW, tmp_path)
    assert await roots.prepare()
    assert not await roots.prepare()
    issued = roots.issue(NEWEST, NEWEST.certificate)
    assert certificates.is_issued_for(NEWEST.certificate, issued)
    assert always_in(roots, NEWEST), "it may never have got it"
    assert roots.issue(NEWEST, issued) == ""
    assert not always_in(roots, NEWEST)
    again = replace(NEWEST, paired_us=200)
    trust.pair(again)
    assert always_in(roots, again)


@scenario
async def test_what_an_authority_issued_counts_when_the_node_comes_back_with_few_peers(tmp_path: Path) -> None:
    trust = TrustTwin(*OLDER, NEWEST)
    before = roots_of(trust, FEW, tmp_path)
    await before.prepare()
    few = TrustTwin(NEWEST)
    roots = roots_of(few, FEW, tmp_path)
    assert roots.text() == NEWEST.certificate
    assert await roots.prepare()
    assert roots.text().count("BEGIN CERTIFICATE") == 2
    assert before.text().startswith(roots.text().removesuffix(NEWEST.certificate))
    assert roots.issue(NEWEST, NEWEST.certificate) == ""


@scenario
async def test_without_a_disk_nobody_is_issued_anything_and_peers_have_their_turns() -> None:
    roots = roots_of(TrustTwin(*OLDER, NEWEST), FEW, NOWHERE)
    assert not await roots.prepare()
    assert roots.issue(NEWEST, NEWEST.certificate) == ""
    assert always_in(roots, NEWEST)
    assert not always_in(roots, OLDER[0])
