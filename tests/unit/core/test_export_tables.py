"""CSV by example: what a spreadsheet gets to see, in which order, with which times."""

from __future__ import annotations

import csv
import io

import pytest

from node.core import export_csv
from node.core.export_record import Record, line_of, local_texts, utc_text
from tests.export_rows import MESSAGE, NOW_US, WITHHELD, damaged, record, utc


def cells(row: Record, offset: int = 0) -> dict[str, str]:
    (found,) = csv.reader(io.StringIO(export_csv.line(row, lambda _us: offset).decode(), newline=""))
    return dict(zip(export_csv.HEADER, found, strict=True))


def test_times_are_in_utc_with_the_local_offset_and_the_local_time_beside() -> None:
    shown = cells(record(MESSAGE), offset=-3 * 3_600 - 1_800)
    assert shown["time_utc"] == "2026-09-21T14:13:20.250000Z"
    assert shown["utc_offset"] == "UTC-03:30"
    assert shown["time_local"] == "2026-09-21T10:43:20.250000-03:30"


@pytest.mark.parametrize("us", [-1, 2**60])
def test_a_time_that_no_calendar_holds_is_its_number(us: int) -> None:
    assert utc_text(us) == str(us)
    assert local_texts(us, utc) == ("", str(us))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("  @SUM(A1)", "'  @SUM(A1)"),
        ("-2", "'-2"),
        ("\uff1d1", "'\uff1d1"),
        ("\t=1", "'\\x09=1"),
        ("\rx", "'\\x0dx"),
        ("a=1", "a=1"),
        ("'=1", "'=1"),
        ("x\r\ny", "x\\x0d\\x0ay"),
        ("a\u2028b\u202ec", "a\\u{2028}b\\u{202e}c"),
        ("back\\slash", "back\\\\slash"),
    ],
)
def test_what_a_cell_shows(text: str, cell: str) -> None:
    assert export_csv.guarded(text)[0] == cell


def test_guarded_columns_are_named_in_theirs() -> None:
    shown = cells(record(MESSAGE, side={"title": "=1", "sender": "@payments", "recipient": "'=1"}))
    assert shown["guarded"] == "title sender"
    assert (shown["sender"], shown["recipient"]) == ("'@payments", "'=1")


def test_codes_and_sizes_have_columns_and_arrays_are_listed_or_counted() -> None:
    shown = cells(record(WITHHELD))
    assert (shown["decision"], shown["reason"], shown["scan_rules"]) == (
        "withheld", "prompt_injection", "override disguise",
    )  # fmt: skip
    shown = cells(record(MESSAGE))
    assert (shown["content_files"], shown["content_bytes"], shown["content_truncated"]) == ("1", "120", "false")
    assert (shown["from_agent"], shown["to_session"], shown["depth"]) == ("claude", "t" * 16, "2")


def test_a_damaged_row_is_a_record_with_its_bytes() -> None:
    shown = cells(damaged(b"\xff=1\n"))
    assert (shown["seq"], shown["damaged"], shown["entry"], shown["decision"]) == ("3", "ff3d310a", "", "")
    assert b'"damaged":"ff3d310a"' in line_of(damaged(b"\xff=1\n"))


def test_the_time_of_a_row_is_the_one_it_was_written_with() -> None:
    assert record(MESSAGE).ts_us == NOW_US
    assert damaged(b"{}").ts_us is None
