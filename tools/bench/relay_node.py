"""The server of the relay bench, in a process of its own: a node's port, its relay, and what takes the messages there.

    python -m tools.bench.relay_node server FOLDER

It reads its keys from FOLDER/keys.json and prints its port and the ids of its sessions; then each line of its input
says what takes messages from now on: {"mode": "sink"}, "screened" or "full".
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from node.broker import Broker
from node.classifier import Classifier
from node.core.limits import Limits
from node.core.mesh import Peer
from node.core.relay import Forward, ForwardResult, Item, News, Outcome, RemoteSession
from node.core.transfer import Attachment
from node.core.verdict import Field
from node.identity import AuthorityFile
from node.inbox import Inbox
from node.ingress import Ingress
from node.ledger import Ledger
from node.notices import ManyBells
from node.parts import SystemClock, entropy
from node.platform import heap
from node.ports import Tx
from node.rpc_gate import Caller
from node.rpc_roots import Roots
from node.rpc_server import MeshServer
from tools.bench import file_node, own_node, plain_log
from tools.bench.plain_log import PlainLog
from tunnel import codec_relay as codec
from tunnel.session.relay_server import RelayServer
from tunnel.wire.v1 import mirror_pb2 as pb

WORKERS: Final = 64
UNARY: Final = "/tools.bench.Unary/Put"
# As wide as the bench needs it: what is measured is the relay, not what keeps a peer within bounds.
LIMITS: Final = Limits(
    mesh_calls_per_peer=8_192, forwards_per_minute=10**9, open_exchanges_per_peer=10**9, link_dead_s=60
)


class Sink:
    """A ports_relay.Ingress that makes each message a row of a plain log, and nothing else; with a screen before it."""

    def __init__(self, log: PlainLog) -> None:
        self._log = log
        self._screener = Classifier()
        self.screens = False

    async def take(self, peer: Peer, forwards: Sequence[Forward]) -> tuple[ForwardResult, ...]:  # noqa: ARG002 - one client
        """Once they are on the disk."""
        if self.screens:
            for forward in forwards:
                await self._screener.screen((Field(name="text", text=forward.text),))
        await self._log.append([(one.message, one.exchange, one.kind.value, one.text) for one in forwards])
        return tuple(ForwardResult(number=one.number, message=one.message, outcome=Outcome.RELAYED) for one in forwards)

    async def put(self, caller: Caller, forward: pb.Forward) -> pb.ForwardResult:
        """The same for one message of a call of its own."""
        (result,) = await self.take(caller.peer, codec.forwards_from_wire((forward,), LIMITS))
        wire = pb.ForwardResult()
        codec.result_to_wire(result, wire)
        return wire


class Switch:
    """Implements ports_relay.Ingress by the node's own, or by the sink."""

    def __init__(self, own: Ingress, sink: Sink) -> None:
        self._own = own
        self._sink = sink
        self._full = False

    def to(self, mode: str) -> None:
        """What takes messages from now on."""
        self._full, self._sink.screens = mode == "full", mode == "screened"

    async def take(self, peer: Peer, forwards: Sequence[Forward]) -> tuple[ForwardResult, ...]:
        return await (self._own if self._full else self._sink).take(peer, forwards)

    async def news(self, peer: str, after: int, exchanges: Collection[str]) -> News:
        return await self._own.news(peer, after, exchanges)

    async def held(self, items: Sequence[Item]) -> None:
        await self._own.held(items)

    async def directory(self) -> tuple[RemoteSession, ...]:
        return await self._own.directory()

    async def next_queued(self, seen: int) -> int:
        return await self._own.next_queued(seen)


class NoFiles:
    """Implements ports_files.Claims for messages without files."""

    async def missing(self, peer: str, attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
        raise NotImplementedError(peer, attachments)

    async def claim(self, peer: str, attachments: Sequence[Attachment]) -> None:
        raise NotImplementedError(peer, attachments)


async def serve(folder: Path) -> None:
    """The server, at a free port, until standard input ends."""
    trust, clock = file_node.Known(file_node.peer_of(folder, "client")), SystemClock()
    node = file_node.peer_of(folder, "server").id
    keeper = AuthorityFile(folder / "identity", clock=clock, entropy=entropy)
    roots = Roots(trust=trust, limits=LIMITS, clock=clock, entropy=entropy, keeper=keeper)
    own = file_node.own_key(folder, "server")
    mesh = MeshServer(own=own, trust=trust, calls=trust, clock=clock, limits=LIMITS, roots=roots)
    async with (
        own_node.opened(folder / "server" / "node.db", node) as store,
        plain_log.opened(folder / "server" / "plain.db") as log,
    ):
        ledger = Ledger(node=node, clock=clock, entropy=entropy, limits=LIMITS)
        inbox = Inbox(store=store, ledger=ledger, limits=LIMITS, place=lambda *_: "")
        bells, screener = ManyBells(), Classifier()
        broker = Broker(store=store, screener=screener, bells=bells, ledger=ledger, limits=LIMITS)
        ingress = Ingress(
            store=store, broker=broker, screener=screener, trust=trust, ledger=ledger, bells=bells, limits=LIMITS,
            claims=NoFiles(),
        )  # fmt: skip
        bells.add(inbox.ring)
        store.listen(ingress.committed)
        workers = [own_node.session(own_node.new_id()) for _ in range(WORKERS)]

        def seat(tx: Tx) -> None:
            for worker in workers:
                tx.put_session(worker)

        await store.write(seat)
        sink = Sink(log)
        switch = Switch(ingress, sink)
        relay = RelayServer(own=node, ingress=switch, waits=inbox, trust=trust, limits=LIMITS)
        unary = {UNARY: mesh.gate.unary(sink.put, pb.Forward)}
        async with mesh.serve("127.0.0.1", 0, {**relay.handlers(mesh.gate), **unary}) as port:
            print(json.dumps({"port": port, "workers": " ".join(one.id for one in workers)}), flush=True)
            while line := await asyncio.to_thread(sys.stdin.readline):
                mode = json.loads(line)["mode"]
                switch.to(mode)
                print(json.dumps({"mode": mode}), flush=True)


if __name__ == "__main__":
    # As the daemon does.
    heap.keep_freed()
    asyncio.run(serve(Path(sys.argv[2])))
