"""A node's trust in memory, in place of the peer service, and what it takes to be a node on real sockets."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from node import certificates
from node.core.limits import Limits
from node.core.mesh import Grant, NodeKey, Peer
from node.core.rotation import fingerprint
from node.identity import AuthorityFile, node_id_of
from node.platform import clocks
from node.rpc_roots import Roots
from node.rpc_server import MeshServer

# No folder is there.
NOWHERE = Path("/nowhere/identity")


@dataclass(frozen=True, slots=True)
class Person:
    """A node's key, and a certificate of it."""

    key: ec.EllipticCurvePrivateKey
    certificate: str

    @property
    def spki(self) -> str:
        return certificates.spki_hash(self.key.public_key())

    @property
    def id(self) -> str:
        return node_id_of(self.key.public_key())

    @property
    def own(self) -> NodeKey:
        pem = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return NodeKey(key=pem, certificate=self.certificate, fingerprint=fingerprint(self.certificate))

    def peer(self, *addresses: str, given: frozenset[Grant] = frozenset()) -> Peer:
        """It as a peer of another node."""
        return Peer(
            id=self.id,
            name=f"node {self.id[:6]}",
            spki=self.spki,
            certificate=self.certificate,
            addresses=addresses,
            given=given,
            got=frozenset(),
            paired_us=1,
        )


def person(*, days_ago: float = 0, key: ec.EllipticCurvePrivateKey | None = None) -> Person:
    """A new node, whose certificate was made some days ago."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    now_us = clocks.wall_us() - int(days_ago * 86_400_000_000)
    return Person(key, certificates.make(key, now_us=now_us, serial=os.urandom(20)))


class TrustTwin:
    """A ports_mesh.Trust that records what it is told; also a ports_mesh.Calls."""

    def __init__(self, *peers: Peer) -> None:
        self._peers = {peer.id: peer for peer in peers}
        self._generation = 0
        self._changed = asyncio.Event()
        self.rows: list[tuple[str, str, str]] = []
        self.addresses: list[tuple[str, str]] = []
        self.got: list[tuple[str, frozenset[Grant]]] = []
        self.keys: list[tuple[str, str, bytes, bytes]] = []
        self.certificates: list[str] = []

    @property
    def generation(self) -> int:
        return self._generation

    @property
    def reasons(self) -> Counter[str]:
        """How often a call was turned away, by reason."""
        return Counter(reason for reason, _, _ in self.rows)

    async def next_change(self, seen: int) -> int:
        while self._generation <= seen:
            await self._changed.wait()
        return self._generation

    def peers(self) -> tuple[Peer, ...]:
        return tuple(self._peers.values())

    def pinned(self, spki: str) -> Peer | None:
        return next((peer for peer in self._peers.values() if peer.spki == spki), None)

    def pair(self, peer: Peer) -> None:
        self._peers[peer.id] = peer
        self._bump()

    def unpair(self, peer_id: str) -> None:
        del self._peers[peer_id]
        self._bump()

    def give(self, peer_id: str, *grants: Grant) -> None:
        self.pair(replace(self._peers[peer_id], given=frozenset(grants)))

    def grants_for(self, peer: Peer) -> frozenset[Grant]:
        return peer.given

    async def refused(self, reason: str, *, spki: str, address: str) -> None:
        self.rows.append((reason, spki, address))

    async def seen(self, peer_id: str, address: str) -> None:
        self.addresses.append((peer_id, address))

    async def granted(self, peer_id: str, got: frozenset[Grant]) -> None:
        self.got.append((peer_id, got))

    async def told(self, peer_id: str, certificate: str) -> Peer:
        peer = replace(self._peers[peer_id], holds=fingerprint(certificate))
        self._peers[peer_id] = peer
        return peer

    async def issued(self, peer_id: str, certificate: str) -> None:
        self._peers[peer_id] = replace(self._peers[peer_id], issued=certificate)
        self.certificates.append(certificate)

    async def rekeyed(self, peer_id: str, certificate: str, statement: bytes, signature: bytes) -> None:
        self.keys.append((peer_id, certificate, statement, signature))

    def _bump(self) -> None:
        self._generation += 1
        self._changed.set()
        self._changed = asyncio.Event()


@dataclass(slots=True)
class ShiftedClock:
    """The system's clocks, of which the one that counts through sleep can be moved on."""

    ahead_us: int = 0

    def wall_us(self) -> int:
        return clocks.wall_us()

    def boottime_us(self) -> int:
        return clocks.boottime_us() + self.ahead_us


def roots_of(trust: TrustTwin, limits: Limits, folder: Path = NOWHERE) -> Roots:
    """The roots of a port; without a folder for its private CA it cannot make one."""
    clock = ShiftedClock()
    keeper = AuthorityFile(folder, clock=clock, entropy=os.urandom)
    return Roots(trust=trust, limits=limits, clock=clock, entropy=os.urandom, keeper=keeper)


def server_of(who: Person, trust: TrustTwin, limits: Limits, folder: Path = NOWHERE) -> MeshServer:
    roots = roots_of(trust, limits, folder)
    return MeshServer(own=who.own, trust=trust, calls=trust, clock=ShiftedClock(), limits=limits, roots=roots)


@asynccontextmanager
async def serving(
    who: Person, trust: TrustTwin, *, limits: Limits | None = None, port: int = 0, folder: Path = NOWHERE
) -> AsyncIterator[int]:
    """The node's port on the loopback."""
    async with server_of(who, trust, limits or Limits(), folder).serve("127.0.0.1", port) as bound:
        yield bound
