"""Texts that can be stored and sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.text import well_formed

HIGH, LOW = "\ud83d", "\ude00"


@pytest.mark.parametrize("text", ["", "plain", "naïve – ünïcode", "\U0001f600", "a\x00b", "\u2028\ufeff\uffff"])
def test_what_is_well_formed_stays(text: str) -> None:
    assert well_formed(text) == text


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (HIGH, "\ufffd"),
        (LOW, "\ufffd"),
        (f"a{HIGH}b", "a\ufffdb"),
        (f"a{LOW}b", "a\ufffdb"),
        (LOW + HIGH, "\ufffd\ufffd"),
        (HIGH + HIGH + LOW, "\ufffd\U0001f600"),
        (HIGH + LOW, "\U0001f600"),
        (f"{HIGH}\U0001f600", "\ufffd\U0001f600"),
    ],
)
def test_lone_halves_are_replaced_and_pairs_joined(text: str, mended: str) -> None:
    assert well_formed(text) == mended


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_can_be_stored_and_is_mended_once(text: str) -> None:
    mended = well_formed(text)
    mended.encode("utf-8")
    assert well_formed(mended) == mended
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert mended == text
