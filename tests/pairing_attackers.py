"""Who attacks a pairing run: one between the two nodes, a recorder, bytes instead of messages, ports of no nodes."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from node.codec_pairing import request_to_wire
from node.core.errors import MeshError
from node.core.pairing_events import Unreadable
from node.core.pairing_messages import Hello, Message
from node.grpc_setup import aio, grpc
from node.identity import Identity
from node.ports_mesh import PairingListener, PairingWire
from node.rpc_pairing import PairingNet
from tests.pairing_nodes import HERE, QUICK, PairingNode, new_identity

SERVICE = "node.wire.v1.PairingService"
PAIR = f"/{SERVICE}/Pair"
# What the one between makes of a message; None keeps it back.
Change = Callable[[Message], Message | None]


def as_it_is(message: Message) -> Message:
    return message


@asynccontextmanager
async def between(
    waiter: str, *, to_waiter: Change = as_it_is, to_dialer: Change = as_it_is, me: Identity | None = None
) -> AsyncIterator[str]:
    """Somebody with their own key at both ends of TLS, who passes on what they like; where the dialer comes to them."""
    net = PairingNet(me or new_identity(), QUICK, host=HERE)
    async with net.listen(0) as listener, asyncio.TaskGroup() as group:
        work = group.create_task(_relay(net, listener, waiter, to_waiter, to_dialer))
        try:
            yield f"{HERE}:{listener.port}"
        finally:
            work.cancel()


async def _relay(net: PairingNet, listener: PairingListener, waiter: str, to_waiter: Change, to_dialer: Change) -> None:
    dialer = await listener.accept()
    async with net.dial(waiter, 10) as there, asyncio.TaskGroup() as group:
        group.create_task(_pass_on(dialer, there, to_waiter))
        group.create_task(_pass_on(there, dialer, to_dialer))


async def _pass_on(source: PairingWire, sink: PairingWire, change: Change) -> None:
    try:
        async for message in source.messages():
            assert not isinstance(message, Unreadable)
            changed = change(message)
            if changed is not None:
                await sink.send(changed)
    except MeshError:
        return


@dataclass(slots=True)
class Recorder:
    """Passes bytes between a dialer and a waiter, and keeps what the dialer sent, connection by connection."""

    kept: list[bytearray] = field(default_factory=list)

    @asynccontextmanager
    async def before(self, address: str) -> AsyncIterator[str]:
        """In front of the node at that address."""
        host, _, port = address.rpartition(":")
        async with AsyncExitStack() as open_ones:

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                kept = bytearray()
                self.kept.append(kept)
                there_reader, there = await asyncio.open_connection(host, int(port))
                open_ones.callback(there.close)
                open_ones.callback(writer.close)
                async with asyncio.TaskGroup() as group:
                    group.create_task(_copy(reader, there, kept))
                    group.create_task(_copy(there_reader, writer, bytearray()))

            server = await asyncio.start_server(serve, HERE, 0)
            async with server:
                yield f"{HERE}:{server.sockets[0].getsockname()[1]}"


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray) -> None:
    try:
        while data := await reader.read(65_536):
            kept += data
            writer.write(data)
            await writer.drain()
    except OSError:
        return
    finally:
        writer.close()


class Recorded:
    """A node's net that keeps what the node says. `saying` is called with each message once it has been sent.

    What is of the kind `stalls` never leaves: the other end takes it in no more.
    """

    def __init__(
        self,
        net: PairingNet,
        saying: Callable[[Message], None] = lambda _message: None,
        stalls: type[Message] | None = None,
    ) -> None:
        self._net = net
        self._saying = saying
        self._stalls = stalls
        self.stalled = asyncio.Event()
        self.said: list[Message] = []

    @asynccontextmanager
    async def listen(self, port: int) -> AsyncIterator[RecordedListener]:
        async with self._net.listen(port) as listener:
            yield RecordedListener(self, listener)

    @asynccontextmanager
    async def dial(self, address: str, seconds: float) -> AsyncIterator[RecordedWire]:
        async with self._net.dial(address, seconds) as wire:
            yield RecordedWire(self, wire)

    def say(self, message: Message) -> None:
        self.said.append(message)
        self._saying(message)

    async def leaves(self, message: Message) -> None:
        """Returns when the message may be sent."""
        if self._stalls is not None and isinstance(message, self._stalls):
            self.stalled.set()
            await asyncio.Event().wait()


class RecordedListener:
    """Implements ports_mesh.PairingListener."""

    def __init__(self, recorded: Recorded, listener: PairingListener) -> None:
        self._recorded = recorded
        self._listener = listener
        self.port = listener.port

    async def accept(self) -> RecordedWire:
        return RecordedWire(self._recorded, await self._listener.accept())


class RecordedWire:
    """Implements ports_mesh.PairingWire."""

    def __init__(self, recorded: Recorded, wire: PairingWire) -> None:
        self._recorded = recorded
        self._wire = wire
        self.address = wire.address
        self.presented = wire.presented

    def messages(self) -> AsyncGenerator[Message | Unreadable, None]:
        return self._wire.messages()

    async def send(self, message: Message) -> None:
        await self._recorded.leaves(message)
        await self._wire.send(message)
        self._recorded.say(message)


class Stream:
    """A call of Pair whose messages are bytes."""

    def __init__(self, channel: aio.Channel) -> None:
        self._call: aio.StreamStreamCall[bytes, bytes] = channel.stream_stream(PAIR)()

    async def say(self, *messages: bytes) -> None:
        for message in messages:
            await self._call.write(message)

    async def flood(self, data: bytes) -> int:
        """Says it until the call is over; how often that was."""
        for times in count():
            try:
                await self._call.write(data)
            except (aio.AioRpcError, asyncio.InvalidStateError):
                return times
        return 0

    @property
    def over(self) -> bool:
        return self._call.done()

    async def end(self) -> str:
        """The call's status, once it is over."""
        async with asyncio.timeout(8):
            return (await self._call.code()).name

    async def hear(self) -> bytes:
        """The next answer; nothing when the call is over instead."""
        try:
            async with asyncio.timeout(8):
                data = await self._call.read()
        except aio.AioRpcError:
            return b""
        return data if isinstance(data, bytes) else b""


@asynccontextmanager
async def hostile_waiter(*says: bytes) -> AsyncIterator[str]:
    """A port that answers a dialer's first message with these bytes, and then says no more."""
    me = new_identity()

    async def pair(
        requests: AsyncIterator[bytes], _context: aio.ServicerContext[bytes, bytes]
    ) -> AsyncGenerator[bytes, None]:
        await anext(requests)
        for data in says:
            yield data
        async for _ in requests:
            pass

    server = aio.server()
    handler = grpc.stream_stream_rpc_method_handler(pair)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Pair": handler}),))
    credentials = grpc.ssl_server_credentials([(me.key_pem, me.certificate.encode("ascii"))])
    port = server.add_secure_port(f"{HERE}:0", credentials)
    await server.start()
    try:
        yield f"{HERE}:{port}"
    finally:
        await server.stop(0)


@asynccontextmanager
async def channel(node: PairingNode) -> AsyncIterator[aio.Channel]:
    """A connection of its own to the waiting node."""
    made = aio.secure_channel(
        node.address,
        grpc.ssl_channel_credentials(node.me.certificate.encode("ascii")),
        options=(
            ("grpc.ssl_target_name_override", node.me.spki[:32]),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_retries", 0),
        ),
    )
    try:
        yield made
    finally:
        await made.close()


def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    # On Python 3.11.2 a TLS transport that is closed already cannot be told to abort.
    with contextlib.suppress(AttributeError):
        writer.transport.abort()


def careless() -> ssl.SSLContext:
    """A TLS client that believes every server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def tls_server(folder: Path, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, pem: str = "") -> ssl.SSLContext:
    """A TLS server with that key and, unless `pem` is given, some certificate of it."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "printer.example")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=9))
        .sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )  # fmt: skip
    place = folder / "server.pem"
    plain = serialization.NoEncryption()
    place.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + (pem.encode("ascii") or certificate)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place)
    context.set_alpn_protocols(["h2"])
    return context


@asynccontextmanager
async def port_of(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object], context: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """A port that is no node's; everything on it is closed with the block."""
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        serve(reader, writer)

    server = await asyncio.start_server(handle, HERE, 0, ssl=context)
    try:
        yield f"{HERE}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            hang_up(writer)


def silent(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Says nothing."""


def closes(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hangs up."""
    hang_up(writer)


def says(data: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
    def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return serve


def hello(*, name: str = "stranger", certificate: str = "", opening: bytes = bytes(32), **changes: object) -> Hello:
    fields: dict[str, object] = {
        "version": 1, "certificate": certificate or new_identity().certificate, "opening": opening, "pake": b"",
        "wants": ("request",), "gives": ("request",), "name": name, "port": 4_354,
    }  # fmt: skip
    return Hello(**(fields | changes))  # type: ignore[arg-type]


def data_of(message: Message) -> bytes:
    return request_to_wire(message).SerializeToString()
