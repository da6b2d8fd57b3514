"""The part of the local API's twin that exports speak to: it writes the rows about them, and proves what they hold."""

from __future__ import annotations

from typing import Protocol

from google.protobuf.message import Message as WireMessage

from node.core import merkle, timeline
from node.core.canonical import JsonValue
from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS, TRAILER, encode
from node.grpc_setup import grpc
from node.wire.v1 import local_pb2 as pb
from node.wire.v1.local_pb2_grpc import LocalServiceServicer
from tests.export_rows import HOSTILE
from tests.unit.cli.twin_parts import NOW_US

EXPORT_ID = "eeeeeeeeeeeeeee2"
REQUEST_ID = "rqqqqqqqqqqqqqqq"
MESSAGE_ID = "mmmmmmmmmmmmmmmm"


class Written(Protocol):
    """The rows of a twin."""

    head: timeline.Head
    stored: list[pb.ReadTimelineResponse]


class ExportTwin(LocalServiceServicer):
    """Writes and proves as a node does; `checkpoint` is the note it tells of."""

    timeline: Written

    def __init__(self) -> None:
        super().__init__()
        self.checkpoint = ""

    def _take(self, request: WireMessage, context: grpc.ServicerContext) -> None:
        raise NotImplementedError

    def RecordExport(self, request, context):  # noqa: N802
        self._take(request, context)
        extra: dict[str, JsonValue] = {"format": request.format, "count": request.count}
        row = timeline.Row(
            row=timeline.RowKind.EXPORT, engine="export", decision=request.step, sw="heliograph/0", extra=extra
        )
        clock = timeline.Clock(ts_us=NOW_US, mono_us=len(self.timeline.stored), boot="boot")
        self.timeline.head, entry = timeline.append(self.timeline.head, clock, row)
        self.timeline.stored.append(pb.ReadTimelineResponse(seq=entry.seq, data=entry.data, leaf=entry.leaf))
        head = self.timeline.head
        return pb.RecordExportResponse(
            export=request.export or EXPORT_ID, seq=entry.seq, origin=head.origin, size=head.size, root=head.root,
            checkpoint=self.checkpoint, end=entry.seq,
        )  # fmt: skip

    def ProveRow(self, request, context):  # noqa: N802
        self._take(request, context)
        leaves = [row.leaf for row in self.timeline.stored]
        if len(leaves) < request.size:
            lost = MeshError(ErrorCode.UNAVAILABLE, "The timeline no longer has what proves it.")
            context.set_trailing_metadata(((TRAILER, encode(lost)),))
            context.abort(MEANINGS[lost.code].grpc, lost.message)
        path = merkle.inclusion_proof(merkle.subtrees_of(leaves), request.seq, request.size)
        return pb.ProveRowResponse(leaf=leaves[request.seq], path=path)


# What the wire can hold of hostile texts: it has no halves of characters.
TEXTS = [text.encode("utf-8", "replace").decode() for text in HOSTILE]


def filled(node):
    """The rows of a twin, one for each hostile text, of which one was withheld."""
    for number, text in enumerate(TEXTS):
        node.timeline.add(
            "withheld" if number == 3 else "relayed",
            conv=REQUEST_ID, msg=MESSAGE_ID, kind="request",
            src=timeline.Party(session="s" * 16, agent="claude"),
            scan=timeline.Scan(engine="rules", version="1", status="clean"),
            side={"title": text, "sender": text, "words": text},
        )  # fmt: skip
    return node.timeline


def export(helio, *words: str):
    return helio("timeline", "export", *words)


def steps(node) -> list[str]:
    """What the node was told of exports."""
    return [call.step for call in node.asked if isinstance(call, pb.RecordExportRequest)]
