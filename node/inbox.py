"""Hands messages to calls, and holds calls that wait.

A message handed to a call is leased to it: it counts as read only when the client is known to have the answer, and
is unread again when the call is given up. The graph of who waits for whom lives here, as long as the calls do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, pairwise

from node.changes import Changes
from node.core import delegation, policy
from node.core.commands import Arrival, Taken
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.limits import Limits
from node.core.model import Address, Blocked, Exchange, SessionStatus, Status
from node.core.row_codes import RowDecision
from node.core.transfer import Attachment
from node.labels import label_of
from node.ledger import Ledger
from node.message_rows import OPENINGS
from node.ports import Reader, Store, Tx

Place = Callable[[str, str, Attachment], str]
"""Where a file of a message lands: (session id, message id, file) -> path."""


class Inbox:
    """Implements ports.Inbox, ports.Bells, ports.Waits and ports_relay.RemoteWaits."""

    def __init__(self, *, store: Store, ledger: Ledger, limits: Limits, place: Place) -> None:
        self._store = store
        self._place = place
        self._ledger = ledger
        self._limits = limits
        self._bells: dict[Address, set[asyncio.Event]] = {}
        self._blocked: list[Blocked] = []
        self._told: dict[tuple[str, int], tuple[Blocked, ...]] = {}
        self._changes = Changes()

    def ring(self, addresses: Sequence[Address]) -> None:
        """Wakes the calls that wait at these addresses; what they find there is up to them."""
        for address in addresses:
            for bell in self._bells.get(address, ()):
                bell.set()

    @contextmanager
    def _listening(self, address: Address) -> Iterator[asyncio.Event]:
        bells = self._bells.setdefault(address, set())
        if len(bells) >= self._limits.waits_per_session:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{len(bells)} of your calls wait already, which is the limit. Let them end first.",
                {"limit": self._limits.waits_per_session},
            )
        bell = asyncio.Event()
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells:
                self._bells.pop(address, None)

    def cycle(self, blocked: Blocked, *, released: str | None = None) -> tuple[Blocked, ...]:
        """The blocked calls that lead from `blocked.on` back to `blocked.who`; empty when there is no cycle."""
        onward: dict[Address, list[Blocked]] = {}
        for edge in (*self._blocked, *chain.from_iterable(self._told.values())):
            if edge.exchange != released:
                onward.setdefault(edge.who, []).append(edge)
        path = policy.find_cycle(blocked.who, blocked.on, {who: [e.on for e in edges] for who, edges in onward.items()})
        return tuple(next(edge for edge in onward[who] if edge.on == then) for who, then in pairwise(path))

    @contextmanager
    def blocking(self, blocked: Blocked) -> Iterator[None]:
        """The call is in the graph inside the `with`."""
        self._blocked.append(blocked)
        self._changes.happened()
        try:
            yield
        finally:
            self._blocked.remove(blocked)
            self._changes.happened()

    def told(self, peer: str, stream: object, waits: Sequence[Blocked]) -> None:
        """The whole of what that node tells on a stream of who waits for whom; nothing when that is over."""
        key = (peer, id(stream))
        if self._told.get(key, ()) != tuple(waits):
            self._told = {told: edges for told, edges in self._told.items() if told != key}
            if waits:
                self._told[key] = tuple(waits)[: self._limits.waits_told]
            self._changes.happened()

    def towards(self, peer: str) -> tuple[Blocked, ...]:
        """The waits, here and told of by others, that lead to a session of that node."""
        others = (edge for (node, _), edges in self._told.items() if node != peer for edge in edges)
        return policy.waits_towards(peer, (*self._blocked, *others), self._limits.waits_told)

    async def next_wait(self, seen: int) -> int:
        """Waits until the graph has changed since `seen` (0 at first); the new count."""
        return await self._changes.after(seen)

    async def take(self, actor: Address, call: str, exchange: str | None) -> Arrival:
        """Hands the call what is unread, of one exchange or of all, up to a batch."""
        return await self._store.write(partial(self._take, actor=actor, call=call, wanted=exchange))

    def _take(self, tx: Tx, *, actor: Address, call: str, wanted: str | None) -> Arrival:
        only = None
        if wanted is not None:
            only = policy.resolve_exchange(
                wanted, tx.exchanges_of(actor, closed=True), actor, end=None, tool="read_inbox"
            ).id
        # A call that runs again after a restart of the node starts from what it had not passed on.
        tx.release(call)
        batch = tx.unread(actor, only, self._limits.inbox_batch)
        taken: list[Taken] = []
        for message in batch:
            exchange = tx.exchange_with(message)
            tx.lease(message.id, call)
            sender = label_of(tx, exchange.address(message.sender), message.author)
            to = exchange.address(message.recipient).session or ""
            paths = tuple(self._place(to, message.id, file) for file in message.files)
            taken.append(Taken(message=message, exchange=exchange, sender=sender, paths=paths))
        left = tx.unread_counts(actor)
        return Arrival(
            taken=tuple(taken),
            elsewhere=tuple((e, n) for e, n in left if e != only) if only is not None else (),
            remaining=sum(n for e, n in left if only is None or e == only),
        )

    async def wait(self, actor: Address, call: str, exchange: str | None, seconds: float) -> Arrival:
        """What arrives within `seconds`; returns early with a pointer when something arrives on another exchange."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        with self._listening(actor) as bell:
            before: dict[str, int] | None = None
            while True:
                bell.clear()
                # One look at both: what closes an exchange may be a message in it.
                counts, waited_on = await self._store.read(partial(_seen, actor=actor, exchange=exchange))
                if (exchange is None and counts) or (exchange is not None and counts.get(exchange)):
                    arrival = await self.take(actor, call, exchange)
                    if arrival.taken:
                        return arrival
                elsewhere = {e: n for e, n in counts.items() if e != exchange}
                if before is not None and any(n > before.get(e, 0) for e, n in elsewhere.items()):
                    return Arrival(elsewhere=tuple(sorted(elsewhere.items())))
                before = elsewhere
                if exchange is not None:
                    _check_open(exchange, waited_on)
                left = deadline - loop.time()
                if left <= 0:
                    return Arrival(elsewhere=tuple(sorted(elsewhere.items())), timed_out=True)
                try:
                    async with asyncio.timeout(left):
                        await bell.wait()
                except TimeoutError:
                    continue

    async def settle(self, call: str) -> None:
        """The client has the call's answer: what it took is read, for good unless the client says otherwise later."""
        rung = await self._store.write(partial(self._settle, call=call))
        self.ring(rung)

    def _settle(self, tx: Tx, *, call: str) -> tuple[Address, ...]:
        record = tx.call(call)
        session = tx.session(record.session) if record is not None else None
        if session is not None and session.status is SessionStatus.ENDED:
            # Its shim outlived the agent by a moment and took what no model will be shown.
            return self._give_back(tx, call=call)
        if record is not None and record.state != "abandoned":
            tx.set_call(call, "settled")
        changed: list[Address] = []
        for message in tx.leased(call):
            exchange = tx.exchange_with(message)
            tx.mark_read(message.id, self._ledger.now_us())
            self._ledger.outcome(tx, exchange, message, RowDecision.READ)
            if message.kind in OPENINGS:
                exchange = self._begin(tx, exchange)
            changed += [exchange.opener, exchange.worker]
        return tuple(dict.fromkeys(changed))

    def _begin(self, tx: Tx, exchange: Exchange) -> Exchange:
        if exchange.status is not Status.STARTING:
            return exchange
        begun = delegation.step(exchange, delegation.Began()).exchange
        tx.put_exchange(begun)
        return begun

    async def give_back(self, call: str) -> None:
        """The client gave the call up: all it took is unread again, and will be noticed again."""
        rung = await self._store.write(partial(self._give_back, call=call))
        self.ring(rung)

    def _give_back(self, tx: Tx, *, call: str) -> tuple[Address, ...]:
        record = tx.call(call)
        if record is not None:
            tx.set_call(call, "abandoned")
        return tuple(dict.fromkeys(address for _, address in self._ledger.give_back(tx, call)))


def _seen(reader: Reader, *, actor: Address, exchange: str | None) -> tuple[dict[str, int], Exchange | None]:
    """What is unread for `actor`, by exchange, and the exchange that it waits on."""
    return dict(reader.unread_counts(actor)), reader.exchange(exchange) if exchange is not None else None


def _check_open(exchange_id: str, exchange: Exchange | None) -> None:
    if exchange is None or exchange.status.closed:
        words = exchange.status.words if exchange else "gone"
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"Exchange {short(exchange_id)} is {words}: nothing more will arrive in it. Call list_delegations to "
            "see what is open.",
            {"exchange": exchange_id},
        )
