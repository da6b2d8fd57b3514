"""Nothing that others wrote moves the cursor, hides, or passes for a line of ours."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cli.text import BAR, Column, barred, fold, listed, one_line, plural, shorten, shorten_left, table, width

HOSTILE = [
    "a\nhelio: all is well",
    "\x1b[2J\x1b[Hhelio: all is well",
    "\r#9  relayed",
    "x\u2028fake\u2029line\x85again",
    "\u202eevil\u2066",
    "\U000e0041hidden",
    "tab\tand\x0bvt\x0cff",
    "\x9b31mred",
    "lone \ud800 surrogate",
]
_DANGEROUS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]")


@pytest.mark.parametrize("text", HOSTILE)
def test_one_line_is_one_line_without_anything_hidden(text):
    assert not _DANGEROUS.search(one_line(text))


@given(st.text())
def test_one_line_of_any_text_holds_nothing_dangerous(text):
    assert not _DANGEROUS.search(one_line(text))


@given(st.text(), st.none() | st.integers(10, 80))
def test_every_physical_line_of_a_body_begins_with_the_bar(text, columns):
    for row in barred(text, columns):
        assert row.startswith(BAR)
        assert not _DANGEROUS.search(row)
        if columns is not None:
            assert width(row) <= columns


def test_a_body_keeps_its_lines_and_its_indentation():
    assert barred("def f():\r\n\treturn 1\n", None) == ["│ def f():", "│     return 1"]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), st.integers(4, 40))
def test_folding_loses_nothing(text, columns):
    assert "".join(fold(text, columns)) == text


def test_folding_prefers_blanks():
    assert fold("one two three four", 9) == ["one two", "three", "four"]


@given(st.text(st.characters(exclude_categories=["C"])), st.integers(1, 40))
def test_shortened_text_fits(text, columns):
    assert width(shorten(text, columns)) <= columns


def test_wide_characters_take_two_columns():
    assert width("支払い") == 6
    assert shorten("支払いサービス", 7) == "支払い…"


def test_a_table_is_aligned_and_fits_the_terminal():
    columns = (Column(heading="ID"), Column(heading="TITLE", flexible=True), Column(heading="N", right=True))
    rows = [("abc", "支払い" * 10, "7"), ("abcdef", "short", "12")]
    assert table(columns, rows, 30) == [
        "ID      TITLE                N",
        "abc     支払い支払い支払…    7",
        "abcdef  short               12",
    ]


def test_a_table_that_is_not_for_a_terminal_is_whole():
    columns = (Column(heading="TITLE", flexible=True),)
    assert table(columns, [("x" * 200,)], None)[1] == "x" * 200


def test_a_table_too_wide_even_so_keeps_its_columns_readable():
    columns = (Column(heading="A", flexible=True), Column(heading="B", flexible=True))
    assert table(columns, [("x" * 20, "y" * 20)], 5)[1] == "xxxxxxx…  yyyyyyy…"


def test_counts_and_lists_read_like_sentences():
    assert [plural(0, "row"), plural(1, "row"), plural(2, "reply", "replies")] == ["0 rows", "1 row", "2 replies"]
    assert [listed(["a"]), listed(["a", "b", "c"])] == ["a", "a, b and c"]


def test_what_is_cut_on_the_left_keeps_its_end_and_fits():
    assert shorten_left("~/work/shop/api", 9) == "…shop/api"
    assert width(shorten_left("支払いサービス", 7)) <= 7
    assert shorten_left("short", 5) == "short"


def test_columns_go_by_priority_before_a_row_is_too_wide():
    columns = (
        Column(heading="ID"), Column(heading="FOLDER", flexible=True, path=True, drop=1),
        Column(heading="CHANGED", drop=2), Column(heading="WIDE", worth_from=50),
    )  # fmt: skip
    rows = [("abcdefgh", "/srv/very/long/folder", "12m", "x")]
    assert table(columns, rows, None)[0].split() == ["ID", "FOLDER", "CHANGED", "WIDE"]
    assert table(columns, rows, 49)[0].split() == ["ID", "FOLDER", "CHANGED"]
    assert table(columns, rows, 20) == ["ID        FOLDER", "abcdefgh  …ng/folder"]
    assert table(columns, rows, 12) == ["ID", "abcdefgh"]
