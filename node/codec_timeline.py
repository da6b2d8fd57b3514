"""Between protobuf messages of the local API and plain values of the timeline; the rules are those of `codec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Final

from node.codec_values import known, wire_text
from node.core.export_manifest import ExportNote, Proof, Recorded, Standing
from node.core.export_record import Format, Step
from node.core.retention import Doubt
from node.core.row_codes import RowReason
from node.core.timeline_check import ClockStep, KeyChange, ProblemCode, Pruned
from node.core.timeline_overview import Overview
from node.core.views import LogView, TimelineRowView
from node.core.views_retention import EraseView, PruneView
from node.core.views_timeline import ProblemView, VerifyResultView, VerifyView, view_verification
from node.ports_timeline import (
    BundleWish,
    EraseStep,
    Erasure,
    LogInfo,
    PruneStep,
    RowFilter,
    StoredRow,
    VerifyProgress,
)
from node.wire.v1 import local_pb2 as pb

_NUMBERS: Final = tuple(one.name for one in fields(Overview) if one.name not in {"peers", "blocks"})


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
        before_seq=wanted.before_seq,
        row=wanted.row,
        outcome=wanted.outcome,
        reason=wanted.reason,
        workspace=wanted.workspace,
        peer=wanted.peer,
        text=wanted.text,
        whole=wanted.whole,
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
        before_seq=wire.before_seq,
        row=wire.row,
        outcome=wire.outcome,
        reason=wire.reason,
        workspace=wire.workspace,
        peer=wire.peer,
        text=wire.text,
        whole=wire.whole,
    )


def row_to_wire(row: StoredRow | TimelineRowView) -> pb.ReadTimelineResponse:
    return pb.ReadTimelineResponse(
        seq=row.seq,
        data=row.data,
        leaf=row.leaf,
        side={name: wire_text(text) for name, text in row.side},
    )


def row_from_wire(wire: pb.ReadTimelineResponse) -> TimelineRowView:
    return TimelineRowView(
        seq=wire.seq,
        data=wire.data,
        leaf=wire.leaf,
        side=tuple(sorted(wire.side.items())),
        salts=tuple(sorted(wire.salts.items())),
    )


def batch_to_wire(rows: Sequence[StoredRow], salts: Mapping[int, Mapping[str, bytes]]) -> pb.ReadTimelineResponse:
    batch = pb.ReadTimelineResponse(rows=[row_to_wire(row) for row in rows])
    for wire in batch.rows:
        wire.salts.update(salts.get(wire.seq, {}))
    return batch


def logs_to_wire(logs: tuple[LogInfo, ...]) -> pb.ListTimelineLogsResponse:
    return pb.ListTimelineLogsResponse(
        logs=[
            pb.TimelineLog(origin=wire_text(one.origin), size=one.size, first=one.first, current=one.current)
            for one in logs
        ]
    )


def logs_from_wire(wire: pb.ListTimelineLogsResponse) -> tuple[LogView, ...]:
    return tuple(LogView(origin=one.origin, size=one.size, first=one.first, current=one.current) for one in wire.logs)


def overview_to_wire(overview: Overview[StoredRow]) -> pb.GetTimelineOverviewResponse:
    numbers = {name: getattr(overview, name) for name in _NUMBERS}
    blocks = [row_to_wire(row) for row in overview.blocks]
    return pb.GetTimelineOverviewResponse(peers=overview.peers, blocks=blocks, **numbers)


def overview_from_wire(wire: pb.GetTimelineOverviewResponse) -> Overview[TimelineRowView]:
    numbers = {name: getattr(wire, name) for name in _NUMBERS}
    return Overview(peers=tuple(wire.peers), blocks=tuple(map(row_from_wire, wire.blocks)), **numbers)


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


def prune_step_to_wire(step: PruneStep) -> pb.PruneTimelineResponse:
    found = step.range
    return pb.PruneTimelineResponse(
        log=found.origin,
        first=found.first,
        next=found.next,
        first_us=found.first_us,
        last_us=found.last_us,
        why=found.why,
        deleted=step.deleted,
        doubt="" if step.doubt is None else step.doubt.value,
    )


def prune_from_wire(wire: pb.PruneTimelineResponse) -> PruneView:
    return PruneView(
        log=wire.log,
        first=wire.first,
        next=wire.next,
        first_us=wire.first_us,
        last_us=wire.last_us,
        why=wire.why,
        deleted=wire.deleted,
        doubt=known(Doubt, wire.doubt) if wire.doubt else None,
    )


def erasure_to_wire(wish: Erasure, *, dry_run: bool) -> pb.EraseTimelineRequest:
    """ValueError when a number does not fit its field."""
    return pb.EraseTimelineRequest(
        log=wish.log,
        seqs=wish.seqs,
        field=wish.field,
        exchange=wish.exchange,
        session=wish.session,
        before_us=wish.before_us,
        dry_run=dry_run,
    )


def erasure_from_wire(wire: pb.EraseTimelineRequest) -> Erasure:
    return Erasure(
        log=wire.log,
        seqs=tuple(wire.seqs),
        field=wire.field,
        exchange=wire.exchange,
        session=wire.session,
        before_us=wire.before_us,
    )


def erase_step_to_wire(step: EraseStep) -> pb.EraseTimelineResponse:
    return pb.EraseTimelineResponse(seq=step.seq, size=step.size, found=step.found, erased=step.erased)


def erase_from_wire(wire: pb.EraseTimelineResponse) -> EraseView:
    return EraseView(seq=wire.seq, size=wire.size, found=wire.found, erased=wire.erased)


def export_note_to_wire(note: ExportNote) -> pb.RecordExportRequest:
    """ValueError when a number does not fit its field."""
    return pb.RecordExportRequest(
        step=note.step.value,
        export=note.export,
        format=note.format.value,
        destination=wire_text(note.destination),
        filter=wire_text(note.wanted),
        log=note.log,
        first=note.first,
        next=note.next,
        count=note.count,
        bytes=note.bytes,
        sha256=note.sha256,
        reason=note.reason,
    )


def export_note_from_wire(wire: pb.RecordExportRequest) -> ExportNote:
    """UNSUPPORTED for a step, a format or a reason that this version does not know."""
    return ExportNote(
        step=known(Step, wire.step),
        export=wire.export,
        format=known(Format, wire.format),
        destination=wire.destination,
        wanted=wire.filter,
        log=wire.log,
        first=wire.first,
        next=wire.next,
        count=wire.count,
        bytes=wire.bytes,
        sha256=wire.sha256,
        reason=known(RowReason, wire.reason).value if wire.reason else "",
    )


def recorded_to_wire(recorded: Recorded) -> pb.RecordExportResponse:
    return pb.RecordExportResponse(
        export=recorded.export,
        seq=recorded.seq,
        origin=recorded.standing.origin,
        size=recorded.standing.size,
        root=recorded.standing.root,
        first_kept=recorded.standing.first_kept,
        checkpoint=recorded.standing.checkpoint,
        end=recorded.end,
    )


def recorded_from_wire(wire: pb.RecordExportResponse) -> Recorded:
    standing = Standing(
        origin=wire.origin,
        size=wire.size,
        root=wire.root,
        first_kept=wire.first_kept,
        checkpoint=wire.checkpoint,
    )
    return Recorded(export=wire.export, seq=wire.seq, standing=standing, end=wire.end)


def proof_to_wire(proof: Proof) -> pb.ProveRowResponse:
    return pb.ProveRowResponse(leaf=proof.leaf, path=proof.path)


def proof_from_wire(wire: pb.ProveRowResponse, seq: int, size: int) -> Proof:
    return Proof(seq=seq, size=size, leaf=wire.leaf, path=tuple(wire.path))
