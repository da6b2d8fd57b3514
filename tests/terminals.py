"""What tests of real terminals share: a tmux server of their own, a person's keys, and waiting for things to happen."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from node.core.model import AgentState
from node.core.prompt import PaneRef, PromptProfile, PromptState, judge
from node.terminal import Tmux
from node.typist import Pace
from tests.fake_tui import FakeTui
from tests.waiting import until

BOX = PromptProfile(
    name="box",
    prompt=re.compile("\u276f(?: |$)"),
    placeholder=None,
    busy=(re.compile("esc to interrupt"),),
    dialog=(re.compile(r"^\u276f \d\. "), re.compile("^Esc to cancel")),
    box_end=re.compile("^\u2500{10,}$"),
)
NOTICE = "[heliograph] A request waits for you. Call read_inbox."
ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
DEADLINE = 20.0


@asynccontextmanager
async def terminal(tmp_path: Path, pace: Pace | None = None) -> AsyncIterator[Tmux]:
    run = tmp_path / "run"
    run.mkdir(mode=0o700, exist_ok=True)
    tmux = Tmux(run / "t", pace=pace)
    try:
        yield tmux
    finally:
        await tmux.kill_server()


async def start(tmux: Tmux, cwd: Path, *argv: str, env: dict[str, str] | None = None, width: int = 120) -> PaneRef:
    return await tmux.start(argv, cwd=str(cwd), env=env or ENV, name="test", width=width, height=30)


async def ready_tui(tmux: Tmux, cwd: Path, *options: str, width: int = 120) -> tuple[PaneRef, FakeTui]:
    tui = FakeTui(log=cwd / "events", options=options)
    ref = await start(tmux, cwd, *tui.argv, width=width)
    await until(lambda: bool(tui.events("ready")), "the program's first screen")
    return ref, tui


async def in_bash(tmux: Tmux, cwd: Path, *options: str) -> tuple[PaneRef, FakeTui]:
    """The program as a job of an interactive shell, as a person may start it."""
    ref = await start(tmux, cwd, "bash", "--norc", "--noprofile", "-i")
    tui = FakeTui(log=cwd / "events", options=options)
    await press(ref, " ".join(tui.argv), "Enter")
    await until(lambda: bool(tui.events("ready")), "the program's first screen")
    return ref, tui


async def tmux_says(ref: PaneRef, *words: str) -> str:
    """A tmux command as a person or a program beside the node gives it."""
    process = await asyncio.create_subprocess_exec(
        "tmux", "-u", "-S", ref.server, *words, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode()


async def press(ref: PaneRef, *keys: str) -> None:
    """What a person at the terminal does."""
    await tmux_says(ref, "send-keys", "-t", ref.pane, *keys)


def found(folder: Path, pattern: str) -> list[Path]:
    return list(folder.rglob(pattern))


def ignored_signals(pid: int) -> int:
    (mask,) = re.findall(r"SigIgn:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    return int(mask, 16)


async def shows(tmux: Tmux, ref: PaneRef, text: str) -> bool:
    return any(text in line for line in (await tmux.capture(ref)).lines)


def idle() -> AgentState:
    return AgentState.IDLE


def typing_profile(base: PromptProfile) -> PromptProfile:
    """The profile for a program that runs under a shell, which is known by its process name."""
    return replace(base, programs=frozenset({Path(sys.executable).name}))


async def is_idle(tmux: Tmux, ref: PaneRef, profile: PromptProfile) -> bool:
    return judge(await tmux.capture(ref), profile) is PromptState.IDLE


async def has_prompt(tmux: Tmux, ref: PaneRef, profile: PromptProfile) -> bool:
    return judge(await tmux.capture(ref), profile) in {PromptState.IDLE, PromptState.DRAFT}


async def cursor_at(tmux: Tmux, ref: PaneRef, column: int) -> bool:
    return (await tmux.capture(ref)).cursor[0] == column
