"""This project as it is loaded by the store's bench: the bare store, and the broker's whole path on a store of its own."""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from node.broker import Broker
from node.classifier import RuleScreener
from node.core.commands import Report, Request
from node.core.ids import ID_BYTES, make_id
from node.core.limits import Limits
from node.core.model import (
    DEFAULT_WORKSPACE,
    Address,
    AgentState,
    Author,
    End,
    Exchange,
    Kind,
    Ladder,
    Message,
    MessageKind,
    Session,
    SessionStatus,
    Status,
)
from node.core.timeline import Clock as RowClock
from node.inbox import Inbox
from node.ledger import Ledger
from node.notices import ManyBells
from node.platform import clocks, durability
from node.ports import Tx
from node.store import SqliteStore, StoreSettings
from tools.bench.harness import BenchError, Case

BODY_BYTES = 1024
REPORTS_PER_EXCHANGE = 16
"""An exchange of ordinary length: some steps of the broker look at all messages of the exchange."""
_SENTENCE = "The second batch of invoices went through; three were put aside because their currency is missing. "
BODY = (_SENTENCE * (BODY_BYTES // len(_SENTENCE) + 1))[:BODY_BYTES]
_PAIRS_AT_ONCE = 64


def new_id() -> str:
    """A fresh id, as a node makes them."""
    return make_id(secrets.token_bytes(ID_BYTES))


class SystemClock:
    """Implements ports.Clock."""

    def wall_us(self) -> int:
        """UTC in microseconds."""
        return clocks.wall_us()

    def boottime_us(self) -> int:
        """Microseconds since boot, sleep included."""
        return clocks.boottime_us()


def _row_clock() -> RowClock:
    return RowClock(ts_us=clocks.wall_us(), mono_us=clocks.boottime_us(), boot=clocks.boot_id())


@asynccontextmanager
async def _opened(path: Path, node: str) -> AsyncIterator[SqliteStore]:
    """A store with the settings of a running node."""
    store = await SqliteStore.open(
        path,
        origin=f"local/{node}/1",
        row_clock=_row_clock,
        entropy=secrets.token_bytes,
        settings=StoreSettings(pragmas=durability.sqlite_pragmas()),
    )
    try:
        yield store
    finally:
        await store.close()


def _exchange(node: str, opener: str, worker: str) -> Exchange:
    now = clocks.wall_us()
    own = new_id()
    return Exchange(
        id=own,
        kind=Kind.REQUEST,
        status=Status.STARTING,
        opener=Address(node=node, session=opener),
        worker=Address(node=node, session=worker),
        title="Invoices of March",
        chain=own,
        hops=("@asker",),
        parent=None,
        root=own,
        depth=0,
        next_number=1,
        questions=(),
        ended_noted=False,
        reason=None,
        opened_us=now,
        changed_us=now,
    )


@asynccontextmanager
async def bare_store(path: Path, *, callers: int) -> AsyncIterator[tuple[Case, Case]]:
    """The cases `single` and `group` on one store; a command is one write that inserts one message row."""
    node = new_id()
    exchange = _exchange(node, new_id(), new_id())
    numbers = count(1)
    async with _opened(path, node) as store:
        await store.write(lambda tx: tx.put_exchange(exchange))

        def insert(tx: Tx) -> None:
            now = clocks.wall_us()
            message = Message(
                id=new_id(),
                exchange=exchange.id,
                number=next(numbers),
                kind=MessageKind.REPORT,
                sender=End.WORKER,
                author=Author.SESSION,
                title="",
                text=BODY,
                reply_to=None,
                ladder=Ladder(recorded_us=now, landed_us=now),
            )
            tx.add_message(message, exchange.opener)

        async def command(_caller: int) -> None:
            await store.write(insert)

        yield (
            Case(name="single", callers=1, command=command),
            Case(name="group", callers=callers, command=command),
        )


@dataclass(slots=True, kw_only=True)
class _Pair:
    """Two sessions and the exchange between them, in which the worker reports."""

    exchange: Exchange
    reports: int = 0


@dataclass(slots=True, kw_only=True)
class _Relay:
    """Callers who report through the broker, each in an exchange of its own, in a fresh one when that is full."""

    store: SqliteStore
    broker: Broker
    ledger: Ledger
    spare: deque[_Pair] = field(default_factory=deque)
    used: dict[int, _Pair] = field(default_factory=dict)

    async def report(self, caller: int) -> None:
        """One screened report, with its timeline row and its notice."""
        pair = self.used.get(caller)
        if pair is None or pair.reports >= REPORTS_PER_EXCHANGE:
            pair = self.used[caller] = await self._fresh()
        pair.reports += 1
        receipt = await self.broker.handle(
            pair.exchange.worker, Report(exchange=None, text=BODY), key=new_id(), exchange_id=new_id()
        )
        if receipt.message.withheld or receipt.repeated:
            raise BenchError("The broker did not relay a report of the bench; its figures would mean something else.")

    async def _fresh(self) -> _Pair:
        if not self.spare:
            await self.stock(_PAIRS_AT_ONCE)
        return self.spare.popleft()

    async def stock(self, wanted: int) -> None:
        """Brings the spare pairs to `wanted`."""
        while len(self.spare) < wanted:
            pairs = [
                _Pair(exchange=_exchange(self.ledger.node, new_id(), new_id())) for _ in range(_PAIRS_AT_ONCE)
            ]
            self.spare.extend(await self.store.write(partial(self._open, pairs=pairs)))

    def _open(self, tx: Tx, *, pairs: list[_Pair]) -> list[_Pair]:
        return pairs
