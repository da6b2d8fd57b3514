"""The ends of sessions: what their exchanges become, who is told, once, and whose terminals go with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from node.agents import ADAPTERS
from node.core.agent_state import LINE_VERSION
from node.core.commands import Delegate, Deliver, Steer
from node.core.model import AgentState, MessageKind, Session, SessionStatus, Status
from node.core.prompt import HeldReason, Typed
from node.hook_events import HookEvents
from node.notices import ONE
from tests.integration.mesh import Agent, pane_of, scenario, texts
from tests.integration.workshop import Workshop, program, workshop


@scenario
async def test_each_ending_is_told_once_to_each_opener(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, other = await at.seat("boss", tmp_path), await at.seat("other", tmp_path)
        _, delegate = await at.delegated(boss)
        await other.request(delegate)
        at.mesh.clock.advance(60)
        await at.sessions.watch_once()
        await at.gone(delegate)
        await at.sessions.watch_once()
        for agent in (boss, other):
            (note,) = texts(await agent.read())
            assert "ended without delivering" in note


@scenario
async def test_who_has_delivered_owes_nothing(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        _, delegate = await at.delegated(boss)
        await delegate.send(Deliver(exchange=None, text="Done."))
        await at.gone(delegate)
        assert texts(await boss.read()) == ["Done."]


@scenario
async def test_a_deleted_delegator_calls_its_delegates_off(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        receipt, delegate = await at.delegated(boss)
        await delegate.read()
        inner, leaf = await at.delegated(delegate)
        await at.sessions.remove(boss.session.id)
        assert (await at.exchange(receipt)).status is Status.CANCELLED
        (stop,) = (await delegate.read()).taken
        assert stop.message.kind is MessageKind.CANCEL
        await at.archive_due()
        assert at.terminals.panes_of(delegate.session.id) == []
        # What it had given on itself is its own affair until it is deleted as well.
        assert not (await at.exchange(inner)).status.closed
        await at.sessions.remove(delegate.session.id)
        await at.archive_due()
        assert (await at.exchange(inner)).status is Status.CANCELLED
        assert at.terminals.panes_of(leaf.session.id) == []


@scenario
async def test_a_session_recorded_during_the_look_at_the_panes_has_not_ended(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        at.terminals.while_listing = lambda: at.delegated(boss)
        await at.sessions.watch_once()
        statuses = [s.status for s in await at.mesh.store.read(lambda r: r.sessions())]
        assert statuses == [SessionStatus.RUNNING] * 2


# --- what hooks tell --------------------------------------------------------------------------------------------------


class Hooked:
    """An agent whose hooks tell the node of its turns, and which prints what they are told."""

    def __init__(self, at: Workshop, agent: Agent, conversation: str) -> None:
        self._at, self._agent, self._conversation = at, agent, conversation
        self.told: list[object] = []
        self._events = HookEvents(
            tables={adapter.name: adapter.hooks for adapter in ADAPTERS}, states=at.sessions,
            turn_ends=at.mesh.notices, store=at.mesh.store, clock=at.mesh.clock, limits=at.mesh.limits,
        )  # fmt: skip

    async def fires(self, event: str, subtype: str = "") -> None:
        line = {
            "t": "hook", "v": LINE_VERSION, "event": event, "subtype": subtype, "client": "claude",
            "session_id": self._conversation,
        }  # fmt: skip
        await self._events.take(line, self._find, self._tell, self._hear)

    async def _find(self) -> Session:
        found = await self._at.session(self._agent.session.id)
        assert found is not None
        return found

    async def _tell(self, answer: Mapping[str, str | Mapping[str, str] | None]) -> None:
        self.told.append(answer["out"])

    async def _hear(self) -> Mapping[str, object]:
        return {"t": "printed"}

    async def state(self) -> AgentState:
        return (await self._find()).state


async def in_a_turn(at: Workshop, tmp_path: Path) -> tuple[Agent, Agent, Hooked]:
    """A delegator, its Claude, and the hooks of that in the middle of a turn."""
    boss = await at.seat("boss", tmp_path, {"PATH": str(program(tmp_path / "bin", "claude"))})
    _, delegate = await at.delegated(boss, tool="claude")
    hooked = Hooked(at, delegate, "11111111-1111-4111-8111-111111111111")
    await hooked.fires("SessionStart", "startup")
    assert await hooked.state() is AgentState.IDLE
    await hooked.fires("UserPromptSubmit")
    assert await hooked.state() is AgentState.BUSY
    await delegate.read()
    return boss, delegate, hooked


@scenario
async def test_hooks_set_the_state_and_the_conversation_that_is_resumed(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate, hooked = await in_a_turn(at, tmp_path)
        await hooked.fires("PermissionRequest")
        assert await hooked.state() is AgentState.NEEDS_INPUT
        await hooked.fires("Stop")
        assert await hooked.state() is AgentState.IDLE
        await hooked.fires("SessionEnd")
        assert await hooked.state() is AgentState.ENDED
        await at.gone(delegate)
        await boss.send(Steer(exchange=None, text="Go on."))
        await at.launcher.launch_due()
        argv, _, _ = at.terminals.started[-1]
        assert argv[-2:] == ("--resume", "11111111-1111-4111-8111-111111111111")


@scenario
async def test_the_end_of_a_turn_tells_of_what_waits_and_that_counts_as_a_notice(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate, hooked = await in_a_turn(at, tmp_path)
        at.mesh.typer.script[delegate.session.id] = deque([Typed(held=HeldReason.BUSY)])
        receipt = await boss.send(Steer(exchange=None, text="Look here."))
        await at.mesh.tick(2)
        held = await at.mesh.message(receipt.message.id)
        assert (held.ladder.held, held.ladder.notices) == ("busy", 0)
        await hooked.fires("Stop")
        assert hooked.told[-1] == {"decision": "block", "reason": ONE}
        assert await hooked.state() is AgentState.BUSY
        told = await at.mesh.message(receipt.message.id)
        assert (told.ladder.held, told.ladder.notices, told.ladder.confirmed_us is not None) == (None, 1, True)
        assert [row["decision"] for row in await at.mesh.rows(message=receipt.message.id)] == [
            "relayed", "held", "noticed",
        ]  # fmt: skip
        # It knows: nothing is typed, and the next end of a turn is one.
        await at.mesh.tick(10)
        assert at.mesh.typer.lines == []
        assert texts(await delegate.read()) == ["Look here."]
        await hooked.fires("Stop")
        assert hooked.told[-1] is None
        assert await hooked.state() is AgentState.IDLE


@scenario
async def test_what_was_read_before_the_hook_came_back_was_told_of_and_is_owed_no_more(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss, delegate, _ = await in_a_turn(at, tmp_path)
        receipt = await boss.send(Steer(exchange=None, text="Look here."))
        assert await at.mesh.notices.due_notice(delegate.session.id) == ONE
        await delegate.read()
        await at.mesh.notices.noticed(delegate.session.id)
        assert (await at.mesh.message(receipt.message.id)).ladder.rung == "read"
        assert await at.mesh.store.read(lambda reader: reader.owed_count()) == 0


@scenario
async def test_a_brief_that_was_looked_at_while_its_delegate_started_is_told_of_at_once(tmp_path: Path) -> None:
    """Between the look at a session and the word that it is not there, it may have come to be."""
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        receipt = await boss.send(Delegate(title="x", brief="x", tool="scripted"))
        await at.mesh.tick(2)
        assert (await at.mesh.message(receipt.message.id)).ladder.held == "gone"
        # As if it had been recorded just before: it is not hastened, but soon tried again all the same.
        delegate = await at.worker_of(receipt)
        running = replace(delegate.session, status=SessionStatus.RUNNING, pane=pane_of(delegate.session.id))
        await at.mesh.store.write(lambda tx: tx.put_session(running))
        await at.mesh.tick()
        assert [who for who, _, _ in at.mesh.typer.lines] == [delegate.session.id]


@scenario
async def test_what_is_owed_to_an_ended_agent_is_kept_without_fuss_until_it_is_back(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path)
    boss = await at.seat("boss", tmp_path)
    other = await at.seat("other", tmp_path)
    receipt = await boss.request(other)
    await other.read()
    await at.gone(other)
    await boss.read()
    # Nothing resumes this one: it stands on the ladder, and is looked at now and then.
    unknown = replace(other.session, status=SessionStatus.ENDED, profile="generic")
    await at.mesh.store.write(lambda tx: tx.put_session(unknown))
    steer = await boss.send(Steer(exchange=receipt.exchange.id, text="Go on."))
    for _ in range(5):
        await at.mesh.tick(200)
    ladder = (await at.mesh.message(steer.message.id)).ladder
    assert (ladder.held, ladder.notices, ladder.rung) == ("gone", 0, "landed, notice held: gone")
    assert [r["decision"] for r in await at.mesh.rows(message=steer.message.id)] == ["relayed", "held"]
    assert at.mesh.typer.tries == []
    at = await at.reopened()
    assert await at.mesh.store.read(lambda reader: reader.owed_count()) > 0
    # It is one again that the node can start, and a request does.
    back = replace(unknown, profile="scripted")
    await at.mesh.store.write(lambda tx: tx.put_session(back))
    boss.mesh = at.mesh
    await boss.send(Steer(exchange=receipt.exchange.id, text="Still there?"))
    await at.launcher.launch_due()
    await at.mesh.tick(2)
    assert [who for who, _, _ in at.mesh.typer.lines].count(other.session.id) == 1
    assert (await at.mesh.message(steer.message.id)).ladder.notices == 1
    await at.mesh.store.close()
