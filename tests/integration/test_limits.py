"""Every limit of an exchange: the last one that fits is done, the next is refused by name, with nothing half-done."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.core.commands import Ask, Cancel, Close, Command, Deliver, Report, Request, Steer
from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.model import Status
from tests.integration.mesh import Agent, Mesh, refused, running, scenario
from tests.waiting import until


@asynccontextmanager
async def nothing_changes(mesh: Mesh) -> AsyncIterator[None]:
    """No exchange, message, notice or remembered command may come of what happens inside."""

    async def state() -> object:
        exchanges = await mesh.store.read(lambda reader: reader.exchanges(closed=True, limit=1000))
        messages = [await mesh.store.read(lambda reader, e=e: reader.messages(e.id)) for e in exchanges]
        rows = [row for row in await mesh.rows() if row["decision"] != "refused"]
        return exchanges, messages, rows, await mesh.store.read(lambda reader: reader.owed_count())

    before = await state()
    yield
    assert await state() == before
    assert (await mesh.verification()).ok


async def pair(mesh: Mesh) -> tuple[Agent, Agent]:
    return await mesh.seat("alice"), await mesh.seat("bob")


async def begun(mesh: Mesh) -> tuple[Agent, Agent, str]:
    alice, bob = await pair(mesh)
    opened = await alice.request(bob)
    await bob.read()
    return alice, bob, opened.exchange.id


@scenario
async def test_open_exchanges(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(open_exchanges=2)) as mesh:
        alice, bob = await pair(mesh)
        first = await alice.request(bob)
        await alice.request(bob)
        async with nothing_changes(mesh):
            with refused(ErrorCode.LIMIT, "2 open exchanges", "the limit is 2"):
                await alice.request(bob)
        # The limit is the asker's own; what was delivered needs no more work and does not count.
        await bob.request(alice)
        await bob.send(Deliver(exchange=first.exchange.id, text="Done."))
        await alice.request(bob)


@scenario
async def test_the_person_is_not_limited_in_what_is_open(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(open_exchanges=1)) as mesh:
        await pair(mesh)
        for number in range(3):
            await mesh.people.send(Request(to="@bob", text="How is it going?"), str(number))


@scenario
async def test_delivered_exchanges(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(delivered_exchanges=2)) as mesh:
        alice, bob = await pair(mesh)
        for _ in range(2):
            receipt = await alice.request(bob)
            await bob.send(Deliver(exchange=receipt.exchange.id, text="Done."))
        async with nothing_changes(mesh):
            with refused(ErrorCode.LIMIT, "2 unclosed exchanges", "the limit is 2"):
                await alice.request(bob)
        await alice.send(Close(exchange=receipt.exchange.id, accepted=True))
        await alice.request(bob)


@scenario
async def test_open_questions(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(open_questions=2)) as mesh:
        _, bob, exchange = await begun(mesh)
        for number in range(2):
            await bob.send(Ask(exchange=exchange, text=f"Question {number}?"))
        async with nothing_changes(mesh):
            with refused(ErrorCode.LIMIT, "the limit is 2"):
                await bob.send(Ask(exchange=exchange, text="One more?"))


@pytest.mark.parametrize("way_out", ["deliver", "cancel"])
@scenario
async def test_messages_of_an_exchange(tmp_path: Path, way_out: str) -> None:
    async with running(tmp_path, limits=Limits(messages_per_exchange=3)) as mesh:
        alice, bob, exchange = await begun(mesh)
        for number in range(2):
            await bob.send(Report(exchange=exchange, text=f"Step {number}."))
        more: list[tuple[Agent, Command]] = [
            (bob, Report(exchange=exchange, text="Step 3.")),
            (bob, Ask(exchange=exchange, text="Step 3?")),
            (alice, Steer(exchange=exchange, text="Go on.")),
        ]
        for agent, command in more:
            async with nothing_changes(mesh):
                with refused(ErrorCode.LIMIT, "3 messages"):
                    await agent.send(command)
        # It can be brought to its end all the same, and only that.
        if way_out == "cancel":
            done = await alice.send(Cancel(exchange=exchange))
            assert done.exchange.status is Status.CANCELLED
            return
        await bob.send(Deliver(exchange=exchange, text="Done."))
        for agent, command in (*more, (bob, Deliver(exchange=exchange, text="Done again."))):
            async with nothing_changes(mesh):
                with refused(ErrorCode.LIMIT, "3 messages"):
                    await agent.send(command)
        closed = await alice.send(Close(exchange=exchange, accepted=True))
        assert closed.exchange.status is Status.ACCEPTED


@scenario
async def test_hops(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(hops=2)) as mesh:
        agents = [await mesh.seat(name) for name in ("alice", "bob", "carol", "dave")]
        for one, then in itertools.pairwise(agents[:3]):
            await one.request(then)
            await then.read()
        async with nothing_changes(mesh):
            with refused(ErrorCode.LIMIT, "@alice > @bob", "the limit is 2"):
                await agents[2].request(agents[3])


@scenario
async def test_a_circle_of_requests_ends_at_the_hop_limit(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        agents = await pair(mesh)
        for turn in range(mesh.limits.hops):
            await agents[turn % 2].request(agents[(turn + 1) % 2])
            await agents[(turn + 1) % 2].read()
        async with nothing_changes(mesh):
            with refused(ErrorCode.LIMIT, "gone through 8 sessions"):
                await agents[0].request(agents[1])


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (Request(to="@bob", text="x" * 51), "text"),
        (Request(to="@bob", text="x", title="x" * 11), "title"),
        (Ask(exchange=None, text="x" * 51), "question"),
        (Deliver(exchange=None, text="x" * 51), "text"),
        (Close(exchange=None, accepted=True, note="x" * 21), "note"),
        (Cancel(exchange=None, reason="x" * 21), "reason"),
    ],
)
@scenario
async def test_sizes_of_texts(tmp_path: Path, command: Command, name: str) -> None:
    async with running(tmp_path, limits=Limits(text_chars=50, title_chars=10, note_chars=20)) as mesh:
        alice, _, _ = await begun(mesh)
        async with nothing_changes(mesh):
            with refused(ErrorCode.LIMIT, f"{name} has", "the limit is"):
                await alice.send(command)


@pytest.mark.parametrize("seconds", [-1, 61])
@scenario
async def test_how_long_a_call_may_wait(tmp_path: Path, seconds: int) -> None:
    async with running(tmp_path, limits=Limits(wait_max_s=60)) as mesh:
        alice, _, exchange = await begun(mesh)
        async with nothing_changes(mesh):
            with refused(ErrorCode.LIMIT, "between 0 and 60"):
                await alice.send(Request(to="@bob", text="Quick!"), wait=seconds)
            with refused(ErrorCode.LIMIT, "between 0 and 60"):
                await alice.wait(exchange, seconds)
            with refused(ErrorCode.LIMIT, "between 0 and 60"):
                await alice.wait(None, seconds)


@scenario
async def test_waits_of_a_session(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(waits_per_session=3)) as mesh:
        alice = await mesh.seat("alice")
        others = [await mesh.seat(name) for name in ("bob", "carol", "dave")]
        opened = [(await alice.request(other)).exchange.id for other in others]
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(alice.wait(exchange, 600)) for exchange in opened]
            for other in others:
                await until(lambda other=other: mesh.blocked(alice, other))
            async with nothing_changes(mesh):
                with refused(ErrorCode.LIMIT, "3 of your calls wait already"):
                    await alice.wait(None, 600)
            # Others may wait, and who waits still gets what comes.
            assert (await others[0].wait(None, 0)).taken
            await others[0].send(Deliver(exchange=None, text="Well."))
            assert (await waiting[0]).taken
            for task in waiting[1:]:
                task.cancel()
        assert (await alice.wait(None, 0)).timed_out


@scenario
async def test_rows_about_refusals(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(refusal_rows_per_minute=3)) as mesh:
        alice, bob = await pair(mesh)

        async def refuse(agent: Agent, times: int) -> None:
            for _ in range(times):
                with refused(ErrorCode.NOT_FOUND):
                    await agent.request("@nobody")

        await refuse(alice, 10)
        assert len(await mesh.rows(decision="refused")) == 3
        await refuse(bob, 1)
        assert len(await mesh.rows(decision="refused")) == 4
        mesh.clock.advance(61)
        await refuse(alice, 10)
        assert len(await mesh.rows(decision="refused")) == 7


@scenario
async def test_a_text_at_every_limit_is_carried_whole(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        text = ("Grüße aus Köln, 你好. " * 6000)[: mesh.limits.text_chars]
        receipt = await alice.send(Request(to="@bob", text=text, title="t" * mesh.limits.title_chars))
        (taken,) = (await bob.read()).taken
        assert taken.message.text == text
        assert len(text) == mesh.limits.text_chars
        (row, *_) = await mesh.rows(message=receipt.message.id)
        content = row["content"]
        assert isinstance(content, dict)
        # What is shown beside the row is cut: the length of the whole and a commitment to it stay.
        assert isinstance(content.pop("commit"), str)
        assert content == {"bytes": len(text.encode()), "chars": len(text), "truncated": True}
