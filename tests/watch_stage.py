"""Nodes that watch each other: whole meshes on real sockets, with both ends of the watch as a daemon has them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from node import identity
from node.core.limits import Limits
from node.core.mesh import Grant, LinkState, Paired
from node.core.panel import PanelDelta, PanelRow, PanelSnapshot
from node.core.views_mirror import MirroredRows, MirrorEvent, MirrorStanding, StreamState
from node.mesh import Mesh
from node.mirrors import Mirrors
from node.panel import DelegationsPanel
from node.platform import clocks
from tests.integration.mesh import Mesh as Heart
from tests.mesh_node import QUIET, MeshNode, mesh_node
from tests.peer_twin import ShiftedClock
from tests.waiting import until
from tunnel.mirror import Bounds, MirroredPanel
from tunnel.session.watch_client import WatchClient
from tunnel.session.watch_server import WatchServer

QUICK = Limits(tick_s=1, link_dial_s=1, link_retry_s=1, link_beat_s=1, link_dead_s=3)
PANEL, TIMELINE = Grant.MIRROR_PANEL, Grant.MIRROR_TIMELINE
BOTH = frozenset({PANEL, TIMELINE})


@dataclass(slots=True, kw_only=True)
class WatchNode:
    """A node with both ends of the watch."""

    node: MeshNode
    certificate: str
    server: WatchServer
    mirrors: Mirrors
    client: WatchClient

    @property
    def heart(self) -> Heart:
        return self.node.heart

    @property
    def mesh(self) -> Mesh:
        return self.node.mesh

    @property
    def id(self) -> str:
        return self.mesh.identity().id

    @property
    def port(self) -> int:
        port = self.mesh.mesh().port
        assert port is not None
        return port

    def paired(self, name: str, *, given: frozenset[Grant] = frozenset()) -> Paired:
        """This node as another one pairs with it."""
        at = f"127.0.0.1:{self.port}"
        return Paired(certificate=self.certificate, name=name, given=given, got=frozenset(), addresses=(at,))


@asynccontextmanager
async def watch_node(folder: Path, *, limits: Limits = QUICK, port: int = 0) -> AsyncIterator[WatchNode]:
    """A node in that folder, at work."""
    parts: list[tuple[DelegationsPanel, WatchServer]] = []

    def compose(mesh: Mesh, heart: Heart) -> None:
        panel = DelegationsPanel(store=heart.store, limits=limits, quiet_s=0.01)
        server = WatchServer(
            gate=mesh.gate, panel=panel, store=heart.store, ledger=heart.ledger, trust=mesh.peers, calls=mesh,
            clock=ShiftedClock(), limits=limits,
        )  # fmt: skip
        heart.store.listen(panel.ring)
        heart.store.listen(server.committed)
        mesh.serve_also(server.handlers())
        parts.append((panel, server))

    folder.mkdir(mode=0o700, exist_ok=True)
    async with mesh_node(folder, config=replace(QUIET, port=port), limits=limits, compose=compose) as node:
        ((panel, server),) = parts
        mirrors = Mirrors(
            store=node.heart.store, book=node.mesh.peers, link=node.mesh.links.link, ledger=node.heart.ledger,
            limits=limits,
        )  # fmt: skip
        await mirrors.load()
        client = WatchClient(
            links=node.mesh.links, mirrors=mirrors, clock=ShiftedClock(), entropy=os.urandom, limits=limits
        )
        async with asyncio.TaskGroup() as group:
            work = [group.create_task(one.run()) for one in (panel, server, mirrors, client)]
            kept = identity.kept(folder / "identity", now_us=clocks.wall_us(), entropy=os.urandom)
            yield WatchNode(node=node, certificate=kept[-1].certificate, server=server, mirrors=mirrors, client=client)
            for task in work:
                task.cancel()


async def meet(client: WatchNode, server: WatchNode, *, given: frozenset[Grant] = BOTH, name: str = "studio") -> None:
    """The two are paired, the client mirrors the server, and the link is up."""
    await server.mesh.peers.add(client.paired("laptop", given=given))
    await client.mesh.peers.add(server.paired(name))
    await client.mirrors.add(name)
    await until(lambda: client.mesh.links.link(server.id).state is LinkState.UP, "the link")


@dataclass(slots=True)
class Look:
    """What somebody who watches has been shown. `until` waits for something in it."""

    panel: MirroredPanel = field(default_factory=lambda: MirroredPanel(Bounds(rows=10_000, title_chars=1_000)))
    standings: list[MirrorStanding] = field(default_factory=list)
    told: list[MirroredRows] = field(default_factory=list)
    events: list[MirrorEvent] = field(default_factory=list)

    def take(self, event: MirrorEvent) -> None:
        self.events.append(event)
        match event:
            case MirrorStanding():
                self.standings.append(event)
            case MirroredRows():
                self.told.append(event)
            case PanelSnapshot() | PanelDelta():
                self.panel.take(event)

    @property
    def rows(self) -> dict[str, PanelRow]:
        return dict(self.panel.rows)

    @property
    def seqs(self) -> list[int]:
        return [row.seq for one in self.told for row in one.rows]

    @property
    def state(self) -> StreamState | None:
        return self.standings[-1].state if self.standings else None

    async def stands(self, state: StreamState, *words: str) -> MirrorStanding:
        def look() -> MirrorStanding | None:
            if not self.standings:
                return None
            now = self.standings[-1]
            return now if now.state is state and all(word in now.why for word in words) else None

        return await until(look, f"{state} {words}, not {self.standings[-1:]}")

    async def sees(self, what: Callable[[Look], object]) -> None:
        await until(lambda: what(self), "what is to be seen")


@asynccontextmanager
async def looking(
    client: WatchNode, server_id: str, *, panel: bool = True, timeline: bool = False, tail: int = 100
) -> AsyncIterator[Look]:
    """Somebody at the client looks at the server."""
    look = Look()

    async def watch() -> None:
        async with aclosing(client.client.watch(server_id, panel=panel, timeline=timeline, tail=tail)) as events:
            async for event in events:
                look.take(event)

    async with asyncio.TaskGroup() as group:
        work = group.create_task(watch())
        yield look
        work.cancel()
