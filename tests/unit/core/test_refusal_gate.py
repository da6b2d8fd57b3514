"""Refusals: rows up to the limit, a count beyond it, and nothing forgotten."""

from __future__ import annotations

from node.core.refusal_gate import RefusalGate

MINUTE_US = 60_000_000


def test_rows_up_to_the_limit_and_again_after_a_minute() -> None:
    gate = RefusalGate(3)
    assert [gate.take("stranger", at) for at in range(5)] == [True, True, True, False, False]
    assert [gate.take("stranger", MINUTE_US + at) for at in range(4)] == [True, True, True, False]


def test_the_others_are_told_once_it_is_calm() -> None:
    gate = RefusalGate(1)
    assert not gate.due(0)
    for at, reason in enumerate(["a", "b", "a", "c"]):
        gate.take(reason, at)
    assert not gate.due(3 + MINUTE_US - 1)
    assert gate.due(3 + MINUTE_US)
    untold = gate.untold()
    assert (untold.count, untold.reasons) == (3, {"a": 1, "b": 1, "c": 1})
    assert not gate.due(99 * MINUTE_US)
    assert gate.untold().count == 0


def test_a_flood_that_does_not_end_is_told_of_all_the_same() -> None:
    gate = RefusalGate(1)
    told, refused, second = 0, 3_600, 1_000_000
    rows = 0
    for at in range(refused):
        rows += gate.take("stranger", at * second)
        if gate.due(at * second):
            told += 1
            rows += gate.untold().count
    assert told == 5
    assert rows + gate.untold().count == refused


def test_kinds_are_few() -> None:
    gate = RefusalGate(1)
    for at in range(100):
        gate.take(f"reason{at}", at)
    untold = gate.untold()
    assert untold.count == 99
    assert len(untold.reasons) == 17
    assert untold.reasons["other"] == 83


def test_a_clock_that_goes_back_does_not_silence_the_log() -> None:
    gate = RefusalGate(1)
    assert gate.take("a", 10 * MINUTE_US)
    assert not gate.take("a", 10 * MINUTE_US + 1)
    assert gate.take("a", MINUTE_US)
    assert gate.due(MINUTE_US)
