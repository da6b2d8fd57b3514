"""The client's end of a mirror's long stream: one for each server that is mirrored, made anew after any trouble."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, Protocol

from node import errmap
from node.changes import Changes
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape
from node.core.limits import Limits
from node.core.links import pause_s
from node.core.mesh import Grant
from node.core.relay import Forward, Outcome, RemoteSession
from node.grpc_setup import aio
from node.ports import Clock, Entropy
from node.ports_mesh import Pins
from node.ports_mirror import ActiveMirrors
from node.ports_relay import Carrier, Egress, FileEgress, RemoteWaits
from tunnel import codec_relay as codec
from tunnel.session.alongside import alongside, uncut
from tunnel.wire.v1 import mirror_pb2 as pb
from tunnel.wire.v1.mirror_pb2_grpc import MirrorServiceStub

_log = logging.getLogger(__name__)

# Frames on their way: while the last one is, all that comes is gathered for the next.
_IN_FLIGHT: Final = 2
_TICK_S: Final = 1.0
# However often links and grants change, a stream is not opened more often.
_BREATH_S: Final = 0.2
# More frames in a second than this nobody needs unless they answer this end's; each may be a write here.
_FRAMES_PER_S: Final = 400
_WORDS_CHARS: Final = 200
_REFUSALS: Final = frozenset({
    ErrorCode.REACH, ErrorCode.UNAUTHENTICATED, ErrorCode.LIMIT, ErrorCode.UNSUPPORTED, ErrorCode.INVALID_ARGUMENT,
})  # fmt: skip

Call = aio.StreamStreamCall[pb.RelayRequest, pb.RelayResponse]


class Channels(Protocol):
    """The channels of links that are up."""

    def channel(self, peer_id: str) -> aio.Channel:
        """Good for as long as the link; UNAVAILABLE says why there is none."""
        ...

    async def next_link(self, seen: int) -> int:
        """Waits until some link has changed since `seen` (0 at first); the new count."""
        ...


@dataclass(slots=True, kw_only=True)
class _Frame:
    """Forwards on their way: of which exchanges, and how many results are still to come."""

    exchanges: frozenset[str]
    left: int


@dataclass(slots=True, kw_only=True)
class _Stream:
    """One mirror at work, and its frames that are on their way. `again`: something is to be forwarded once more."""

    peer: str
    call: Call
    news: asyncio.Event = field(default_factory=asyncio.Event)
    frames: deque[_Frame] = field(default_factory=deque)
    cursor: int = 0
    held: int = 0
    beat_us: int = 0
    waits: bool = True
    again: bool = False
    directory: tuple[RemoteSession, ...] | None = None
    heard: float = 0.0
    second: int = 0
    count: int = 0


class RelayClients:
    """Keeps a stream to every server that is mirrored, while `run` does."""

    def __init__(
        self,
        *,
        mirrors: ActiveMirrors,
        book: Pins,
        channels: Channels,
        egress: Egress,
        files: FileEgress,
        waits: RemoteWaits,
        carrier: Carrier,
        clock: Clock,
        entropy: Entropy,
        limits: Limits,
    ) -> None:
        self._mirrors = mirrors
        self._book = book
        self._news = Changes()
        self._channels = channels
        self._egress = egress
        self._files = files
        self._waits = waits
        self._carrier = carrier
        self._clock = clock
        self._entropy = entropy
        self._limits = limits
        self._up: dict[str, str] = {}

    def why(self, peer: str) -> str:
        """Why nothing is forwarded to that server now; empty while it is."""
        return self._up.get(peer, "")

    async def run(self) -> None:
        """Until cancelled."""
        tasks: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_links())
            group.create_task(self._follow_book())
            while True:
                seen = self._mirrors.generation
                active = set(self._mirrors.active())
                for gone in tasks.keys() - active:
                    tasks.pop(gone).cancel()
                    self._up[gone] = "the mirror is paused, or was removed"
                    with contextlib.suppress(MeshError):
                        await self._egress.reachable(gone, up=False, why=self._up[gone])
                for peer in active - tasks.keys():
                    tasks[peer] = group.create_task(self._keep(peer))
                await self._mirrors.next_change(seen)

    async def _follow_links(self) -> None:
        seen = 0
        while True:
            seen = await self._channels.next_link(seen)
            self._news.happened()

    async def _follow_book(self) -> None:
        seen = self._book.generation
        while True:
            seen = await self._book.next_change(seen)
            self._news.happened()

    async def _keep(self, peer: str) -> None:
        """The stream to one server, again and again. What waits for it says since when it is not there."""
        now = asyncio.get_running_loop().time
        attempt, good = 0, now()
        while True:
            begin, news = now(), self._news.count
            why = await self._once(peer)
            if now() - begin > self._limits.link_dead_s:
                attempt, good = 0, now()
            if self._up.get(peer) != why:
                self._up[peer] = why
                # What cannot be written now is written with the next change of the queue.
                with contextlib.suppress(MeshError):
                    await self._egress.reachable(peer, up=False, why=why)
            pause = pause_s(
                refused=False,
                attempt=attempt,
                away_s=now() - good,
                cap_s=float(self._limits.link_retry_s),
                fraction=int.from_bytes(self._entropy(4), "big") / 2**32,
            )
            attempt += 1
            # Without a link there is nothing to try before there is one; with one, not at once again.
            await asyncio.sleep(_BREATH_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._news.after(news)

    async def _once(self, peer: str) -> str:
        """One stream from its beginning to its end; why it ended, in words for people."""
        known = next((one for one in self._book.peers() if one.id == peer), None)
        if known is None or Grant.REQUEST not in known.got:
            return "it does not let this node ask its sessions"
        try:
            call: Call = MirrorServiceStub(self._channels.channel(peer)).Relay()
        except MeshError as error:
            return error.message
        try:
            await self._talk(_Stream(peer=peer, call=call))
        except aio.AioRpcError as error:
            carried = errmap.carried(error)
            code = carried.code if carried is not None else errmap.code_of(error.code())
            await self._note(peer, code)
            return _meaning(code)
        except MeshError as error:
            _log.warning("the mirror of %s: %s", peer[:7], _words(error.message))
            return _words(error.message)
        except TimeoutError:
            return "it did not answer in time"
        finally:
            # A call that was dropped is neither ended nor collected by the library (grpc/grpc#43462).
            call.cancel()
        return "it ended the stream"

    async def _talk(self, stream: _Stream) -> None:
        async with asyncio.timeout(self._limits.mesh_call_s):
            await self._send(stream, codec.hello())
            first = await uncut(stream.call.read())
        if not isinstance(first, pb.RelayResponse):
            raise await self._ended(stream)
        codec.check_protocol(first.welcome.protocol)
        await self._egress.reachable(stream.peer, up=True)
        self._mirrors.let_in(stream.peer)
        self._up[stream.peer] = ""
        stream.heard = asyncio.get_running_loop().time()
        await alongside(
            self._read(stream),
            self._write(stream),
            self._follow(stream, self._egress.next_queued),
            self._follow_waits(stream),
            self._carry(stream, self._files.push_files),
            self._carry(stream, self._files.pull_files),
            self._tick(stream),
        )

    async def _ended(self, stream: _Stream) -> MeshError:
        """Why the server ended the stream, in words of this node's: those of another could reach a model."""
        code = errmap.code_of(await uncut(stream.call.code()))
        await self._note(stream.peer, code)
        return MeshError(ErrorCode.UNAVAILABLE, _meaning(code))

    async def _note(self, peer: str, code: ErrorCode) -> None:
        """What the server refuses has a row; that it cannot be reached has none."""
        if code in _REFUSALS:
            with contextlib.suppress(MeshError):
                await self._mirrors.refused(peer, code)

    # --- what comes in -----------------------------------------------------------------------------------------------

    async def _read(self, stream: _Stream) -> None:
        while True:
            frame = await uncut(stream.call.read())
            if not isinstance(frame, pb.RelayResponse):
                raise await self._ended(stream)
            self._count(stream, asked_for=bool(frame.results and stream.frames))
            if frame.results:
                await self._settle(stream, frame)
            if frame.items:
                held = await self._egress.take(stream.peer, codec.items_from_wire(frame.items, self._limits))
                stream.held = max(stream.held, held)
                stream.news.set()
            if frame.HasField("directory"):
                stream.directory = codec.directory_from_wire(frame.directory, stream.peer, self._limits)

    def _count(self, stream: _Stream, *, asked_for: bool) -> None:
        now = asyncio.get_running_loop().time()
        stream.heard = now
        if asked_for:
            # There are no more of these than frames that this end sent.
            return
        if int(now) != stream.second:
            stream.second, stream.count = int(now), 0
        stream.count += 1
        if stream.count > _FRAMES_PER_S:
            raise MeshError(ErrorCode.LIMIT, "The mirrored node sends more than it has reason to; it is asked later.")

    async def _settle(self, stream: _Stream, frame: pb.RelayResponse) -> None:
        results = codec.results_from_wire(frame.results, self._limits)
        await self._egress.settled(stream.peer, results)
        left = len(results)
        while stream.frames and left:
            taken = min(left, stream.frames[0].left)
            left -= taken
            stream.frames[0].left -= taken
            if not stream.frames[0].left:
                stream.frames.popleft()
        if any(result.outcome is Outcome.LATER for result in results):
            stream.again = True
        stream.news.set()

    # --- what goes out -----------------------------------------------------------------------------------------------

    async def _write(self, stream: _Stream) -> None:
        while True:
            stream.news.clear()
            frame = pb.RelayRequest(items_held=stream.held, beat_us=stream.beat_us)
            stream.held = stream.beat_us = 0
            if stream.waits:
                stream.waits = False
                frame.waits.CopyFrom(codec.waits_to_wire(self._waits.towards(stream.peer)))
            # Nothing goes out before what is to go again.
            if len(stream.frames) < _IN_FLIGHT and not stream.again:
                for one in await self._next(stream):
                    codec.forward_to_wire(one, frame.forwards.add())
            if frame.items_held or frame.beat_us or frame.forwards or frame.HasField("waits"):
                await self._send(stream, frame)
            else:
                await stream.news.wait()

    async def _next(self, stream: _Stream) -> Sequence[Forward]:
        """The forwards of the next frame. Of no exchange are two on their way: the first may have to go again."""
        on_their_way = {exchange for frame in stream.frames for exchange in frame.exchanges}
        waiting = await self._egress.forwards(stream.peer, stream.cursor)
        forwards = tuple(takewhile(lambda one: one.exchange not in on_their_way, waiting))
        if forwards:
            stream.cursor = forwards[-1].number
            exchanges = frozenset(one.exchange for one in forwards)
            stream.frames.append(_Frame(exchanges=exchanges, left=len(forwards)))
        return forwards

    async def _send(self, stream: _Stream, frame: pb.RelayRequest) -> None:
        try:
            await uncut(stream.call.write(frame))
        except asyncio.InvalidStateError as over:
            # gRPC's word for a call that the other end, or the line, has ended.
            raise await self._ended(stream) from over

    async def _follow(self, stream: _Stream, wait: Callable[[int], Awaitable[int]]) -> None:
        seen = 0
        while True:
            seen = await wait(seen)
            stream.news.set()

    async def _follow_waits(self, stream: _Stream) -> None:
        seen, told = 0, None
        while True:
            seen = await self._waits.next_wait(seen)
            now = self._waits.towards(stream.peer)
            if now != told:
                told, stream.waits = now, True
                stream.news.set()

    async def _carry(self, stream: _Stream, work: Callable[[str, Carrier], Awaitable[None]]) -> None:
        """Moves files beside the messages, and tries again what fails for now."""
        seen = 0
        while True:
            seen = await self._egress.next_queued(seen)
            try:
                await uncut(work(stream.peer, self._carrier))
            except MeshError as error:
                _log.info("files wait: %s", error.message)
                await asyncio.sleep(self._limits.link_beat_s)
                seen = 0

    async def _tick(self, stream: _Stream) -> None:
        """Signs of life, the newest directory, and what is to be tried again."""
        now = asyncio.get_running_loop().time
        beat = 0.0
        while True:
            if stream.directory is not None:
                directory, stream.directory = stream.directory, None
                await self._egress.directory(stream.peer, directory)
            if stream.again and not stream.frames:
                stream.again, stream.cursor = False, 0
                stream.news.set()
            if now() - beat >= self._limits.link_beat_s:
                beat = now()
                stream.beat_us = max(1, self._clock.boottime_us())
                stream.news.set()
            if now() - stream.heard > self._limits.link_dead_s:
                raise TimeoutError
            await asyncio.sleep(_TICK_S)


_MEANINGS: Final = {
    ErrorCode.REACH: "it does not let this node ask its sessions",
    ErrorCode.UNAUTHENTICATED: "it does not know this node any more",
    ErrorCode.UNSUPPORTED: "it knows no mirrors: it is of another version",
    ErrorCode.LIMIT: "it has no room for another stream of this node",
    ErrorCode.INVALID_ARGUMENT: "it did not understand this node: one of the two is of another version",
}


def _meaning(code: ErrorCode) -> str:
    return _MEANINGS.get(code, "it ended the stream")


def _words(text: str) -> str:
    """Words fit to be shown."""
    return escape(text)[:_WORDS_CHARS]
