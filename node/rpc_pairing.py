"""Both ends of a pairing connection: a port that is open for one run, and a dialer to such a port.

TLS shows the waiter's certificate, which nobody has reason to believe yet: the run itself binds it, by the code.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from cryptography.hazmat.primitives import serialization

from node import certificates, codec_pairing
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.pairing_events import Unreadable
from node.core.pairing_messages import Message, fingerprint
from node.grpc_setup import aio, grpc
from node.identity import Identity
from node.wire.v1 import pairing_pb2 as pb

_PAIR: Final = "/node.wire.v1.PairingService/Pair"
_SERVICE: Final = "node.wire.v1.PairingService"
_MESSAGE_BYTES: Final = 16_384
# Whoever connects must have shaken hands by then, or is dropped.
_HANDSHAKE_S: Final = 5
_CONNECTIONS: Final = 16
_GRACE_S: Final = 0.5
# Of a hostile end no more is kept than a run has messages.
_QUEUED: Final = 8


class PairingNet:
    """Implements ports_mesh.PairingNet."""

    def __init__(self, me: Identity, limits: Limits) -> None:
        self._me = me
        self._limits = limits

    @asynccontextmanager
    async def listen(self, port: int) -> AsyncIterator[_Listener]:
        """Opens a port for one run."""
        listener = _Listener()
        server = aio.server(
            options=(
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", _MESSAGE_BYTES),
                ("grpc.max_send_message_length", _MESSAGE_BYTES),
                ("grpc.server_handshake_timeout_ms", _HANDSHAKE_S * 1_000),
                ("grpc.max_concurrent_streams", 1),
            ),
            maximum_concurrent_rpcs=_CONNECTIONS,
        )
        handler = grpc.stream_stream_rpc_method_handler(
            listener.serve, pb.PairRequest.FromString, pb.PairResponse.SerializeToString
        )
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Pair": handler}),))
        key = self._me.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        credentials = grpc.ssl_server_credentials([(key, self._me.certificate.encode("ascii"))])
        try:
            listener.port = server.add_secure_port(f"[::]:{port}", credentials)
        except RuntimeError as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"Port {port} cannot be opened for pairing: another program has it, most likely. Choose another with "
                "--port, or leave that out for any free one.",
            ) from error
        await server.start()
        try:
            yield listener
        finally:
            listener.close()
            await server.stop(_GRACE_S)

    @asynccontextmanager
    async def dial(self, address: str, seconds: float) -> AsyncIterator[_Dialed]:
        """Reaches whoever waits there."""
        host, port = _parted(address)
        presented = await _presented(host, port, self._limits.mesh_call_s)
        spki = certificates.spki_hash(certificates.public_key(presented))
        target = f"ipv6:[{host.replace('%', '%25')}]:{port}" if ":" in host else f"dns:///{host}:{port}"
        channel = aio.secure_channel(
            target,
            grpc.ssl_channel_credentials(presented.encode("ascii")),
            options=(
                ("grpc.ssl_target_name_override", certificates.target_name(spki)),
                ("grpc.max_receive_message_length", _MESSAGE_BYTES),
                ("grpc.max_send_message_length", _MESSAGE_BYTES),
                ("grpc.enable_retries", 0),
            ),
        )
        try:
            method: aio.StreamStreamMultiCallable[pb.PairRequest, pb.PairResponse] = channel.stream_stream(
                _PAIR,
                request_serializer=pb.PairRequest.SerializeToString,
                response_deserializer=pb.PairResponse.FromString,
            )
            call = method(timeout=seconds)
            try:
                yield _Dialed(call, address, fingerprint(presented))
            finally:
                # What was said last must leave before the connection goes.
                with suppress(aio.AioRpcError, asyncio.InvalidStateError, TimeoutError):
                    async with asyncio.timeout(_GRACE_S):
                        await call.done_writing()
                        await call.code()
                call.cancel()
        finally:
            await channel.close()


class _Listener:
    """Implements ports_mesh.PairingListener."""

    def __init__(self) -> None:
        self.port = 0
        self._came: asyncio.Queue[_Accepted] = asyncio.Queue(maxsize=1)
        self._taken = False
        self._over = asyncio.Event()

    async def accept(self) -> _Accepted:
        """The first to come."""
        return await self._came.get()

    def close(self) -> None:
        """The run is over: whoever is connected is let go."""
        self._over.set()

    async def serve(
        self, requests: AsyncIterator[pb.PairRequest], context: aio.ServicerContext[pb.PairRequest, pb.PairResponse]
    ) -> None:
        """One stream. The first has the run to itself."""
        # Whoever connects and says nothing does not take the place of somebody who does.
        first = await _first(requests)
        if first is None or self._taken or self._over.is_set():
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "this node pairs with another one right now")
        self._taken = True
        wire = _Accepted(first, requests, context)
        self._came.put_nowait(wire)
        await self._over.wait()


class _Accepted:
    """The waiter's end of a connection. Implements ports_mesh.PairingWire."""

    presented = ""

    def __init__(
        self,
        first: pb.PairRequest,
        requests: AsyncIterator[pb.PairRequest],
        context: aio.ServicerContext[pb.PairRequest, pb.PairResponse],
    ) -> None:
        self._first = first
        self._requests = requests
        self._context = context
        self.address = _peer_address(context.peer())

    async def messages(self) -> AsyncGenerator[Message | Unreadable, None]:
        """What the dialer says."""
        yield codec_pairing.from_wire(self._first)
        try:
            async for request in self._requests:
                yield codec_pairing.from_wire(request)
        except (aio.AioRpcError, asyncio.CancelledError, grpc.RpcError):
            return

    async def send(self, message: Message) -> None:
        """To the dialer."""
        try:
            await self._context.write(codec_pairing.response_to_wire(message))
        except (aio.AioRpcError, grpc.RpcError, asyncio.InvalidStateError) as error:
            raise _gone() from error


class _Dialed:
    """The dialer's end of a connection. Implements ports_mesh.PairingWire."""

    def __init__(
        self, call: aio.StreamStreamCall[pb.PairRequest, pb.PairResponse], address: str, presented: str
    ) -> None:
        self._call = call
        self.address = address
        self.presented = presented

    async def messages(self) -> AsyncGenerator[Message | Unreadable, None]:
        """What the waiter says."""
        try:
            async for response in self._call:
                yield codec_pairing.from_wire(response)
        except aio.AioRpcError:
            return

    async def send(self, message: Message) -> None:
        """To the waiter."""
        try:
            await self._call.write(codec_pairing.request_to_wire(message))
        except (aio.AioRpcError, asyncio.InvalidStateError) as error:
            raise _gone() from error


async def _first(requests: AsyncIterator[pb.PairRequest]) -> pb.PairRequest | None:
    """The first message of a stream, None when it does not come soon."""
    try:
        async with asyncio.timeout(_HANDSHAKE_S):
            return await anext(requests)
    except (TimeoutError, StopAsyncIteration, aio.AioRpcError, grpc.RpcError):
        return None


def _parted(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[v6]:port"."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= 65_535:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{address[:80]!r} is no address with a port. Examples: 192.168.1.20:50123, [fd00::20]:50123; the other "
            "machine says it when it waits (helio pair).",
        )
    return host, int(port)


async def _presented(host: str, port: int, seconds: float) -> str:
    """The certificate (PEM) that TLS presents there, believed by nobody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError, ssl.SSLError) as error:
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"Nobody waits for pairing at {host} port {port} ({str(error) or 'no answer in time'}). On the other "
            "machine: helio pair. Then dial what it says.",
        ) from error
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
        with suppress(OSError, ssl.SSLError):
            await writer.wait_closed()
    return ssl.DER_cert_to_PEM_cert(shown or b"")


def _peer_address(peer: str) -> str:
    """ "ipv4:127.0.0.1:5000" as an address that can be shown."""
    return peer.removeprefix("ipv4:").removeprefix("ipv6:").replace("%5B", "[").replace("%5D", "]")


def _gone() -> MeshError:
    return MeshError(ErrorCode.UNAVAILABLE, "The other node went away in the middle of pairing. Begin anew on both.")
