"""Both ends of a pairing connection: a port that is open for one run, and a dialer to such a port.

TLS shows the waiter's certificate, which nobody has reason to believe yet: the run itself binds it, by the code.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import unquote

from google.protobuf.message import DecodeError

from node import certificates, codec_pairing
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.pairing_events import Unreadable
from node.core.pairing_messages import Hello, Message, fingerprint
from node.grpc_setup import aio, grpc, listening_target
from node.identity import Identity
from node.wire.v1 import pairing_pb2 as pb

_PAIR: Final = "/node.wire.v1.PairingService/Pair"
_SERVICE: Final = "node.wire.v1.PairingService"
_MESSAGE_BYTES: Final = 16_384
# Whoever connects must have shaken hands by then, or is dropped.
_HANDSHAKE_S: Final = 5
# Of those who connect and say nothing yet, the one that has waited longest makes way for the next.
_SILENT: Final = 16
_STREAMS: Final = 64
_CONNECTIONS: Final = 128
_GRACE_S: Final = 0.5
# A call lasts somewhat longer than its run, so that it is the run which says that the time is over.
_SPARE_S: Final = 5.0
_BUSY: Final = grpc.StatusCode.FAILED_PRECONDITION
# What gRPC raises when the other end has gone or the call is over.
_ENDED: Final = (grpc.RpcError, aio.BaseError, asyncio.InvalidStateError)
_Context = aio.ServicerContext[pb.PairRequest, pb.PairResponse]


class PairingNet:
    """Implements ports_mesh.PairingNet."""

    def __init__(self, me: Identity, limits: Limits, *, host: str = "") -> None:
        """`host` is the literal address to wait at, "" for all."""
        self._me = me
        self._limits = limits
        self._host = host

    @asynccontextmanager
    async def listen(self, port: int) -> AsyncIterator[_Listener]:
        """Opens a port for one run."""
        listener = _Listener(self._limits.mesh_call_s)
        server = aio.server(
            options=(
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", _MESSAGE_BYTES),
                ("grpc.max_send_message_length", _MESSAGE_BYTES),
                ("grpc.server_handshake_timeout_ms", _HANDSHAKE_S * 1_000),
                ("grpc.http2.settings_timeout", _HANDSHAKE_S * 1_000),
                ("grpc.max_connection_idle_ms", _HANDSHAKE_S * 1_000),
                ("grpc.max_concurrent_streams", 1),
                ("grpc.max_allowed_incoming_connections", _CONNECTIONS),
            ),
            maximum_concurrent_rpcs=_STREAMS,
        )
        handler = grpc.stream_stream_rpc_method_handler(listener.serve, _request, pb.PairResponse.SerializeToString)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Pair": handler}),))
        credentials = grpc.ssl_server_credentials([(self._me.key_pem, self._me.certificate.encode("ascii"))])
        try:
            listener.port = server.add_secure_port(listening_target(self._host, port), credentials)
        except RuntimeError as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"Port {port} cannot be opened for pairing at {self._host or 'any address'}: another program has it, "
                "most likely. Choose another with --port.",
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
        presented, literal = await _presented(host, port, self._limits.mesh_call_s)
        try:
            spki = certificates.spki_hash(certificates.public_key(presented))
        except MeshError as error:
            raise _no_node(host, port, error.message) from error
        channel = aio.secure_channel(
            f"{'ipv6' if literal.startswith('[') else 'ipv4'}:{literal.replace('%', '%25')}",
            grpc.ssl_channel_credentials(presented.encode("ascii")),
            options=(
                ("grpc.ssl_target_name_override", certificates.target_name(spki)),
                ("grpc.max_receive_message_length", _MESSAGE_BYTES),
                ("grpc.max_send_message_length", _MESSAGE_BYTES),
                ("grpc.enable_retries", 0),
            ),
        )
        try:
            method: aio.StreamStreamMultiCallable[pb.PairRequest, Message | Unreadable] = channel.stream_stream(
                _PAIR, request_serializer=pb.PairRequest.SerializeToString, response_deserializer=_response
            )
            call = method(timeout=seconds + _SPARE_S)
            try:
                yield _Dialed(call, literal, fingerprint(presented), self._limits.mesh_call_s)
            finally:
                # What was said last must leave before the connection goes.
                with suppress(*_ENDED, TimeoutError):
                    async with asyncio.timeout(_GRACE_S):
                        await call.done_writing()
                        await call.code()
                call.cancel()
        finally:
            await channel.close()


class _Listener:
    """Implements ports_mesh.PairingListener."""

    def __init__(self, send_s: float) -> None:
        self.port = 0
        self._send_s = send_s
        self._came: asyncio.Queue[_Accepted] = asyncio.Queue(maxsize=1)
        self._silent: deque[asyncio.Timeout] = deque()
        self._taken = False
        self._over = asyncio.Event()

    async def accept(self) -> _Accepted:
        """The first to come."""
        return await self._came.get()

    def close(self) -> None:
        """The run is over: whoever is connected is let go."""
        self._over.set()

    async def serve(self, requests: AsyncIterator[Message | Unreadable], context: _Context) -> None:
        """One stream. The first that introduces itself has the run to itself."""
        # Whoever connects and says nothing, or nothing sensible, does not take the place of somebody who does.
        first = await self._first(requests)
        if not isinstance(first, Hello) or self._taken or self._over.is_set():
            await context.abort(_BUSY, "this node pairs with another one right now")
        self._taken = True
        self._came.put_nowait(_Accepted(first, requests, context, self._send_s))
        await self._over.wait()

    async def _first(self, requests: AsyncIterator[Message | Unreadable]) -> Message | Unreadable | None:
        """The first message of a stream, None when it does not come soon."""
        if len(self._silent) >= _SILENT:
            self._silent.popleft().reschedule(asyncio.get_running_loop().time())
        patience = asyncio.timeout(_HANDSHAKE_S)
        try:
            async with patience:
                self._silent.append(patience)
                return await anext(requests)
        except (*_ENDED, TimeoutError, StopAsyncIteration):
            return None
        finally:
            with suppress(ValueError):
                self._silent.remove(patience)


class _Accepted:
    """The waiter's end of a connection. Implements ports_mesh.PairingWire."""

    presented = ""

    def __init__(
        self, first: Hello, requests: AsyncIterator[Message | Unreadable], context: _Context, send_s: float
    ) -> None:
        self._first = first
        self._requests = requests
        self._context = context
        self._send_s = send_s
        self.address = _peer_address(context.peer())

    async def messages(self) -> AsyncGenerator[Message | Unreadable, None]:
        """What the dialer says."""
        yield self._first
        try:
            async for message in self._requests:
                yield message
        except _ENDED:
            return

    async def send(self, message: Message) -> None:
        """To the dialer, who may refuse to take it."""
        try:
            async with asyncio.timeout(self._send_s):
                await self._context.write(codec_pairing.response_to_wire(message))
        except (*_ENDED, TimeoutError) as error:
            raise _gone() from error


class _Dialed:
    """The dialer's end of a connection. Implements ports_mesh.PairingWire."""

    def __init__(
        self,
        call: aio.StreamStreamCall[pb.PairRequest, Message | Unreadable],
        address: str,
        presented: str,
        send_s: float,
    ) -> None:
        self._call = call
        self._send_s = send_s
        self._heard = False
        self.address = address
        self.presented = presented

    async def messages(self) -> AsyncGenerator[Message | Unreadable, None]:
        """What the waiter says; UNAVAILABLE or WRONG_STATE says why the connection ended."""
        try:
            async for message in self._call:
                self._heard = True
                yield message
        except aio.AioRpcError as error:
            raise self._lost(error.code()) from error
        if not self._heard:
            raise self._lost(None)

    async def send(self, message: Message) -> None:
        """To the waiter, who may refuse to take it."""
        try:
            async with asyncio.timeout(self._send_s):
                await self._call.write(codec_pairing.request_to_wire(message))
        except (*_ENDED, TimeoutError) as error:
            raise self._lost(self._call_code(error)) from error

    @staticmethod
    def _call_code(error: Exception) -> grpc.StatusCode | None:
        return error.code() if isinstance(error, aio.AioRpcError) else None

    def _lost(self, code: grpc.StatusCode | None) -> MeshError:
        if self._heard:
            return _gone()
        if code is _BUSY:
            return MeshError(
                ErrorCode.WRONG_STATE,
                f"The node at {self.address} is in a pairing run with another one right now. When that was not you, "
                "end it there (Ctrl-C), and begin anew on both.",
            )
        return MeshError(
            ErrorCode.UNAVAILABLE,
            f"What answers at {self.address} does not pair now. On the other machine: helio pair. Then dial what it "
            "says.",
        )


def _request(data: bytes) -> Message | Unreadable:
    """What a dialer said, whatever it is."""
    try:
        return codec_pairing.from_wire(pb.PairRequest.FromString(data))
    except DecodeError:
        return Unreadable()


def _response(data: bytes) -> Message | Unreadable:
    """What a waiter said, whatever it is."""
    try:
        return codec_pairing.from_wire(pb.PairResponse.FromString(data))
    except DecodeError:
        return Unreadable()


def _parted(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[v6]:port"."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= 65_535:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{address[:80]!r} is no address with a port. Examples: 192.168.1.20:4355, [fd00::20]:4355; the other "
            "machine says it when it waits (helio pair).",
        )
    return host, int(port)


async def _presented(host: str, port: int, seconds: float) -> tuple[str, str]:
    """The certificate (PEM) that TLS presents there, believed by nobody, and the literal address that was reached."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLError as error:
        raise _no_node(host, port, f"TLS failed there ({error.reason or 'no reason given'}).") from error
    # ValueError is of what cannot be a host's name.
    except (OSError, TimeoutError, ValueError) as error:
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"Nobody waits for pairing at {host[:80]!r} port {port} ({str(error) or 'no answer in time'}). On the "
            "other machine: helio pair. Then dial what it says.",
        ) from error
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        literal = _literal(*writer.get_extra_info("peername"))
    finally:
        # The other end might take its time with its goodbye.
        writer.close()
        # On Python 3.11.2 a TLS transport that is closed already cannot be told to abort.
        with suppress(AttributeError):
            writer.transport.abort()
    return ssl.DER_cert_to_PEM_cert(shown or b""), literal


def _literal(host: str, port: int, _flow: int = 0, scope: int = 0) -> str:
    """A socket's name as an address to dial."""
    if ":" not in host:
        return f"{host}:{port}"
    return f"[{host}%{socket.if_indextoname(scope)}]:{port}" if scope and "%" not in host else f"[{host}]:{port}"


def _peer_address(peer: str) -> str:
    """ "ipv4:127.0.0.1:5000" as an address that can be shown."""
    return unquote(peer.removeprefix("ipv4:").removeprefix("ipv6:"))


def _no_node(host: str, port: int, why: str) -> MeshError:
    return MeshError(
        ErrorCode.INVALID_ARGUMENT,
        f"What answers at {host[:80]!r} port {port} is no node that waits for pairing: {why} Compare the address and "
        "port with what the other machine says (helio pair).",
    )


def _gone() -> MeshError:
    return MeshError(ErrorCode.UNAVAILABLE, "The other node went away in the middle of pairing. Begin anew on both.")
