"""Whether a log is still the one that somebody has seen, and the row that another log begins with when it is not.

Numbers are never used twice: a log that is shorter than it was, or another one, is closed as it stands, and the next
epoch begins with a row that says what was seen and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from node.core.canonical import JsonValue
from node.core.note import TreeHead
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason
from node.core.timeline import Row, RowKind


class Break(StrEnum):
    """How a log is not the one that was seen: the code in the row, with words in `BREAKS`."""

    ROLLED_BACK = "rolled_back"
    LOST = "database_lost"
    FORKED = "forked"
    DAMAGED = "damaged"


BREAKS: Final = {
    Break.ROLLED_BACK: "an old copy of the database was put back",
    Break.LOST: "the database that held it is gone",
    Break.FORKED: "its rows are not those that were signed",
    Break.DAMAGED: "its rows do not fit together",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What was seen of a log, how much of it was found, and how it broke."""

    seen: TreeHead
    found: int
    reason: Break

    @property
    def words(self) -> str:
        """What happened, for a person."""
        return (
            f"The log {self.seen.origin} had {self.seen.size} rows and has {self.found}: {BREAKS[self.reason]}. "
            "Another log was begun. Find out who did that, and keep copies of the node's folder."
        )


def broken(seen: TreeHead, *, size: int | None, root: bytes | None, new: bool) -> Break | None:
    """How a log broke that was `seen`: it has `size` rows now (None: it is not there), and `root` at the size seen.

    `new`: the whole database is.
    """
    if size is None:
        return Break.LOST if new else Break.ROLLED_BACK
    if size < seen.size:
        return Break.ROLLED_BACK
    return None if root == seen.root else Break.FORKED


def next_origin(node: str, origins: Iterable[str]) -> str:
    """The origin of the node's next local log, after all of these."""
    return f"local/{node}/{max(map(_epoch, origins), default=0) + 1}"


def gap_row(gap: Gap, sw: str) -> Row:
    """The first row of the next epoch."""
    extra: dict[str, JsonValue] = {
        ExtraKey.FOUND: gap.found,
        ExtraKey.LOG: gap.seen.origin,
        ExtraKey.ROOT: gap.seen.root.hex(),
        ExtraKey.SIZE: gap.seen.size,
    }
    return Row(
        row=RowKind.GAP,
        engine=RowEngine.TIMELINE,
        decision=RowDecision.GAP,
        reason=RowReason(gap.reason),
        sw=sw,
        extra=extra,
    )


def override_row(row: Row) -> Row:
    """What is left of a row that could not be written in full, where the owner allows that: its ids and codes."""
    return Row(
        row=RowKind.OVERRIDE,
        engine=RowEngine.OVERRIDE,
        decision=RowDecision.RELAYED,
        reason=RowReason.OWNER_ALLOWED,
        sw=row.sw,
        msg=row.msg,
        conv=row.conv,
        kind=row.kind,
        leg=row.leg,
        extra={ExtraKey.ENGINE: row.engine, ExtraKey.GIVEN: row.decision},
    )


def left_out_row(seq: int, sw: str) -> Row:
    """The row that counts what a row before it could not say."""
    extra: dict[str, JsonValue] = {ExtraKey.COUNT: 1, ExtraKey.FROM_SEQ: seq, ExtraKey.TO_SEQ: seq}
    return Row(
        row=RowKind.GAP,
        engine=RowEngine.TIMELINE,
        decision=RowDecision.GAP,
        reason=RowReason.OWNER_ALLOWED,
        sw=sw,
        extra=extra,
    )


def gap_in(reason: JsonValue, extra: JsonValue) -> Gap | None:
    """The gap that a row tells of by its reason and its extra values; None when it tells of none."""
    if not isinstance(extra, dict) or reason not in set(Break):
        return None
    keys = (ExtraKey.LOG, ExtraKey.SIZE, ExtraKey.ROOT, ExtraKey.FOUND)
    origin, size, root, found = (extra.get(key) for key in keys)
    if isinstance(origin, str) and isinstance(size, int) and isinstance(root, str) and isinstance(found, int):
        seen = TreeHead(origin=origin, size=size, root=bytes.fromhex(root))
        return Gap(seen=seen, found=found, reason=Break(str(reason)))
    return None


def _epoch(origin: str) -> int:
    last = origin.rpartition("/")[2]
    return int(last) if last.isascii() and last.isdigit() else 0
