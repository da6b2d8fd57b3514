"""Two Macs with a cable between them: real daemons in hosts of their own, and real agents' doors in real terminals."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.core.mesh import Grant, LinkState
from node.core.views_mesh import PairingEvent, PairingStep
from node.demo.puppet import Answer, Puppet
from node.local_client import LocalClient
from node.ports import NewSession
from node.ports_mesh import PairingWish
from node.ports_timeline import RowFilter
from tests.e2e.lab import Lab, lab
from tests.lan import Host, lan, linux
from tests.waiting import until

pytestmark = linux

MESH = "[mesh]\ndiscovery = false\n[limits]\nlink_dead_s = 6\nlink_beat_s = 2\n"
ASK = frozenset({Grant.REQUEST})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mac:
    """A node in a host of its own, and one agent on it."""

    host: Host
    node: Lab
    agent: Puppet
    folder: Path

    def client(self) -> LocalClient:
        """To be entered anew after each start of the node."""
        return LocalClient(self.node.home)


@asynccontextmanager
async def mac(host: Host, nickname: str, mesh: str = MESH) -> AsyncIterator[Mac]:
    async with lab(host.within, mesh) as built, AsyncExitStack() as stack:
        await built.start()
        folder = built.home / "work"
        folder.mkdir()
        control = built.home / "run" / f"{nickname}.ctl"
        argv = (sys.executable, "-m", "node.demo.agent", "--name", nickname, "--control", str(control))
        new = NewSession(argv=argv, cwd=str(folder), env=tuple(built.env.items()), nickname=nickname)
        async with LocalClient(built.home) as client:
            await client.run_session(new)
        agent = await stack.enter_async_context(Puppet(control, patience_s=60))
        yield Mac(host=host, node=built, agent=agent, folder=folder)


async def pair(laptop: Mac, studio: Mac) -> None:
    """By the real protocol; studio lets laptop ask."""
    waits = PairingWish(headless=True, gives=ASK, name="studio")
    async with laptop.client() as here, studio.client() as there, aclosing(there.run_pairing(waits)) as shown:
        waiting = await anext(shown)
        target = f"10.77.0.{studio.host.number}:{waiting.port}"
        dials = PairingWish(target=target, wants=ASK, code=waiting.code, name="laptop")
        async with asyncio.TaskGroup() as group:
            group.create_task(_last(shown))
            async with aclosing(here.run_pairing(dials)) as events:
                paired = await _last(events)
        assert paired is not None
        assert paired.step is PairingStep.PAIRED, paired
        await until(lambda: linked(laptop), "the link")
        await here.add_mirror("studio")


async def _last(events: AsyncIterator[PairingEvent]) -> PairingEvent | None:
    seen = None
    async for event in events:
        seen = event
    return seen


async def linked(one: Mac) -> bool:
    """Whether the link to the other Mac is up."""
    async with one.client() as client:
        return [peer.link.state for peer in (await client.mesh()).peers] == [LinkState.UP]


@asynccontextmanager
async def two_macs(mesh: str = MESH) -> AsyncIterator[tuple[Mac, Mac]]:
    """@web on a laptop, with its own settings, which mirrors a studio with @api."""
    with lan(2, addresses=lambda number: [f"10.77.0.{number}/24"]) as (here, there):
        async with mac(here, "web", mesh) as laptop, mac(there, "api") as studio:
            await pair(laptop, studio)

            async def seen() -> bool:
                listed = (await laptop.agent.call("list_peers")).data.get("peers")
                return any(isinstance(one, dict) and one.get("name") == "@api@studio" for one in listed or [])

            await until(seen, "@api@studio in list_peers")
            yield laptop, studio


async def done(agent: Puppet, tool: str, **arguments: object) -> Answer:
    answer = await agent.call(tool, arguments)  # type: ignore[arg-type]
    assert not answer.refused, answer.line
    return answer


async def came(agent: Puppet, kind: str) -> dict[str, object]:
    """The next message of that kind in the agent's inbox."""

    async def look() -> list[object]:
        return list((await done(agent, "read_inbox")).messages(kind))

    (message,) = await until(look, f"a {kind}", seconds=60)
    assert isinstance(message, dict)
    return message


def content(message: dict[str, object]) -> str:
    """What is in the one file of a message."""
    files = message["files"]
    assert isinstance(files, list)
    (line,) = files
    return Path(str(line).rpartition(" at ")[2]).read_text(encoding="utf-8")


async def conversation(laptop: Mac, studio: Mac, number: int, trouble: Callable[[int], Awaitable[None]]) -> str:
    """Request to reply, files both ways, `trouble` before each step; the exchange."""
    (laptop.folder / f"spec{number}").write_text(f"spec {number}", encoding="utf-8")
    (studio.folder / f"result{number}").write_text(f"result {number}", encoding="utf-8")
    await trouble(0)
    opened = await done(
        laptop.agent, "request", to="@api@studio", text=f"Build {number}.", files=[f"spec{number}"], wait_seconds=0
    )
    exchange = opened.text("exchange")
    asked = await came(studio.agent, "request")
    assert (asked["from"], asked["text"], content(asked)) == ("@web@laptop", f"Build {number}.", f"spec {number}")
    await trouble(1)
    await done(studio.agent, "ask", exchange=exchange, text="Which?", wait_seconds=0)
    question = await came(laptop.agent, "ask")
    await trouble(2)
    await done(laptop.agent, "answer", question=question["id"], text="The red one.")
    assert (await came(studio.agent, "answer"))["text"] == "The red one."
    await trouble(3)
    await done(studio.agent, "report", exchange=exchange, text="Half done.")
    await done(laptop.agent, "steer", exchange=exchange, text="In blue.")
    assert (await came(studio.agent, "steer"))["text"] == "In blue."
    await trouble(4)
    await done(studio.agent, "deliver", exchange=exchange, text=f"Built {number}.", files=[f"result{number}"])
    reply = await came(laptop.agent, "deliver")
    assert (reply["from"], reply["text"], content(reply)) == ("@api@studio", f"Built {number}.", f"result {number}")
    await done(laptop.agent, "close_delegation", exchange=exchange, outcome="accepted")

    async def closed() -> bool:
        async with studio.client() as client:
            return (await client.exchange(exchange)).exchange.status.value == "accepted"

    await until(closed, "the close at studio", seconds=60)
    return exchange


async def verified(laptop: Mac, studio: Mac, exchange: str) -> None:
    """Both timelines verify, and have the same messages of the exchange, each once."""
    found = []
    for one in (laptop, studio):
        async with one.client() as client:
            result = [view.result async for view in client.verify_timeline()][-1]
            rows = [row async for row in client.timeline(RowFilter(exchange=exchange))]
        assert result is not None
        assert result.ok
        ids = [line.split(b'"msg":"')[1][:16] for line in (row.data for row in rows) if b'"row":"message"' in line]
        assert len(ids) == len(set(ids))
        found.append(set(ids))
    assert found[0] == found[1]
    assert len(found[0]) == 7


@pytest.mark.timeout(240)
def test_a_whole_conversation_with_files_crosses_on_good_days_and_on_bad_ones() -> None:
    async def play() -> None:
        async with two_macs() as (laptop, studio):

            async def nothing(_step: int) -> None:
                return None

            async def cable(step: int) -> None:
                """Out at every step, and in again once the mirror has seen it or the next message waits."""
                studio.host.cut()
                await until_down(laptop) if step in {0, 4} else None
                studio.host.mend()

            async def killed(step: int) -> None:
                one = (laptop, studio)[step % 2]
                await one.node.kill()
                await one.node.start()

            async def frozen(_step: int) -> None:
                laptop.node.freeze(frozen=True)
                await until_down(studio)
                laptop.node.freeze(frozen=False)

            for number, trouble in enumerate((nothing, cable, killed, frozen)):
                if trouble is frozen:
                    # Once is enough: that takes as long as a dead link is given.
                    await frozen(0)
                    exchange = await conversation(laptop, studio, number, nothing)
                else:
                    exchange = await conversation(laptop, studio, number, trouble)
                await verified(laptop, studio, exchange)

    asyncio.run(play())


async def until_down(one: Mac) -> None:
    async def down() -> bool:
        return not await linked(one)

    await until(down, "a link that is down", seconds=30)


@pytest.mark.timeout(120)
def test_a_thin_client_needs_no_port_of_its_own() -> None:
    async def play() -> None:
        async with two_macs(MESH.replace("discovery = false", "discovery = false\nlisten = false")) as (laptop, studio):

            async def nothing(_step: int) -> None:
                return None

            async with laptop.client() as client:
                assert (await client.mesh()).port is None
            exchange = await conversation(laptop, studio, 0, nothing)
            await verified(laptop, studio, exchange)
            await studio.node.helio("peers", "grant", "laptop", "mirror-panel", "mirror-timeline")
            panel = await laptop.node.helio("mirror", "watch", "studio", "--once")
            assert "@web@laptop -> @api" in panel.replace("→", "->"), panel
            assert "studio" in await laptop.node.helio("mirror", "list")
            shown = await laptop.node.helio("requests", "show", exchange)
            assert "@api@studio (peer session)" in shown
            # Its own file landed on the other machine, at a path that is nothing here.
            assert "inbox" not in shown.partition("#2")[0]
            assert "@web@laptop (asker)" in await studio.node.helio("requests", "show", exchange)
            mine = (await done(laptop.agent, "list_delegations", include_closed=True)).data["exchanges"]
            assert isinstance(mine, list)
            assert isinstance(mine[0], dict)
            assert mine[0]["with"] == "@api@studio"

    asyncio.run(play())
