"""Two real nodes on one machine, as on two: paired at the command line, linked, re-keyed, killed, unpaired."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from node.local_client import LocalClient
from tests.e2e.lab import HELIO, MESH, Lab, lab
from tests.waiting import until

pytestmark = pytest.mark.timeout(180)

SECONDS = 30.0


@asynccontextmanager
async def two() -> AsyncIterator[tuple[Lab, Lab]]:
    """Two nodes that run. Each keeps its port over restarts."""
    async with AsyncExitStack() as stack:
        both = (await stack.enter_async_context(lab()), await stack.enter_async_context(lab()))
        for one in both:
            await one.start()
            port = json.loads(await one.helio("peers", "--json"))["port"]
            (one.home / "config.toml").write_text(MESH.replace("\nport = 0", f"\nport = {port}"), encoding="utf-8")
        yield both


async def pair(waiter: Lab, dialer: Lab, *, wrong: bool = False) -> int:
    """`helio pair` at both, with a code that the waiter makes; the dialer's exit code."""
    waits = await asyncio.create_subprocess_exec(
        *HELIO, "pair", "--headless", "--give", "request", "--name", "studio", "--json",
        env=waiter.env, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert waits.stdout is not None
    async with asyncio.timeout(SECONDS):
        shown = json.loads(await waits.stdout.readline())
        assert shown["step"] == "waiting"
        code = shown["code"] if not wrong else f"{(int(shown['code']) + 1) % 10**8:08d}"
        dials = await asyncio.create_subprocess_exec(
            *HELIO, "pair", f"127.0.0.1:{shown['port']}", "--want", "request", "--name", "laptop", "--code-stdin",
            env=dialer.env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        said = await dials.communicate(f"{code}\n".encode())
        await waits.communicate()
        for output in said:
            assert code.encode() not in output
        assert (waits.returncode == 0) is (dials.returncode == 0), said
        return int(dials.returncode or 0)


async def peer(at: Lab) -> dict[str, object]:
    """The node's one peer, as scripts see it; empty without one."""
    (*peers,) = json.loads(await at.helio("peers", "--json"))["peers"]
    return dict(peers[0]) if peers else {}


async def linked(at: Lab, state: str) -> dict[str, object]:
    """The peer, once the link to it is in that state."""

    async def look() -> dict[str, object] | None:
        found = await peer(at)
        link = found.get("link")
        return found if isinstance(link, dict) and link["state"] == state else None

    found = await until(look, f"a link that is {state}", seconds=SECONDS, pause_s=0.2)
    assert found is not None
    return found


async def verified(at: Lab) -> None:
    async with LocalClient(at.home) as client:
        result = [step.result async for step in client.verify_timeline()][-1]
    assert result is not None
    assert result.ok, result.problem


def test_two_nodes_from_strangers_to_peers_and_back() -> None:
    async def play() -> None:
        async with two() as (studio, laptop):
            assert await pair(studio, laptop, wrong=True) != 0
            assert (await peer(studio), await peer(laptop)) == ({}, {})
            assert await pair(studio, laptop) == 0
            for at, name, given, got in ((studio, "laptop", ["request"], []), (laptop, "studio", [], ["request"])):
                found = await linked(at, "up")
                assert (found["name"], found["given"], found["got"]) == (name, given, got)
                link = found["link"]
                assert isinstance(link, dict)
                assert link["tls"] == "TLSv1.3"
                assert isinstance(link["rtt_us"], int)

            # What is granted and taken at one end is seen at the other at once.
            await studio.helio("peers", "grant", "laptop", "mirror-panel")
            await until(lambda: has(laptop, ["mirror-panel", "request"]), "the grant", seconds=SECONDS, pause_s=0.2)
            await studio.helio("peers", "revoke", "laptop", "request")
            await until(lambda: has(laptop, ["mirror-panel"]), "the loss of a grant", seconds=SECONDS, pause_s=0.2)

            await laptop.kill()
            await linked(studio, "down")
            await laptop.start()
            await linked(studio, "up")

            await studio.helio("peers", "unpair", "laptop", "--yes")
            await linked(laptop, "refused")
            assert await peer(studio) == {}
            for at in (studio, laptop):
                await verified(at)

    asyncio.run(play())


async def has(at: Lab, got: list[str]) -> bool:
    return (await peer(at))["got"] == got


def test_a_new_key_is_taken_for_the_old_one_by_a_peer_that_was_away() -> None:
    async def play() -> None:
        async with two() as (studio, laptop):
            assert await pair(studio, laptop) == 0
            before = await linked(laptop, "up")
            await linked(studio, "up")
            assert await laptop.stop() == 0
            ids = [before["id"]]
            for _ in range(2):
                ids.append(json.loads((await studio.helio("id", "rotate", "--yes", "--json")).splitlines()[0])["id"])
                assert await studio.stop() == 0
                await studio.start()
            await laptop.start()
            await until(lambda: is_called(laptop, ids[-1]), "the newest id of the peer", seconds=SECONDS, pause_s=0.2)
            after = await linked(laptop, "up")
            await linked(studio, "up")
            assert len(set(ids)) == 3
            assert (after["name"], after["got"]) == (before["name"], before["got"])
            rows = [json.loads(line) for line in (await laptop.helio("timeline", "--json")).splitlines()]
            assert [row["row"]["decision"] for row in rows].count("rekeyed") == 2
            for at in (studio, laptop):
                await verified(at)

    asyncio.run(play())


async def is_called(at: Lab, wanted: object) -> bool:
    return (await peer(at)).get("id") == wanted
