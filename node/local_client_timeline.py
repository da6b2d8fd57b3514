"""The calls of the local API's client about the timeline."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from node import codec_timeline as codec
from node.core.views import TimelineRowView, VerifyView
from node.local_client_mesh import Asks
from node.ports_timeline import RowFilter
from node.wire.v1 import local_pb2 as pb


class TimelineCalls:
    """Part of LocalClient."""

    async def timeline(self: Asks, wanted: RowFilter, *, follow: bool = False) -> AsyncGenerator[TimelineRowView, None]:
        """Timeline rows in order; with `follow`, on and on as they are written, until the node stops."""
        wires = self._stream(self._stub.ReadTimeline, lambda: codec.row_filter_to_wire(wanted, follow=follow))
        async with aclosing(wires):
            async for wire in wires:
                yield codec.row_from_wire(wire)

    async def verify_timeline(self: Asks) -> AsyncGenerator[VerifyView, None]:
        """Verify the whole timeline: views of the progress, then one with the result."""
        async with aclosing(self._stream(self._stub.VerifyTimeline, pb.VerifyTimelineRequest)) as wires:
            async for wire in wires:
                yield codec.verify_from_wire(wire)
