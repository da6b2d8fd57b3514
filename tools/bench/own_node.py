"""This project under load: the bare store, and the whole path of a report through the broker."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from node.broker import Broker
from node.classifier import Classifier
from node.core.commands import Report
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
from node.ledger import Draft, Ledger
from node.notices import ManyBells
from node.platform import clocks, durability
from node.ports import Tx
from node.store import SqliteStore, StoreSettings
from tools.bench.harness import BenchError, Case

BODY_BYTES = 1024
REPORTS_PER_EXCHANGE = 16
"""An exchange of ordinary length: some steps of the broker look at all messages of the exchange."""
_REPORT = (
    "Second batch of the March invoices: 418 read, 415 booked, three put aside. Two of those carry no currency, "
    "one names a supplier that is in our list twice under slightly different spellings, so I left it to you. The "
    "totals by cost centre agree with the ledger to the cent, apart from centre 4410, where a credit note of "
    "12.80 was counted in February already; I moved nothing and wrote the difference into the summary sheet. The "
    "import took eleven minutes, most of it waiting for the scanner share. I added a check for empty currency "
    "fields in front of the booking step, with a test that feeds it the two files from today, and ran the whole "
    "suite afterwards: 212 passed, none failed. What is left: the third batch, about 380 invoices, and the two "
    "suppliers. If nothing comes up I start on the third batch now and expect to be through by four; the summary "
    "sheet will then hold all three batches, and the list of what I put aside stands on its last page with the "
    "reason beside each line. Nothing has been paid out so far, and nothing was sent to anybody outside the team."
)
BODY = _REPORT[:BODY_BYTES]
"""Plain prose as an agent reports it; the screen reads every character of it."""
SPARE_PAIRS = 512
_PAIRS_AT_ONCE = 64


def new_id() -> str:
    """A fresh id, as a node makes them."""
    return make_id(_entropy(ID_BYTES))


def _entropy(size: int) -> bytes:
    return secrets.token_bytes(size)


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
async def opened(path: Path, node: str) -> AsyncIterator[SqliteStore]:
    """A store with the settings of a running node."""
    store = await SqliteStore.open(
        path,
        origin=f"local/{node}/1",
        row_clock=_row_clock,
        entropy=_entropy,
        settings=StoreSettings(pragmas=durability.sqlite_pragmas()),
    )
    try:
        yield store
    finally:
        await store.close()


def exchange(node: str, opener: str, worker: str) -> Exchange:
    """An exchange that has just been opened."""
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
    held = exchange(node, new_id(), new_id())
    numbers = count(1)
    now = clocks.wall_us()
    ladder = Ladder(recorded_us=now, landed_us=now)
    async with opened(path, node) as store:
        await store.write(lambda tx: tx.put_exchange(held))

        def insert(tx: Tx) -> None:
            message = Message(
                id=new_id(),
                exchange=held.id,
                number=next(numbers),
                kind=MessageKind.REPORT,
                sender=End.WORKER,
                author=Author.SESSION,
                title="",
                text=BODY,
                reply_to=None,
                ladder=ladder,
            )
            tx.add_message(message, held.opener)

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
            await self.stock()
        return self.spare.popleft()

    async def stock(self) -> None:
        """Adds spare pairs up to SPARE_PAIRS, so that a stretch finds them ready."""
        while len(self.spare) < SPARE_PAIRS:
            self.spare.extend(await self.store.write(self._open_pairs))

    def _open_pairs(self, tx: Tx) -> list[_Pair]:
        return [self._open_pair(tx) for _ in range(_PAIRS_AT_ONCE)]

    def _open_pair(self, tx: Tx) -> _Pair:
        asker, worker = session(new_id()), session(new_id())
        for one in (asker, worker):
            tx.put_session(one)
        draft = Draft(
            id=new_id(),
            kind=MessageKind.REQUEST,
            sender=End.OPENER,
            author=Author.SESSION,
            text="Please book the invoices of March and report as you go.",
        )
        opened_one, _ = self.ledger.write(tx, exchange(self.ledger.node, asker.id, worker.id), draft)
        return _Pair(exchange=opened_one)


@asynccontextmanager
async def whole_path(path: Path, *, callers: int) -> AsyncIterator[tuple[Case, Case]]:
    """The cases `relay_single` and `relay` on one store; a command is one report through the broker."""
    node = new_id()
    limits = Limits()
    async with opened(path, node) as store:
        ledger = Ledger(node=node, clock=SystemClock(), entropy=_entropy, limits=limits)
        bells = ManyBells()
        bells.add(Inbox(store=store, ledger=ledger, limits=limits, place=lambda *_: "").ring)
        broker = Broker(store=store, screener=Classifier(), bells=bells, ledger=ledger, limits=limits)
        relay = _Relay(store=store, broker=broker, ledger=ledger)
        yield (
            Case(name="relay_single", callers=1, command=relay.report, prepare=relay.stock),
            Case(name="relay", callers=callers, command=relay.report, prepare=relay.stock),
        )


def session(session_id: str) -> Session:
    """A session that runs."""
    now = clocks.wall_us()
    return Session(
        id=session_id,
        nickname=f"n{session_id}",
        title="Invoices",
        workspace=DEFAULT_WORKSPACE,
        profile="claude",
        argv=("claude",),
        cwd="/",
        pane=None,
        status=SessionStatus.RUNNING,
        state=AgentState.BUSY,
        created_us=now,
        changed_us=now,
    )
