"""Between protobuf messages of pairing and plain ones; what does not fit is `Unreadable`, whatever it is."""

from __future__ import annotations

from node.core.pairing_events import Unreadable
from node.core.pairing_messages import Abort, Confirm, Hello, Message, Reveal
from node.wire.v1 import pairing_pb2 as pb


def request_to_wire(message: Message) -> pb.PairRequest:
    """What the one who dials sends."""
    match message:
        case Hello():
            return pb.PairRequest(hello=_hello_to_wire(message))
        case Reveal():
            return pb.PairRequest(reveal=pb.Reveal(nonce=message.nonce))
        case Confirm():
            return pb.PairRequest(confirm=_confirm_to_wire(message))
        case Abort():
            return pb.PairRequest(abort=pb.Abort(reason=message.reason))


def response_to_wire(message: Message) -> pb.PairResponse:
    """What the one who waits sends, which never is a Reveal."""
    match message:
        case Hello():
            return pb.PairResponse(hello=_hello_to_wire(message))
        case Confirm():
            return pb.PairResponse(confirm=_confirm_to_wire(message))
        case Abort():
            return pb.PairResponse(abort=pb.Abort(reason=message.reason))
        case Reveal():
            raise ValueError("the one who waits reveals nothing")


def from_wire(wire: pb.PairRequest | pb.PairResponse) -> Message | Unreadable:
    """The message of either end."""
    step = wire.WhichOneof("step")
    if step == "hello":
        return _hello_from_wire(wire.hello)
    if step == "confirm":
        return Confirm(signature=wire.confirm.signature, proof=wire.confirm.proof)
    if step == "abort":
        return Abort(reason=wire.abort.reason)
    if step == "reveal" and isinstance(wire, pb.PairRequest):
        return Reveal(nonce=wire.reveal.nonce)
    return Unreadable()


def _hello_to_wire(hello: Hello) -> pb.Hello:
    return pb.Hello(
        version=hello.version,
        certificate=hello.certificate,
        opening=hello.opening,
        pake=hello.pake,
        wants=hello.wants,
        gives=hello.gives,
        name=hello.name,
        port=hello.port,
    )


def _hello_from_wire(wire: pb.Hello) -> Hello:
    return Hello(
        version=wire.version,
        certificate=wire.certificate,
        opening=wire.opening,
        pake=wire.pake,
        wants=tuple(wire.wants),
        gives=tuple(wire.gives),
        name=wire.name,
        port=wire.port,
    )


def _confirm_to_wire(confirm: Confirm) -> pb.Confirm:
    return pb.Confirm(signature=confirm.signature, proof=confirm.proof)
