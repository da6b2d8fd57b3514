"""Processes: the kernel's records decoded, hostile names included, and the real ones of this machine."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from itertools import pairwise

import pytest

from node.platform import processes
from node.platform.processes import BSDINFO, decode_bsdinfo, decode_procargs, decode_stat, linux_tty

TAIL = b" S 1 1 1 34816 1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 987654 0 0"
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.mark.parametrize("name", ["bash", "a b", "p) S 1 1 1 34816 (", ")", "(", "two\nlines", "((x))", "größe", ""])
def test_no_name_changes_how_a_record_is_read(name: str) -> None:
    process = decode_stat(b"4711 (" + name.encode() + b") T 17 18 19 34819 20" + TAIL[len(b" S 1 1 1 34816 1") :])
    assert (process.pid, process.name, process.state, process.stopped) == (4711, name, "T", True)
    assert (process.ppid, process.pgrp, process.sid, process.tpgid) == (17, 18, 19, 20)
    assert (process.tty, process.start) == ("/dev/pts/3", 987654)


def test_a_name_that_is_no_text_is_read() -> None:
    assert decode_stat(b"1 (\xff\xfe)" + TAIL).name == "\ufffd\ufffd"


@pytest.mark.parametrize(
    ("device", "path"),
    [
        (0, None),
        (136 << 8, "/dev/pts/0"),
        (136 << 8 | 255, "/dev/pts/255"),
        # The 256th terminal: its number's upper bits stand above the major.
        (1 << 20 | 136 << 8, "/dev/pts/256"),
        (0xFFF << 20 | 136 << 8 | 255, "/dev/pts/1048575"),
        # As the kernel prints it from a signed int.
        ((0xFFF << 20 | 136 << 8 | 255) - (1 << 32), "/dev/pts/1048575"),
        (137 << 8 | 1, "/dev/pts/257"),
        (4 << 8 | 1, "/dev/tty1"),
        (4 << 8 | 64, "/dev/ttyS0"),
        (204 << 8 | 64, "char:204:64"),
    ],
)
def test_terminals_by_number(device: int, path: str | None) -> None:
    assert linux_tty(device) == path


@on_linux
def test_a_terminal_made_after_the_first_look_is_known() -> None:
    assert processes.read(os.getpid()) is not None
    controller, terminal = pty.openpty()
    try:
        path = os.ttyname(terminal)
        code = "import os, sys; os.close(os.open(sys.argv[1], os.O_RDWR)); print(flush=True); sys.stdin.read()"
        with subprocess.Popen(
            [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            process = processes.read(child.pid)
            assert process is not None
            assert (process.tty, process.sid, process.ppid) == (path, child.pid, os.getpid())
            assert processes.foreground_group(child.pid) == child.pid
            child.kill()
    finally:
        os.close(controller)
        os.close(terminal)


def test_the_chain_begins_with_the_process_and_goes_to_its_parents() -> None:
    chain = processes.chain(os.getpid())
    assert [process.pid for process in chain][:2] == [os.getpid(), os.getppid()]
    assert all(child.ppid == parent.pid for child, parent in pairwise(chain))
    assert len(processes.chain(os.getpid(), limit=1)) == 1


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1])
def test_there_is_no_such_process(pid: int) -> None:
    assert processes.read(pid) is None
    assert processes.chain(pid) == ()
    assert processes.command_line(pid) == ()
    assert processes.foreground_group(pid) is None


def test_an_ended_child_reads_as_ended() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        process = processes.read(child.pid)
        assert process is None or process.ended


def test_a_command_line_has_its_empty_words() -> None:
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", "", "a b", ""]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        # While a program is being started its command line reads as empty.
        assert child.stdout is not None
        child.stdout.readline()
        assert processes.command_line(child.pid) == tuple(words)
        child.kill()


def _bsdinfo(**changes: int) -> bytes:
    fields = {"status": 3, "pid": 4711, "ppid": 17, "pgid": 18, "tdev": 0x10000003, "tpgid": 20, "sec": 7, "usec": 5}
    fields |= changes
    raw = struct.pack("=5I", 0, fields["status"], 0, fields["pid"], fields["ppid"]) + struct.pack("=7I", *[501] * 7)
    raw += b"claude".ljust(16, b"\0") + b"claude code helper".ljust(32, b"\0")
    raw += struct.pack("=4Iii", 9, fields["pgid"], 0, fields["tdev"], fields["tpgid"], 0)
    raw += struct.pack("=QQ", fields["sec"], fields["usec"])
    # PROC_PIDTBSDINFO_SIZE.
    assert len(raw) == BSDINFO.size == 136
    return raw


def test_a_macos_record() -> None:
    process = decode_bsdinfo(_bsdinfo(), sid=19, tty="/dev/ttys003")
    assert (process.pid, process.ppid, process.pgrp, process.sid) == (4711, 17, 18, 19)
    assert (process.tty, process.tpgid, process.start) == ("/dev/ttys003", 20, 7_000_005)
    assert (process.state, process.name) == ("S", "claude code helper")


def test_a_macos_record_of_a_stopped_process_without_terminal() -> None:
    process = decode_bsdinfo(_bsdinfo(status=4, tdev=0xFFFFFFFF, tpgid=0), sid=19, tty=None)
    assert (process.stopped, process.tty, process.tpgid) == (True, None, -1)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (struct.pack("=i", 3) + b"/bin/codex\0\0\0\0codex\0\0app-server\0HOME=/x\0", ("codex", "", "app-server")),
        (struct.pack("=i", 1) + b"/bin/cat\0cat\0", ("cat",)),
        (b"", ()),
    ],
)
def test_macos_arguments(raw: bytes, words: tuple[str, ...]) -> None:
    assert decode_procargs(raw) == words
