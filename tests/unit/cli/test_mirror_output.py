"""`helio mirror` as people and scripts see it, and what it hands on."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys

import pytest

from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_parts import NOW_US, mirror

FORGERY = "x\nstudio  live\x1b[2J\u202egnp.exe\u200b"
ESCAPED = "x studio live\\x1b[2J\\u{202e}gnp.exe\\u{200b}"
GRANT = "helio peers grant MMMMMMM request mirror-panel mirror-timeline"


def standing(state: str, why: str = "") -> pb.WatchMirrorResponse:
    return pb.WatchMirrorResponse(standing=pb.MirrorStanding(state=state, why=why, since_us=NOW_US))


def row(letter: str, **changes: object) -> pb.MirrorPanelRow:
    given = {
        "id": letter * 16, "kind": "request", "title": "Which port", "state": "working", "opener": "@lead",
        "worker": "@hand", "last_word": "8080?", "changed_us": NOW_US,
    } | changes  # fmt: skip
    return pb.MirrorPanelRow(**given)


def panel(*rows: pb.MirrorPanelRow, left_out: int = 0) -> pb.WatchMirrorResponse:
    return pb.WatchMirrorResponse(panel=pb.MirrorPanel(run="r" * 16, revision=3, rows=rows, left_out=left_out))


def delta(*rows: pb.MirrorPanelRow, removed: tuple[str, ...] = ()) -> pb.WatchMirrorResponse:
    change = pb.MirrorPanelDelta(from_revision=3, revision=4, changed=rows, removed=removed)
    return pb.WatchMirrorResponse(delta=change)


def timeline(node, *, breaks: tuple[pb.MirrorBreak, ...] = (), missed: int = 0) -> pb.WatchMirrorResponse:
    rows = node.timeline.stored
    return pb.WatchMirrorResponse(
        rows=pb.MirrorRows(
            origin="local/twin/1", since=0, next=len(rows), rows=rows, breaks=breaks, breaks_total=len(breaks),
            missed=missed,
        )
    )  # fmt: skip


def test_adding_says_what_the_other_person_has_to_run(helio, node):
    result = helio("mirror", "add", "studio")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "studio is mirrored.\n", "")
    assert node.last(pb.AddMirrorRequest).peer == "studio"
    node.mirrors = [mirror(FORGERY, got=["request"], paused=True)]
    result = helio("mirror", "add", "studio")
    assert result.stdout == f"{ESCAPED} is mirrored, and paused.\n"
    assert (
        f"{ESCAPED} has not granted mirror-panel, mirror-timeline yet. On {ESCAPED}, run:\n  {GRANT}\n" in result.stderr
    )


def test_mirrors_are_listed_with_what_keeps_them_from_work(helio, node):
    node.mirrors = [
        mirror(FORGERY, got=[]),
        mirror("attic", paused=True, got=["request"], link="down", link_why="nobody answers"),
        mirror("barn", link="refused", link_why=f"unpaired {FORGERY}"),
        mirror("shed", got=["request"], relay_why="it is of another version"),
    ]
    result = helio("mirror")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["NAME", "ID", "MIRROR", "LINK", "WE", "MAY", "THERE", "ADDRESS"]
    assert (ESCAPED in lines[1], lines[1].split()[-3:]) == (True, ["up", "nothing", "192.0.2.7:4354"])
    assert lines[2].split()[:4] == ["attic", "QQVV2X5", "paused", "down"]
    assert "nobody answers" not in result.stderr
    assert f"barn: unpaired {ESCAPED}" in result.stderr
    assert GRANT in result.stderr
    assert "shed: nothing is forwarded there: it is of another version\n" in result.stderr
    assert json.loads(helio("mirror", "list", "--json").stdout)[1]["name"] == "attic"
    node.mirrors = []
    assert helio("mirror", "list").stdout.startswith("Nothing is mirrored.")


@pytest.mark.parametrize(("words", "said"), [
    (("rm", "studio"), "studio is not mirrored any more. It is still a peer.\n"),
    (("pause", "studio"), "The mirror of studio is paused.\n"),
    (("resume", "studio"), "The mirror of studio goes on.\n"),
])  # fmt: skip
def test_changes_are_said_and_handed_on(helio, node, words, said):
    assert helio("mirror", *words).stdout == said
    assert json.loads(helio("mirror", *words, "--json").stdout)["name"] == "studio"
    asked = node.asked[-1]
    assert asked.peer == "studio"
    if isinstance(asked, pb.SetMirrorRequest):
        assert asked.paused is (words[0] == "pause")


def test_a_refusal_is_one_line_and_its_status(helio, node):
    node.refusal = MeshError(ErrorCode.NOT_FOUND, "No peer is at 192.0.2.9. Run `helio pair ADDRESS`.")
    for words in (("add", "192.0.2.9"), ("rm", "x"), ("pause", "x"), ("list",), ("watch",)):
        result = helio("mirror", *words)
        assert (result.exit_code, result.stdout) == (MEANINGS[ErrorCode.NOT_FOUND].exit, "")
        assert result.stderr == "helio: No peer is at 192.0.2.9. Run `helio pair ADDRESS`.\n"


def test_a_look_at_the_panel_escapes_all_that_the_server_says(helio, node):
    node.mirrors = [mirror()]
    node.watched = [
        standing("connecting"), standing("live"),
        panel(
            row("a", kind="session", opener="@lead", worker="", state="idle", title=FORGERY),
            row("b", parent="a" * 16, last_word=FORGERY),
            row("c", kind=FORGERY, state=FORGERY, opener=FORGERY),
            left_out=7,
        ),
    ]  # fmt: skip
    result = helio("mirror", "watch", "--once")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "studio  live  3 rows  7 not shown"
    assert lines[1].split() == ["WHO", "STATE", "SINCE", "TITLE", "LAST", "WORD"]
    assert lines[2].startswith("@lead ")
    assert lines[3].startswith("  @lead -> @hand")
    assert lines[4].startswith(f"{ESCAPED} (unknown): {ESCAPED} -> @hand")
    assert f"{ESCAPED} (unknown)" in lines[4]
    assert len(lines) == 5
    assert "\x1b" not in result.output
    (document,) = map(json.loads, helio("mirror", "watch", "--once", "--json").stdout.splitlines())
    assert (document["server"], document["left_out"], document["rows"][1]["last_word"]) == ("studio", 7, FORGERY)


def test_a_look_at_several_shows_each_once_and_only_those_that_are_on(helio, node):
    node.mirrors = [
        mirror("studio"), mirror("attic", id="b" * 52), mirror("barn", id="c" * 52, paused=True),
    ]  # fmt: skip
    node.watched = [standing("live"), panel()]
    shown = helio("mirror", "watch", "--once").stdout
    assert [line for line in shown.splitlines() if "live" in line] == ["studio  live  0 rows", "attic  live  0 rows"]
    assert helio("mirror", "watch", "--once", "@STUDIO", "studio", "qqvv2x5").stdout.count("live") == 1
    result = helio("mirror", "watch", "nobody")
    assert result.exit_code == MEANINGS[ErrorCode.NOT_FOUND].exit
    assert "'nobody' is not mirrored by this node" in result.stderr
    node.mirrors = [mirror("barn", paused=True)]
    assert "all mirrors are paused" in helio("mirror", "watch").stderr


@pytest.mark.parametrize(("state", "code", "words"), [
    ("waiting", ErrorCode.REACH, f"On studio, run: {GRANT}"),
    ("paused", ErrorCode.WRONG_STATE, "Run: helio mirror resume studio"),
    ("broken", ErrorCode.UNAVAILABLE, "`helio peers` shows the link"),
])  # fmt: skip
def test_a_look_at_one_that_shows_nothing_says_why(helio, node, state, code, words):
    node.mirrors = [mirror()]
    # Whatever comes after that, it does not wait for it.
    node.watched = [standing("connecting"), standing(state, f"because {FORGERY}"), panel()]
    result = helio("mirror", "watch", "--once")
    assert (result.exit_code, result.stdout) == (MEANINGS[code].exit, "")
    assert f"{state}: because {ESCAPED}" in result.stderr
    assert words in result.stderr


def test_changes_are_lines_where_there_is_no_terminal(helio, node):
    node.stops = True
    node.mirrors = [mirror()]
    node.watched = [
        standing("live"), panel(row("a"), row("b", title="")), delta(row("a", state="asked"), removed=("b" * 16,)),
    ]  # fmt: skip
    result = helio("mirror", "watch")
    assert result.stdout.splitlines() == [
        'studio  @lead -> @hand  working  "Which port"  "8080?"',
        'studio  @lead -> @hand  working  "8080?"',
        'studio  @lead -> @hand  asked a question  "Which port"  "8080?"',
        "studio  @lead -> @hand  gone",
    ]
    assert result.stderr.splitlines()[0] == "studio  live"
    assert result.exit_code == MEANINGS[ErrorCode.NODE_NOT_RUNNING].exit
    documents = [json.loads(line) for line in helio("mirror", "watch", "--json").stdout.splitlines()]
    assert [one["event"] for one in documents] == ["standing", "panel", "delta"]
    assert documents[2]["removed"] == ["b" * 16]


def test_a_timeline_says_how_far_it_is_verified_and_where_it_is_not(helio, node):
    node.stops = True
    node.mirrors = [mirror()]
    node.timeline.add("relayed", side={"preview": FORGERY})
    node.timeline.add("withheld")
    gap = pb.MirrorBreak(first=4, last=6, code="missing", words=f"rows 4 to 6 are missing {FORGERY}")
    node.watched = [standing("live"), timeline(node, breaks=(gap,), missed=3)]
    result = helio("mirror", "watch", "--timeline", "-n", "7")
    lines = result.stdout.splitlines()
    assert ("#0" in lines[0], "#1" in lines[1], f'text="{ESCAPED}"' in lines[0], len(lines)) == (True, True, True, 2)
    assert result.stderr.splitlines()[:4] == [
        "studio  live", "studio: 3 rows came faster than they were shown",
        f"studio: GAP at 4: rows 4 to 6 are missing {ESCAPED}", "studio: verified up to 1, from 0 on; 1 GAP",
    ]  # fmt: skip
    asked = node.last(pb.WatchMirrorRequest)
    assert (asked.timeline, asked.panel, asked.tail) == (True, False, 7)
    documents = [json.loads(line) for line in helio("mirror", "watch", "--timeline", "--json").stdout.splitlines()]
    assert [one["event"] for one in documents] == ["standing", "row", "row", "verified"]
    assert documents[1]["seq"] == 0
    assert (documents[3]["next"], documents[3]["breaks"][0]["first"], "rows" in documents[3]) == (2, 4, False)


def test_a_look_at_a_timeline_ends_by_itself(helio, node):
    node.mirrors = [mirror()]
    node.timeline.add("relayed")
    node.watched = [standing("live"), timeline(node)]
    result = helio("mirror", "watch", "--timeline", "--once")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    assert result.stderr.endswith("studio: verified up to 0, from 0 on\n")


def _read_until(controller: int, end: bytes) -> bytes:
    shown = b""
    while end not in shown and select.select([controller], [], [], 20)[0]:
        try:
            shown += os.read(controller, 4_096)
        except OSError:
            # Linux says so of a terminal that nobody has open any more.
            break
    return shown


def test_at_a_terminal_the_panel_is_drawn_and_ctrl_c_leaves_it_as_it_was(home, node):
    node.mirrors = [mirror()]
    node.watched = [standing("live"), panel(row("a", title="Shown \x1b[31m"))]
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "node.entry", "mirror", "watch"],
        stdin=terminal, stdout=terminal, stderr=terminal, env=os.environ | {"HELIOGRAPH_HOME": str(home)},
        start_new_session=True,
    ) as running:  # fmt: skip
        os.close(terminal)
        shown = _read_until(controller, b"Shown \\x1b[31m")
        running.send_signal(signal.SIGINT)
        shown += _read_until(controller, b"\x1b[?1049l")
        assert running.wait(20) == 0
    os.close(controller)
    assert shown.startswith(b"\x1b[?1049h\x1b[?25l")
    assert shown.endswith(b"\x1b[?25h\x1b[?1049l")
    assert b"studio  live  1 row" in shown
    assert b"Traceback" not in shown


def test_ctrl_c_elsewhere_is_quiet(home, node):
    node.mirrors = [mirror()]
    node.watched = [standing("live"), panel(row("a"))]
    with subprocess.Popen(
        [sys.executable, "-m", "node.entry", "mirror", "watch"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"HELIOGRAPH_HOME": str(home)},
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert b"@lead" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        rest, said = running.communicate(timeout=20)
    assert (running.returncode, rest, said) == (0, b"", b"studio  live\n")
