"""A node's whole mesh with real store, peers, links, port and pairing; what its network says is said by tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from node import identity
from node.config import MeshConfig
from node.core.lan import Interface
from node.core.limits import Limits
from node.core.mesh import DiscoveryState, Peer, Sighting
from node.core.sightings import PREFIX_CHARS
from node.core.views_mesh import PairingEvent, PairingStep
from node.mesh import Mesh
from node.platform import clocks
from node.ports_mesh import PairingWish
from node.vault import FILES_ALONE
from tests.integration.mesh import Mesh as Heart
from tests.integration.mesh import running
from tests.pairing_nodes import FragileStore
from tests.peer_twin import ShiftedClock
from tests.rule_screener import RuleScreener

# At ports of its own: other nodes may be at work on this machine.
QUIET = MeshConfig(host="127.0.0.1", port=0, pairing_port=0)
QUICK = Limits(tick_s=1, link_dial_s=1, link_retry_s=1)


def card(*addresses: str, name: str = "eth0") -> Interface:
    """A network card with these addresses."""
    return Interface(
        name=name, index=2, addresses=addresses, up=True, multicast=True, point_to_point=False, loopback=False
    )


LOOPBACK = Interface(
    name="lo", index=1, addresses=("127.0.0.1", "::1"), up=True, multicast=False, point_to_point=False, loopback=True
)


class Network:
    """Implements ports_mesh.Sightings: hears what tests say, and keeps what it was asked."""

    def __init__(self) -> None:
        self.heard: dict[str, Sighting] = {}
        self.forgotten: list[tuple[str, str]] = []
        self.asked: list[str] = []
        self.begun = asyncio.Event()
        self.why = ""

    def made(self, **_given: object) -> Network:
        """In place of node.discovery.Discovery."""
        return self

    def announces(self, instance: str, *addresses: str, name: str = "") -> None:
        """A node says that it is there."""
        self.heard[instance] = Sighting(prefix=instance, version="0.1.0", addresses=addresses, seen_us=1, name=name)

    def sightings(self) -> Mapping[str, Sighting]:
        return self.heard

    def state(self) -> DiscoveryState:
        return DiscoveryState(on=True, why=self.why, interfaces=("eth0",), announced=True)

    def forget_address(self, instance: str, address: str) -> None:
        self.forgotten.append((instance, address))

    async def refresh(self, instance: str) -> Sighting | None:
        self.asked.append(instance)
        return self.heard.get(instance)

    async def run(self) -> None:
        self.begun.set()
        await asyncio.Event().wait()


@dataclass(slots=True, kw_only=True)
class MeshNode:
    """A mesh at work until `stop`."""

    mesh: Mesh
    heart: Heart
    network: Network
    store: FragileStore
    work: asyncio.Task[None]

    async def stop(self) -> None:
        self.work.cancel()
        await asyncio.wait({self.work})

    async def pairs(self, wish: PairingWish, *, until: PairingStep) -> PairingEvent:
        """A run's first event of that step, at which the person leaves."""
        told: list[PairingEvent] = []
        async with aclosing(self.mesh.pairing.run(wish)) as events:
            async for event in events:
                told.append(event)
                if event.step is until:
                    return event
        raise AssertionError(f"never came: {until}; but: {told}")


def prefix_of(peer: Peer) -> str:
    """As what the peer announces itself."""
    return peer.spki[:PREFIX_CHARS]


@asynccontextmanager
async def mesh_node(
    folder: Path,
    *,
    config: MeshConfig = QUIET,
    limits: Limits = QUICK,
    survey: Callable[[], Sequence[Interface]] = lambda: (LOOPBACK,),
    compose: Callable[[Mesh, Heart], None] = lambda _mesh, _heart: None,
) -> AsyncIterator[MeshNode]:
    """The mesh of a node in that folder, at work; `compose` may give it more to serve before it is."""
    async with running(folder, limits=limits) as heart, asyncio.TaskGroup() as group:
        store, network = FragileStore(heart.store), Network()
        kept = identity.kept(_made(folder / "identity"), now_us=clocks.wall_us(), entropy=os.urandom)
        mesh = Mesh(
            folder=folder / "identity", generations=kept, vault=FILES_ALONE, store=store, screener=RuleScreener(),
            ledger=heart.ledger, clock=ShiftedClock(), entropy=os.urandom, limits=limits, config=config,
            discover=network.made, survey=survey,
        )  # fmt: skip
        await mesh.peers.load()
        compose(mesh, heart)
        node = MeshNode(mesh=mesh, heart=heart, network=network, store=store, work=group.create_task(mesh.run()))
        try:
            await network.begun.wait()
            yield node
        finally:
            await node.stop()


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
