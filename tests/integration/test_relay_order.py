"""What crosses a mirror keeps its order, whatever has to cross twice, and nothing waits behind what never comes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from node.core.commands import Command, Deliver, Receipt, Request, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.model import Status
from node.core.transfer import Attachment
from tests.integration.mesh import Agent, scenario
from tests.tunnel_lab import Mac, mirrored
from tests.waiting import until

FILE = Attachment(name="plan.txt", sha256="a" * 64, size=1, folder=False, entries=0)


async def hand_in(agent: Agent, command: Command, *files: Attachment) -> Receipt:
    """Hands a command in with files that are staged already."""
    new_id = agent.mesh.ledger.new_id
    return await agent.mesh.broker.handle(agent.address, command, key=new_id(), exchange_id=new_id(), files=files)


async def crossed(mac: Mac, exchange: str, *wanted: str) -> None:
    """Until the messages of an exchange are these, in that order."""
    found: list[str] = []

    async def look() -> bool:
        found[:] = [one.text for one in await mac.messages(exchange)]
        return len(found) >= len(wanted)

    await until(look, f"{wanted}")
    assert found == list(wanted)


@scenario
async def test_nothing_overtakes_a_message_that_has_to_cross_again(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, _):
        gone = asyncio.Event()
        studio.carrier.lacking.append(gone)
        receipt = await hand_in(web, Request(to="@api", text="Read the plan."), FILE)
        await until(lambda: studio.carrier.looked, "a request at the server")
        # Its result is still to come when this could go out.
        await web.send(Steer(exchange=None, text="Only its end."))
        other = await web.request("@api", "Which port?")
        gone.set()
        await crossed(studio, receipt.exchange.id, "Read the plan.", "Only its end.")
        await crossed(studio, other.exchange.id, "Which port?")
        assert [one.text for one in await laptop.messages(receipt.exchange.id)] == ["Read the plan.", "Only its end."]


@scenario
async def test_files_that_are_there_do_not_let_a_message_pass_an_earlier_one(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, _):
        await studio.stop()
        await until(lambda: laptop.clients is not None and laptop.clients.why(studio.id), "a mirror that is down")
        first = await hand_in(web, Request(to="@api", text="Read the plan."), FILE)
        second = await hand_in(web, Steer(exchange=None, text="And this one."), FILE)
        third = await hand_in(web, Steer(exchange=None, text="Only its end."))
        for message in (second.message, first.message):
            await laptop.mesh.store.write(lambda tx, message=message: tx.files_crossed(message.id))
        rows = await laptop.mesh.store.read(lambda reader: reader.queued(studio.id, 0, 10, forward=True))
        assert [row.message for row in rows] == [one.message.id for one in (first, second, third)]
        await studio.start()
        await crossed(studio, first.exchange.id, "Read the plan.", "And this one.", "Only its end.")


@scenario
async def test_what_stands_behind_a_message_that_is_refused_crosses(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, _):
        receipt = await web.request("@api", "Read the plan.")
        await crossed(studio, receipt.exchange.id, "Read the plan.")
        await studio.stop()
        laptop.carrier.refuse = MeshError(ErrorCode.INVALID_ARGUMENT, "That file is none.")
        await hand_in(web, Steer(exchange=None, text="Here it is."), FILE)
        await web.send(Steer(exchange=None, text="Only its end."))
        await studio.start()
        await crossed(studio, receipt.exchange.id, "Read the plan.", "Only its end.")


@scenario
async def test_what_stands_behind_a_message_that_expired_may_cross(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, _):
        receipt = await web.request("@api", "Read the plan.")
        await crossed(studio, receipt.exchange.id, "Read the plan.")
        laptop.carrier.refuse = MeshError(ErrorCode.UNAVAILABLE, "It is away.")
        await hand_in(web, Steer(exchange=None, text="Here it is."), FILE)
        laptop.mesh.clock.advance(laptop.mesh.limits.relay_deadline_s + 1)
        await web.send(Steer(exchange=None, text="Only its end."))
        await laptop.egress.tidy()
        await crossed(studio, receipt.exchange.id, "Read the plan.", "Only its end.")


@scenario
async def test_a_result_that_comes_late_does_not_turn_an_exchange_back(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        first = await web.request("@api", "Which port?")
        await crossed(studio, first.exchange.id, "Which port?")
        await studio.stop()
        await until(lambda: laptop.clients is not None and laptop.clients.why(studio.id), "a mirror that is down")
        steer = await web.send(Steer(exchange=None, text="The new one."))
        slow = await hand_in(web, Request(to="@api", text="Read the plan."), FILE)
        await laptop.mesh.store.write(lambda tx: tx.files_crossed(slow.message.id))
        gone = asyncio.Event()
        studio.carrier.lacking.append(gone)
        await studio.start()
        await crossed(studio, first.exchange.id, "Which port?", "The new one.")
        # What became of the steer is told together with what becomes of the slow one.
        await api.read()
        await api.send(Deliver(exchange=first.exchange.id, text="8091."))
        await crossed(laptop, first.exchange.id, "Which port?", "The new one.", "8091.")
        gone.set()

        async def settled() -> bool:
            waiting = await laptop.mesh.store.read(lambda reader: reader.queued_message(steer.message.id))
            return waiting is None

        await until(settled, "the result of the steer")
        here = await laptop.mesh.store.read(lambda reader: reader.exchange(first.exchange.id))
        assert here is not None
        assert here.status is Status.DELIVERED


@scenario
async def test_what_stands_behind_files_that_are_still_to_land_is_read_after_them(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (_, studio, web, api):
        receipt = await hand_in(web, Request(to="@api", text="Read the plan."), FILE)
        await web.send(Steer(exchange=None, text="Only its end."))
        await crossed(studio, receipt.exchange.id, "Read the plan.", "Only its end.")
        assert list(await api.unread()) == []
        opening = await studio.mesh.message(receipt.message.id)
        await studio.mesh.store.write(lambda tx: studio.mesh.ledger.landed(tx, opening))
        assert list(await api.unread()) == ["Read the plan.", "Only its end."]
