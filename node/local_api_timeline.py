"""The local API's calls about the security timeline."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec_timeline as codec
from node.grpc_setup import grpc
from node.local_door import Door
from node.ports_timeline import Audit, Erasures, Proofs, Retention
from node.wire.v1 import local_pb2 as pb

R = TypeVar("R", bound=WireMessage)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineApi:
    """Answers what a person asks of the timeline."""

    audit: Audit
    proofs: Proofs
    retention: Retention
    erasures: Erasures

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
        }

    def _read(self, asked: pb.ReadTimelineRequest) -> AsyncGenerator[pb.ReadTimelineResponse, None]:
        wanted = codec.row_filter_from_wire(asked)
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


async def _translated(source: AsyncIterator[T], change: Callable[[T], R]) -> AsyncGenerator[R, None]:
    try:
        async for item in source:
            yield change(item)
    finally:
        # Left to the collector, a generator which follows something would end some time later.
        if isinstance(source, AsyncGenerator):
            await source.aclose()
