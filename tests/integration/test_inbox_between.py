"""A message that comes between two looks of a call that waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from node.core.commands import Cancel
from node.inbox import Inbox
from node.ports import Reader, Tx
from node.store import SqliteStore
from tests.integration.mesh import running, scenario, texts

T = TypeVar("T")


@dataclass(slots=True)
class MeddlingStore:
    """Implements ports.Store over a real one; `between` is done once, right after the first read."""

    real: SqliteStore
    between: Callable[[], Awaitable[object]] | None

    async def write(self, work: Callable[[Tx], T], then: Callable[[T], None] | None = None) -> T:
        return await self.real.write(work, then)

    async def read(self, work: Callable[[Reader], T]) -> T:
        found = await self.real.read(work)
        between, self.between = self.between, None
        if between is not None:
            await between()
        return found


@scenario
async def test_the_message_that_closes_an_exchange_is_not_missed_by_who_waits_on_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        exchange = (await alice.request(bob)).exchange.id
        await bob.read()
        store = MeddlingStore(mesh.store, lambda: alice.send(Cancel(exchange=exchange, reason="It is done.")))
        inbox = Inbox(store=store, ledger=mesh.ledger, limits=mesh.limits, place=lambda *_: "")
        mesh.bells.add(inbox.ring)
        arrival = await inbox.wait(bob.address, bob.call().id, exchange, 10)
        assert texts(arrival) == ["It is done."]
