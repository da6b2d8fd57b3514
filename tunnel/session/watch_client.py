"""The client's end of watches: one stream to each mirrored server that somebody here looks at, shared by all who do.

All that a server sends is bounded: in size by the channel, in rate here, in number and kind by the codec, in what is
kept by the mirror. A stream that breaks a rule is ended and tried again later; what a server says of itself in errors
is never passed on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Protocol

from node import errmap
from node.core.backoff import delay
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant, Link, LinkState
from node.core.node_id import short, show
from node.core.views_mirror import MirrorEvent, MirrorView, StreamState
from node.grpc_setup import aio, grpc
from node.ports import Clock, Entropy
from node.ports_mirror import ActiveMirrors
from tunnel import codec
from tunnel.codec import Assembly, Beat, Part, WatchWish
from tunnel.mirrored_log import LogBatch
from tunnel.pace import Pace
from tunnel.session.mirrored import GapError, Mirrored, standing

METHOD: Final = "/tunnel.wire.v1.MirrorService/Watch"
# A server that has not granted it is asked again after this.
_LOOK_S: Final = 1.0
_BASE_S: Final = 0.5
_FIRST_WORDS: Final = "the server is being asked"
_MEANINGS: Final = {
    ErrorCode.REACH: (StreamState.WAITING, "the server has not granted it"),
    ErrorCode.LIMIT: (StreamState.BROKEN, "the server says that this node asks too often"),
    ErrorCode.UNSUPPORTED: (StreamState.BROKEN, "the server is of a version without mirrors, or of another protocol"),
    ErrorCode.UNAUTHENTICATED: (StreamState.CONNECTING, "the server does not know this node (unpaired there?)"),
    ErrorCode.UNAVAILABLE: (StreamState.CONNECTING, "the server is stopping, or the connection broke"),
    ErrorCode.AUDIT_UNAVAILABLE: (StreamState.BROKEN, "the server cannot write its timeline, and so shows nothing"),
}

_log = logging.getLogger(__name__)


class Channels(Protocol):
    """The links to peers."""

    def channel(self, peer_id: str) -> aio.Channel: ...
    def link(self, peer_id: str) -> Link: ...
    async def next_link(self, seen: int) -> int:
        """Waits until some link has changed since `seen` (0 at first); the new count."""
        ...


class WatchedMirrors(ActiveMirrors, Protocol):
    """Which servers are mirrored, paused ones too."""

    def views(self) -> tuple[MirrorView, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """Why a stream is over; with `again` the next one is made at once, `unlinked` when there is a link again."""

    state: StreamState
    why: str
    again: bool = False
    unlinked: bool = False


@dataclass(slots=True, kw_only=True)
class _Line:
    """One server that is looked at. `scope` is the deadline of its stream, `kicked` ends a pause.

    `unlinked` while it waits for its link.
    """

    mirrored: Mirrored
    kicked: asyncio.Event
    asked: frozenset[Grant] = frozenset()
    task: asyncio.Task[None] | None = None
    scope: asyncio.Timeout | None = None
    cut: _End | None = None
    unlinked: bool = False


class WatchClient:
    """Implements ports_mirror.MirrorWatch; works while `run` does."""

    def __init__(
        self, *, links: Channels, mirrors: WatchedMirrors, clock: Clock, entropy: Entropy, limits: Limits
    ) -> None:
        self._links = links
        self._mirrors = mirrors
        self._clock = clock
        self._entropy = entropy
        self._limits = limits
        self._lines: dict[str, _Line] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Keeps the streams until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for peer_id, line in self._lines.items():
                    line.task = group.create_task(self._keep(peer_id, line))
                group.create_task(self._follow_links())
                await self._follow_mirrors()
        finally:
            self._group = None

    async def watch(self, peer_id: str, *, panel: bool, timeline: bool, tail: int) -> AsyncGenerator[MirrorEvent, None]:
        """What that server shows, on and on; see ports_mirror.MirrorWatch."""
        if all(view.id != peer_id for view in self._mirrors.views()):
            raise MeshError(ErrorCode.NOT_FOUND, "The server is not mirrored by this node.")
        line = self._line(peer_id)
        watcher = line.mirrored.enter(panel=panel, timeline=timeline, tail=tail)
        try:
            if line.task is None and self._group is not None:
                line.task = self._group.create_task(self._keep(peer_id, line))
            elif not line.mirrored.wanted <= line.asked:
                # More is wanted than was asked for.
                self._cut(line, _End(state=StreamState.CONNECTING, why=_FIRST_WORDS, again=True))
            async with aclosing(line.mirrored.watch(watcher)) as events:
                async for event in events:
                    yield event
        finally:
            line.mirrored.leave(watcher)
            if not line.mirrored.watched:
                self._drop(peer_id, line)

    def _line(self, peer_id: str) -> _Line:
        line = self._lines.get(peer_id)
        if line is None:
            begin = standing(StreamState.CONNECTING, _FIRST_WORDS, self._clock.wall_us())
            # Shown to nobody but this machine's own watchers.
            mirrored = Mirrored(run=peer_id, limits=self._limits, standing=begin)
            line = self._lines[peer_id] = _Line(mirrored=mirrored, kicked=asyncio.Event())
        return line

    def _drop(self, peer_id: str, line: _Line) -> None:
        if self._lines.get(peer_id) is line:
            del self._lines[peer_id]
        if line.task is not None:
            line.task.cancel()

    def _cut(self, line: _Line, end: _End) -> None:
        """Ends the stream, or the pause before the next one."""
        line.kicked.set()
        # One that has run out is about to be replaced as it is.
        if line.scope is not None and not line.scope.expired():
            line.cut = end
            line.scope.reschedule(asyncio.get_running_loop().time())

    async def _follow_mirrors(self) -> None:
        seen = self._mirrors.generation
        while True:
            known, active = {view.id for view in self._mirrors.views()}, set(self._mirrors.active())
            for peer_id, line in tuple(self._lines.items()):
                if peer_id not in known:
                    line.mirrored.end()
                    self._drop(peer_id, line)
                elif (peer_id in active) is (line.mirrored.standing.state is StreamState.PAUSED):
                    self._cut(line, _End(state=StreamState.PAUSED, why="the mirror is paused", again=True))
            seen = await self._mirrors.next_change(seen)

    async def _follow_links(self) -> None:
        seen = 0
        while True:
            seen = await self._links.next_link(seen)
            for peer_id, line in self._lines.items():
                if line.unlinked and self._links.link(peer_id).state is LinkState.UP:
                    line.kicked.set()

    async def _keep(self, peer_id: str, line: _Line) -> None:
        now = asyncio.get_running_loop().time
        attempt = 0
        while True:
            line.kicked.clear()
            if peer_id not in self._mirrors.active():
                self._stand(line, StreamState.PAUSED, "the mirror is paused")
                await line.kicked.wait()
                continue
            begin = now()
            end = await self._stream(peer_id, line)
            # One that was good for a while begins anew with its patience, too.
            attempt = 0 if now() - begin > self._limits.link_dead_s else attempt + 1
            if end.again:
                continue
            if end.state is StreamState.BROKEN and line.mirrored.standing.why != end.why:
                _log.warning("the stream from mirrored server %s is ended: %s", short(show(peer_id)), end.why)
            self._stand(line, end.state, end.why)
            line.unlinked = end.unlinked
            try:
                async with asyncio.timeout(self._pause_s(end, attempt)):
                    await line.kicked.wait()
            except TimeoutError:
                continue
            finally:
                line.unlinked = False

    def _pause_s(self, end: _End, attempt: int) -> float | None:
        if end.unlinked:
            return None
        fraction = int.from_bytes(self._entropy(4), "big") / 2**32
        if end.state is StreamState.BROKEN:
            cap_s = float(self._limits.link_retry_s)
            return delay(attempt, base_s=min(_BASE_S, cap_s), cap_s=cap_s, fraction=fraction)
        return _LOOK_S * (0.5 + fraction)

    async def _stream(self, peer_id: str, line: _Line) -> _End:
        """One stream from beginning to end."""
        try:
            channel = self._links.channel(peer_id)
        except MeshError:
            link = self._links.link(peer_id)
            words = f"the link is {link.state.value}: {link.why}" if link.why else f"the link is {link.state.value}"
            return _End(state=StreamState.CONNECTING, why=words, unlinked=True)
        wanted = line.mirrored.wanted
        wish = line.mirrored.wish(wanted)
        line.asked, line.cut = wanted, None
        method: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(METHOD)
        call = method(codec.wish_to_wire(wish))
        scope = asyncio.timeout(self._limits.link_dead_s)
        try:
            async with scope:
                line.scope = scope
                await self._read(call, line, wish, scope)
        except TimeoutError:
            if not scope.expired():
                raise
            end = self._overdue(line)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # The channel was closed: that is how its calls end.
            end = _End(state=StreamState.CONNECTING, why="the link is being made anew")
        except aio.AioRpcError as error:
            end = _meaning(error)
        except GapError as gap:
            end = _End(state=StreamState.BROKEN, why=f"{gap}: it is asked for anew")
        except MeshError as error:
            end = _End(state=StreamState.BROKEN, why=error.message)
        else:
            end = _End(state=StreamState.CONNECTING, why="the server ended the stream")
        finally:
            line.scope = None
            # A call that was dropped is neither ended nor collected by the library (grpc/grpc#43462).
            call.cancel()
        return end

    def _overdue(self, line: _Line) -> _End:
        words = f"no sign of life from the server for {self._limits.link_dead_s} s"
        return line.cut or _End(state=StreamState.CONNECTING, why=words)

    async def _read(
        self, call: aio.UnaryStreamCall[bytes, bytes], line: _Line, wish: WatchWish, scope: asyncio.Timeout
    ) -> None:
        now = asyncio.get_running_loop().time
        per_s, most = self._limits.watch_frames_per_s, self._limits.watch_frame_bytes
        pace, assembly = Pace(per_s, 2 * per_s), Assembly(self._limits.panel_rows)
        async for data in call:
            scope.reschedule(now() + self._limits.link_dead_s)
            if not pace.take(now()):
                raise MeshError(
                    ErrorCode.LIMIT,
                    f"The server sends more than {per_s} frames a second, which is more than this node takes.",
                    {"limit": per_s},
                )
            if len(data) > most:
                raise MeshError(
                    ErrorCode.LIMIT,
                    f"The server sends a frame of {len(data)} bytes; this node takes {most}.",
                    {"limit": most},
                )
            self._take(line, wish, assembly, codec.frame_from_wire(data))

    def _take(self, line: _Line, wish: WatchWish, assembly: Assembly, frame: Part | LogBatch | Beat) -> None:
        mirrored = line.mirrored
        match frame:
            case Part():
                if not wish.panel:
                    raise _unasked("a panel")
                whole = assembly.add(frame)
                if whole is not None:
                    mirrored.take_panel(whole)
            case LogBatch():
                if not wish.timeline:
                    raise _unasked("a timeline")
                mirrored.take_rows(frame)
            case Beat():
                missing = sorted(line.asked - frame.grants)
                why = f"the server has not granted {' and '.join(missing)}" if missing else ""
                self._stand(line, StreamState.LIVE, why, frame.grants & line.asked)
                mirrored.take_beat(frame)

    def _stand(self, line: _Line, state: StreamState, why: str, grants: frozenset[Grant] = frozenset()) -> None:
        line.mirrored.stand(standing(state, why, self._clock.wall_us(), grants))


def _meaning(error: aio.AioRpcError) -> _End:
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and errmap.carried(error) is None:
        return _End(state=StreamState.BROKEN, why="the server sends more at once than this node takes")
    state, why = _MEANINGS.get(errmap.from_rpc(error).code, (StreamState.BROKEN, "the server failed at the call"))
    return _End(state=state, why=why)


def _unasked(what: str) -> MeshError:
    return MeshError(ErrorCode.INVALID_ARGUMENT, f"The server sends {what}, which this node did not ask for.")
