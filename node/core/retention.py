"""Whether a clock may be believed that says that rows are old, and what the row says by which they are pruned.

Rows are deleted for their age, and age is what clocks say. So the wall clock has to agree with the clock that counts
through sleep in this boot, and something besides this boot's wall clock has to bear it out that the time went by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from node.core.canonical import JsonValue
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason, RowRole
from node.core.timeline import Clock, Party, Row, RowKind

DAY_US: Final = 86_400_000_000
TOLERANCE_US: Final = 3_600_000_000
"""By how much clocks may differ and still agree: rows are kept for days, and a clock that is set right moves less."""


class Doubt(StrEnum):
    """Why nothing is deleted: a code for the row, with words in `DOUBTS`."""

    WENT_BACK = "clock_went_back"
    STEPPED = "clock_stepped"
    UNPROVEN = "clock_unproven"
    UNSIGNED = "unsigned"


DOUBTS: Final = {
    Doubt.WENT_BACK: "The clock is behind the newest row, so nothing is deleted. Set it right (network time).",
    Doubt.STEPPED: "The clock jumped since this machine started, so nothing is deleted. If it is right now, this ends "
    "with the next start of the machine.",
    Doubt.UNPROVEN: "Nothing but this machine's clock says that so much time went by, so nothing is deleted. If it is "
    "right, this ends with the next start of the machine.",
    Doubt.UNSIGNED: "The rows that are old enough are not signed, so they are not deleted. The node signs those of its "
    "current log by itself within a minute; what a closed log ends with unsigned stays.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a row was written, by its clocks; `log` and `seq` say which, and later rows have larger ones."""

    log: int
    seq: int
    ts_us: int
    mono_us: int
    boot: str

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands among all rows of the node."""
        return self.log, self.seq


def doubt(now: Clock, moments: Sequence[Moment]) -> Doubt | None:
    """Why the wall clock cannot be right, whatever it is asked for. `moments` of rows in order, the last among them."""
    if moments and now.ts_us < moments[-1].ts_us - TOLERANCE_US:
        return Doubt.WENT_BACK
    for moment in moments:
        if moment.boot == now.boot and abs((now.ts_us - moment.ts_us) - (now.mono_us - moment.mono_us)) > TOLERANCE_US:
            return Doubt.STEPPED
    return None


def doubt_of_age(now: Clock, moments: Sequence[Moment], *, last: Moment, last_us: int, keep_us: int) -> Doubt | None:
    """Why it is not proven that `keep_us` went by since `last`, up to which rows say at most `last_us`.

    Any of three bears the clock out: that of a collector agrees with it; the clock that counts through sleep counted
    as much in the boots since; or the clock of an earlier boot, in which it did not jump, said so too.
    """
    if (found := doubt(now, moments)) is not None:
        return found
    if now.ts_us - last_us < keep_us:
        return Doubt.UNPROVEN
    if now.off_us is not None and abs(now.off_us) <= TOLERANCE_US:
        return None
    later = [last, *(moment for moment in moments if moment.place > last.place)]
    steady = _steady(moments) - {now.boot}
    if any(moment.boot in steady and moment.ts_us - last_us >= keep_us for moment in later):
        return None
    return None if _counted(now, later) >= keep_us else Doubt.UNPROVEN


def boots(moments: Sequence[Moment], last: Moment) -> int:
    """How many boots have rows behind the row `last`."""
    return len({moment.boot for moment in moments if moment.place > last.place})


def _steady(moments: Sequence[Moment]) -> frozenset[str]:
    """The boots in which the wall clock did not jump."""
    bounds: dict[str, tuple[int, int]] = {}
    for moment in moments:
        offset = moment.ts_us - moment.mono_us
        least, most = bounds.get(moment.boot, (offset, offset))
        bounds[moment.boot] = (min(least, offset), max(most, offset))
    return frozenset(boot for boot, (least, most) in bounds.items() if most - least <= TOLERANCE_US)


def _counted(now: Clock, moments: Sequence[Moment]) -> int:
    """How much the clock that counts through sleep counted between the first and the last row of each boot."""
    spans: dict[str, tuple[int, int]] = {}
    for boot, mono_us in (*((moment.boot, moment.mono_us) for moment in moments), (now.boot, now.mono_us)):
        first, end = spans.get(boot, (mono_us, mono_us))
        spans[boot] = (min(first, mono_us), max(end, mono_us))
    return sum(end - first for first, end in spans.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Rows `first` to `next` - 1 of a log, whole tiles, with their earliest and latest time; why is age or size.

    `end` is when the last of them was written.
    """

    log: int
    origin: str
    first: int
    next: int
    first_us: int
    last_us: int
    end: Moment
    why: str


def prune_row(
    found: Range, *, root: bytes, keep_days: int, boots_since: int, current: str, by_person: bool, node: str, sw: str
) -> Row:
    """The row by which a range is pruned; `root` is that of the tree over all rows up to its end.

    What it says of another log than the `current` one, in which it stands, is a level further in.
    """
    said: dict[str, JsonValue] = {
        ExtraKey.BOOTS: boots_since,
        ExtraKey.FIRST: found.first,
        ExtraKey.FIRST_TS: found.first_us,
        ExtraKey.KEEP_DAYS: keep_days,
        ExtraKey.LAST_TS: found.last_us,
        ExtraKey.NEXT: found.next,
        ExtraKey.ROOT: root.hex(),
        ExtraKey.WHY: found.why,
    }
    return _prune_row(
        said if found.origin == current else {ExtraKey.LOG: found.origin, ExtraKey.PRUNED: said},
        reason=found.why,
        sw=sw,
        by=Party(node=node, role=RowRole.PERSON if by_person else RowRole.NODE),
    )


def told_again(extra: dict[str, JsonValue], *, node: str, sw: str) -> Row:
    """The same once more of a closed log, before the row that said it is pruned itself."""
    said = extra.get(ExtraKey.PRUNED)
    why = said.get(ExtraKey.WHY) if isinstance(said, dict) else None
    return _prune_row(extra, reason=str(why or "age"), sw=sw, by=Party(node=node, role=RowRole.NODE))


def told_of(extra: JsonValue, origin: str) -> dict[str, JsonValue] | None:
    """What a prune row says of the closed log of that origin by its extra values; None when it is about another."""
    if not isinstance(extra, dict) or extra.get(ExtraKey.LOG) != origin:
        return None
    said = extra.get(ExtraKey.PRUNED)
    return said if isinstance(said, dict) else None


def _prune_row(extra: dict[str, JsonValue], *, reason: str, sw: str, by: Party) -> Row:
    return Row(
        row=RowKind.PRUNE,
        engine=RowEngine.PRUNE,
        decision=RowDecision.PRUNED,
        reason=RowReason(reason),
        sw=sw,
        src=by,
        extra=extra,
    )
