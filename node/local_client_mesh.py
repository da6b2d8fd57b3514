"""The calls of the local API's client about the mesh."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec_local_mesh as codec
from node.core.mesh import Grant
from node.core.transfers import Transfer
from node.core.views_mesh import IdentityView, MeshView, PairingEvent, PeerView
from node.grpc_setup import aio
from node.ports_mesh import PairingWish
from node.wire.v1 import local_pb2 as pb

if TYPE_CHECKING:
    # The generated code has this name for type checkers alone.
    from node.wire.v1.local_pb2_grpc import LocalServiceAsyncStub

Q = TypeVar("Q", bound=WireMessage)
R = TypeVar("R", bound=WireMessage)


class Asks(Protocol):
    """What a client has that can ask: see LocalClient."""

    @property
    def _stub(self) -> LocalServiceAsyncStub: ...
    async def _ask(self, method: aio.UnaryUnaryMultiCallable[Q, R], request: Callable[[], Q]) -> R: ...
    def _stream(
        self, method: aio.UnaryStreamMultiCallable[Q, R], request: Callable[[], Q]
    ) -> AsyncGenerator[R, None]: ...


class MeshCalls:
    """Part of LocalClient. `peer` is a name or the beginning of an id."""

    async def identity(self: Asks) -> IdentityView:
        """Who this node is to others."""
        return codec.identity_from_wire((await self._ask(self._stub.GetIdentity, pb.GetIdentityRequest)).identity)

    async def rotate_identity(self: Asks) -> IdentityView:
        """Give the node a new key, signed by the old one."""
        return codec.identity_from_wire((await self._ask(self._stub.RotateIdentity, pb.RotateIdentityRequest)).identity)

    async def mesh(self: Asks) -> MeshView:
        """Peers with their links, and what is heard on the network."""
        return codec.mesh_from_wire(await self._ask(self._stub.GetMesh, pb.GetMeshRequest))

    async def rename_peer(self: Asks, peer: str, name: str) -> PeerView:
        """Call a peer by another name; ALREADY_EXISTS when one has it."""
        request = partial(pb.RenamePeerRequest, peer=peer, name=name)
        return codec.peer_from_wire((await self._ask(self._stub.RenamePeer, request)).peer)

    async def set_grants(
        self: Asks, peer: str, *, give: frozenset[Grant] = frozenset(), take: frozenset[Grant] = frozenset()
    ) -> PeerView:
        """Let a peer do more here, or less; what is taken away ends at once."""
        request = partial(pb.SetGrantsRequest, peer=peer, give=sorted(give), take=sorted(take))
        return codec.peer_from_wire((await self._ask(self._stub.SetGrants, request)).peer)

    async def add_peer_address(self: Asks, peer: str, address: str) -> PeerView:
        """Where a peer can be dialled, too: "host:port" or "[v6]:port"."""
        request = partial(pb.AddPeerAddressRequest, peer=peer, address=address)
        return codec.peer_from_wire((await self._ask(self._stub.AddPeerAddress, request)).peer)

    async def unpair(self: Asks, peer: str) -> str:
        """End the trust in a peer; its name."""
        return (await self._ask(self._stub.Unpair, partial(pb.UnpairRequest, peer=peer))).name

    async def run_pairing(self: Asks, wish: PairingWish) -> AsyncGenerator[PairingEvent, None]:
        """The steps of a pairing run; leaving it ends the run."""
        async with aclosing(self._stream(self._stub.RunPairing, partial(codec.wish_to_wire, wish))) as events:
            async for wire in events:
                yield codec.pairing_event_from_wire(wire)

    async def answer_pairing(self: Asks, run: str, *, code: str = "", confirmed: bool = False) -> None:
        """What the person says to a question of a run."""
        await self._ask(
            self._stub.AnswerPairing, partial(pb.AnswerPairingRequest, run=run, code=code, confirmed=confirmed)
        )

    async def transfers(self: Asks) -> tuple[Transfer, ...]:
        """Files on their way between this node and others, and lately; newest first."""
        answer = await self._ask(self._stub.ListTransfers, pb.ListTransfersRequest)
        return tuple(codec.transfer_from_wire(wire) for wire in answer.transfers)
