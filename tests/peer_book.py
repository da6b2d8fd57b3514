"""Other nodes as a node's records know them: real keys and certificates, pairings, and rotations with their files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from node import certificates, identity
from node.core.mesh import Grant, Paired, Peer
from node.core.rotation import Step
from node.identity import Identity
from node.peers import Peers
from tests.clock_twins import START_US, CountedEntropy
from tests.integration.mesh import Mesh
from tests.rule_screener import RuleScreener

REQUEST, PANEL, TIMELINE = Grant.REQUEST, Grant.MIRROR_PANEL, Grant.MIRROR_TIMELINE
NONE: frozenset[Grant] = frozenset()
SERIALS = count(1)


def certificate(key: ec.EllipticCurvePrivateKey) -> str:
    return certificates.make(key, now_us=START_US, serial=next(SERIALS).to_bytes(20, "big"))


@cache
def node(name: str) -> str:
    """The certificate of another node of that name."""
    return certificate(ec.generate_private_key(ec.SECP256R1()))


def pin(text: str) -> str:
    return certificates.spki_hash(certificates.public_key(text))


def paired(name: str, *, given: Sequence[Grant] = (), got: Sequence[Grant] = (), at: Sequence[str] = ()) -> Paired:
    return Paired(certificate=node(name), name=name, given=frozenset(given), got=frozenset(got), addresses=tuple(at))


async def book(mesh: Mesh, own: Sequence[str] = ()) -> Peers:
    """The peers of this node as it comes up."""
    peers = Peers(
        store=mesh.store, screener=RuleScreener(), ledger=mesh.ledger, limits=mesh.limits,
        own=own or (node("this node"),),
    )  # fmt: skip
    await peers.load()
    return peers


async def rows(mesh: Mesh) -> list[str]:
    """What the timeline says, as "engine decision"."""
    return [f"{row['engine']} {row['decision']}" for row in await mesh.rows()]


async def last(mesh: Mesh) -> dict[str, object]:
    return dict((await mesh.rows())[-1])


async def on_disk(mesh: Mesh) -> tuple[Peer, ...]:
    return await mesh.store.read(lambda reader: reader.peers())


class Rotating:
    """Another node that changes its key, with the real files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entropy = CountedEntropy()
        self.line = [identity.load_or_create(folder, now_us=START_US, entropy=self._entropy)]

    def rotate(self) -> Step:
        self.line.append(identity.rotate(self._folder, now_us=START_US, entropy=self._entropy, keep=8))
        return self._step()

    def renew(self, years: int = 6) -> Step:
        then_us = START_US + years * 365 * 24 * 3_600 * 1_000_000
        self.line.append(identity.load_or_create(self._folder, now_us=then_us, entropy=self._entropy))
        return self._step()

    def _step(self) -> Step:
        step = self.line[-1].step
        assert step is not None
        return step

    @property
    def now(self) -> Identity:
        return self.line[-1]
