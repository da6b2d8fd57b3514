"""What one end of a mirror may not do to the other: foreign exchanges, forged ids, circles of waits, floods, lies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.commands import Ask, Deliver, Request
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Peer
from node.core.model import Author, Blocked, MessageKind, Status
from node.core.relay import Forward, ForwardResult, Incoming, Item, Outcome, Progress, RemoteSession
from node.core.transfer import Attachment
from tests.integration.mesh import INJECTION, Agent, refused, scenario, texts
from tests.tunnel_lab import QUICK, Mac, foreign_id, macs, mirrored
from tests.waiting import until


async def told(agent: Agent, *wanted: str) -> None:
    async def there() -> bool:
        return list(await agent.unread()) == list(wanted)

    await until(there, f"{agent.name} is told {wanted}")


def peer_of(server: Mac, client: Mac) -> Peer:
    """The client as the server knows it."""
    return next(peer for peer in server.trust.peers() if peer.id == client.id)


def request(api: Agent, **changes: object) -> Forward:
    """A request as another node forwards it."""
    exchange = foreign_id()
    given: dict[str, object] = {
        "number": 1, "message": foreign_id(), "exchange": exchange, "kind": MessageKind.REQUEST,
        "session": foreign_id(), "nickname": "web", "to": api.session.id, "text": "Which port?", "chain": exchange,
        "hops": ("@web",),
    }  # fmt: skip
    return Forward(**(given | changes))  # type: ignore[arg-type]


@asynccontextmanager
async def server(path: Path, limits: Limits = QUICK) -> AsyncIterator[tuple[Mac, Peer, Agent, Peer]]:
    """A studio with @api, its client laptop, and another client."""
    async with macs(path, "laptop", "studio", "tablet", limits=limits) as (laptop, studio, tablet):
        api = await studio.mesh.seat("api")
        yield studio, peer_of(studio, laptop), api, peer_of(studio, tablet)


async def outcome(studio: Mac, peer: Peer, forward: Forward) -> ForwardResult:
    (result,) = await studio.ingress.take(peer, (forward,))
    return result


@scenario
async def test_a_forward_that_comes_again_is_one_message(tmp_path: Path) -> None:
    async with server(tmp_path) as (studio, laptop, api, _):
        forward = request(api)
        results = [await outcome(studio, laptop, forward._replace(number=number)) for number in (1, 2, 3)]
        assert {result.outcome for result in results} == {Outcome.RELAYED}
        assert list(await api.unread()) == ["Which port?"]
        assert len(await studio.mesh.rows(message=forward.message)) == 1


@scenario
async def test_nothing_is_taken_without_the_grant(tmp_path: Path) -> None:
    async with server(tmp_path) as (studio, laptop, api, _):
        studio.trust.give(laptop.id)
        result = await outcome(studio, laptop, request(api))
        assert (result.outcome, result.code) == (Outcome.REFUSED, "reach")
        assert await api.unread() == []


@scenario
async def test_a_client_touches_only_exchanges_that_it_opened(tmp_path: Path) -> None:
    async with server(tmp_path) as (studio, laptop, api, tablet):
        boss = await studio.mesh.seat("boss")
        own = await boss.request(api)
        first = request(api)
        assert (await outcome(studio, laptop, first)).outcome is Outcome.RELAYED
        await api.read()
        for exchange, session in (
            (own.exchange.id, boss.session.id),
            (own.exchange.id, foreign_id()),
            (first.exchange, first.session),
        ):
            for kind in (MessageKind.STEER, MessageKind.CANCEL, MessageKind.CLOSE):
                forward = Forward(
                    number=2, message=foreign_id(), exchange=exchange, kind=kind, session=session, text="Stop."
                )
                result = await outcome(studio, tablet, forward)
                assert result.outcome is Outcome.REFUSED
                assert result.status is None
        assert await api.unread() == []
        # Its own, from another session than the one that asked.
        stranger = Forward(
            number=3, message=foreign_id(), exchange=first.exchange, kind=MessageKind.CANCEL, session=foreign_id()
        )
        assert (await outcome(studio, laptop, stranger)).code == "not_found"


@pytest.mark.parametrize("kind", [MessageKind.ASK, MessageKind.DELIVER, MessageKind.NOTE, MessageKind.BRIEF])
@scenario
async def test_a_client_cannot_speak_for_the_other_end(tmp_path: Path, kind: MessageKind) -> None:
    async with server(tmp_path) as (studio, laptop, api, _):
        first = request(api)
        await outcome(studio, laptop, first)
        forged = first._replace(message=foreign_id(), kind=kind)
        result = await outcome(studio, laptop, forged)
        assert (result.outcome, result.code) == (Outcome.REFUSED, "invalid_argument")


@scenario
async def test_ids_that_are_taken_are_refused_and_change_nothing(tmp_path: Path) -> None:
    async with server(tmp_path) as (studio, laptop, api, tablet):
        boss = await studio.mesh.seat("boss")
        own = await boss.request(api, "Mine.")
        for forged in (
            request(api, exchange=own.exchange.id),
            request(api, message=own.message.id),
            request(api, session=boss.session.id),
            request(api, text=""),
            request(api, to=foreign_id()),
            request(api, files=(Attachment(name="../x", sha256="a" * 64, size=1, folder=False, entries=0),)),
        ):
            assert (await outcome(studio, laptop, forged)).outcome is Outcome.REFUSED
        assert list(await api.unread()) == ["Mine."]
        taken = request(api)
        await outcome(studio, laptop, taken)
        again = request(api, session=taken.session)
        result = await outcome(studio, tablet, again)
        assert (result.outcome, result.code) == (Outcome.REFUSED, "invalid_argument")


@scenario
async def test_names_and_hops_of_another_node_reach_no_model_unread(tmp_path: Path) -> None:
    async with server(tmp_path) as (studio, laptop, api, _):
        await outcome(studio, laptop, request(api, nickname=INJECTION, hops=(INJECTION, "@lead", "@web")))
        (taken,) = (await api.read()).taken
        assert taken.sender.endswith("@laptop")
        assert taken.exchange.hops[:2] == ("somebody@laptop", "@lead@laptop")
        assert not any("ignore" in hop.casefold() for hop in taken.exchange.hops)


@scenario
async def test_a_client_opens_only_so_many_and_forwards_only_so_fast(tmp_path: Path) -> None:
    async with server(tmp_path, replace(QUICK, open_exchanges_per_peer=2, forwards_per_minute=5)) as (
        studio, laptop, api, tablet,
    ):  # fmt: skip
        got = [(await outcome(studio, laptop, request(api))).code for _ in range(3)]
        assert got == ["", "", "limit"]
        assert (await outcome(studio, laptop, request(api))).outcome is Outcome.REFUSED
        assert (await outcome(studio, laptop, request(api))).outcome is Outcome.REFUSED
        assert (await outcome(studio, laptop, request(api))).outcome is Outcome.LATER
        assert (await outcome(studio, tablet, request(api))).outcome is Outcome.RELAYED
        studio.mesh.clock.advance(61)
        assert (await outcome(studio, laptop, request(api))).outcome is Outcome.REFUSED


@scenario
async def test_a_circle_of_waits_across_macs_is_refused(tmp_path: Path) -> None:
    async with macs(tmp_path, "laptop", "studio") as (laptop, studio):
        web, api = await laptop.mesh.seat("web"), await studio.mesh.seat("api")
        await laptop.mirror(studio)
        await studio.mirror(laptop)
        await laptop.sees("api")
        await studio.sees("web")
        there = Request(to="@api", text="Which port?")
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(laptop.mesh.exchanges.send(web.call(there), there, 15))
            await told(api, "Which port?")
            await api.read()
            await until(lambda: studio.mesh.inbox.towards(laptop.id) == (), "no wait of its own")

            circle = Blocked(who=api.address, on=web.address, exchange="probe")
            await until(lambda: studio.mesh.inbox.cycle(circle), "the wait of the other Mac")
            back = Request(to="@web", text="And which host?")
            with pytest.raises(MeshError) as circle_named:
                await studio.mesh.exchanges.send(api.call(back), back, 15)
            assert circle_named.value.code is ErrorCode.CYCLE
            assert "@api waits for @web@laptop waits for @api" in circle_named.value.message
            # With the question that the other one waits in.
            assert circle_named.value.details["text"] == "Which port?"
            assert circle_named.value.details["from"] == "@web@laptop"
            await api.send(Deliver(exchange=None, text="8091."))
        assert texts(asking.result()[1]) == ["8091."]


@scenario
async def test_three_macs_in_a_circle_are_refused_too(tmp_path: Path) -> None:
    async with macs(tmp_path, "one", "two", "three") as made:
        agents = [await mac.mesh.seat(f"agent{number}") for number, mac in enumerate(made)]
        for number, mac in enumerate(made):
            await mac.mirror(made[(number + 1) % 3])
        for number, mac in enumerate(made):
            await mac.sees(f"agent{(number + 1) % 3}")
        async with asyncio.TaskGroup() as group:
            waiting = []
            for number in (0, 1):
                command = Request(to=f"@agent{number + 1}", text=f"Ask {number}.")
                waiting.append(
                    group.create_task(made[number].mesh.exchanges.send(agents[number].call(command), command, 15))
                )
                await told(agents[number + 1], f"Ask {number}.")
                await agents[number + 1].read()

            circle = Blocked(who=agents[2].address, on=agents[0].address, exchange="probe")
            await until(lambda: made[2].mesh.inbox.cycle(circle), "the first wait at the third Mac")
            command = Request(to="@agent0", text="Ask 2.")
            with refused(ErrorCode.CYCLE, "would wait for ever"):
                await made[2].mesh.exchanges.send(agents[2].call(command), command, 15)
            await agents[2].send(Deliver(exchange=None, text="Two."))
            await waiting[1]
            await agents[1].send(Deliver(exchange=None, text="One."))
        assert texts(waiting[0].result()[1]) == ["One."]


# --- a server that lies ----------------------------------------------------------------------------------------------


def incoming(exchange: str, **changes: object) -> Item:
    given: dict[str, object] = {
        "message": foreign_id(), "exchange": exchange, "kind": MessageKind.DELIVER, "author": Author.SESSION,
        "text": "Done.", "status": Status.DELIVERED,
    }  # fmt: skip
    return Item(number=9, what=Incoming(**(given | changes)))  # type: ignore[arg-type]


@scenario
async def test_a_server_speaks_only_in_exchanges_with_it(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        shop = await laptop.mesh.seat("shop")
        local = await web.request(shop)
        far = await web.request("@api", "Which port?")
        await told(api, "Which port?")
        await until(lambda: _all_crossed(laptop, studio), "empty queues")
        size = await laptop.mesh.store.read(lambda reader: reader.size())
        for item in (
            incoming(local.exchange.id),
            incoming(foreign_id()),
            *(
                Item(number=9, what=Progress(message=local.message.id, exchange=one, read_us=5, status=Status.FAILED))
                for one in (local.exchange.id, far.exchange.id)
            ),
        ):
            await laptop.egress.take(studio.id, (item,))
        assert await web.unread() == []
        assert (await laptop.mesh.message(local.message.id)).ladder.read_us is None
        assert await laptop.mesh.store.read(lambda reader: reader.size()) == size
        await laptop.egress.take(foreign_id(), (incoming(far.exchange.id),))
        assert await web.unread() == []


async def _all_crossed(*made: Mac) -> bool:
    return not sum([await mac.queue() for mac in made])


@scenario
async def test_a_server_cannot_pass_for_this_node_or_for_its_sessions(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        far = await web.request("@api", "Which port?")
        await told(api, "Which port?")
        await laptop.egress.take(studio.id, (incoming(far.exchange.id, kind=MessageKind.NOTE, author=Author.NODE),))
        (taken,) = (await web.read()).taken
        assert taken.sender == "the node studio"
        boss = await laptop.mesh.seat("boss")
        lie = RemoteSession(node=studio.id, id=boss.session.id, nickname="boss")
        await laptop.egress.directory(
            studio.id, (lie, RemoteSession(node=studio.id, id=foreign_id(), nickname=INJECTION))
        )
        known = await laptop.mesh.store.read(lambda reader: reader.remote_sessions())
        assert boss.session.id not in {one.id for one in known}
        assert INJECTION not in {one.nickname for one in known}


@scenario
async def test_a_message_that_does_not_fit_is_refused_and_the_exchange_stays(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        far = await web.request("@api", "Which port?")
        await told(api, "Which port?")
        bad = Attachment(name="../../etc/passwd", sha256="a" * 64, size=1, folder=False, entries=0)
        await laptop.egress.take(studio.id, (incoming(far.exchange.id, files=(bad,)),))
        assert len(await laptop.messages(far.exchange.id)) == 1
        again = incoming(far.exchange.id)
        for _ in range(3):
            await laptop.egress.take(studio.id, (again,))
        assert list(await web.unread()) == ["Done."]
        await laptop.egress.settled(
            studio.id, (ForwardResult(number=77, message=far.message.id, outcome=Outcome.REFUSED, words=INJECTION),)
        )
        assert list(await web.unread()) == ["Done."]
        assert (await api.send(Ask(exchange=None, text="Which?"))).message.kind is MessageKind.ASK
