"""The parts of a timeline row in words, each escaped: for lines that people read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from node.cli.console import Tone
from node.cli.conversation import ARROW
from node.cli.text import one_line
from node.cli.times import moment
from node.core.canonical import JsonValue
from node.core.catalogue.words import Catalogue
from node.core.ids import short
from node.core.row_codes import ALARMING
from node.core.timeline_groups import text

WARNING = frozenset({"held", "gap", "unavailable", "files_flagged", "stepped"})
# Shown elsewhere in a line, or no text for people.
_NOT_SHOWN = frozenset({"sender", "recipient", "seal"})

# Of the plain values, those that are no words for people or are said elsewhere, and those that are numbers of rows.
_FOR_MACHINES = frozenset({"root", "sha256", "boots", "why"})
_ROW_NUMBERS = frozenset({"from_seq", "to_seq", "first", "next"})

Fields = Mapping[str, JsonValue]
Side = Sequence[tuple[str, str]]


def tone_of(decision: str) -> Tone | None:
    """How a decision is meant: that something was stopped or went wrong, that it waits, or neither."""
    return Tone.BAD if decision in ALARMING else Tone.WARN if decision in WARNING else None


def field(fields: Fields, name: str) -> str:
    """A field's text as it is, escaped; empty where there is none."""
    return one_line(text(fields, name))


def decided(words: Catalogue, engine: str, decision: str, reason: str) -> str:
    """A decision and why, in words."""
    what = one_line(words.decision(engine, decision))
    why = one_line(words.reasons.get(reason, reason))
    return words.phrase("reason", what=what, reason=why) if why else what


def ends(words: Catalogue, fields: Fields, side: Side, names: Mapping[str, str] | None = None) -> str:
    """`@alice -> @bob`, by the labels beside the row, or else by `names` of sessions, by ids and roles."""
    labels = dict(side)
    sender = _end(words, fields, "from", labels.get("sender") or _session_name(fields, labels), names or {})
    recipient = _end(words, fields, "to", labels.get("recipient"), names or {})
    return f"{sender} {ARROW} {recipient}".lstrip() if recipient else sender


def _session_name(fields: Fields, labels: Mapping[str, str]) -> str:
    """The nickname beside a session's own row."""
    nickname = labels.get("nickname", "") if text(fields, "engine") == "session" else ""
    return f"@{nickname}" if nickname else ""


def _end(words: Catalogue, fields: Fields, name: str, label: str | None, names: Mapping[str, str]) -> str:
    if label:
        return one_line(label)
    party = fields.get(name)
    if not isinstance(party, dict):
        return ""
    session, role = party.get("session"), party.get("role")
    if isinstance(session, str):
        return one_line(names.get(session) or short(session))
    return one_line(words.roles.get(role, role)) if isinstance(role, str) else ""


def leg(words: Catalogue, fields: Fields) -> str:
    """`out` or `in` for what crosses to another node."""
    code = text(fields, "leg")
    return "" if code in {"", "local"} else f"({one_line(words.legs.get(code, code))})"


def scan(words: Catalogue, fields: Fields) -> str:
    """What the screen said, unless it had nothing to say."""
    found = fields.get("scan")
    if not isinstance(found, dict) or found.get("status") in {"clean", "skipped"}:
        return ""
    status = str(found.get("status", ""))
    said, rules = one_line(words.scans.get(status, status)), found.get("rules")
    if not isinstance(rules, list) or not rules:
        return words.phrase("screen", status=said)
    return words.phrase("screen_rules", status=said, rules=", ".join(one_line(str(rule)) for rule in rules))


def files(words: Catalogue, fields: Fields) -> str:
    """How many files a message brought, and how large they are."""
    content = fields.get("content")
    named = content.get("files") if isinstance(content, dict) else None
    if not isinstance(named, list) or not named:
        return ""
    sizes = [one[1] for one in named if isinstance(one, list) and len(one) > 1]
    size = sum(one for one in sizes if isinstance(one, int))
    return f"{words.count('file', len(named))}, {words.size(size)}"


def extras(words: Catalogue, fields: Fields, *, all_of_them: bool = True) -> list[str]:
    """The plain values of a row, `name value` each; without `all_of_them` none that only a machine reads."""
    extra = fields.get("extra")
    if not isinstance(extra, dict):
        return []
    if not all_of_them:
        extra = {name: value for name, value in extra.items() if name in words.extras and name not in _FOR_MACHINES}
    return [
        f"{one_line(words.extras.get(name, name))} {_plain(words, name, value)}"
        for name, value in extra.items()
        if value not in ([], {}, None, "")
    ]


def _plain(words: Catalogue, name: str, value: JsonValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        if name == "step_us":
            return f"{'-' if value < 0 else '+'}{words.duration(abs(value))}"
        if name.endswith(("_ts", "_us")):
            return moment(value)
        if name == "bytes":
            return words.size(value)
        return f"#{value}" if name in _ROW_NUMBERS else words.number(value)
    if isinstance(value, list):
        return ", ".join(_plain(words, name, item) for item in value)
    if isinstance(value, dict):
        known = words.reasons if name == "reasons" else words.extras
        return ", ".join(f"{one_line(known.get(key, key))} {_plain(words, key, item)}" for key, item in value.items())
    said = str(value or "")
    if name == "why":
        return one_line(words.reasons.get(said, said))
    return one_line(
        words.rules.get(said, said) if name == "rule" else short(said) if name in {"approval", "export"} else said
    )


def sides(words: Catalogue, side: Side, *, but: frozenset[str] = frozenset()) -> list[str]:
    """The texts beside a row, `name="text"` each."""
    return [
        f'{one_line(words.sides.get(name, name))}="{one_line(said)}"'
        for name, said in side
        if name not in _NOT_SHOWN and name not in but
    ]


def said(side: Side, *, whole: bool = True) -> str:
    """What a message says, as far as it stands beside its row, `whole` with its title: escaped, not quoted."""
    texts = dict(side)
    title, body = texts.get("title", ""), texts.get("snippet") or texts.get("preview", "")
    # A title is often the beginning of the text.
    if not whole or not body or not title or body.startswith(title.rstrip("…").rstrip()):
        return one_line(body or title)
    return f"{one_line(title)}: {one_line(body)}"
