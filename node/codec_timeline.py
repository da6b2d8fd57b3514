"""Between protobuf messages of the local API and plain values of the timeline; the rules are those of `codec`."""

from __future__ import annotations

from node.codec_values import known, wire_text
from node.core.timeline_check import ClockStep, KeyChange, ProblemCode, Pruned
from node.core.views import TimelineRowView
from node.core.views_timeline import ProblemView, VerifyResultView, VerifyView, view_verification
from node.ports_timeline import BundleWish, RowFilter, StoredRow, VerifyProgress
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
    if step.result is None:
        return wire
    found = view_verification(step.result)
    wire.done, wire.ok, wire.root, wire.origin = True, found.ok, found.root, found.origin
    wire.warnings.extend(wire_text(warning) for warning in found.warnings)
    if found.problem is not None:
        wire.problem_seq = found.problem.seq
        wire.problem_code = found.problem.code.value
        wire.problem_words = wire_text(found.problem.words)
    wire.read_rows, wire.first_seq, wire.covered = found.rows, found.first_seq, found.covered
    wire.checkpoints, wire.node, wire.vouched = found.checkpoints, found.node, found.vouched
    wire.clock_steps_total = found.clock_steps_total
    wire.pruned.extend(
        pb.PrunedRows(first=one.first, next=one.next, row=one.row, why=wire_text(one.why)) for one in found.pruned
    )
    wire.keys.extend(pb.LogKeyChange(seq=one.seq, key=one.key, how=one.how) for one in found.keys)
    wire.clock_steps.extend(pb.TimelineClockStep(seq=one.seq, step_us=one.step_us) for one in found.clock_steps)
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
        origin=wire.origin,
        root=wire.root,
        ok=wire.ok,
        problem=problem,
        warnings=tuple(wire.warnings),
        rows=wire.read_rows,
        first_seq=wire.first_seq,
        covered=wire.covered,
        checkpoints=wire.checkpoints,
        pruned=tuple(Pruned(first=one.first, next=one.next, row=one.row, why=one.why) for one in wire.pruned),
        keys=tuple(KeyChange(seq=one.seq, key=one.key, how=one.how) for one in wire.keys),
        clock_steps=tuple(ClockStep(seq=one.seq, step_us=one.step_us) for one in wire.clock_steps),
        clock_steps_total=wire.clock_steps_total,
        node=wire.node,
        vouched=wire.vouched,
    )
    return VerifyView(rows=wire.rows, total=wire.total, result=result)


def bundle_wish_to_wire(wish: BundleWish) -> pb.BundleTimelineRequest:
    """ValueError when a number does not fit its field."""
    return pb.BundleTimelineRequest(log=wish.log, from_seq=wish.from_seq, to_seq=wish.to_seq)


def bundle_wish_from_wire(wire: pb.BundleTimelineRequest) -> BundleWish:
    return BundleWish(log=wire.log, from_seq=wire.from_seq, to_seq=wire.to_seq if wire.HasField("to_seq") else None)


def bundle_item_to_wire(item: StoredRow | str) -> pb.BundleTimelineResponse:
    if isinstance(item, str):
        return pb.BundleTimelineResponse(line=item)
    return pb.BundleTimelineResponse(row=row_to_wire(item))


def bundle_item_from_wire(wire: pb.BundleTimelineResponse) -> TimelineRowView | str:
    return row_from_wire(wire.row) if wire.HasField("row") else wire.line
