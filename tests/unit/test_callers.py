"""The rule of agreement, on made-up chains: every single piece of evidence can veto, none can prove alone."""

from __future__ import annotations

import asyncio
import errno
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from node.callers import Ancestor, Callers, agree
from node.core.errors import ErrorCode, MeshError
from node.core.prompt import PaneRef
from node.platform import processes
from node.platform.peercred import SO_PEERCRED
from node.platform.processes import Process

A = PaneRef(server="/run/t", pane="%1", pid=100, started=1000, tty="/dev/pts/1")
B = PaneRef(server="/run/t", pane="%2", pid=200, started=2000, tty="/dev/pts/2")
PANES = (A, B)


def process(pid: int, ppid: int, tty: str | None, *, sid: int = 100, start: int = 5000, name: str = "sh") -> Process:
    return Process(pid=pid, ppid=ppid, pgrp=pid, sid=sid, tty=tty, tpgid=-1, start=start, state="S", name=name)


PANE_A = process(100, 10, A.tty, start=1000, name="claude")
SERVER = process(10, 1, None, sid=10, name="tmux: server")
INIT = process(1, 0, None, sid=1, name="init")


def chain(*steps: Process) -> tuple[Ancestor, ...]:
    return tuple(Ancestor(process=step) for step in (*steps, SERVER, INIT))


def refusal(*steps: Process, panes: tuple[PaneRef, ...] = PANES, ancestors: tuple[Ancestor, ...] | None = None) -> str:
    with pytest.raises(MeshError) as refused:
        agree(steps[0].pid if steps else 1, ancestors or chain(*steps), panes)
    assert refused.value.code is ErrorCode.UNIDENTIFIED
    return refused.value.message


def test_terminal_session_and_parents_prove_in_full() -> None:
    proof = agree(300, chain(process(300, 100, A.tty), PANE_A), PANES)
    assert (proof.pane, proof.pid, proof.full) == (A, 300, True)


def test_the_panes_own_process_may_call() -> None:
    assert agree(100, chain(PANE_A), PANES).pane == A


def test_a_tool_in_a_session_of_its_own_is_proven_by_its_parents() -> None:
    proof = agree(300, chain(process(300, 100, None, sid=300), PANE_A), PANES)
    assert (proof.pane, proof.full) == (A, False)


def test_a_nested_terminal_counts_for_nothing() -> None:
    nested = process(300, 100, "/dev/pts/77", sid=300)
    assert agree(300, chain(nested, PANE_A), PANES).pane == A


def test_a_terminal_without_the_parents_is_refused() -> None:
    assert "parents do not lead there" in refusal(process(300, 1, A.tty))


def test_parents_without_the_terminal_are_refused() -> None:
    assert "none of them has that terminal" in refusal(process(300, 100, None), replace(PANE_A, tty=None))


def test_a_caller_with_another_panes_terminal_is_refused() -> None:
    message = refusal(process(300, 100, B.tty), PANE_A)
    assert "%1" in message
    assert "%2" in message


def test_an_ancestor_with_another_panes_terminal_is_refused() -> None:
    assert "different panes" in refusal(process(300, 301, A.tty), process(301, 100, B.tty), PANE_A)


def test_a_chain_through_two_panes_is_refused() -> None:
    pane_b = process(200, 100, B.tty, start=2000)
    assert "different panes" in refusal(process(300, 200, B.tty), pane_b, PANE_A)


def test_a_reused_process_number_is_not_the_pane() -> None:
    later = replace(PANE_A, start=1001)
    assert "parents do not lead there" in refusal(process(300, 100, A.tty), later)


def test_no_panes_no_caller() -> None:
    assert "helio run" in refusal(process(300, 100, A.tty), PANE_A, panes=())


def test_an_ended_caller_is_refused() -> None:
    assert "ended" in refusal(replace(process(300, 100, A.tty), state="Z"), PANE_A)
    with pytest.raises(MeshError, match="ended"):
        agree(300, (), PANES)


@pytest.mark.parametrize(
    ("argv", "shared"),
    [
        (("codex", "app-server", "--listen", "x"), True),
        (("/home/u/.codex/bin/codex-x86_64", "app-server"), True),
        (("node", "/usr/lib/node_modules/.bin/codex", "app-server"), True),
        (("codex", "--no-daemon"), False),
        (("codex", "exec", "tell me", "about it", "app-server"), False),
        (("vite", "app-server"), False),
        ((), False),
    ],
)
def test_codex_shared_server_in_the_chain_is_refused(argv: tuple[str, ...], shared: object) -> None:
    steps = (process(300, 301, A.tty), process(301, 100, A.tty, name="server"), PANE_A)
    ancestors = tuple(Ancestor(process=step, argv=argv if step.pid == 301 else ()) for step in (*steps, SERVER, INIT))
    if shared:
        assert "--no-daemon" in refusal(*steps, ancestors=ancestors)
    else:
        assert agree(300, ancestors, PANES).pane == A


@dataclass
class Lister:
    """Lists these panes, and counts how often it was asked."""

    panes_now: tuple[PaneRef, ...]
    listings: int = 0

    async def panes(self) -> tuple[PaneRef, ...]:
        self.listings += 1
        return self.panes_now


def test_panes_are_listed_anew_for_each_proof() -> None:
    lister = Lister(panes_now=())
    near, far = socket.socketpair()
    with near, far:
        for count in (1, 2):
            with pytest.raises(MeshError):
                asyncio.run(Callers(lister, os.getuid()).prove(near))
            assert lister.listings == count


def test_another_user_is_refused_before_anything_is_looked_up() -> None:
    lister = Lister(panes_now=PANES)
    near, far = socket.socketpair()
    with near, far, pytest.raises(MeshError, match=f"user {os.getuid()}"):
        asyncio.run(Callers(lister, os.getuid() + 1).prove(near))
    assert lister.listings == 0


def test_a_network_connection_is_refused() -> None:
    with socket.socket(socket.AF_INET) as sock, pytest.raises(MeshError) as refused:
        asyncio.run(Callers(Lister(panes_now=()), os.getuid()).prove(sock))
    assert refused.value.code is ErrorCode.UNIDENTIFIED


@dataclass
class Connection:
    """A unix socket as the kernel answers about it; `pidfd` is that of the process which really connected."""

    pid: int
    pidfd: int | None
    family: int = socket.AF_UNIX

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes:
        if optname == SO_PEERCRED:
            return struct.pack("=3i", self.pid, os.getuid(), os.getgid())
        if self.pidfd is None:
            raise OSError(errno.ENOPROTOOPT, "no pidfd")
        return struct.pack("=i", os.dup(self.pidfd))


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


# A session's leader that opens a terminal of nobody gets it as its own.
TAKE_TERMINAL = "import os, sys; os.open(sys.argv[1], os.O_RDWR); print(flush=True); sys.stdin.read()"


@contextmanager
def process_in_a_terminal() -> Iterator[PaneRef]:
    """A process which leads the session of a terminal, as the first one of a pane does."""
    controller, terminal = pty.openpty()
    tty = os.ttyname(terminal)
    words = [sys.executable, "-I", "-S", "-c", TAKE_TERMINAL, tty]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        me = processes.read(child.pid)
        assert me is not None
        yield PaneRef(server="/run/t", pane="%5", pid=child.pid, started=me.start, tty=tty)
        child.kill()
    os.close(controller)
    os.close(terminal)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's answers are those of Linux")
def test_a_number_that_was_taken_over_proves_nothing() -> None:
    """The process that connected has ended, and another one, in a pane, bears its number by now."""
    with process_in_a_terminal() as pane, subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        callers, pidfd = Callers(Lister(panes_now=(pane,)), os.getuid()), os.pidfd_open(other.pid)
        alive = Connection(pid=pane.pid, pidfd=pidfd)
        assert asyncio.run(callers.prove(alive)).pane == pane
        assert asyncio.run(callers.prove(replace(alive, pidfd=None))).pane == pane
        other.kill()
        other.wait()
        with pytest.raises(MeshError, match="ended while the call was proven"):
            asyncio.run(callers.prove(alive))
        os.close(pidfd)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's answers are those of Linux")
def test_a_process_that_ends_during_the_proof_proves_nothing() -> None:
    class Killer(Lister):
        """Whoever is in the pane ends while the panes are listed."""

        async def panes(self) -> tuple[PaneRef, ...]:
            (pane,) = self.panes_now
            end(pane.pid)
            return self.panes_now

    with process_in_a_terminal() as pane, pytest.raises(MeshError, match="changed while the call was proven"):
        asyncio.run(Callers(Killer(panes_now=(pane,)), os.getuid()).prove(Connection(pid=pane.pid, pidfd=None)))
