"""A node of the demo's own, in a home of its own, with its sessions."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from node.agents.scripted import CONTROL
from node.demo.puppet import Puppet
from node.local_client import LocalClient
from node.platform import paths
from node.ports import NewSession
from node.service import own_command

# Other nodes on this machine and its network are none of the demo's business.
_MESH = '[mesh]\nhost = "127.0.0.1"\nport = 0\npairing_port = 0\ndiscovery = false\n[identity]\nkeychain = "off"\n'
_COMMAND = (sys.executable, "-m", "node.entry")


class StageError(Exception):
    """The stage could not be set up; the text says what the command said."""


class WrongError(Exception):
    """A step of the demo came out other than it must."""


def check(ok: object, what: str) -> None:
    """WrongError with `what` unless `ok`."""
    if not ok:
        raise WrongError(what)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A running node: its home, a client of it, and a stack which ends what is started on it."""

    home: Path
    node: LocalClient
    stack: AsyncExitStack

    async def agent(self, nickname: str, folder: Path | None = None, env: Mapping[str, str] | None = None) -> Puppet:
        """A session with a scripted agent in a real terminal, in `folder`, in `env` or this program's environment."""
        control = paths.run_dir(self.home) / f"{nickname}.ctl"
        await self.node.run_session(
            NewSession(
                argv=(sys.executable, "-m", "node.demo.agent", "--name", nickname, "--control", str(control)),
                cwd=str(folder or self.home),
                env=tuple(({**(os.environ if env is None else env), "HELIOGRAPH_HOME": str(self.home)}).items()),
                nickname=nickname,
                title=f"{nickname}'s work",
            )
        )
        return await self.stack.enter_async_context(Puppet(control))

    async def delegate(self, session: str) -> Puppet:
        """The strings of a delegate that the node itself started."""
        return await self.stack.enter_async_context(Puppet(self.home / "agents" / session / CONTROL))

    async def neighbour(self) -> Stage:
        """A second node, as on another machine: a home of its own, and nothing shared but the loopback."""
        home = await self.stack.enter_async_context(_node_at(Path(tempfile.mkdtemp(prefix="helio-demo-")), keep=False))
        node = await self.stack.enter_async_context(LocalClient(home))
        return Stage(home=home, node=node, stack=self.stack)

    async def folder(self, name: str) -> Path:
        """A folder to work in."""
        folder = self.home / name
        await asyncio.to_thread(folder.mkdir)
        return folder

    async def repository(self) -> Path:
        """A small git repository to work in."""
        folder = self.home / "shop"
        folder.mkdir()
        (folder / "export.py").write_text('TOTAL = "EUR"\n', encoding="utf-8")
        await git(folder, "init", "--quiet", "--initial-branch=main")
        await git(folder, "add", ".")
        await git(folder, "commit", "--quiet", "-m", "Begin")
        return folder


async def git(folder: Path, *arguments: str) -> None:
    """Runs git in a folder of the demo, whoever the person is."""
    name = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    process = await asyncio.create_subprocess_exec("git", *name, *arguments, cwd=folder)
    if await process.wait() != 0:
        raise StageError(f"git {arguments[0]} failed in {folder}")


async def helio(home: Path, *arguments: str) -> str:
    """Runs the command line on that home and gives what it printed; StageError when it fails."""
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        *arguments,
        env=os.environ | {"HELIOGRAPH_HOME": str(home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, complaint = await process.communicate()
    if process.returncode != 0:
        said = complaint.decode("utf-8", "replace").strip() or output.decode("utf-8", "replace").strip()
        raise StageError(f"helio {' '.join(arguments)}: {said}")
    return output.decode("utf-8", "replace")


def own_helio(python: Path) -> str:
    """How the person starts the `helio` of that Python, as a shell takes it: its script, or words that need none."""
    script = python.with_name("helio")
    if script.is_file():
        return shlex.quote(str(script))
    argv, variables = own_command()
    return " ".join((*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.join(argv)))


def farewell(home: Path) -> list[str]:
    """What to do with a node that stays up: lines to look around with, and those that end all of it."""
    helio_words, run = own_helio(Path(sys.executable)), paths.run_dir(home)
    folders = [home] if run.is_relative_to(home) else [run, home]
    looks = ("sessions", "requests --all", "timeline", "attach @ben", "request @ben hello")
    return [
        "The node stays up. Look around with",
        "",
        f"    export HELIOGRAPH_HOME={shlex.quote(str(home))}",
        *(f"    {helio_words} {words}" for words in looks),
        "",
        "and end all of it with",
        "",
        f"    {helio_words} --home {shlex.quote(str(home))} down",
        f"    {shlex.join(('tmux', '-S', str(run / paths.TMUX_SOCKET), 'kill-server'))}",
        f"    {shlex.join(('rm', '-r', *map(str, folders)))}",
    ]


@asynccontextmanager
async def stage(*, keep: bool) -> AsyncIterator[Stage]:
    """A node in a fresh home; taken down and removed afterwards unless `keep`."""
    async with _node_at(Path(tempfile.mkdtemp(prefix="helio-demo-")), keep=keep) as home, AsyncExitStack() as stack:
        node = await stack.enter_async_context(LocalClient(home))
        yield Stage(home=home, node=node, stack=stack)


@asynccontextmanager
async def _node_at(home: Path, *, keep: bool) -> AsyncIterator[Path]:
    try:
        (home / "config.toml").write_text(_MESH, encoding="utf-8")
        await helio(home, "up")
        yield home
    finally:
        if not keep:
            await _take_down(home)


async def _take_down(home: Path) -> None:
    try:
        await helio(home, "down")
    finally:
        tmux = await asyncio.create_subprocess_exec(
            "tmux",
            "-S",
            str(paths.run_dir(home) / paths.TMUX_SOCKET),
            "kill-server",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await tmux.wait()
        shutil.rmtree(home, ignore_errors=True)
