"""Between protobuf messages of the local API and plain values of mirrors; the rules are those of `codec`."""

from __future__ import annotations

from node import codec_timeline
from node.codec_values import known, wire_text
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Link, LinkState
from node.core.panel import PanelDelta, PanelRow, PanelSnapshot
from node.core.timeline_check import ProblemCode
from node.core.views_mirror import BreakView, MirroredRows, MirrorEvent, MirrorStanding, MirrorView, StreamState
from node.wire.v1 import local_pb2 as pb


def mirror_to_wire(view: MirrorView) -> pb.Mirror:
    return pb.Mirror(
        id=view.id,
        shown=view.shown,
        name=wire_text(view.name),
        paused=view.paused,
        added_us=view.added_us,
        got=sorted(view.got),
        link=view.link.state.value,
        link_since_us=view.link.since_us,
        link_address=view.link.address,
        link_why=wire_text(view.link.why),
        relay_why=wire_text(view.relay_why),
    )


def mirror_from_wire(wire: pb.Mirror) -> MirrorView:
    return MirrorView(
        id=wire.id,
        shown=wire.shown,
        name=wire.name,
        paused=wire.paused,
        added_us=wire.added_us,
        got=frozenset(known(Grant, grant) for grant in wire.got),
        link=Link(
            state=known(LinkState, wire.link),
            since_us=wire.link_since_us,
            address=wire.link_address,
            why=wire.link_why,
        ),
        relay_why=wire.relay_why,
    )


def event_to_wire(event: MirrorEvent) -> pb.WatchMirrorResponse:
    match event:
        case MirrorStanding():
            standing = pb.MirrorStanding(
                state=event.state.value,
                why=wire_text(event.why),
                grants=sorted(event.grants),
                since_us=event.since_us,
            )
            return pb.WatchMirrorResponse(standing=standing)
        case PanelSnapshot():
            rows = map(_row_to_wire, event.rows)
            panel = pb.MirrorPanel(run=event.run, revision=event.revision, rows=rows, left_out=event.left_out)
            return pb.WatchMirrorResponse(panel=panel)
        case PanelDelta():
            delta = pb.MirrorPanelDelta(
                from_revision=event.from_revision,
                revision=event.revision,
                changed=map(_row_to_wire, event.changed),
                removed=event.removed,
                left_out=event.left_out,
            )
            return pb.WatchMirrorResponse(delta=delta)
        case MirroredRows():
            return pb.WatchMirrorResponse(rows=_rows_to_wire(event))


def event_from_wire(wire: pb.WatchMirrorResponse) -> MirrorEvent:
    """UNSUPPORTED for what this version does not know."""
    match wire.WhichOneof("what"):
        case "standing":
            return MirrorStanding(
                state=known(StreamState, wire.standing.state),
                why=wire.standing.why,
                grants=frozenset(known(Grant, grant) for grant in wire.standing.grants),
                since_us=wire.standing.since_us,
            )
        case "panel":
            return PanelSnapshot(
                run=wire.panel.run,
                revision=wire.panel.revision,
                rows=tuple(map(_row_from_wire, wire.panel.rows)),
                left_out=wire.panel.left_out,
            )
        case "delta":
            return PanelDelta(
                from_revision=wire.delta.from_revision,
                revision=wire.delta.revision,
                changed=tuple(map(_row_from_wire, wire.delta.changed)),
                removed=tuple(wire.delta.removed),
                left_out=wire.delta.left_out,
            )
        case "rows":
            return _rows_from_wire(wire.rows)
        case _:
            raise MeshError(
                ErrorCode.UNSUPPORTED,
                "The node shows something of a mirror that this program does not know: the two are of different "
                "versions. Restart the node with `helio down` and `helio up`.",
            )


def _row_to_wire(row: PanelRow) -> pb.MirrorPanelRow:
    return pb.MirrorPanelRow(
        id=wire_text(row.id),
        kind=wire_text(row.kind),
        title=wire_text(row.title),
        state=wire_text(row.state),
        opener=wire_text(row.opener),
        worker=wire_text(row.worker),
        parent=wire_text(row.parent),
        last_word=wire_text(row.last_word),
        changed_us=row.changed_us,
    )


def _row_from_wire(wire: pb.MirrorPanelRow) -> PanelRow:
    return PanelRow(
        id=wire.id,
        kind=wire.kind,
        title=wire.title,
        state=wire.state,
        opener=wire.opener,
        worker=wire.worker,
        parent=wire.parent,
        last_word=wire.last_word,
        changed_us=wire.changed_us,
    )


def _rows_to_wire(event: MirroredRows) -> pb.MirrorRows:
    return pb.MirrorRows(
        origin=event.origin,
        since=event.since,
        next=event.next,
        rows=[codec_timeline.row_to_wire(row) for row in event.rows],
        breaks=[
            pb.MirrorBreak(first=one.first, last=one.last, code=one.code.value, words=wire_text(one.words))
            for one in event.breaks
        ],
        breaks_total=event.breaks_total,
        missed=event.missed,
    )


def _rows_from_wire(wire: pb.MirrorRows) -> MirroredRows:
    return MirroredRows(
        origin=wire.origin,
        since=wire.since,
        next=wire.next,
        rows=tuple(codec_timeline.row_from_wire(row) for row in wire.rows),
        breaks=tuple(
            BreakView(first=one.first, last=one.last, code=known(ProblemCode, one.code), words=one.words)
            for one in wire.breaks
        ),
        breaks_total=wire.breaks_total,
        missed=wire.missed,
    )
