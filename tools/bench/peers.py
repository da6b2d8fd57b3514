"""Servers that a bench starts for a while, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tools.bench.harness import AnyCase

STOP_DEADLINE_S = 20.0
_LOG_TAIL_LINES = 6


class PeerUnavailableError(Exception):
    """This peer cannot be measured here; the message says why and, where that helps, what to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer at work: how to load it, which version it is, and the settings it confirmed for how a commit lasts."""

    case: AnyCase
    version: str
    durability: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user that a server runs as, in place of root."""

    uid: int
    gid: int


def program(name: str, folders: Sequence[Path] = ()) -> Path | None:
    """Where `name` is: in one of `folders`, beside this Python, or on PATH."""
    for folder in (*folders, Path(sys.executable).parent):
        if os.access(folder / name, os.X_OK):
            return folder / name
    found = shutil.which(name)
    return Path(found) if found else None


def unprivileged(names: Sequence[str]) -> Account | None:
    """The first of these accounts that exists when this process is root; None when it is not."""
    if os.geteuid() != 0:
        return None
    for name in names:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(uid=entry.pw_uid, gid=entry.pw_gid)
    raise PeerUnavailableError(f"it refuses to run as root, and there is no user {' or '.join(names)}")


async def start(command: Sequence[str | Path], log: Path, account: Account | None) -> asyncio.subprocess.Process:
    """Starts a program in a session of its own (a Ctrl-C is the bench's, not the server's), its output in `log`."""
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd="/",
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )


async def kill(process: asyncio.subprocess.Process) -> None:
    """Ends a started program with all that it started itself, at once."""
    with suppress(ProcessLookupError):
        # It leads a session of its own, so its group is its descendants and nobody else.
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


@asynccontextmanager
async def serving(
    command: Sequence[str | Path], log: Path, account: Account | None, stop_signal: signal.Signals
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A server for as long as the block lasts: asked to stop with `stop_signal`, killed when that takes too long."""
    process = await start(command, log, account)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(stop_signal)
        try:
            async with asyncio.timeout(STOP_DEADLINE_S):
                await process.wait()
        except TimeoutError:
            await kill(process)


def last_words(log: Path) -> str:
    """The end of a log, in one line."""
    if not log.exists():
        return "it said nothing"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return " / ".join(line.strip() for line in lines[-_LOG_TAIL_LINES:] if line.strip()) or "it said nothing"
