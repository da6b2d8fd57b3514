"""The client's end of a stream whose call comes to its end in unlucky moments."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import grpc
import pytest
from grpc import aio

from node import errmap
from node.core.errors import ErrorCode, MeshError
from node.core.model import MessageKind
from node.core.relay import Forward
from node.egress_files import FileEgress
from node.ports_relay import Egress
from tests.integration.mesh import INJECTION, scenario
from tests.peer_twin import ShiftedClock
from tests.tunnel_lab import Mac, MirrorsTwin, foreign_id, macs
from tests.waiting import until
from tools.bench.relay_client import MemoryEgress
from tunnel.session.alongside import alongside
from tunnel.session.relay_client import RelayClients
from tunnel.wire.v1 import mirror_pb2 as pb


def clients_of(mac: Mac, mirrors: MirrorsTwin, line: Line, egress: Egress | None = None) -> RelayClients:
    """The client's end of a Mac's mirrors, over that line."""
    heart = mac.mesh
    files = FileEgress(
        store=heart.store, egress=mac.egress, claims=mac.carrier, ledger=heart.ledger, bells=heart.bells,
        limits=heart.limits,
    )  # fmt: skip
    return RelayClients(
        mirrors=mirrors, book=mac.trust, channels=line, egress=egress or mac.egress, waits=heart.inbox, files=files,
        carrier=mac.carrier, clock=ShiftedClock(), entropy=os.urandom, limits=heart.limits,
    )  # fmt: skip


class EndedCall:
    """A call that the line ends right after the welcome; a writer hears of that before a reader does."""

    def __init__(self) -> None:
        self.written = 0
        self.welcomed = False

    async def write(self, _frame: pb.RelayRequest) -> None:
        self.written += 1
        if self.written > 1:
            raise asyncio.InvalidStateError("RPC already finished.")

    async def read(self) -> pb.RelayResponse:
        if self.welcomed:
            await asyncio.Event().wait()
        self.welcomed = True
        return pb.RelayResponse(welcome=pb.Welcome(protocol=1))

    async def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def cancel(self) -> None:
        return None


class Line:
    """A channel that gives that call, again and again."""

    def __init__(self, call: EndedCall) -> None:
        self._call = call
        self.calls = 0

    def stream_stream(self, *_method: object, **_options: object) -> Line:
        return self

    unary_stream = unary_unary = stream_stream

    def __call__(self) -> EndedCall:
        self.calls += 1
        self._call.written, self._call.welcomed = 0, False
        return self._call

    def channel(self, _peer: str) -> Line:
        return self

    async def next_link(self, seen: int) -> int:
        if seen:
            await asyncio.Event().wait()
        return 1


@scenario
async def test_a_call_that_is_over_before_it_is_read_so_is_made_anew(tmp_path: Path) -> None:
    async with macs(tmp_path, "laptop", "studio") as (laptop, studio):
        line = Line(EndedCall())
        mirrors = MirrorsTwin()
        mirrors.put(studio.id, on=True)
        clients = clients_of(laptop, mirrors, line)
        work = laptop.group.create_task(clients.run())
        await until(lambda: line.calls > 1 or work.done(), "a second call")
        assert not work.done()
        # Between two calls; each of them is well until its line ends.
        await until(lambda: clients.why(studio.id) == "it ended the stream", "why there is no stream")
        work.cancel()


class RefusedCall(EndedCall):
    """A call that the server refuses, with words of its own."""

    async def read(self) -> pb.RelayResponse:
        trailer = (errmap.TRAILER, errmap.encode(MeshError(ErrorCode.LIMIT, INJECTION)))
        raise aio.AioRpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, aio.Metadata(), aio.Metadata(trailer), INJECTION)


@scenario
async def test_why_a_stream_ended_is_told_in_this_nodes_words(tmp_path: Path) -> None:
    async with macs(tmp_path, "laptop", "studio") as (laptop, studio):
        mirrors = MirrorsTwin()
        mirrors.put(studio.id, on=True)
        clients = clients_of(laptop, mirrors, Line(RefusedCall()))
        work = laptop.group.create_task(clients.run())
        await until(lambda: clients.why(studio.id), "why there is no stream")
        assert clients.why(studio.id) == "it has no room for another stream of this node"
        work.cancel()


async def fails(error: Exception, at: asyncio.Barrier) -> None:
    async with at:
        raise error


@pytest.mark.parametrize("known", [True, False])
def test_of_several_ends_at_once_one_is_told_but_no_fault_is_hidden(*, known: bool) -> None:
    ended = MeshError(ErrorCode.UNAVAILABLE, "The link ended.")
    other = aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, aio.Metadata(), aio.Metadata()) if known else KeyError("x")

    async def play() -> None:
        at = asyncio.Barrier(2)
        await alongside(fails(ended, at), fails(other, at))

    with pytest.raises((MeshError, aio.AioRpcError) if known else ExceptionGroup):
        asyncio.run(play())


class BusyCall(EndedCall):
    """A call that answers each forward in a frame of its own, or says something unasked so many times."""

    def __init__(self, unasked: int) -> None:
        super().__init__()
        self._unasked = unasked
        self._forwards: asyncio.Queue[pb.Forward] = asyncio.Queue()

    async def write(self, frame: pb.RelayRequest) -> None:
        for forward in frame.forwards:
            self._forwards.put_nowait(forward)

    async def read(self) -> pb.RelayResponse:
        if not self.welcomed:
            return await super().read()
        if self._unasked:
            self._unasked -= 1
            return pb.RelayResponse(beat_us=1)
        forward = await self._forwards.get()
        result = pb.ForwardResult(number=forward.number, message=forward.message, outcome="relayed")
        return pb.RelayResponse(results=[result])


def forward_of(number: int) -> Forward:
    """A steer of somebody's."""
    names = {"message": foreign_id(), "exchange": foreign_id(), "session": foreign_id()}
    return Forward(number=number, kind=MessageKind.STEER, text="Go on.", **names)


@scenario
async def test_a_server_may_answer_as_often_as_it_is_asked_and_speak_unasked_less_often(tmp_path: Path) -> None:
    async with macs(tmp_path, "laptop", "studio") as (laptop, studio):
        # More than may come unasked in two seconds.
        many = 900
        mirrors = MirrorsTwin()
        mirrors.put(studio.id, on=True)
        egress = MemoryEgress()
        line = Line(BusyCall(0))
        work = laptop.group.create_task(clients_of(laptop, mirrors, line, egress).run())
        for number in range(1, many):
            await egress.relay(forward_of(number))
        assert line.calls == 1
        work.cancel()

        egress = MemoryEgress()
        clients = clients_of(laptop, mirrors, Line(BusyCall(many)), egress)
        work = laptop.group.create_task(clients.run())
        await until(lambda: "more than it has reason to" in clients.why(studio.id), "a stream that is ended")
        work.cancel()
