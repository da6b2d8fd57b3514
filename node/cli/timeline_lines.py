"""The timeline as people read it: a message and what became of it on a line, below its day. Pure but for the zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from node.cli import timeline_pieces as pieces
from node.cli.console import Tone
from node.cli.text import fold, one_line, shorten, width
from node.cli.times import LAST_US, MICRO, moment
from node.core.catalogue.words import Catalogue
from node.core.ids import short
from node.core.timeline_groups import Outcome, Shown, text
from node.core.views import TimelineRowView

_GAP = "  "
_CLOCK = len("00:00:00")
_WHAT, _DECIDED = 9, 9
_SET_IN = " " * (_CLOCK + 2)
# A text with less room than this goes below; there, with less than this, on a line of its own.
_ROOM_FOR_TEXT = 48
_LEAST_ROOM = 32
# Of these the title was written with them; what follows in an exchange only repeats it.
_OPENINGS = frozenset({"brief", "request"})
_AT_ONCE_US = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A physical line, and how it is meant; `heading` for the name of a day."""

    text: str
    tone: Tone | None = None
    heading: bool = False


class Lines:
    """Makes lines of what is shown, in order. On a terminal of `columns` a day is named once, and long lines go on
    below, set in; elsewhere (None) each is one line that stands by itself.
    """

    def __init__(self, words: Catalogue, columns: int | None, names: Mapping[str, str] | None = None) -> None:
        """`names` are the labels of sessions by their ids, for rows that have none beside them."""
        self._words = words
        self._columns = columns
        self._names = names or {}
        self._day = ""
        # Wide enough for the decision that most messages have.
        self._decided = max(_DECIDED, width(words.decision("agent.request", "relayed")))

    def of(self, shown: Shown[TimelineRowView]) -> Iterator[Line]:
        """The lines of one thing, with its day's name before it where that is another than the last one's."""
        if shown.fields is None:
            damaged = self._words.phrase("damaged", why=one_line(shown.damage))
            yield from self._fitted(f"#{shown.row.seq}  {damaged}", "", "", "", Tone.BAD)
            return
        when = shown.at_us
        local = _local(when)
        if self._columns is not None and local is not None:
            day = f"{self._words.day(local.date())}  ({_offset(local)})"
            if day != self._day:
                self._day = day
                yield from (Line(text=part, heading=True) for part in _set_in(day, self._columns))
        clock = f"{local:%H:%M:%S}" if local is not None and self._columns is not None else ""
        yield from self._lines(shown, clock or (moment(when) if when is not None else ""))

    def _lines(self, shown: Shown[TimelineRowView], clock: str) -> Iterator[Line]:
        words, fields, side = self._words, shown.fields or {}, shown.row.side
        engine, kind, decision = text(fields, "engine"), text(fields, "kind"), text(fields, "decision")
        of_message = bool(shown.outcomes) or text(fields, "row") in {"message", "outcome"}
        what = words.kinds.get(kind, kind) if of_message and kind else words.engines.get(engine, engine)
        fate = ", ".join(self._outcomes(shown))
        own = pieces.decided(words, engine, decision, text(fields, "reason"))
        head = [
            clock,
            _padded(one_line(what), _WHAT, self._columns),
            _padded(f"… {fate}" if shown.late else own, self._decided, self._columns),
            pieces.ends(words, fields, side, self._names),
            pieces.leg(words, fields),
        ]
        conv = text(fields, "conv")
        details = [self._name_of(shown), words.phrase("exchange", id=one_line(short(conv))) if conv else ""]
        quoted = ""
        if not shown.late:
            details += [
                pieces.scan(words, fields),
                pieces.files(words, fields),
                *pieces.extras(words, fields, all_of_them=False),
            ]
            if of_message:
                quoted = pieces.said(side, whole=kind in _OPENINGS)
            else:
                named = frozenset({"nickname"}) if engine == "session" else frozenset[str]()
                details += pieces.sides(words, side, but=named)
        yield from self._fitted(
            _joined(head), "" if shown.late else fate, _joined(details), quoted, self._tone(shown, decision)
        )

    def _name_of(self, shown: Shown[TimelineRowView]) -> str:
        fields = shown.fields or {}
        if shown.late and shown.begun_us is None:
            # Its message is not among the rows that were read.
            return self._words.phrase("message", id=one_line(short(text(fields, "msg"))))
        return f"#{shown.row.seq}"

    def _tone(self, shown: Shown[TimelineRowView], decision: str) -> Tone | None:
        tones = [pieces.tone_of(one.decision) for one in shown.outcomes]
        if not shown.late and (decision != "held" or not shown.outcomes):
            tones.append(pieces.tone_of(decision))
        if Tone.BAD in tones:
            return Tone.BAD
        # A notice that waited is forgotten once the message was read.
        settled = any(one.decision in {"read", "answered"} for one in shown.outcomes)
        return Tone.WARN if Tone.WARN in tones and not settled else None

    def _outcomes(self, shown: Shown[TimelineRowView]) -> list[str]:
        words, engine = self._words, text(shown.fields, "engine")
        said = [self._outcome(engine, one) for one in shown.outcomes]
        begun, last = shown.begun_us, max((one.last_us for one in shown.outcomes), default=0)
        if said and begun is not None and last >= begun:
            name = "after" if last - begun >= _AT_ONCE_US else "at_once"
            said[-1] = words.phrase(name, what=said[-1], time=words.duration(last - begun))
        return said

    def _outcome(self, engine: str, one: Outcome) -> str:
        what = pieces.decided(self._words, one.engine or engine, one.decision, one.reason)
        if one.engine == "file":
            what = self._words.phrase("of_files", what=what)
        return self._words.phrase("times", what=what, n=str(one.times)) if one.times > 1 else what

    def _fitted(self, head: str, fate: str, details: str, quoted: str, tone: Tone | None) -> Iterator[Line]:
        """On one line where there is room, or what does not fit below it; a text is cut, nothing else is."""
        whole = _joined([head, fate, details])
        if self._columns is None:
            yield Line(text=_joined([whole, f'"{quoted}"' if quoted else ""]), tone=tone)
            return
        room = self._columns - width(whole) - len(_GAP)
        if room >= (min(width(quoted) + 2, _ROOM_FOR_TEXT) if quoted else -len(_GAP)):
            yield Line(text=_joined([whole, _cut(quoted, room)]), tone=tone)
            return
        below = self._columns - len(_SET_IN)
        first = _joined([head, fate])
        if width(first) > self._columns:
            first, further = head, [fate]
        else:
            further = []
        room = below - width(details) - len(_GAP)
        if quoted and details and room < min(width(quoted) + 2, _LEAST_ROOM):
            further += [details, _cut(quoted, below)]
        else:
            further.append(_joined([details, _cut(quoted, room if details else below)]))
        yield from (Line(text=part, tone=tone) for part in _set_in(first, self._columns))
        for text_below in further:
            for part in fold(text_below, below) if text_below else ():
                yield Line(text=_SET_IN + part, tone=tone)


def _set_in(text: str, columns: int) -> Iterator[str]:
    """A line of ours, with what does not fit set in below it."""
    if width(text) <= columns:
        yield text
        return
    for at, part in enumerate(fold(text, columns - len(_SET_IN))):
        yield (_SET_IN if at else "") + part


def _joined(parts: list[str]) -> str:
    return _GAP.join(part for part in parts if part).rstrip()


def _padded(part: str, room: int, columns: int | None) -> str:
    return part if columns is None or not part else part + " " * max(room - width(part), 0)


def _cut(quoted: str, room: int) -> str:
    """A text in quotation marks, in so many columns."""
    return f'"{shorten(quoted, max(room - 2, 2))}"' if quoted else ""


def _local(us: int | None) -> datetime | None:
    if us is None or not 0 <= us <= LAST_US:
        return None
    return datetime.fromtimestamp(us // MICRO, UTC).astimezone()


def _offset(local: datetime) -> str:
    shown = f"{local:%z}"
    return "UTC" if shown == "+0000" else f"UTC{shown[:3]}:{shown[3:5]}"
