"""Workspaces for real: sandboxes of bubblewrap in panes of tmux, and a box behind ssh on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import node
from node.callers import Callers, Proof
from node.core import workspace as rules
from node.core.errors import ErrorCode, MeshError
from node.core.prompt import PaneRef
from node.core.workspace import Workspace
from node.terminal import Tmux
from node.workspaces import Place
from node.workspaces.bubblewrap import Bubblewrap
from node.workspaces.command import Command
from node.workspaces.driver import Wrapped
from tests.terminals import terminal, until

SESSION, OTHER = "a" * 16, "b" * 16
# The package under test, for programs which are started elsewhere.
SOURCE = {"PYTHONPATH": str(Path(node.__file__).parent.parent)}
HOSTILE = ("a b", "quo'te\"s", "new\nline", "$(touch pwned)`x`", "-rf", "*;&|", "ümläut")

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux: bubblewrap sandboxes")


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


# --- bubblewrap -------------------------------------------------------------------------------------------------------

PROBE = r"""
import json, os, pathlib, socket, sys, time
from node.shim_streams import socket_path

home, session, other, person, port, node_pid = sys.argv[1:]
home, person = pathlib.Path(home), pathlib.Path(person)
seen = {}

def attempt(name, act):
    try:
        seen[name] = str(act())
    except OSError as error:
        seen[name] = type(error).__name__

def write(path):
    return lambda: pathlib.Path(path).write_text('x')

def connect(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        return sock.recv(100).decode()

def call(port):
    with socket.create_connection(('127.0.0.1', port), 5):
        return 'connected'

def save(name):
    pathlib.Path(name + '.part').write_text(json.dumps(seen))
    os.rename(name + '.part', name)

seen['cwd'], seen['home'] = os.getcwd(), os.environ['HOME']
seen['env'] = ' '.join(sorted(os.environ))
for name in ('node.db', 'identity/key', f'inbox/{other}/file', f'inbox/{session}/file', 'run/token', 'run/tmux.sock'):
    attempt(name, (home / name).read_text)
attempt('home', lambda: sorted(os.listdir(home)))
attempt('run', lambda: os.listdir(home / 'run'))
attempt('diary', (person / 'diary').read_text)
attempt('shadow', pathlib.Path('/etc/shadow').read_text)
attempt('write project', write('written'))
attempt('write home', write(pathlib.Path.home() / 'kept'))
attempt('write tmp', write('/tmp/mine'))
attempt('write inbox', write(home / 'inbox' / session / 'new'))
attempt('write usr', write('/usr/new'))
attempt('write root', write('/new'))
attempt('write hook', write('.git/hooks/pre-commit'))
attempt('write git config', write('.git/config'))
attempt('write git', write('.git/description'))
attempt('move git', lambda: os.rename('.git', 'moved'))
attempt('unlink door', lambda: os.unlink(socket_path()))
attempt('processes', lambda: len([name for name in os.listdir('/proc') if name.isdigit()]))
attempt('terminal', lambda: os.get_terminal_size().columns)
attempt('controlling', lambda: os.close(os.open('/dev/tty', os.O_RDWR)))
attempt('node', lambda: os.listdir(f'/proc/{node_pid}/root'))
attempt('network', lambda: call(int(port)))
seen['socket'] = socket_path()
attempt('door', lambda: connect(socket_path()))
save('seen')
while True:
    try:
        connect(socket_path())
        if os.path.exists('restarted'):
            break
    except OSError:
        pass
    time.sleep(0.05)
save('seen again')
sys.stdin.read()
"""


def probe(here: Lab, port: int) -> list[str]:
    words = [str(here.place.home), SESSION, OTHER, str(here.person), str(port), str(os.getpid())]
    return [sys.executable, "-c", PROBE, *words]


@linux
@pytest.mark.parametrize("network", ["on", "off"])
def test_what_a_sandbox_sees_and_who_it_is(tmp_path: Path, network: str) -> None:
    workspace = rules.add("Lab", "bubblewrap", {"network": network, "env": "MORE"}, ())

    async def scenario() -> None:
        async with lab(tmp_path) as here:
            driver = Bubblewrap(here.place)
            listener = socket.create_server(("127.0.0.1", 0))
            assert str(await driver.state(workspace)) == "off"
            with pytest.raises(MeshError) as raised:
                await driver.boot(workspace)
            assert "See that the node is up" in raised.value.message
            async with open_door(here.place.run / "agent.sock", here.tmux) as door:
                await driver.boot(workspace)
                assert str(await driver.state(workspace)) == "on"
                env = here.env | {"MORE": "1"}
                wrapped = driver.wrap(
                    workspace, probe(here, listener.getsockname()[1]), str(here.project), env, given=SOURCE
                )
                assert "s3cret" not in " ".join(wrapped.argv)
                pane = await here.start(wrapped)
                seen = await read_result(here.project)
                own = here.place.home / "workspaces" / "lab" / "home"
                names = {"HELIOGRAPH_HOME", "HELIOGRAPH_SESSION", "HOME", "LANG", "MORE", "PATH", "PYTHONPATH"}
                assert set(seen.pop("env").split()) - {"LC_CTYPE", "PWD"} == {*names, "TERM"}
                assert seen.pop("door") == "proven"
                assert [proof.pane for proof in door.proofs] == [pane]
                assert door.proofs[0].full
                # bwrap, the first process of the sandbox's own process namespace, and the probe.
                assert seen.pop("processes") == "2"
                assert seen == {
                    "cwd": str(here.project), "home": str(own), "home": str(own) if False else seen["home"],
                    **{key: seen[key] for key in ()},
                    "node.db": "FileNotFoundError", "identity/key": "FileNotFoundError",
                    f"inbox/{OTHER}/file": "FileNotFoundError", f"inbox/{SESSION}/file": "file",
                    "run/token": "FileNotFoundError", "run/tmux.sock": "FileNotFoundError", "run": "['agent.sock']",
                    "diary": "FileNotFoundError", "shadow": "FileNotFoundError",
                    "write project": "1", "write home": "1", "write tmp": "1", "write inbox": "OSError",
                    "write usr": "OSError", "write root": "OSError", "write hook": "OSError",
                    "write git config": "OSError", "write git": "1", "move git": "OSError", "unlink door": "OSError",
                    "terminal": "160", "controlling": "None", "node": "FileNotFoundError",
                    "network": "connected" if network == "on" else "ConnectionRefusedError",
                    "socket": str(here.place.run / "agent.sock"),
                }  # fmt: skip
                assert (own / "kept").read_text() == "x"
                assert not Path("/tmp/mine").exists()  # noqa: S108  (the probe's, had it been seen outside)
            listener.close()

    asyncio.run(scenario())
