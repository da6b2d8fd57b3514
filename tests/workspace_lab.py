"""A node's home, a project and a terminal server for tests of workspaces, and a door that says who came in."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import node
from node.callers import Callers, Proof
from node.core.errors import MeshError
from node.core.prompt import PaneRef
from node.terminal import Tmux
from node.workspaces import Place, Wrapped
from tests.terminals import terminal
from tests.waiting import until

SESSION, OTHER = "a" * 16, "b" * 16
# The package under test, for programs which are started elsewhere.
SOURCE = {"PYTHONPATH": str(Path(node.__file__).parent.parent)}
HOSTILE = ("a b", "quo'te\"s", "new\nline", "$(touch pwned)`x`", "-rf", "*;&|", "ümläut")


@dataclass(slots=True)
class Door:
    """The node's socket for agents: proves whoever connects, and says so."""

    path: Path
    callers: Callers
    proofs: list[Proof] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    async def serve(self) -> None:
        self.path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.fspath(self.path))
            listener.listen()
            listener.setblocking(False)
            while True:
                sock, _ = await asyncio.get_running_loop().sock_accept(listener)
                with sock:
                    try:
                        self.proofs.append(await self.callers.prove(sock))
                        answer = b"proven"
                    except MeshError as error:
                        self.refusals.append(error.message)
                        answer = b"refused"
                    await asyncio.get_running_loop().sock_sendall(sock, answer)


@asynccontextmanager
async def open_door(path: Path, tmux: Tmux) -> AsyncIterator[Door]:
    door = Door(path=path, callers=Callers(tmux, os.getuid()))
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(door.serve())
        await until(path.exists, "the node's socket")
        try:
            yield door
        finally:
            serving.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A node's home with things in it that nobody else may see, a project, and a terminal server."""

    place: Place
    tmux: Tmux
    project: Path
    person: Path

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HELIOGRAPH_SESSION": SESSION, "SECRET": "s3cret", "LANG": "C.UTF-8"}

    async def start(self, wrapped: Wrapped) -> PaneRef:
        return await self.tmux.start(wrapped.argv, cwd=wrapped.cwd, env=wrapped.env, name="test")


@asynccontextmanager
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    home = tmp_path / "home"
    project, person = tmp_path / "pro ject's", tmp_path / "person"
    for folder in (home / "identity", home / "inbox" / SESSION, home / "inbox" / OTHER, project, person):
        folder.mkdir(mode=0o700, parents=True)
    for path in (
        home / "node.db", home / "identity" / "key", home / "inbox" / OTHER / "file", home / "inbox" / SESSION / "file",
        person / "diary",
    ):  # fmt: skip
        path.write_text(path.name)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    async with terminal(home) as tmux:
        (home / "run" / "token").write_text("token")
        yield Lab(place=Place(home=home, run=home / "run"), tmux=tmux, project=project, person=person)


async def read_result(project: Path, name: str = "seen") -> dict[str, str]:
    await until((project / name).exists, "what the program saw")
    found: dict[str, str] = json.loads((project / name).read_text())
    return found
