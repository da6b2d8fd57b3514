"""Between protobuf messages of the local API and plain values of the timeline; the rules are those of `codec`."""

from __future__ import annotations

from node.codec_values import known, wire_text
from node.core.timeline_check import ProblemCode
from node.core.views import ProblemView, TimelineRowView, VerifyResultView, VerifyView
from node.ports_timeline import RowFilter, StoredRow, VerifyProgress
from node.wire.v1 import local_pb2 as pb


def row_filter_to_wire(wanted: RowFilter, *, follow: bool) -> pb.ReadTimelineRequest:
    """ValueError when a number does not fit its field."""
    return pb.ReadTimelineRequest(
        log=wanted.log,
        from_seq=wanted.from_seq,
        limit=wanted.limit,
        follow=follow,
        engine=wanted.engine,
        decision=wanted.decision,
        session=wanted.session,
        exchange=wanted.exchange,
        message=wanted.message,
        since_us=wanted.since_us,
        until_us=wanted.until_us,
        tail=wanted.tail,
    )


def row_filter_from_wire(wire: pb.ReadTimelineRequest) -> RowFilter:
    return RowFilter(
        log=wire.log,
        from_seq=wire.from_seq,
        limit=wire.limit,
        engine=wire.engine,
        decision=wire.decision,
        session=wire.session,
        exchange=wire.exchange,
        message=wire.message,
        since_us=wire.since_us,
        until_us=wire.until_us,
        tail=wire.tail,
    )


def row_to_wire(row: StoredRow | TimelineRowView) -> pb.ReadTimelineResponse:
    return pb.ReadTimelineResponse(
        seq=row.seq,
        data=row.data,
        leaf=row.leaf,
        side={name: wire_text(text) for name, text in row.side},
    )


def row_from_wire(wire: pb.ReadTimelineResponse) -> TimelineRowView:
    return TimelineRowView(seq=wire.seq, data=wire.data, leaf=wire.leaf, side=tuple(sorted(wire.side.items())))


def verify_to_wire(step: VerifyProgress) -> pb.VerifyTimelineResponse:
    wire = pb.VerifyTimelineResponse(rows=step.rows, total=step.total)
    if step.result is not None:
        wire.done = True
        wire.ok = step.result.ok
        wire.root = step.result.root.hex()
        wire.origin = step.result.origin
        wire.warnings.extend(wire_text(warning) for warning in step.result.warnings)
        if step.result.problem is not None:
            wire.problem_seq = step.result.problem.seq
            wire.problem_code = step.result.problem.code.value
            wire.problem_words = wire_text(step.result.problem.words)
    return wire


def verify_from_wire(wire: pb.VerifyTimelineResponse) -> VerifyView:
    if not wire.done:
        return VerifyView(rows=wire.rows, total=wire.total)
    problem = None
    if wire.problem_code:
        problem = ProblemView(
            seq=wire.problem_seq, code=known(ProblemCode, wire.problem_code), words=wire.problem_words
        )
    result = VerifyResultView(
        origin=wire.origin, root=wire.root, ok=wire.ok, problem=problem, warnings=tuple(wire.warnings)
    )
    return VerifyView(rows=wire.rows, total=wire.total, result=result)
