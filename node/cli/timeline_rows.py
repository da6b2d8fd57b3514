"""One row of the security timeline: a line for people, a JSON object for scripts. Pure but for the time zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from node.cli.console import document
from node.cli.text import one_line
from node.cli.times import moment
from node.core.canonical import JsonValue, decode
from node.core.errors import MeshError
from node.core.ids import short
from node.core.views import TimelineRowView

ALARMING = frozenset({"withheld", "refused", "refused_by_person", "failed", "gave_up"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLine:
    """A row on one physical line, and whether it tells of something that was stopped or is wrong."""

    text: str
    alarming: bool


def row_line(row: TimelineRowView) -> RowLine:
    """`time  #seq  kind  engine  decision (reason)  from -> to  what  ids  texts`; what is absent is left out."""
    try:
        fields = decode(row.data)
    except MeshError as error:
        return RowLine(text=f"#{row.seq}  DAMAGED: {one_line(error.message)}", alarming=True)
    side = dict(row.side)
    decision = _text(fields, "decision")
    when = fields.get("ts")
    parts = [
        moment(when) if isinstance(when, int) else "",
        f"#{row.seq}",
        _text(fields, "row"),
        _text(fields, "engine"),
        f"{decision} ({_text(fields, 'reason')})" if "reason" in fields else decision,
        _ends(fields, side),
        _text(fields, "kind"),
        _ids(fields),
        _scan(fields),
        *(f'{name}="{one_line(text)}"' for name, text in side.items() if name not in {"sender", "recipient"}),
    ]
    return RowLine(text="  ".join(part for part in parts if part), alarming=decision in ALARMING)


def row_document(row: TimelineRowView) -> str:
    """A line of JSON whose `row` is the row's bytes as they were hashed; `damaged` (hex) instead when they are no JSON.

    `jq -cSa .row` prints those bytes again; `leaf` is the SHA-256 of a zero byte and them (RFC 6962).
    """
    try:
        decode(row.data)
        body = f'"row": {row.data.decode("ascii")}'
    except MeshError:
        body = f'"damaged": "{row.data.hex()}"'
    return f'{{"seq": {row.seq}, "leaf": "{row.leaf.hex()}", {body}, "side": {document(dict(row.side))}}}'


def _text(fields: Mapping[str, JsonValue], name: str) -> str:
    value = fields.get(name)
    return one_line(value) if isinstance(value, str) else ""


def _ends(fields: Mapping[str, JsonValue], side: Mapping[str, str]) -> str:
    sender, recipient = _end(fields, "from", side.get("sender")), _end(fields, "to", side.get("recipient"))
    return f"{sender} -> {recipient}".lstrip() if recipient else sender


def _end(fields: Mapping[str, JsonValue], name: str, label: str | None) -> str:
    if label:
        return one_line(label)
    party = fields.get(name)
    if not isinstance(party, dict):
        return ""
    session, role = party.get("session"), party.get("role")
    if isinstance(session, str):
        return one_line(short(session))
    return one_line(role) if isinstance(role, str) else ""


def _ids(fields: Mapping[str, JsonValue]) -> str:
    names = (("conv", "exchange"), ("msg", "message"))
    return " ".join(f"{word} {short(_text(fields, name))}" for name, word in names if _text(fields, name))


def _scan(fields: Mapping[str, JsonValue]) -> str:
    scan = fields.get("scan")
    if not isinstance(scan, dict) or scan.get("status") == "clean":
        return ""
    rules = scan.get("rules")
    named = f": {', '.join(one_line(str(rule)) for rule in rules)}" if isinstance(rules, list) and rules else ""
    return f"screen {_text(scan, 'status')}{named}"
