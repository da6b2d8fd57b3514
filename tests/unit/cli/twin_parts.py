"""What the twin of the local API is put together from: messages that differ in some fields, calls about mirrors."""

from __future__ import annotations

from threading import Event
from typing import TypeVar

from google.protobuf.message import Message as WireMessage

from node.grpc_setup import grpc
from node.wire.v1 import local_pb2 as pb
from node.wire.v1.local_pb2_grpc import LocalServiceServicer

M = TypeVar("M", bound=WireMessage)

NOW_US = 1_790_000_000_000_000


def changed(made: M, changes: dict[str, object]) -> M:
    for name in changes:
        made.ClearField(name)
    made.MergeFrom(type(made)(**changes))
    return made


def hold(context: grpc.ServicerContext, seconds: float | None) -> None:
    """Returns when the client is gone or the time is up."""
    gone = Event()
    if context.add_callback(gone.set):
        gone.wait(seconds)


def mirror(name: str = "studio", **changes: object) -> pb.Mirror:
    made = pb.Mirror(
        id="qqvv2x5" + "a" * 45, shown="QQVV2X5-" + "AAAAAAA-" * 6 + "AAAAAAA", name=name, added_us=NOW_US,
        got=["request", "mirror-panel", "mirror-timeline"], link="up", link_since_us=NOW_US,
        link_address="192.0.2.7:4354",
    )  # fmt: skip
    return changed(made, changes)


class MirrorTwin(LocalServiceServicer):
    """Answers about mirrors with what it holds."""

    stops: bool

    def __init__(self) -> None:
        super().__init__()
        self.mirrors: list[pb.Mirror] = []
        self.watched: list[pb.WatchMirrorResponse] = []

    def _take(self, request: WireMessage, context: grpc.ServicerContext) -> None:
        raise NotImplementedError

    def AddMirror(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.AddMirrorResponse(mirror=self.mirrors[0] if self.mirrors else mirror(request.peer))

    def RemoveMirror(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.RemoveMirrorResponse(mirror=mirror(request.peer))

    def SetMirror(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.SetMirrorResponse(mirror=mirror(request.peer, paused=request.paused))

    def ListMirrors(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.ListMirrorsResponse(mirrors=self.mirrors)

    def WatchMirror(self, request, context):  # noqa: N802
        self._take(request, context)
        yield from self.watched
        if not self.stops:
            hold(context, None)
