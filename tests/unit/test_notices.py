"""Notices: when a line is typed, how often, what the ladder says, and when the sender is told."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from pathlib import Path

import pytest

from node.core.commands import Cancel, Deliver, Report, Request, Steer
from node.core.limits import Limits
from node.core.prompt import HeldReason, Typed
from node.notices import ONE, SEVERAL
from tests.integration.mesh import running, scenario, texts
from tests.notices_stage import HELD, MINUTE, notes_of, pair, passed, seen_by_sender, typed_at, unread_messages
from tests.waiting import until


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
