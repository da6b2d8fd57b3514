"""Starting and stopping: waits end as soon as it is known how it went, and say why it went wrong."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from node.cli.lifecycle import LOCK_NAME, NodeLog, await_end, await_start, launch, lock_owner
from node.core.errors import ErrorCode, MeshError
from node.core.views import StatusView
from node.platform.processes import Process

TAKEN = 17
STATUS = StatusView(
    node_id="n", version="0", pid=4321, started_us=0, home="/h", sessions_running=0, sessions_ended=0, exchanges_open=0,
    questions_open=0, timeline_rows=0, timeline_writable=True, screen_engine="rules", screen_version="1",
    notices_owed=0, agents_connected=0, tmux_version="3.3a",
)  # fmt: skip


@dataclass(slots=True)
class Daemon:
    """A process which is alive until `ends` looks, then ended with `status`."""

    ends: int = 10**9
    status: int = 1
    pid: int = 4321
    looks: int = 0

    def poll(self) -> int | None:
        self.looks += 1
        return self.status if self.looks > self.ends else None


@dataclass(slots=True)
class Time:
    """A clock which only pauses move."""

    now: float = 0.0
    shown: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def log(tmp_path: Path) -> NodeLog:
    path = tmp_path / "log" / "node.log"
    path.parent.mkdir()
    path.write_text("an earlier run\n", encoding="utf-8")
    return NodeLog.at(tmp_path)


def _start(daemon: Daemon, answers: list[StatusView | None], log: NodeLog) -> tuple[StatusView, Time]:
    at = Time()
    waiting = iter(answers)
    found = await_start(
        daemon, lambda: next(waiting, None), log, waiting=at.shown.append, taken=TAKEN, clock=at.clock, pause=at.pause
    )
    return found, at


def test_it_waits_until_the_node_answers(log):
    found, at = _start(Daemon(), [None, None, STATUS], log)
    assert found is STATUS
    assert len(at.shown) == 2


def test_a_node_that_ends_is_reported_with_what_it_refused(log):
    with log.path.open("a", encoding="utf-8") as written:
        written.write("INFO starting\nhelio: config.toml is wrong.\n\x1b[2J")
    with pytest.raises(MeshError, match=r"status 1\. Its log says: config\.toml is wrong\.\. All of it") as refused:
        _start(Daemon(ends=1), [], log)
    assert refused.value.code is ErrorCode.UNAVAILABLE
    assert "an earlier run" not in refused.value.message


def test_a_node_that_ends_without_a_word_is_reported_as_well(log):
    with pytest.raises(MeshError, match="it wrote nothing"):
        _start(Daemon(ends=0), [], log)


def test_the_log_is_shown_harmless_and_only_its_end(log):
    with log.path.open("ab") as written:
        written.write(b"".join(b"line %d \x1b[2J\xff\n" % number for number in range(5000)))
    with pytest.raises(MeshError) as refused:
        _start(Daemon(ends=0), [], log)
    assert "line 4999 \\x1b[2J" in refused.value.message
    assert "\x1b" not in refused.value.message
    assert len(refused.value.message) < 500


def test_a_node_that_never_answers_is_given_up(log):
    with pytest.raises(MeshError, match="did not answer within 30 seconds"):
        _start(Daemon(), [], log)


def test_two_starts_at_once_both_find_the_one_that_won(log):
    other = replace(STATUS, pid=99)
    found, _ = _start(Daemon(ends=0, status=TAKEN), [None, None, other], log)
    assert found.pid == 99


def test_the_end_of_a_process_is_waited_for():
    one = Process(pid=7, ppid=1, pgrp=7, sid=7, tty=None, tpgid=-1, start=100, state="S", name="python")
    for ending in (None, replace(one, state="Z"), replace(one, start=200)):
        seen = iter([one, one, ending])
        at = Time()
        await_end(7, waiting=at.shown.append, look=lambda _, seen=seen: next(seen), clock=at.clock, pause=at.pause)
        assert len(at.shown) == 1


def test_a_process_that_does_not_end_is_given_up_with_what_to_do():
    one = Process(pid=7, ppid=1, pgrp=7, sid=7, tty=None, tpgid=-1, start=100, state="S", name="python")
    at = Time()
    with pytest.raises(MeshError, match="kill -9 7") as refused:
        await_end(7, waiting=at.shown.append, look=lambda _: one, clock=at.clock, pause=at.pause)
    assert refused.value.code is ErrorCode.UNAVAILABLE


def test_the_daemon_gets_a_session_of_its_own_and_writes_to_its_log(tmp_path):
    log = NodeLog.at(tmp_path)
    code = "import os, sys; print(os.getsid(0), os.getpgid(0), sys.stdin.read()); sys.stderr.write('complaint')"
    process = launch([sys.executable, "-c", code], dict(os.environ), log)
    assert process.wait(20) == 0
    assert log.since() == [f"{process.pid} {process.pid}", "complaint"]
    assert log.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("text", "words", "owner"),
    [
        ("42\n", ("python", "-m", "node.entry", "up", "--foreground"), 42),
        ("42\n", ("vim", "notes"), None),
        ("42\n", (), None),
        ("", ("up", "--foreground"), None),
        ("not a pid", ("up", "--foreground"), None),
    ],
)
def test_the_lock_names_a_process_only_while_it_is_a_node(tmp_path, text, words, owner):
    (tmp_path / LOCK_NAME).write_text(text, encoding="ascii")
    assert lock_owner(tmp_path, lambda _: words) == owner


def test_without_a_lock_nobody_owns_the_home(tmp_path):
    assert lock_owner(tmp_path) is None
