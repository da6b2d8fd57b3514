"""Delegations on a real node: real processes, tmux, git and sandboxes, and a kill -9 where it hurts most."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import pytest

from node.agents.scripted import CONTROL
from node.core.model import AgentState, SessionStatus, Status
from node.core.views import SessionView
from node.demo.puppet import Answer, Puppet
from node.local_client import LocalClient
from node.platform import processes
from node.ports import NewSession
from tests.e2e.lab import Lab, lab
from tests.integration.workshop import git, project
from tests.waiting import until

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux: bubblewrap sandboxes")
SECRET = "sk-live-planted-0123456789abcdefghijkl"
WORK = {"title": "The work", "brief": "Count the files.", "tool": "scripted"}


class Gate:
    """A tmux in front of tmux that stops, where it is told to, before or after it starts a terminal."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        os.mkfifo(folder / "never")
        real = shutil.which("tmux")
        assert real is not None
        (folder / "tmux").write_text(
            f"""#!/bin/sh
stop() {{ if [ -e '{folder}'/$1 ]; then echo $$ > '{folder}/pid.new'; mv '{folder}/pid.new' '{folder}/pid'
read -r _ < '{folder}/never'; fi; }}
case " $* " in
*" new-session "*) stop before; '{real}' "$@"; code=$?; stop after; exit $code;;
esac
exec '{real}' "$@"
"""
        )
        (folder / "tmux").chmod(0o755)

    def path(self, before: str) -> str:
        """A PATH on which this tmux is found first."""
        return f"{self._folder}:{before}"

    def close(self, where: str) -> None:
        """From now on starts stop there: "before" or "after"."""
        (self._folder / where).touch()

    async def stopped(self) -> int:
        """The number of the process that stopped there."""
        await looked((self._folder / "pid").exists)
        return int((self._folder / "pid").read_text())

    def open(self) -> None:
        for name in ("before", "after", "pid"):
            (self._folder / name).unlink(missing_ok=True)


async def looked(holds: Callable[[], object], seconds: float = 60.0) -> None:
    await until(holds, seconds=seconds)


@asynccontextmanager
async def scene() -> AsyncIterator[tuple[Lab, AsyncExitStack, Path]]:
    """A node, not yet started, and a folder for projects, which is outside of its home."""
    outside = Path(tempfile.mkdtemp(prefix="helio-project-"))
    try:
        async with lab() as built, AsyncExitStack() as stack:
            yield built, stack, outside
    finally:
        shutil.rmtree(outside, ignore_errors=True)


async def agent(built: Lab, stack: AsyncExitStack, nickname: str, cwd: Path, **env: str) -> Puppet:
    """A session with a scripted agent in that folder."""
    control = built.home / "run" / f"{nickname}.ctl"
    argv = (sys.executable, "-m", "node.demo.agent", "--name", nickname, "--control", str(control))
    async with LocalClient(built.home) as client:
        await client.run_session(
            NewSession(argv=argv, cwd=str(cwd), env=tuple((built.env | env).items()), nickname=nickname)
        )
    return await stack.enter_async_context(Puppet(control))


async def done(agent: Puppet, tool: str, /, **arguments: object) -> Answer:
    """A call that is not refused."""
    answer = await agent.call(tool, arguments)  # type: ignore[arg-type]
    assert not answer.refused, answer.line
    return answer


async def session(built: Lab, session_id: str) -> SessionView:
    async with LocalClient(built.home) as client:
        return next(s for s in await client.sessions(archived=True) if s.id == session_id)


async def became(built: Lab, session_id: str, status: SessionStatus) -> SessionView:
    """The session, once it has that status."""
    async with LocalClient(built.home) as client:

        async def look() -> SessionView | None:
            known = await client.sessions(archived=True)
            return next((s for s in known if s.id == session_id and s.status is status), None)

        found = await until(look, seconds=60)
    assert found is not None
    return found


async def worker_of(built: Lab, exchange: str) -> str:
    async with LocalClient(built.home) as client:
        return (await client.exchange(exchange)).exchange.worker_session or ""


async def status_of(built: Lab, exchange: str) -> Status:
    async with LocalClient(built.home) as client:
        return (await client.exchange(exchange)).exchange.status


def panes(built: Lab, session_id: str) -> list[int]:
    """The processes of the terminals that belong to a session, as the system tells it."""
    words = ("tmux", "-S", str(built.home / "run" / "tmux.sock"), "list-panes", "-a", "-F", "#{pane_pid}")
    listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
    return [int(pid) for pid in listed if processes.environment(int(pid)).get("HELIOGRAPH_SESSION") == session_id]


def holding(built: Lab, text: str) -> list[Path]:
    """The files of the node which hold that text."""
    return [path for path in built.home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def verified(built: Lab) -> None:
    async with LocalClient(built.home) as client:
        result = [step.result async for step in client.verify_timeline()][-1]
    assert result is not None
    assert result.ok, result.problem


@pytest.mark.timeout(300)
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_node_killed_at_a_launch_has_one_agent_afterwards(where: str) -> None:
    async def play() -> None:
        async with scene() as (built, stack, outside):
            gate = Gate(outside / "gate")
            built.env["PATH"] = gate.path(built.env["PATH"])
            await built.start()
            boss = await agent(built, stack, "boss", project(outside), PLANTED_API_KEY=SECRET)
            gate.close(where)
            exchange = (await done(boss, "delegate", **WORK)).text("exchange")
            stuck = await gate.stopped()
            worker = await worker_of(built, exchange)
            await built.kill()
            os.kill(stuck, signal.SIGKILL)
            gate.open()
            # At once: what was left running may not even have become the agent yet.
            await built.start()
            running = await became(built, worker, SessionStatus.RUNNING)
            assert len(panes(built, worker)) == 1
            # It is the delegate that the record says: it is woken, reads its brief, and delivers.
            delegate = await stack.enter_async_context(Puppet(built.home / "agents" / worker / CONTROL))
            assert "read_inbox" in await delegate.entered()
            (brief,) = (await done(delegate, "read_inbox")).messages("brief")
            assert "Count the files." in str(brief["text"])
            await done(delegate, "deliver", text="12")
            assert (await done(boss, "wait", exchange=exchange)).messages("deliver")
            assert running.branch == "helio/the-work"
            assert git(outside / "project", "branch", "--format=%(refname:short)").split() == ["helio/the-work", "main"]
            # What the terminal was to be started with does not stay behind, whether or not it came to that.
            assert holding(built, SECRET) == []
            await verified(built)

    asyncio.run(play())


@pytest.mark.timeout(300)
def test_a_delegate_lives_as_long_as_its_delegation_and_its_branch_longer() -> None:
    async def play() -> None:
        async with scene() as (built, stack, outside):
            await built.start()
            repo = project(outside)
            boss = await agent(built, stack, "boss", repo, PLANTED_API_KEY=SECRET)
            exchange = (await done(boss, "delegate", **WORK, nickname="worker")).text("exchange")
            worker = await worker_of(built, exchange)
            await became(built, worker, SessionStatus.RUNNING)
            control = built.home / "agents" / worker / CONTROL
            async with Puppet(control) as delegate:
                await delegate.entered()
                await done(delegate, "read_inbox")
                (pid,) = panes(built, worker)
                # It works with what its delegator has, which is handed on and kept nowhere.
                assert processes.environment(pid)["PLANTED_API_KEY"] == SECRET
                os.kill(pid, signal.SIGKILL)
            # What it took a moment before may have reached no model: it is started again, and told again.
            await looked(lambda: panes(built, worker) not in ([], [pid]))
            await became(built, worker, SessionStatus.RUNNING)
            async with Puppet(control) as delegate:
                await delegate.entered()
                (brief,) = (await done(delegate, "read_inbox")).messages()
                assert brief["kind"] == "brief"
                await done(boss, "steer", exchange=exchange, text="Go on.")
                (steer,) = (await done(delegate, "wait", exchange=exchange)).messages()
                assert steer["kind"] == "steer"
                # All went on by itself, so the delegator was not troubled.
                assert (await done(boss, "read_inbox")).messages() == []
                where = Path((await session(built, worker)).cwd)
                (where / "result").write_text("12")
                git(where, "add", ".")
                git(where, "commit", "-q", "-m", "the result")
                await done(delegate, "deliver", text="Done.", files=["result"])
                (delivered,) = (await done(boss, "wait", exchange=exchange)).messages("deliver")
                assert "result" in json.dumps(delivered)
                await done(boss, "close_delegation", exchange=exchange, outcome="accepted")
                await became(built, worker, SessionStatus.ARCHIVED)
            await looked(lambda: not panes(built, worker))
            assert git(repo, "log", "-1", "--format=%s", "helio/worker") == "the result"

            for engine in ("agent.delegation", "worktree", "session"):
                assert (await built.helio("timeline", "--engine", engine, "--json")).count('"row"'), engine
            await verified(built)
            assert await built.stop() == 0, built.told()
            assert SECRET not in built.told()
            with closing(sqlite3.connect(built.home / "node.db")) as db:
                assert SECRET not in "\n".join(db.iterdump())
            assert holding(built, SECRET) == []

    asyncio.run(play())


@pytest.mark.timeout(300)
def test_a_cancelled_delegate_is_put_away_and_a_deleted_one_fails_its_exchange() -> None:
    async def play() -> None:
        async with scene() as (built, stack, outside):
            await built.start()
            boss = await agent(built, stack, "boss", project(outside))
            first, second = [
                (await done(boss, "delegate", **(WORK | {"title": title}))).text("exchange") for title in ("one", "two")
            ]
            cancelled, deleted = await worker_of(built, first), await worker_of(built, second)
            await became(built, deleted, SessionStatus.RUNNING)
            await done(boss, "cancel", exchange=first)
            await became(built, cancelled, SessionStatus.ARCHIVED)
            await looked(lambda: not panes(built, cancelled))
            async with LocalClient(built.home) as client:
                removed = await client.remove_session(deleted)
            assert removed.failed_exchanges == (second,)
            assert await status_of(built, second) is Status.FAILED
            assert "deleted before it delivered" in json.dumps((await done(boss, "read_inbox")).messages("note"))
            await looked(lambda: not panes(built, deleted))

    asyncio.run(play())


@linux
@pytest.mark.timeout(300)
def test_a_delegate_in_a_sandbox_works_end_to_end_also_after_a_restart_of_the_node() -> None:
    """Nobody pulls its strings in there: it reads the notice, its inbox, and delivers, by itself."""

    async def play() -> None:
        async with scene() as (built, stack, outside):
            await built.start()
            async with LocalClient(built.home) as client:
                await client.add_workspace("box", "bubblewrap", {})
            boss = await agent(built, stack, "boss", project(outside))
            call = await done(boss, "delegate", **WORK, workspace="box")
            exchange = call.text("exchange")
            worker = await worker_of(built, exchange)
            running = await became(built, worker, SessionStatus.RUNNING)
            assert (running.workspace, running.state) == ("box", AgentState.UNKNOWN)
            (delivered,) = (await done(boss, "wait", exchange=exchange, wait_seconds=60)).messages("deliver")
            assert "has read it" in str(delivered["text"])
            async with LocalClient(built.home) as client:
                conversation = await client.exchange(exchange)
                brief = conversation.messages[0]
                assert brief.ladder.notices == 1
                assert brief.ladder.read_us is not None

            await built.kill()
            await built.start()
            await done(boss, "steer", exchange=exchange, text="Once more.")
            again = (await done(boss, "wait", exchange=exchange, wait_seconds=60)).messages("deliver")
            assert len(again) == 1
            assert len(panes(built, worker)) == 1
            rows = await built.helio("timeline", "--engine", "workspace", "--json")
            assert "added" in rows
            await verified(built)

    asyncio.run(play())
