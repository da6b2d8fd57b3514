"""Times out in the local zone, and in as people write them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cli.times import age, moment, point_in_time, span
from node.core.errors import ErrorCode, MeshError

NOW = 1_790_000_000_000_000  # 2026-09-21T14:13:20Z
HOUR = 3_600_000_000


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_moments_are_local_with_their_offset():
    assert moment(NOW + 250_000) == "2026-09-21 16:13:20.250+02:00"


@pytest.mark.parametrize("us", [-1, 10**18])
def test_a_moment_that_no_calendar_has_is_shown_as_the_number(us):
    assert moment(us) == f"{us} us"


@given(st.integers(-(2**53), 2**53))
def test_no_integer_of_a_row_breaks_it(us):
    assert moment(us)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("2h", NOW - 2 * HOUR),
        ("3D", NOW - 72 * HOUR),
        ("90 s", NOW - 90_000_000),
        ("now", NOW),
        ("2026-09-21T14:13:20Z", NOW),
        ("2026-09-21T16:13:20.5+02:00", NOW + 500_000),
        ("2026-09-21 16:13:20", NOW),
        ("2026-09-21", NOW - (16 * HOUR + 13 * 60_000_000 + 20_000_000)),
        ("999999999w", 0),
    ],
)
@pytest.mark.usefixtures("berlin")
def test_times_are_read_as_people_write_them(text, us):
    assert point_in_time(text, NOW) == us


@pytest.mark.parametrize("text", ["", "yesterday", "2h3", "-2h", "2026-13-01", "٣h", "10"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(MeshError, match="is not a time") as refused:
        point_in_time(text, NOW)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


def test_ages_and_spans():
    assert [age(NOW - us, NOW) for us in (-HOUR, 0, 12_000_000, 5 * 60_000_000, 3 * HOUR, 100 * HOUR)] == [
        "now", "now", "12s", "5m", "3h", "4d",
    ]  # fmt: skip
    assert [span(NOW - us, NOW) for us in (0, 45_000_000, 3 * HOUR + 12 * 60_000_000, 52 * HOUR)] == [
        "0s", "45s", "3h 12m", "2d 4h",
    ]  # fmt: skip
