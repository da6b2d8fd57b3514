"""Clocks that a node can compare, and writes that last."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from node.platform import clocks, durability


def test_time_since_boot_goes_on_and_counts_microseconds() -> None:
    before, reference = clocks.boottime_us(), time.monotonic_ns()
    until = reference + 20_000_000
    while time.monotonic_ns() < until:
        pass
    after, passed = clocks.boottime_us(), (time.monotonic_ns() - reference) // 1_000
    assert 19_000 <= after - before <= passed + 50_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_time_since_boot_is_that_of_the_system() -> None:
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert abs(clocks.boottime_us() / 1_000_000 - uptime) < 5


def test_the_wall_clock_is_utc_in_microseconds() -> None:
    assert abs(clocks.wall_us() / 1_000_000 - time.time()) < 5


def test_a_boot_has_one_id() -> None:
    first = clocks.boot_id()
    assert first == clocks.boot_id() == first.strip().lower()
    assert len(first) == 36


def test_a_flush_takes_files_and_refuses_what_cannot_last(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.write(b"x")
        file.flush()
        durability.flush(file.fileno())
    folder = os.open(tmp_path, os.O_RDONLY)
    durability.flush(folder)
    os.close(folder)
    with pytest.raises(OSError, match="Bad file descriptor"):
        durability.flush(folder)


def test_the_pragmas_are_statements_that_sqlite_takes() -> None:
    connection = sqlite3.connect(":memory:")
    for statement in durability.sqlite_pragmas():
        connection.execute(statement)
    connection.close()
    assert bool(durability.sqlite_pragmas()) is (sys.platform == "darwin")
