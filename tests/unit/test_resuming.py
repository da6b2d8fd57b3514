"""Resuming: by an agent's own conversation or afresh and said so; and the environment that an agent is started with."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

from node.agents import ADAPTERS, adapter_named
from node.core.commands import Steer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import AgentState, MessageKind, SessionStatus
from node.core.workspace import DriverKind, Workspace
from tests.integration.mesh import Agent, scenario
from tests.integration.workshop import Workshop, program, project, workshop

SECRET = "sk-live-0123456789abcdefghijklmnop"


async def notes(at: Workshop, agent: Agent) -> list[str]:
    unread = await at.mesh.store.read(lambda reader: reader.unread(agent.address, None, 100))
    return [message.text for message in unread if message.kind is MessageKind.NOTE]


@scenario
async def test_an_agent_is_resumed_by_its_own_conversation(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        await boss.read()
        await boss.send(Steer(exchange=None, text="Go on."))
        await at.launcher.launch_due()
        argv, cwd, env = at.terminals.started[1]
        assert argv[argv.index("--resume") + 1] == delegate.session.conversation
        assert "--session-id" not in argv
        assert cwd == delegate.session.cwd
        # Where its delegator's agent is found, its own is found again.
        assert env["PATH"] == str(tmp_path / "bin")
        assert await notes(at, boss) == []


@scenario
async def test_a_conversation_that_nobody_knows_gives_one_fresh_start_that_says_so(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        await boss.read()
        at.terminals.dies_with = frozenset({"--resume"})
        await boss.send(Steer(exchange=None, text="Go on."))
        await at.launcher.launch_due()
        assert [("--resume" in argv, "--session-id" in argv) for argv, _, _ in at.terminals.started] == [
            (False, True), (True, False), (False, True),
        ]  # fmt: skip
        session = await at.session(delegate.session.id)
        assert session is not None
        fresh = at.terminals.started[2][0]
        assert session.status is SessionStatus.RUNNING
        assert session.conversation == fresh[fresh.index("--session-id") + 1] != delegate.session.conversation
        (note,) = await notes(at, boss)
        assert "its conversation could not be resumed, so a fresh one was started" in note
        rows = [row["decision"] for row in await at.mesh.rows(engine="session")]
        assert rows == ["reserved", "started", "ended", "resumed", "started_fresh"]
        await at.launcher.launch_due()
        assert len(at.terminals.started) == 3


@scenario
async def test_a_resumed_agent_that_speaks_is_believed_at_once(tmp_path: Path) -> None:
    async with workshop(tmp_path, limits=Limits(resume_proof_s=600)) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        await boss.send(Steer(exchange=None, text="Go on."))
        async with asyncio.TaskGroup() as group:
            group.create_task(at.launcher.launch_due())
            await at.runs_again(delegate)
            await at.sessions.set(delegate.session.id, AgentState.IDLE, None)
        assert await at.mesh.store.read(lambda reader: reader.next_due("launch")) is None


@scenario
async def test_an_agent_whose_only_word_is_that_it_ends_does_not_stay(tmp_path: Path) -> None:
    async with workshop(tmp_path, limits=Limits(resume_proof_s=600)) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        await boss.send(Steer(exchange=None, text="Go on."))
        async with asyncio.TaskGroup() as group:
            group.create_task(at.launcher.launch_due())
            await at.runs_again(delegate)
            await at.sessions.set(delegate.session.id, AgentState.ENDED, None)
            await at.gone(delegate)
        assert [row["decision"] for row in await at.mesh.rows(engine="session")][-1] == "started_fresh"


@scenario
async def test_an_end_right_after_a_resume_is_told_by_the_fresh_start_alone(tmp_path: Path) -> None:
    """A slow machine: the agent is seen to run, then to have ended, before it is given up."""
    async with workshop(tmp_path, limits=Limits(resume_proof_s=600)) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        await boss.read()
        await boss.send(Steer(exchange=None, text="Go on."))
        async with asyncio.TaskGroup() as group:
            group.create_task(at.launcher.launch_due())
            await at.runs_again(delegate)
            await at.gone(delegate)
        (note,) = await notes(at, boss)
        assert "a fresh one was started" in note
        rows = [row["decision"] for row in await at.mesh.rows(engine="session")]
        assert rows == ["reserved", "started", "ended", "resumed", "ended", "started_fresh"]


@scenario
async def test_an_end_that_nobody_saw_while_it_was_resumed_is_told_once(tmp_path: Path) -> None:
    """It ended, and starting it again fails: its asker knows that it has nobody."""
    async with workshop(tmp_path, limits=Limits(resume_proof_s=600)) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        await boss.read()
        await boss.send(Steer(exchange=None, text="Go on."))
        async with asyncio.TaskGroup() as group:
            group.create_task(at.launcher.launch_due())
            await at.runs_again(delegate)
            at.terminals.refuse = MeshError(ErrorCode.UNAVAILABLE, "No tmux.")
            await at.gone(delegate)
        told = await notes(at, boss)
        assert [("could not be started again" in note, "ended without delivering" in note) for note in told] == [
            (True, False), (False, True),
        ]  # fmt: skip
        # The next message wakes it again.
        await boss.read()
        await boss.send(Steer(exchange=None, text="Go on."))
        assert await at.launching(delegate)


@scenario
async def test_an_agent_that_cannot_be_started_again_is_told_of(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        await boss.read()
        at.terminals.refuse = MeshError(ErrorCode.UNAVAILABLE, "No tmux.")
        await boss.send(Steer(exchange=None, text="Go on."))
        await at.launcher.launch_due()
        (note,) = await notes(at, boss)
        assert "could not be started again: No tmux." in note
        session = await at.session(delegate.session.id)
        assert session is not None
        assert session.status is SessionStatus.ENDED


@scenario
async def test_a_terminal_that_says_it_is_another_sessions_is_not_taken_for_it(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        impostor = await at.seat("impostor", tmp_path, {"HELIOGRAPH_SESSION": delegate.session.id})
        await boss.send(Steer(exchange=None, text="Go on."))
        await at.launcher.launch_due()
        resumed = await at.session(delegate.session.id)
        assert resumed is not None
        assert resumed.status is SessionStatus.RUNNING
        assert resumed.pane != impostor.session.pane
        assert len(at.terminals.started) == 2


# --- the environment --------------------------------------------------------------------------------------------------


@scenario
async def test_the_delegators_environment_is_used_and_kept_nowhere(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path)
    repo = project(tmp_path)
    bin_folder = program(tmp_path / "bin", "claude")
    env = {
        "API_KEY": SECRET,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "TMUX": "/x,1,0",
        "TMUX_PANE": "%9",
        "HELIOGRAPH_SESSION": "forged",
        "CLAUDECODE": "1",
    }
    boss = await at.seat("boss", repo, env)
    for tool in ("scripted", "claude"):
        _, delegate = await at.delegated(boss, tool=tool)
        _, _, given = at.terminals.started[-1]
        assert given["API_KEY"] == SECRET
        assert given["HELIOGRAPH_SESSION"] == delegate.session.id
        assert not {"TMUX", "TMUX_PANE", "CLAUDECODE"} & given.keys()
    await at.mesh.store.close()
    with sqlite3.connect(at.home / "node.db") as db:
        dump = "\n".join(db.iterdump())
    assert SECRET not in dump
    assert all(SECRET.encode() not in path.read_bytes() for path in at.home.rglob("*") if path.is_file())


@scenario
async def test_what_a_sandbox_has_set_does_not_leave_it(tmp_path: Path) -> None:
    """HOME and PATH of another workspace are its sessions' to write: an agent outside would run what they put there."""
    async with workshop(tmp_path) as at:
        await at.workrooms.add(Workspace(name="box", driver=DriverKind.BUBBLEWRAP))
        inmate = await at.seat("inmate", tmp_path, {"HOME": "/box/home", "WHOSE": "the box's"}, workspace="box")
        _, outside = await at.delegated(inmate, workspace="default")
        assert outside.session.workspace == "default"
        _, _, env = at.terminals.started[-1]
        assert (env["WHOSE"], env.get("HOME")) == ("the node's", None)
        _, _ = await at.delegated(inmate)
        assert at.terminals.started[-1][2]["WHOSE"] == "the box's"


def test_every_startable_agent_is_one_that_is_started_again() -> None:
    assert {a.name for a in ADAPTERS if a.startable} == {"claude", "codex", "gemini", "opencode", "qwen", "scripted"}
    assert not adapter_named("generic").startable
