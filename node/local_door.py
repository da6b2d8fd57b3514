"""What every call to the local API passes: a token, a deadline, one way for errors, an end when the node stops."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec, errmap
from node.core.errors import ErrorCode, MeshError
from node.grpc_setup import aio, grpc

UNARY_SECONDS: Final = 60.0

Q = TypeVar("Q", bound=WireMessage)
R = TypeVar("R", bound=WireMessage)


class Door:
    """Makes handlers for calls, and ends them."""

    def __init__(self, token: str) -> None:
        self._token = token.encode("ascii")
        self._open: set[asyncio.Timeout] = set()
        self._closed = False

    def close(self) -> None:
        """Ends the calls which could go on for long; those to come end at once."""
        self._closed = True
        now = asyncio.get_running_loop().time()
        for scope in self._open:
            scope.reschedule(now)

    def unary(
        self, answer: Callable[[Q], Awaitable[R]], request: type[Q], *, waits_s: float = 0
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a call with one answer; one that may wait `waits_s` seconds for it ends with the door."""

        async def work(data: bytes, context: aio.ServicerContext[bytes, R]) -> R:
            given = self._admitted(data, request, context)
            if not waits_s:
                return await answer(given)
            async with self._until_closed():
                return await answer(given)

        async def handle(data: bytes, context: aio.ServicerContext[bytes, R]) -> R:
            seconds = waits_s or UNARY_SECONDS
            return await errmap.answer(context, request.DESCRIPTOR.name, partial(work, data, context), seconds)

        return grpc.unary_unary_rpc_method_handler(handle, None, _serialized)

    def stream(
        self,
        answers: Callable[[Q], AsyncGenerator[R, None]],
        request: type[Q],
        *,
        follows: Callable[[Q], bool] = lambda _given: False,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a call with many answers; one that `follows` ends well when the door closes."""

        async def work(data: bytes, context: aio.ServicerContext[bytes, R]) -> None:
            given = self._admitted(data, request, context)
            scope = self._until_closed(quietly=True) if follows(given) else nullcontext()
            async with aclosing(answers(given)) as stream, scope:
                async for item in stream:
                    await context.write(item)

        async def handle(data: bytes, context: aio.ServicerContext[bytes, R]) -> None:
            await errmap.answer(context, request.DESCRIPTOR.name, partial(work, data, context))

        return grpc.unary_stream_rpc_method_handler(handle, None, _serialized)

    def _admitted(self, data: bytes, request: type[Q], context: aio.ServicerContext[bytes, R]) -> Q:
        """The request in `data`, which is not looked at before the token fits."""
        for key, value in context.invocation_metadata() or ():
            if key == codec.TOKEN_METADATA:
                given = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
                if hmac.compare_digest(given, self._token):
                    return codec.parsed(data, request)
        raise MeshError(
            ErrorCode.UNAUTHENTICATED,
            "The call did not carry the node's token: it comes from another program, or from before the node was "
            "restarted. Call again with the token that is in the node's folder now.",
        )

    @asynccontextmanager
    async def _until_closed(self, *, quietly: bool = False) -> AsyncIterator[None]:
        scope = asyncio.timeout(0 if self._closed else None)
        try:
            async with scope:
                self._open.add(scope)
                try:
                    yield
                finally:
                    self._open.discard(scope)
        except TimeoutError as error:
            if not scope.expired():
                raise
            if not quietly:
                raise MeshError(
                    ErrorCode.UNAVAILABLE,
                    "The node is stopping and ended the call. Start it with `helio up`, then retry.",
                ) from error


def _serialized(message: WireMessage) -> bytes:
    return message.SerializeToString()
