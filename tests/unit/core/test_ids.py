"""Ids: their form, their short form, and what a prefix means."""

from __future__ import annotations

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id, make_id, match_prefix, short

ONE, TWO, THREE = "abcdefgh22222222", "abcdefgh33333333", "zzzzzzzz44444444"


def test_known_bytes_spell_known_ids() -> None:
    assert make_id(bytes(10)) == "a" * 16
    assert make_id(b"\xff" * 10) == "7" * 16
    assert make_id(bytes(range(10))) == "aaaqeayeaudaocaj"
    assert short("aaaqeayeaudaocaj") == "aaaqeaye"


@pytest.mark.parametrize("size", [0, 9, 11, 16])
def test_an_id_is_made_of_ten_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="10 bytes"):
        make_id(bytes(size))


@pytest.mark.parametrize(
    "text",
    ["", "a" * 15, "a" * 17, "A" * 16, "a" * 15 + "1", "a" * 15 + "8", "a" * 16 + "\n", "а" * 16, " " + "a" * 15],
)
def test_what_is_no_id(text: str) -> None:
    assert not is_id(text)


@pytest.mark.parametrize("wanted", [ONE, ONE[:9], f"  {ONE[:12]}\n", ONE.upper()])
def test_a_prefix_that_fits_one_id_names_it(wanted: str) -> None:
    assert match_prefix(wanted, [ONE, TWO, THREE, ONE], what="exchange") == ONE


def test_six_characters_are_enough_and_five_are_not() -> None:
    assert match_prefix("zzzzzz", [ONE, THREE], what="exchange") == THREE
    with pytest.raises(MeshError) as refused:
        match_prefix("zzzzz", [ONE, THREE], what="exchange")
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("wanted", ["", "abc", "a" * 17, "abcdef/1", "@payments", "%_____", "abcdef*", "ａｂｃｄｅｆ"])
def test_what_cannot_be_a_prefix_is_refused_with_the_form(wanted: str) -> None:
    with pytest.raises(MeshError) as refused:
        match_prefix(wanted, [ONE], what="exchange")
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    assert "list_delegations" in refused.value.message


def test_a_long_refused_text_is_not_quoted_whole() -> None:
    with pytest.raises(MeshError) as refused:
        match_prefix("!" * 100_000, [ONE], what="exchange")
    assert len(refused.value.message) < 400


def test_an_unknown_id_is_not_found() -> None:
    with pytest.raises(MeshError) as refused:
        match_prefix("qqqqqq", [ONE, TWO], what="open question")
    assert refused.value.code is ErrorCode.NOT_FOUND
    assert "open question qqqqqq" in refused.value.message


def test_a_prefix_of_several_ids_lists_them() -> None:
    with pytest.raises(MeshError) as refused:
        match_prefix("abcdefgh", [TWO, ONE, THREE], what="exchange")
    assert refused.value.code is ErrorCode.AMBIGUOUS
    assert refused.value.details == {"choices": (ONE, TWO)}


def test_the_list_of_choices_ends() -> None:
    many = [f"abcdefgh{a}{b}aaaaaa" for a in "abcd" for b in "abcd"]
    with pytest.raises(MeshError) as refused:
        match_prefix("abcdef", many, what="exchange")
    assert "16 ids" in refused.value.message
    assert len(refused.value.details["choices"]) == 8  # type: ignore[arg-type]
