"""A real node as its own process, in a home of its own: started, killed and started again by tests."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from node.demo.puppet import Puppet
from node.local_client import LocalClient
from node.ports import NewSession

START_SECONDS = 60.0
UP = b"the node is up"
# On the loopback, at ports of its own, and silent: other nodes may be at work on this machine.
MESH = '[mesh]\nhost = "127.0.0.1"\nport = 0\npairing_port = 0\ndiscovery = false\n'
HELIO = (sys.executable, "-m", "node.entry")


class Lab:
    """One home and the node that runs on it, if it does at the moment."""

    def __init__(self, home: Path, group: asyncio.TaskGroup, within: Sequence[str] = ()) -> None:
        self.home = home
        self._within = tuple(within)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("TMUX", "HELIOGRAPH"))}
        self.env["HELIOGRAPH_HOME"] = str(home)
        self.up = asyncio.Event()
        self.said: list[str] = []
        self._group = group
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Starts the daemon and returns once all its doors are open."""
        self._process = await asyncio.create_subprocess_exec(
            *self._within, *HELIO, "up", "--foreground", env=self.env, stderr=asyncio.subprocess.PIPE, cwd=self.home
        )
        assert self._process.stderr is not None
        opened = asyncio.Event()
        self._group.create_task(self._listen(self._process.stderr, opened))
        async with asyncio.timeout(START_SECONDS):
            await opened.wait()
        assert self._process.returncode is None, self.told()
        self.up.set()

    async def _listen(self, stderr: asyncio.StreamReader, opened: asyncio.Event) -> None:
        while line := await stderr.readline():
            self.said.append(line.decode("utf-8", "replace"))
            if UP in line:
                opened.set()
        # The process has ended: whoever waits for it to open must not wait for ever.
        opened.set()

    async def kill(self) -> None:
        """kill -9: the daemon gets no chance to do anything."""
        self.up.clear()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def freeze(self, *, frozen: bool) -> None:
        """SIGSTOP, or SIGCONT: the daemon stands still, as on a machine that sleeps."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)

    async def stop(self) -> int:
        """Stops the daemon as a service manager does; its exit code."""
        assert self._process is not None
        self.up.clear()
        self._process.terminate()
        async with asyncio.timeout(START_SECONDS):
            return await self._process.wait()

    @property
    def running(self) -> bool:
        """Whether the daemon runs."""
        return self._process is not None and self._process.returncode is None

    def told(self) -> str:
        """The last that the daemon said."""
        return "".join(self.said[-40:])

    async def helio(self, *arguments: str, code: int = 0, text: str = "") -> str:
        """Runs the command line; what it printed. The exit code must be `code`."""
        process = await asyncio.create_subprocess_exec(
            *HELIO,
            *arguments,
            env=self.env,
            cwd=self.home,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(START_SECONDS):
            output, complaint = await process.communicate(text.encode())
        said = output.decode() + complaint.decode()
        assert process.returncode == code, f"helio {arguments}: exit {process.returncode}\n{said}"
        return said

    async def agent(self, stack: AsyncExitStack, nickname: str) -> Puppet:
        """A session with a scripted agent, and its strings."""
        control = self.home / "run" / f"{nickname}.ctl"
        argv = (sys.executable, "-m", "node.demo.agent", "--name", nickname, "--control", str(control))
        async with LocalClient(self.home) as client:
            await client.run_session(
                NewSession(argv=argv, cwd=str(self.home), env=tuple(self.env.items()), nickname=nickname)
            )
        return await stack.enter_async_context(Puppet(control))


@asynccontextmanager
async def lab(within: Sequence[str] = (), mesh: str = MESH) -> AsyncIterator[Lab]:
    """A lab in a fresh short path (unix sockets want one), cleaned up afterwards whatever happened.

    `within` are words that start the daemon somewhere else, such as in a host of a laboratory.
    """
    home = Path(tempfile.mkdtemp(prefix="helio-e2e-"))
    (home / "config.toml").write_text(mesh, encoding="utf-8")
    try:
        async with asyncio.TaskGroup() as group:
            built = Lab(home, group, within)
            try:
                yield built
            finally:
                await built.kill()
    finally:
        tmux = ["tmux", "-S", str(home / "run" / "tmux.sock"), "kill-server"]
        subprocess.run(tmux, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)
