"""Twins of the services behind the calls about the mesh."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Link, LinkState, Paired, Peer
from node.core.transfers import Transfer
from node.core.views_mesh import IdentityView, MeshView, PairingEvent, PeerView, view_peer
from node.ports_mesh import PairingWish


def peer(letter: str, name: str, **changes: object) -> Peer:
    made = Peer(
        id=letter * 52,
        name=name,
        spki=letter * 64,
        certificate="",
        addresses=("192.0.2.7:4354", "[fe80::1%en0]:4354"),
        given=frozenset(),
        got=frozenset({Grant.REQUEST}),
        paired_us=40,
    )
    return replace(made, **changes)


class Trusted:
    """A twin of the trust service: peers by their whole name."""

    def __init__(self) -> None:
        self.known: dict[str, Peer] = {}

    def put(self, one: Peer) -> Peer:
        self.known[one.id] = one
        return one

    def find(self, wanted: str) -> Peer:
        for one in self.known.values():
            if wanted in {one.name, one.id}:
                return one
        raise MeshError(ErrorCode.NOT_FOUND, f"No peer is called {wanted}.", {"choices": ("a", "b")})

    async def add(self, paired: Paired) -> Peer:
        return self.put(peer("z", paired.name, given=paired.given, got=paired.got))

    async def rename(self, wanted: str, name: str) -> Peer:
        return self.put(replace(self.find(wanted), name=name))

    async def grant(self, wanted: str, grants: frozenset[Grant]) -> Peer:
        found = self.find(wanted)
        return self.put(replace(found, given=found.given | grants))

    async def revoke(self, wanted: str, grants: frozenset[Grant]) -> Peer:
        found = self.find(wanted)
        return self.put(replace(found, given=found.given - grants))

    async def unpair(self, wanted: str) -> Peer:
        return self.known.pop(self.find(wanted).id)

    async def add_address(self, wanted: str, address: str) -> Peer:
        found = self.find(wanted)
        return self.put(replace(found, addresses=(address, *found.addresses)))


class Among:
    """A twin of the mesh's overview."""

    def __init__(self, trusted: Trusted) -> None:
        self.trusted = trusted
        self.me = IdentityView(
            id="m" * 52, shown="MMMMMMM-MMMMMMM", spki="ab" * 32, expires_us=2**52, former_keys=0, in_keychain=True
        )
        self.now = MeshView(port=4_354, discovery=True, why="", interfaces=("eth0", "wlan0"), peers=(), found=())
        self.links: dict[str, Link] = {}

    def identity(self) -> IdentityView:
        return self.me

    async def rotate(self) -> IdentityView:
        self.me = replace(self.me, id="w" * 52, former_keys=self.me.former_keys + 1)
        return self.me

    def mesh(self) -> MeshView:
        return replace(self.now, peers=tuple(self.peer_view(one) for one in self.trusted.known.values()))

    def peer_view(self, peer: Peer) -> PeerView:
        return view_peer(peer, self.links.get(peer.id, Link(state=LinkState.OFF, since_us=0)))


class Pairings:
    """A twin of the pairing desk: tells what a test puts into `events`, None being the end, and notes what it is told.

    `left` is set when a run is over, however it ended.
    """

    def __init__(self) -> None:
        self.wishes: list[PairingWish] = []
        self.events: asyncio.Queue[PairingEvent | None] = asyncio.Queue()
        self.answers: list[tuple[str, str, bool]] = []
        self.left = asyncio.Event()
        self.refusal: MeshError | None = None

    async def run(self, wish: PairingWish) -> AsyncGenerator[PairingEvent, None]:
        self.wishes.append(wish)
        if self.refusal is not None:
            raise self.refusal
        try:
            while (event := await self.events.get()) is not None:
                yield event
        finally:
            self.left.set()

    def answer(self, run: str, *, code: str, confirmed: bool) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.answers.append((run, code, confirmed))


class Moving:
    """A twin of the transfers that a node knows of."""

    def __init__(self) -> None:
        self.now: tuple[Transfer, ...] = ()

    def listed(self) -> tuple[Transfer, ...]:
        return self.now
