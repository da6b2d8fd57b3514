"""Node ids as people see and type them."""

from __future__ import annotations

import base64
import hashlib

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.node_id import is_node_id, parse, short, show

NODE = base64.b32encode(hashlib.sha256(b"a key").digest()).decode().lower().rstrip("=")
SHOWN = show(NODE)


def refused(text: str) -> MeshError:
    with pytest.raises(MeshError) as error:
        parse(text)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    return error.value


@pytest.mark.parametrize(
    ("node_id", "shown"),
    [
        # By hand: thirteen values of 0 sum to 0.
        ("a" * 52, "AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"),
        # Seven B that count 2 and six that count 1 make 20; 12 more is M.
        ("b" * 52, "BBBBBBB-BBBBBBM-BBBBBBB-BBBBBBM-BBBBBBB-BBBBBBM-BBBBBBB-BBBBBBM"),
        # The last of a block counts doubled: 7 (31) is 62, whose digits 1 and 30 make 31; 1 more is B.
        ("aaaaaaaaaaaa7" + "a" * 39, "AAAAAAA-AAAAA7B-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"),
        # The one before it counts once: Q (16) needs 16 more.
        ("aaaaaaaaaaaqa" + "a" * 39, "AAAAAAA-AAAAQAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"),
    ],
)
def test_an_id_is_shown_in_groups_with_check_characters(node_id: str, shown: str) -> None:
    assert show(node_id) == shown
    assert parse(shown) == node_id


@pytest.mark.parametrize(
    "typed",
    [SHOWN, SHOWN.lower(), SHOWN.replace("-", ""), SHOWN.replace("-", " "), f"  {SHOWN}\n",
     SHOWN.replace("-", "\u2011"), SHOWN.replace("-", " \u2013 "), "\t".join(SHOWN.lower().replace("-", ""))],
)  # fmt: skip
def test_case_blanks_and_dashes_do_not_matter(typed: str) -> None:
    assert parse(typed) == NODE


def test_digits_outside_the_alphabet_are_the_letters_they_look_like() -> None:
    node_id = "oib" + "a" * 49
    assert parse(show(node_id).replace("O", "0").replace("I", "1").replace("B", "8")) == node_id


def test_a_wrong_character_is_refused_and_its_groups_named() -> None:
    wrong = SHOWN[:20] + ("A" if SHOWN[20] != "A" else "B") + SHOWN[21:]
    error = refused(wrong)
    assert error.details == {"groups": ("3", "4")}
    assert wrong[16:31] in error.message


def test_a_character_of_no_alphabet_is_refused_in_its_own_group() -> None:
    error = refused(SHOWN[:-1] + "9")
    assert error.details == {"groups": ("8",)}
    assert "has 9," in error.message


@pytest.mark.parametrize("strange", ["\u212a", "\u0131", "\u017f", "\u00df", "\x1b", "\u202e"])
def test_a_letter_that_only_looks_like_one_is_refused_and_shown_for_what_it_is(strange: str) -> None:
    error = refused(strange + SHOWN[1:])
    assert error.details == {"groups": ("1",)}
    assert "\x1b" not in error.message
    assert "\u202e" not in error.message


def test_a_group_of_another_length_is_named() -> None:
    error = refused(SHOWN[:12] + SHOWN[13:])
    assert error.details == {"groups": ("2",)}
    assert "has 6 characters" in error.message


@pytest.mark.parametrize("text", ["", "-", SHOWN[:-8], SHOWN + "-A", SHOWN.replace("-", "")[1:]])
def test_another_number_of_characters_is_refused(text: str) -> None:
    assert "instead of 56" in refused(text).message


def test_the_stored_form_is_refused_with_what_it_lacks() -> None:
    assert "without its check characters" in refused(NODE).message


def test_a_long_text_is_refused_without_being_repeated() -> None:
    assert len(refused("A" * 100_000).message) < 300


def test_the_short_form_is_the_first_group() -> None:
    assert short(SHOWN) == SHOWN.split("-")[0]


@pytest.mark.parametrize("text", ["", NODE.upper(), NODE[:-1], NODE + "a", NODE[:-1] + "1", NODE + "\n"])
def test_only_the_stored_form_is_a_node_id(text: str) -> None:
    assert not is_node_id(text)
    with pytest.raises(ValueError, match="52 lowercase"):
        show(text)
