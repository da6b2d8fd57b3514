"""What the adapters say of the real agent CLIs is so: configuration, hooks, conversations, single questions."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from node.agents import ADAPTERS, catalogue
from node.agents.adapter import Adapter
from node.core.model import AgentState
from node.demo.model.homes import HOMES
from node.demo.model.script import Turn
from node.platform import processes
from tests.fake_model import helio
from tests.fake_model.alone import alone
from tests.fake_model.stage import NOTICE, THEIRS, Stage, programs, stage, until

CLIS = [adapter for adapter in ADAPTERS if adapter.name in HOMES]
each_cli = pytest.mark.parametrize("adapter", CLIS, ids=lambda cli: cli.name)
pytestmark = pytest.mark.timeout(300)

# The files which `helio install` would change, and nothing else may.
THEIR_FILES = {
    "claude": (".claude.json", ".claude/settings.json"),
    "codex": (".codex/config.toml",),
    "gemini": (".gemini/settings.json", ".gemini/trustedFolders.json"),
    "opencode": (".config/opencode/opencode.json",),
    "qwen": (".qwen/settings.json", ".qwen/trustedFolders.json"),
}
# A conversation of two words is smaller; the programs beside it are larger.
_CONVERSATION_BYTES = 4_194_304
# How each writes a file when its model says so.
WRITES = {
    "claude": ("Write", {"file_path": "{path}", "content": "x"}),
    "codex": ("exec_command", {"cmd": "touch {path}"}),
    "gemini": ("write_file", {"file_path": "{path}", "content": "x"}),
    "opencode": ("bash", {"command": "touch {path}", "description": "touch"}),
    "qwen": ("write_file", {"file_path": "{path}", "content": "x"}),
}


def perform(adapter: Adapter, folder: Path, play: Callable[[Stage], Awaitable[None]]) -> None:
    """Plays a scene with the CLI where it can reach nothing but loopback."""

    async def scene() -> None:
        async with stage(adapter, folder) as on:
            await play(on)

    alone(lambda: asyncio.run(scene()))


def told(on: Stage) -> list[tuple[AgentState | None, str]]:
    """What the hooks have told so far: states, and the conversations that they name."""
    found: list[tuple[AgentState | None, str]] = []
    for row in helio.events(on.log, "hook"):
        payload = row["payload"]
        assert isinstance(payload, dict)
        kinds = [str(payload[key]) for key in ("notification_type", "source", "reason", "status") if payload.get(key)]
        events = on.adapter.hooks.events
        state = next((events[f"{row['event']}:{kind}"] for kind in kinds if f"{row['event']}:{kind}" in events), None)
        found.append((state or events.get(str(row["event"])), str(payload.get("session_id", ""))))
    return found


def on_disk(on: Stage, text: bytes) -> bool:
    """Whether a file in the person's home or the session's own folder holds that text."""
    places = (on.folder / "home", on.folder / "private")
    found = (path for place in places for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    return any(text in path.read_bytes() for path in found if path.stat().st_size < _CONVERSATION_BYTES)


@each_cli
def test_a_launch_adds_to_what_the_person_has_and_changes_none_of_it(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        on.say(Turn(tool=on.tool("heliograph", "read_inbox")), Turn(text="I have read it.", gate="end"))
        agent = await on.launch()
        await agent.prompt("read your inbox")
        # Had it asked anybody, it would not have come back to its model.
        await asyncio.to_thread(on.model.wait_for, 2, adapter.name)
        calls = [(row["server"], row["tool"]) for row in helio.events(on.log, "call")]
        assert calls == [("heliograph", "read_inbox")]
        assert {row["server"] for row in helio.events(on.log, "start")} == {"heliograph", THEIRS}
        await until(lambda: AgentState.BUSY in {state for state, _ in told(on)}, "a hook that it works")
        on.model.open_gate("end")
        await until(lambda: told(on)[-1][0] is AgentState.IDLE, "a hook that it rests")
        await until(agent.idle, "its empty prompt")
        (conversation,) = {named for _, named in told(on) if named}
        assert agent.launched.conversation in {None, conversation}
        assert (agent.launched.conversation is not None) is adapter.chosen_id
        for name in THEIR_FILES[adapter.name]:
            text = (on.folder / "home" / name).read_text(encoding="utf-8")
            assert "heliograph" not in text.replace(str(on.folder), "")

    perform(adapter, tmp_path, play)


@each_cli
def test_a_dialog_is_told_by_a_hook(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        on.say(Turn(tool=on.tool(THEIRS, "list_peers")), Turn(text="Then not."))
        agent = await on.launch()
        await agent.prompt("list them")
        await until(agent.asks, "the dialog")
        await until(lambda: told(on)[-1][0] is AgentState.NEEDS_INPUT, "a hook that it asks")

    perform(adapter, tmp_path, play)


@each_cli
def test_an_ended_agent_is_taken_up_by_its_id(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        on.say(Turn(text="The word is heliotrope."))
        agent = await on.launch()
        await agent.prompt("which word")
        await asyncio.to_thread(on.model.wait_for, 1, adapter.name)
        await until(lambda: told(on)[-1][0] is AgentState.IDLE, "the end of the turn")
        conversation = told(on)[-1][1]
        # Some write it down a moment after the turn has ended.
        await until(lambda: on_disk(on, b"heliotrope"), "the conversation on disk")
        await on.tmux.kill(agent.pane)
        await until(lambda: processes.read(agent.pane.pid) is None, "the end of the agent")
        on.say(Turn(text="I have not forgotten."))
        again = await on.launch(resume=conversation)
        await again.prompt("which word was it")
        asked = await asyncio.to_thread(on.model.wait_for, 2, adapter.name)
        assert "heliotrope" in "\n".join(text for _, text in asked[-1].said)
        await until(lambda: told(on)[-1] == (AgentState.IDLE, conversation), "the end of the turn, by the same id")

    perform(adapter, tmp_path, play)


@pytest.mark.parametrize("adapter", [cli for cli in CLIS if cli.hooks.can_continue], ids=lambda cli: cli.name)
def test_a_hook_at_the_end_of_a_turn_makes_it_go_on(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        on.say(Turn(text="Done."), Turn(text="I go on."))
        agent = await on.launch()
        on.log.with_suffix(".say").write_text(json.dumps({"decision": "block", "reason": NOTICE}), encoding="utf-8")
        await agent.prompt("do it")
        asked = await asyncio.to_thread(on.model.wait_for, 2, adapter.name)
        assert NOTICE in asked[-1].newest
        await until(agent.idle, "its empty prompt")
        assert len(on.model.asked(adapter.name)) == 2

    perform(adapter, tmp_path, play)


@each_cli
def test_one_question_is_answered_and_nothing_written(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Stage) -> None:
        target = on.work / "written"
        tool, arguments = WRITES[adapter.name]
        filled = {name: value.replace("{path}", str(target)) for name, value in arguments.items()}
        on.say(Turn(tool=tool, arguments=filled), Turn(text="The answer is heliotrope."))
        argv = adapter.one_shot("--which word is it?")
        said = await asyncio.to_thread(
            subprocess.run, argv, env=on.env(), cwd=on.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert "heliotrope" in said.stdout, said
        assert "--which word is it?" in on.model.asked(adapter.name)[0].newest
        assert not target.exists()

    perform(adapter, tmp_path, play)


def test_the_pinned_clis_are_known_to_work() -> None:
    found = {one.name: (one.works, one.why_not) for one in catalogue({"PATH": f"{programs()}:/usr/bin:/bin"})}
    assert found == {adapter.name: (True, "") for adapter in CLIS}
