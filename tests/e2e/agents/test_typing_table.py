"""Twenty notices each at real agent CLIs: all are submitted at idle prompts, none anywhere else."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from node.agents import ADAPTERS
from node.agents.adapter import Adapter
from node.core.prompt import HeldReason, PaneRef, PromptState
from node.demo.model.homes import HOMES
from node.demo.model.script import Turn
from node.platform import processes
from tests.fake_model import helio
from tests.fake_model.alone import alone
from tests.fake_model.stage import NOTICE, THEIRS, Agent, Stage, foreground, stage, until
from tests.terminals import press

TIMES = 20
# Starts a program in a group of its own, in the foreground, and does not mind its being stopped.
KEEPER = (
    "import os, signal, subprocess, sys; signal.signal(signal.SIGTTOU, signal.SIG_IGN); "
    "child = subprocess.Popen(sys.argv[1:], process_group=0, stdin=0); os.tcsetpgrp(0, child.pid); child.wait()"
)
CLIS = [adapter for adapter in ADAPTERS if adapter.name in HOMES]
pytestmark = [pytest.mark.timeout(900), pytest.mark.parametrize("adapter", CLIS, ids=lambda cli: cli.name)]


def perform(adapter: Adapter, folder: Path, play: Callable[[Stage], Awaitable[None]]) -> None:
    """Plays a scene with the CLI where it can reach nothing but loopback."""

    async def scene() -> None:
        async with stage(adapter, folder) as on:
            await play(on)

    alone(lambda: asyncio.run(scene()))


async def held(agent: Agent) -> list[HeldReason | None]:
    return [(await agent.notice()).held for _ in range(TIMES)]


def test_at_an_idle_prompt_every_notice_becomes_one_turn(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        on.say(Turn(text="Noted.", again=True))
        agent = await on.launch()
        for count in range(1, TIMES + 1):
            await until(lambda: _delivered(agent), f"the entering of notice {count}")
            asked = await asyncio.to_thread(on.model.wait_for, count, adapter.name)
            assert len(asked) == count
            assert asked[-1].newest.count(NOTICE) == 1
        await until(agent.idle, "the last turn's end")

    perform(adapter, tmp_path, play)


def test_dialogs_drafts_and_stopped_agents_get_none(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        # The terminal server wakes a stopped program of its own at once, so this one is somebody else's.
        agent = await on.launch(under=(sys.executable, "-I", "-S", "-c", KEEPER))

        await press(agent.pane, "-l", "half a line")
        await until(lambda: _shows(agent, PromptState.DRAFT), "the draft")
        assert set(await held(agent)) == {HeldReason.DRAFT}
        assert "half a line" in await agent.text()
        await press(agent.pane, *["BSpace"] * len("half a line"))
        await until(agent.idle, "the prompt emptied by the person")

        leader = processes.foreground_group(agent.pane.pid)
        assert leader is not None
        os.killpg(leader, signal.SIGSTOP)
        await until(lambda: _stopped(leader), "the stop")
        assert set(await held(agent)) == {HeldReason.STOPPED}
        os.killpg(leader, signal.SIGCONT)
        await until(agent.idle, "the prompt after the stop")

        on.say(Turn(tool=on.tool(THEIRS, "list_peers")), Turn(text="Then not."))
        await agent.prompt("list them")
        await until(agent.asks, "the permission dialog")
        assert set(await held(agent)) == {HeldReason.DIALOG}
        assert await agent.asks()
        await press(agent.pane, "Escape")
        await until(agent.idle, "the prompt after the dialog")

        assert helio.events(on.log, "call") == []
        assert [request for request in on.model.asked(adapter.name) if "[heliograph]" in request.newest] == []
        on.model.forget(adapter.name)
        on.say(Turn(text="Noted."))
        await until(lambda: _delivered(agent), "the entering of a notice after all")

    perform(adapter, tmp_path, play)


def test_a_shell_gets_none_once_the_agent_has_stopped_or_left(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        agent = await _in_shell(on)
        on.say(Turn(text="Noted.", again=True))
        await until(lambda: _delivered(agent), "the entering of the first notice")
        await asyncio.to_thread(on.model.wait_for, 1, adapter.name)
        await until(agent.idle, "the end of the turn")

        job = processes.foreground_group(agent.pane.pid)
        assert job is not None
        os.killpg(job, signal.SIGSTOP)
        await until(lambda: _in_front(agent.pane, "bash"), "the shell, after the stop")
        assert set(await held(agent)) == {HeldReason.OTHER_PROGRAM}
        os.killpg(job, signal.SIGKILL)
        await press(agent.pane, "Enter")
        await until(lambda: _gone(job), "the end of the agent")
        assert set(await held(agent)) == {HeldReason.OTHER_PROGRAM}
        assert "command not found" not in await agent.text()
        assert len(on.model.asked(adapter.name)) == 1

    perform(adapter, tmp_path, play)


async def _in_shell(on: Stage) -> Agent:
    """The agent as a job of an interactive shell, as a person starts it."""
    env = on.env()
    shell = ("bash", "--norc", "--noprofile", "-i")
    pane = await on.tmux.start(shell, cwd=str(on.work), env=env, name="shell", width=120, height=40)
    agent = Agent(stage=on, pane=pane, launched=on.adapter.launch(on.context(env)))
    await press(pane, on.adapter.command, "Enter")
    await until(agent.idle, "the agent's empty prompt")
    return agent


async def _delivered(agent: Agent) -> bool:
    """Whether a try, as the node makes one every few seconds, entered the notice."""
    await until(lambda: _open(agent), "an idle prompt, or the notice still at it")
    outcome = (await agent.notice()).held
    # A screen may be drawn anew, or a turn begin, between the look and the paste; and an Enter that broke the line is
    # pressed once more by the next try.
    assert outcome in {None, HeldReason.UNKNOWN_SCREEN, HeldReason.BUSY, HeldReason.STANDING}
    return outcome is None


async def _open(agent: Agent) -> bool:
    return await agent.idle() or NOTICE in await agent.text()


async def _shows(agent: Agent, state: PromptState) -> bool:
    return await agent.shows() is state


async def _in_front(pane: PaneRef, program: str) -> bool:
    return await foreground(pane) == program


def _stopped(pid: int) -> bool:
    process = processes.read(pid)
    return process is not None and process.stopped


def _gone(pid: int) -> bool:
    process = processes.read(pid)
    return process is None or process.ended
