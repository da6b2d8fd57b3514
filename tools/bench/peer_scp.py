"""scp as a peer: an sshd of its own on a free loopback port, with keys made for the occasion and nothing else set."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.bench.harness import BenchError
from tools.bench.peers import PeerUnavailableError, last_words, program, serving

INSTALL = "it comes with OpenSSH: apt install openssh-server openssh-client"
START_DEADLINE_S = 30.0
_SBIN = (Path("/usr/sbin"), Path("/usr/local/sbin"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scp:
    """A server at work, and how to copy to it."""

    folder: Path
    version: str

    async def copy(self, source: Path, name: str) -> None:
        """Copies a file to `name` in the folder; BenchError when scp says no."""
        code, said = await _run("scp", "-q", "-F", self.folder / "client", source, f"bench:{self.folder / name}")
        if code:
            raise BenchError(f"scp failed: {said}; {last_words(self.folder / 'log')}")


@asynccontextmanager
async def scp(folder: Path) -> AsyncIterator[Scp]:
    """Runs a server for the block; PeerUnavailableError when there is none to run."""
    sshd = program("sshd", _SBIN)
    if sshd is None or shutil.which("scp") is None or shutil.which("ssh-keygen") is None:
        raise PeerUnavailableError(f"there is no sshd or scp here; {INSTALL}")
    port = _free_port()
    await asyncio.to_thread(_prepare, folder, port)
    log = folder / "log"
    async with serving((sshd, "-D", "-e", "-f", folder / "server"), log, None, signal.SIGTERM):
        _, version = await _run("ssh", "-V")
        try:
            async with asyncio.timeout(START_DEADLINE_S):
                while (await _run("ssh", "-F", folder / "client", "bench", "true"))[0]:  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            raise PeerUnavailableError(f"its server takes no login: {last_words(log)}") from error
        yield Scp(folder=folder, version=version)


def _prepare(folder: Path, port: int) -> None:
    """Keys and settings of both ends."""
    if os.geteuid() == 0:
        # Where the distribution's own server would make it, when it starts.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "server").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/user.pub\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "Subsystem sftp internal-sftp\n",
        encoding="utf-8",
    )
    host_key = (folder / "host.pub").read_text(encoding="utf-8")
    (folder / "known").write_text(f"[127.0.0.1]:{port} {host_key}", encoding="utf-8")
    (folder / "client").write_text(
        f"Host bench\nHostName 127.0.0.1\nPort {port}\nIdentityFile {folder}/user\nIdentitiesOnly yes\nBatchMode yes\n"
        f"UserKnownHostsFile {folder}/known\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\nLogLevel ERROR\n",
        encoding="utf-8",
    )


async def _run(*command: str | Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode("utf-8", "replace").strip()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
