"""Between the wire of a watch and plain values. Whatever a server or a client sends is held to sizes, counts and words.

INVALID_ARGUMENT for what is malformed, LIMIT for what has no end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from node.codec import parsed
from node.codec_values import wire_text
from node.core.canonical import CODE, MAX_INT, MAX_ROW_BYTES
from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id
from node.core.mesh import Grant
from node.core.panel import PanelDelta, PanelRow, PanelSnapshot
from node.core.timeline import is_origin
from tunnel.mirrored_log import LogBatch, SideText
from tunnel.wire.v1 import mirror_pb2 as pb

PROTOCOL: Final = 1
# Of rows in one frame; with one row more it stays below limits.watch_frame_bytes.
PART_BYTES: Final = 40_000
# No row has more texts beside it.
TEXTS_PER_ROW: Final = 16
_TEXT_CHARS: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchWish:
    """What a client wants to see: the panel from a revision of a run on, the timeline from a row of a log on.

    Of a log that it does not know, the last `tail` rows.
    """

    panel: bool
    timeline: bool
    run: str = ""
    revision: int = 0
    origin: str = ""
    seq: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A sign of life: what of the wish may be seen, the revision and the size of the log that were given."""

    now_us: int
    revision: int
    rows: int
    grants: frozenset[Grant]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Part of a snapshot or a delta: further rows follow in the next one if there are `more`."""

    whole: PanelSnapshot | PanelDelta
    more: bool


def wish_to_wire(wish: WatchWish) -> bytes:
    return pb.WatchRequest(
        protocol=PROTOCOL,
        panel=wish.panel,
        timeline=wish.timeline,
        revision=wish.revision,
        run=wish.run,
        origin=wish.origin,
        seq=wish.seq,
        tail=wish.tail,
    ).SerializeToString()


def wish_from_wire(wire: pb.WatchRequest) -> WatchWish:
    """INVALID_ARGUMENT for a wish for nothing, UNSUPPORTED for another protocol."""
    if wire.protocol != PROTOCOL:
        raise MeshError(
            ErrorCode.UNSUPPORTED,
            f"The client speaks protocol {wire.protocol} of the mirror and this node {PROTOCOL}: the two are of "
            "different versions. Update the older one.",
        )
    if not (wire.panel or wire.timeline):
        raise _malformed("it asks for neither the panel nor the timeline")
    return WatchWish(
        panel=wire.panel,
        timeline=wire.timeline,
        run=_id("a run", wire.run) if wire.run else "",
        revision=_number("a revision", wire.revision),
        origin=_origin(wire.origin) if wire.origin else "",
        seq=_number("a row", wire.seq),
        tail=wire.tail,
    )


def beat_to_wire(beat: Beat) -> bytes:
    wire = pb.WatchBeat(now_us=beat.now_us, revision=beat.revision, rows=beat.rows, grants=sorted(beat.grants))
    return pb.WatchResponse(beat=wire).SerializeToString()


def panel_to_wire(sent: PanelSnapshot | PanelDelta) -> tuple[bytes, ...]:
    """The frames of a snapshot or of a delta, of at most PART_BYTES each and one row."""
    if isinstance(sent, PanelSnapshot):
        parts = _parts([_row_to_wire(row) for row in sent.rows])
        return tuple(
            pb.WatchResponse(
                snapshot=pb.PanelSnapshot(
                    run=sent.run, revision=sent.revision, rows=rows, left_out=sent.left_out, more=at < len(parts)
                )
            ).SerializeToString()
            for at, rows in enumerate(parts, start=1)
        )
    parts = _parts([_row_to_wire(row) for row in sent.changed])
    gone = list(_in_steps(sent.removed, PART_BYTES // 32)) or [()]
    frames = [
        pb.PanelDelta(from_revision=sent.from_revision, revision=sent.revision, changed=rows, left_out=sent.left_out)
        for rows in parts
    ]
    frames += [
        pb.PanelDelta(from_revision=sent.from_revision, revision=sent.revision, left_out=sent.left_out)
        for _ in gone[1:]
    ]
    # Those that are gone come last, in frames of their own but for the first of them.
    for frame, removed in zip(frames[len(parts) - 1 :], gone, strict=True):
        frame.removed.extend(removed)
    for frame in frames[:-1]:
        frame.more = True
    return tuple(pb.WatchResponse(delta=frame).SerializeToString() for frame in frames)


def log_to_wire(batch: LogBatch) -> bytes:
    texts = [pb.RowText(seq=text.seq, field=text.field, text=wire_text(text.text)) for text in batch.texts]
    wire = pb.TimelineBatch(origin=batch.origin, first_seq=batch.first_seq, rows=batch.rows, texts=texts)
    return pb.WatchResponse(timeline=wire).SerializeToString()


def frame_from_wire(data: bytes) -> Part | LogBatch | Beat:
    """What a server sent."""
    wire = parsed(data, pb.WatchResponse)
    match wire.WhichOneof("what"):
        case "snapshot":
            return _snapshot(wire.snapshot)
        case "delta":
            return _delta(wire.delta)
        case "timeline":
            return _batch(wire.timeline)
        case "beat":
            beat = wire.beat
            return Beat(
                now_us=_number("a time", beat.now_us),
                revision=_number("a revision", beat.revision),
                rows=_number("a size", beat.rows),
                # One that this version does not know is nothing that it could show.
                grants=frozenset(grant for grant in Grant if grant in beat.grants),
            )
        case _:
            raise _malformed("a frame of it holds nothing that this version knows")


class Assembly:
    """Puts the parts of snapshots and deltas together, of at most `rows` rows each."""

    def __init__(self, rows: int) -> None:
        self._most = rows
        self._parts: list[PanelSnapshot | PanelDelta] = []
        self._size = 0

    def add(self, part: Part) -> PanelSnapshot | PanelDelta | None:
        """The whole, once its last part is there. LIMIT when that does not come, INVALID_ARGUMENT when it is another's.

        A part without rows counts as one, so that nobody sends those for ever.
        """
        one = part.whole
        if self._parts and _head(one) != _head(self._parts[0]):
            raise _malformed("parts of the panel do not belong together")
        self._parts.append(one)
        self._size += 1 + (len(one.rows) if isinstance(one, PanelSnapshot) else len(one.changed) + len(one.removed))
        # Twice: as many rows may go as there are.
        if self._size > 2 * self._most + 2:
            raise MeshError(
                ErrorCode.LIMIT,
                f"The server sends a panel of more than {self._most} rows. `panel_rows` under [limits] in config.toml "
                "says how many this node takes.",
                {"limit": self._most},
            )
        if part.more:
            return None
        parts, self._parts, self._size = self._parts, [], 0
        return _joined(parts)


def _joined(parts: Sequence[PanelSnapshot | PanelDelta]) -> PanelSnapshot | PanelDelta:
    last = parts[-1]
    if isinstance(last, PanelSnapshot):
        rows = tuple(row for part in parts if isinstance(part, PanelSnapshot) for row in part.rows)
        return PanelSnapshot(run=last.run, revision=last.revision, rows=rows, left_out=last.left_out)
    deltas = [part for part in parts if isinstance(part, PanelDelta)]
    return PanelDelta(
        from_revision=last.from_revision,
        revision=last.revision,
        changed=tuple(row for part in deltas for row in part.changed),
        removed=tuple(one for part in deltas for one in part.removed),
        left_out=last.left_out,
    )


def _head(part: PanelSnapshot | PanelDelta) -> tuple[str | int, int]:
    return (part.run if isinstance(part, PanelSnapshot) else part.from_revision), part.revision


def _parts(rows: Sequence[pb.PanelRow]) -> list[list[pb.PanelRow]]:
    parts: list[list[pb.PanelRow]] = [[]]
    size = 0
    for row in rows:
        if size >= PART_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(row)
        size += row.ByteSize() + 4
    return parts


def _in_steps(items: Sequence[str], step: int) -> Iterable[Sequence[str]]:
    return (items[at : at + step] for at in range(0, len(items), step))


def _row_to_wire(row: PanelRow) -> pb.PanelRow:
    return pb.PanelRow(
        id=row.id,
        kind=row.kind,
        title=wire_text(row.title),
        state=row.state,
        opener=wire_text(row.opener),
        worker=wire_text(row.worker),
        parent=row.parent,
        last_word=wire_text(row.last_word),
        changed_us=row.changed_us,
    )


def _row(wire: pb.PanelRow) -> PanelRow:
    for text in (wire.kind, wire.title, wire.state, wire.opener, wire.worker, wire.last_word):
        if len(text) > _TEXT_CHARS:
            raise _malformed(f"a text of the panel has {len(text)} characters; {_TEXT_CHARS} are possible")
    return PanelRow(
        id=_id("a row of the panel", wire.id),
        kind=wire.kind,
        title=wire.title,
        state=wire.state,
        opener=wire.opener,
        worker=wire.worker,
        parent=_id("what a row is nested under", wire.parent) if wire.parent else "",
        last_word=wire.last_word,
        changed_us=_number("a time", wire.changed_us),
    )


def _snapshot(wire: pb.PanelSnapshot) -> Part:
    whole = PanelSnapshot(
        run=_id("a run", wire.run),
        revision=_number("a revision", wire.revision, least=1),
        rows=tuple(map(_row, wire.rows)),
        left_out=wire.left_out,
    )
    return Part(whole=whole, more=wire.more)


def _delta(wire: pb.PanelDelta) -> Part:
    since = _number("a revision", wire.from_revision, least=1)
    whole = PanelDelta(
        from_revision=since,
        revision=_number("a revision", wire.revision, least=since),
        changed=tuple(map(_row, wire.changed)),
        removed=tuple(_id("a row of the panel", one) for one in wire.removed),
        left_out=wire.left_out,
    )
    return Part(whole=whole, more=wire.more)


def _batch(wire: pb.TimelineBatch) -> LogBatch:
    if not wire.rows:
        raise _malformed("rows of the timeline came, and there are none")
    if len(wire.texts) > TEXTS_PER_ROW * len(wire.rows):
        raise _malformed(f"{len(wire.texts)} texts came with {len(wire.rows)} rows of the timeline")
    for row in wire.rows:
        if len(row) > MAX_ROW_BYTES:
            raise _malformed(f"a row of the timeline has {len(row)} bytes; {MAX_ROW_BYTES} are possible")
    last = wire.first_seq + len(wire.rows)
    _number("a row", last)
    return LogBatch(
        origin=_origin(wire.origin),
        first_seq=wire.first_seq,
        rows=tuple(wire.rows),
        texts=tuple(_text(text, wire.first_seq, last) for text in wire.texts),
    )


def _text(wire: pb.RowText, first: int, end: int) -> SideText:
    if not first <= wire.seq < end:
        raise _malformed("a text came with rows of the timeline that it does not belong to")
    if CODE.one(wire.field) is None:
        raise _malformed("a text beside a row has a name that is no code")
    return SideText(seq=wire.seq, field=wire.field, text=wire.text)


def _origin(text: str) -> str:
    if is_origin(text) is None:
        raise _malformed("a log has a name that no node gives one")
    return text


def _id(what: str, text: str) -> str:
    if not is_id(text):
        raise _malformed(f"{what} has no id as nodes make them")
    return text


def _number(what: str, value: int, *, least: int = 0) -> int:
    if not least <= value <= MAX_INT:
        raise _malformed(f"{what} has the number {value}; {least} to {MAX_INT} are possible")
    return value


def _malformed(why: str) -> MeshError:
    return MeshError(ErrorCode.INVALID_ARGUMENT, f"What the other node sent for a mirror is malformed: {why}.")
