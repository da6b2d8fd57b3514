"""The tunnel of a node: both ends of its streams, composed of the node's parts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from node.parts import Parts, SystemClock, entropy
from tunnel.session.file_client import Carrier
from tunnel.session.file_server import FileServer
from tunnel.session.relay_client import RelayClients
from tunnel.session.relay_server import RelayServer
from tunnel.session.watch_client import WatchClient
from tunnel.session.watch_server import WatchServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunnel:
    """What of the tunnel is at work while `run` is; its calls are served at the port of peers."""

    parts: Parts
    relays: RelayClients
    watched: WatchClient
    watches: WatchServer

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (
                self.relays.run(), self.watched.run(), self.watches.run(), self.parts.panel.run(),
                self.parts.egress.run(),
            ):  # fmt: skip
                group.create_task(work)


def build(parts: Parts) -> Tunnel:
    """The tunnel of a node that is not at work yet."""
    mesh, limits, clock = parts.mesh, parts.limits, SystemClock()
    files = FileServer(gate=mesh.gate, ground=parts.ingress, parcels=parts.parcels, log=parts.transfers, limits=limits)
    relay = RelayServer(own=parts.node_id, ingress=parts.ingress, waits=parts.inbox, trust=mesh.peers, limits=limits)
    watches = WatchServer(
        gate=mesh.gate, panel=parts.panel, store=parts.store, ledger=parts.ledger, trust=mesh.peers, calls=mesh,
        clock=clock, limits=limits,
    )  # fmt: skip
    parts.store.listen(watches.committed)
    mesh.serve_also({**files.handlers(), **relay.handlers(mesh.gate), **watches.handlers()})
    carrier = Carrier(channels=mesh.links.extra_channel, parcels=parts.parcels, log=parts.transfers, limits=limits)
    relays = RelayClients(
        mirrors=parts.mirrors, book=mesh.peers, channels=mesh.links, egress=parts.egress, files=parts.file_egress,
        waits=parts.inbox, carrier=carrier, clock=clock, entropy=entropy, limits=limits,
    )  # fmt: skip
    watched = WatchClient(links=mesh.links, mirrors=parts.mirrors, clock=clock, entropy=entropy, limits=limits)
    return Tunnel(parts=parts, relays=relays, watched=watched, watches=watches)
