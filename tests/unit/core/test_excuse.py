"""What a row of a later log excuses of a closed one."""

from __future__ import annotations

import pytest

from node.core.canonical import JsonValue
from node.core.excuse import of_closed
from node.core.retention import DAY_US, TOLERANCE_US
from node.core.timeline import Clock, Head, Row, RowKind, append

LOG, LATER = "local/n/1", "local/n/2"
ROOT = bytes(range(32))
NOW = 200 * DAY_US
SAID: dict[str, JsonValue] = {
    "first": 0, "next": 512, "root": ROOT.hex(), "keep_days": 90, "last_ts": NOW - 90 * DAY_US, "why": "age",
}  # fmt: skip


def row(extra: dict[str, JsonValue], kind: RowKind = RowKind.PRUNE) -> bytes:
    written = Row(row=kind, engine="prune", decision="pruned", sw="test/1", extra=extra)
    return append(Head.empty(LATER), Clock(ts_us=NOW, mono_us=1, boot="b"), written)[1].data


def excused(data: bytes) -> tuple[int, int, str] | None:
    found = of_closed(LOG, LATER, 0, data, lambda size: ROOT if size == 512 else None)
    return None if found is None else (found.first, found.next, found.why)


def test_what_it_says_of_that_log_counts() -> None:
    assert excused(row({"log": LOG, "pruned": SAID})) == (0, 512, "age")
    assert excused(row({"log": LOG, "pruned": SAID | {"why": "size", "last_ts": NOW}})) == (0, 512, "size")


@pytest.mark.parametrize(
    "lies",
    [
        {"last_ts": NOW - 90 * DAY_US + TOLERANCE_US + 1},
        {"keep_days": 0},
        {"root": "0" * 64},
        {"next": 256},
        {"next": 0},
        {"first": 512},
        {"first": "0"},
    ],
)
def test_what_is_not_so_excuses_nothing(lies: dict[str, JsonValue]) -> None:
    assert excused(row({"log": LOG, "pruned": SAID | lies})) is None


def test_a_row_of_something_else_excuses_nothing() -> None:
    assert excused(row({"log": LATER, "pruned": SAID})) is None
    assert excused(row(SAID)) is None
    assert excused(row({"log": LOG, "pruned": SAID}, RowKind.GAP)) is None
    assert excused(b"{}") is None
    assert of_closed(LOG, LATER, 1, row({"log": LOG, "pruned": SAID}), lambda _: ROOT) is None
