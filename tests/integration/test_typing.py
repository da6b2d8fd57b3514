"""Notices typed at prompts of a real tmux server: each becomes one turn, or is held and nothing is pressed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.model import AgentState
from node.core.prompt import DEMO, HeldReason, PaneRef
from node.platform import processes
from node.terminal import Tmux
from node.typist import Pace
from tests.fake_tui import FakeTui
from tests.terminals import (
    BOX,
    DEADLINE,
    NOTICE,
    cursor_at,
    has_prompt,
    idle,
    in_bash,
    is_idle,
    press,
    ready_tui,
    shows,
    start,
    terminal,
    tmux_says,
    typing_profile,
)
from tests.waiting import until

# --- typing: what must arrive -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["line", "box"])
def test_every_notice_becomes_one_turn(tmp_path: Path, style: str) -> None:
    profile = DEMO if style == "line" else BOX
    bodies = [
        "deploy done;",
        ";",
        "-----BEGIN NOTE",
        "-t",
        "größer ☂",
        "#{pid} $(date) `id` 'x' \"y\" \\;",
        NOTICE * 5,
        NOTICE,
    ]

    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, "--style", style, "--busy-ms", "40")
            for count, body in enumerate(bodies, start=1):
                await until(lambda: is_idle(tmux, ref, profile), "an idle prompt")
                assert (await tmux.type_notice(ref, body, profile, idle)).held is None
                assert tui.events("submit") == bodies[:count]
            assert tui.events("paste") == bodies
            assert tui.events("key") == []

    asyncio.run(scenario())


@pytest.mark.parametrize("width", [len("helio-agent> ") + len(NOTICE) + extra for extra in (-1, 0, 1)])
def test_a_notice_that_just_fills_the_line_arrives(tmp_path: Path, width: int) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, width=width)
            assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is None
            assert tui.events("submit") == [NOTICE]

    asyncio.run(scenario())


def test_a_program_that_takes_a_quick_enter_for_a_line_end_gets_one_turn(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, "--style", "box", "--early-enter-ms", "120")
            assert (await tmux.type_notice(ref, NOTICE, BOX, idle)).held is None
            assert (tui.events("submit"), tui.events("newline")) == ([NOTICE], [])
            assert await is_idle(tmux, ref, BOX)

    asyncio.run(scenario())


def test_an_enter_that_only_breaks_the_line_is_repeated_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path, Pace(confirmed=0.5)) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, "--style", "box", "--early-enter-ms", "60000")
            for newlines in (1, 2):
                assert (await tmux.type_notice(ref, NOTICE, BOX, idle)).held is HeldReason.STANDING
                assert len(tui.events("newline")) == newlines
            assert (await tmux.type_notice(ref, NOTICE, BOX, idle)).held is HeldReason.DRAFT
            assert len(tui.events("newline")) == 2
            assert len(tui.events("paste")) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("style", ["line", "box"])
def test_a_notice_that_a_killed_node_left_standing_is_entered_by_the_next(tmp_path: Path, style: str) -> None:
    profile = DEMO if style == "line" else BOX

    async def scenario() -> None:
        async with terminal(tmp_path) as before:
            ref, tui = await ready_tui(before, tmp_path, "--style", style)
            states = iter((AgentState.IDLE, AgentState.BUSY))
            assert (await before.type_notice(ref, NOTICE, profile, lambda: next(states))).held is HeldReason.BUSY
            assert tui.events("paste") == [NOTICE]
            after = Tmux(tmp_path / "run" / "t")
            assert (await after.type_notice(ref, NOTICE, profile, idle)).held is None
            assert (tui.events("paste"), tui.events("submit")) == ([NOTICE], [NOTICE])

    asyncio.run(scenario())


def test_a_hook_confirms_what_the_screen_does_not_show(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path, Pace(confirmed=DEADLINE)) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, "--style", "box", "--early-enter-ms", "60000")
            turn = asyncio.Event()

            async def hook() -> None:
                await until(lambda: bool(tui.events("newline")), "the Enter")
                turn.set()

            async with asyncio.TaskGroup() as group:
                group.create_task(hook())
                typed = await tmux.type_notice(ref, NOTICE, BOX, idle, turn.wait)
            assert typed.held is None

    asyncio.run(scenario())


# --- typing: what must be held ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "  ", "call 1 tool", "two\nlines", "esc \x1b[201~", "bell\x07", "\u0663", "x" * 401]
)
def test_dangerous_texts_are_refused(tmp_path: Path, text: str) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path)
            with pytest.raises(MeshError) as refusal:
                await tmux.type_notice(ref, text, DEMO, idle)
            assert refusal.value.code is ErrorCode.INVALID_ARGUMENT
            assert tui.events("paste") == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (AgentState.BUSY, HeldReason.BUSY),
        (AgentState.NEEDS_INPUT, HeldReason.DIALOG),
        (AgentState.ENDED, HeldReason.GONE),
    ],
)
def test_what_the_agent_said_of_itself_holds(tmp_path: Path, state: AgentState, reason: HeldReason) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path)
            assert (await tmux.type_notice(ref, NOTICE, DEMO, lambda: state)).held is reason
            assert tui.events("paste") == []

    asyncio.run(scenario())


def test_a_dialog_gets_no_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, "--dialog")
            for _ in range(3):
                assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is HeldReason.DIALOG
            await press(ref, "n")
            await until(lambda: tui.events("dismissed") == ["n"], "the person's answer")
            assert tui.events("approved") == []
            assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is None

    asyncio.run(scenario())


@pytest.mark.parametrize("draft", ["half a line", "    ", "x"])
def test_a_persons_draft_stays_as_it_is(tmp_path: Path, draft: str) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path)
            await press(ref, "-l", draft)
            await until(lambda: "".join(tui.events("key")) == draft, "the draft")
            await until(lambda: cursor_at(tmux, ref, len("helio-agent> ") + len(draft)), "the draft on the screen")
            assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is HeldReason.DRAFT
            await press(ref, "Enter")
            await until(lambda: tui.events("submit") == [draft], "the person's own line")
            assert tui.events("paste") == []

    asyncio.run(scenario())


@pytest.mark.parametrize("delay_ms", ["0", "30", "150"])
@pytest.mark.parametrize("style", ["line", "box"])
def test_a_picker_that_comes_up_meanwhile_is_not_answered(tmp_path: Path, delay_ms: str, style: str) -> None:
    profile = DEMO if style == "line" else BOX

    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, "--style", style, "--picker-ms", delay_ms)
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held in {
                HeldReason.SWALLOWED,
                HeldReason.DIALOG,
            }
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is HeldReason.DIALOG
            assert (tui.events("approved"), tui.events("submit")) == ([], [])
            await press(ref, "Escape")
            await until(lambda: len(tui.events("dismissed")) == 1, "the person's answer")
            await until(lambda: has_prompt(tmux, ref, profile), "the prompt")
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is None
            assert (tui.events("approved"), tui.events("submit")) == ([], [NOTICE])

    asyncio.run(scenario())


def test_a_person_who_scrolls_back_is_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path)
            await tmux_says(ref, "copy-mode", "-t", ref.pane)
            assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is HeldReason.COPY_MODE
            assert tui.events("paste") == []

    asyncio.run(scenario())


def test_a_key_of_a_person_at_the_terminal_holds_for_a_moment(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as outer, terminal(tmp_path / "inner", Pace(person=DEADLINE)) as inner:
            ref, tui = await ready_tui(inner, tmp_path)
            viewer = await start(outer, tmp_path, *inner.attach_argv(ref))
            await until(lambda: shows(outer, viewer, "helio-agent>"), "the pane in the attached terminal")
            await press(viewer, "-l", "x")
            await press(viewer, "BSpace")
            await until(lambda: tui.events("key") == ["x"], "the person's key")
            await until(lambda: is_idle(inner, ref, DEMO), "an empty prompt")
            assert (await inner.type_notice(ref, NOTICE, DEMO, idle)).held is HeldReason.TYPING
            assert tui.events("paste") == []

    (tmp_path / "inner").mkdir()
    asyncio.run(scenario())


def test_the_shell_that_is_left_after_an_exit_gets_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await in_bash(tmux, tmp_path)
            profile = typing_profile(DEMO)
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is None
            await press(ref, "-l", "/exit")
            await press(ref, "Enter")
            await until(lambda: _foreground_is(ref, ref.pid), "the shell's prompt")
            # Even if it looks just like the agent's.
            await press(ref, "PS1='helio-agent> '; clear", "Enter")
            await until(lambda: is_idle(tmux, ref, DEMO), "a shell that looks like the agent")
            for each in (profile, DEMO):
                assert (await tmux.type_notice(ref, NOTICE, each, idle)).held is HeldReason.OTHER_PROGRAM
            assert await is_idle(tmux, ref, DEMO)
            assert tui.events("submit") == [NOTICE, "/exit"]

    asyncio.run(scenario())


def test_a_program_put_to_sleep_gets_nothing_until_it_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await in_bash(tmux, tmp_path)
            profile = typing_profile(DEMO)
            await press(ref, "C-z")
            await until(lambda: _foreground_is(ref, ref.pid), "the shell's prompt")
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is HeldReason.OTHER_PROGRAM
            await press(ref, "fg", "Enter")
            await until(lambda: not _foreground_is(ref, ref.pid), "the program in the foreground")
            await until(lambda: is_idle(tmux, ref, DEMO), "its prompt")
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is None
            assert tui.events("submit") == [NOTICE]

    asyncio.run(scenario())


def _foreground_is(ref: PaneRef, group: int) -> bool:
    return processes.foreground_group(ref.pid) == group


# Starts the program in a group of its own, in the foreground, and does not mind its being stopped: as sudo(8) may.
KEEPER = (
    "import os, signal, subprocess, sys; signal.signal(signal.SIGTTOU, signal.SIG_IGN); "
    "child = subprocess.Popen(sys.argv[1:], process_group=0, stdin=0); os.tcsetpgrp(0, child.pid); child.wait()"
)


def test_a_stopped_program_in_the_foreground_gets_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            tui = FakeTui(log=tmp_path / "events")
            ref = await start(tmux, tmp_path, sys.executable, "-I", "-c", KEEPER, *tui.argv)
            await until(lambda: bool(tui.events("ready")), "the program's first screen")
            agent = processes.foreground_group(ref.pid)
            assert agent is not None
            assert agent != ref.pid
            assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is HeldReason.NOT_FOREGROUND
            os.kill(agent, signal.SIGSTOP)
            await until(lambda: processes.read(agent).stopped, "the stop")  # type: ignore[union-attr]
            profile = typing_profile(DEMO)
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is HeldReason.STOPPED
            os.kill(agent, signal.SIGCONT)
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is None
            assert tui.events("submit") == [NOTICE]

    asyncio.run(scenario())


def test_another_program_gets_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref = await start(tmux, tmp_path, "cat")
            await press(ref, "-l", "helio-agent> ")
            await until(lambda: shows(tmux, ref, "helio-agent>"), "a screen that looks like the agent's")
            profile = typing_profile(DEMO)
            assert (await tmux.type_notice(ref, NOTICE, profile, idle)).held is HeldReason.OTHER_PROGRAM
            assert not await shows(tmux, ref, "heliograph")

    asyncio.run(scenario())


def test_only_one_typing_at_a_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path)
            outcomes = await asyncio.gather(*(tmux.type_notice(ref, NOTICE, DEMO, idle) for _ in range(5)))
            held = [outcome.held for outcome in outcomes]
            assert sorted(held, key=str) == sorted([None, *[HeldReason.TYPING] * 4], key=str)
            assert tui.events("submit") == [NOTICE]
            assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is None

    asyncio.run(scenario())
