"""The node's terminals against a real tmux server: exact starts, hostile names, and one life of one pane."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.prompt import DEMO, HeldReason, PaneRef
from node.platform import processes
from node.terminal import Tmux
from node.typist import foreground_obstacle
from tests.terminals import (
    BOX,
    ENV,
    NOTICE,
    found,
    idle,
    ignored_signals,
    press,
    ready_tui,
    shows,
    start,
    terminal,
    tmux_says,
)
from tests.waiting import until

# --- starting ---------------------------------------------------------------------------------------------------------

DUMP = (
    "import json, os, signal, sys; from pathlib import Path; "
    "seen = {'argv': sys.argv[1:], 'env': dict(os.environ), 'cwd': os.getcwd()}; "
    "Path('seen.tmp').write_text(json.dumps(seen)); os.rename('seen.tmp', 'seen'); sys.stdin.read()"
)


def test_words_environment_and_folder_arrive_exactly(tmp_path: Path) -> None:
    words = ["two words", ";", "deploy done;", "-x", "--", "-----BEGIN NOTE", "", "a'b\"c`d$HOME", "ümläut ☂ 日本"]
    words += ["#{pid}", "#(touch pwned)", "new\nline", "\\;", "*", "~", "{", "}"]
    folder = tmp_path / "a #(touch pwned) 'folder'; ü"
    folder.mkdir()
    given = {**ENV, "A": "x;\ny #{pid}", "SECRET": "s3cret", "EMPTY": "", "TERM": "dumb"}

    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref = await start(tmux, folder, sys.executable, "-I", "-c", DUMP, *words, env=given)
            await until((folder / "seen").exists, "what the program saw")
            seen = json.loads((folder / "seen").read_text())
            assert seen["argv"] == words
            assert seen["cwd"] == str(folder)
            # Python adds this one to itself when the locale is C.
            seen["env"].pop("LC_CTYPE", None)
            assert seen["env"] == {**given, "TERM": "screen-256color"}
            assert not found(tmp_path, "pwned")
            assert not found(tmp_path, "launch-*")
            process = processes.read(ref.pid)
            assert process is not None
            assert (process.start, process.tty) == (ref.started, ref.tty)

    asyncio.run(scenario())


def test_a_lone_word_is_no_shell_command(tmp_path: Path) -> None:
    program = tmp_path / "lone $(touch pwned) program"
    program.write_text(f"#!{sys.executable}\nopen('ran', 'w').close()\ninput()\n")
    program.chmod(0o700)

    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            await start(tmux, tmp_path, str(program))
            await until((tmp_path / "ran").exists, "the program ran")
            assert not (tmp_path / "pwned").exists()

    asyncio.run(scenario())


def test_signals_ignored_by_the_launcher_are_not_inherited(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref = await start(tmux, tmp_path, "sleep", "1000")
            await until(lambda: processes.command_line(ref.pid)[:1] == ("sleep",), "the program replaced the launcher")
            assert not ignored_signals(ref.pid) & 1 << signal.SIGPIPE - 1

    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    asyncio.run(scenario())


@pytest.mark.parametrize(
    "name", ["#(touch pwned)", "done;", "-x", "a\x1b]0;b\x07\n", "#[fg=red]x", "日本 ☂", "", "#" * 80]
)
def test_hostile_names_are_only_shown(tmp_path: Path, name: str) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref = await tmux.start(["cat"], cwd=str(tmp_path), env=ENV, name=name, width=80, height=24)
            await tmux.rename(ref, "between")
            await tmux.rename(ref, name)
            listing = await tmux_says(ref, "list-windows", "-a", "-F", "#{window_name}")
            kept = "".join(letter for letter in name if letter.isprintable() and letter != "#")
            assert listing.split("\n")[0] == (kept or "session")
            assert not found(tmp_path, "pwned")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("argv", "cwd"), [([], "."), (["no-such-program"], "."), (["cat"], "missing"), (["cat", "a\0b"], ".")]
)
def test_what_cannot_start_is_refused_before_tmux_is_asked(tmp_path: Path, argv: list[str], cwd: str) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            with pytest.raises(MeshError) as refusal:
                await tmux.start(argv, cwd=str(tmp_path / cwd), env=ENV, name="n", width=80, height=24)
            assert refusal.value.code is ErrorCode.INVALID_ARGUMENT
            assert await tmux.panes() == ()

    asyncio.run(scenario())


def test_a_server_in_an_open_folder_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            (tmp_path / "run").chmod(0o755)
            with pytest.raises(MeshError, match="chmod 700"):
                await start(tmux, tmp_path, "cat")

    asyncio.run(scenario())


def test_without_tmux_the_person_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        with pytest.raises(MeshError, match="Install tmux"):
            await Tmux(tmp_path / "t", program="tmux-that-is-not-there").panes()

    asyncio.run(scenario())


def test_a_tmux_that_the_system_cannot_start_is_said(tmp_path: Path) -> None:
    """As when no process or descriptor is left: whatever the reason, it must not end the node."""
    broken = tmp_path / "tmux"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)

    async def scenario() -> None:
        with pytest.raises(MeshError, match="could not start tmux"):
            await Tmux(tmp_path / "t", program=str(broken)).panes()

    asyncio.run(scenario())


# --- panes ------------------------------------------------------------------------------------------------------------


def test_a_pane_lives_until_it_is_killed_and_others_stay(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            assert await tmux.panes() == ()
            one, two = await start(tmux, tmp_path, "cat"), await start(tmux, tmp_path, "cat")
            assert set(await tmux.panes()) == {one, two}
            await tmux.kill(one)
            await until(lambda: _gone(tmux, one), "the end of the pane")
            assert await tmux.panes() == (two,)
            with pytest.raises(MeshError) as refusal:
                await tmux.capture(one)
            assert refusal.value.code is ErrorCode.NOT_FOUND

    asyncio.run(scenario())


async def _gone(tmux: Tmux, ref: PaneRef) -> bool:
    return not await tmux.alive(ref)


def test_a_reused_pane_id_is_another_pane(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            old, tui = await ready_tui(tmux, tmp_path)
            await tmux.kill_server()
            new, tui = await ready_tui(tmux, tmp_path)
            assert (new.pane, new.server) == (old.pane, old.server)
            assert not await tmux.alive(old)
            with pytest.raises(MeshError, match="has ended"):
                await tmux.capture(old)
            with pytest.raises(MeshError, match="has ended"):
                await tmux.rename(old, "x")
            await tmux.kill(old)
            assert (await tmux.type_notice(old, NOTICE, DEMO, idle)).held is HeldReason.GONE
            assert await tmux.alive(new)
            assert tui.events("paste") == []
            # Even if the process number had come back as well.
            assert foreground_obstacle(new, DEMO) is None
            assert foreground_obstacle(replace(new, started=old.started), DEMO) is HeldReason.GONE

    asyncio.run(scenario())


SUSPENDS_ITSELF = """
import os, signal, sys, termios, tty
wanted = {signal.SIGCONT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("helio-agent>", end=" ", flush=True)
before = termios.tcgetattr(0)
while True:
    tty.setraw(0)
    sys.stdout.write("raw ")
    sys.stdout.flush()
    while os.read(0, 1) != b"\x1a":
        pass
    termios.tcsetattr(0, termios.TCSANOW, before)
    sys.stdout.write("suspended ")
    sys.stdout.flush()
    while signal.sigwait(wanted) == signal.SIGUSR1:
        sys.stdout.write("early " if signal.SIGCONT in signal.sigpending() else "asked ")
        sys.stdout.flush()
"""


def test_a_program_that_suspended_itself_is_let_go_on(tmp_path: Path) -> None:
    """There is no shell in its terminal in which anybody could type fg."""

    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref = await start(tmux, tmp_path, sys.executable, "-c", SUSPENDS_ITSELF)

            async def still_waits(shown: str) -> None:
                # It answers while it waits, and says whether a signal to go on has come by then.
                os.kill(ref.pid, signal.SIGUSR1)
                await until(lambda: shows(tmux, ref, shown), f"its answer: {shown}")

            await until(lambda: shows(tmux, ref, "raw"), "the program")
            for _ in range(3):
                await tmux.wake_suspended(ref, BOX)
            await press(ref, "C-z")
            await still_waits("raw suspended asked")
            # A program that has just begun may look the same: once is not enough.
            await tmux.wake_suspended(ref, BOX)
            await still_waits("suspended asked asked")
            # One that is no full-screen program has its terminal in line mode anyway.
            await tmux.wake_suspended(ref, DEMO)
            await tmux.wake_suspended(ref, BOX)
            await still_waits("asked asked asked")
            await tmux.wake_suspended(ref, BOX)
            await until(lambda: shows(tmux, ref, "asked raw"), "its going on")

    asyncio.run(scenario())


def test_attaching_shows_the_pane_and_its_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as outer, terminal(tmp_path / "inner-home") as inner:
            ref, _ = await ready_tui(inner, tmp_path)
            await inner.rename(ref, "payments")
            viewer = await start(outer, tmp_path, *inner.attach_argv(ref))
            await until(lambda: shows(outer, viewer, "helio-agent>"), "the pane in the attached terminal")
            assert await shows(outer, viewer, "payments")

    (tmp_path / "inner-home").mkdir()
    asyncio.run(scenario())
