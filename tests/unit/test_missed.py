"""What an agent that ended has missed: it is unread again, and who it is for is started again, but not for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.core.commands import Request, Steer
from node.core.limits import Limits
from node.core.model import AgentState, MessageKind
from tests.integration.mesh import Agent, scenario
from tests.integration.workshop import Workshop, workshop

STEER = Steer(exchange=None, text="Go on.")


async def settled_delegate(at: Workshop, path: Path) -> tuple[Agent, Agent]:
    """A delegate that read its brief long ago and was seen at work since."""
    boss, delegate = await at.claude_delegate(path)
    await delegate.read()
    await at.sessions.set(delegate.session.id, AgentState.BUSY, None)
    at.mesh.clock.advance(60)
    await at.sessions.watch_once()
    return boss, delegate


def dies(at: Workshop, agent: Agent) -> None:
    """Its terminal is gone, and nobody has looked yet."""
    assert agent.session.pane is not None
    del at.terminals.alive[agent.session.pane]


async def resumed(at: Workshop, agent: Agent) -> None:
    """It is started again, and speaks, so that it is believed to stay."""
    async with asyncio.TaskGroup() as group:
        group.create_task(at.launcher.launch_due())
        await at.runs_again(agent)
        await at.sessions.set(agent.session.id, AgentState.BUSY, None)


@scenario
async def test_a_message_that_came_when_nobody_knew_of_the_end_yet_wakes_the_agent(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.sessions.watch_once()
        dies(at, delegate)
        await boss.send(STEER)
        assert not await at.launching(delegate)
        await at.sessions.watch_once()
        await at.launcher.launch_due()
        argv, _, _ = at.terminals.started[-1]
        assert "--resume" in argv
        assert await boss.unread() == []


@scenario
async def test_so_does_one_that_came_before_anybody_looked_at_all(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await boss.send(STEER)
        await at.gone(delegate)
        assert await at.launching(delegate)


@scenario
async def test_so_does_one_that_came_while_the_agent_was_leaving(tmp_path: Path) -> None:
    """An agent may give its call up, and still be seen to run for some seconds."""
    async with workshop(tmp_path) as at:
        boss, delegate = await settled_delegate(at, tmp_path)
        await boss.send(STEER)
        await at.sessions.set(delegate.session.id, AgentState.IDLE, None)
        await at.sessions.set(delegate.session.id, AgentState.ENDED, None)
        at.mesh.clock.advance(at.mesh.limits.agent_leaving_s / 2)
        await at.sessions.watch_once()
        await at.gone(delegate)
        assert await at.launching(delegate)


@scenario
async def test_so_does_one_that_came_just_after_the_node_was_started_again(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path)
    boss, delegate = await settled_delegate(at, tmp_path)
    at = await at.reopened()
    await Agent(mesh=at.mesh, session=boss.session).send(STEER)
    await at.gone(delegate)
    assert await at.launching(delegate)
    await at.mesh.store.close()


@scenario
async def test_so_does_one_behind_many_that_are_older(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await settled_delegate(at, tmp_path)
        for _ in range(at.mesh.limits.inbox_batch + 5):
            await boss.send(STEER)
        await at.sessions.watch_once()
        await boss.send(STEER)
        await at.gone(delegate)
        assert await at.launching(delegate)


@scenario
async def test_so_does_one_whose_files_land_after_the_end(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await settled_delegate(at, tmp_path)
        (tmp_path / "notes.txt").write_text("hello")
        await boss.send(Request(to=delegate.name, text="See the file.", files=("notes.txt",)))
        await at.gone(delegate)
        assert not await at.launching(delegate)
        await at.attachments.land_due()
        assert await at.launching(delegate)


@scenario
async def test_one_that_had_its_message_for_long_and_left_is_not_woken(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await boss.send(STEER)
        at.mesh.clock.advance(60)
        await at.sessions.watch_once()
        await at.gone(delegate)
        assert not await at.launching(delegate)
        (note,) = await boss.unread()
        assert "ended without delivering" in note


@scenario
async def test_nor_is_one_for_what_it_was_started_with(tmp_path: Path) -> None:
    """An agent that ends at once would be started for ever."""
    async with workshop(tmp_path) as at:
        boss, delegate = await at.claude_delegate(tmp_path)
        await at.gone(delegate)
        assert not await at.launching(delegate)
        (note,) = await boss.unread()
        assert "ended without delivering" in note


@pytest.mark.parametrize(
    ("states", "again"),
    [
        ((AgentState.BUSY,), True),
        ((AgentState.BUSY, AgentState.ENDED), True),
        ((AgentState.IDLE,), False),
        ((AgentState.IDLE, AgentState.ENDED), False),
        ((AgentState.IDLE, AgentState.ENDED, AgentState.IDLE, AgentState.BUSY, AgentState.ENDED), True),
    ],
)
@scenario
async def test_what_an_agent_took_just_before_its_end_is_told_again_unless_its_turn_was_over(
    tmp_path: Path, states: tuple[AgentState, ...], *, again: bool
) -> None:
    """An agent that leaves may still take an answer which its model is never shown."""
    async with workshop(tmp_path) as at:
        boss, delegate = await settled_delegate(at, tmp_path)
        await boss.send(STEER)
        await at.sessions.watch_once()
        assert len((await delegate.read()).taken) == 1
        for state in states:
            await at.sessions.set(delegate.session.id, state, None)
        await at.gone(delegate)
        assert await at.launching(delegate) is again
        assert await delegate.unread() == (["Go on."] if again else [])
        assert (await at.mesh.verification()).ok


@scenario
async def test_what_the_shim_of_an_ended_agent_takes_is_unread_again(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate = await settled_delegate(at, tmp_path)
        await at.gone(delegate)
        await boss.send(STEER)
        assert len((await delegate.read()).taken) == 1
        assert await delegate.unread() == ["Go on."]
        assert await at.launching(delegate)


@pytest.mark.parametrize("back_first", [True, False])
@scenario
async def test_what_a_call_had_in_hand_when_the_agent_died_wakes_it(tmp_path: Path, *, back_first: bool) -> None:
    """Killed with the answer on its way: the shim gives the call up, before the end is seen or after."""
    async with workshop(tmp_path) as at:
        boss, delegate = await settled_delegate(at, tmp_path)
        await boss.send(STEER)
        call = delegate.call("read")
        await at.mesh.exchanges.read_inbox(call, None)
        await at.sessions.watch_once()
        dies(at, delegate)
        if back_first:
            await at.mesh.exchanges.give_back(call.id)
            await at.sessions.watch_once()
        else:
            await at.sessions.watch_once()
            assert not await at.launching(delegate)
            await at.mesh.exchanges.give_back(call.id)
        assert await delegate.unread() == ["Go on."]
        assert await at.launching(delegate)


@scenario
async def test_a_message_on_which_every_agent_dies_brings_back_only_so_many(tmp_path: Path) -> None:
    async with workshop(tmp_path, limits=Limits(message_returns=2, resume_proof_s=1, spare_bytes=1)) as at:
        boss, delegate = await settled_delegate(at, tmp_path)
        await boss.send(STEER)
        started = len(at.terminals.started)
        for _ in range(6):
            await delegate.read()
            await at.gone(delegate)
            if not await at.launching(delegate):
                break
            await resumed(at, delegate)
        assert len(at.terminals.started) - started == 2
        assert await delegate.unread() == ["Go on."]
        kinds = {m.kind for m in await at.mesh.store.read(lambda r: r.unread(boss.address, None, 100))}
        assert kinds == {MessageKind.NOTE}
