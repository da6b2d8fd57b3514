"""Any node id survives being shown and typed; a slip does not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import ErrorCode, MeshError
from node.core.node_id import parse, show

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
IDS = st.text(ALPHABET, min_size=52, max_size=52)
PLACES = [at for at in range(63) if at % 8 != 7]


@given(IDS)
def test_what_is_shown_reads_back(node_id: str) -> None:
    shown = show(node_id)
    assert [len(group) for group in shown.split("-")] == [7] * 8
    assert parse(shown) == node_id


@given(IDS, st.sampled_from(PLACES), st.data())
def test_any_single_wrong_character_is_refused(node_id: str, at: int, data: st.DataObject) -> None:
    shown = show(node_id)
    other = data.draw(st.sampled_from([one for one in ALPHABET.upper() if one != shown[at]]))
    with pytest.raises(MeshError) as refused:
        parse(shown[:at] + other + shown[at + 1 :])
    assert str(at // 8 + 1) in refused.value.details["groups"]  # type: ignore[operator]


@given(IDS)
def test_any_swap_of_neighbours_is_refused_but_for_a_and_7(node_id: str) -> None:
    """Luhn mod 32 cannot tell the first from the last of its alphabet, as Luhn mod 10 cannot tell 09 from 90."""
    shown = show(node_id)
    for here, there in pairwise(PLACES):
        first, second = shown[here], shown[there]
        swapped = shown[:here] + second + shown[here + 1 : there] + first + shown[there + 1 :]
        within = PLACES.index(here) // 14 == PLACES.index(there) // 14
        if first == second:
            continue
        if {first, second} == {"A", "7"} and within:
            assert parse(swapped) != node_id
        else:
            with pytest.raises(MeshError):
                parse(swapped)


@pytest.mark.parametrize("first", ALPHABET)
@pytest.mark.parametrize("at", [0, 5, 6, 11, 12, 13])
def test_every_pair_of_neighbours_swapped_at_either_weight(first: str, at: int) -> None:
    """Exhaustive over pairs: places 0 to 12 of a block and its check character, 13, with the first of the next."""
    for second in ALPHABET:
        if first == second:
            continue
        node_id = "m" * at + first + second + "m" * (50 - at)
        checked = show(node_id).replace("-", "")
        swapped = list(checked)
        swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
        if swapped == list(checked):
            continue
        missed = {checked[at], checked[at + 1]} == {"A", "7"} and at != 13
        if missed:
            assert parse("".join(swapped)) != node_id
        else:
            with pytest.raises(MeshError):
                parse("".join(swapped))


@given(st.text(max_size=80) | st.text(ALPHABET + ALPHABET.upper() + "-0189 ", min_size=50, max_size=70))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except MeshError as refused:
        assert refused.code is ErrorCode.INVALID_ARGUMENT
    else:
        assert parse(show(found)) == found
