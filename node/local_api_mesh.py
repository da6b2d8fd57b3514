"""The local API's calls about the mesh: identity, peers, pairing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from node import codec_local_mesh as codec
from node.grpc_setup import grpc
from node.local_door import Door
from node.ports_files import TransferBoard
from node.ports_mesh import MeshOverview, PairingDesk, Trust
from node.wire.v1 import local_pb2 as pb


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshApi:
    """Answers what a person asks about other nodes."""

    overview: MeshOverview
    peers: Trust
    pairing: PairingDesk
    transfers: TransferBoard

    def handlers(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Every one of these calls by its name, behind `door`."""
        return {
            "GetIdentity": door.unary(self._get_identity, pb.GetIdentityRequest),
            "RotateIdentity": door.unary(self._rotate_identity, pb.RotateIdentityRequest),
            "GetMesh": door.unary(self._get_mesh, pb.GetMeshRequest),
            "RenamePeer": door.unary(self._rename_peer, pb.RenamePeerRequest),
            "SetGrants": door.unary(self._set_grants, pb.SetGrantsRequest),
            "AddPeerAddress": door.unary(self._add_peer_address, pb.AddPeerAddressRequest),
            "Unpair": door.unary(self._unpair, pb.UnpairRequest),
            "RunPairing": door.stream(self._run_pairing, pb.RunPairingRequest, follows=lambda _asked: True),
            "AnswerPairing": door.unary(self._answer_pairing, pb.AnswerPairingRequest),
            "ListTransfers": door.unary(self._list_transfers, pb.ListTransfersRequest),
        }

    async def _get_identity(self, _asked: pb.GetIdentityRequest) -> pb.GetIdentityResponse:
        return pb.GetIdentityResponse(identity=codec.identity_to_wire(self.overview.identity()))

    async def _rotate_identity(self, _asked: pb.RotateIdentityRequest) -> pb.RotateIdentityResponse:
        return pb.RotateIdentityResponse(identity=codec.identity_to_wire(await self.overview.rotate()))

    async def _get_mesh(self, _asked: pb.GetMeshRequest) -> pb.GetMeshResponse:
        return codec.mesh_to_wire(self.overview.mesh())

    async def _rename_peer(self, asked: pb.RenamePeerRequest) -> pb.RenamePeerResponse:
        peer = await self.peers.rename(asked.peer, asked.name)
        return pb.RenamePeerResponse(peer=codec.peer_to_wire(self.overview.peer_view(peer)))

    async def _set_grants(self, asked: pb.SetGrantsRequest) -> pb.SetGrantsResponse:
        give, take = codec.grants_from_wire(asked.give), codec.grants_from_wire(asked.take)
        peer = self.peers.find(asked.peer)
        if give:
            peer = await self.peers.grant(peer.id, give)
        if take:
            peer = await self.peers.revoke(peer.id, take)
        return pb.SetGrantsResponse(peer=codec.peer_to_wire(self.overview.peer_view(peer)))

    async def _add_peer_address(self, asked: pb.AddPeerAddressRequest) -> pb.AddPeerAddressResponse:
        peer = await self.peers.add_address(asked.peer, asked.address)
        return pb.AddPeerAddressResponse(peer=codec.peer_to_wire(self.overview.peer_view(peer)))

    async def _unpair(self, asked: pb.UnpairRequest) -> pb.UnpairResponse:
        peer = await self.peers.unpair(asked.peer)
        return pb.UnpairResponse(id=peer.id, name=peer.name)

    async def _run_pairing(self, asked: pb.RunPairingRequest) -> AsyncGenerator[pb.RunPairingResponse, None]:
        async with aclosing(self.pairing.run(codec.wish_from_wire(asked))) as events:
            async for event in events:
                yield codec.pairing_event_to_wire(event)

    async def _answer_pairing(self, asked: pb.AnswerPairingRequest) -> pb.AnswerPairingResponse:
        self.pairing.answer(asked.run, code=asked.code, confirmed=asked.confirmed)
        return pb.AnswerPairingResponse()

    async def _list_transfers(self, _asked: pb.ListTransfersRequest) -> pb.ListTransfersResponse:
        names = {peer.id: peer.name for peer in self.overview.mesh().peers}
        shown = (replace(one, peer_name=names.get(one.peer, "")) for one in self.transfers.listed())
        return pb.ListTransfersResponse(transfers=[codec.transfer_to_wire(one) for one in shown])
