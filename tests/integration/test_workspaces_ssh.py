"""A workspace behind commands for real: a box over ssh, which is a server of our own on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.core import workspace as rules
from node.core.errors import MeshError
from node.core.workspace import Workspace
from node.workspaces import Place
from node.workspaces.command import Command
from tests.waiting import until
from tests.workspace_lab import HOSTILE, lab, open_door, read_result

CALL = r"""
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as sock:
    sock.connect(os.environ['HELIOGRAPH_HOME'] + '/run/agent.sock')
    said = sock.recv(100).decode()
seen = {'argv': json.dumps(sys.argv[1:]), 'cwd': os.getcwd(), 'said': said, 'secret': os.environ.get('SECRET', '')}
with open(os.environ['RESULT'] + '.part', 'w') as file:
    json.dump(seen, file)
os.rename(os.environ['RESULT'] + '.part', os.environ['RESULT'])
sys.stdin.read()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A machine behind ssh: a server of our own on loopback, whose folder `remote` plays the other file system."""

    folder: Path
    workspace: Workspace

    @property
    def remote(self) -> Path:
        return self.folder / "remote"

    @property
    def ssh(self) -> tuple[str, ...]:
        return ("ssh", "-F", str(self.folder / "client"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def ssh_box(folder: Path) -> Box:
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if sshd is None:
        pytest.fail("There is no sshd here; the test needs it: apt install openssh-server")
    if os.getuid() == 0:
        # Where the distribution's own server would make it, when it starts.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    for name in ("", "remote", "doors"):
        (folder / name).mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    port, pid = free_port(), folder / "sshd.pid"
    (folder / "server").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nPidFile {pid}\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nPasswordAuthentication no\nAllowStreamLocalForwarding yes\n"
        "KbdInteractiveAuthentication no\nStreamLocalBindUnlink yes\n"
    )
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "client").write_text(
        f"Host box\nHostName 127.0.0.1\nPort {port}\nIdentityFile {folder}/user\nIdentitiesOnly yes\nBatchMode yes\n"
        f"UserKnownHostsFile {folder}/known\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\nLogLevel ERROR\n"
    )
    ssh, doors = f"ssh -F {folder}/client", folder / "doors"
    inner = (
        f"mkdir -p -m 700 {doors}/{{session}}/run && "
        f"ln -sfn {doors}/{{session}}.sock {doors}/{{session}}/run/agent.sock && "
        f"cd {{cwd:sh}} && exec env HELIOGRAPH_HOME={doors}/{{session}} {{env:sh}} {{argv:sh}}"
    )
    settings = {
        "start": f"{sshd} -f {folder}/server -E {folder}/log",
        "stop": f"sh -c 'kill `cat {pid}` && while test -e {pid}; do sleep 0.05; done'",
        "state": f"sh -c 'test -e {pid} || exit 1; exec {ssh} box true'",
        "exec": (
            f"{ssh} -tt -o ControlPath=none -o ExitOnForwardFailure=yes -R {doors}/{{session}}.sock:{{socket}} box "
            f'"{inner}"'
        ),
        "copy_in": f"{ssh} box 'cat > {{remote:sh}}'",
        "copy_out": f"{ssh} box 'cat < {{remote:sh}}'",
        "inside": str(folder / "remote"),
        "outside": str(folder.parent),
        "timeout": "20",
    }
    return Box(folder=folder, workspace=rules.add("box", "command", settings, ()))


@asynccontextmanager
async def running(box: Box, driver: Command) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await driver.off(box.workspace)


def test_a_box_goes_on_and_off_and_files_travel(tmp_path: Path) -> None:
    box = ssh_box(tmp_path / "box")
    (tmp_path / "home" / "run").mkdir(parents=True)
    driver = Command(Place(home=tmp_path / "home", run=tmp_path / "home" / "run"))

    async def scenario() -> None:
        assert str(await driver.state(box.workspace)) == "off"
        async with running(box, driver):
            await driver.boot(box.workspace)
            await driver.boot(box.workspace)
            assert str(await driver.state(box.workspace)) == "on"
            source, back = tmp_path / "source", tmp_path / "back"
            source.write_bytes(bytes(range(256)) * 1000)
            for name in HOSTILE:
                await driver.copy_in(box.workspace, source, str(box.remote / name))
                assert (box.remote / name).read_bytes() == source.read_bytes()
                await driver.copy_out(box.workspace, str(box.remote / name), back)
                assert back.read_bytes() == source.read_bytes()
                back.unlink()
            assert sorted(path.name for path in box.remote.iterdir()) == sorted(HOSTILE)
            with pytest.raises(MeshError) as raised:
                await driver.copy_out(box.workspace, str(box.remote / "missing"), back)
            assert "missing" in raised.value.message
            assert not back.exists()
        assert str(await driver.state(box.workspace)) == "off"
        with pytest.raises(MeshError):
            await driver.copy_in(box.workspace, source, str(box.remote / "late"))
        (box.folder / "sshd.pid").touch()
        assert "Connection refused" in str(await driver.state(box.workspace))
        (box.folder / "sshd.pid").unlink()

    asyncio.run(scenario())


async def call_from(box: Box, socket_path: Path) -> str:
    """What the node answers to a program on the box that calls through `socket_path`."""
    script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(99).decode())"
    words = f"{sys.executable} -c '{script}' {socket_path}"
    process = await asyncio.create_subprocess_exec(*box.ssh, "box", words, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode().strip()


def test_an_agent_on_the_box_is_proven_by_the_ssh_of_its_pane(tmp_path: Path) -> None:
    box = ssh_box(tmp_path / "box")

    async def scenario() -> None:
        async with lab(tmp_path) as here, open_door(here.place.run / "agent.sock", here.tmux) as door:
            driver = Command(here.place)
            async with running(box, driver):
                await driver.boot(box.workspace)
                folder = box.remote / here.project.name
                folder.mkdir()
                result = tmp_path / "seen"
                words = (sys.executable, "-c", CALL, *HOSTILE)
                wrapped = driver.wrap(box.workspace, words, str(here.project), here.env, given={"RESULT": str(result)})
                pane = await here.start(wrapped)
                seen = await read_result(tmp_path)
                assert json.loads(seen["argv"]) == list(HOSTILE)
                assert (seen["cwd"], seen["said"], seen["secret"]) == (str(folder), "proven", "")
                assert [(proof.pane, proof.pid, proof.full) for proof in door.proofs] == [(pane, pane.pid, True)]
                assert not (folder / "pwned").exists()

                # A connection which many sessions share belongs to none of their panes, and proves nothing.
                shared = box.folder / "doors" / "shared.sock"
                master = await asyncio.create_subprocess_exec(
                    *box.ssh, "-N", "-R", f"{shared}:{door.path}", "box", start_new_session=True
                )
                await until(shared.exists, "the shared forward")
                assert await call_from(box, shared) == "refused"
                assert "Nothing ties" in door.refusals[-1]
                master.send_signal(signal.SIGTERM)
                await master.wait()
                await here.tmux.kill(pane)

    asyncio.run(scenario())
