"""The local API's calls about the security timeline."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec_timeline as codec
from node.grpc_setup import grpc
from node.local_door import Door
from node.ports_timeline import Audit, Exports
from node.wire.v1 import local_pb2 as pb

R = TypeVar("R", bound=WireMessage)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineApi:
    """Answers what a person asks of the timeline."""

    audit: Audit
    exports: Exports

    def handlers(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Every one of these calls by its name, behind `door`."""
        return {
            "ReadTimeline": door.stream(self._read, pb.ReadTimelineRequest, follows=lambda asked: asked.follow),
            "VerifyTimeline": door.stream(self._verify, pb.VerifyTimelineRequest),
            "RecordExport": door.unary(self._record_export, pb.RecordExportRequest),
            "ProveRow": door.unary(self._prove_row, pb.ProveRowRequest),
        }

    def _read(self, asked: pb.ReadTimelineRequest) -> AsyncGenerator[pb.ReadTimelineResponse, None]:
        wanted = codec.row_filter_from_wire(asked)
        return _translated(self.audit.rows(wanted, follow=asked.follow), codec.row_to_wire)

    def _verify(self, _asked: pb.VerifyTimelineRequest) -> AsyncGenerator[pb.VerifyTimelineResponse, None]:
        return _translated(self.audit.verify(), codec.verify_to_wire)

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
