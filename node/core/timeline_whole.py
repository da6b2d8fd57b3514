"""Rows of one message kept together while a log is read: where one of them is wanted, the others are too. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from node.core.limits import TIMELINE_SPAN
from node.core.timeline_filter import Matcher, RowFilter, Texts, is_damaged, message_of


class HasRow(Protocol):
    """A row as stored."""

    @property
    def seq(self) -> int: ...
    @property
    def data(self) -> bytes: ...
    @property
    def leaf(self) -> bytes: ...
    @property
    def side(self) -> Texts: ...


R = TypeVar("R", bound=HasRow)


@dataclass(slots=True)
class _Held(Generic[R]):
    """Rows of a message of which it is not known yet whether they are wanted."""

    rows: list[R] = field(default_factory=list[R])
    matched: bool = False
    fated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked(Generic[R]):
    """Rows that are wanted by then, oldest first, and whether they begin something that was not shown before."""

    rows: Sequence[R] = ()
    begins: bool = False


class Whole(Generic[R]):
    """Asked about each row of a log in order, gives the rows that are wanted by then.

    A message and its outcomes that lie more than `TIMELINE_SPAN` rows apart are not known to belong together. Where an
    outcome is asked for as well as something else, one row of a message has to be the one and any the other.
    """

    def __init__(self, wanted: RowFilter) -> None:
        self._fate = Matcher(RowFilter(outcome=wanted.outcome, reason=wanted.reason)) if wanted.outcome else None
        self._main = Matcher(replace(wanted, outcome="", reason="") if wanted.outcome else wanted)
        self._held: OrderedDict[str, _Held[R]] = OrderedDict()
        self._shown: OrderedDict[str, None] = OrderedDict()
        self._rows = 0

    def feed(self, row: R, *, begin: bool = True) -> Picked[R]:
        """What is to be given once this row is read; without `begin` only what goes on with a message shown before."""
        if not self._main.timely(row.data) and not is_damaged(row.data, row.leaf):
            return Picked()
        matched = self._main(row.data, row.leaf, row.side)
        fated = self._fate is None or self._fate(row.data, row.leaf, row.side)
        message = message_of(row.data)
        if message is None:
            return Picked(rows=(row,), begins=True) if matched and fated and begin else Picked()
        if message in self._shown:
            self._shown.move_to_end(message)
            return Picked(rows=(row,))
        held = self._held.setdefault(message, _Held())
        held.rows.append(row)
        held.matched, held.fated = held.matched or matched, held.fated or fated
        self._rows += 1
        if held.matched and held.fated and begin:
            self._rows -= len(self._held.pop(message).rows)
            self._shown[message] = None
            if len(self._shown) > TIMELINE_SPAN:
                self._shown.popitem(last=False)
            return Picked(rows=held.rows, begins=True)
        while self._rows > TIMELINE_SPAN:
            _, oldest = self._held.popitem(last=False)
            self._rows -= len(oldest.rows)
        return Picked()


def outcome_of(wanted: RowFilter) -> RowFilter:
    """What of a filter an outcome row must be by itself: it holds neither texts nor who the message is from."""
    return RowFilter(
        outcome=wanted.outcome, reason=wanted.reason, engine=wanted.engine, exchange=wanted.exchange,
        message=wanted.message, since_us=wanted.since_us, until_us=wanted.until_us,
    )  # fmt: skip
