"""The unix socket that shims connect to: one JSON object a line, calls answered side by side, and every caller proven.

A call is open from its first line until the shim says that the client has its answer (ack) or gave it up (cancel). A
connection that ends gives back all its open calls; only a node that stops leaves answered ones for the shim to
acknowledge to the next node.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from node import mcp_words as words
from node.call_meter import Meter
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Address, Session
from node.core.prompt import PaneRef
from node.core.screen_credentials import credentials
from node.mcp_words import JsonObject
from node.platform.peercred import PeerSocket
from node.ports import Agents, Clock, Store
from node.version import SOFTWARE

LINE_VERSION: Final = 1
# What a call's line has around the line of the client.
ENVELOPE_BYTES: Final = 4_096
MOST_OPEN_CALLS: Final = 256
BACKLOG: Final = 128
ACCEPT_PAUSE_S: Final = 1.0
LINGER_S: Final = 2.0
_CALL_ID_CHARS: Final = 64
_TURNED_AWAY: Final = frozenset({ErrorCode.UNIDENTIFIED, ErrorCode.LIMIT})

log = logging.getLogger(__name__)


class Proven(Protocol):
    """A caller whose terminal is known."""

    @property
    def pane(self) -> PaneRef: ...


Prove = Callable[[PeerSocket], Awaitable[Proven]]
Identify = Callable[[], Awaitable[Address]]
Tell = Callable[[JsonObject], Awaitable[None]]
Find = Callable[[], Awaitable[Session]]
Hear = Callable[[], Awaitable[Mapping[str, object] | None]]
Refused = Callable[[ErrorCode, str | None], Awaitable[None]]
Hook = Callable[[Mapping[str, object], Find, Tell, Hear], Awaitable[None]]


class Door(Protocol):
    """Answers one request of a client."""

    async def respond(self, call_id: str, request: Mapping[str, object], identify: Identify, tell: Tell) -> JsonObject:
        """The JSON-RPC response; every refusal is one, too."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a shim may take to say hello and to read what it is sent; buffered bytes from which the node waits."""

    hello_s: float = 10.0
    write_s: float = 20.0
    buffer_bytes: int = 65_536


class AgentSocket:
    """Listens at `path` for shims until cancelled."""

    def __init__(
        self,
        *,
        path: Path,
        node_id: str,
        limits: Limits,
        clock: Clock,
        store: Store,
        agents: Agents,
        door: Door,
        prove: Prove,
        hook: Hook | None = None,
        pace: Pace | None = None,
        refused: Refused | None = None,
    ) -> None:
        """`refused` hears why a call was turned away, and of which session if that is known."""
        self.path = path
        self.node_id = node_id
        self.limits = limits
        self.store = store
        self.agents = agents
        self.door = door
        self.prove = prove
        self.hook = hook
        self.pace = pace or Pace()
        self._clock = clock
        self._refused = refused
        self._meter = Meter(limits.calls_per_minute)
        self._connections = 0
        self._sockets = 0

    @property
    def connected(self) -> int:
        """How many shims have said hello and are still there."""
        return self._connections

    async def run(self, listening: asyncio.Event | None = None) -> None:
        """Serves until cancelled; sets `listening` once shims can connect."""
        loop = asyncio.get_running_loop()
        listener = _listen(self.path)
        try:
            if listening is not None:
                listening.set()
            async with asyncio.TaskGroup() as tasks:
                while True:
                    try:
                        sock, _ = await loop.sock_accept(listener)
                    except OSError as error:
                        # Out of file descriptors, most likely: those who wait stay in the queue meanwhile.
                        log.warning("no agent can connect just now: %s", error)
                        await asyncio.sleep(ACCEPT_PAUSE_S)
                        continue
                    tasks.create_task(self._serve(sock))
        finally:
            listener.close()
            self.path.unlink(missing_ok=True)

    async def _serve(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=sock, limit=self.limits.line_bytes + ENVELOPE_BYTES)
        connection = Connection(self, sock, reader, writer)
        self._sockets += 1
        try:
            if self._sockets > self.limits.connections:
                await connection.refuse("limit", words.too_many_connections(self.limits.connections))
            elif await connection.greet():
                self._connections += 1
                try:
                    await connection.run()
                finally:
                    self._connections -= 1
        finally:
            self._sockets -= 1
            writer.close()

    async def session(self, sock: PeerSocket) -> Session:
        """The session at the other end of `sock`; UNIDENTIFIED when none is proven."""
        proven = await self.prove(sock)
        session = await self.store.read(lambda reader: reader.session_at(proven.pane))
        if session is None:
            raise words.no_session()
        return session

    async def caller(self, sock: PeerSocket) -> Address:
        """Who makes a call over `sock`, with the call counted; UNIDENTIFIED or LIMIT."""
        session: Session | None = None
        try:
            session = await self.session(sock)
            self._meter.spend(session.id, self._clock.boottime_us())
        except MeshError as error:
            if self._refused is not None and error.code in _TURNED_AWAY:
                await self._refused(error.code, session.id if session is not None else None)
            raise
        return Address(node=self.node_id, session=session.id)


@dataclass(slots=True, kw_only=True)
class OpenCall:
    """A call that its client has neither taken the answer of nor given up."""

    task: asyncio.Task[None]
    answered: bool = False


class BadLineError(Exception):
    """A line that is not of the protocol; the connection ends."""


class Connection:
    """One shim's connection."""

    def __init__(
        self, home: AgentSocket, sock: socket.socket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._home = home
        self._sock = sock
        self._reader = reader
        self._writer = writer
        self._writer.transport.set_write_buffer_limits(high=home.pace.buffer_bytes)
        self._writing = asyncio.Lock()
        self._calls: dict[str, OpenCall] = {}
        self._tasks = asyncio.TaskGroup()

    async def greet(self) -> bool:
        """Takes the hello; False when the shim is of no use and was told why, and after a hook, which says no hello."""
        try:
            async with asyncio.timeout(self._home.pace.hello_s):
                hello = await self._line()
                if hello is not None and hello.get("t") == "hook" and self._home.hook is not None:
                    await self._home.hook(hello, lambda: self._home.session(self._sock), self._say, self._line)
                    return False
        except BadLineError as error:
            await self.refuse("invalid_argument", words.bad_line(str(error)))
            return False
        except TimeoutError:
            return False
        if hello is None:
            return False
        if hello.get("t") != "hello" or hello.get("v") != LINE_VERSION:
            await self.refuse("unsupported", words.other_version(SOFTWARE))
            return False
        client = hello.get("client")
        name = client.get("name") if isinstance(client, dict) else None
        log.info("agent client %.80r connected (%.80r)", name, hello.get("sw"))
        await self._say({"t": "welcome", "v": LINE_VERSION, "sw": SOFTWARE, "line_bytes": self._home.limits.line_bytes})
        return True

    async def run(self) -> None:
        """Serves until the shim leaves or the node stops."""
        stopping = False
        try:
            async with self._tasks:
                await self._read()
                for call in self._calls.values():
                    call.task.cancel()
        except asyncio.CancelledError:
            stopping = True
            raise
        finally:
            for call_id, call in self._calls.items():
                if not (stopping and call.answered):
                    await self._give_back(call_id)

    async def refuse(self, code: str, message: str) -> None:
        """Says why the connection ends."""
        await self._say({"t": "refused", "code": code, "message": message})
        if self._writer.is_closing():
            return
        # To close while lines of the shim are unread would reset the connection, and the reason could be lost with it.
        with contextlib.suppress(OSError, TimeoutError):
            self._writer.write_eof()
            async with asyncio.timeout(LINGER_S):
                while await self._reader.read(ENVELOPE_BYTES):
                    pass

    async def _read(self) -> None:
        try:
            while (line := await self._line()) is not None and line.get("t") != "bye":
                await self._take(line)
        except BadLineError as error:
            log.warning("a shim broke the line protocol: %s", error)
            await self.refuse("invalid_argument", words.bad_line(str(error)))

    async def _line(self) -> Mapping[str, object] | None:
        """The next object, None at the end of the connection."""
        try:
            data = await self._reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except asyncio.LimitOverrunError as error:
            raise BadLineError("a line is too long") from error
        try:
            line = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BadLineError("a line is not JSON in UTF-8") from error
        if not isinstance(line, dict):
            raise BadLineError("a line is not an object")
        return line

    async def _take(self, line: Mapping[str, object]) -> None:
        kind, call_id = line.get("t"), line.get("call")
        if not isinstance(call_id, str) or not 0 < len(call_id) <= _CALL_ID_CHARS:
            raise BadLineError("a line names no call")
        if credentials(call_id):
            # It is kept until the call is settled.
            raise BadLineError("the id of a call reads like a credential")
        if kind == "call":
            request = line.get("msg")
            if not isinstance(request, dict):
                raise BadLineError("a call has no message")
            await self._begin(call_id, request)
        elif kind == "ack":
            await self._settle(call_id)
        elif kind == "cancel":
            await self._cancel(call_id)
        else:
            raise BadLineError("a line is of no known kind")

    async def _begin(self, call_id: str, request: Mapping[str, object]) -> None:
        if call_id in self._calls:
            raise BadLineError("a call came twice")
        if len(self._calls) >= MOST_OPEN_CALLS:
            # Not refused as a call: whoever has this many without acknowledging any does not keep to the protocol.
            raise BadLineError(f"{MOST_OPEN_CALLS} calls are open")
        self._calls[call_id] = OpenCall(task=self._tasks.create_task(self._answer(call_id, request)))

    async def _answer(self, call_id: str, request: Mapping[str, object]) -> None:
        async def tell(message: JsonObject) -> None:
            await self._say({"t": "progress", "call": call_id, "msg": message})

        response = await self._home.door.respond(call_id, request, lambda: self._home.caller(self._sock), tell)
        # From here on the client may have it, whatever becomes of this connection.
        self._calls[call_id].answered = True
        await self._say({"t": "result", "call": call_id, "msg": response})

    async def _settle(self, call_id: str) -> None:
        call = self._calls.get(call_id)
        if call is not None and not call.answered:
            raise BadLineError("an answer was acknowledged that was not given")
        try:
            if call is not None or await self._is_callers(call_id):
                await asyncio.shield(self._home.agents.settle(call_id))
        except MeshError as error:
            # Not confirmed, so the shim says it again.
            log.warning("call %s could not be settled: %s", call_id, error.message)
            return
        self._calls.pop(call_id, None)
        await self._say({"t": "acked", "call": call_id, "of": "ack"})

    async def _cancel(self, call_id: str) -> None:
        call = self._calls.get(call_id)
        if call is not None:
            call.task.cancel()
            await asyncio.wait({call.task})
        if await self._give_back(call_id, own=call is not None):
            self._calls.pop(call_id, None)
            await self._say({"t": "acked", "call": call_id, "of": "cancel"})

    async def _give_back(self, call_id: str, *, own: bool = True) -> bool:
        """Whether what the call took is unread again; a failure is logged and left to the next start of the node."""
        try:
            if own or await self._is_callers(call_id):
                await asyncio.shield(self._home.agents.give_back(call_id))
        except MeshError as error:
            log.warning("call %s could not be given back: %s", call_id, error.message)
            return False
        return True

    async def _is_callers(self, call_id: str) -> bool:
        """Whether a call that is not of this connection was made by the session at its other end."""
        try:
            session = await self._home.session(self._sock)
        except MeshError as error:
            if error.code is ErrorCode.UNIDENTIFIED:
                return False
            raise
        record = await self._home.store.read(lambda reader: reader.call(call_id))
        return record is not None and record.session == session.id

    async def _say(self, line: JsonObject) -> None:
        """Writes one line and waits until the shim has room; one that does not read for too long is cut off."""
        data = json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"
        async with self._writing:
            if self._writer.is_closing():
                return
            self._writer.write(data)
            try:
                async with asyncio.timeout(self._home.pace.write_s):
                    await self._writer.drain()
            except TimeoutError:
                log.warning("a shim does not read what it is sent; its connection was closed")
                self._writer.transport.abort()
            except ConnectionError:
                self._writer.transport.abort()


def _listen(path: Path) -> socket.socket:
    """A listening socket at `path`, for this user only; one that a dead node left there is replaced."""
    if path.exists() and stat.S_ISSOCK(path.lstat().st_mode):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Its folder lets nobody else in, so there is no moment in which the mode matters.
        listener.bind(os.fspath(path))
        path.chmod(0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
