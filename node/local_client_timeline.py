"""The calls of the local API's client about the timeline."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial

from node import codec_timeline as codec
from node.core.export_manifest import ExportNote, Proof, Recorded
from node.core.timeline_overview import Overview
from node.core.views import LogView, TimelineRowView
from node.core.views_retention import EraseView, PruneView
from node.core.views_timeline import VerifyView
from node.local_client_mesh import Asks
from node.ports_timeline import BundleWish, Erasure, RowFilter
from node.wire.v1 import local_pb2 as pb


class TimelineCalls:
    """Part of LocalClient."""

    async def timeline(self: Asks, wanted: RowFilter, *, follow: bool = False) -> AsyncGenerator[TimelineRowView, None]:
        """Timeline rows in order; with `follow`, on and on as they are written, until the node stops."""
        wires = self._stream(self._stub.ReadTimeline, lambda: codec.row_filter_to_wire(wanted, follow=follow))
        async with aclosing(wires):
            async for wire in wires:
                yield codec.row_from_wire(wire)

    async def timeline_logs(self: Asks) -> tuple[LogView, ...]:
        """The logs of the node, the current one last."""
        return codec.logs_from_wire(await self._ask(self._stub.ListTimelineLogs, pb.ListTimelineLogsRequest))

    async def timeline_overview(self: Asks, since_us: int) -> Overview[TimelineRowView]:
        """What the current log tells of the time since then."""
        asked = partial(pb.GetTimelineOverviewRequest, since_us=since_us)
        return codec.overview_from_wire(await self._ask(self._stub.GetTimelineOverview, asked))

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

    async def prune_timeline(self: Asks, *, dry_run: bool) -> AsyncGenerator[PruneView, None]:
        """Ranges of rows as they are deleted, or only those that would be."""
        wires = self._stream(self._stub.PruneTimeline, lambda: pb.PruneTimelineRequest(dry_run=dry_run))
        async with aclosing(wires):
            async for wire in wires:
                yield codec.prune_from_wire(wire)

    async def erase_timeline(self: Asks, wish: Erasure, *, dry_run: bool) -> AsyncGenerator[EraseView, None]:
        """How far an erasure is; the last view is its result."""
        wires = self._stream(self._stub.EraseTimeline, lambda: codec.erasure_to_wire(wish, dry_run=dry_run))
        async with aclosing(wires):
            async for wire in wires:
                yield codec.erase_from_wire(wire)

    async def exported(self: Asks, wanted: RowFilter, *, salts: bool = False) -> AsyncGenerator[TimelineRowView, None]:
        """All timeline rows that there are, in order, for whoever takes many; with the `salts` of their texts."""

        def request() -> pb.ReadTimelineRequest:
            asked = codec.row_filter_to_wire(wanted, follow=False)
            asked.batches, asked.salts = True, salts
            return asked

        async with aclosing(self._stream(self._stub.ReadTimeline, request)) as wires:
            async for wire in wires:
                for row in wire.rows:
                    yield codec.row_from_wire(row)

    async def record_export(self: Asks, note: ExportNote) -> Recorded:
        """Writes the row of an export that begins or came to its end; it is on disk when this returns."""
        wire = await self._ask(self._stub.RecordExport, lambda: codec.export_note_to_wire(note))
        return codec.recorded_from_wire(wire)

    async def prove_exported(self: Asks, log: str, seq: int, size: int) -> Proof:
        """The proof that a row is in the tree of a log's first `size` rows."""
        request = partial(pb.ProveRowRequest, log=log, seq=seq, size=size)
        return codec.proof_from_wire(await self._ask(self._stub.ProveRow, request), seq, size)
