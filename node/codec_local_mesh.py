"""Between protobuf messages of the local API and plain values of the mesh; the rules are those of `codec`."""

from __future__ import annotations

from collections.abc import Iterable

from node.codec_values import known, wire_text
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Link, LinkState
from node.core.transfers import Direction, Transfer, TransferState
from node.core.views_mesh import FoundView, IdentityView, MeshView, PairingEvent, PairingStep, PeerView
from node.ports_mesh import PairingWish
from node.wire.v1 import local_pb2 as pb


def identity_to_wire(view: IdentityView) -> pb.Identity:
    return pb.Identity(
        id=view.id,
        shown=view.shown,
        spki=view.spki,
        expires_us=view.expires_us,
        former_keys=view.former_keys,
        in_keychain=view.in_keychain,
    )


def identity_from_wire(wire: pb.Identity) -> IdentityView:
    return IdentityView(
        id=wire.id,
        shown=wire.shown,
        spki=wire.spki,
        expires_us=wire.expires_us,
        former_keys=wire.former_keys,
        in_keychain=wire.in_keychain,
    )


def peer_to_wire(view: PeerView) -> pb.MeshPeer:
    return pb.MeshPeer(
        id=view.id,
        shown=view.shown,
        name=wire_text(view.name),
        addresses=view.addresses,
        given=sorted(view.given),
        got=sorted(view.got),
        paired_us=view.paired_us,
        seen_us=view.seen_us or 0,
        link=view.link.state.value,
        link_since_us=view.link.since_us,
        link_address=view.link.address,
        rtt_us=view.link.rtt_us or 0,
        tls=view.link.tls,
        group=view.link.group,
        link_why=wire_text(view.link.why),
    )


def peer_from_wire(wire: pb.MeshPeer) -> PeerView:
    return PeerView(
        id=wire.id,
        shown=wire.shown,
        name=wire.name,
        addresses=tuple(wire.addresses),
        given=_known_grants(wire.given),
        got=_known_grants(wire.got),
        paired_us=wire.paired_us,
        seen_us=wire.seen_us or None,
        link=Link(
            state=known(LinkState, wire.link),
            since_us=wire.link_since_us,
            address=wire.link_address,
            rtt_us=wire.rtt_us or None,
            tls=wire.tls,
            group=wire.group,
            why=wire.link_why,
        ),
    )


def found_to_wire(view: FoundView) -> pb.FoundNode:
    return pb.FoundNode(
        instance=wire_text(view.instance),
        version=wire_text(view.version),
        addresses=view.addresses,
        seen_us=view.seen_us,
        peer=wire_text(view.peer),
        name=wire_text(view.name),
    )


def found_from_wire(wire: pb.FoundNode) -> FoundView:
    return FoundView(
        instance=wire.instance,
        version=wire.version,
        addresses=tuple(wire.addresses),
        seen_us=wire.seen_us,
        peer=wire.peer,
        name=wire.name,
    )


def mesh_to_wire(view: MeshView) -> pb.GetMeshResponse:
    return pb.GetMeshResponse(
        port=view.port or 0,
        discovery=view.discovery,
        why=wire_text(view.why),
        interfaces=view.interfaces,
        peers=[peer_to_wire(peer) for peer in view.peers],
        found=[found_to_wire(found) for found in view.found],
    )


def mesh_from_wire(wire: pb.GetMeshResponse) -> MeshView:
    return MeshView(
        port=wire.port or None,
        discovery=wire.discovery,
        why=wire.why,
        interfaces=tuple(wire.interfaces),
        peers=tuple(peer_from_wire(peer) for peer in wire.peers),
        found=tuple(found_from_wire(found) for found in wire.found),
    )


def wish_to_wire(wish: PairingWish) -> pb.RunPairingRequest:
    return pb.RunPairingRequest(
        target=wish.target,
        wants=sorted(wish.wants),
        gives=sorted(wish.gives),
        code=wish.code,
        headless=wish.headless,
        name=wish.name,
        port=wish.port,
    )


def wish_from_wire(wire: pb.RunPairingRequest) -> PairingWish:
    """INVALID_ARGUMENT for a grant that there is not."""
    return PairingWish(
        target=wire.target,
        wants=grants_from_wire(wire.wants),
        gives=grants_from_wire(wire.gives),
        code=wire.code,
        headless=wire.headless,
        name=wire.name,
        port=wire.port,
    )


def pairing_event_to_wire(event: PairingEvent) -> pb.RunPairingResponse:
    return pb.RunPairingResponse(
        step=event.step.value,
        run=event.run,
        name=wire_text(event.name),
        shown=event.shown,
        asks=sorted(event.asks),
        offers=sorted(event.offers),
        code=event.code,
        port=event.port,
        address=event.address,
        reason=event.reason,
        words=wire_text(event.words),
    )


def pairing_event_from_wire(wire: pb.RunPairingResponse) -> PairingEvent:
    return PairingEvent(
        step=known(PairingStep, wire.step),
        run=wire.run,
        name=wire.name,
        shown=wire.shown,
        asks=_known_grants(wire.asks),
        offers=_known_grants(wire.offers),
        code=wire.code,
        port=wire.port,
        address=wire.address,
        reason=wire.reason,
        words=wire.words,
    )


def transfer_to_wire(transfer: Transfer) -> pb.Transfer:
    return pb.Transfer(
        id=transfer.id,
        message=transfer.message,
        peer=transfer.peer,
        peer_name=wire_text(transfer.peer_name),
        name=wire_text(transfer.name),
        sha256=transfer.sha256,
        direction=transfer.direction.value,
        size=transfer.size,
        done=transfer.done,
        rate=transfer.rate,
        state=transfer.state.value,
        since_us=transfer.since_us,
        changed_us=transfer.changed_us,
        why=wire_text(transfer.why),
    )


def transfer_from_wire(wire: pb.Transfer) -> Transfer:
    return Transfer(
        id=wire.id,
        message=wire.message,
        peer=wire.peer,
        peer_name=wire.peer_name,
        name=wire.name,
        sha256=wire.sha256,
        direction=known(Direction, wire.direction),
        size=wire.size,
        done=wire.done,
        rate=wire.rate,
        state=known(TransferState, wire.state),
        since_us=wire.since_us,
        changed_us=wire.changed_us,
        why=wire.why,
    )


def grants_from_wire(names: Iterable[str]) -> frozenset[Grant]:
    """INVALID_ARGUMENT for a grant that there is not."""
    found = set[Grant]()
    for name in names:
        if name not in set(Grant):
            raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{name[:40]!r} is no grant. The grants: {', '.join(Grant)}.")
        found.add(Grant(name))
    return frozenset(found)


def _known_grants(names: Iterable[str]) -> frozenset[Grant]:
    return frozenset(known(Grant, name) for name in names)
