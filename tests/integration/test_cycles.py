"""Waits that would never end are refused at once, with the circle named; waits that will end are left alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.core.commands import Answer, Ask, Deliver, Request, Steer
from node.core.errors import ErrorCode, MeshError
from tests.integration.mesh import Agent, Mesh, refused, running, scenario, texts
from tests.waiting import turn, until


async def begin_request(mesh: Mesh, group: asyncio.TaskGroup, who: Agent, to: Agent, text: str) -> asyncio.Task[object]:
    """`who` asks `to` and is blocked."""
    task = group.create_task(mesh.exchanges.send(who.call(text), Request(to=to.name, text=text), 600))
    await until(lambda: mesh.blocked(who, to))
    await until(to.unread)
    await mesh.caught_up()
    return task


@scenario
async def test_two_who_ask_each_other(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        async with asyncio.TaskGroup() as group:
            first = await begin_request(mesh, group, alice, bob, "Which key shall I use?")
            with pytest.raises(MeshError) as circle:
                await mesh.exchanges.send(bob.call(), Request(to="@alice", text="Which host is it?"), 600)
            assert circle.value.code is ErrorCode.CYCLE
            assert "@bob waits for @alice waits for @bob" in circle.value.message
            # What another agent wrote is shown beside the node's own words, never among them.
            assert "Which key" not in circle.value.message
            assert (circle.value.details["from"], circle.value.details["text"]) == ("@alice", "Which key shall I use?")
            # Nothing of the second was recorded, and the first goes on as if nothing had been.
            assert await alice.unread() == []
            assert len(await mesh.store.read(lambda reader: reader.exchanges(closed=True, limit=10))) == 1
            (taken,) = (await bob.read()).taken
            await bob.send(Deliver(exchange=taken.exchange.id, text="The signing key."))
        _, arrival = first.result()  # type: ignore[misc]
        assert texts(arrival) == ["The signing key."]
        assert [row["reason"] for row in await mesh.rows(decision="refused")] == ["cycle"]


@scenario
async def test_three_in_a_circle(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, carol = [await mesh.seat(name) for name in ("alice", "bob", "carol")]
        async with asyncio.TaskGroup() as group:
            tasks = [
                await begin_request(mesh, group, alice, bob, "One?"),
                await begin_request(mesh, group, bob, carol, "Two?"),
            ]
            circle = "@carol waits for @alice waits for @bob waits for @carol"
            with refused(ErrorCode.CYCLE, circle):
                await mesh.exchanges.send(carol.call(), Request(to="@alice", text="Three?"), 600)
            for task in tasks:
                task.cancel()


@scenario
async def test_a_request_that_does_not_wait_closes_no_circle(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        async with asyncio.TaskGroup() as group:
            first = await begin_request(mesh, group, alice, bob, "One?")
            second = await bob.request(alice, "Two?")
            receipt, pointed = await first  # type: ignore[misc]
            assert (texts(pointed), pointed.elsewhere) == ([], ((second.exchange.id, 1),))
            # To wait for each other's reply then does: said at once to the second, and nothing is lost by it.
            again = group.create_task(alice.wait(receipt.exchange.id, 600))
            await until(lambda: mesh.blocked(alice, bob))
            arrival = await bob.wait(second.exchange.id, 600)
            assert arrival.cycle == ("@bob", "@alice", "@bob")
            assert not arrival.timed_out
            again.cancel()


@scenario
async def test_asking_back_in_the_same_exchange_is_no_circle(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        async with asyncio.TaskGroup() as group:
            first = await begin_request(mesh, group, alice, bob, "Rotate it.")
            (taken,) = (await bob.read()).taken
            asking = group.create_task(mesh.exchanges.send(bob.call(), Ask(exchange=None, text="Which one?"), 600))
            _, question = await first  # type: ignore[misc]
            assert texts(question) == ["Which one?"]
            await alice.send(Answer(question=taken.exchange.id, text="The signing key."))
        _, answer = asking.result()
        assert texts(answer) == ["The signing key."]


@scenario
async def test_a_question_is_answered_not_waited_upon(tmp_path: Path) -> None:
    """Both would wait in one exchange, and neither has anything on its way to the other."""
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        opened = await alice.request(bob)
        await bob.read()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(mesh.exchanges.send(bob.call(), Ask(exchange=None, text="Which one?"), 600))
            await until(alice.unread)
            assert texts(await alice.read()) == ["Which one?"]
            await until(lambda: mesh.blocked(bob, alice))
            arrival = await alice.wait(opened.exchange.id, 600)
            assert arrival.cycle == ("@alice", "@bob", "@alice")
            await alice.send(Answer(question=None, text="The signing key."))
        assert texts(asking.result()[1]) == ["The signing key."]


@scenario
async def test_two_may_wait_in_one_exchange_while_a_word_is_on_its_way(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        opened = await alice.request(bob)
        await bob.read()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(bob.wait(opened.exchange.id, 600))
            await until(lambda: mesh.blocked(bob, alice))
            async with mesh.held_writer():
                # Both are under way to the writer: the steer, and the look that comes before alice's own wait.
                group.create_task(alice.send(Steer(exchange=opened.exchange.id, text="Staging only.")))
                later = group.create_task(alice.wait(opened.exchange.id, 600))
                await turn()
            assert texts(await waiting) == ["Staging only."]
            await bob.send(Deliver(exchange=None, text="Done."))
        assert texts(later.result()) == ["Done."]


@scenario
async def test_a_wait_for_anything_closes_no_circle(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        async with asyncio.TaskGroup() as group:
            anything = group.create_task(bob.wait(None, 600))
            first = group.create_task(mesh.exchanges.send(alice.call(), Request(to="@bob", text="One?"), 600))
            (taken,) = (await anything).taken
            await bob.send(Deliver(exchange=taken.exchange.id, text="Yes."))
        assert texts(first.result()[1]) == ["Yes."]


@pytest.mark.parametrize("ending", ["cancelled", "timed out", "answered"])
@scenario
async def test_a_wait_that_ended_blocks_nobody(tmp_path: Path, ending: str) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        async with asyncio.TaskGroup() as group:
            if ending == "timed out":
                await mesh.exchanges.send(alice.call(), Request(to="@bob", text="One?"), 1)
            else:
                first = await begin_request(mesh, group, alice, bob, "One?")
                if ending == "cancelled":
                    first.cancel()
                    await asyncio.wait({first})
                else:
                    await bob.read()
                    await bob.send(Deliver(exchange=None, text="Yes."))
                    await first
        assert not mesh.blocked(alice, bob)
        _, arrival = await mesh.exchanges.send(bob.call(), Request(to="@alice", text="Two?"), 1)
        assert arrival is not None
        assert arrival.timed_out
