"""Who is calling: real processes in real panes, with every trick that was thought of, against a real unix socket."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from node.callers import Callers, Proof
from node.core.errors import ErrorCode, MeshError
from node.core.prompt import PaneRef
from node.platform import processes
from node.terminal import Tmux
from tests.waiting import until

PYTHON = Path(sys.executable).resolve()
# Connects, says which trial it is, and stays until it has its answer.
PROBE = """\
import socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect(sys.argv[1])
    door.sendall(sys.argv[2].encode() + b"\\n")
    door.recv(1)
"""


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@dataclass
class Door:
    """A unix socket that proves each caller; `answers` holds what came out, by the name of the trial."""

    path: Path
    answers: dict[str, Proof | MeshError] = field(default_factory=dict)

    async def answer(self, trial: str) -> Proof | MeshError:
        await until(lambda: trial in self.answers)
        return self.answers[trial]


@dataclass
class Lab:
    """Panes with shells in them, and a door to call at."""

    tmux: Tmux
    door: Door
    folder: Path

    async def shell(self) -> PaneRef:
        argv = ["bash", "--norc", "--noprofile", "-i"]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        return await self.tmux.start(argv, cwd=str(self.folder), env=env, name="lab", width=200, height=30)

    def call(self, trial: str) -> str:
        """The shell words that call at the door as `trial`."""
        return shlex.join([sys.executable, "-I", "-S", str(self.folder / "probe.py"), str(self.door.path), trial])

    async def run(self, ref: PaneRef, line: str) -> None:
        """What an agent's shell tool, or a person, enters in that pane."""
        await self.tmux_does(ref.server, "send-keys", "-t", ref.pane, "-l", line)
        await self.tmux_does(ref.server, "send-keys", "-t", ref.pane, "Enter")

    async def tmux_does(self, server: str, *words: str) -> None:
        process = await asyncio.create_subprocess_exec("tmux", "-S", server, *words)
        assert await process.wait() == 0

    async def identified(self, ref: PaneRef, trial: str, line: str) -> Proof:
        await self.run(ref, line)
        proof = await self.door.answer(trial)
        assert isinstance(proof, Proof), str(proof)
        return proof

    async def refused(self, ref: PaneRef, trial: str, line: str) -> str:
        await self.run(ref, line)
        refusal = await self.door.answer(trial)
        assert isinstance(refusal, MeshError), f"came out as {refusal}"
        assert refusal.code is ErrorCode.UNIDENTIFIED
        return refusal.message


@asynccontextmanager
async def lab_in(folder: Path, uid: int | None = None) -> AsyncIterator[Lab]:
    run = folder / "run"
    run.mkdir(mode=0o700)
    (folder / "probe.py").write_text(PROBE)
    tmux, door = Tmux(run / "t"), Door(path=run / "door")
    callers = Callers(tmux, os.getuid() if uid is None else uid)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        trial = (await reader.readline()).decode().strip()
        try:
            door.answers[trial] = await callers.prove(writer.get_extra_info("socket"))
        except MeshError as error:
            door.answers[trial] = error
        writer.write(b".")
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(serve, door.path)
    try:
        yield Lab(tmux=tmux, door=door, folder=folder)
    finally:
        server.close()
        await tmux.kill_server()


def in_lab(tmp_path: Path, scenario: Callable[[Lab], Awaitable[None]], uid: int | None = None) -> None:
    async def main() -> None:
        async with lab_in(tmp_path, uid) as lab:
            await scenario(lab)

    asyncio.run(main())


def test_each_caller_is_its_own_pane_and_no_other(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        one, two = await lab.shell(), await lab.shell()
        for ref, trial in ((one, "one"), (two, "two"), (one, "one-again")):
            proof = await lab.identified(ref, trial, lab.call(trial))
            assert (proof.pane, proof.full) == (ref, True)

    in_lab(tmp_path, scenario)


@pytest.mark.parametrize(
    ("trial", "trick", "full"),
    [
        ("env", "TMUX_PANE=%999 TMUX=/elsewhere,1,0 {call}", True),
        ("background", "{call} &", True),
        ("no-tty-on-stdio", "{call} </dev/null >/dev/null 2>&1", True),
        ("setsid", "setsid -w {call}", False),
        ("nested-pty", "script -qec {quoted} /dev/null", False),
        ("deep", "bash -c 'bash -c \"{call}; true\"; true'", True),
        ("process-name", "ln -s {python} './p) S 1 1 1 34816 (' && './p) S 1 1 1 34816 (' {rest}", True),
    ],
)
def test_tricks_that_change_nothing(tmp_path: Path, trial: str, trick: str, full: object) -> None:
    async def scenario(lab: Lab) -> None:
        mine, _ = await lab.shell(), await lab.shell()
        call = lab.call(trial)
        line = trick.format(call=call, quoted=shlex.quote(call), python=PYTHON, rest=call.partition(" ")[2])
        proof = await lab.identified(mine, trial, line)
        assert (proof.pane, proof.full) == (mine, full)

    in_lab(tmp_path, scenario)


@pytest.mark.parametrize(
    ("trial", "trick", "why"),
    [
        ("setsid-fork", "setsid -f {call}", "Nothing ties"),
        ("double-fork", "( {call} & )", "its parents do not lead there"),
        ("double-fork-setsid", "( setsid {call} & )", "Nothing ties"),
        ("nested-server", "tmux -f /dev/null -S {folder}/run/nested new-session -d {quoted}", "Nothing ties"),
        ("run-shell", "tmux -S {folder}/run/t run-shell -b {quoted}", "Nothing ties"),
    ],
)
def test_tricks_that_leave_the_caller_unidentified(tmp_path: Path, trial: str, trick: str, why: str) -> None:
    async def scenario(lab: Lab) -> None:
        mine, _ = await lab.shell(), await lab.shell()
        call = lab.call(trial)
        line = trick.format(call=call, quoted=shlex.quote(call), folder=lab.folder)
        message = await lab.refused(mine, trial, line)
        assert why in message
        assert "helio run" in message

    in_lab(tmp_path, scenario)


@pytest.mark.parametrize("how", ["new-window", "split-window"])
def test_a_new_window_is_a_new_pane(tmp_path: Path, how: str) -> None:
    async def scenario(lab: Lab) -> None:
        mine, other = await lab.shell(), await lab.shell()
        line = f"tmux -S {mine.server} {how} {shlex.quote(lab.call('window'))}"
        proof = await lab.identified(mine, "window", line)
        assert proof.pane not in {mine, other}
        assert proof.pane.pane not in {mine.pane, other.pane}

    in_lab(tmp_path, scenario)


def test_a_reused_pane_id_is_not_the_old_pane(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        old = await lab.shell()
        assert (await lab.identified(old, "before", lab.call("before"))).pane == old
        await lab.tmux.kill_server()
        new = await lab.shell()
        assert new.pane == old.pane
        proof = await lab.identified(new, "after", lab.call("after"))
        assert proof.pane == new
        assert proof.pane != old

    in_lab(tmp_path, scenario)


def test_a_process_that_outlives_its_pane_is_nobody_even_if_the_terminal_is_reused(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        old = await lab.shell()
        # Ignores the hang-up, keeps its name for the old terminal, and calls when the pane is gone.
        gate = lab.folder / "gate"
        late = f"trap '' HUP; until [ -e {gate} ]; do read -t 0.05 <> <(:); done; {lab.call('late')}"
        await lab.run(old, f"( bash -c {shlex.quote(late)} & ) ; touch {lab.folder}/started")
        await until((lab.folder / "started").exists)
        await lab.tmux.kill(old)
        await until(lambda: processes.read(old.pid) is None)
        new = await lab.shell()
        gate.touch()
        refusal = await lab.door.answer("late")
        assert isinstance(refusal, MeshError), f"came out as {refusal}, old {old}, new {new}"

    in_lab(tmp_path, scenario)


STEAL = """\
import fcntl, os, sys, termios
if os.fork() == 0:
    os.setsid()
    terminal = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, int(sys.argv[2]))
    os.execv(sys.argv[3], sys.argv[3:])
os.wait()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root may take another session's terminal")
def test_a_stolen_terminal_is_refused(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        thief, victim = await lab.shell(), await lab.shell()
        (lab.folder / "steal.py").write_text(STEAL)
        line = f"{sys.executable} -I -S {lab.folder}/steal.py {victim.tty} 1 {lab.call('stolen')}"
        message = await lab.refused(thief, "stolen", line)
        assert "different panes" in message
        assert thief.pane in message
        assert victim.pane in message

    in_lab(tmp_path, scenario)


def test_codex_shared_server_is_refused_with_the_way_out(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        mine = await lab.shell()
        # A process that looks as Codex's background server does, and starts its tools as that does.
        (lab.folder / "app-server").write_text("import subprocess, sys\nsubprocess.run(sys.argv[1:])\n")
        message = await lab.refused(mine, "codex", f"(exec -a codex {sys.executable} app-server {lab.call('codex')})")
        assert "--no-daemon" in message
        assert "features.daemon_auto_start=false" in message

    in_lab(tmp_path, scenario)


def test_a_caller_outside_of_all_panes_is_told_how_to_start(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.shell()
        process = await asyncio.create_subprocess_exec(*shlex.split(lab.call("outside")))
        refusal = await lab.door.answer("outside")
        assert await process.wait() == 0
        assert isinstance(refusal, MeshError)
        assert "helio run" in refusal.message

    in_lab(tmp_path, scenario)


def test_another_user_is_refused(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        mine = await lab.shell()
        message = await lab.refused(mine, "user", lab.call("user"))
        assert f"user {os.getuid()}" in message

    in_lab(tmp_path, scenario, uid=os.getuid() + 1)


def test_a_caller_that_has_left_is_refused(tmp_path: Path) -> None:
    """Its number may be another's by the time it is looked up."""

    async def scenario(lab: Lab) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(lab.folder / "run" / "late"))
        listener.listen()
        mine = await lab.shell()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('{listener.getsockname()}')"
        await lab.run(mine, f'{sys.executable} -I -S -c "{code}"; touch {lab.folder}/left')
        await until((lab.folder / "left").exists)
        connection, _ = listener.accept()
        with connection, listener, pytest.raises(MeshError) as refusal:
            await Callers(lab.tmux, os.getuid()).prove(connection)
        assert refusal.value.code is ErrorCode.UNIDENTIFIED

    in_lab(tmp_path, scenario)


def test_proving_leaks_no_descriptor(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        mine = await lab.shell()
        await lab.identified(mine, "warm", lab.call("warm"))
        before = open_descriptors()
        for number in range(5):
            await lab.identified(mine, f"n{number}", lab.call(f"n{number}"))
        await until(lambda: open_descriptors() <= before)

    in_lab(tmp_path, scenario)
