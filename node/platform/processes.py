"""Processes as the kernel describes them: parents, groups, sessions and terminals. Nothing is cached."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node.platform import IS_DARWIN, darwin

CHAIN_LIMIT: Final = 64
STOPPED: Final = frozenset({"T", "t"})
ENDED: Final = frozenset({"Z", "X", "x"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process at one moment.

    `start` never changes in a process's life and tells two lives of a pid apart: clock ticks since boot on Linux,
    microseconds since 1970 on macOS. `tty` is a /dev path, `tpgid` the group in that terminal's foreground (-1: none),
    `state` the letter which ps shows.
    """

    pid: int
    ppid: int
    pgrp: int
    sid: int
    tty: str | None
    tpgid: int
    start: int
    state: str
    name: str

    @property
    def stopped(self) -> bool:
        """Whether a signal such as Ctrl-Z's has stopped it."""
        return self.state in STOPPED

    @property
    def ended(self) -> bool:
        """Whether only its exit status is left."""
        return self.state in ENDED


def read(pid: int) -> Process | None:
    """The process of that number, or None when there is none that we may read. About 30 microseconds on Linux."""
    if pid <= 0:
        return None
    return _read_darwin(pid) if IS_DARWIN else _read_linux(pid)


def chain(pid: int, limit: int = CHAIN_LIMIT) -> tuple[Process, ...]:
    """The process and its ancestors, nearest first, up to `limit`; it ends before one that cannot be read."""
    found: list[Process] = []
    while len(found) < limit:
        process = read(pid)
        if process is None:
            break
        found.append(process)
        pid = process.ppid
    return tuple(found)


def command_line(pid: int) -> tuple[str, ...]:
    """The arguments a process was started with, as far as it lets us see them; () when it does not."""
    if IS_DARWIN:
        raw = darwin.process_arguments(pid)
        return decode_procargs(raw) if raw is not None else ()
    try:
        raw_line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(word) for word in raw_line.removesuffix(b"\0").split(b"\0")) if raw_line else ()


def environment(pid: int) -> dict[str, str]:
    """The environment a process of ours was started with; {} when it may not be read."""
    if IS_DARWIN:
        raw = darwin.process_arguments(pid)
        return decode_procenv(raw) if raw is not None else {}
    try:
        return _variables(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return {}


def _variables(pairs: Sequence[bytes]) -> dict[str, str]:
    split = (pair.partition(b"=") for pair in pairs)
    return {os.fsdecode(name): os.fsdecode(value) for name, equals, value in split if equals}


def foreground_group(pane_pid: int) -> int | None:
    """The process group in the foreground of that process's terminal; None without process or terminal."""
    process = read(pane_pid)
    return process.tpgid if process is not None and process.tty is not None and process.tpgid > 0 else None


# --- Linux: proc(5) ---------------------------------------------------------------------------------------------------

_PTY_MAJORS: Final = range(136, 144)
_TTY_MAJOR: Final = 4
_CONSOLES: Final = 64


def _read_linux(pid: int) -> Process | None:
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return decode_stat(raw)


def decode_stat(raw: bytes) -> Process:
    """The process that a /proc/PID/stat line describes."""
    # The name may itself hold blanks, brackets and line ends: only the last bracket closes it.
    opening, closing = raw.index(b"("), raw.rindex(b")")
    fields = raw[closing + 2 :].split()
    return Process(
        pid=int(raw[:opening]),
        name=raw[opening + 1 : closing].decode("utf-8", "replace"),
        state=fields[0].decode("ascii"),
        ppid=int(fields[1]),
        pgrp=int(fields[2]),
        sid=int(fields[3]),
        tty=linux_tty(int(fields[4])),
        tpgid=int(fields[5]),
        start=int(fields[19]),
    )


def linux_tty(device: int) -> str | None:
    """The /dev path of a tty_nr field: 0 is none; one without a known name is char:MAJOR:MINOR."""
    if device == 0:
        return None
    # The kernel prints new_encode_dev() as a signed int: minor bits 0-7 and 20-31, major bits 8-19.
    number = device & 0xFFFFFFFF
    major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
    if major in _PTY_MAJORS:
        return f"/dev/pts/{minor + 256 * (major - _PTY_MAJORS.start)}"
    if major == _TTY_MAJOR:
        return f"/dev/tty{minor}" if minor < _CONSOLES else f"/dev/ttyS{minor - _CONSOLES}"
    return f"char:{major}:{minor}"


# --- macOS: <sys/proc_info.h> -----------------------------------------------------------------------------------------

PROC_PIDTBSDINFO: Final = 3
# struct proc_bsdinfo: flags, status, xstatus, pid, ppid, six ids, reserved; comm, name; files, pgid, jobc, terminal's
# device, terminal's group, nice; start in seconds and microseconds.
BSDINFO: Final = struct.Struct("=12I16s32s3IIiiQQ")
_NO_DEVICE: Final = 0xFFFFFFFF
_BSD_STATES: Final = {1: "I", 2: "R", 3: "S", 4: "T", 5: "Z"}


def _read_darwin(pid: int) -> Process | None:
    raw = darwin.process_info(pid, PROC_PIDTBSDINFO, BSDINFO.size)
    if raw is None:
        return None
    try:
        sid = os.getsid(pid)
    except OSError:
        # getsid fails for a process that has just ended.
        return None
    device = BSDINFO.unpack(raw)[17]
    return decode_bsdinfo(raw, sid=sid, tty=None if device == _NO_DEVICE else darwin.device_path(device))


def decode_bsdinfo(raw: bytes, *, sid: int, tty: str | None) -> Process:
    """The process that a struct proc_bsdinfo describes; it holds neither the session nor the terminal's name."""
    fields = BSDINFO.unpack(raw)
    comm, long_name = (part.split(b"\0", 1)[0] for part in fields[12:14])
    return Process(
        pid=fields[3],
        ppid=fields[4],
        pgrp=fields[15],
        sid=sid,
        tty=tty,
        tpgid=fields[18] if tty is not None else -1,
        start=fields[20] * 1_000_000 + fields[21],
        state=_BSD_STATES.get(fields[1], "?"),
        name=(long_name or comm).decode("utf-8", "replace"),
    )


def decode_procargs(raw: bytes) -> tuple[str, ...]:
    """The arguments in a kern.procargs2 answer: their count, the program's path, NULs, then the arguments."""
    if len(raw) < struct.calcsize("=i"):
        return ()
    (count,) = struct.unpack_from("=i", raw)
    _, _, rest = raw[4:].partition(b"\0")
    return tuple(os.fsdecode(word) for word in rest.lstrip(b"\0").split(b"\0")[:count])


def decode_procenv(raw: bytes) -> dict[str, str]:
    """The environment in a kern.procargs2 answer: what stands behind the arguments, up to an empty word."""
    if len(raw) < struct.calcsize("=i"):
        return {}
    (count,) = struct.unpack_from("=i", raw)
    _, _, rest = raw[4:].partition(b"\0")
    words = rest.lstrip(b"\0").split(b"\0")[count:]
    return _variables(words[: words.index(b"")] if b"" in words else words)
