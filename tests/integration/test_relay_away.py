"""When the server is away: what waits says so, crosses once when it is back, and may be given up or taken back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from node.core import workspace as rules
from node.core.commands import Cancel, Deliver, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Peer
from node.core.model import Exchange, Status
from node.core.relay import Forward, ForwardResult
from node.ingress import Ingress
from tests.integration.mesh import Agent, refused, scenario, texts
from tests.rule_screener import RuleScreener
from tests.tunnel_lab import ASK, Mac, mirrored
from tests.waiting import until


async def held(mac: Mac, agent: Agent, *words: str) -> str:
    """Until the ladder of the newest message of the agent's says these words; the rung."""

    async def look() -> str:
        (conversation, *_) = await agent.list(closed=True)
        rung = conversation.messages[-1].ladder.rung
        return rung if all(word in rung for word in words) else ""

    return await until(look, f"a ladder that says {words}")


async def exchange(mac: Mac, exchange_id: str) -> Exchange:
    found = await mac.mesh.store.read(lambda reader: reader.exchange(exchange_id))
    assert found is not None
    return found


async def told(agent: Agent, *wanted: str) -> None:
    async def there() -> bool:
        return list(await agent.unread()) == list(wanted)

    await until(there, f"{agent.name} is told {wanted}")


async def away(laptop: Mac, studio: Mac) -> None:
    """The server goes, and its client has noticed."""
    await studio.stop()
    await until(lambda: laptop.clients is not None and laptop.clients.why(studio.id), "a mirror that is down")


@scenario
async def test_what_waits_says_since_when_and_crosses_once_when_the_server_is_back(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        await away(laptop, studio)
        receipt = await web.request("@api", "Which port?")
        await held(laptop, web, "queued: server unreachable since", "UTC")
        await web.send(Steer(exchange=None, text="The new one."))
        await studio.start()
        await told(api, "Which port?", "The new one.")
        await held(laptop, web, "landed")
        await api.read()
        await api.send(Deliver(exchange=None, text="8091."))
        assert texts(await web.wait(receipt.exchange.id)) == ["8091."]
        assert len(await studio.messages(receipt.exchange.id)) == 3


class Cut(Ingress):
    """The network goes once, right after the request is on the server's disk."""

    cut = False

    async def take(self, peer: Peer, forwards: Sequence[Forward]) -> tuple[ForwardResult, ...]:
        results = await super().take(peer, forwards)
        if not self.cut:
            self.cut = True
            raise MeshError(ErrorCode.UNAVAILABLE, "The cable is out.")
        return results


@scenario
async def test_a_cut_between_the_commit_there_and_its_answer_makes_one_request_of_two_tries(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        await studio.stop()
        heart = studio.mesh
        studio.ingress = cut = Cut(
            store=heart.store, broker=heart.broker, screener=RuleScreener(), trust=studio.trust, ledger=heart.ledger,
            bells=heart.bells, limits=heart.limits, claims=studio.carrier,
        )  # fmt: skip
        heart.store.listen(cut.committed)
        await studio.start()
        receipt = await web.request("@api", "Which port?")
        await held(laptop, web, "landed")
        assert cut.cut
        await heart.tick(2)
        assert [who for who, _, _ in heart.typer.lines] == [api.session.id]
        (taken,) = (await api.read()).taken
        assert taken.message.id == receipt.message.id
        await api.send(Deliver(exchange=None, text="8091."))
        assert texts(await web.wait(receipt.exchange.id)) == ["8091."]
        rows = await heart.rows(message=receipt.message.id)
        assert [row["decision"] for row in rows if row["row"] == "message"] == ["relayed"]


@scenario
async def test_a_reply_that_was_given_while_the_link_was_down_is_pulled_when_it_is_up(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, _studio, web, api):
        receipt = await web.request("@api", "Which port?")
        await told(api, "Which port?")
        await laptop.stop()
        await api.read()
        await api.send(Deliver(exchange=None, text="8091."))
        await laptop.start()
        assert texts(await web.wait(receipt.exchange.id)) == ["8091."]
        assert (await exchange(laptop, receipt.exchange.id)).status is Status.DELIVERED


@scenario
async def test_what_was_called_off_before_it_could_cross_never_does(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        await away(laptop, studio)
        receipt = await web.request("@api", "Which port?")
        await web.send(Cancel(exchange=None))
        second = await web.request("@api", "Which host?")
        await studio.start()
        await told(api, "Which host?")
        there = await studio.mesh.store.read(lambda reader: reader.exchange(receipt.exchange.id))
        assert there is None
        assert (await exchange(laptop, receipt.exchange.id)).status is Status.CANCELLED
        assert ("outcome", "egress", "withdrawn") in await laptop.decisions(receipt.message.id)
        assert (await exchange(studio, second.exchange.id)).status is Status.STARTING


@scenario
async def test_what_waits_for_too_long_expires_with_a_note(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        await away(laptop, studio)
        receipt = await web.request("@api", "Which port?")
        laptop.mesh.clock.advance(laptop.mesh.limits.relay_deadline_s + 1)
        await laptop.egress.tidy()
        (note,) = texts(await web.read())
        assert "expired: studio could not be reached for 24 hours" in note
        assert (await exchange(laptop, receipt.exchange.id)).status is Status.FAILED
        assert await laptop.queue() == 0
        await studio.start()
        second = await web.request("@api", "Which host?")
        await told(api, "Which host?")
        assert [one.exchange.id for one in await api.list()] == [second.exchange.id]


@scenario
async def test_a_grant_that_is_taken_away_ends_the_stream_at_once(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        receipt = await web.request("@api", "Which port?")
        await told(api, "Which port?")
        studio.trust.give(laptop.id)
        await until(lambda: laptop.clients is not None and laptop.clients.why(studio.id), "a stream that ends")
        await web.send(Steer(exchange=None, text="The new one."))
        await held(laptop, web, "queued", "does not let")
        assert list(await api.unread()) == ["Which port?"]
        studio.trust.give(laptop.id, Grant.REQUEST)
        await told(api, "Which port?", "The new one.")
        assert len(await studio.messages(receipt.exchange.id)) == 2


async def notes(mac: Mac, agent: Agent) -> dict[str, str]:
    """What list_peers says of each session."""
    return {peer.name: peer.note for peer in await mac.mesh.exchanges.peers(agent.call("peers"))}


@scenario
async def test_a_session_in_a_restricted_workspace_has_no_mirrors(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, _studio, web, _api):
        lab = rules.add("lab", "host", {}, (), reach=())
        await laptop.mesh.store.write(lambda tx: tx.put_workspace(lab))
        boxed = await laptop.mesh.seat("boxed", workspace="lab")
        assert "@api@studio" in await notes(laptop, web)
        assert "@api@studio" not in await notes(laptop, boxed)
        for name in ("@api", "@api@studio"):
            with refused(ErrorCode.REACH, "none on another Mac"):
                await boxed.request(name)
        assert await laptop.queue() == 0


@scenario
async def test_a_session_that_went_away_is_said_to_be_gone(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        assert (await notes(laptop, web))["@api@studio"] == ""
        await laptop.knows(studio, ASK, frozenset())
        assert "does not let this one ask" in (await notes(laptop, web))["@api@studio"]
        await laptop.knows(studio, ASK, ASK)
        await web.request("@api")
        await told(api, "Which port does the service listen on?")
        await studio.mesh.store.write(lambda tx: tx.remove_session(api.session.id))
        await laptop.sees()
        with refused(ErrorCode.UNAVAILABLE, "@api@studio was put away or removed there"):
            await web.request("@api@studio")
