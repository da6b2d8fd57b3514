"""Sandboxes of bubblewrap for real, in panes of tmux: what they see, who they are, and how they end."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from node.core import workspace as rules
from node.core.errors import ErrorCode, MeshError
from node.core.prompt import PaneRef
from node.terminal import Tmux
from node.workspaces.bubblewrap import Bubblewrap
from tests.waiting import until
from tests.workspace_lab import HOSTILE, OTHER, SESSION, SOURCE, Lab, lab, open_door, read_result

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux: bubblewrap sandboxes")


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

seen['cwd'], seen['HOME'] = os.getcwd(), os.environ['HOME']
seen['env'] = ' '.join(sorted(os.environ))
for name in ('node.db', 'identity/key', f'inbox/{other}/file', f'inbox/{session}/file', 'run/token', 'run/tmux.sock'):
    attempt(name, (home / name).read_text)
attempt('home', lambda: sorted(os.listdir(home)))
attempt('run', lambda: os.listdir(home / 'run'))
attempt('diary', (person / 'diary').read_text)
attempt('shadow', pathlib.Path('/etc/shadow').read_text)
attempt('write project', write('written'))
attempt('write home', write(pathlib.Path.home() / 'kept'))
attempt('write tmp', write(f'/tmp/mine-{node_pid}'))
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
                assert (door.proofs[0].pane, door.proofs[0].full) == (pane, True)
                # bwrap, the first process of the sandbox's own process namespace, and the probe.
                assert seen.pop("processes") == "2"
                assert seen == {
                    "cwd": str(here.project), "HOME": str(own), "home": "['inbox', 'run', 'workspaces']",
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
                assert not Path(f"/tmp/mine-{os.getpid()}").exists()  # noqa: S108  (what the probe wrote)
            listener.close()

    asyncio.run(scenario())


@linux
def test_a_running_sandbox_finds_a_node_that_was_started_anew(tmp_path: Path) -> None:
    workspace = rules.add("lab", "bubblewrap", {}, ())

    async def scenario() -> None:
        async with lab(tmp_path) as here:
            path = here.place.run / "agent.sock"
            async with open_door(path, here.tmux):
                await Bubblewrap(here.place).boot(workspace)
                wrapped = Bubblewrap(here.place).wrap(
                    workspace, probe(here, 1), str(here.project), here.env, given=SOURCE
                )
                pane = await here.start(wrapped)
                await read_result(here.project)
            (here.project / "restarted").touch()
            path.unlink()
            async with open_door(path, here.tmux) as door:
                driver = Bubblewrap(here.place)
                assert "a node that has ended" in str(await driver.state(workspace))
                await driver.boot(workspace)
                assert str(await driver.state(workspace)) == "on"
                await read_result(here.project, "seen again")
                await until(lambda: door.proofs, "the proof of who called")
                assert door.proofs[-1].pane == pane

    asyncio.run(scenario())


@linux
def test_off_ends_every_sandbox_of_that_workspace_only(tmp_path: Path) -> None:
    first, second = (rules.add(name, "bubblewrap", {}, ()) for name in ("first", "second"))
    # What it starts in the background, in a session of its own, must not outlive it either.
    words = ("sh", "-c", "setsid sleep 1000 & echo $$ > started; exec sleep 1000")

    async def scenario() -> None:
        async with lab(tmp_path) as here, open_door(here.place.run / "agent.sock", here.tmux):
            driver = Bubblewrap(here.place)
            panes: list[PaneRef] = []
            for workspace in (first, first, second):
                await driver.boot(workspace)
                panes.append(await here.start(driver.wrap(workspace, words, str(here.project), here.env)))
                await until((here.project / "started").exists, "the sandbox")
                (here.project / "started").unlink()
            await driver.off(first)
            assert str(await driver.state(first)) == "off"
            await until(lambda: _only(here.tmux, panes[2]), "the end of the panes")
            await driver.off(first)
            with pytest.raises(MeshError) as raised:
                driver.wrap(first, words, str(here.project), here.env)
            assert raised.value.code is ErrorCode.WRONG_STATE
            assert str(await driver.state(second)) == "on"
            await driver.boot(first)
            await here.start(driver.wrap(first, words, str(here.project), here.env))
            await until((here.project / "started").exists, "the sandbox after its workspace was on again")

    asyncio.run(scenario())


async def _only(tmux: Tmux, pane: PaneRef) -> bool:
    return await tmux.panes() == (pane,)


def _written_out(pipe: int) -> bool:
    """Whether no process is left which could write to the pipe."""
    try:
        return os.read(pipe, 1) == b""
    except BlockingIOError:
        return False


@linux
def test_a_sandbox_ends_with_its_pane(tmp_path: Path) -> None:
    workspace = rules.add("lab", "bubblewrap", {}, ())

    async def scenario() -> None:
        async with lab(tmp_path) as here, open_door(here.place.run / "agent.sock", here.tmux):
            os.mkfifo(here.project / "pipe")
            driver = Bubblewrap(here.place)
            await driver.boot(workspace)
            words = ("sh", "-c", "trap '' HUP; setsid sleep 1000 > pipe & exec sleep 1000")
            pane = await here.start(driver.wrap(workspace, words, str(here.project), here.env))
            reader = os.open(here.project / "pipe", os.O_RDONLY | os.O_NONBLOCK)
            await until(lambda: not _written_out(reader), "the process in the background")
            await here.tmux.kill(pane)
            await until(lambda: _written_out(reader), "the end of the process in the background")
            os.close(reader)

    asyncio.run(scenario())


@linux
def test_a_worktree_can_commit_from_inside(tmp_path: Path) -> None:
    workspace = rules.add("lab", "bubblewrap", {}, ())
    script = (
        "git add -A && git -c user.name=n -c user.email=e@x commit -qm inside > out 2>&1; "
        "echo x 2> /dev/null > ../main/.git/hooks/post-commit; echo x 2> /dev/null > ../main/file; touch done"
    )

    async def scenario() -> None:
        async with lab(tmp_path) as here, open_door(here.place.run / "agent.sock", here.tmux):
            main, work = tmp_path / "main", here.place.home / "worktrees" / "w"
            who = ("-c", "user.name=n", "-c", "user.email=e@x")
            for words in (("init", "-q", "."), (*who, "commit", "-q", "--allow-empty", "-m", "0")):
                main.mkdir(exist_ok=True)
                subprocess.run(["git", *words], cwd=main, check=True)
            subprocess.run(["git", "worktree", "add", "-q", "-b", "side", str(work)], cwd=main, check=True)
            (work / "new").touch()
            driver = Bubblewrap(here.place)
            await driver.boot(workspace)
            await here.start(driver.wrap(workspace, ("sh", "-c", script), str(work), here.env))
            await until((work / "done").exists, "the commit")
            log = subprocess.run(
                ["git", "log", "--format=%s", "side"], cwd=main, check=True, capture_output=True, text=True
            )
            assert log.stdout.split() == ["inside", "0"], (work / "out").read_text()
            assert not (main / ".git" / "hooks" / "post-commit").exists()
            assert not (main / "file").exists()

    asyncio.run(scenario())


@linux
def test_copies_cannot_be_led_out_of_a_sandbox(tmp_path: Path) -> None:
    workspace = rules.add("lab", "bubblewrap", {"network": "off"}, ())

    async def scenario() -> None:
        async with lab(tmp_path) as here, open_door(here.place.run / "agent.sock", here.tmux):
            driver = Bubblewrap(here.place)
            await driver.boot(workspace)
            own = here.place.home / "workspaces" / "lab" / "home"
            source, back = tmp_path / "source", tmp_path / "back"
            source.write_bytes(bytes(range(256)) * 1000)
            for name in HOSTILE:
                await driver.copy_in(workspace, source, f"{own}/{name}")
                await driver.copy_out(workspace, f"{own}/{name}", back)
                assert back.read_bytes() == source.read_bytes()
                back.unlink()
            assert not (own / "pwned").exists()
            (own / "key").symlink_to(here.place.home / "identity" / "key")
            (own / "folder").symlink_to(here.person)
            for act in (
                driver.copy_out(workspace, f"{own}/key", back),
                driver.copy_in(workspace, source, f"{own}/folder/new"),
            ):
                with pytest.raises(MeshError) as raised:
                    await act
                assert raised.value.code is ErrorCode.UNAVAILABLE
            assert not back.exists()
            assert sorted(path.name for path in here.person.iterdir()) == ["diary"]
            await driver.copy_in(workspace, source, f"{own}/key")
            assert (here.place.home / "identity" / "key").read_text() == "key"

    asyncio.run(scenario())
