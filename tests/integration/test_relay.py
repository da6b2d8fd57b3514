"""Requests through a mirror, between real nodes on real sockets: there, back, and what each end has on record."""

from __future__ import annotations

import asyncio
from pathlib import Path

from node.core.commands import Answer, Ask, Cancel, Close, Deliver, Report, Request, Steer
from node.core.errors import ErrorCode
from node.core.model import Message, MessageKind, Status
from tests.integration.mesh import INJECTION, Agent, refused, scenario, texts
from tests.tunnel_lab import Believer, Mac, mirrored
from tests.waiting import until


async def unread(agent: Agent, *wanted: str) -> None:
    """Until exactly these texts wait for the agent."""

    async def there() -> bool:
        return list(await agent.unread()) == list(wanted)

    await until(there, f"{agent.name} is told {wanted}")


async def rung(mac: Mac, message: Message, wanted: str) -> None:
    """Until the ladder of a message says so."""

    async def there() -> bool:
        return (await mac.mesh.message(message.id)).ladder.rung == wanted

    await until(there, f"rung {wanted}")


@scenario
async def test_a_request_goes_there_and_its_reply_comes_back(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", "Which port?")
        await unread(api, "Which port?")
        await rung(laptop, receipt.message, "landed")
        arrival = await api.read()
        assert arrival.taken[0].sender == "@web@laptop"
        await rung(laptop, receipt.message, "read")
        await api.send(Deliver(exchange=None, text="8091."))
        arrival = await web.wait(receipt.exchange.id)
        assert texts(arrival) == ["8091."]
        assert arrival.taken[0].sender == "@api@studio"
        await rung(laptop, receipt.message, "answered")
        await web.send(Close(exchange=None, accepted=True))

        async def closed() -> bool:
            there = await studio.mesh.store.read(lambda r: r.exchange(receipt.exchange.id))
            return there is not None and there.status is Status.ACCEPTED

        await until(closed)
        assert await laptop.decisions(receipt.message.id) == [
            ("message", "egress", "relayed"), ("outcome", "egress", "landed"), ("outcome", "egress", "read"),
            ("outcome", "egress", "answered"),
        ]  # fmt: skip
        assert await studio.decisions(receipt.message.id) == [
            ("message", "ingress", "relayed"), ("outcome", "ingress", "read"), ("outcome", "ingress", "answered"),
        ]  # fmt: skip
        for mac in (laptop, studio):
            assert (await mac.mesh.verification()).ok
            await until(lambda mac=mac: _empty(mac), "empty queues")


async def _empty(mac: Mac) -> bool:
    return await mac.queue() == 0


@scenario
async def test_the_whole_conversation_crosses(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api@studio", "Build it.")
        await unread(api, "Build it.")
        await api.read()
        asked = await api.send(Ask(exchange=None, text="Which one?"))
        assert texts(await web.wait(receipt.exchange.id)) == ["Which one?"]
        here = await laptop.mesh.store.read(lambda r: r.exchange(receipt.exchange.id))
        assert here is not None
        assert (here.status, here.questions) == (Status.ASKED, (asked.message.id,))
        await web.send(Answer(question=None, text="The red one."))
        await unread(api, "The red one.")
        await api.send(Report(exchange=None, text="Half done."))
        await unread(web, "Half done.")
        await web.send(Steer(exchange=None, text="In blue."))
        await unread(api, "The red one.", "In blue.")
        await api.read()
        await api.send(Deliver(exchange=None, text="Done."))
        assert texts(await web.wait(receipt.exchange.id)) == ["Half done.", "Done."]
        ids = [[(m.id, m.kind) for m in await mac.messages(receipt.exchange.id)] for mac in (laptop, studio)]
        assert ids[0] == ids[1]
        assert [kind for _, kind in ids[0]] == [
            MessageKind.REQUEST, MessageKind.ASK, MessageKind.ANSWER, MessageKind.REPORT, MessageKind.STEER,
            MessageKind.DELIVER,
        ]  # fmt: skip


@scenario
async def test_a_request_that_blocks_gets_the_reply_itself(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, _studio, web, api):
        command = Request(to="@api", text="Which port?")
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(laptop.mesh.exchanges.send(web.call(command), command, 10))
            await unread(api, "Which port?")
            await api.read()
            await api.send(Deliver(exchange=None, text="8091."))
        _, arrival = asking.result()
        assert texts(arrival) == ["8091."]


@scenario
async def test_a_text_that_its_own_end_withholds_does_not_cross(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        receipt = await web.send(Request(to="@api", text=INJECTION))
        assert receipt.message.withheld
        assert await laptop.queue() == 0
        await web.request("@api", "Which port?")
        await unread(api, "Which port?")
        await api.read()
        assert (await api.send(Deliver(exchange=None, text=INJECTION))).message.withheld
        await until(lambda: _empty(studio), "an empty queue")
        assert await web.unread() == []


@scenario
async def test_the_server_withholds_what_its_client_let_pass(tmp_path: Path) -> None:
    async with mirrored(tmp_path, screeners={"laptop": Believer()}) as (laptop, studio, web, api):
        receipt = await web.request("@api", INJECTION)
        assert not receipt.message.withheld
        await rung(laptop, receipt.message, "gave up after 0 notices")
        (note,) = await web.unread()
        assert "was withheld by the screen of studio" in note
        assert await api.unread() == []
        assert await studio.decisions(receipt.message.id) == [("message", "ingress", "withheld")]
        assert ("outcome", "egress", "withheld") in await laptop.decisions(receipt.message.id)
        here = await laptop.mesh.store.read(lambda r: r.exchange(receipt.exchange.id))
        assert here is not None
        assert (here.status, here.reason) == (Status.FAILED, "remote_withheld")


@scenario
async def test_the_client_withholds_what_its_server_let_pass(tmp_path: Path) -> None:
    async with mirrored(tmp_path, screeners={"studio": Believer()}) as (laptop, studio, web, api):
        await web.request("@api", "Which port?")
        await unread(api, "Which port?")
        await api.read()
        bad = await api.send(Deliver(exchange=None, text=INJECTION))
        assert not bad.message.withheld
        await until(lambda: _empty(studio), "an empty queue")
        (note,) = await web.unread()
        assert "was withheld by this node's screen" in note
        assert await laptop.decisions(bad.message.id) == [("message", "ingress", "withheld")]


@scenario
async def test_a_cancel_crosses_and_a_closed_exchange_stays_so(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", "Build it.")
        await unread(api, "Build it.")
        await api.read()
        await web.send(Cancel(exchange=None, reason="No need."))
        await unread(api, "No need.")
        there = await studio.mesh.store.read(lambda r: r.exchange(receipt.exchange.id))
        here = await laptop.mesh.store.read(lambda r: r.exchange(receipt.exchange.id))
        assert there is not None
        assert here is not None
        assert (there.status, here.status) == (Status.CANCELLED, Status.CANCELLED)


@scenario
async def test_what_is_not_there_is_said_with_what_is(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        with refused(ErrorCode.NOT_FOUND, "mirrors no node called 'nowhere'", "studio"):
            await web.request("@api@nowhere")
        with refused(ErrorCode.NOT_FOUND, "studio has no session @nobody", "@api"):
            await web.request("@nobody@studio")
        await laptop.mesh.seat("api")
        await web.request("@api", "For you here.")
        await laptop.mirror(studio, on=False)
        with refused(ErrorCode.NOT_FOUND, "mirrors no node called 'studio'"):
            await web.request("@api@studio")
        assert await api.unread() == []
