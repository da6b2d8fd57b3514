"""Held messages between two nodes: the receiving side's person decides, and the sender's ladder says what is known."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from node.core.approval import Decision
from node.core.commands import Cancel, Deliver, Report, Steer
from node.core.model import Message, MessageKind, Status
from node.core.relay import Forward, Outcome
from node.core.workspace import ScreenMode
from tests.holds_stage import PUBLISH, SECRET, AskingScreener, Person, exchange_of, story
from tests.integration.mesh import INJECTION, Agent, scenario, texts
from tests.tunnel_lab import Believer, Mac, mirrored
from tests.waiting import until

ONCE, DENIED = Decision.ONCE, Decision.DENIED
WAITS = "held: waits for a person's approval"


@asynccontextmanager
async def two(path: Path) -> AsyncIterator[tuple[Mac, Mac, Agent, Agent]]:
    """@web on a laptop, @api on a studio that it mirrors; both screens hold."""
    screeners = {"laptop": AskingScreener(), "studio": AskingScreener()}
    async with mirrored(path, screeners=screeners) as found:
        yield found


async def rung(mac: Mac, message: Message, wanted: str) -> Message:
    """The message, once its ladder says so."""

    async def there() -> Message | None:
        found = await mac.mesh.message(message.id)
        return found if found.ladder.rung == wanted else None

    found = await until(there, f"rung {wanted}")
    assert found is not None
    return found


async def asked(mac: Mac) -> Person:
    """The person at that Mac, once something waits for them."""
    person = Person.at(mac.mesh)
    await until(person.asked, f"a question at {mac.name}")
    return person


async def unread(agent: Agent, *wanted: str) -> None:
    async def there() -> bool:
        return list(await agent.unread()) == list(wanted)

    await until(there, f"{agent.name} is told {wanted}")


@scenario
async def test_a_request_waits_at_the_server_and_its_clients_ladder_says_so(tmp_path: Path) -> None:
    async with two(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", SECRET)
        # Here it was flagged, and left to those who are asked.
        assert receipt.message.ladder.screened == "log"
        assert await Person.at(laptop.mesh).asked() == ()
        person = await asked(studio)
        held = await rung(laptop, receipt.message, WAITS)
        assert (held.ladder.held, held.ladder.landed_us) == ("approval", None)
        assert (await person.only()).words.startswith("A request from @web@laptop to @api asks for secrets")
        assert (await api.read()).taken == ()
        assert await api.list(closed=True) == ()
        await person.says(ONCE)
        landed = await rung(laptop, receipt.message, "landed")
        assert landed.ladder.landed_us is not None
        assert texts(await api.read()) == [SECRET]
        await rung(laptop, receipt.message, "read")
        assert await story(laptop.mesh, receipt.message) == [
            ("relayed", None), ("recorded_there", "approval"), ("read", None),
        ]  # fmt: skip
        assert await story(studio.mesh, receipt.message) == [
            ("held", "secrets"), ("approved", "message"), ("read", None),
        ]  # fmt: skip
        for mac in (laptop, studio):
            assert (await mac.mesh.verification()).ok


@scenario
async def test_a_refused_request_fails_at_both_ends_and_says_who_refused(tmp_path: Path) -> None:
    async with two(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", SECRET)
        await (await asked(studio)).says(DENIED)
        await rung(laptop, receipt.message, "refused by the person at the other end")
        (taken,) = (await web.wait(receipt.exchange.id)).taken
        assert taken.sender == "the node studio"
        assert "Your request (message 1) was refused by the person at the other end: it asks for secrets" in (
            taken.message.text
        )

        async def failed() -> bool:
            return (await exchange_of(laptop.mesh, receipt.exchange.id)).status is Status.FAILED

        await until(failed)
        assert (await exchange_of(studio.mesh, receipt.exchange.id)).reason == "withheld"
        assert (await api.read()).taken == ()


@scenario
async def test_a_forward_that_comes_again_after_a_no_is_told_of_it(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, studio, web, api):
        receipt = await web.request("@api", SECRET)
        person = await asked(studio)
        again = Forward(
            number=99, message=receipt.message.id, exchange=receipt.exchange.id, kind=MessageKind.REQUEST,
            session=web.session.id, to=api.session.id, chain=receipt.exchange.chain, text=SECRET,
        )  # fmt: skip
        (peer,) = studio.trust.peers()
        (held,) = await studio.ingress.take(peer, (again,))
        assert (held.outcome, held.code) == (Outcome.RELAYED, "approval")
        await person.says(DENIED)
        (refused,) = await studio.ingress.take(peer, (again,))
        assert (refused.outcome, refused.code, refused.words) == (
            Outcome.WITHHELD, "", "The person there refused it.",
        )  # fmt: skip
        assert await person.asked() == ()


@scenario
async def test_what_follows_a_held_request_waits_there_too(tmp_path: Path) -> None:
    async with two(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", SECRET)
        steer = await web.send(Steer(exchange=receipt.exchange.id, text="In the blue folder."))
        await rung(laptop, steer.message, WAITS)
        await (await asked(studio)).says(ONCE)
        await rung(laptop, steer.message, "landed")
        assert texts(await api.read()) == [SECRET, "In the blue folder."]


@scenario
async def test_a_request_that_is_called_off_asks_nobody_any_more(tmp_path: Path) -> None:
    async with two(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", SECRET)
        person = await asked(studio)
        await web.send(Cancel(exchange=receipt.exchange.id, reason="Never mind."))

        async def nothing() -> bool:
            return not await person.asked()

        await until(nothing)
        assert (await api.read()).taken == ()
        assert await api.list(closed=True) == ()
        found = await until(lambda: _held_by(laptop, receipt.message, "withdrawn"))
        assert found


async def _held_by(mac: Mac, message: Message, wanted: str) -> bool:
    return (await mac.mesh.message(message.id)).ladder.held == wanted


@scenario
async def test_what_a_server_sends_is_held_at_the_client(tmp_path: Path) -> None:
    async with two(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", "Build it.")
        await unread(api, "Build it.")
        await api.read()
        await api.send(Report(exchange=receipt.exchange.id, text="Under way."))
        delivered = await api.send(Deliver(exchange=receipt.exchange.id, text=PUBLISH))
        assert not delivered.message.awaits_approval
        person = await asked(laptop)
        assert (await person.only()).session == web.session.id
        assert await Person.at(studio.mesh).asked() == ()
        assert texts(await web.read()) == ["Under way."]
        await person.says(ONCE)
        assert texts(await web.read()) == [PUBLISH]


@scenario
async def test_of_a_refused_item_its_reader_is_told(tmp_path: Path) -> None:
    async with two(tmp_path) as (laptop, _, web, api):
        receipt = await web.request("@api", "Build it.")
        await unread(api, "Build it.")
        await api.read()
        await api.send(Deliver(exchange=receipt.exchange.id, text=PUBLISH))
        await (await asked(laptop)).says(DENIED)
        (told,) = texts(await web.read())
        assert told.startswith("A deliver (message 2) was refused by your user: it asks to publish something. You are")
        # How it stands is the server's to say: another result may be asked for.
        assert (await exchange_of(laptop.mesh, receipt.exchange.id)).status is Status.DELIVERED
        await web.send(Steer(exchange=receipt.exchange.id, text="Say it without that."))
        await unread(api, "Say it without that.")


@scenario
async def test_modes_are_each_nodes_own(tmp_path: Path) -> None:
    async with mirrored(tmp_path, screeners={"laptop": Believer(), "studio": AskingScreener()}) as macs:
        laptop, studio, web, api = macs
        await Person.at(laptop.mesh).screens(ScreenMode.LOG)
        await Person.at(studio.mesh).screens(ScreenMode.HOLD)
        receipt = await web.request("@api", INJECTION)
        person = await asked(studio)
        await rung(laptop, receipt.message, WAITS)
        await person.says(ONCE)
        await unread(api, INJECTION)
