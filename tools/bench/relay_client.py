"""The client of the relay bench: callers who hand messages to the product's stream, or to a call each.

What they hand in waits in memory, not in a database: what is measured is the way from there to the server's disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from node.changes import Changes
from node.core.errors import ErrorCode
from node.core.mesh import Grant, LinkState
from node.core.model import Blocked, MessageKind
from node.core.relay import Forward, ForwardResult, Item, Outcome, RemoteSession
from node.core.transfer import Attachment
from node.parts import SystemClock, entropy
from node.ports_relay import Carrier
from node.rpc_client import LinkKeeper
from tools.bench import file_node, own_node
from tools.bench.harness import BenchError
from tools.bench.relay_node import LIMITS, UNARY
from tunnel import codec_relay as codec
from tunnel.session.relay_client import RelayClients
from tunnel.wire.v1 import mirror_pb2 as pb

_READY_S = 30.0
_LOOK_S = 0.01
MESSAGES_PER_EXCHANGE = 16
BATCH = 64


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Messages that were handed in at once, and how many of them are still on their way."""

    left: int
    done: asyncio.Future[None]

    def settle(self, result: ForwardResult) -> None:
        if result.outcome is not Outcome.RELAYED:
            self.fail(f"The server did not take a message: {result.outcome} {result.code} {result.words}")
        self.left -= 1
        if not self.left and not self.done.done():
            self.done.set_result(None)

    def fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(BenchError(why))


class MemoryEgress:
    """A ports_relay.Egress whose queue is in memory; `relay` returns once a message is on the server's disk."""

    def __init__(self) -> None:
        self._queue: deque[Forward] = deque()
        self._waiting: dict[int, _Batch] = {}
        self._numbers = count(1)
        self._queued = Changes()
        self.up = asyncio.Event()

    def number(self) -> int:
        """The number of the next forward."""
        return next(self._numbers)

    async def relay(self, *forwards: Forward) -> None:
        """Once the server has taken all of them; BenchError unless it took each."""
        batch = _Batch(left=len(forwards), done=asyncio.get_running_loop().create_future())
        for forward in forwards:
            self._waiting[forward.number] = batch
        self._queue.extend(forwards)
        self._queued.happened()
        await batch.done

    async def forwards(self, peer: str, after: int) -> tuple[Forward, ...]:  # noqa: ARG002 - one server alone
        while self._queue and self._queue[0].number <= after:
            self._queue.popleft()
        found: list[Forward] = []
        chars = 0
        for forward in self._queue:
            if len(found) == LIMITS.relay_batch or chars >= LIMITS.relay_bytes:
                break
            found.append(forward)
            chars += len(forward.text)
        return tuple(found)

    async def settled(self, peer: str, results: Sequence[ForwardResult]) -> None:  # noqa: ARG002 - one server alone
        for result in results:
            self._waiting.pop(result.number).settle(result)

    async def take(self, peer: str, items: Sequence[Item]) -> int:  # noqa: ARG002 - one server alone
        return max((item.number for item in items), default=0)

    async def directory(self, peer: str, sessions: Sequence[RemoteSession]) -> None: ...

    async def reachable(self, peer: str, *, up: bool, why: str = "") -> None:  # noqa: ARG002 - one server alone
        if up:
            self.up.set()
            return
        for waiting in self._waiting.values():
            waiting.fail(f"The stream ended: {why}")

    async def next_queued(self, seen: int) -> int:
        return await self._queued.after(seen)


class NoFiles:
    """Implements ports_relay.FileEgress and Carrier, and RemoteWaits, for agents without files that wait for nobody."""

    async def push_files(self, peer: str, carrier: Carrier) -> None: ...

    async def pull_files(self, peer: str, carrier: Carrier) -> None: ...

    async def push(self, peer: str, message: str, attachment: Attachment) -> None:
        raise NotImplementedError(peer, message, attachment)

    async def pull(self, peer: str, message: str, attachment: Attachment) -> None:
        raise NotImplementedError(peer, message, attachment)

    def told(self, peer: str, stream: object, waits: Sequence[Blocked]) -> None: ...

    def towards(self, peer: str) -> tuple[Blocked, ...]:  # noqa: ARG002 - one server alone
        return ()

    async def next_wait(self, seen: int) -> int:
        await asyncio.Event().wait()
        return seen


class OneMirror:
    """Implements ports_mirror.ActiveMirrors for one server."""

    generation = 0

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def active(self) -> tuple[str, ...]:
        return (self._peer,)

    async def next_change(self, seen: int) -> int:
        await asyncio.Event().wait()
        return seen

    async def refused(self, peer_id: str, code: ErrorCode) -> None:
        raise AssertionError(peer_id, code)

    def let_in(self, peer_id: str) -> None:
        if peer_id != self._peer:
            raise AssertionError(peer_id)


class Callers:
    """Who hand messages in, each in exchanges of its own."""

    def __init__(self, egress: MemoryEgress, links: LinkKeeper, peer: str, workers: Sequence[str]) -> None:
        self._egress = egress
        self._links = links
        self._peer = peer
        self._workers = workers
        self._sessions: dict[int, str] = {}
        self._exchanges: dict[int, tuple[str, int]] = {}

    async def tunnel(self, caller: int) -> None:
        """One message over the stream."""
        await self._egress.relay(self._steer(caller, self._session(caller)))

    async def batch(self, caller: int) -> None:
        """BATCH messages over the stream, handed in at once."""
        session = self._session(caller)
        await self._egress.relay(*[self._steer(caller, session) for _ in range(BATCH)])

    async def full(self, caller: int) -> None:
        """One message over the stream in real exchanges: a request and then steers, until one has its length."""
        await self._egress.relay(self._real(caller))

    async def full_batch(self, caller: int) -> None:
        """BATCH of them, handed in at once; each is of an exchange of its own."""
        await self._egress.relay(*[self._real(caller * BATCH + one) for one in range(BATCH)])

    def _real(self, caller: int) -> Forward:
        exchange, messages = self._exchanges.get(caller, ("", MESSAGES_PER_EXCHANGE))
        if messages < MESSAGES_PER_EXCHANGE:
            forward = self._steer(caller, exchange)
        else:
            exchange, messages = own_node.new_id(), 0
            forward = self._steer(caller, exchange)._replace(
                kind=MessageKind.REQUEST, title="Invoices of March", chain=exchange,
                to=self._workers[caller % len(self._workers)], hops=("@asker",),
            )  # fmt: skip
        self._exchanges[caller] = (exchange, messages + 1)
        return forward

    async def unary(self, caller: int) -> None:
        """One message in a call of its own, over the same link."""
        put = self._links.channel(self._peer).unary_unary(
            UNARY, pb.Forward.SerializeToString, pb.ForwardResult.FromString
        )
        forward = pb.Forward()
        codec.forward_to_wire(self._steer(caller, self._session(caller)), forward)
        result: pb.ForwardResult = await put(forward)
        if result.outcome != Outcome.RELAYED:
            raise BenchError(f"The server did not take a message: {result.outcome}")

    def _session(self, caller: int) -> str:
        if caller not in self._sessions:
            self._sessions[caller] = own_node.new_id()
        return self._sessions[caller]

    def _steer(self, caller: int, exchange: str) -> Forward:
        return Forward(
            number=self._egress.number(), message=own_node.new_id(), exchange=exchange, kind=MessageKind.STEER,
            session=self._session(caller),
            nickname=f"asker{caller}", text=own_node.BODY,
        )  # fmt: skip


@asynccontextmanager
async def connected(folder: Path, port: int, workers: Sequence[str]) -> AsyncIterator[Callers]:
    """Callers over a link and a stream that are up."""
    peer = replace(file_node.peer_of(folder, "server", f"127.0.0.1:{port}"), got=frozenset({Grant.REQUEST}))
    book, clock, idle, egress = file_node.Known(peer), SystemClock(), NoFiles(), MemoryEgress()
    own = file_node.own_key(folder, "client")
    links = LinkKeeper(own=(own,), book=book, clock=clock, entropy=entropy, limits=LIMITS)
    links.wanted((peer,))
    clients = RelayClients(
        mirrors=OneMirror(peer.id), book=book, channels=links, egress=egress, files=idle, waits=idle, carrier=idle,
        clock=clock, entropy=entropy, limits=LIMITS,
    )  # fmt: skip
    async with asyncio.TaskGroup() as group:
        work = [group.create_task(links.run()), group.create_task(clients.run())]
        async with asyncio.timeout(_READY_S):
            while links.link(peer.id).state is not LinkState.UP:  # noqa: ASYNC110 - a link tells nobody
                await asyncio.sleep(_LOOK_S)
            await egress.up.wait()
        yield Callers(egress, links, peer.id, workers)
        for task in work:
            task.cancel()
