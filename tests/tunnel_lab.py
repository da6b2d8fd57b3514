"""Several Macs in one process, which mirror one another over real sockets; agents are records, time is set by hand."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import permutations
from pathlib import Path

from node.changes import Changes
from node.core.errors import ErrorCode, MeshError
from node.core.ids import make_id
from node.core.limits import Limits
from node.core.mesh import Grant, Peer
from node.core.mirror import Mirror
from node.core.model import Message
from node.core.transfer import Attachment
from node.core.verdict import Decision, Field, Verdict
from node.egress import Egress
from node.egress_files import FileEgress
from node.ingress import Ingress
from node.ports import Screener
from node.rpc_client import LinkKeeper
from tests.clock_twins import CountedEntropy, ManualClock
from tests.integration.mesh import Agent, Mesh
from tests.peer_twin import Person, ShiftedClock, TrustTwin, person, server_of
from tests.rule_screener import RuleScreener
from tests.waiting import until
from tunnel.session.relay_client import RelayClients
from tunnel.session.relay_server import RelayServer

QUICK = Limits(link_beat_s=1, link_dead_s=3, link_retry_s=1, link_dial_s=1)
ASK = frozenset({Grant.REQUEST})


class OwnEntropy(CountedEntropy):
    """Counted, but not as another Mac counts: ids must differ between them."""

    def __init__(self, mac: str) -> None:
        super().__init__()
        self._mac = mac.encode()

    def __call__(self, size: int) -> bytes:
        return sha256(self._mac + super().__call__(32)).digest()[:size]


class MirrorsTwin:
    """A ports_mirror.ActiveMirrors."""

    def __init__(self) -> None:
        self._active: set[str] = set()
        self.refusals: list[tuple[str, ErrorCode]] = []
        self._changes = Changes()

    @property
    def generation(self) -> int:
        return self._changes.count

    def active(self) -> tuple[str, ...]:
        return tuple(sorted(self._active))

    async def refused(self, peer_id: str, code: ErrorCode) -> None:
        self.refusals.append((peer_id, code))

    def let_in(self, peer_id: str) -> None:
        assert peer_id in self._active

    def put(self, peer: str, *, on: bool) -> None:
        (self._active.add if on else self._active.discard)(peer)
        self._changes.happened()

    async def next_change(self, seen: int) -> int:
        return await self._changes.after(seen)


@dataclass(slots=True)
class CarrierTwin:
    """A ports_relay.Carrier that has every file at once, or refuses; a ports_files.Claims, too.

    While `lacking` holds events, the node says of a message that it has not its files, once the next one happens.
    """

    pushed: list[tuple[str, str, str]] = field(default_factory=list)
    pulled: list[tuple[str, str, str]] = field(default_factory=list)
    refuse: MeshError | None = None
    lacking: list[asyncio.Event] = field(default_factory=list)
    looked: int = 0

    async def push(self, peer: str, message: str, attachment: Attachment) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.pushed.append((peer, message, attachment.name))

    async def pull(self, peer: str, message: str, attachment: Attachment) -> None:
        self.pulled.append((peer, message, attachment.name))

    async def missing(self, peer: str, attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
        self.looked += 1
        if not self.lacking:
            return ()
        await self.lacking.pop(0).wait()
        return tuple(attachments)

    async def claim(self, peer: str, attachments: Sequence[Attachment]) -> None:
        return None


@dataclass(slots=True, kw_only=True)
class Mac:
    """One node: its heart, its key, its peers, and both ends of its mirrors."""

    name: str
    who: Person
    folder: Path
    mesh: Mesh
    trust: TrustTwin
    mirrors: MirrorsTwin
    carrier: CarrierTwin
    egress: Egress
    ingress: Ingress
    group: asyncio.TaskGroup
    port: int = 0
    links: LinkKeeper | None = None
    clients: RelayClients | None = None
    work: asyncio.Task[None] | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def id(self) -> str:
        return self.who.id

    @classmethod
    async def made(
        cls,
        path: Path,
        name: str,
        group: asyncio.TaskGroup,
        *,
        limits: Limits = QUICK,
        screener: Screener | None = None,
    ) -> Mac:
        """A Mac that is not at work yet."""
        folder = path / name
        folder.mkdir(exist_ok=True)
        who = person()
        screener = screener or RuleScreener()
        mesh = await Mesh.open(
            folder / "node.db", limits=limits, node=who.id, entropy=OwnEntropy(name), screener=screener,
            clock=ManualClock(),
        )  # fmt: skip
        trust, carrier = TrustTwin(), CarrierTwin()
        egress = Egress(store=mesh.store, screener=screener, ledger=mesh.ledger, bells=mesh.bells, limits=limits)
        ingress = Ingress(
            store=mesh.store, broker=mesh.broker, screener=screener, trust=trust, ledger=mesh.ledger,
            bells=mesh.bells, limits=limits, claims=carrier,
        )  # fmt: skip
        mesh.store.listen(egress.committed)
        mesh.store.listen(ingress.committed)
        return cls(
            name=name, who=who, folder=folder, mesh=mesh, trust=trust, mirrors=MirrorsTwin(), carrier=carrier,
            egress=egress, ingress=ingress, group=group,
        )  # fmt: skip

    async def start(self) -> None:
        """At work, until `stop`; at the port of before."""
        assert self.work is None
        self.ready.clear()
        self.work = self.group.create_task(self._run())
        await self.ready.wait()

    async def stop(self) -> None:
        """Gone from the network, from one moment to the next; what is on its disk stays."""
        if self.work is not None:
            self.work.cancel()
            await asyncio.wait((self.work,))
            self.work = None

    async def _run(self) -> None:
        limits, clock = self.mesh.limits, ShiftedClock()
        server = server_of(self.who, self.trust, limits)
        relay = RelayServer(own=self.id, ingress=self.ingress, waits=self.mesh.inbox, trust=self.trust, limits=limits)
        self.links = LinkKeeper(own=(self.who.own,), book=self.trust, clock=clock, entropy=os.urandom, limits=limits)
        self.links.wanted(self.trust.peers())
        heart = self.mesh
        files = FileEgress(
            store=heart.store,
            egress=self.egress,
            claims=self.carrier,
            ledger=heart.ledger,
            bells=heart.bells,
            limits=limits,
        )
        self.clients = RelayClients(
            mirrors=self.mirrors, book=self.trust, channels=self.links, egress=self.egress, waits=self.mesh.inbox,
            files=files,
            carrier=self.carrier, clock=clock, entropy=os.urandom, limits=limits,
        )  # fmt: skip
        async with server.serve("127.0.0.1", self.port, relay.handlers(server.gate)) as self.port:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.links.run())
                group.create_task(self.clients.run())
                group.create_task(self.egress.run())
                group.create_task(self._follow())
                self.ready.set()

    async def _follow(self) -> None:
        seen = self.trust.generation
        while True:
            assert self.links is not None
            self.links.wanted(self.trust.peers())
            seen = await self.trust.next_change(seen)

    async def knows(self, other: Mac, given: frozenset[Grant], got: frozenset[Grant]) -> None:
        """`other` is a peer of this one."""
        peer = replace(other.who.peer(f"127.0.0.1:{other.port}"), name=other.name, given=given, got=got)
        await self.mesh.store.write(lambda tx: tx.put_peer(peer))
        self.trust.pair(peer)

    async def mirror(self, server: Mac, *, on: bool = True) -> None:
        """Mirrors that server, or pauses it."""
        put = Mirror(peer=server.id, paused=not on, added_us=1)
        await self.mesh.store.write(lambda tx: tx.put_mirror(put))
        self.mirrors.put(server.id, on=on)

    async def sees(self, *names: str) -> None:
        """Until the sessions of other Macs that this one was told of are these."""

        async def seen() -> bool:
            found = await self.mesh.store.read(lambda reader: reader.remote_sessions())
            return sorted(one.nickname for one in found if one.askable) == sorted(names)

        await until(seen, f"{self.name} sees {names}")

    async def queue(self) -> int:
        """How much waits to cross to other nodes."""
        read = self.mesh.store.read

        async def count(peer: Peer) -> int:
            out = await read(lambda r: r.queued(peer.id, 0, 10_000, forward=True))
            back = await read(lambda r: r.queued(peer.id, 0, 10_000, forward=False))
            return len(out) + len(back)

        return sum([await count(peer) for peer in self.trust.peers()])

    async def messages(self, exchange: str) -> tuple[Message, ...]:
        return await self.mesh.store.read(lambda reader: reader.messages(exchange))

    async def decisions(self, message: str) -> list[tuple[object, object, object]]:
        """Row, leg and decision of all that the timeline says of a message."""
        return [(row["row"], row.get("leg"), row["decision"]) for row in await self.mesh.rows(message=message)]


@asynccontextmanager
async def macs(
    path: Path, *names: str, limits: Limits = QUICK, screeners: Mapping[str, Screener] | None = None
) -> AsyncIterator[Sequence[Mac]]:
    """Macs at work, which are peers and may ask one another; nobody mirrors anybody yet."""
    async with asyncio.TaskGroup() as group:
        made = [
            await Mac.made(path, name, group, limits=limits, screener=(screeners or {}).get(name)) for name in names
        ]
        try:
            for mac in made:
                await mac.start()
            for mac, other in permutations(made, 2):
                await mac.knows(other, ASK, ASK)
            yield made
        finally:
            for mac in made:
                await mac.stop()
                await mac.mesh.store.close()


@asynccontextmanager
async def mirrored(
    path: Path, *, limits: Limits = QUICK, screeners: Mapping[str, Screener] | None = None
) -> AsyncIterator[tuple[Mac, Mac, Agent, Agent]]:
    """@web on a laptop, which mirrors a studio with @api."""
    async with macs(path, "laptop", "studio", limits=limits, screeners=screeners) as (laptop, studio):
        web, api = await laptop.mesh.seat("web"), await studio.mesh.seat("api")
        await laptop.mirror(studio)
        await laptop.sees("api")
        yield laptop, studio, web, api


class Believer:
    """A screener that finds nothing in anything."""

    async def screen(self, fields: Sequence[Field]) -> Verdict:
        return Verdict(decision=Decision.RELAY, score=0, findings=(), snippet="", advice="", engine="none", version="0")


def foreign_id() -> str:
    """An id that nobody has."""
    return make_id(os.urandom(10))


def unavailable() -> MeshError:
    return MeshError(ErrorCode.UNAVAILABLE, "The other node is away.")
