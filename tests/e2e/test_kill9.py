"""kill -9 of the daemon at random points: no acknowledged message lost, none doubled, and the chain verifies."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections import Counter
from contextlib import AsyncExitStack, closing

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.model import Status
from node.demo.puppet import Puppet
from node.local_client import LocalClient
from node.store.reader import SqliteReader
from tests.e2e.lab import Lab, lab

KILLS = int(os.environ.get("HELIO_TEST_KILLS", "200"))
SENDERS = 4
MOST_BETWEEN_KILLS = 6
PASSING = {ErrorCode.NODE_NOT_RUNNING, ErrorCode.UNAVAILABLE, ErrorCode.UNAUTHENTICATED}


class Progress:
    """How much was acknowledged so far, for the killer to strike by."""

    def __init__(self) -> None:
        self.count = 0
        self._more = asyncio.Condition()

    async def add(self) -> None:
        async with self._more:
            self.count += 1
            self._more.notify_all()

    async def reach(self, count: int) -> None:
        async with self._more, asyncio.timeout(60):
            await self._more.wait_for(lambda: self.count >= count)


class Sender:
    """The person's side: one request after the other, each under its key until it is acknowledged."""

    def __init__(self, built: Lab, name: str, progress: Progress) -> None:
        self._built = built
        self._name = name
        self._progress = progress
        self.acknowledged: dict[str, tuple[str, str]] = {}

    async def run(self, over: asyncio.Event) -> None:
        number = 0
        while not over.is_set():
            number += 1
            key = f"{self._name}-{number}"
            while key not in self.acknowledged:
                await self._built.up.wait()
                try:
                    async with LocalClient(self._built.home) as client:
                        receipt = await client.send_request("@sink", f"job {key}", key=key)
                except MeshError as error:
                    assert error.code in PASSING, error
                else:
                    self.acknowledged[key] = (receipt.exchange.id, receipt.message.id)
                    await self._progress.add()


async def drain(agent: Puppet, got: Counter[str], over: asyncio.Event) -> None:
    """The agent's side: takes what waits, again and again, whatever becomes of the node meanwhile."""
    while True:
        last = over.is_set()
        taken = await agent.call("wait", {"wait_seconds": 1})
        new = taken.messages("request")
        got.update(str(message["id"]) for message in new)
        if last and not new and not taken.refused:
            return


async def check_retries(client: LocalClient, senders: list[Sender]) -> None:
    """A retry of what was acknowledged gets the ids that were acknowledged."""
    for sender in senders:
        for key, (exchange, message) in sender.acknowledged.items():
            again = await client.send_request("@sink", f"job {key}", key=key)
            assert (again.exchange.id, again.message.id, again.repeated) == (exchange, message, True)


def check_records(built: Lab, senders: list[Sender]) -> None:
    """In the file itself: every acknowledged request once, and the agent's taking of it recorded."""
    with closing(sqlite3.connect(built.home / "node.db")) as db:
        stored = SqliteReader(db).exchanges(closed=True, limit=1_000_000)
    titles = Counter(exchange.title for exchange in stored)
    wanted = {f"job {key}" for sender in senders for key in sender.acknowledged}
    assert wanted == set(titles), "what was acknowledged and what is recorded differ"
    assert max(titles.values()) == 1, "a request was recorded twice"
    assert {exchange.status for exchange in stored} == {Status.WORKING}


async def play(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - where to strike, nothing secret
    got: Counter[str] = Counter()
    over = asyncio.Event()
    progress = Progress()
    async with lab() as built, AsyncExitStack() as stack:
        await built.start()
        agent = await built.agent(stack, "sink")
        senders = [Sender(built, f"s{number}", progress) for number in range(SENDERS)]
        async with asyncio.TaskGroup() as group:
            for sender in senders:
                group.create_task(sender.run(over))
            group.create_task(drain(agent, got, over))
            for _ in range(KILLS):
                await progress.reach(progress.count + chance.randrange(MOST_BETWEEN_KILLS))
                await built.kill()
                await built.start()
            over.set()
        async with LocalClient(built.home) as client:
            await check_retries(client, senders)
            acknowledged = {message for sender in senders for _, message in sender.acknowledged.values()}
            assert acknowledged <= set(got), "an acknowledged request never reached the agent"
            assert max(got.values()) == 1, "a request reached the agent twice"
            result = None
            async for step in client.verify_timeline():
                result = step.result
            assert result is not None
            assert result.ok, result.problem
        assert await built.stop() == 0, built.told()
        check_records(built, senders)


@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_or_doubled() -> None:
    asyncio.run(play(seed=20_260_601))
