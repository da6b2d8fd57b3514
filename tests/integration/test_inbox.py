"""Handing over: whatever moment a client gives up in, a message is never lost and never there twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from node.core.commands import Answer, Ask, Deliver, Report, Request, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Status
from node.exchanges import Exchanges
from node.inbox import Inbox
from node.ports import Reader, Tx
from node.store import SqliteStore
from tests.integration.mesh import Agent, Mesh, NoFiles, NoLaunches, all_of, refused, running, scenario, texts
from tests.waiting import turn, until

T = TypeVar("T")
REPLY = "Port 8080."


async def asked(mesh: Mesh) -> tuple[Agent, Agent, str]:
    """@alice has asked @bob, who has begun; the exchange's id."""
    alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
    opened = await alice.request(bob)
    await bob.read()
    return alice, bob, opened.exchange.id


async def outcomes(mesh: Mesh, message: str) -> list[object]:
    return [row["decision"] for row in await mesh.rows(message=message)]


async def must_come_once(mesh: Mesh, alice: Agent) -> None:
    """The reply is unread now, comes with the next call, and with no other."""
    assert await alice.unread() == [REPLY]
    (taken,) = (await alice.read()).taken
    assert taken.message.text == REPLY
    assert texts(await alice.read()) == []
    assert (await mesh.message(taken.message.id)).ladder.read_us is not None
    found = await mesh.verification()
    assert found.ok


@scenario
async def test_given_up_before_anything_came(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        call = alice.call("wait")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(mesh.exchanges.wait(call, exchange, 600))
            await until(lambda: mesh.blocked(alice, bob))
            waiting.cancel()
        await mesh.exchanges.give_back(call.id)
        receipt = await bob.send(Deliver(exchange=None, text=REPLY))
        await must_come_once(mesh, alice)
        assert await outcomes(mesh, receipt.message.id) == ["relayed", "read"]


@pytest.mark.parametrize("turns", range(0, 16, 3))
@scenario
async def test_given_up_in_the_instant_a_reply_is_taken(tmp_path: Path, turns: int) -> None:
    """The reply lands, the loop turns a few times, the client gives up: whatever was under way by then."""
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        call = alice.call("wait")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(mesh.exchanges.wait(call, exchange, 600))
            await until(lambda: mesh.blocked(alice, bob))
            await bob.send(Deliver(exchange=None, text=REPLY))
            for _ in range(turns):
                await turn()
            waiting.cancel()
            await asyncio.wait({waiting})
            await mesh.exchanges.give_back(call.id)
        await must_come_once(mesh, alice)


@scenario
async def test_given_up_while_the_taking_is_on_its_way_to_the_disk(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, _ = await asked(mesh)
        receipt = await bob.send(Deliver(exchange=None, text=REPLY))
        call = alice.call("read")
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                reading = group.create_task(mesh.inbox.take(alice.address, call.id, None))
                await turn()
                reading.cancel()
                await asyncio.wait({reading})
                back = group.create_task(mesh.exchanges.give_back(call.id))
                await turn()
        assert reading.cancelled()
        assert back.done()
        await must_come_once(mesh, alice)
        assert await outcomes(mesh, receipt.message.id) == ["relayed", "given_back", "read"]


@scenario
async def test_given_up_after_the_answer_was_made(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        await bob.send(Deliver(exchange=None, text=REPLY))
        call = alice.call("wait")
        assert texts(await mesh.exchanges.wait(call, exchange, 0)) == [REPLY]
        assert await alice.unread() == []
        assert texts(await alice.read()) == []
        await mesh.exchanges.give_back(call.id)
        await must_come_once(mesh, alice)


@scenario
async def test_given_up_after_it_counted_as_read(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, _ = await asked(mesh)
        receipt = await bob.send(Deliver(exchange=None, text=REPLY))
        call = alice.call("read")
        await mesh.exchanges.read_inbox(call, None)
        await mesh.exchanges.settle(call.id)
        await mesh.exchanges.give_back(call.id)
        assert (await mesh.message(receipt.message.id)).ladder.read_us is None
        await must_come_once(mesh, alice)
        assert await outcomes(mesh, receipt.message.id) == ["relayed", "read", "given_back", "read"]


@scenario
async def test_what_arrived_does_not_come_again(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, _ = await asked(mesh)
        await bob.send(Deliver(exchange=None, text=REPLY))
        call = alice.call("read")
        await mesh.exchanges.read_inbox(call, None)
        await mesh.exchanges.settle(call.id)
        await mesh.exchanges.settle(call.id)
        for other in (alice.call("other").id, "call that never was"):
            await mesh.exchanges.give_back(other)
        assert await alice.unread() == []
        assert texts(await alice.read()) == []


@scenario
async def test_a_late_word_of_one_call_does_not_touch_what_another_took(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, _ = await asked(mesh)
        await bob.send(Deliver(exchange=None, text=REPLY))
        first = alice.call("read")
        await mesh.exchanges.read_inbox(first, None)
        await mesh.exchanges.give_back(first.id)
        assert texts(await alice.read()) == [REPLY]
        await mesh.exchanges.give_back(first.id)
        await mesh.exchanges.settle(first.id)
        assert await alice.unread() == []


@scenario
async def test_a_request_that_was_acted_upon_does_not_come_again(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        opened = await alice.request(bob)
        call = bob.call("read")
        await mesh.exchanges.read_inbox(call, None)
        await bob.send(Report(exchange=opened.exchange.id, text="I have begun."))
        assert (await mesh.message(opened.message.id)).ladder.rung == "read"
        await mesh.exchanges.give_back(call.id)
        assert await bob.unread() == []
        assert (await mesh.message(opened.message.id)).ladder.rung == "read"


@scenario
async def test_what_was_given_back_wakes_who_waits_and_is_noticed(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, _ = await asked(mesh)
        await bob.send(Deliver(exchange=None, text=REPLY))
        call = alice.call("read")
        await mesh.exchanges.read_inbox(call, None)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(alice.wait(None, 600))
            await mesh.exchanges.give_back(call.id)
        assert texts(waiting.result()) == [REPLY]
        second = alice.call("read")
        assert texts(await mesh.exchanges.read_inbox(second, None)) == []


@scenario
async def test_a_sender_that_gives_up_leaves_nobody_asleep(tmp_path: Path) -> None:
    """The command commits though its call is gone; who waits for its message must hear of it all the same."""
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(bob.wait(exchange, 600))
            await until(lambda: mesh.blocked(bob, alice))
            async with mesh.held_writer():
                sending = group.create_task(
                    mesh.broker.handle(
                        alice.address, Steer(exchange=exchange, text="Staging only."), key="key", exchange_id=""
                    )
                )
                await turn()
                sending.cancel()
                await asyncio.wait({sending})
        assert sending.cancelled()
        assert texts(waiting.result()) == ["Staging only."]


@scenario
async def test_a_wait_on_one_exchange_points_at_another(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        carol = await mesh.seat("carol")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(alice.wait(exchange, 600))
            await until(lambda: mesh.blocked(alice, bob))
            await mesh.caught_up()
            other = await carol.request(alice, "Are you there?")
        arrival = waiting.result()
        assert (arrival.taken, arrival.elsewhere, arrival.timed_out) == ((), ((other.exchange.id, 1),), False)
        # What was there before is no news: the next wait is not ended by it.
        async with asyncio.TaskGroup() as group:
            again = group.create_task(alice.wait(exchange, 600))
            await until(lambda: mesh.blocked(alice, bob))
            await bob.send(Deliver(exchange=None, text=REPLY))
        assert texts(again.result()) == [REPLY]
        assert again.result().elsewhere == ((other.exchange.id, 1),)
        assert texts(await alice.read()) == ["Are you there?"]


@scenario
async def test_each_message_goes_to_one_of_the_calls_that_wait(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(inbox_batch=1)) as mesh:
        alice, bob, exchange = await asked(mesh)
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(alice.wait(None, 600)) for _ in range(4)]
            await all_of([bob.send(Report(exchange=exchange, text=f"Step {n}.")) for n in range(4)])
        got = [text for task in waiting for text in texts(task.result())]
        assert sorted(got) == [f"Step {n}." for n in range(4)]


@scenario
async def test_messages_come_in_order_and_in_batches(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(inbox_batch=4)) as mesh:
        alice, bob, exchange = await asked(mesh)
        for number in range(10):
            await bob.send(Report(exchange=exchange, text=f"Step {number}."))
        seen, remaining = [], []
        while arrival := await alice.read():
            if not arrival.taken:
                break
            seen += texts(arrival)
            remaining.append(arrival.remaining)
        assert seen == [f"Step {n}." for n in range(10)]
        assert remaining == [6, 2, 0]


@scenario
async def test_a_wait_ends_when_its_exchange_does(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(alice.wait(exchange, 600))
            await until(lambda: mesh.blocked(alice, bob))
            await mesh.removes(bob)
        (told,) = texts(waiting.result())
        assert "deleted" in told
        with refused(ErrorCode.WRONG_STATE, "Failed"):
            await alice.wait(exchange, 600)


@scenario
async def test_a_wait_ends_when_who_asked_is_deleted(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        await bob.read()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(bob.wait(exchange, 600))
            await until(lambda: mesh.blocked(bob, alice))
            assert await mesh.removes(alice) == ()
        (told,) = texts(waiting.result())
        assert "nobody will read the result" in told


@scenario
async def test_a_wait_that_runs_out_says_so_and_takes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, _, exchange = await asked(mesh)
        for wanted in (exchange, None):
            arrival = await alice.wait(wanted, 0)
            assert arrival.taken == ()
        arrival = await alice.wait(exchange, 1)
        assert arrival.timed_out


@scenario
async def test_reading_one_exchange_leaves_the_others(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        first, second = await alice.request(bob, "One."), await alice.request(bob, "Two.")
        arrival = await bob.read(second.exchange.id)
        assert texts(arrival) == ["Two."]
        assert (arrival.elsewhere, arrival.remaining) == (((first.exchange.id, 1),), 0)
        assert await bob.unread() == ["One."]


@scenario
async def test_reading_the_opening_begins_the_work_only_when_it_arrived(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        opened = await alice.request(bob)

        async def status() -> Status:
            found = await mesh.store.read(lambda reader: reader.exchange(opened.exchange.id))
            assert found is not None
            return found.status

        call = bob.call("read")
        await mesh.exchanges.read_inbox(call, None)
        assert await status() is Status.STARTING
        await mesh.exchanges.give_back(call.id)
        assert await status() is Status.STARTING
        await bob.read()
        assert await status() is Status.WORKING


@scenario
async def test_answers_arrive_for_the_question_that_was_asked(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, exchange = await asked(mesh)
        first = await bob.send(Ask(exchange=exchange, text="One?"))
        second = await bob.send(Ask(exchange=exchange, text="Two?"))
        with refused(ErrorCode.AMBIGUOUS, first.message.id[:8], second.message.id[:8]):
            await alice.send(Answer(question=None, text="Yes."))
        with refused(ErrorCode.NOT_FOUND):
            await alice.send(Answer(question=exchange, text="Yes."))
        await alice.send(Answer(question=second.message.id[:8], text="Yes to two."))
        await alice.send(Answer(question=exchange, text="Yes to one."))
        arrival = await bob.read()
        assert [(t.message.reply_to, t.message.text) for t in arrival.taken] == [
            (second.message.id, "Yes to two."),
            (first.message.id, "Yes to one."),
        ]


@dataclass(slots=True)
class DyingStore:
    """Implements ports.Store over a real one, and writes nothing any more after `left` writes."""

    real: SqliteStore
    left: int

    async def write(self, work: Callable[[Tx], T], then: Callable[[T], None] | None = None) -> T:
        self.left -= 1
        if self.left < 0:
            raise MeshError(ErrorCode.NODE_NOT_RUNNING, "The node died.")
        return await self.real.write(work, then)

    async def read(self, work: Callable[[Reader], T]) -> T:
        return await self.real.read(work)


@scenario
async def test_what_a_person_held_when_the_node_died_is_unread_again(tmp_path: Path) -> None:
    mesh = await Mesh.open(tmp_path / "node.db")
    bob = await mesh.seat("bob")
    opened = await mesh.people.send(Request(to="@bob", text="How is it going?"), "key")
    await bob.send(Deliver(exchange=opened.exchange.id, text="Well."))
    # The call is recorded and takes the message; the word that it arrived is never written.
    dying = DyingStore(mesh.store, 2)
    inbox = Inbox(store=dying, ledger=mesh.ledger, limits=mesh.limits, place=lambda *_: "")
    exchanges = Exchanges(
        store=dying, broker=mesh.broker, inbox=inbox, waits=inbox, stager=NoFiles(), planner=NoLaunches(),
        ledger=mesh.ledger, limits=mesh.limits,
    )  # fmt: skip
    with refused(ErrorCode.NODE_NOT_RUNNING):
        await exchanges.wait_as_person(opened.exchange.id, 10)
    again = await mesh.reopened()
    try:
        assert await again.exchanges.reap() == 1
        _, arrival = await again.people.wait(opened.exchange.id, 0)
        assert texts(arrival) == ["Well."]
    finally:
        await again.store.close()
