"""The local API's calls about the security timeline."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from node import codec_timeline as codec
from node.grpc_setup import grpc
from node.local_door import Door
from node.ports_timeline import Audit, Erasures, Exports, Proofs, Retention, RowFilter, StoredRow
from node.wire.v1 import local_pb2 as pb

R = TypeVar("R")
T = TypeVar("T")

# A message is far smaller than a client takes, even when texts of its last row are long.
_BATCH_ROWS = 200
_BATCH_BYTES = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineApi:
    """Answers what a person asks of the timeline."""

    audit: Audit
    proofs: Proofs
    retention: Retention
    erasures: Erasures
    exports: Exports

    def handlers(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Every one of these calls by its name, behind `door`."""
        return {
            "ReadTimeline": door.stream(self._read, pb.ReadTimelineRequest, follows=lambda asked: asked.follow),
            "ListTimelineLogs": door.unary(self._logs, pb.ListTimelineLogsRequest),
            "GetTimelineOverview": door.unary(self._overview, pb.GetTimelineOverviewRequest),
            "VerifyTimeline": door.stream(self._verify, pb.VerifyTimelineRequest),
            "BundleTimeline": door.stream(self._bundle, pb.BundleTimelineRequest),
            "ProveTimeline": door.unary(self._prove, pb.ProveTimelineRequest),
            "PruneTimeline": door.stream(self._prune, pb.PruneTimelineRequest),
            "EraseTimeline": door.stream(self._erase, pb.EraseTimelineRequest),
            "RecordExport": door.unary(self._record_export, pb.RecordExportRequest),
            "ProveRow": door.unary(self._prove_row, pb.ProveRowRequest),
        }

    def _read(self, asked: pb.ReadTimelineRequest) -> AsyncGenerator[pb.ReadTimelineResponse, None]:
        wanted = codec.row_filter_from_wire(asked)
        if asked.batches:
            return self._batches(wanted, salted=asked.salts)
        return _translated(self.audit.rows(wanted, follow=asked.follow), codec.row_to_wire)

    async def _logs(self, _asked: pb.ListTimelineLogsRequest) -> pb.ListTimelineLogsResponse:
        return codec.logs_to_wire(await self.audit.logs())

    async def _overview(self, asked: pb.GetTimelineOverviewRequest) -> pb.GetTimelineOverviewResponse:
        return codec.overview_to_wire(await self.audit.overview(asked.since_us))

    def _verify(self, asked: pb.VerifyTimelineRequest) -> AsyncGenerator[pb.VerifyTimelineResponse, None]:
        return _translated(self.proofs.verify(log=asked.log, seen=tuple(asked.seen)), codec.verify_to_wire)

    def _bundle(self, asked: pb.BundleTimelineRequest) -> AsyncGenerator[pb.BundleTimelineResponse, None]:
        return _translated(self.proofs.bundle(codec.bundle_wish_from_wire(asked)), codec.bundle_item_to_wire)

    async def _prove(self, asked: pb.ProveTimelineRequest) -> pb.ProveTimelineResponse:
        return pb.ProveTimelineResponse(proof=await self.proofs.prove(asked.seq, log=asked.log))

    def _prune(self, asked: pb.PruneTimelineRequest) -> AsyncGenerator[pb.PruneTimelineResponse, None]:
        steps = self.retention.prune(dry_run=asked.dry_run, by_person=True)
        return _translated(steps, codec.prune_step_to_wire)

    def _erase(self, asked: pb.EraseTimelineRequest) -> AsyncGenerator[pb.EraseTimelineResponse, None]:
        steps = self.erasures.erase(codec.erasure_from_wire(asked), dry_run=asked.dry_run)
        return _translated(steps, codec.erase_step_to_wire)

    async def _batches(self, wanted: RowFilter, *, salted: bool) -> AsyncGenerator[pb.ReadTimelineResponse, None]:
        """All rows that there are, many in each message."""
        batch: list[StoredRow] = []
        size = 0
        async with aclosing(self.audit.rows(wanted, follow=False)) as rows:
            async for row in rows:
                batch.append(row)
                size += len(row.data) + sum(len(text) for _, text in row.side)
                if len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES:
                    yield await self._batch(batch, wanted.log, salted=salted)
                    batch, size = [], 0
        if batch:
            yield await self._batch(batch, wanted.log, salted=salted)

    async def _batch(self, rows: Sequence[StoredRow], log: str, *, salted: bool) -> pb.ReadTimelineResponse:
        salts = await self.exports.salts(log, [row.seq for row in rows]) if salted else {}
        return codec.batch_to_wire(rows, salts)

    async def _record_export(self, asked: pb.RecordExportRequest) -> pb.RecordExportResponse:
        return codec.recorded_to_wire(await self.exports.record(codec.export_note_from_wire(asked)))

    async def _prove_row(self, asked: pb.ProveRowRequest) -> pb.ProveRowResponse:
        return codec.proof_to_wire(await self.exports.prove(asked.log, asked.seq, asked.size))


async def _translated(source: AsyncIterator[T], change: Callable[[T], R]) -> AsyncGenerator[R, None]:
    try:
        async for item in source:
            yield change(item)
    finally:
        # Left to the collector, a generator which follows something would end some time later.
        if isinstance(source, AsyncGenerator):
            await source.aclose()
