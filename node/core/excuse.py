"""What excuses rows that are gone: a prune row, in the log itself or, of a closed log, in a later one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from node.core.canonical import JsonValue, decode
from node.core.retention import DAY_US, TOLERANCE_US, told_of
from node.core.timeline import RowKind
from node.core.timeline_check import Header, read_row

_PRUNE: Final = RowKind.PRUNE.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Excuse:
    """A prune row as far as it holds: its number and what it says."""

    row: int
    first: int
    next: int
    why: str


def why_gone(said: Mapping[str, JsonValue], proven_us: int) -> str:
    """Why rows were pruned by what a row says at that time; empty when they were not old enough for that."""
    if said.get("why") == "size":
        return "size"
    days, last = said.get("keep_days"), said.get("last_ts")
    old = type(days) is int and type(last) is int and days >= 1 and proven_us - last >= days * DAY_US
    return "age" if old else ""


def of_closed(log: str, later: str, seq: int, data: bytes, root_at: Callable[[int], bytes | None]) -> Excuse | None:
    """What row `seq` of the log `later` excuses of the closed `log`, whose root after so many rows `root_at` knows."""
    header = read_row(later, seq, data)
    if not isinstance(header, Header) or header.row != _PRUNE:
        return None
    said = told_of(decode(data).get("extra"), log)
    if said is None:
        return None
    first, after, root = said.get("first"), said.get("next"), said.get("root")
    # Said once more it is by a clock that may be behind by as much as a clock is put right.
    why = why_gone(said, header.ts + TOLERANCE_US)
    if type(first) is not int or type(after) is not int or not 0 <= first < after or not why:
        return None
    known = root_at(after)
    return Excuse(row=seq, first=first, next=after, why=why) if known is not None and known.hex() == root else None
