"""The ports of the mesh: what the doors and clients between nodes need of services, and the other way round."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from node.core.mesh import Grant, Link, Peer, Sighting
from node.core.views_mesh import IdentityView, MeshView, PairingEvent, PeerView


class PeerBook(Protocol):
    """Whom this node trusts: asked on every handshake and every call, so it is answered from memory."""

    def peers(self) -> tuple[Peer, ...]:
        """All peers, by name."""
        ...

    def pinned(self, spki: str) -> Peer | None:
        """The peer whose public key has this SHA-256 (hex), or None for a stranger."""
        ...

    async def refused(self, reason: str, *, spki: str, address: str) -> None:
        """A row for a call that was turned away; `reason` is a code. Limited in rate, and counted beyond that."""
        ...

    async def seen(self, peer_id: str, address: str) -> None:
        """The peer proved itself from there; its address moves to the front. Not written more than once a minute."""
        ...

    async def granted(self, peer_id: str, got: frozenset[Grant]) -> None:
        """The peer said what this node may do there."""
        ...

    async def rekeyed(self, peer_id: str, certificate: str, statement: bytes, signature: bytes) -> None:
        """The peer has a new key, signed by the old; TAMPERED when the signature does not fit."""
        ...


class Trust(PeerBook, Protocol):
    """A PeerBook that tells when anything in it changed: who is trusted, or with what."""

    @property
    def generation(self) -> int:
        """Grows with every change."""
        ...

    async def next_change(self, seen: int) -> int:
        """The generation, as soon as it is past `seen`."""
        ...


class Calls(Protocol):
    """What a peer may be told or do on the node-to-node port; each is asked with a peer that is proven."""

    def grants_for(self, peer: Peer) -> frozenset[Grant]:
        """What the peer may do here now."""
        ...


class Links(Protocol):
    """The outbound channels, one for each wanted peer."""

    def link(self, peer_id: str) -> Link:
        """How the link stands."""
        ...

    def wanted(self, peers: Sequence[Peer]) -> None:
        """Keep a link to each of these and to nobody else; a peer that changed is dialled anew."""
        ...

    def hint(self, peer_id: str, addresses: Sequence[str]) -> None:
        """Addresses seen on the network, to be tried before the ones on record."""
        ...


class Sightings(Protocol):
    """What discovery hears."""

    def sightings(self) -> Mapping[str, Sighting]:
        """The nodes that announce themselves now, by instance name."""
        ...


class PeerDesk(Protocol):
    """What a person does with peers."""

    def listed(self) -> tuple[Peer, ...]: ...
    def find(self, wanted: str) -> Peer: ...
    async def rename(self, wanted: str, name: str) -> Peer: ...
    async def grant(self, wanted: str, grants: frozenset[Grant]) -> Peer: ...
    async def revoke(self, wanted: str, grants: frozenset[Grant]) -> Peer: ...
    async def add_address(self, wanted: str, address: str) -> Peer: ...
    async def unpair(self, wanted: str) -> Peer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingWish:
    """What a person wants of a pairing run. Without `target` it waits, at `port` (0: any free one).

    `code` is one that both know beforehand; `headless` without it makes one. `name` is how this node calls itself.
    """

    target: str = ""
    wants: frozenset[Grant] = frozenset()
    gives: frozenset[Grant] = frozenset()
    code: str = ""
    headless: bool = False
    name: str = ""
    port: int = 0


class PairingDesk(Protocol):
    """One pairing run at a time."""

    def run(self, wish: PairingWish) -> AsyncGenerator[PairingEvent, None]:
        """The steps of a run; leaving it ends it. WRONG_STATE while another one is under way, LIMIT for too many."""
        ...

    def answer(self, run: str, *, code: str, confirmed: bool) -> None:
        """What the person said; NOT_FOUND when that run is over, WRONG_STATE when it has not asked."""
        ...


class MeshOverview(Protocol):
    """The node among others."""

    def identity(self) -> IdentityView: ...
    async def rotate(self) -> IdentityView: ...
    def mesh(self) -> MeshView: ...
    def peer_view(self, peer: Peer) -> PeerView: ...
