"""What a check says of the clocks that rows were written by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from node.core.timeline import Clock, RowKind
from node.core.timeline_check import MAX_FINDINGS
from tests.unit.core.test_timeline import OUTCOME, PLAIN, SECOND, clock, verified, written


@pytest.mark.parametrize(
    ("second", "steps"),
    [
        (clock(10), []),
        (clock(10, wall=2), []),
        (clock(10, wall=-86_400), [-86_400 * SECOND]),
        (clock(10, wall=90 * 86_400), [90 * 86_400 * SECOND]),
        (clock(10 * 86_400), []),  # asleep for days: both clocks went on
        (clock(10 * 86_400, wall=60), []),  # slewed by 70 parts per million for ten days
        (Clock(ts_us=clock(99).ts_us, mono_us=5, boot="boot-2"), []),
        (Clock(ts_us=clock(0).ts_us - 3_600 * SECOND, mono_us=5, boot="boot-2"), [-3_600 * SECOND]),
    ],
)
def test_clock_steps_are_told_from_sleep_drift_and_restarts(second: Clock, steps: list[int]) -> None:
    _, entries = written([(clock(0), PLAIN), (second, OUTCOME)])
    found = verified(entries)
    assert found.ok
    assert [step.step_us for step in found.clock_steps] == steps
    assert all(step.seq == 1 for step in found.clock_steps)


def test_findings_are_bounded_but_counted() -> None:
    rows = ((clock(second, wall=10 * (second % 2)), replace(PLAIN, row=RowKind.GAP)) for second in range(300))
    found = verified(written(rows)[1])
    assert len(found.clock_steps) == MAX_FINDINGS
    assert found.clock_steps_total == 299
    assert len(found.warnings) == MAX_FINDINGS + 1


def test_a_steady_clock_that_went_back_is_a_warning() -> None:
    earlier = Clock(ts_us=clock(5).ts_us, mono_us=4 * SECOND, boot="boot-1")
    found = verified(written([(clock(5), PLAIN), (earlier, PLAIN)])[1])
    assert found.ok
    assert "row 1" in found.warnings[0]
