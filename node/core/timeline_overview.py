"""What the timeline tells of a stretch of time, in numbers: one pass over its rows, in flat memory. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Final, Generic

from node.core.canonical import JsonValue
from node.core.clock_step import step_us
from node.core.limits import OVERVIEW_BLOCKS, OVERVIEW_PEERS
from node.core.prompt import HeldReason
from node.core.row_codes import STOPPED, UNDELIVERED
from node.core.timeline import Clock, RowKind
from node.core.timeline_filter import quickly
from node.core.timeline_groups import text
from node.core.timeline_whole import R

_PEERS_COUNTED: Final = 4 * OVERVIEW_PEERS
_ENDS_OF_EXPORTS: Final = frozenset({"finished", "failed", "cancelled"})
# An outcome row says "held" also of a notice that waits for the agent's prompt; that message is not held.
_NOTICE_HELD: Final = frozenset(reason.value for reason in HeldReason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(Generic[R]):
    """Numbers of the rows from `since_us` on. `peers` are node ids, of `peers_total`; `blocks` the last rows that
    withheld or refused something, oldest first.
    """

    since_us: int
    rows: int
    relayed: int
    withheld: int
    held: int
    refused: int
    undelivered: int
    files: int
    file_bytes: int
    peers: tuple[str, ...]
    peers_total: int
    approvals_asked: int
    approvals_allowed: int
    approvals_denied: int
    clock_steps: int
    overrides: int
    gaps: int
    exports: int
    prunes: int
    turned_away: int
    damaged: int
    blocks: tuple[R, ...]


class Count(Generic[R]):
    """Takes rows in order; those of before `since_us` count for nothing, a damaged one always counts."""

    def __init__(self, *, node: str, since_us: int) -> None:
        self._node = node
        self._since_us = since_us
        self._numbers: dict[str, int] = {}
        self._peers: dict[str, None] = {}
        self._blocks: deque[R] = deque(maxlen=OVERVIEW_BLOCKS)
        self._before: Clock | None = None

    def feed(self, row: R) -> None:
        """Count the next row."""
        fields = quickly(row.data, row.leaf) or {}
        when, mono, boot = fields.get("ts"), fields.get("mono"), fields.get("boot")
        if not isinstance(when, int) or not isinstance(mono, int) or not isinstance(boot, str):
            self._add("rows")
            self._add("damaged")
            return
        stepped = self._stepped(when, mono, boot)
        if when < self._since_us:
            return
        self._add("rows")
        self._add("clock_steps", int(stepped))
        engine, kind = text(fields, "engine"), text(fields, "row")
        if kind in {RowKind.MESSAGE, RowKind.OUTCOME} and engine.startswith("agent."):
            self._message(row, fields, outcome=kind == RowKind.OUTCOME)
        elif engine == "approval":
            self._approval(text(fields, "decision"))
        elif engine == "mesh" and text(fields, "decision") == "refused":
            self._turned_away(row, fields)
        elif kind == RowKind.EXPORT:
            # The rows of its end would count it once more.
            self._add("exports", int(text(fields, "decision") not in _ENDS_OF_EXPORTS))
        elif kind == RowKind.PRUNE:
            self._add("prunes", int(text(fields, "decision") == "pruned"))
        elif kind in {RowKind.OVERRIDE, RowKind.GAP}:
            # What the owner lets pass while rows cannot be written in full was not flagged; its row is what is missing.
            missing = kind == RowKind.GAP or text(fields, "reason") == "owner_allowed"
            self._add("gaps" if missing else "overrides")
        elif engine == "file" and text(fields, "decision") in STOPPED:
            self._blocks.append(row)

    def result(self) -> Overview[R]:
        """The numbers so far."""
        named = {one.name for one in fields(Overview)} - {"since_us", "peers", "peers_total", "blocks"}
        return Overview(
            since_us=self._since_us,
            peers=tuple(self._peers)[:OVERVIEW_PEERS],
            peers_total=len(self._peers),
            blocks=tuple(self._blocks),
            **{name: self._numbers.get(name, 0) for name in named},
        )

    def _add(self, name: str, number: int = 1) -> None:
        self._numbers[name] = self._numbers.get(name, 0) + number

    def _stepped(self, when: int, mono: int, boot: str) -> bool:
        """Whether wall time moved against the clock that only goes forward, since the row before."""
        before, self._before = self._before, Clock(ts_us=when, mono_us=mono, boot=boot)
        return before is not None and step_us(before, self._before) != 0

    def _message(self, row: R, fields: Mapping[str, JsonValue], *, outcome: bool) -> None:
        decision = text(fields, "decision")
        if decision in STOPPED:
            self._add("withheld" if decision == "withheld" else "refused")
            self._blocks.append(row)
        elif decision in UNDELIVERED:
            self._add("undelivered")
        elif decision == "held" and not (outcome and text(fields, "reason") in _NOTICE_HELD):
            self._add("held")
        elif decision == "relayed":
            self._add("relayed")
        if not outcome and decision != "refused":
            self._files(fields)
        for end in ("from", "to"):
            party = fields.get(end)
            node = party.get("node") if isinstance(party, dict) else None
            if isinstance(node, str) and node != self._node and len(self._peers) < _PEERS_COUNTED:
                self._peers[node] = None

    def _files(self, fields: Mapping[str, JsonValue]) -> None:
        content, cut = fields.get("content"), fields.get("cut")
        files = content.get("files") if isinstance(content, dict) else None
        for one in files if isinstance(files, list) else ():
            size = one[1] if isinstance(one, list) and len(one) > 1 else None
            self._add("files")
            self._add("file_bytes", size if isinstance(size, int) else 0)
        # What was too much for a row is still counted in it.
        left = cut.get("files") if isinstance(cut, dict) else None
        more = left.get("count") if isinstance(left, dict) else None
        self._add("files", more if isinstance(more, int) else 0)

    def _approval(self, decision: str) -> None:
        name = "allowed" if decision.startswith("allowed_") else decision
        if name in {"asked", "allowed", "denied"}:
            self._add(f"approvals_{name}")

    def _turned_away(self, row: R, fields: Mapping[str, JsonValue]) -> None:
        extra = fields.get("extra")
        several = extra.get("count") if isinstance(extra, dict) else None
        self._add("turned_away", several if isinstance(several, int) else 1)
        self._blocks.append(row)


def first_since(since_us: int, first: int, size: int, time_at: Callable[[int], int | None]) -> int:
    """The first of rows `first` to `size` - 1 from which on all are of `since_us` or later, but for clock steps.

    `time_at` gives a row's time, None where it has none that can be read: such a row counts as one from before.
    """
    low, high = first, size
    while low < high:
        middle = (low + high) // 2
        when = time_at(middle)
        if when is not None and when >= since_us:
            high = middle
        else:
            low = middle + 1
    return low
