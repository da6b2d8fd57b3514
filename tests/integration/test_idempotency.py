"""Exactly once by id: however often a call or command comes, there is one record, one notice and one answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.commands import Answer, Ask, Command, Deliver, Report, Request, Steer
from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.model import SessionStatus
from node.ports import Call
from tests.integration.mesh import INJECTION, Agent, Mesh, all_of, refused, running, scenario, texts
from tests.waiting import until

ASK = Request(to="@bob", text="Which port does the service listen on?")


async def pair(mesh: Mesh) -> tuple[Agent, Agent]:
    return await mesh.seat("alice"), await mesh.seat("bob")


async def count(mesh: Mesh) -> tuple[int, int]:
    """(exchanges, messages) on record."""
    exchanges = await mesh.store.read(lambda reader: reader.exchanges(closed=True, limit=1000))
    messages = [await mesh.store.read(lambda reader, e=e: reader.messages(e.id)) for e in exchanges]
    return len(exchanges), sum(map(len, messages))


def twin_of(call: Call, agent: Agent, *, same_id: bool) -> Call:
    """The same call again: from the same shim, or from a new one which cannot know the first id."""
    return call if same_id else replace(call, id=agent.mesh.ledger.new_id())


@pytest.mark.parametrize("same_id", [True, False])
@scenario
async def test_a_request_without_an_answer_is_repeated(tmp_path: Path, *, same_id: bool) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        call = alice.call(ASK)
        first, _ = await mesh.exchanges.send(call, ASK, 0)
        second, _ = await mesh.exchanges.send(twin_of(call, alice, same_id=same_id), ASK, 0)
        assert not first.repeated
        assert second.repeated
        assert (second.exchange.id, second.message.id) == (first.exchange.id, first.message.id)
        assert await count(mesh) == (1, 1)
        assert len(await mesh.rows(decision="relayed")) == 1
        await mesh.tick(2)
        assert len(mesh.typer.lines) == 1
        assert texts(await bob.read()) == [ASK.text]
        await bob.send(Deliver(exchange=None, text="8080."))
        assert texts(await alice.read()) == ["8080."]


@pytest.mark.parametrize("same_id", [True, False])
@scenario
async def test_the_node_goes_away_between_record_and_answer(tmp_path: Path, *, same_id: bool) -> None:
    mesh = await Mesh.open(tmp_path / "node.db")
    alice, _ = await pair(mesh)
    call = alice.call(ASK)
    first, _ = await mesh.exchanges.send(call, ASK, 0)
    again = await mesh.reopened()
    try:
        retry = twin_of(call, alice, same_id=same_id)
        second, _ = await again.exchanges.send(retry, ASK, 0)
        assert second.message.id == first.message.id
        assert await count(again) == (1, 1)
        # What nobody came back for is given up; the retry is not.
        assert await again.exchanges.reap() == (0 if same_id else 1)
        assert await again.exchanges.reap() == 0
        await again.exchanges.settle(retry.id)
        third, _ = await again.exchanges.send(alice.call(ASK), ASK, 0)
        assert third.message.id != first.message.id
        assert (await again.verification()).ok
    finally:
        await again.store.close()


@scenario
async def test_a_call_named_by_its_agent_is_done_once_however_late_it_is_repeated(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        carol = await mesh.seat("carol")
        named = replace(alice.call("deploy-1"), named=True)
        first = await alice.send(ASK, call=named)
        mesh.clock.advance(10 * mesh.limits.repeat_window_s)
        again = await alice.send(ASK, call=twin_of(named, alice, same_id=False))
        assert again.repeated
        assert again.message.id == first.message.id
        assert await bob.unread() == [ASK.text]
        # A name is its agent's own.
        other = await carol.send(ASK, call=replace(named, id=mesh.ledger.new_id(), actor=carol.address))
        assert not other.repeated


@scenario
async def test_a_withheld_call_can_be_reworded_under_its_name(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        named = replace(alice.call("deploy-1"), named=True)
        assert (await alice.send(Request(to="@bob", text=INJECTION), call=named)).message.withheld
        reworded = await alice.send(ASK, call=twin_of(named, alice, same_id=False))
        assert not reworded.repeated
        assert await bob.unread() == [ASK.text]


@scenario
async def test_a_call_with_an_answer_is_not_repeated(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        first = await alice.send(ASK)
        second = await alice.send(ASK)
        assert not second.repeated
        assert first.message.id != second.message.id
        assert await count(mesh) == (2, 2)
        assert await bob.unread() == [ASK.text] * 2


@scenario
async def test_a_repeat_that_was_answered_ends_the_series(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _ = await pair(mesh)
        call = alice.call(ASK)
        first, _ = await mesh.exchanges.send(call, ASK, 0)
        second = await alice.send(ASK)
        third = await alice.send(ASK)
        assert second.message.id == first.message.id
        assert third.message.id != first.message.id


@scenario
async def test_a_call_that_was_given_up_is_repeated(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        call = alice.call(ASK)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(mesh.exchanges.send(call, ASK, 600))
            await until(lambda: mesh.blocked(alice, bob))
            await until(bob.unread)
            asking.cancel()
            await asyncio.wait({asking})
            await mesh.exchanges.give_back(call.id)
            again = group.create_task(mesh.exchanges.send(alice.call(ASK), ASK, 600))
            await bob.wait()
            await bob.send(Deliver(exchange=None, text="8080."))
        receipt, arrival = again.result()
        assert receipt.repeated
        assert texts(arrival) == ["8080."]
        assert await count(mesh) == (1, 2)


@scenario
async def test_a_repeat_gets_the_reply_that_its_first_run_took(tmp_path: Path) -> None:
    """The reply was in the first call's hands when its shim died: the second call waits, and has it at once."""
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        call = alice.call(ASK)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(mesh.exchanges.send(call, ASK, 600))
            await bob.wait()
            await bob.send(Deliver(exchange=None, text="8080."))
        assert texts(asking.result()[1]) == ["8080."]
        async with asyncio.TaskGroup() as group:
            again = group.create_task(mesh.exchanges.send(alice.call(ASK), ASK, 600))
            await until(lambda: mesh.blocked(alice, bob))
            await mesh.exchanges.give_back(call.id)
        assert texts(again.result()[1]) == ["8080."]


@scenario
async def test_a_repeat_after_the_window_is_a_new_command(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(repeat_window_s=60)) as mesh:
        alice, _ = await pair(mesh)
        first, _ = await mesh.exchanges.send(alice.call(ASK), ASK, 0)
        mesh.clock.advance(59)
        within, _ = await mesh.exchanges.send(alice.call(ASK), ASK, 0)
        mesh.clock.advance(61)
        after, _ = await mesh.exchanges.send(alice.call(ASK), ASK, 0)
        assert within.message.id == first.message.id
        assert after.message.id != first.message.id


@scenario
async def test_equal_calls_of_two_sessions_are_two_commands(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _ = await pair(mesh)
        carol = await mesh.seat("carol")
        first, _ = await mesh.exchanges.send(alice.call(ASK), ASK, 0)
        second, _ = await mesh.exchanges.send(carol.call(ASK), ASK, 0)
        assert first.message.id != second.message.id


@pytest.mark.parametrize("what", ["send", "read", "wait"])
@scenario
async def test_the_call_of_another_session_cannot_be_taken_over(tmp_path: Path, what: str) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        carol = await mesh.seat("carol")
        mine = alice.call(ASK)
        await mesh.exchanges.send(mine, ASK, 0)
        await bob.send(Deliver(exchange=None, text="8080."))
        await mesh.exchanges.read_inbox(mine, None)
        stolen = replace(mine, actor=carol.address)
        with refused(ErrorCode.INVALID_ARGUMENT, "another session"):
            match what:
                case "send":
                    await mesh.exchanges.send(stolen, ASK, 0)
                case "read":
                    await mesh.exchanges.read_inbox(stolen, None)
                case _:
                    await mesh.exchanges.wait(stolen, None, 0)
        # What the rightful call holds stays in its hands.
        assert await alice.unread() == []
        await mesh.exchanges.settle(mine.id)
        assert await alice.unread() == []


@scenario
async def test_the_same_command_at_the_same_time_is_done_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _ = await pair(mesh)
        calls = [alice.call(ASK) for _ in range(12)]
        done = await all_of([mesh.exchanges.send(call, ASK, 0) for call in calls])
        assert len({receipt.message.id for receipt, _ in done}) == 1  # type: ignore[misc]
        assert await count(mesh) == (1, 1)


@scenario
async def test_every_kind_of_command_is_done_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await bob.read()
        exchange = opened.exchange.id
        script: list[tuple[Agent, Command]] = [
            (bob, Ask(exchange=exchange, text="One?")),
            (alice, Answer(question=exchange, text="Yes.")),
            (bob, Report(exchange=exchange, text="Half.")),
            (alice, Steer(exchange=exchange, text="More.")),
            (bob, Deliver(exchange=exchange, text="Done.")),
        ]
        for agent, command in script:
            call = agent.call(command)
            first, _ = await mesh.exchanges.send(call, command, 0)
            before = await count(mesh)
            second, _ = await mesh.exchanges.send(agent.call(command), command, 0)
            assert second.message.id == first.message.id
            assert await count(mesh) == before


@scenario
async def test_a_withheld_message_is_withheld_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _ = await pair(mesh)
        command = Request(to="@bob", text=INJECTION)
        first, _ = await mesh.exchanges.send(alice.call(command), command, 0)
        second, _ = await mesh.exchanges.send(alice.call(command), command, 0)
        assert second.message.id == first.message.id
        assert second.message.snippet == first.message.snippet
        assert len(await mesh.rows(decision="withheld")) == 1


@scenario
async def test_a_refused_command_may_be_tried_again(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        await mesh.store.write(lambda tx: tx.put_session(replace(bob.session, status=SessionStatus.ENDED)))
        with refused(ErrorCode.UNAVAILABLE):
            await mesh.exchanges.send(alice.call(ASK), ASK, 0)
        await mesh.store.write(lambda tx: tx.put_session(bob.session))
        receipt, _ = await mesh.exchanges.send(alice.call(ASK), ASK, 0)
        assert not receipt.repeated


@scenario
async def test_a_persons_key_is_a_command(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await pair(mesh)
        first = await mesh.people.send(ASK, "key-1")
        again = await mesh.people.send(ASK, "key-1")
        other = await mesh.people.send(ASK, "key-2")
        assert (again.message.id, again.repeated) == (first.message.id, True)
        assert other.message.id != first.message.id


@scenario
async def test_a_persons_key_is_never_a_call_of_an_agent(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _ = await pair(mesh)
        call = alice.call(ASK)
        first, _ = await mesh.exchanges.send(call, ASK, 0)
        persons = await mesh.people.send(ASK, call.id)
        assert persons.message.id != first.message.id


@scenario
async def test_what_is_remembered_is_forgotten_in_time(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _ = await pair(mesh)
        call = alice.call(ASK)
        await mesh.exchanges.send(call, ASK, 0)
        await mesh.exchanges.settle(call.id)
        mesh.clock.advance(100)
        open_call = alice.call("read")
        await mesh.exchanges.read_inbox(open_call, None)
        mesh.clock.advance(100)
        await mesh.store.write(lambda tx: tx.forget_before(mesh.clock.wall_us()))
        assert await mesh.store.read(lambda reader: reader.call(call.id)) is None
        assert await mesh.store.read(lambda reader: reader.command(call.id)) is None
        # A call that may hold messages is never forgotten.
        assert await mesh.store.read(lambda reader: reader.call(open_call.id)) is not None
