"""A message and what became of it as one thing to show, made of rows as they come, in flat memory. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic

from node.core.canonical import JsonValue, decode
from node.core.errors import MeshError
from node.core.limits import TIMELINE_SPAN
from node.core.timeline import RowKind
from node.core.timeline_whole import R

# A row of one message's outcome may come often; what it says does not come in many ways.
_OUTCOMES_KEPT: Final = 32


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of a message, so many times: first and last at these times (microseconds)."""

    engine: str
    decision: str
    reason: str
    first_us: int
    last_us: int
    times: int = 1


@dataclass(slots=True, kw_only=True)
class Shown(Generic[R]):
    """One thing to show: a row by itself, a message with its outcomes, or (`late`) outcomes of one that is shown.

    `row` is the row, or the message's, or for late outcomes of a message not seen the first of them. `fields` is what
    it says, None where it cannot be read for the reason in `damage`. `last` is the number of the last row that went in.
    """

    row: R
    fields: Mapping[str, JsonValue] | None
    damage: str = ""
    late: bool = False
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    last: int = 0

    @property
    def at_us(self) -> int | None:
        """When it happened; of late outcomes, when the first of them did."""
        if self.late and self.outcomes:
            return self.outcomes[0].first_us
        return number(self.fields, "ts")

    @property
    def place(self) -> int:
        """Where it stands among others: the number of its row, of late outcomes that of the last one's."""
        return self.last if self.late else self.row.seq

    @property
    def begun_us(self) -> int | None:
        """When the message was recorded, where that is known."""
        return number(self.fields, "ts") if text(self.fields, "row") == RowKind.MESSAGE else None


class Grouper(Generic[R]):
    """Takes rows in order and gives what is to be shown, in the order in which it began.

    Things wait for what may still become of them until `flush`, or until more than `TIMELINE_SPAN` wait.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str | int, Shown[R]] = OrderedDict()
        self._before: OrderedDict[str, Shown[R]] = OrderedDict()

    def feed(self, row: R) -> Iterator[Shown[R]]:
        """Takes the next row; gives what has waited for too long."""
        try:
            fields = decode(row.data)
        except MeshError as error:
            self._waiting[row.seq] = Shown(row=row, fields=None, damage=error.message, last=row.seq)
        else:
            self._take(row, fields)
        while len(self._waiting) > TIMELINE_SPAN:
            yield self._out(next(iter(self._waiting)))

    def flush(self) -> Iterator[Shown[R]]:
        """Everything that waits."""
        # What was remembered for a late outcome is older than what came before it.
        for key in sorted(self._waiting, key=lambda key: self._waiting[key].place):
            yield self._out(key)

    def _take(self, row: R, fields: Mapping[str, JsonValue]) -> None:
        kind, message = text(fields, "row"), text(fields, "msg")
        if kind == RowKind.OUTCOME and message:
            shown = self._waiting.get(message)
            if shown is None:
                before = self._before.get(message)
                of, what = (before.row, before.fields) if before is not None else (row, fields)
                shown = self._waiting[message] = Shown(row=of, fields=what, late=True)
            shown.last = row.seq
            _note(shown.outcomes, fields)
        elif kind == RowKind.MESSAGE and message and message not in self._waiting:
            self._waiting[message] = Shown(row=row, fields=fields, last=row.seq)
        else:
            self._waiting[row.seq] = Shown(row=row, fields=fields, last=row.seq)

    def _out(self, key: str | int) -> Shown[R]:
        shown = self._waiting.pop(key)
        if isinstance(key, str):
            self._before[key] = shown
            self._before.move_to_end(key)
            if len(self._before) > TIMELINE_SPAN:
                self._before.popitem(last=False)
        return shown


def text(fields: Mapping[str, JsonValue] | None, name: str) -> str:
    """A field that is a text; empty for any other."""
    value = fields.get(name) if fields is not None else None
    return value if isinstance(value, str) else ""


def number(fields: Mapping[str, JsonValue] | None, name: str) -> int | None:
    """A field that is a number; None for any other."""
    value = fields.get(name) if fields is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _note(outcomes: list[Outcome], fields: Mapping[str, JsonValue]) -> None:
    engine, decision, reason = (text(fields, name) for name in ("engine", "decision", "reason"))
    when = number(fields, "ts") or 0
    for known in outcomes:
        if (known.engine, known.decision, known.reason) == (engine, decision, reason):
            known.times += 1
            known.last_us = when
            return
    if len(outcomes) < _OUTCOMES_KEPT:
        outcomes.append(Outcome(engine=engine, decision=decision, reason=reason, first_us=when, last_us=when))
