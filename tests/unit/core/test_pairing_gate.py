"""When a node may pair, and when not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.pairing_gate import MOST_CLOSED_S, PairingGate, at, ended, opened, started

S = 1_000_000
LIMITS = Limits()


def run_of(gate: PairingGate, now: int, *, paired: bool = False, burned: bool = False) -> PairingGate:
    return ended(started(opened(gate, now, LIMITS), now), now, LIMITS, paired=paired, burned=burned)


def burned_out(gate: PairingGate, now: int) -> PairingGate:
    for _ in range(LIMITS.pairing_burned_codes):
        gate = run_of(gate, now, burned=True)
    return gate


def code_of(error: pytest.ExceptionInfo[MeshError]) -> ErrorCode:
    return error.value.code


def test_nobody_pairs_unless_a_person_wants_it() -> None:
    with pytest.raises(MeshError) as refused:
        started(PairingGate(), 5 * S)
    assert code_of(refused) is ErrorCode.WRONG_STATE


def test_the_window_is_two_minutes() -> None:
    gate = opened(PairingGate(), 7 * S, LIMITS)
    assert gate.until_us == 127 * S
    assert started(gate, 7 * S).running
    assert started(gate, 127 * S - 1).running
    for late in (127 * S, 1_000 * S):
        with pytest.raises(MeshError) as refused:
            started(gate, late)
        assert code_of(refused) is ErrorCode.WRONG_STATE


@pytest.mark.parametrize("how", [{"paired": True}, {"burned": True}, {}])
def test_one_act_is_one_run_however_it_ends(how: dict[str, bool]) -> None:
    gate = run_of(PairingGate(), S, **how)
    with pytest.raises(MeshError) as refused:
        started(gate, 2 * S)
    assert code_of(refused) is ErrorCode.WRONG_STATE


def test_two_runs_never_go_on_at_once() -> None:
    gate = started(opened(PairingGate(), S, LIMITS), 2 * S)
    for attempt in (lambda: started(gate, 3 * S), lambda: opened(gate, 3 * S, LIMITS)):
        with pytest.raises(MeshError) as refused:
            attempt()
        assert code_of(refused) is ErrorCode.WRONG_STATE


def test_a_run_whose_end_was_never_told_does_not_outlive_its_window() -> None:
    gate = started(opened(PairingGate(), S, LIMITS), 2 * S)
    with pytest.raises(MeshError):
        started(gate, 121 * S)
    assert opened(gate, 121 * S, LIMITS).until_us == 241 * S


def test_runs_an_hour_are_limited_and_come_back_one_by_one() -> None:
    gate = PairingGate()
    for number in range(LIMITS.pairing_runs_per_hour):
        gate = run_of(gate, number * 10 * S)
    with pytest.raises(MeshError) as refused:
        opened(gate, 1_000 * S, LIMITS)
    assert code_of(refused) is ErrorCode.LIMIT
    assert refused.value.details == {"limit": 20, "seconds": 2_600}
    gate = run_of(gate, 3_600 * S)
    with pytest.raises(MeshError) as refused:
        opened(gate, 3_600 * S, LIMITS)
    assert refused.value.details["seconds"] == 10
    assert len(gate.runs_us) == LIMITS.pairing_runs_per_hour


def test_opening_without_a_run_is_free() -> None:
    gate = PairingGate()
    for number in range(100):
        gate = opened(gate, number * S, LIMITS)
    assert gate.runs_us == ()


def test_three_burned_codes_close_pairing_twice_as_long_each_time() -> None:
    gate, now, seconds = PairingGate(), 0, []
    for _ in range(9):
        gate = burned_out(gate, now)
        with pytest.raises(MeshError) as refused:
            opened(gate, now, LIMITS)
        assert code_of(refused) is ErrorCode.LIMIT
        seconds.append(refused.value.details["seconds"])
        with pytest.raises(MeshError):
            opened(gate, gate.closed_until_us - 1, LIMITS)
        now = gate.closed_until_us
        opened(gate, now, LIMITS)
        now += 3_600 * S
    assert seconds == [900, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600, MOST_CLOSED_S, MOST_CLOSED_S]


def test_runs_that_burned_nothing_do_not_close_it() -> None:
    gate = PairingGate()
    for number in range(12):
        gate = run_of(gate, number * S)
    assert gate.closed_until_us == 0


def test_burned_codes_add_up_over_runs_that_came_to_nothing_and_a_pair_clears_them() -> None:
    gate = run_of(run_of(run_of(PairingGate(), 0, burned=True), S), 2 * S, burned=True)
    assert run_of(gate, 3 * S, burned=True).closed_until_us == 903 * S
    assert run_of(run_of(gate, 3 * S, paired=True), 4 * S, burned=True).closed_until_us == 0


def test_a_pair_also_ends_the_doubling() -> None:
    gate = burned_out(PairingGate(), 0)
    gate = run_of(gate, 3_600 * S, paired=True)
    assert burned_out(gate, 3_700 * S).closed_until_us == 4_600 * S


def test_a_longer_first_closing_than_the_cap_counts() -> None:
    limits = Limits(pairing_closed_s=100_000, pairing_burned_codes=1)
    gate = started(opened(PairingGate(), 0, limits), 0)
    assert ended(gate, 0, limits, paired=False, burned=True).closed_until_us == 100_000 * S


def test_a_clock_that_is_put_back_forgives_no_run() -> None:
    gate, then = PairingGate(), 90_000 * S
    for number in range(LIMITS.pairing_runs_per_hour):
        gate = run_of(gate, then + number * S)
    gate = at(gate, S, LIMITS)
    with pytest.raises(MeshError) as refused:
        opened(gate, S, LIMITS)
    assert refused.value.details == {"limit": 20, "seconds": 3_600}
    assert opened(at(gate, 3_601 * S, LIMITS), 3_601 * S, LIMITS).runs_us == ()


def test_a_clock_that_is_put_back_makes_no_window_longer() -> None:
    gate = at(opened(PairingGate(), 90_000 * S, LIMITS), S, LIMITS)
    assert gate.until_us == 121 * S
    assert started(gate, 121 * S - 1).running
    with pytest.raises(MeshError):
        started(gate, 121 * S)


@pytest.mark.parametrize(("closed_s", "longest_s"), [(900, MOST_CLOSED_S), (100_000, 100_000)])
def test_a_clock_that_is_put_back_closes_for_no_longer_than_the_longest(closed_s: int, longest_s: int) -> None:
    limits = Limits(pairing_closed_s=closed_s, pairing_burned_codes=1)
    gate = started(opened(PairingGate(), 900_000 * S, limits), 900_000 * S)
    gate = ended(gate, 900_000 * S, limits, paired=False, burned=True)
    assert at(gate, 900_000 * S, limits) == gate
    assert at(gate, S, limits).closed_until_us == S + longest_s * S


@given(st.integers(0, 10**15))
def test_a_gate_without_times_is_the_same_at_any(now: int) -> None:
    assert at(PairingGate(), now, LIMITS) == PairingGate()


ACTS = st.lists(st.tuples(st.sampled_from(["open", "start", "burn", "fail", "pair"]), st.integers(0, 400)), max_size=60)


@given(ACTS)
def test_whatever_happens_the_limits_hold(acts: list[tuple[str, int]]) -> None:
    gate, now, starts = PairingGate(), 0, list[int]()
    for act, seconds in acts:
        now += seconds * S
        before = gate
        try:
            if act == "open":
                gate = opened(gate, now, LIMITS)
            elif act == "start":
                gate = started(gate, now)
                starts.append(now)
            elif gate.running:
                gate = ended(gate, now, LIMITS, paired=act == "pair", burned=act == "burn")
        except MeshError:
            assert gate == before
            continue
        if act == "start":
            assert before.until_us is not None
            assert before.until_us - 120 * S <= now < before.until_us
            assert now >= before.closed_until_us
        assert len([one for one in starts if one > now - 3_600 * S]) <= LIMITS.pairing_runs_per_hour
        assert gate.burned < LIMITS.pairing_burned_codes
        assert len(gate.runs_us) <= LIMITS.pairing_runs_per_hour
