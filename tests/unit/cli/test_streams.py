"""Streams that cannot be written to, and commands without words: a line or the help, never a traceback."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest


def _shell(line: str) -> subprocess.CompletedProcess[str]:
    helio = f"{shlex.quote(sys.executable)} -m node.entry"
    words = ["/bin/sh", "-c", line.replace("helio", helio)]
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)


_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")


@pytest.mark.parametrize(
    "line", [pytest.param("helio status > /dev/full", marks=_full), "helio status >&-", "helio --help >&-"]
)
def test_output_that_cannot_be_written_is_one_line_and_a_failure(node, line):
    done = _shell(line)
    assert done.returncode == 1
    assert done.stderr.startswith("helio: the output cannot be written: ")
    assert done.stderr.count("\n") == 1


@_full
def test_rows_that_cannot_be_written_are_one_line_and_a_failure(node):
    node.timeline.add("relayed")
    done = _shell("helio timeline > /dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    ("closed", "status"), [pytest.param("2> /dev/full", 1, marks=_full), ("2>&-", 3), (">&- 2>&-", 3)]
)
def test_where_complaints_cannot_be_written_there_is_silence_and_a_failure(home, closed, status):
    done = _shell(f"helio status {closed}")
    assert done.returncode == status
    assert done.stderr == done.stdout == ""


@pytest.mark.parametrize("words", [(), ("workspace",), ("service",)], ids=" ".join)
def test_without_words_the_help_is_shown_as_it_is_formatted(helio, words):
    shown = helio(*words)
    assert (shown.exit_code, shown.stderr) == (2, "")
    assert shown.stdout == helio(*words, "--help").stdout


def test_without_a_standard_error_a_command_works_as_ever(node):
    done = _shell("helio status 2>&-")
    assert done.returncode == 0
    assert "timeline   3 rows" in done.stdout
