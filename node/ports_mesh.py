"""The ports of the mesh: what the doors and clients between nodes need of services, and the other way round."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from node.core.mesh import DiscoveryState, Grant, Paired, Peer, Sighting
from node.core.pairing_events import Unreadable
from node.core.pairing_messages import Message as PairingMessage
from node.core.pairing_messages import Role
from node.core.row_codes import RowReason
from node.core.views_mesh import IdentityView, MeshView, PairingEvent, PeerView


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


class PeerBook(Protocol):
    """Whom this node trusts: asked on every handshake and every call, so it is answered from memory."""

    def peers(self) -> tuple[Peer, ...]:
        """All peers, by name."""
        ...

    def pinned(self, spki: str) -> Peer | None:
        """The peer whose public key has this SHA-256 (hex), or None for a stranger."""
        ...

    async def refused(self, reason: RowReason, *, spki: str, address: str) -> None:
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

    async def told(self, peer_id: str, certificate: str) -> Peer:
        """The peer has taken this certificate (PEM) of our own as the newest, and takes no older one any more."""
        ...

    async def issued(self, peer_id: str, certificate: str) -> None:
        """The peer issued this certificate (PEM) for our own key, to be shown to it; empty: none that it takes."""
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


class Pins(PeerBook, Changes, Protocol):
    """Whom this node trusts, and when that changes."""


class Calls(Protocol):
    """What a peer may be told or do on the node-to-node port; each is asked with a peer that is proven."""

    def grants_for(self, peer: Peer) -> frozenset[Grant]:
        """What the peer may do here now."""
        ...


class Sightings(Protocol):
    """What discovery hears, for as long as it runs."""

    def sightings(self) -> Mapping[str, Sighting]:
        """The nodes that announce themselves now, by instance name."""
        ...

    def state(self) -> DiscoveryState:
        """How discovery stands."""
        ...

    def forget_address(self, instance: str, address: str) -> None:
        """Nobody answered at that "host:port": it is not offered until it is announced again."""
        ...

    async def refresh(self, instance: str) -> Sighting | None:
        """What that node says of itself now; what is known of it when it does not answer in time."""
        ...

    async def run(self) -> None:
        """Works until cancelled."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingWish:
    """What a person wants of a pairing run. Without `target` it waits, at `port` (0: the usual one).

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


class PairingWire(Protocol):
    """The connection of one pairing run. `presented` is the fingerprint of the certificate that TLS showed a dialer."""

    @property
    def address(self) -> str: ...
    @property
    def presented(self) -> str: ...
    def messages(self) -> AsyncGenerator[PairingMessage | Unreadable, None]:
        """What the other end says, until the connection ends."""
        ...

    async def send(self, message: PairingMessage) -> None:
        """UNAVAILABLE when the connection is gone."""
        ...


class PairingListener(Protocol):
    """A port that is open for one run."""

    @property
    def port(self) -> int: ...
    async def accept(self) -> PairingWire:
        """The first to come; whoever comes later is turned away."""
        ...


class PairingNet(Protocol):
    """How pairing reaches the other node."""

    def listen(self, port: int) -> AbstractAsyncContextManager[PairingListener]:
        """Opens a port for one run; UNAVAILABLE when it is taken."""
        ...

    def dial(self, address: str, seconds: float) -> AbstractAsyncContextManager[PairingWire]:
        """Reaches whoever waits there; UNAVAILABLE when nobody answers, INVALID_ARGUMENT for what is no node."""
        ...


class PakeRun(Protocol):
    """One side's half of a SPAKE2 exchange, for a code that both know beforehand."""

    @property
    def message(self) -> bytes: ...
    def finish(self, message: bytes) -> bytes:
        """The shared key (32 bytes); INVALID_ARGUMENT for a message that gives none."""
        ...


class Pake(Protocol):
    """SPAKE2."""

    def begin(self, role: Role, code: str) -> PakeRun:
        """INVALID_ARGUMENT for what is no code."""
        ...


class Signer(Protocol):
    """This node's key, as far as pairing needs it."""

    def sign(self, statement: bytes) -> bytes: ...
    def signed(self, certificate: str, statement: bytes, signature: bytes) -> bool:
        """Whether the signature is of the key of a node's certificate; False for one that is unfit, too."""
        ...
