"""Links: one outbound channel to each wanted peer, kept up. Presence is what comes in on it, nothing else.

A channel is never mended: after any trouble, and after this machine slept, a new one is made (docs/adr/0033-links.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec_mesh, errmap
from node.certificates import is_issued_for
from node.changes import Changes
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.links import LinkEnd, end_of_call, pause_s
from node.core.mesh import TLS, Greeting, Link, LinkState, NodeKey, Peer
from node.grpc_setup import aio
from node.ports import Clock, Entropy
from node.ports_mesh import PeerBook
from node.rpc_dial import Line, dial
from node.version import VERSION
from node.wire.v1 import mesh_pb2 as pb
from node.wire.v1.mesh_pb2_grpc import MeshServiceStub

# However often addresses are announced, a peer is not dialled more often.
_BREATH_S: Final = 0.2
_TICK_S: Final = 1.0
# By more than this a clock that counts through sleep runs ahead of one that does not only when there was sleep.
_ASLEEP_US: Final = 3_000_000
_SECOND_US: Final = 1_000_000

_OFF: Final = Link(state=LinkState.OFF, since_us=0, why="no link to this node is wanted")

Q = TypeVar("Q", bound=WireMessage)
R = TypeVar("R", bound=WireMessage)

_log = logging.getLogger(__name__)


class LinkKeeper:
    """The outbound channels, one for each wanted peer; works while `run` does."""

    def __init__(
        self, *, own: Sequence[NodeKey], book: PeerBook, clock: Clock, entropy: Entropy, limits: Limits
    ) -> None:
        """`own` are this node's keys, the one in use last; a peer that was away is dialled with the one it knows."""
        self._own = tuple(own)
        self._book = book
        self._clock = clock
        self._entropy = entropy
        self._limits = limits
        self._lines: dict[str, Line] = {}
        self._group: asyncio.TaskGroup | None = None
        self._changes = Changes()

    async def next_link(self, seen: int) -> int:
        """Waits until some link has changed since `seen` (0 at first); the new count."""
        return await self._changes.after(seen)

    def link(self, peer_id: str) -> Link:
        """How the link stands."""
        line = self._lines.get(peer_id)
        return line.link if line is not None else _OFF

    def wanted(self, peers: Sequence[Peer]) -> None:
        """Keep a link to each of these and to nobody else; a peer with a new key or certificate is dialled anew."""
        keep = {peer.id: peer for peer in peers}
        for peer_id in self._lines.keys() - keep.keys():
            self._drop(peer_id)
        for peer in keep.values():
            line = self._lines.get(peer.id)
            hints = line.hints if line is not None else ()
            if line is not None and (line.peer.spki, line.peer.certificate) != (peer.spki, peer.certificate):
                self._drop(peer.id)
                line = None
            if line is None:
                line = Line(peer=peer, link=replace(_OFF, since_us=self._clock.wall_us()), hints=hints)
                self._lines[peer.id] = line
                self._start(line)
                continue
            moved = line.peer.addresses != peer.addresses
            line.peer = peer
            if moved:
                line.kicked.set()

    def hint(self, peer_id: str, addresses: Sequence[str]) -> None:
        """Addresses seen on the network, to be tried before the ones on record."""
        line = self._lines.get(peer_id)
        fresh = tuple(dict.fromkeys(addresses))[: self._limits.peer_addresses]
        if line is not None and line.hints != fresh:
            line.hints = fresh
            line.kicked.set()

    def channel(self, peer_id: str) -> aio.Channel:
        """The channel of a link that is up, good for as long as the link; UNAVAILABLE says why there is none."""
        line = self._lines.get(peer_id)
        if line is None or line.channel is None:
            raise self._not_connected(peer_id)
        return line.channel

    @asynccontextmanager
    async def extra_channel(self, peer_id: str) -> AsyncIterator[aio.Channel]:
        """A second channel beside a link that is up, for what would keep others waiting on the first.

        Its block ends with UNAVAILABLE when the link does, and at once when there is none.
        """
        line = self._lines.get(peer_id)
        if line is None or line.channel is None:
            raise self._not_connected(peer_id)
        channel = self._dial(line, line.link.address)
        scope = asyncio.timeout(None)
        try:
            async with scope:
                line.extras.add(scope)
                try:
                    yield channel
                finally:
                    line.extras.discard(scope)
                    await channel.close()
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise self._not_connected(peer_id) from error

    def _not_connected(self, peer_id: str) -> MeshError:
        link = self.link(peer_id)
        return MeshError(
            ErrorCode.UNAVAILABLE,
            f"The other node is not connected ({link.state.value}: {link.why or 'being dialled'}). Nothing was "
            "done; `helio peers` shows the links.",
        )

    def awake(self) -> None:
        """This machine slept: the other ends may have given its connections up, so every link is made anew."""
        self._anew("this machine slept")

    async def run(self) -> None:
        """Keeps the links until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for line in self._lines.values():
                    self._start(line)
                await self._watch_clocks()
        finally:
            self._group = None
            for line in self._lines.values():
                line.task = None
                self._stand(line, LinkState.OFF, why="this node is stopping")

    def _start(self, line: Line) -> None:
        if self._group is not None:
            line.task = self._group.create_task(self._keep(line))

    def _drop(self, peer_id: str) -> None:
        line = self._lines.pop(peer_id)
        if line.task is not None:
            line.task.cancel()

    def _anew(self, why: str) -> None:
        for line in self._lines.values():
            line.kicked.set()
            # One that has run out is about to be replaced as it is.
            if line.scope is not None and not line.scope.expired():
                line.anew = why
                line.scope.reschedule(asyncio.get_running_loop().time())

    async def _watch_clocks(self) -> None:
        before = self._readings()
        while True:
            await asyncio.sleep(_TICK_S)
            now = self._readings()
            since_boot, wall, awake = (b - a for a, b in zip(before, now, strict=True))
            # A machine that was frozen from outside may not count that as time since boot.
            if max(since_boot, wall) - awake > _ASLEEP_US:
                _log.info("this machine slept: the links are made anew")
                self.awake()
            before = now

    def _readings(self) -> tuple[int, int, int]:
        awake_us = int(asyncio.get_running_loop().time() * _SECOND_US)
        return self._clock.boottime_us(), self._clock.wall_us(), awake_us

    async def _keep(self, line: Line) -> None:
        now = asyncio.get_running_loop().time
        attempt, good = 0, now()
        while True:
            line.kicked.clear()
            end = await self._round(line)
            if end.was_up:
                attempt, good = 0, now()
            self._stand(line, LinkState.REFUSED if end.refused else LinkState.DOWN, why=end.why)
            pause = pause_s(
                refused=end.refused,
                attempt=attempt,
                away_s=now() - good,
                cap_s=float(self._limits.link_retry_s),
                fraction=int.from_bytes(self._entropy(4), "big") / 2**32,
            )
            attempt += 1
            begin = now()
            try:
                async with asyncio.timeout(pause):
                    await line.kicked.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(max(0.0, begin + _BREATH_S - now()))

    async def _round(self, line: Line) -> LinkEnd:
        """Tries each address in turn until one is up; returns when that is over, or when all have failed."""
        ends: list[LinkEnd] = []
        most = 2 * self._limits.peer_addresses
        for address in tuple(dict.fromkeys((*line.hints, *line.peer.addresses)))[:most]:
            end = await self._connect(line, address)
            if end.was_up:
                return end
            ends.append(end)
        if not ends:
            return LinkEnd(why="no address of this node is known; it has to be on the same network, or give one")
        told = next((end for end in ends if end.refused), ends[0])
        return told if len(ends) == 1 else replace(told, why=f"{told.why}; {len(ends)} addresses were tried")

    async def _connect(self, line: Line, address: str) -> LinkEnd:
        """Dials with the key that the peer holds; refused, with later ones: its answer to those may have been lost."""
        line.key = self._held(line.peer)
        while (end := await self._show(line, address)).refused and not end.was_up and line.key < len(self._own) - 1:
            line.key += 1
        return end

    async def _show(self, line: Line, address: str) -> LinkEnd:
        """Dials with the certificate that the peer made for the key, if any; refused, with the self-signed one."""
        own = self._own[line.key].certificate
        if is_issued_for(own, line.peer.issued):
            line.shown = line.peer.issued
            end = await self._try(line, address)
            if end.was_up or not end.refused:
                return end
        line.shown = own
        return await self._try(line, address)

    async def _try(self, line: Line, address: str) -> LinkEnd:
        try:
            channel = self._dial(line, address)
        except MeshError as error:
            return LinkEnd(why=error.message)
        if line.link.state is LinkState.OFF:
            self._stand(line, LinkState.CONNECTING)
        scope = asyncio.timeout(self._limits.link_dial_s)
        try:
            async with scope:
                line.scope, line.anew = scope, ""
                await self._hold(line, address, channel, scope)
        except TimeoutError:
            if not scope.expired():
                raise
            end = self._overdue(line, address)
        except aio.AioRpcError as error:
            sent = errmap.carried(error)
            reason = sent.details.get("reason") if sent is not None else None
            end = end_of_call(
                status=error.code().name,
                text=error.details() or "",
                reason=reason if isinstance(reason, str) else None,
                address=address,
                was_up=line.channel is not None,
            )
        except MeshError as error:
            refused = error.code is ErrorCode.UNAUTHENTICATED
            end = LinkEnd(why=error.message, refused=refused, was_up=line.channel is not None)
        else:
            end = LinkEnd(why="the other node ended the link", was_up=True)
        finally:
            line.scope = line.channel = None
            # Taken out here: a scope which is about to expire takes no other time.
            extras, line.extras = line.extras, set()
            for extra in extras:
                extra.reschedule(asyncio.get_running_loop().time())
            await channel.close()
        return end

    def _held(self, peer: Peer) -> int:
        """Which key of this node's the peer holds."""
        newest = len(self._own) - 1
        return next((i for i, key in enumerate(self._own) if key.fingerprint == peer.holds), newest)

    async def _hand_on(self, line: Line, rekey: aio.UnaryUnaryMultiCallable[pb.RekeyRequest, pb.RekeyResponse]) -> bool:
        """Tells a peer that knows an older key of this node's of the next one; True when it has to be dialled anew."""
        index, newest = line.key, len(self._own) - 1
        if index == newest:
            if line.peer.holds and line.peer.holds != self._own[newest].fingerprint:
                line.peer = await self._book.told(line.peer.id, self._own[newest].certificate)
            return False
        step = self._own[index + 1].step
        if step is None:
            raise MeshError(ErrorCode.TAMPERED, "a former key of this node has not signed for the next one")
        await self._ask(rekey, codec_mesh.new_key_to_wire(step), float(self._limits.mesh_call_s))
        line.peer = await self._book.told(line.peer.id, self._own[index + 1].certificate)
        return True

    async def _take(self, line: Line, issued: str) -> bool:
        """Keeps what the peer made for this node's key; True when it is to be shown, which the peer waits for."""
        own = self._own[line.key].certificate
        if issued and not is_issued_for(own, issued):
            _log.warning("a peer issued a certificate that is not for this node's key; it is not used")
            return False
        refused = line.shown == own and is_issued_for(own, line.peer.issued)
        if issued or refused:
            line.peer = replace(line.peer, issued=issued)
            await self._recorded(self._book.issued(line.peer.id, issued))
        # After a refusal the next one waits until the link is made again: a peer may refuse them all.
        return bool(issued) and line.shown == own and not refused

    async def _hold(self, line: Line, address: str, channel: aio.Channel, scope: asyncio.Timeout) -> None:
        """Returns when the other end ends the link well; each beat puts the deadline of `scope` off."""
        now = asyncio.get_running_loop().time
        stub = MeshServiceStub(channel)
        # The first call has the time of the handshake in it.
        first = await self._greet(stub.Greet)
        scope.reschedule(now() + self._limits.link_dead_s)
        if await self._hand_on(line, stub.Rekey) or await self._take(line, first.issued):
            line.kicked.set()
            return
        begin = now()
        greeting = await self._greet(stub.Greet)
        rtt_us = int((now() - begin) * _SECOND_US)
        line.channel = channel
        scope.reschedule(now() + self._limits.link_dead_s)
        tls, group, got = greeting.tls, greeting.group, greeting.grants
        since_us = self._clock.wall_us()
        line.link = Link(state=LinkState.UP, since_us=since_us, address=address, rtt_us=rtt_us, tls=tls, group=group)
        await self._recorded(self._book.seen(line.peer.id, address))
        await self._recorded(self._book.granted(line.peer.id, got))
        self._changes.happened()
        call = stub.Attend(pb.AttendRequest(version=VERSION))
        try:
            async for wire in call:
                scope.reschedule(now() + self._limits.link_dead_s)
                beat = codec_mesh.beat_from_wire(wire)
                await self._recorded(self._book.seen(line.peer.id, address))
                if beat.grants != got:
                    got = beat.grants
                    await self._recorded(self._book.granted(line.peer.id, got))
        finally:
            # A call that was dropped is neither ended nor collected by the library (grpc/grpc#43462).
            call.cancel()

    async def _greet(self, greet: aio.UnaryUnaryMultiCallable[pb.GreetRequest, pb.GreetResponse]) -> Greeting:
        request = pb.GreetRequest(version=VERSION)
        greeting = codec_mesh.greeting_from_wire(await self._ask(greet, request, float(self._limits.link_dial_s)))
        # gRPC tells a client nothing of its own connection; the other end sees the same one.
        if greeting.tls != TLS:
            raise MeshError(ErrorCode.UNAUTHENTICATED, f"the connection is not secured by {TLS}")
        return greeting

    async def _ask(self, method: aio.UnaryUnaryMultiCallable[Q, R], request: Q, seconds: float) -> R:
        call = method(request, timeout=seconds)
        try:
            return await call
        finally:
            call.cancel()

    async def _recorded(self, record: Awaitable[None]) -> None:
        try:
            await record
        except MeshError as error:
            # The disk, most likely: the link is as good as before.
            _log.warning("what a peer said could not be recorded: %s", error.message)

    def _overdue(self, line: Line, address: str) -> LinkEnd:
        was_up = line.channel is not None
        if line.anew:
            return LinkEnd(why=f"{line.anew}; the link is being made anew", was_up=was_up)
        if was_up:
            return LinkEnd(why=f"no sign of life from {address} for {self._limits.link_dead_s} s", was_up=True)
        return LinkEnd(why=f"{address} does not answer")

    def _dial(self, line: Line, address: str) -> aio.Channel:
        return dial(line.peer, address, key=self._own[line.key].key, shown=line.shown, limits=self._limits)

    def _stand(self, line: Line, state: LinkState, why: str = "") -> None:
        since_us = line.link.since_us if line.link.state is state else self._clock.wall_us()
        line.link = Link(state=state, since_us=since_us, address=line.link.address, why=why)
        self._changes.happened()
