"""A client node's side of the file channel: brings content to a server and fetches it there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from node import errmap
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.transfer import Attachment
from node.grpc_setup import aio, grpc
from node.ports_files import Intake, Parcels, Standing, TransferLog
from tunnel.session.file_words import OFFER, PULL, PUSH, Meter, refused_there, told
from tunnel.wire.v1 import files_pb2 as pb

# What the other node hashes and writes in a second, at the least.
_SLOWEST: Final = 33_554_432
# How often one call begins a content anew: something else brought it further, or its part there had gone bad.
_TRIES: Final = 3

Channels = Callable[[str], AbstractAsyncContextManager[aio.Channel]]


class Carrier:
    """Implements ports_relay.Carrier. `channels` opens one beside the link to a peer."""

    def __init__(self, *, channels: Channels, parcels: Parcels, log: TransferLog, limits: Limits) -> None:
        self._channels = channels
        self._parcels = parcels
        self._log = log
        self._limits = limits
        # Two calls with the same content would take it from each other.
        self._busy: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def push(self, peer: str, message: str, attachment: Attachment) -> None:
        """Returns once the server has all of it on its disk, hash checked.

        UNAVAILABLE: try again later, it goes on where it stopped. With any other code that makes no sense.
        """
        async with self._alone(peer, attachment), self._channels(peer) as channel:
            await self._push(channel, peer, message, attachment)

    async def pull(self, peer: str, message: str, attachment: Attachment) -> None:
        """Returns once this node has all of it in its quarantine, hash checked, where it stays until it is claimed.

        Refusals as for `push`.
        """
        async with self._alone(peer, attachment), self._channels(peer) as channel:
            await self._pull(channel, peer, message, attachment)

    @asynccontextmanager
    async def _alone(self, peer: str, one: Attachment) -> AsyncIterator[None]:
        # It lives as long as somebody holds it or waits for it.
        lock = self._busy.setdefault((peer, one.sha256), asyncio.Lock())
        async with lock:
            yield

    # --- push --------------------------------------------------------------------------------------------------------

    async def _push(self, channel: aio.Channel, peer: str, message: str, one: Attachment) -> None:
        for left in reversed(range(_TRIES)):
            standing = await self._offer(channel, one)
            transfer = self._log.begin(message=message, peer=peer, attachment=one, done=standing.offset, outgoing=True)
            try:
                with told(self._log, transfer):
                    if not standing.complete:
                        await self._send(channel, one, standing.offset, Meter(self._log, transfer, standing.offset))
            except MeshError as error:
                if not _may_go_on(error, standing):
                    raise
                if not left:
                    raise _stuck(one) from error
            else:
                return

    async def _offer(self, channel: aio.Channel, one: Attachment) -> Standing:
        call = channel.unary_unary(OFFER, pb.OfferRequest.SerializeToString, pb.OfferResponse.FromString)(
            pb.OfferRequest(sha256=one.sha256, size=one.size), timeout=self._limits.mesh_call_s
        )
        try:
            answer: pb.OfferResponse = await call
        except aio.AioRpcError as error:
            raise refused_there(errmap.from_rpc(error), one.name) from error
        finally:
            call.cancel()
        if answer.offset > one.size:
            raise _odd(one)
        return Standing(offset=answer.offset, complete=answer.complete)

    async def _send(self, channel: aio.Channel, one: Attachment, offset: int, meter: Meter) -> None:
        call: aio.StreamUnaryCall[bytes, pb.PushResponse] = channel.stream_unary(
            PUSH, response_deserializer=pb.PushResponse.FromString
        )()
        now = asyncio.get_running_loop().time
        # It hashes first what it has of it.
        scope = asyncio.timeout(self._limits.mesh_idle_s + offset / _SLOWEST)
        try:
            async with scope, aclosing(self._parcels.read(one, offset)) as pieces:
                await call.write(pb.PushRequest(sha256=one.sha256, size=one.size, offset=offset).SerializeToString())
                async for data in pieces:
                    await call.write(data)
                    meter.add(len(data))
                    scope.reschedule(now() + self._limits.mesh_idle_s)
                await call.done_writing()
                scope.reschedule(now() + self._limits.mesh_idle_s + one.size / _SLOWEST)
                response: pb.PushResponse = await call
        except asyncio.InvalidStateError as error:
            # gRPC's word for a call that the other end has ended; its end says why.
            raise refused_there(await _end_of(call), one.name) from error
        except aio.AioRpcError as error:
            raise refused_there(_sent_end(error), one.name) from error
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise _stuck(one) from error
        finally:
            call.cancel()
        if response.size != one.size:
            raise _odd(one)

    # --- pull --------------------------------------------------------------------------------------------------------

    async def _pull(self, channel: aio.Channel, peer: str, message: str, one: Attachment) -> None:
        for left in reversed(range(_TRIES)):
            standing = await self._parcels.offer(peer, one.sha256, one.size)
            if standing.complete:
                return
            try:
                await self._fetch(channel, peer, message, one, standing.offset)
            except MeshError as error:
                if not _may_go_on(error, standing):
                    raise
                if not left:
                    raise _stuck(one) from error
            else:
                return

    async def _fetch(self, channel: aio.Channel, peer: str, message: str, one: Attachment, offset: int) -> None:
        intake = await self._parcels.receive(peer, one.sha256, one.size, offset)
        try:
            transfer = self._log.begin(message=message, peer=peer, attachment=one, done=offset, outgoing=False)
            with told(self._log, transfer):
                if offset < one.size:
                    request = pb.PullRequest(message=message, sha256=one.sha256, offset=offset)
                    await self._take(channel, request, one, intake, Meter(self._log, transfer, offset))
                await intake.finish()
        finally:
            await intake.close()

    async def _take(
        self, channel: aio.Channel, request: pb.PullRequest, one: Attachment, intake: Intake, meter: Meter
    ) -> None:
        call = channel.unary_stream(PULL, pb.PullRequest.SerializeToString, bytes)(request)
        seconds, now = self._limits.mesh_idle_s, asyncio.get_running_loop().time
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                while isinstance(data := await call.read(), bytes):
                    # Only the other node is waited for in vain; the disk here may take its time.
                    scope.reschedule(None)
                    await intake.write(data)
                    meter.add(len(data))
                    scope.reschedule(now() + seconds)
        except aio.AioRpcError as error:
            raise refused_there(errmap.from_rpc(error), one.name) from error
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise _stuck(one) from error
        finally:
            call.cancel()


def _may_go_on(error: MeshError, standing: Standing) -> bool:
    """Whether to begin again at once: what a part began with may be bad, but not what came in one go."""
    return error.code is ErrorCode.WRONG_STATE or (error.code is ErrorCode.TAMPERED and standing.offset > 0)


async def _end_of(call: aio.StreamUnaryCall[bytes, pb.PushResponse]) -> MeshError:
    try:
        await call
    except aio.AioRpcError as error:
        return errmap.from_rpc(error)
    return MeshError(ErrorCode.UNAVAILABLE, "The call was over before all of it was sent.")


def _sent_end(error: aio.AioRpcError) -> MeshError:
    """Why a call ended while it was written to: gRPC may lose the other end's word, which the next offer brings."""
    if error.code() is grpc.StatusCode.INTERNAL and errmap.carried(error) is None:
        return MeshError(ErrorCode.WRONG_STATE, "The call was over before all of it was sent.")
    return errmap.from_rpc(error)


def _stuck(one: Attachment) -> MeshError:
    return MeshError(ErrorCode.UNAVAILABLE, f"Nothing of {one.name} moved for a while. It goes on from there.")


def _odd(one: Attachment) -> MeshError:
    return MeshError(
        ErrorCode.INVALID_ARGUMENT, f"What the other node says of {one.name} makes no sense. Update heliograph there."
    )
