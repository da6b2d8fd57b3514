"""Notices: when a line is typed, how often, what the ladder says, and when the sender is told."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.commands import Ask, Cancel, Deliver, Report, Request, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Message, MessageKind, SessionStatus
from node.core.prompt import HeldReason, Typed
from node.notices import ONE, SEVERAL
from tests.integration.mesh import SECOND_US, Agent, Mesh, running, scenario, texts
from tests.waiting import until

MINUTE = 60
HELD = {reason: Typed(held=reason) for reason in HeldReason}


async def pair(mesh: Mesh) -> tuple[Agent, Agent]:
    return await mesh.seat("alice"), await mesh.seat("bob")


def passed(mesh: Mesh, seconds: float) -> bool:
    """Lets time pass; true, so that it can stand before a condition."""
    mesh.clock.advance(seconds)
    return True


def typed_at(mesh: Mesh, agent: Agent) -> list[float]:
    """When lines were entered at that session's prompt, in seconds after the first."""
    times = [at for session, at, _ in mesh.typer.lines if session == agent.session.id]
    return [round((at - times[0]) / SECOND_US) for at in times]


async def seen_by_sender(sender: Agent, message: Message) -> Message:
    """The message as its sender is shown it."""
    (found,) = await sender.list(message.exchange)
    return next(m for m in found.messages if m.id == message.id)


async def notes_of(mesh: Mesh, exchange: str) -> list[str]:
    messages = await mesh.store.read(lambda reader: reader.messages(exchange))
    return [m.text for m in messages if m.kind is MessageKind.NOTE]


@scenario
async def test_a_probe_that_was_wrong_once_costs_one_tick(tmp_path: Path) -> None:
    """The receiver has been idle and silent; nothing else happens that could wake the node."""
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        mesh.clock.advance(10 * MINUTE)
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.UNKNOWN_SCREEN]])
        receipt = await alice.request(bob)
        await mesh.tick(1.1)
        held = await seen_by_sender(alice, receipt.message)
        assert (held.ladder.held, held.ladder.notices) == ("unknown_screen", 0)
        assert held.ladder.rung == "landed, notice held: unknown_screen"
        await mesh.tick()
        noticed = await seen_by_sender(alice, receipt.message)
        assert (noticed.ladder.notices, noticed.ladder.held) == (1, None)
        assert [line for _, _, line in mesh.typer.lines] == [ONE]
        outcomes = [(row["decision"], row.get("reason")) for row in await mesh.rows(message=receipt.message.id)]
        assert outcomes == [("relayed", None), ("held", "unknown_screen"), ("noticed", None)]


@scenario
async def test_the_worker_itself_looks_again_within_a_tick(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(tick_s=1, notice_held_s=1_000_000)) as mesh:
        alice, bob = await pair(mesh)
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.BUSY]])
        async with asyncio.TaskGroup() as group:
            working = group.create_task(mesh.notices.run())
            await alice.request(bob)
            # Nobody rings any more: the worker has to come by itself while time passes.
            await until(lambda: passed(mesh, 1) and len(mesh.typer.tries) == 2)
            working.cancel()
        assert len(mesh.typer.lines) == 1


@scenario
async def test_an_agent_quicker_than_the_node_was_noticed_all_the_same(tmp_path: Path) -> None:
    """It reads, and even delivers, before the typist has told the node that a turn began."""
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        receipt = await alice.request(bob)

        async def at_once() -> None:
            await bob.read()
            await bob.send(Deliver(exchange=None, text="Done."))

        mesh.typer.quick = at_once
        await mesh.tick(1.1)
        ladder = (await mesh.message(receipt.message.id)).ladder
        assert ladder.notices == 1
        assert None not in {ladder.confirmed_us, ladder.read_us, ladder.answered_us}
        assert "noticed" in [row["decision"] for row in await mesh.rows(message=receipt.message.id)]
        mesh.typer.quick = None
        await mesh.tick(10 * MINUTE)
        assert len(typed_at(mesh, bob)) == 1


@scenario
async def test_a_waiting_call_makes_a_notice_needless(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(bob.wait())
            await alice.request(bob)
        assert len(texts(waiting.result())) == 1
        await mesh.tick(10 * MINUTE)
        assert mesh.typer.tries == []
        assert await mesh.store.read(lambda reader: reader.owed_count()) == 0


@scenario
async def test_nothing_is_typed_while_a_call_has_it_in_hand(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        await alice.request(bob)
        call = bob.call("read")
        await mesh.exchanges.read_inbox(call, None)
        for _ in range(5):
            await mesh.tick()
        assert mesh.typer.tries == []
        await mesh.exchanges.give_back(call.id)
        await mesh.tick()
        assert len(mesh.typer.lines) == 1


@scenario
async def test_a_message_nobody_reads_is_noticed_three_times_and_its_sender_told(tmp_path: Path) -> None:
    """A receiver that is busy for 15 minutes: it takes no more than three lines, three minutes apart."""
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await bob.read()
        steer = await alice.send(Steer(exchange=opened.exchange.id, text="Only the staging hosts, please."))
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.BUSY]] * 3 + [Typed()] + [HELD[HeldReason.BUSY]] * 5)
        held_seen = False
        for _ in range(15 * MINUTE // mesh.limits.tick_s):
            await mesh.tick()
            ladder = (await seen_by_sender(alice, steer.message)).ladder
            held_seen = held_seen or (ladder.held == "busy" and ladder.notices == 1)
        assert held_seen
        times = typed_at(mesh, bob)
        assert len(times) == 3
        assert all(later - earlier >= 180 for earlier, later in itertools.pairwise(times))
        ladder = (await mesh.message(steer.message.id)).ladder
        assert (ladder.notices, ladder.rung) == (3, "gave up after 3 notices")
        told = texts(await alice.read())
        assert len(told) == 1
        assert "noticed 3 times and has not been read" in told[0]
        # The record keeps it: whenever the receiver looks, it is there.
        assert texts(await bob.read()) == ["Only the staging hosts, please."]


@scenario
async def test_a_receiver_that_can_never_be_told_is_reported_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.DRAFT]] * 1000)
        for _ in range(20 * MINUTE // mesh.limits.tick_s):
            await mesh.tick()
        (told,) = await notes_of(mesh, opened.exchange.id)
        assert HeldReason.DRAFT.words in told
        assert texts(await alice.read()) == [told]
        # It went on trying: once the line is cleared, the notice comes.
        mesh.typer.script[bob.session.id].clear()
        await mesh.tick()
        assert (await mesh.message(opened.message.id)).ladder.notices == 1


@scenario
async def test_a_sender_that_waits_hears_at_once_that_nobody_could_be_told(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.DRAFT]] * 10)
        await mesh.tick(2)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(alice.wait(opened.exchange.id, 600))
            await until(lambda: mesh.blocked(alice, bob))
            await mesh.tick(1000)
        (told,) = texts(waiting.result())
        assert HeldReason.DRAFT.words in told


@scenario
async def test_of_what_is_closed_no_sender_is_told_that_nobody_reads_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        for script in ([], [HELD[HeldReason.DRAFT]] * 1000):
            opened = await alice.request(bob)
            await alice.send(Cancel(exchange=opened.exchange.id))
            mesh.typer.script[bob.session.id] = deque(script)
            for _ in range(12):
                await mesh.tick(200)
            assert await notes_of(mesh, opened.exchange.id) == []
        assert typed_at(mesh, alice) == []


@scenario
async def test_a_note_that_nobody_reads_ends_there(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        for _ in range(12):
            await mesh.tick(200)
        assert len(await notes_of(mesh, opened.exchange.id)) == 1
        assert (len(typed_at(mesh, bob)), len(typed_at(mesh, alice))) == (3, 3)
        assert await mesh.store.read(lambda reader: reader.owed_count()) == 0


@pytest.mark.parametrize("reason", [HeldReason.UNCONFIRMED, HeldReason.SWALLOWED])
@scenario
async def test_a_prompt_that_never_answers_is_not_typed_at_for_ever(tmp_path: Path, reason: HeldReason) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        receipt = await alice.request(bob)
        mesh.typer.script[bob.session.id] = deque([HELD[reason]] * 1000)
        for _ in range(10 * MINUTE):
            await mesh.tick()
            if await notes_of(mesh, receipt.exchange.id):
                break
        assert len([one for one in mesh.typer.tries if one == bob.session.id]) == 3
        ladder = (await mesh.message(receipt.message.id)).ladder
        assert (ladder.notices, ladder.confirmed_us) == (0, None)
        assert ladder.gave_up_us is not None
        (told,) = texts(await alice.read())
        assert "noticed 0 times" not in told


@pytest.mark.parametrize("reason", [HeldReason.STANDING, HeldReason.SWALLOWED])
@scenario
async def test_a_notice_without_effect_is_tried_again_soon_once(tmp_path: Path, reason: HeldReason) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        await alice.request(bob)
        mesh.typer.script[bob.session.id] = deque([HELD[reason]] * 1000)

        tried = []
        for seconds in (4, 10, 5, 175, 5):
            await mesh.tick(seconds)
            tried.append(mesh.typer.tries.count(bob.session.id))
        assert tried == [1, 1, 2, 2, 3]


@scenario
async def test_a_report_is_quiet_for_three_minutes(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await bob.read()
        await bob.send(Report(exchange=opened.exchange.id, text="Half of it is done."))
        await mesh.tick(178)
        assert typed_at(mesh, alice) == []
        await mesh.tick(2)
        assert len(typed_at(mesh, alice)) == 1


@scenario
async def test_a_report_that_was_read_is_never_noticed(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await bob.read()
        await bob.send(Report(exchange=opened.exchange.id, text="Half of it is done."))
        await alice.read()
        await mesh.tick(1000)
        assert typed_at(mesh, alice) == []


@scenario
async def test_many_messages_are_one_line(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        for number in range(4):
            await alice.request(bob, f"Question number {number}")
        await mesh.tick(2)
        assert [line for _, _, line in mesh.typer.lines] == [SEVERAL]
        assert all(m.ladder.notices == 1 for m in await unread_messages(mesh, bob))


@scenario
async def test_the_line_never_carries_a_word_of_the_message(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _bob = await pair(mesh)
        await alice.send(Request(to="@bob", title="A very special title", text="A very special text"))
        await mesh.tick(2)
        (line,) = [text for _, _, text in mesh.typer.lines]
        assert "special" not in line
        assert "alice" not in line


@scenario
async def test_a_session_that_has_ended_is_not_typed_at_and_the_reason_shows(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await mesh.store.write(lambda tx: tx.put_session(replace(bob.session, status=SessionStatus.ENDED)))
        for _ in range(5):
            await mesh.tick(100)
        assert mesh.typer.tries == []
        assert (await seen_by_sender(alice, opened.message)).ladder.held == "gone"


@scenario
async def test_sessions_do_not_wait_for_one_another(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        carol = await mesh.seat("carol")
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.DRAFT]] * 50)
        await alice.request(bob)
        await alice.request(carol)
        for _ in range(10):
            await mesh.tick()
        assert typed_at(mesh, bob) == []
        assert len(typed_at(mesh, carol)) == 1


@scenario
async def test_a_held_notice_is_tried_at_once_when_the_session_is_hastened(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.UNCONFIRMED]])
        await alice.request(bob)
        await mesh.tick(2)
        await mesh.tick()
        assert len(mesh.typer.tries) == 1
        await mesh.store.write(lambda tx: tx.hasten(bob.session.id, mesh.clock.wall_us()))
        await mesh.tick(0)
        assert len(mesh.typer.lines) == 1


@scenario
async def test_reading_while_a_line_is_typed_is_no_reason_to_type_again(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await bob.read()
        await bob.send(Ask(exchange=opened.exchange.id, text="Which region?"))
        await mesh.tick(2)
        await alice.read()
        await mesh.tick(1000)
        assert len(typed_at(mesh, alice)) == 1


@scenario
async def test_a_terminal_that_fails_does_not_end_the_worker(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(tick_s=1)) as mesh:
        alice, bob = await pair(mesh)
        mesh.typer.broken = MeshError(ErrorCode.UNAVAILABLE, "tmux did not answer.")
        await alice.request(bob)
        mesh.clock.advance(2)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(mesh.notices.run())
            await until(lambda: bool(mesh.typer.tries))
            mesh.typer.broken = None
            await until(lambda: bool(mesh.typer.lines))
            working.cancel()


@scenario
async def test_a_terminal_that_fails_is_no_trouble_to_the_line_at_another(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, carol = [await mesh.seat(name) for name in ("alice", "bob", "carol")]
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def until_bobs_terminal_failed() -> None:
            await until(lambda: bob.session.id in mesh.typer.tries)
            for _ in range(3):
                await asyncio.sleep(0)
            reached.set_result(None)

        mesh.typer.quick = until_bobs_terminal_failed
        mesh.typer.failing = {bob.session.id}
        await alice.request(carol)
        await alice.request(bob)
        await mesh.tick(2)
        assert reached.done()
        assert len(typed_at(mesh, carol)) == 1
        assert typed_at(mesh, bob) == []


@scenario
async def test_who_was_told_of_silence_and_then_hears_more_is_noticed_anew(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        for _ in range(5):
            await mesh.tick(200)
        await bob.send(Deliver(exchange=opened.exchange.id, text="Port 8080."))
        await alice.read()
        before = len(typed_at(mesh, bob))
        await alice.send(Steer(exchange=opened.exchange.id, text="And the admin port?"))
        await mesh.tick(2)
        assert len(typed_at(mesh, bob)) == before + 1


async def unread_messages(mesh: Mesh, agent: Agent) -> tuple[Message, ...]:
    return await mesh.store.read(lambda reader: reader.unread(agent.address, None, 100))
