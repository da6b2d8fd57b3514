"""One row of the security timeline by itself: a line for people, a JSON object for scripts. Pure but for the zone."""

from __future__ import annotations

from node.cli import timeline_pieces as pieces
from node.cli.console import Json, Tone, document
from node.cli.text import one_line
from node.cli.timeline_lines import Line
from node.cli.times import moment
from node.core.canonical import decode
from node.core.catalogue.words import Catalogue
from node.core.errors import MeshError
from node.core.ids import short
from node.core.timeline_groups import Shown, number, text
from node.core.views import TimelineRowView


def row_line(row: TimelineRowView, words: Catalogue) -> Line:
    """`time  #seq  kind  engine  decision (reason)  from -> to  what  ids  texts`; what is absent is left out."""
    try:
        fields = decode(row.data)
    except MeshError as error:
        return Line(text=f"#{row.seq}  {words.phrase('damaged', why=one_line(error.message))}", tone=Tone.BAD)
    when = number(fields, "ts")
    kind, engine, what = text(fields, "row"), text(fields, "engine"), text(fields, "kind")
    conv, message = text(fields, "conv"), text(fields, "msg")
    ids = [words.phrase("exchange", id=one_line(short(conv)))] if conv else []
    ids += [words.phrase("message", id=one_line(short(message)))] if message else []
    parts = [
        moment(when) if when is not None else "",
        f"#{row.seq}",
        one_line(words.rows.get(kind, kind)),
        one_line(words.engines.get(engine, engine)),
        pieces.decided(words, engine, text(fields, "decision"), text(fields, "reason")),
        pieces.ends(words, fields, row.side),
        pieces.leg(words, fields),
        one_line(words.kinds.get(what, what)),
        " ".join(ids),
        pieces.scan(words, fields),
        pieces.files(words, fields),
        *pieces.extras(words, fields),
        *pieces.sides(words, row.side),
    ]
    return Line(text="  ".join(part for part in parts if part), tone=pieces.tone_of(text(fields, "decision")))


def row_document(row: TimelineRowView) -> str:
    """A line of JSON whose `row` is the row's bytes as they were hashed; `damaged` (hex) instead when they are no JSON.

    `jq -cSa .row` prints those bytes again; `leaf` is the SHA-256 of a zero byte and them (RFC 6962).
    """
    return f"{{{_members(row)}}}"


def shown_document(shown: Shown[TimelineRowView]) -> str:
    """A line of JSON for a message with what became of it: a row's document and its `outcomes`, all in codes.

    `late` says that the row was in a line before, or that its message was not seen and it is the first outcome's.
    """
    outcomes: Json = [
        {
            "decision": one.decision,
            "reason": one.reason or None,
            "times": one.times,
            "first_us": one.first_us,
            "last_us": one.last_us,
        }
        for one in shown.outcomes
    ]
    late = "true" if shown.late else "false"
    return f'{{{_members(shown.row)}, "late": {late}, "last_seq": {shown.last}, "outcomes": {document(outcomes)}}}'


def _members(row: TimelineRowView) -> str:
    try:
        decode(row.data)
        body = f'"row": {row.data.decode("ascii")}'
    except MeshError:
        body = f'"damaged": "{row.data.hex()}"'
    return f'"seq": {row.seq}, "leaf": "{row.leaf.hex()}", {body}, "side": {document(dict(row.side))}'
