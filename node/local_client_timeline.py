"""The calls of the local API's client about the timeline."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from node import codec_timeline as codec
from node.core.views import TimelineRowView
from node.core.views_timeline import VerifyView
from node.local_client_mesh import Asks
from node.ports_timeline import BundleWish, RowFilter
from node.wire.v1 import local_pb2 as pb


class TimelineCalls:
    """Part of LocalClient."""

    async def timeline(self: Asks, wanted: RowFilter, *, follow: bool = False) -> AsyncGenerator[TimelineRowView, None]:
        """Timeline rows in order; with `follow`, on and on as they are written, until the node stops."""
        wires = self._stream(self._stub.ReadTimeline, lambda: codec.row_filter_to_wire(wanted, follow=follow))
        async with aclosing(wires):
            async for wire in wires:
                yield codec.row_from_wire(wire)

    async def verify_timeline(
        self: Asks, *, log: str = "", seen: Sequence[str] = ()
    ) -> AsyncGenerator[VerifyView, None]:
        """Verify a whole log: views of the progress, then one with the result."""
        wires = self._stream(self._stub.VerifyTimeline, lambda: pb.VerifyTimelineRequest(log=log, seen=seen))
        async with aclosing(wires):
            async for wire in wires:
                yield codec.verify_from_wire(wire)

    async def bundle_timeline(self: Asks, wish: BundleWish) -> AsyncGenerator[TimelineRowView | str, None]:
        """The lines of a bundle, of which rows are still to be written as such."""
        async with aclosing(self._stream(self._stub.BundleTimeline, lambda: codec.bundle_wish_to_wire(wish))) as wires:
            async for wire in wires:
                yield codec.bundle_item_from_wire(wire)

    async def prove_row(self: Asks, seq: int, *, log: str = "") -> str:
        """A tlog-proof that the row is in the log."""
        wire = await self._ask(self._stub.ProveTimeline, lambda: pb.ProveTimelineRequest(log=log, seq=seq))
        return wire.proof
