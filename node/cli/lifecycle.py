"""Starting and stopping the node's process, with bounded waits; sessions are in tmux and outlive it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from node.cli.text import one_line
from node.core.errors import ErrorCode, MeshError
from node.core.views import StatusView
from node.platform import processes

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_NAME = "node.lock"
START_SECONDS = 30.0
STOP_SECONDS = 40.0
_LOOK_SECONDS = 0.05
_LOG_LINES = 12
_LOG_TAIL_BYTES = 16_384


class Started(Protocol):
    """The daemon's process, as subprocess has it."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLog:
    """The node's log file, and how long it was before something was started."""

    path: Path
    size: int

    @classmethod
    def at(cls, home: Path) -> NodeLog:
        """The log of the node at `home`, its folder made if missing."""
        path = home / "log" / "node.log"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return cls(path=path, size=path.stat().st_size if path.exists() else 0)

    def since(self) -> list[str]:
        """The last lines that were written since, escaped."""
        try:
            with self.path.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self.size if self.size <= end else 0, end - _LOG_TAIL_BYTES))
                text = log.read().decode("utf-8", "replace")
        except OSError:
            return []
        return [one_line(line) for line in text.split("\n") if line.strip()][-_LOG_LINES:]


def launch(argv: Sequence[str], environment: Mapping[str, str], log: NodeLog) -> subprocess.Popen[bytes]:
    """The daemon in a session of its own, so that neither Ctrl-C nor the end of this terminal reaches it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    output = os.open(log.path, flags, 0o600)
    try:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=log.path.parent, env=dict(environment),
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(output)


def await_start(
    process: Started,
    status: Callable[[], StatusView | None],
    log: NodeLog,
    *,
    waiting: Callable[[float], None],
    taken: int,
    seconds: float = START_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> StatusView:
    """The status of the node once it answers; UNAVAILABLE with the log's last lines when it ends or is too slow.

    `status` gives None while no node answers; `taken` is the exit status of a node that finds another one starting.
    """
    began = clock()
    while True:
        # Looked at first: an ended process cannot be the one that answers afterwards.
        ended = process.poll()
        found = status()
        if found is not None and (ended is None or found.pid != process.pid):
            return found
        if ended is not None and ended != taken:
            raise _did_not_start(f"The node ended at once with status {ended}", log)
        if clock() - began > seconds:
            raise _did_not_start(f"The node (process {process.pid}) did not answer within {seconds:.0f} seconds", log)
        waiting(clock() - began)
        pause(_LOOK_SECONDS)


def await_end(
    pid: int,
    *,
    waiting: Callable[[float], None],
    seconds: float = STOP_SECONDS,
    look: Callable[[int], processes.Process | None] = processes.read,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Returns once that process is gone; UNAVAILABLE when it takes too long."""
    began = clock()
    first = look(pid)
    while first is not None:
        now = look(pid)
        # A pid that was given to somebody else meanwhile has another start.
        if now is None or now.ended or now.start != first.start:
            return
        if clock() - began > seconds:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"The node was asked to stop, but process {pid} is still there after {seconds:.0f} seconds. See "
                f"log/node.log in its home. As a last resort: kill -9 {pid} (nothing that was committed is lost).",
                {"pid": pid},
            )
        waiting(clock() - began)
        pause(_LOOK_SECONDS)


def lock_owner(home: Path, read: Callable[[int], tuple[str, ...]] = processes.command_line) -> int | None:
    """The process that the lock file names, if it still is a node; None for none, or for a file that is left over."""
    try:
        pid = int((home / LOCK_NAME).read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
    # The pid of a node that ended may be anybody's by now.
    return pid if {"up", "--foreground"} <= set(read(pid)) else None


def _did_not_start(what: str, log: NodeLog) -> MeshError:
    said = list(_reason(log.since()))
    words = " | ".join(said) if said else "it wrote nothing"
    return MeshError(
        ErrorCode.UNAVAILABLE,
        f"{what}. Its log says: {words}. All of it: {log.path}. Check with: helio doctor",
        {"log": str(log.path)},
    )


def _reason(lines: Sequence[str]) -> Iterator[str]:
    """The lines that say why: what `helio` refused with, else the last few."""
    refused = [line.removeprefix("helio: ") for line in lines if line.startswith("helio: ")]
    yield from refused[-1:] or lines[-3:]
