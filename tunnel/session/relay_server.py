"""The server's end of a mirror's long stream: takes forwards, gives what happens in the client's exchanges."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant, Peer
from node.core.model import Status
from node.core.relay import PROTOCOL, Forward, ForwardResult, Item, News, RemoteSession
from node.core.row_codes import RowReason
from node.grpc_setup import grpc
from node.ports_mesh import Pins
from node.ports_relay import Ingress, RemoteWaits
from node.rpc_gate import REASON, Caller, Gate, Send
from tunnel import codec_relay as codec
from tunnel.session.alongside import alongside
from tunnel.wire.v1 import mirror_pb2 as pb

METHOD: Final = "/tunnel.wire.v1.MirrorService/Relay"
_TICK_S: Final = 1.0
# Frames that are read while the one before is being written down: as many as a client has on their way.
_AHEAD: Final = 2
_NOTHING: Final = News(items=(), standing={})


@dataclass(slots=True, kw_only=True)
class _Stream:
    """One mirror at work. `results` are yet to be sent, each with its exchange.

    `unheld` are the items that were sent and that the client does not hold yet. `read` are forwards, by their frames,
    that are yet to be taken. `look`: there may be items that were not sent yet.
    """

    peer: Peer
    send: Send
    read: asyncio.Queue[tuple[Forward, ...]] = field(default_factory=lambda: asyncio.Queue(_AHEAD))
    news: asyncio.Event = field(default_factory=asyncio.Event)
    room: asyncio.Event = field(default_factory=asyncio.Event)
    results: deque[tuple[str, ForwardResult]] = field(default_factory=deque)
    unheld: deque[Item] = field(default_factory=deque)
    directory: tuple[RemoteSession, ...] | None = None
    beat_us: int = 0
    look: bool = True


class RelayServer:
    """Serves mirrors; each call is of one proven peer."""

    def __init__(self, *, own: str, ingress: Ingress, waits: RemoteWaits, trust: Pins, limits: Limits) -> None:
        self._own = own
        self._ingress = ingress
        self._waits = waits
        self._trust = trust
        self._limits = limits

    def handlers(self, gate: Gate) -> Mapping[str, grpc.RpcMethodHandler[Any, Any]]:
        """For the port of peers."""
        return {METHOD: gate.conversation(self._relay, "RelayRequest")}

    async def _relay(self, caller: Caller, messages: AsyncIterator[bytes], send: Send) -> None:
        seen = self._trust.generation
        self._check_granted(caller)
        first = codec.request_from(await anext(messages))
        codec.check_protocol(first.hello.protocol)
        await send(codec.response_to(pb.RelayResponse(welcome=pb.Welcome(protocol=PROTOCOL))))
        stream = _Stream(peer=caller.peer, send=send)
        try:
            await alongside(
                self._read(stream, messages),
                self._take(stream),
                self._write(stream),
                self._follow_queue(stream),
                self._follow_sessions(stream),
                self._follow_trust(caller, seen),
            )
        finally:
            self._waits.told(caller.peer.id, stream, ())

    def _check_granted(self, caller: Caller) -> None:
        known = self._trust.pinned(caller.spki)
        if known is None or Grant.REQUEST not in known.given:
            raise MeshError(
                ErrorCode.REACH,
                "This node does not let yours ask its sessions. Its person can allow it with `helio peers grant`.",
                {REASON: RowReason.NOT_GRANTED},
            )

    async def _follow_trust(self, caller: Caller, seen: int) -> None:
        while True:
            seen = await self._trust.next_change(seen)
            self._check_granted(caller)

    async def _read(self, stream: _Stream, messages: AsyncIterator[bytes]) -> None:
        async for data in messages:
            frame = codec.request_from(data)
            if frame.items_held:
                await self._held(stream, frame.items_held)
            if frame.HasField("waits"):
                self._waits.told(stream.peer.id, stream, codec.waits_from_wire(frame.waits, self._limits, self._own))
            if frame.beat_us:
                stream.beat_us = frame.beat_us
            if frame.forwards:
                await stream.read.put(codec.forwards_from_wire(frame.forwards, self._limits))
            stream.news.set()

    async def _take(self, stream: _Stream) -> None:
        """Takes what was read, frame by frame in their order: the next one is read while this one goes to the disk."""
        while True:
            forwards = await stream.read.get()
            results = await self._ingress.take(stream.peer, forwards)
            stream.results.extend(zip((one.exchange for one in forwards), results, strict=True))
            stream.news.set()
            # Whoever does not take the results of what it forwards may forward no more.
            while len(stream.results) > 2 * self._limits.relay_batch:
                stream.room.clear()
                await stream.room.wait()

    async def _held(self, stream: _Stream, number: int) -> None:
        held: list[Item] = []
        while stream.unheld and stream.unheld[0].number <= number:
            held.append(stream.unheld.popleft())
        if held:
            stream.look = True
            await self._ingress.held(held)

    async def _write(self, stream: _Stream) -> None:
        sent = 0
        while True:
            stream.news.clear()
            if stream.directory is not None:
                directory = codec.directory_to_wire(stream.directory)
                stream.directory = None
                await stream.send(codec.response_to(pb.RelayResponse(directory=directory)))
            done = [stream.results.popleft() for _ in range(min(len(stream.results), self._limits.relay_batch))]
            stream.room.set()
            asked = {exchange for exchange, result in done if result.status is not None}
            news = _NOTHING
            if stream.look or asked:
                stream.look = False
                news = await self._ingress.news(stream.peer.id, sent, asked)
            results = [_as_it_stands(result, news.standing.get(exchange)) for exchange, result in done]
            items = news.items if len(stream.unheld) < self._limits.relay_batch else ()
            beat, stream.beat_us = stream.beat_us, 0
            if not (results or items or beat):
                await stream.news.wait()
                continue
            if items:
                sent = items[-1].number
                stream.unheld.extend(items)
                # There may be more of them than go into a frame.
                stream.look = True
            frame = pb.RelayResponse(items=[codec.item_to_wire(one) for one in items], beat_us=beat)
            for result in results:
                codec.result_to_wire(result, frame.results.add())
            await stream.send(codec.response_to(frame))

    async def _follow_queue(self, stream: _Stream) -> None:
        seen = 0
        while True:
            seen = await self._ingress.next_queued(seen)
            stream.look = True
            stream.news.set()

    async def _follow_sessions(self, stream: _Stream) -> None:
        told: tuple[RemoteSession, ...] | None = None
        while True:
            now = await self._ingress.directory()
            if now != told:
                told = stream.directory = now
                stream.news.set()
            await asyncio.sleep(_TICK_S)


def _as_it_stands(result: ForwardResult, now: Status | None) -> ForwardResult:
    """A result says how the exchange stands when it is told: what was told meanwhile may be newer than the result."""
    return result if result.status in {None, now} else result._replace(status=now)
