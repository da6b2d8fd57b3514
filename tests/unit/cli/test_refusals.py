"""A person's mistake ends in one line that says what to do, never in a traceback; scripts get it as JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS

pytestmark = pytest.mark.usefixtures("home")

NEEDS_A_NODE = [
    ("status",), ("sessions",), ("run", "-d", "--", "sh"), ("attach", "@a"), ("nick", "@a", "b"), ("rename", "@a", "t"),
    ("archive", "@a"), ("unarchive", "@a"), ("rm", "@a"), ("rm", "@a", "--yes"), ("requests",), ("delegations", "list"),
    ("requests", "show", "abcdef"), ("request", "@a", "text"), ("answer", "abcdef", "text"),
    ("steer", "abcdef", "text"), ("close", "abcdef", "--accept"), ("cancel", "abcdef"), ("timeline",),
    ("timeline", "verify"),
]  # fmt: skip


@pytest.mark.parametrize("words", NEEDS_A_NODE, ids=" ".join)
def test_without_a_node_every_command_says_how_to_start_one(helio, words):
    result = helio(*words)
    assert result.exit_code == MEANINGS[ErrorCode.NODE_NOT_RUNNING].exit
    assert result.stdout == ""
    assert result.stderr.startswith("helio: ")
    assert "helio up" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_refusal_is_a_json_object_where_json_is_wanted(helio):
    result = helio("status", "--json")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert json.loads(result.stderr)["error"]["code"] == "node_not_running"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("frobnicate",), "No such command 'frobnicate'"),
        (("sessions", "--bad"), "See: helio sessions --help"),
        (("run",), "Missing argument"),
        (("request", "@a"), "Missing argument"),
        (("nick", "@a"), "--clear"),
        (("nick", "@a", "b", "--clear"), "--clear"),
        (("nick", "@a", ""), "is empty"),
        (("close", "abcdef"), "--accept or --reject"),
        (("request", "@a", "  "), "is empty"),
        (("request", "@a", "x", "--wait", "5", "--no-wait"), "contradict"),
        (("run", "-d", "--attach", "--", "sh"), "contradict"),
        (("run", "--attach", "--", "sh"), "needs a terminal"),
        (("timeline", "--since", "yesterday"), "is not a time"),
        (("timeline", "--follow", "--until", "2h"), "--until"),
        (("timeline", "--limit", "0"), "0 is not in the range"),
        (("completion", "tcsh"), "tcsh"),
    ],
)
def test_a_mistake_in_the_words_says_what_is_wrong(helio, words, said):
    result = helio(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr
    assert result.stderr.startswith("helio: ")


def test_words_after_the_double_dash_are_the_programs_own(helio):
    result = helio("run", "-d", "--", "agent", "--json")
    assert result.stderr.startswith("helio: ")


def test_what_the_node_refuses_comes_with_its_status_and_one_line(helio, node):
    node.refusal = MeshError(ErrorCode.ALREADY_EXISTS, "@a is taken.\nhelio: all is well\x1b[2J")
    result = helio("nick", "@a", "b")
    assert result.exit_code == MEANINGS[ErrorCode.ALREADY_EXISTS].exit
    assert result.stderr == "helio: @a is taken. helio: all is well\\x1b[2J\n"


def test_a_refusal_in_json_keeps_its_details(helio, node):
    node.refusal = MeshError(ErrorCode.AMBIGUOUS, "two", {"choices": ("aa", "bb"), "limit": 2})
    result = helio("cancel", "abcdef", "--json")
    assert result.exit_code == MEANINGS[ErrorCode.AMBIGUOUS].exit
    assert json.loads(result.stderr)["error"]["details"] == {"choices": ["aa", "bb"], "limit": 2}


@pytest.mark.parametrize("given", [b"\xff\xfe", b"", b"x" * 1_000_001])
def test_standard_input_must_be_text_of_some_but_not_any_length(helio, given):
    result = helio("request", "@a", "-", given=given)
    assert result.exit_code in {2, MEANINGS[ErrorCode.LIMIT].exit}
    assert result.stderr.startswith("helio: ")


def test_undecodable_bytes_among_the_words_are_a_mistake_and_no_fault(helio, node):
    result = helio("request", "@a", "caf\udce9")
    assert result.exit_code == 2
    assert "Unicode" in result.stderr


# A shell that runs the suite in the background has Ctrl-C ignored, and its children inherit that.
HELIO = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from node.entry import main
sys.exit(main())
"""


def _helio(home: Path, *words: str, **options: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HELIOGRAPH_HOME": str(home), "PYTHONUNBUFFERED": ""}
    return subprocess.Popen(
        [sys.executable, "-c", HELIO, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        **options,
    )  # fmt: skip


def test_a_reader_that_goes_away_ends_it_quietly(home, node):
    for _ in range(3000):
        node.timeline.add("relayed", side={"title": "x" * 60})
    process = _helio(home, "timeline")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(20) == 141
    process.stderr.close()


def test_ctrl_c_while_waiting_is_130_and_says_that_the_request_goes_on(home, node):
    process = _helio(home, "request", "@payments", "Which port?")
    assert process.stdout is not None
    assert b"is recorded" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert b"helio requests show rqqqqqqq" in said


def test_ctrl_c_ends_following_with_130_or_0_and_no_traceback(home, node):
    node.timeline.add("relayed")
    process = _helio(home, "timeline", "--follow")
    assert process.stdout is not None
    assert b"relayed" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert said == b""
    assert process.returncode == 0
