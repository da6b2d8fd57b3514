"""How long to wait before another try."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.backoff import delay


@pytest.mark.parametrize(
    ("attempt", "fraction", "seconds"),
    [(0, 0.0, 0.0), (0, 0.5, 0.125), (1, 0.5, 0.25), (3, 0.5, 1.0), (6, 0.5, 7.5), (7, 0.5, 15.0), (8, 0.5, 15.0),
     (10_000, 0.5, 15.0)],
)  # fmt: skip
def test_the_bound_doubles_up_to_the_cap(attempt: int, fraction: float, seconds: float) -> None:
    capped = 15.0 if attempt < 7 else 30.0
    assert delay(attempt, base_s=0.25, cap_s=capped, fraction=fraction) == seconds


@given(
    st.integers(0, 10**9), st.floats(0.001, 100), st.floats(1, 1_000), st.floats(0, 1, exclude_max=True), st.data()
)  # fmt: skip
def test_it_is_within_its_bound_and_the_bound_never_shrinks(
    attempt: int, base: float, factor: float, fraction: float, data: st.DataObject
) -> None:
    cap = base * factor
    waited = delay(attempt, base_s=base, cap_s=cap, fraction=fraction)
    assert 0 <= waited <= cap
    assert waited <= delay(attempt + data.draw(st.integers(0, 100)), base_s=base, cap_s=cap, fraction=fraction)


@pytest.mark.parametrize(
    ("attempt", "base", "cap", "fraction"),
    [(-1, 1.0, 2.0, 0.5), (0, 0.0, 2.0, 0.5), (0, 3.0, 2.0, 0.5), (0, 1.0, 2.0, 1.0), (0, 1.0, 2.0, -0.1),
     (0, 1.0, 2.0, float("nan"))],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(attempt: int, base: float, cap: float, fraction: float) -> None:
    with pytest.raises(ValueError, match="no back-off"):
        delay(attempt, base_s=base, cap_s=cap, fraction=fraction)
