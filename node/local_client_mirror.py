"""The calls of the local API's client about mirrors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from node import codec_local_mirror as codec
from node.core.views_mirror import MirrorEvent, MirrorView
from node.local_client_mesh import Asks
from node.wire.v1 import local_pb2 as pb


class MirrorCalls:
    """Part of LocalClient. `peer` is a name, the beginning of an id, or an address that is known of a peer."""

    async def add_mirror(self: Asks, peer: str) -> MirrorView:
        """Mirror a peer; one that is mirrored already stays as it is. NOT_FOUND when it is no peer."""
        wire = await self._ask(self._stub.AddMirror, partial(pb.AddMirrorRequest, peer=peer))
        return codec.mirror_from_wire(wire.mirror)

    async def remove_mirror(self: Asks, peer: str) -> MirrorView:
        """Mirror it no more; what the mirror was."""
        wire = await self._ask(self._stub.RemoveMirror, partial(pb.RemoveMirrorRequest, peer=peer))
        return codec.mirror_from_wire(wire.mirror)

    async def pause_mirror(self: Asks, peer: str, *, paused: bool) -> MirrorView:
        """Pause a mirror, or let it go on."""
        wire = await self._ask(self._stub.SetMirror, partial(pb.SetMirrorRequest, peer=peer, paused=paused))
        return codec.mirror_from_wire(wire.mirror)

    async def mirrors(self: Asks) -> tuple[MirrorView, ...]:
        """Every mirror with the link to its server, by name."""
        wire = await self._ask(self._stub.ListMirrors, pb.ListMirrorsRequest)
        return tuple(codec.mirror_from_wire(mirror) for mirror in wire.mirrors)

    async def watch_mirror(
        self: Asks, peer: str, *, panel: bool = False, timeline: bool = False, tail: int = 0
    ) -> AsyncGenerator[MirrorEvent, None]:
        """What a mirrored server shows, on and on; the timeline begins with its last `tail` rows."""
        request = partial(pb.WatchMirrorRequest, peer=peer, panel=panel, timeline=timeline, tail=tail)
        async with aclosing(self._stream(self._stub.WatchMirror, request)) as events:
            async for wire in events:
                yield codec.event_from_wire(wire)
