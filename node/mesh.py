"""The node among others: composes its port, its links, discovery and pairing, and runs them together."""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from node import certificates, identity
from node.config import PAIRING_PORT, MeshConfig
from node.core import lan
from node.core.errors import ErrorCode, MeshError
from node.core.lan import Interface
from node.core.limits import Limits
from node.core.mesh import Grant, LinkState, NodeKey, Peer, Sighting
from node.core.node_id import parse, show
from node.core.pairing_messages import MOST_NAME_CHARS
from node.core.pairing_run import Introduction
from node.core.sightings import PREFIX_CHARS
from node.core.trust import plain_id
from node.core.views_mesh import FoundView, IdentityView, MeshView, PeerView, view_peer
from node.discovery import Discovery
from node.identity import AuthorityFile, Identity, Signer, shown_id
from node.ledger import Ledger
from node.pairing_desk import PairingDesk
from node.pake import Pake
from node.peers import Peers
from node.platform import interfaces
from node.ports import Clock, Entropy, Screener, Store
from node.ports_mesh import Sightings
from node.rpc_client import LinkKeeper
from node.rpc_gate import Gate, Handlers
from node.rpc_pairing import PairingNet
from node.rpc_roots import Roots
from node.rpc_server import MeshServer
from node.vault import Vault
from node.version import VERSION

_log = logging.getLogger(__name__)

PREFIX_LEAST: Final = 4


class Mesh:
    """Implements ports_mesh.MeshOverview, ports_mesh.Calls and discovery.Listener; works while `run` does."""

    def __init__(
        self,
        *,
        folder: Path,
        generations: Sequence[Identity],
        vault: Vault,
        store: Store,
        screener: Screener,
        ledger: Ledger,
        clock: Clock,
        entropy: Entropy,
        limits: Limits,
        config: MeshConfig,
        discover: Callable[..., Sightings] = Discovery,
        survey: Callable[[], Sequence[Interface]] = interfaces.interfaces,
    ) -> None:
        """`folder` is where the identity is kept, `generations` what is there: the one in use last.

        `vault` keeps their keys; `discover` makes what `Discovery` is; `survey` tells the network interfaces of this
        machine.
        """
        self._folder = folder
        self._generations = tuple(generations)
        self._vault = vault
        self._me = generations[-1]
        self._clock = clock
        self._entropy = entropy
        self._limits = limits
        self._config = config
        self._discover = discover
        self._survey = survey
        self._port: int | None = None
        self._why = ""
        self._discovery: Sightings | None = None
        self._by_prefix: dict[str, Peer] = {}
        self._more: Handlers = {}
        own = [_node_key(generation) for generation in generations]
        self.peers = Peers(
            store=store,
            screener=screener,
            ledger=ledger,
            limits=limits,
            own=[generation.certificate for generation in generations],
            read_id=_read_id,
        )
        self.links = LinkKeeper(own=own, book=self.peers, clock=clock, entropy=entropy, limits=limits)
        self._server = MeshServer(
            own=own[-1],
            trust=self.peers,
            calls=self,
            clock=clock,
            limits=limits,
            roots=Roots(
                trust=self.peers,
                limits=limits,
                clock=clock,
                entropy=entropy,
                keeper=AuthorityFile(folder, clock=clock, entropy=entropy),
            ),
        )
        self.pairing = PairingDesk(
            store=store,
            ledger=ledger,
            clock=clock,
            entropy=entropy,
            limits=limits,
            net=PairingNet(self._me, limits, host=config.host),
            pake=Pake(entropy),
            signer=Signer(self._me),
            trust=self.peers,
            me=self._introduction,
            find=self._address_of,
            identify=shown_id,
            port=config.pairing_port,
            where=self._own_address,
        )

    @property
    def gate(self) -> Gate:
        """What makes handlers for the port that peers call."""
        return self._server.gate

    def serve_also(self, handlers: Handlers) -> None:
        """Answers these calls of peers, too, from when it runs; each was made by `gate`."""
        self._more = {**self._more, **handlers}

    # --- at work -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Listens, keeps the links and hears the network until cancelled. What of that cannot be had is logged."""
        try:
            async with self._listening() as self._port:
                self._discovery = discovery = self._discover(
                    spki=self._me.spki,
                    port=self._port,
                    version=VERSION,
                    name=platform.node(),
                    config=self._config,
                    limits=self._limits,
                    clock=self._clock,
                    keep=lambda prefix: prefix in self._by_prefix,
                    listener=self,
                    survey=self._survey,
                )
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.links.run())
                    group.create_task(discovery.run())
                    group.create_task(self._follow())
                    group.create_task(self._write())
                    group.create_task(self._look_again())
        finally:
            self._port = None
            await self._written(self.peers.close())

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[int | None]:
        if not self._config.listen:
            yield None
            return
        async with AsyncExitStack() as stack:
            port: int | None = None
            try:
                serving = self._server.serve(self._config.host, self._config.port, self._more)
                port = await stack.enter_async_context(serving)
                _log.info("peers are served at port %d", port)
            except MeshError as error:
                # Its own links work all the same, and the person reads it in `helio peers`.
                _log.warning("%s", error.message)
                self._why = error.message
            yield port

    async def _follow(self) -> None:
        """Keeps a link to every peer, whoever that is at the time."""
        seen = self.peers.generation
        while True:
            self._by_prefix = {peer.spki[:PREFIX_CHARS]: peer for peer in self.peers.peers()}
            self.links.wanted(self.peers.peers())
            if self._discovery is not None:
                for instance, sighting in self._discovery.sightings().items():
                    self.heard(instance, sighting.addresses)
            seen = await self.peers.next_change(seen)

    async def _write(self) -> None:
        while True:
            await asyncio.sleep(self._limits.tick_s)
            await self._written(self.peers.tick())

    async def _written(self, work: Awaitable[None]) -> None:
        try:
            await work
        except MeshError as error:
            # The disk, most likely. It keeps the node neither from its work nor from stopping in order.
            _log.warning("what was heard of peers is not written: %s", error.message)

    async def _look_again(self) -> None:
        """Asks peers that announce themselves and cannot be reached where they are now."""
        while True:
            await asyncio.sleep(self._limits.tick_s)
            discovery = self._discovery
            for prefix, peer in tuple(self._by_prefix.items()):
                link = self.links.link(peer.id)
                if discovery is None or link.state is not LinkState.DOWN or prefix not in discovery.sightings():
                    continue
                if link.address:
                    discovery.forget_address(prefix, link.address)
                sighting = await discovery.refresh(prefix)
                if sighting is not None:
                    self.heard(prefix, sighting.addresses)

    def heard(self, prefix: str, addresses: Sequence[str]) -> None:
        """A node announces itself. Implements discovery.Listener."""
        peer = self._peer_of(prefix)
        if peer is not None:
            self.links.hint(peer.id, addresses)

    def grants_for(self, peer: Peer) -> frozenset[Grant]:
        """What the peer may do here now. Implements ports_mesh.Calls."""
        known = self.peers.pinned(peer.spki)
        return known.given if known is not None else frozenset()

    def _peer_of(self, prefix: str) -> Peer | None:
        # A stranger may claim any beginning of a fingerprint, and gains nothing by it but being dialled.
        return self._by_prefix.get(prefix)

    # --- what people see ---------------------------------------------------------------------------------------------

    def identity(self) -> IdentityView:
        """Who this node is to others."""
        return _identity_view(self._generations)

    async def rotate(self) -> IdentityView:
        """A new key, signed by the one in use; it counts when the node starts again."""
        generations = await asyncio.to_thread(self._rotated, self._clock.wall_us())
        await self.peers.own_key_made(generations[-2].node_id, generations[-1].node_id)
        return _identity_view(generations)

    def _rotated(self, now_us: int) -> Sequence[Identity]:
        keep, vault = self._limits.former_keys, self._vault
        # Whatever cannot be read refuses before anything changes.
        identity.kept(self._folder, now_us=now_us, entropy=self._entropy, vault=vault)
        identity.rotate(self._folder, now_us=now_us, entropy=self._entropy, keep=keep, vault=vault)
        return identity.kept(self._folder, now_us=now_us, entropy=self._entropy, vault=vault)

    def mesh(self) -> MeshView:
        """Peers with their links, and what is heard on the network."""
        discovery = self._discovery
        state = discovery.state() if discovery is not None else None
        sightings = discovery.sightings() if discovery is not None else {}
        return MeshView(
            port=self._port,
            discovery=state is not None and state.on,
            why=self._why or (state.why if state is not None and self._config.discovery else ""),
            interfaces=state.interfaces if state is not None else (),
            peers=tuple(self.peer_view(peer) for peer in self.peers.peers()),
            found=tuple(self._found(instance, sighting) for instance, sighting in sightings.items()),
        )

    def peer_view(self, peer: Peer) -> PeerView:
        """A peer and the link to it."""
        return view_peer(peer, self.links.link(peer.id))

    def _found(self, instance: str, sighting: Sighting) -> FoundView:
        peer = self._peer_of(sighting.prefix)
        return FoundView(
            instance=instance,
            version=sighting.version,
            addresses=sighting.addresses,
            seen_us=sighting.seen_us,
            peer=peer.name if peer is not None else "",
            name=sighting.name,
        )

    # --- for pairing -------------------------------------------------------------------------------------------------

    def _introduction(self) -> Introduction:
        return Introduction(
            certificate=self._me.certificate,
            wants=frozenset(),
            gives=frozenset(),
            name=platform.node()[:MOST_NAME_CHARS],
            port=self._port or 0,
        )

    def _own_address(self, port: int) -> str:
        """Where another machine may dial this one at that port, or "" when it is not known."""
        if not lan.is_any(self._config.host):
            return lan.endpoint(self._config.host, port)
        try:
            address = lan.reached(lan.fit(self._survey(), self._config.interfaces))
        except OSError:
            return ""
        return lan.endpoint(address, port) if address else ""

    def _address_of(self, wanted: str) -> str | None:
        """Where a node that is heard on the network waits for pairing, as it does unless another port was chosen."""
        if len(wanted) < PREFIX_LEAST:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                f"{wanted!r} is too short for the name of a node: give {PREFIX_LEAST} of the characters that `helio "
                "peers` shows, or an address with its port, such as 192.168.1.20:4355.",
            )
        if self._discovery is None:
            return None
        found = [one for name, one in self._discovery.sightings().items() if name.startswith(wanted.lower())]
        if len(found) > 1:
            raise MeshError(
                ErrorCode.AMBIGUOUS, f"{wanted[:40]!r} begins the names of {len(found)} nodes. Give more of it."
            )
        if not found or not found[0].addresses:
            return None
        # "Any free one" here says nothing of the port there.
        return f"{found[0].addresses[0].rpartition(':')[0]}:{self._config.pairing_port or PAIRING_PORT}"


def _node_key(generation: Identity) -> NodeKey:
    return NodeKey(
        key=generation.key_pem,
        certificate=generation.certificate,
        fingerprint=generation.fingerprint,
        step=generation.step,
    )


def _identity_view(generations: Sequence[Identity]) -> IdentityView:
    me = generations[-1]
    return IdentityView(
        id=me.node_id,
        shown=show(me.node_id),
        spki=me.spki,
        expires_us=certificates.expires_us(me.certificate),
        # A renewed certificate is a generation, too, but of the same key.
        former_keys=len({generation.spki for generation in generations} - {me.spki}),
        in_keychain=me.in_keychain,
    )


def _read_id(text: str) -> str:
    """An id as it is shown, checked; else its beginning as somebody typed it."""
    try:
        return parse(text)
    except MeshError:
        return plain_id(text)
