"""The part of the local API's twin that looks at logs, hands out evidence, and deletes."""

from __future__ import annotations

from typing import Protocol

from google.protobuf.message import Message as WireMessage

from node.grpc_setup import grpc
from node.wire.v1 import local_pb2 as pb
from node.wire.v1.local_pb2_grpc import LocalServiceServicer


class Stored(Protocol):
    """The rows of a twin."""

    stored: list[pb.ReadTimelineResponse]


class TimelineTwin(LocalServiceServicer):
    """Answers with what it was given; with `stops` a bundle breaks off."""

    timeline: Stored

    def __init__(self) -> None:
        super().__init__()
        self.overview = pb.GetTimelineOverviewResponse()
        self.logs: list[pb.TimelineLog] = []
        self.prunes: list[pb.PruneTimelineResponse] = []
        self.erases: list[pb.EraseTimelineResponse] = []
        self.stops = False

    def _take(self, request: WireMessage, context: grpc.ServicerContext) -> None:
        raise NotImplementedError

    def GetTimelineOverview(self, request, context):  # noqa: N802
        self._take(request, context)
        return self.overview

    def ListTimelineLogs(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.ListTimelineLogsResponse(logs=self.logs)

    def BundleTimeline(self, request, context):  # noqa: N802
        self._take(request, context)
        yield pb.BundleTimelineResponse(line='{"header": 1}')
        for row in self.timeline.stored:
            yield pb.BundleTimelineResponse(row=row)
        if self.stops:
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    def ProveTimeline(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.ProveTimelineResponse(proof=f"c2sp.org/tlog-proof@v1\nindex {request.seq}\n")

    def PruneTimeline(self, request, context):  # noqa: N802
        self._take(request, context)
        yield from self.prunes

    def EraseTimeline(self, request, context):  # noqa: N802
        self._take(request, context)
        yield from self.erases
