"""A step of the clock is what the check of a log calls one, no more and no less; and its row is never a step itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.canonical import MAX_INT, decode
from node.core.clock_step import reading_of, step_row, step_us
from node.core.timeline import Clock, Head, Row, RowKind, append
from node.core.timeline_check import CLOCK_DRIFT_PPM, CLOCK_TOLERANCE_US, Verifier

ORIGIN = "local/aaaaaaaaaaaaaaaa/1"
SECOND = 1_000_000
ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
# Around the limits of what counts, and anything.
MOMENTS = st.one_of(st.integers(0, 10 * SECOND), st.integers(0, MAX_INT))
READINGS = st.builds(Clock, ts_us=MOMENTS, mono_us=MOMENTS, boot=st.sampled_from(["one", "two"]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Clock, Clock]:
    """Two readings: any, or as much apart as a slewed clock may be, give or take a little."""
    before = draw(READINGS)
    if draw(st.booleans()):
        return before, draw(READINGS)
    steady = draw(st.integers(0, 10**13))
    most = CLOCK_TOLERANCE_US + steady * CLOCK_DRIFT_PPM // 1_000_000
    apart = draw(st.sampled_from([-1, 1])) * (most + draw(st.integers(-3, 3)))
    now = Clock(ts_us=max(0, before.ts_us + steady + apart), mono_us=before.mono_us + steady, boot=before.boot)
    return (before, now) if max(now.ts_us, now.mono_us) <= MAX_INT else (before, before)


@settings(deadline=None, max_examples=1_000)
@given(readings=pairs())
def test_it_is_what_the_check_finds(readings: tuple[Clock, Clock]) -> None:
    before, now = readings
    verifier = Verifier(ORIGIN)
    head = Head.empty(ORIGIN)
    for clock in (before, now):
        head, entry = append(head, clock, ROW)
        assert verifier.feed(entry.seq, entry.data, entry.leaf) is None
    found = [one.step_us for one in verifier.finish().clock_steps]
    step = step_us(before, now)
    assert found == ([step] if step else [])


@given(clock=READINGS)
def test_a_reading_comes_back_from_its_row(clock: Clock) -> None:
    _, entry = append(Head.empty(ORIGIN), clock, ROW)
    assert reading_of(entry.data) == clock
    assert reading_of(entry.data[:-1]) is None
    assert step_us(clock, clock) == 0


@given(step=st.integers(-(2**60), 2**60))
def test_its_row_can_be_written_whatever_the_step(step: int) -> None:
    _, entry = append(Head.empty(ORIGIN), Clock(ts_us=1, mono_us=1, boot="one"), step_row(step, "test/1"))
    row = decode(entry.data)
    assert (row["row"], row["engine"], row["decision"]) == ("clock", "clock", "stepped")
    extra = row["extra"]
    assert isinstance(extra, dict)
    assert extra["step_us"] == step or abs(step) > MAX_INT


def test_sleep_is_no_step_and_a_clock_put_right_is() -> None:
    slept = Clock(ts_us=9 * 3600 * SECOND, mono_us=8 * 3600 * SECOND, boot="one")
    assert step_us(Clock(ts_us=3600 * SECOND, mono_us=0, boot="one"), slept) == 0
    assert step_us(Clock(ts_us=3600 * SECOND, mono_us=0, boot="one"), Clock(ts_us=0, mono_us=1, boot="one")) < 0
