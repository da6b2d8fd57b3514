"""A step of the wall clock between two rows, measured against the clock that only goes forward.

The same reckoning as the check of a log makes, so that what is found there stands in a row as well. Sleep is no step:
the steady clock counts through it.
"""

from __future__ import annotations

from node.core.canonical import MAX_INT, decode
from node.core.errors import MeshError
from node.core.row_codes import ExtraKey, RowDecision, RowEngine
from node.core.timeline import Clock, Row, RowKind
from node.core.timeline_check import CLOCK_DRIFT_PPM, CLOCK_TOLERANCE_US


def step_us(before: Clock, now: Clock) -> int:
    """By how many microseconds wall time moved more than it should have, back if negative; 0 for no step.

    Across a restart of the machine, where the steady clock says nothing, only a wall clock that went back is a step.
    """
    step, tolerated = now.ts_us - before.ts_us, CLOCK_TOLERANCE_US
    if now.boot == before.boot:
        steady = now.mono_us - before.mono_us
        step -= steady
        tolerated += abs(steady) * CLOCK_DRIFT_PPM // 1_000_000
    elif step > 0:
        return 0
    return step if abs(step) > tolerated else 0


def reading_of(data: bytes) -> Clock | None:
    """The clock as a stored row has it; None for bytes that are none."""
    try:
        row = decode(data)
    except MeshError:
        return None
    ts, mono, boot = row.get("ts"), row.get("mono"), row.get("boot")
    if not (isinstance(ts, int) and isinstance(mono, int) and isinstance(boot, str)):
        return None
    return Clock(ts_us=ts, mono_us=mono, boot=boot)


def step_row(step: int, sw: str) -> Row:
    """The row of a step of the clock, to be written before the one that it was noticed at."""
    return Row(
        row=RowKind.CLOCK,
        engine=RowEngine.CLOCK,
        decision=RowDecision.STEPPED,
        sw=sw,
        extra={ExtraKey.STEP_US: max(-MAX_INT, min(MAX_INT, step))},
    )
