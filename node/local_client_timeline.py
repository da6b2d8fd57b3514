"""The calls of the local API's client about the timeline."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from node import codec_timeline as codec
from node.core.export_manifest import ExportNote, Proof, Recorded
from node.core.timeline_overview import Overview
from node.core.views import LogView, TimelineRowView, VerifyView
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

    async def timeline_logs(self: Asks) -> tuple[LogView, ...]:
        """The logs of the node, the current one last."""
        return codec.logs_from_wire(await self._ask(self._stub.ListTimelineLogs, pb.ListTimelineLogsRequest))

    async def timeline_overview(self: Asks, since_us: int) -> Overview[TimelineRowView]:
        """What the current log tells of the time since then."""
        asked = partial(pb.GetTimelineOverviewRequest, since_us=since_us)
        return codec.overview_from_wire(await self._ask(self._stub.GetTimelineOverview, asked))

    async def verify_timeline(self: Asks) -> AsyncGenerator[VerifyView, None]:
        """Verify the whole timeline: views of the progress, then one with the result."""
        async with aclosing(self._stream(self._stub.VerifyTimeline, pb.VerifyTimelineRequest)) as wires:
            async for wire in wires:
                yield codec.verify_from_wire(wire)

    async def record_export(self: Asks, note: ExportNote) -> Recorded:
        """Writes the row of an export that begins or came to its end; it is on disk when this returns."""
        wire = await self._ask(self._stub.RecordExport, lambda: codec.export_note_to_wire(note))
        return codec.recorded_from_wire(wire)

    async def prove_row(self: Asks, log: str, seq: int, size: int) -> Proof:
        """The proof that a row is in the tree of a log's first `size` rows."""
        request = partial(pb.ProveRowRequest, log=log, seq=seq, size=size)
        return codec.proof_from_wire(await self._ask(self._stub.ProveRow, request), seq, size)
