"""Between protobuf messages of the local API and plain values of the timeline; the rules are those of `codec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Final

from node.codec_values import known, wire_text
from node.core.export_manifest import ExportNote, Proof, Recorded, Standing
from node.core.export_record import Format, Step
from node.core.timeline_check import ProblemCode
from node.core.timeline_overview import Overview
from node.core.views import LogView, ProblemView, TimelineRowView, VerifyResultView, VerifyView
from node.ports_timeline import LogInfo, RowFilter, StoredRow, VerifyProgress
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
    """UNSUPPORTED for a step or a format that this version does not know."""
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
        reason=wire.reason,
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
