"""Limits: their defaults, their settings and their refusals."""

from __future__ import annotations

from dataclasses import asdict, fields

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits, limits_from


def test_the_defaults_are_those_that_users_are_told() -> None:
    told = {
        "nesting": 3, "open_exchanges": 8, "wait_default_s": 50, "wait_max_s": 600, "hops": 8, "notice_again_s": 180,
        "notice_times": 3, "report_quiet_s": 180,
    }  # fmt: skip
    assert {name: value for name, value in asdict(Limits()).items() if name in told} == told


def test_every_limit_is_a_positive_whole_number() -> None:
    assert all(type(value) is int and value > 0 for value in asdict(Limits()).values())


@pytest.mark.parametrize(("given", "refused"), [(0, False), (10, False), (11, True)])
def test_a_text_may_be_as_long_as_its_limit(given: int, *, refused: bool) -> None:
    text = "ä" * given
    if not refused:
        Limits().check_text("note", text, 10)
        return
    with pytest.raises(MeshError) as caught:
        Limits().check_text("note", text, 10)
    assert caught.value.code is ErrorCode.LIMIT
    assert caught.value.details == {"limit": 10, "given": 11}
    assert "note has 11 characters; the limit is 10" in caught.value.message


def test_characters_are_counted_not_bytes() -> None:
    Limits().check_text("text", "\U0001f600" * 10, 10)


@pytest.mark.parametrize(("asked", "seconds"), [(None, 50), (0, 0), (1, 1), (600, 600)])
def test_how_long_a_call_may_block(asked: int | None, seconds: int) -> None:
    assert Limits().wait_seconds(asked) == seconds


@pytest.mark.parametrize("asked", [-1, 601, 10**9])
def test_a_longer_wait_is_refused_not_cut(asked: int) -> None:
    with pytest.raises(MeshError) as caught:
        Limits().wait_seconds(asked)
    assert caught.value.code is ErrorCode.LIMIT
    assert caught.value.details == {"limit": 600}


@pytest.mark.parametrize("name", [f.name for f in fields(Limits)])
def test_each_limit_can_be_set(name: str) -> None:
    assert asdict(limits_from({name: 17})) == asdict(Limits()) | {name: 17}


@pytest.mark.parametrize("value", [0, -5])
def test_a_limit_is_above_zero(value: int) -> None:
    with pytest.raises(MeshError) as caught:
        limits_from({"hops": value})
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert "hops" in caught.value.message


def test_an_unknown_limit_is_refused_with_the_known_ones() -> None:
    with pytest.raises(MeshError) as caught:
        limits_from({"hop": 3})
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert "'hop'" in caught.value.message
    assert "hops" in caught.value.message
