"""What every call of a peer passes: TLS 1.3, a pinned key, a limit, a deadline; and an end at once when trust ends.

The handshake lets only pinned certificates in. That is not enough: a connection outlives the trust it was made in, a
pinned certificate may have signed another, and TLS 1.2 cannot be switched off. So each call is looked at again, here.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from google.protobuf.message import Message as WireMessage

from node import errmap
from node.codec import parsed
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import TLS, Peer
from node.core.row_codes import RowReason
from node.grpc_setup import aio, grpc
from node.ports_mesh import Pins

# In the details of a refusal; a row in the timeline has the same word as its reason.
REASON: Final = "reason"
# gRPC ends a call by itself, right after it gave up on its message.
_GIVING_UP_S: Final = 0.25

_UNAUTHENTICATED: Final[Mapping[RowReason, str]] = MappingProxyType(
    {
        RowReason.STRANGER: "This node does not know the key that the call was made with. Pair the two nodes first.",
        RowReason.WRONG_TLS: f"The call did not come over {TLS}, and nothing less is taken. Use a newer TLS library.",
        RowReason.REVOKED: (
            "This node's person has ended the pairing, or the key has been replaced. Pair the two nodes again."
        ),
    }
)

# By the full names of their methods: "/package.Service/Method".
Handlers: TypeAlias = "Mapping[str, grpc.RpcMethodHandler[Any, Any]]"

Q = TypeVar("Q", bound=WireMessage)
R = TypeVar("R", bound=WireMessage)

Send = Callable[[bytes], Awaitable[None]]
"""Sends one message to the other end of a call."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A peer that is proven, and how: its key's hash, where it calls from, and the connection's TLS.

    `presented` is the certificate (PEM) of that key that it showed.
    """

    peer: Peer
    spki: str
    address: str
    tls: str
    group: str
    presented: str


class Gate:
    """Makes handlers for calls between nodes, and ends the calls of those who are trusted no longer.

    `spoke` hears of the address of every call, before anything is decided about it.
    """

    def __init__(self, *, trust: Pins, limits: Limits, spoke: Callable[[str], None]) -> None:
        self._trust = trust
        self._limits = limits
        self._spoke = spoke
        self._open: dict[str, set[asyncio.Timeout]] = {}
        self._closed = False
        self._seconds = float(limits.mesh_handshake_s + limits.mesh_call_s)

    def close(self) -> None:
        """Ends all calls; those to come end at once."""
        self._closed = True
        for spki in tuple(self._open):
            self._end(spki)

    def enforce(self) -> None:
        """Ends the calls of everybody who is no longer pinned."""
        for spki in tuple(self._open):
            if self._trust.pinned(spki) is None:
                self._end(spki)

    def unary(self, answer: Callable[[Caller, Q], Awaitable[R]], request: type[Q]) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a call with one answer, which has limits.mesh_call_s once the message is there."""

        async def work(context: aio.ServicerContext[bytes, bytes]) -> None:
            async with self._admitted(context) as caller:
                given = parsed(await self._message(context, caller), request)
                reply = await answer(caller, given)
            await context.write(reply.SerializeToString())

        return self._handler(request.DESCRIPTOR.name, work, self._seconds)

    def stream(
        self, answers: Callable[[Caller, Q], AsyncGenerator[R | bytes, None]], request: type[Q]
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a call with many answers, which may go on for as long as the peer is trusted.

        What it yields as bytes goes out as it is.
        """

        async def work(context: aio.ServicerContext[bytes, bytes]) -> None:
            async with self._admitted(context) as caller:
                given = parsed(await self._message(context, caller), request)
                # Else it goes out with the first item, and a call that is ended in that moment cannot be ended well.
                await context.send_initial_metadata(())
                async with aclosing(answers(caller, given)) as stream:
                    async for item in stream:
                        await self._send(context, caller, item)

        return self._handler(request.DESCRIPTOR.name, work, None)

    def duplex(
        self, answers: Callable[[Caller, AsyncIterator[bytes]], AsyncGenerator[WireMessage | bytes, None]], name: str
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a call with many messages both ways, as bytes; the first has to come soon.

        What the handler yields as bytes goes out as it is: it was serialised before, or is a file's.
        """

        async def work(context: aio.ServicerContext[bytes, bytes]) -> None:
            async with self._admitted(context) as caller:
                first = await self._message(context, caller)
                await context.send_initial_metadata(())
                async with aclosing(answers(caller, _messages(first, context))) as stream:
                    async for item in stream:
                        await self._send(context, caller, item)

        return self._handler(name, work, None)

    def conversation(
        self,
        talk: Callable[[Caller, AsyncIterator[bytes], Send], Awaitable[None]],
        name: str,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a call in which both ends speak when they like: messages come in, and `send` sends one.

        The first message has to come soon; the call is over when the handler returns.
        """

        async def work(context: aio.ServicerContext[bytes, bytes]) -> None:
            async with self._admitted(context) as caller:
                first = await self._message(context, caller)
                await context.send_initial_metadata(())
                await talk(caller, _messages(first, context), lambda item: self._send(context, caller, item))

        return self._handler(name, work, None)

    def unknown(self) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a method that there is not."""

        async def work(context: aio.ServicerContext[bytes, bytes]) -> None:
            async with self._admitted(context):
                raise MeshError(
                    ErrorCode.UNSUPPORTED,
                    "This node has no such call: the other one is newer. Update heliograph here.",
                )

        return self._handler("unknown method", work, self._seconds)

    def _handler(
        self, what: str, work: Callable[[aio.ServicerContext[bytes, bytes]], Awaitable[None]], seconds: float | None
    ) -> grpc.RpcMethodHandler[Any, Any]:
        async def handle(_messages: AsyncIterator[bytes], context: aio.ServicerContext[bytes, bytes]) -> None:
            await errmap.answer(context, what, partial(work, context), seconds)

        # gRPC would read and keep the message of a unary call before anybody is asked whether it is welcome. On the
        # wire the two are the same.
        return grpc.stream_stream_rpc_method_handler(handle, None, None)

    @asynccontextmanager
    async def _admitted(self, context: aio.ServicerContext[bytes, bytes]) -> AsyncIterator[Caller]:
        """Lets a call in for as long as its peer is trusted; a malformed one is noted on its way out."""
        address = address_of(context.peer())
        self._spoke(address)
        auth = context.auth_context()
        presented = _first(auth, "x509_pem_cert")
        spki = presented_spki(presented)
        tls = _first(auth, "ssl_tls_version").decode("ascii", "replace")
        peer = self._trust.pinned(spki)
        if tls != TLS:
            raise await self._refusal(RowReason.WRONG_TLS, spki, address)
        if peer is None:
            raise await self._refusal(RowReason.STRANGER, spki, address)
        scopes = self._open.setdefault(spki, set())
        if len(scopes) >= self._limits.mesh_calls_per_peer:
            raise await self._refusal(RowReason.TOO_MANY, spki, address)
        group = _first(auth, "ssl_negotiated_key_exchange_group").decode("ascii", "replace")
        shown = presented.decode("ascii", "replace")
        caller = Caller(peer=peer, spki=spki, address=address, tls=tls, group=group, presented=shown)
        scope = asyncio.timeout(0 if self._closed else None)
        try:
            async with scope:
                scopes.add(scope)
                try:
                    yield caller
                finally:
                    self._forget(spki, scope)
        except TimeoutError:
            if not scope.expired():
                raise
            raise await self._over(caller) from None
        except MeshError as error:
            said = error.details.get(REASON)
            if said == RowReason.NOT_GRANTED or said == RowReason.TOO_OFTEN:
                await self.note(RowReason(said), spki, address)
            elif error.code is ErrorCode.INVALID_ARGUMENT:
                await self.note(RowReason.MALFORMED, spki, address)
            raise

    async def _message(self, context: aio.ServicerContext[bytes, bytes], caller: Caller) -> bytes:
        """The one message of a call, which has to come within limits.mesh_handshake_s."""
        seconds = self._limits.mesh_handshake_s
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                data: object = await context.read()
        except TimeoutError as error:
            if not scope.expired():
                raise
            await self.note(RowReason.SILENT, caller.spki, caller.address)
            text = f"The call's message did not come within {seconds} s. Nothing was done."
            raise MeshError(ErrorCode.UNAVAILABLE, text, {REASON: RowReason.SILENT}) from error
        if isinstance(data, bytes):
            return data
        try:
            await asyncio.sleep(_GIVING_UP_S)
        except asyncio.CancelledError:
            await self.note(RowReason.OVERSIZED, caller.spki, caller.address)
            raise
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "The call came without a message. Nothing was done.")

    async def _send(
        self, context: aio.ServicerContext[bytes, bytes], caller: Caller, item: WireMessage | bytes
    ) -> None:
        """One answer, which the peer has to take within limits.mesh_idle_s."""
        seconds = self._limits.mesh_idle_s
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                await context.write(item if isinstance(item, bytes) else item.SerializeToString())
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise await self.idle(
                caller, RowReason.UNREAD, f"Nothing of the answer was taken for {seconds} s."
            ) from error

    async def idle(self, caller: Caller, reason: RowReason, what: str) -> MeshError:
        """The end of a call on which nothing moves, written down."""
        await self.note(reason, caller.spki, caller.address)
        return MeshError(ErrorCode.UNAVAILABLE, f"{what} The call was ended; begin it again.", {REASON: reason})

    def _end(self, spki: str) -> None:
        now = asyncio.get_running_loop().time()
        # Taken out here: a scope which is about to expire takes no other time.
        for scope in self._open.pop(spki, ()):
            scope.reschedule(now)

    def _forget(self, spki: str, scope: asyncio.Timeout) -> None:
        scopes = self._open.get(spki, set())
        scopes.discard(scope)
        if not scopes:
            self._open.pop(spki, None)

    async def _over(self, caller: Caller) -> MeshError:
        if self._closed:
            return MeshError(ErrorCode.UNAVAILABLE, "The node is stopping and ended the call. Try again later.")
        return await self._refusal(RowReason.REVOKED, caller.spki, caller.address)

    async def _refusal(self, reason: RowReason, spki: str, address: str) -> MeshError:
        await self.note(reason, spki, address)
        if reason in _UNAUTHENTICATED:
            return MeshError(ErrorCode.UNAUTHENTICATED, _UNAUTHENTICATED[reason], {REASON: reason})
        most = self._limits.mesh_calls_per_peer
        return MeshError(
            ErrorCode.LIMIT,
            f"{most} calls of this peer are open, and that is the most at once. End some of them first.",
            {REASON: reason, "limit": most},
        )

    async def note(self, reason: RowReason, spki: str, address: str) -> None:
        """Has a refusal written down, as far as that can be done."""
        try:
            await self._trust.refused(reason, spki=spki, address=address)
        except MeshError as error:
            # It stays refused. Whatever cannot be logged is not let in either.
            _log.warning("the refusal of a call (%s) could not be recorded: %s", reason, error.message)


async def _messages(first: bytes, context: aio.ServicerContext[bytes, bytes]) -> AsyncIterator[bytes]:
    """The messages of a call until its client has no more."""
    yield first
    while isinstance(data := await context.read(), bytes):
        yield data


def address_of(peer: str) -> str:
    """Host and port of gRPC's word for the other end: "ipv4:192.0.2.1:5" is "192.0.2.1:5"."""
    return unquote(peer.partition(":")[2])


@lru_cache(maxsize=1_024)
def presented_spki(pem: bytes) -> str:
    """The SHA-256 (hex) of the public key in a certificate, of which nothing else is believed; "" without one."""
    try:
        key = x509.load_pem_x509_certificate(pem).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return ""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _first(auth: Mapping[str, object], name: str) -> bytes:
    """gRPC has a list of values for each name, as bytes."""
    values = auth.get(name)
    if isinstance(values, list | tuple) and values and isinstance(values[0], bytes):
        return values[0]
    return b""
