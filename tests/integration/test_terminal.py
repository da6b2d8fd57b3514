"""The node's terminals against a real tmux server: exact starts, pane identity, and the typing of notices."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.model import AgentState
from node.core.prompt import DEMO, HeldReason, PaneRef, PromptProfile, PromptState, judge
from node.platform import processes
from node.terminal import Tmux
from node.typist import Pace
from tests.fake_tui import FakeTui

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


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until the condition holds; the test fails when it never does."""
    async with asyncio.timeout(DEADLINE):
        while True:
            held = condition()
            if held if isinstance(held, bool) else await held:
                return
            await asyncio.sleep(0.02)
    pytest.fail(f"never came: {what}")


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
    return PromptProfile(
        name=base.name, prompt=base.prompt, busy=base.busy, dialog=base.dialog,
        programs=frozenset({Path(sys.executable).name}),
    )  # fmt: skip


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
    given = {**ENV, "A": "x;\ny #{pid}", "SECRET": "s3cret", "EMPTY": ""}

    async def scenario() -> None:
        async with terminal(tmp_path) as tmux:
            ref = await start(tmux, folder, sys.executable, "-I", "-c", DUMP, *words, env=given)
            await until((folder / "seen").exists, "what the program saw")
            seen = json.loads((folder / "seen").read_text())
            assert seen["argv"] == words
            assert seen["cwd"] == str(folder)
            assert seen["env"].pop("TERM") == "screen-256color"
            # Python adds this one to itself when the locale is C.
            seen["env"].pop("LC_CTYPE", None)
            assert seen["env"] == given
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
            await tmux.kill(old)
            assert (await tmux.type_notice(old, NOTICE, DEMO, idle)).held is HeldReason.GONE
            assert await tmux.alive(new)
            assert tui.events("paste") == []

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
                await until(lambda: _is_idle(tmux, ref, profile), "an idle prompt")
                assert (await tmux.type_notice(ref, body, profile, idle)).held is None
                assert tui.events("submit") == bodies[:count]
            assert tui.events("paste") == bodies
            assert tui.events("key") == []

    asyncio.run(scenario())


async def _is_idle(tmux: Tmux, ref: PaneRef, profile: PromptProfile) -> bool:
    return judge(await tmux.capture(ref), profile) is PromptState.IDLE


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
            assert await _is_idle(tmux, ref, BOX)

    asyncio.run(scenario())


def test_an_enter_that_only_breaks_the_line_is_unconfirmed_and_never_repeated(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with terminal(tmp_path, Pace(confirmed=0.5)) as tmux:
            ref, tui = await ready_tui(tmux, tmp_path, "--style", "box", "--early-enter-ms", "60000")
            assert (await tmux.type_notice(ref, NOTICE, BOX, idle)).held is HeldReason.UNCONFIRMED
            assert (await tmux.type_notice(ref, NOTICE, BOX, idle)).held is HeldReason.DRAFT
            assert len(tui.events("newline")) == 1
            assert len(tui.events("paste")) == 1

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
            await until(lambda: _cursor_at(tmux, ref, len("helio-agent> ") + len(draft)), "the draft on the screen")
            assert (await tmux.type_notice(ref, NOTICE, DEMO, idle)).held is HeldReason.DRAFT
            await press(ref, "Enter")
            await until(lambda: tui.events("submit") == [draft], "the person's own line")
            assert tui.events("paste") == []

    asyncio.run(scenario())


async def _has_prompt(tmux: Tmux, ref: PaneRef, profile: PromptProfile) -> bool:
    return judge(await tmux.capture(ref), profile) in {PromptState.IDLE, PromptState.DRAFT}


async def _cursor_at(tmux: Tmux, ref: PaneRef, column: int) -> bool:
    return (await tmux.capture(ref)).cursor[0] == column


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
            await until(lambda: _has_prompt(tmux, ref, profile), "the prompt")
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
            await until(lambda: _is_idle(inner, ref, DEMO), "an empty prompt")
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
            await until(lambda: _is_idle(tmux, ref, DEMO), "a shell that looks like the agent")
            for each in (profile, DEMO):
                assert (await tmux.type_notice(ref, NOTICE, each, idle)).held is HeldReason.OTHER_PROGRAM
            assert await _is_idle(tmux, ref, DEMO)
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
            await until(lambda: _is_idle(tmux, ref, DEMO), "its prompt")
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
