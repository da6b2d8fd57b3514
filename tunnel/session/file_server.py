"""A server node's side of the file channel: takes what its clients push, and gives them what was sent to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from node.codec import parsed
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.row_codes import RowReason
from node.core.transfer import Attachment, is_sha256
from node.ports_files import FileGround, Intake, Parcels, TransferLog
from node.rpc_gate import REASON, Caller, Gate, Handlers
from tunnel.session.file_words import OFFER, PULL, PUSH, Meter, told
from tunnel.wire.v1 import files_pb2 as pb


class FileServer:
    """Answers the calls of FileService; what a peer may do is asked anew at each call and while bytes move."""

    def __init__(self, *, gate: Gate, ground: FileGround, parcels: Parcels, log: TransferLog, limits: Limits) -> None:
        self._gate = gate
        self._ground = ground
        self._parcels = parcels
        self._log = log
        self._limits = limits

    def handlers(self) -> Handlers:
        """By the full names of their methods, for MeshServer.serve."""
        return {
            OFFER: self._gate.unary(self._offer, pb.OfferRequest),
            PUSH: self._gate.duplex(self._push, "Push"),
            PULL: self._gate.stream(self._pull, pb.PullRequest),
        }

    async def _offer(self, caller: Caller, given: pb.OfferRequest) -> pb.OfferResponse:
        self._check_granted(caller)
        async with self._told(caller.peer.id, given.sha256, given.size):
            standing = await self._parcels.offer(caller.peer.id, given.sha256, given.size)
        return pb.OfferResponse(offset=standing.offset, complete=standing.complete)

    async def _push(self, caller: Caller, messages: AsyncIterator[bytes]) -> AsyncGenerator[pb.PushResponse, None]:
        self._check_granted(caller)
        start = parsed(await anext(messages), pb.PushRequest)
        async with self._told(caller.peer.id, start.sha256, start.size):
            intake = await self._parcels.receive(caller.peer.id, start.sha256, start.size, start.offset)
        try:
            content = Attachment(name="", sha256=start.sha256, size=start.size, folder=False, entries=0)
            transfer = self._log.begin(
                message="", peer=caller.peer.id, attachment=content, done=start.offset, outgoing=False
            )
            with told(self._log, transfer):
                await self._take(caller, intake, messages, Meter(self._log, transfer, start.offset))
                async with self._told(caller.peer.id, start.sha256, start.size):
                    await intake.finish()
            await self._ground.came(caller.peer.id, content)
        finally:
            await intake.close()
        yield pb.PushResponse(size=start.size)

    @asynccontextmanager
    async def _told(self, peer: str, sha256: str, size: int) -> AsyncIterator[None]:
        """What is refused inside has a row."""
        try:
            yield
        except MeshError as error:
            if is_sha256(sha256):
                content = Attachment(name="", sha256=sha256, size=size, folder=False, entries=0)
                await self._ground.came(peer, content, error.code)
            raise

    async def _take(self, caller: Caller, intake: Intake, messages: AsyncIterator[bytes], meter: Meter) -> None:
        seconds, now = self._limits.mesh_idle_s, asyncio.get_running_loop().time
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                async for data in messages:
                    # Only the peer is waited for in vain; the disk here may take its time.
                    scope.reschedule(None)
                    await intake.write(data)
                    if meter.add(len(data)):
                        self._check_granted(caller)
                    scope.reschedule(now() + seconds)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise await self._gate.idle(caller, RowReason.SILENT, f"No bytes came for {seconds} s.") from error

    async def _pull(self, caller: Caller, given: pb.PullRequest) -> AsyncGenerator[bytes, None]:
        self._check_granted(caller)
        one = await self._ground.may_pull(caller.peer.id, given.message, given.sha256)
        if one is None or given.offset > one.size:
            raise MeshError(ErrorCode.NOT_FOUND, "There is no such file in a message to this peer. Nothing was done.")
        transfer = self._log.begin(
            message=given.message, peer=caller.peer.id, attachment=one, done=given.offset, outgoing=True
        )
        with told(self._log, transfer):
            meter = Meter(self._log, transfer, given.offset)
            async for data in self._parcels.read(one, given.offset):
                yield data
                if meter.add(len(data)):
                    self._check_granted(caller)

    def _check_granted(self, caller: Caller) -> None:
        if not self._ground.may_request(caller.peer.id):
            raise MeshError(
                ErrorCode.REACH,
                "This node has not granted `request` to the peer, or has taken it back. Ask the person here.",
                {REASON: RowReason.NOT_GRANTED},
            )
