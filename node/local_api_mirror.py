"""The local API's calls about mirrors. What mirrored servers show is looked at; there is no call that writes to one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from node import codec_local_mirror as codec
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.views_mirror import MirrorView
from node.grpc_setup import grpc
from node.local_door import Door
from node.ports_mirror import Mirrors, MirrorWatch, Relaying
from node.wire.v1 import local_pb2 as pb


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorApi:
    """Answers what a person asks about servers that this node mirrors."""

    mirrors: Mirrors
    watch: MirrorWatch
    relaying: Relaying
    limits: Limits

    def handlers(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Every one of these calls by its name, behind `door`."""
        return {
            "AddMirror": door.unary(self._add_mirror, pb.AddMirrorRequest),
            "RemoveMirror": door.unary(self._remove_mirror, pb.RemoveMirrorRequest),
            "SetMirror": door.unary(self._set_mirror, pb.SetMirrorRequest),
            "ListMirrors": door.unary(self._list_mirrors, pb.ListMirrorsRequest),
            "WatchMirror": door.stream(self._watch_mirror, pb.WatchMirrorRequest, follows=lambda _asked: True),
        }

    def _told(self, view: MirrorView) -> pb.Mirror:
        return codec.mirror_to_wire(replace(view, relay_why=self.relaying.why(view.id)))

    async def _add_mirror(self, asked: pb.AddMirrorRequest) -> pb.AddMirrorResponse:
        return pb.AddMirrorResponse(mirror=self._told(await self.mirrors.add(asked.peer)))

    async def _remove_mirror(self, asked: pb.RemoveMirrorRequest) -> pb.RemoveMirrorResponse:
        return pb.RemoveMirrorResponse(mirror=self._told(await self.mirrors.remove(asked.peer)))

    async def _set_mirror(self, asked: pb.SetMirrorRequest) -> pb.SetMirrorResponse:
        view = await self.mirrors.set_paused(asked.peer, paused=asked.paused)
        return pb.SetMirrorResponse(mirror=self._told(view))

    async def _list_mirrors(self, _asked: pb.ListMirrorsRequest) -> pb.ListMirrorsResponse:
        return pb.ListMirrorsResponse(mirrors=[self._told(view) for view in self.mirrors.views()])

    async def _watch_mirror(self, asked: pb.WatchMirrorRequest) -> AsyncGenerator[pb.WatchMirrorResponse, None]:
        if not (asked.panel or asked.timeline):
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "Say what to watch: the panel, the timeline, or both.")
        mirror = self.mirrors.find(asked.peer)
        tail = min(asked.tail, self.limits.mirror_rows_kept)
        watching = self.watch.watch(mirror.id, panel=asked.panel, timeline=asked.timeline, tail=tail)
        async with aclosing(watching) as events:
            async for event in events:
                yield codec.event_to_wire(event)
