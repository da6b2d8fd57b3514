"""An open link as an attacker or a test holds it, and the limits that make refusals quick."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from node.core.limits import Limits
from node.grpc_setup import aio
from node.wire.v1 import mesh_pb2 as pb
from tests.forgery import ATTEND, outcome

QUICK = Limits(mesh_handshake_s=1, link_beat_s=1)
# No beat comes in time to explain what happens at once.
STILL = replace(QUICK, link_beat_s=600)
HELLO = pb.AttendRequest(version="1").SerializeToString()
UNAVAILABLE = "UNAVAILABLE"


class Stream:
    """An open Attend: its beats, and how it ends."""

    def __init__(self, channel: aio.Channel) -> None:
        self._call = channel.unary_stream(ATTEND)(HELLO)

    async def beat(self) -> pb.AttendResponse:
        async with asyncio.timeout(5):
            data = await self._call.read()
        assert isinstance(data, bytes), data
        return pb.AttendResponse.FromString(data)

    async def end(self) -> str:
        """The outcome of the call; it must come at once, that is sooner than anything else would."""
        try:
            async with asyncio.timeout(5):
                while await self._call.read() is not aio.EOF:
                    pass
        except aio.AioRpcError as error:
            return outcome(error)
        finally:
            self._call.cancel()
        return "ok"
