"""The ports of the mesh: what the doors and clients between nodes need of services, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from node.core.mesh import Grant, Link, Paired, Peer, Sighting


class MeshReader(Protocol):
    """The mesh's part of ports.Reader."""

    def peers(self) -> tuple[Peer, ...]: ...
    def peer(self, peer_id: str) -> Peer | None: ...
    def peer_by_spki(self, spki: str) -> Peer | None: ...
    def mesh_state(self, name: str) -> str | None:
        """JSON that a service keeps under a name of its own, such as how often pairing failed."""
        ...

    def own_node(self) -> str | None:
        """The node id under which this database was last used."""
        ...


class MeshTx(MeshReader, Protocol):
    """The mesh's part of ports.Tx."""

    def put_peer(self, peer: Peer) -> None: ...
    def remove_peer(self, peer_id: str) -> None: ...
    def put_mesh_state(self, name: str, value: str) -> None:
        """Keeps JSON under a name; an empty text forgets it."""
        ...

    def set_own_node(self, node: str) -> None: ...
    def rename_node(self, old: str, new: str) -> None:
        """What is stored of exchanges with an end on node `old` is about `new` from now on."""
        ...


class PeerBells(Protocol):
    """Told when trust has changed, after the commit."""

    def changed(self) -> None: ...


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
        """The peer proved itself there; that address moves to the front. Not written more than once a minute.

        `address` is one that can be dialled, or empty when none is known.
        """
        ...

    async def granted(self, peer_id: str, got: frozenset[Grant]) -> None:
        """The peer said what this node may do there."""
        ...

    async def rekeyed(self, peer_id: str, certificate: str, statement: bytes, signature: bytes) -> None:
        """The peer has a new key, signed by the old; TAMPERED when the signature does not fit."""
        ...


class Trust(Protocol):
    """What a person may change about peers; `wanted` is a name, @name, or the beginning of an id.

    Each change is on disk, with its row, when the call returns; what was open under what is gone ends at once.
    """

    def find(self, wanted: str) -> Peer: ...
    async def add(self, paired: Paired) -> Peer:
        """The peer under a safe name of its own; a key that is known keeps its name and is brought up to date."""
        ...

    async def rename(self, wanted: str, name: str) -> Peer: ...
    async def grant(self, wanted: str, grants: frozenset[Grant]) -> Peer: ...
    async def revoke(self, wanted: str, grants: frozenset[Grant]) -> Peer: ...
    async def unpair(self, wanted: str) -> Peer: ...
    async def add_address(self, wanted: str, address: str) -> Peer: ...


class Changes(Protocol):
    """Wakes whoever holds something open that trust allows."""

    @property
    def generation(self) -> int:
        """How often trust has changed since the node started."""
        ...

    async def next_change(self, seen: int) -> int:
        """The generation, once it is another than `seen`."""
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
