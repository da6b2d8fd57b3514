"""Messages between two nodes leave a row in each log: which rows of two logs have no twin in the other.

It is the only way to find a row that was never written, and one that the owner of a key made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from node.core.canonical import JsonValue, decode
from node.core.errors import MeshError
from node.core.timeline_check import Problem, ProblemCode

GRACE_US: Final = 600_000_000
"""Rows younger than this may still get their twin; clocks of two nodes may differ by as much."""
MAX_CROSSINGS: Final = 1_000_000

# What became of a message that left, as the outcome row says: the other node has it, or it will not get it.
_ARRIVED: Final = frozenset({"landed", "recorded_there", "relayed", "withheld", "held", "refused", "read"})
_GIVEN_UP: Final = frozenset({"expired", "withdrawn", "failed", "gave_up"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A message that crossed, or was to: its row, when, and the node at the other end."""

    seq: int
    ts: int
    node: str


@dataclass(slots=True, kw_only=True)
class Crossings:
    """The messages of one log that crossed to or from other nodes, and the ids that its node has had.

    `first_us` is when its first row was written, `last_us` the last that tells of a message or a key.
    """

    nodes: set[str] = field(default_factory=set[str])
    out: dict[str, Crossing] = field(default_factory=dict[str, Crossing])
    into: dict[str, Crossing] = field(default_factory=dict[str, Crossing])
    arrived: set[str] = field(default_factory=set[str])
    given_up: set[str] = field(default_factory=set[str])
    first_us: int | None = None
    last_us: int = 0
    overfull: bool = False

    def take(self, seq: int, data: bytes) -> None:
        """One more row."""
        if self.first_us is not None and not (b'"leg":"egress"' in data or b'"leg":"ingress"' in data or _KEY in data):
            return
        try:
            fields = decode(data)
        except MeshError:
            return
        ts, message, leg = fields.get("ts"), fields.get("msg"), fields.get("leg")
        if type(ts) is not int:
            return
        self.first_us, self.last_us = ts if self.first_us is None else self.first_us, ts
        if fields.get("row") == "key":
            self.nodes.update(node for end in ("from", "to") if (node := _node(fields, end)))
        if not isinstance(message, str) or leg not in {"egress", "ingress"}:
            return
        if fields.get("row") == "outcome":
            self._ends(message, fields.get("decision"))
        elif fields.get("row") == "message":
            self._crosses(seq, ts, message, fields)

    def _ends(self, message: str, decision: JsonValue) -> None:
        if decision in _ARRIVED:
            self.arrived.add(message)
        elif decision in _GIVEN_UP:
            self.given_up.add(message)

    def _crosses(self, seq: int, ts: int, message: str, fields: dict[str, JsonValue]) -> None:
        if len(self.out) + len(self.into) >= MAX_CROSSINGS:
            self.overfull = True
            return
        if fields["leg"] == "ingress":
            self.into[message] = Crossing(seq=seq, ts=ts, node=_node(fields, "from"))
        elif fields.get("decision") != "withheld":
            self.out[message] = Crossing(seq=seq, ts=ts, node=_node(fields, "to"))


def compare(mine: Crossings, theirs: Crossings, *, until_us: int) -> Iterator[Problem]:
    """What of my log has no twin in theirs, which goes up to `until_us`; of what is too new nothing is said."""
    if mine.overfull or theirs.overfull:
        words = f"more than {MAX_CROSSINGS} messages crossed; compare shorter pieces of the logs"
        yield Problem(seq=0, code=ProblemCode.NOT_COMPARED, words=words)
        return
    first = (theirs.first_us or 0) + GRACE_US
    for message, crossing in mine.into.items():
        if not _due(crossing, theirs, first, until_us) or message in theirs.out:
            continue
        words = f"row {crossing.seq}: message {message} came from a node whose log has no row of it"
        yield Problem(seq=crossing.seq, code=ProblemCode.TWIN_MISSING, words=words)
    for message, crossing in mine.out.items():
        if not _due(crossing, theirs, first, until_us) or message in theirs.into or message in mine.given_up:
            continue
        if message in mine.arrived:
            words = f"row {crossing.seq}: message {message} arrived at a node whose log has no row of it"
            yield Problem(seq=crossing.seq, code=ProblemCode.TWIN_MISSING, words=words)
        else:
            words = f"row {crossing.seq}: message {message} left, and nothing says that it arrived or was given up"
            yield Problem(seq=crossing.seq, code=ProblemCode.NOT_COMPARED, words=words)


def _due(crossing: Crossing, theirs: Crossings, first_us: int, until_us: int) -> bool:
    return crossing.node in theirs.nodes and first_us <= crossing.ts <= until_us - GRACE_US


def _node(fields: dict[str, JsonValue], end: str) -> str:
    party = fields.get(end)
    node = party.get("node") if isinstance(party, dict) else None
    return node if isinstance(node, str) else ""


_KEY: Final = b'"row":"key"'
