"""Which timeline rows somebody wants to see, asked of a row's bytes: most rows are told apart without reading them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from node.core.canonical import JsonValue, decode, dump
from node.core.errors import MeshError
from node.core.merkle import leaf_hash
from node.core.row_codes import SideField
from node.core.timeline import RowKind

Texts = Sequence[tuple[str, str]]
"""The texts beside a row by name."""

_TS: Final = re.compile(rb',"ts":([0-9]{1,16}),"v":[0-9]{1,4}\}\Z')
_TS_WITHIN: Final = 64
_MESSAGE: Final = re.compile(rb'"mono":[0-9]{1,16},"msg":"([A-Za-z0-9._:+/=@-]{1,128})"')
_KINDS_OF_MESSAGES: Final = (b'"row":"message"', b'"row":"outcome"')


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which timeline rows; empty means any, all that is given holds at once. Times in microseconds, 0 for open.

    `log` is an origin; empty means the current log. Rows from `from_seq` on and before `before_seq`. `outcome` is the
    decision of an outcome row, `row` its kind. `session`, `exchange`, `message` and `peer` (a node) are ids or their
    beginnings; `peer` and `workspace` are of either end. All words of `text` stand in the texts beside the row.

    With `whole`, a message's rows belong together: where one matches, all are given (of those near to each other), and
    `limit` counts messages. `tail`: only the last `limit`.
    """

    log: str = ""
    from_seq: int = 0
    before_seq: int = 0
    limit: int = 0
    row: str = ""
    engine: str = ""
    decision: str = ""
    outcome: str = ""
    reason: str = ""
    session: str = ""
    workspace: str = ""
    peer: str = ""
    exchange: str = ""
    message: str = ""
    text: str = ""
    since_us: int = 0
    until_us: int = 0
    tail: bool = False
    whole: bool = False


class Matcher:
    """A filter made ready to be asked about many rows. A row that is damaged matches every filter."""

    def __init__(self, wanted: RowFilter) -> None:
        self._wanted = wanted
        self._words = folded(wanted.text).split()
        exact = [
            *(("row", one) for one in (wanted.row, RowKind.OUTCOME.value if wanted.outcome else "") if one),
            *(("engine", one) for one in (wanted.engine,) if one),
            *(("decision", one) for one in (wanted.decision, wanted.outcome) if one),
            *(("reason", one) for one in (wanted.reason,) if one),
        ]
        self._exact = tuple(exact)
        begins = [("conv", wanted.exchange), ("msg", wanted.message)]
        self._begins = tuple((name, prefix) for name, prefix in begins if prefix)
        ends = [("session", wanted.session, False), ("workspace", wanted.workspace, True), ("node", wanted.peer, False)]
        self._ends = tuple((part, value, whole) for part, value, whole in ends if value)
        # What a row that matches has in its bytes: a row without is not read any further.
        self._needles = (
            *(_member(name, value) for name, value in exact),
            *(_member(name, prefix)[:-1] for name, prefix in self._begins),
            *(_member(part, value)[: None if whole else -1] for part, value, whole in self._ends),
        )

    @property
    def picky(self) -> bool:
        """Whether there may be a row that does not match."""
        return bool(self._needles or self._words or self._wanted.since_us or self._wanted.until_us)

    def __call__(self, data: bytes, leaf: bytes, side: Texts) -> bool:
        """Whether the row of these bytes is wanted; `leaf` is the hash that was stored with them."""
        if not self.picky:
            return True
        if not all(needle in data for needle in self._needles) or not self.timely(data) or not self._says(side):
            return is_damaged(data, leaf)
        if not self._needles:
            return True
        try:
            row = decode(data)
        except MeshError:
            return True
        return self._fits(row) or is_damaged(data, leaf)

    def timely(self, data: bytes) -> bool:
        """Whether the row is of the time that is asked for, as far as it says."""
        since, until = self._wanted.since_us, self._wanted.until_us
        if not since and not until:
            return True
        when = time_of(data)
        # Without a time it is no row as a node writes it.
        return when is None or (when >= since and (not until or when < until))

    def _says(self, side: Texts) -> bool:
        if not self._words:
            return True
        texts = [folded(text) for name, text in side if name != SideField.SEAL]
        return all(any(word in text for text in texts) for word in self._words)

    def _fits(self, row: dict[str, JsonValue]) -> bool:
        return (
            all(row.get(name) == value for name, value in self._exact)
            and all(_begins(row.get(name), prefix) for name, prefix in self._begins)
            and all(
                any(_part(row, end, part) == value if whole else _begins(_part(row, end, part), value) for end in _ENDS)
                for part, value, whole in self._ends
            )
        )


_ENDS: Final = ("from", "to")


def folded(text: str) -> str:
    """`text` as it is compared: NFC, without regard to case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def is_damaged(data: bytes, leaf: bytes) -> bool:
    """Whether these are plainly not the bytes that were hashed as a row; much cheaper than to read them."""
    return leaf_hash(data) != leaf or not (data.startswith(b"{") and data.endswith(b"}")) or time_of(data) is None


def quickly(data: bytes, leaf: bytes) -> dict[str, JsonValue] | None:
    """What the row of these bytes says, for numbers that many rows go into; None when it is damaged.

    The hash is looked at and not whether these are the one canonical form of what they say: that is for the check of
    the whole log, and would take most of the time.
    """
    if is_damaged(data, leaf):
        return None
    try:
        value: JsonValue = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def time_of(data: bytes) -> int | None:
    """The wall time in a row's bytes, which stands near their end; None where a row has none."""
    found = _TS.search(data, max(len(data) - _TS_WITHIN, 0))
    return int(found[1]) if found else None


def message_of(data: bytes) -> str | None:
    """The id of the message that the row decides about or tells the outcome of; None for any other row."""
    if not any(kind in data for kind in _KINDS_OF_MESSAGES):
        return None
    found = _MESSAGE.search(data)
    return found[1].decode("ascii") if found else None


def _member(name: str, value: str) -> bytes:
    """A member of an object as a row's bytes hold it."""
    return dump({name: value})[1:-1]


def _begins(value: JsonValue, prefix: str) -> bool:
    return isinstance(value, str) and value.startswith(prefix)


def _part(row: dict[str, JsonValue], end: str, part: str) -> JsonValue:
    party = row.get(end)
    return party.get(part) if isinstance(party, dict) else None
