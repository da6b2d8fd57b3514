"""A port with more peers than it can have roots: it issues certificates of its own, on real sockets."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from node import certificates
from node.core.limits import Limits
from node.core.mesh import LinkState, Peer
from node.core.roots import chosen
from node.grpc_setup import aio
from node.identity import Authority, AuthorityFile
from node.rpc_roots import Roots
from node.rpc_server import MeshServer
from node.wire.v1 import mesh_pb2 as pb
from tests.forgery import GREET, called, dialled, forged
from tests.integration.mesh import scenario
from tests.integration.test_links import QUICK, Wire, keeping, reached
from tests.peer_twin import Person, ShiftedClock, TrustTwin, person, roots_of, serving
from tests.waiting import until

FEW = replace(QUICK, mesh_handshake_s=1, peers_pinned=4, peers_turn_s=600)
UNAVAILABLE = "UNAVAILABLE"


def crowd(count: int, *, paired_us: int = 1_000) -> tuple[Peer, ...]:
    """Peers that were paired one after the other from then on."""
    return tuple(replace(person().peer(), paired_us=paired_us + n) for n in range(count))


def authority(folder: Path) -> Authority:
    found = AuthorityFile(folder, clock=ShiftedClock(), entropy=os.urandom).load()
    assert found is not None
    return found


def issued(by: Authority, who: Person) -> Person:
    """The same node with a certificate that the authority made for it."""
    made = by.issue(who.certificate, now_us=ShiftedClock().wall_us(), entropy=os.urandom)
    return Person(who.key, made)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def late() -> Person:
    """A node whose id stands behind those of most others, so that its turn comes late."""
    return max((person() for _ in range(8)), key=lambda who: who.id)


def has_a_root(who: Person, trust: TrustTwin) -> bool:
    """Whether a pairing that is the oldest, and whose certificate is not needed as a root, is one in the first turn."""
    return who.id in {peer.id for peer in chosen(trust.peers(), lambda peer: peer.id == who.id, room=4, turn=0)}


async def offered(channel: aio.Channel) -> str:
    """The certificate that a greeting is answered with."""
    answer: bytes = await channel.unary_unary(GREET)(pb.GreetRequest(version="1").SerializeToString(), timeout=8)
    return pb.GreetResponse.FromString(answer).issued


@asynccontextmanager
async def port_of(who: Person, trust: TrustTwin, kind: type[Roots], folder: Path) -> AsyncIterator[int]:
    """A port with roots of that kind."""
    clock = ShiftedClock()
    keeper = AuthorityFile(folder, clock=clock, entropy=os.urandom)
    roots = kind(trust=trust, limits=FEW, clock=clock, entropy=os.urandom, keeper=keeper)
    server = MeshServer(own=who.own, trust=trust, calls=trust, clock=clock, limits=FEW, roots=roots)
    async with server.serve("127.0.0.1", 0) as port:
        yield port


@asynccontextmanager
async def crowded(folder: Path, *more: Peer) -> AsyncIterator[tuple[Person, TrustTwin, int, Authority]]:
    """A port with more peers than it has room for: who it is, its trust, where it listens, and its authority."""
    b, trust = person(), TrustTwin(*crowd(12), *more)
    async with serving(b, trust, limits=FEW, folder=folder) as port:
        yield b, trust, port, authority(folder)


@scenario
async def test_a_peer_for_which_there_is_no_room_connects_with_what_it_was_issued(tmp_path: Path) -> None:
    a, b = late(), person()
    at_b = TrustTwin(a.peer(), *crowd(2))
    async with serving(b, at_b, limits=FEW, folder=tmp_path) as port:
        at_a = TrustTwin(b.peer(f"127.0.0.1:{port}"))
        async with keeping(a, at_a) as keeper:
            await until(lambda: at_a.certificates, "a certificate")
            up = await reached(keeper, b.id, LinkState.UP)
            (certificate,) = at_a.certificates
            async with dialled(a, b, port) as channel:
                assert await called(channel) == "ok", "there is room still"
            at_b.pair(crowd(1)[0])
            while has_a_root(a, at_b):
                at_b.pair(crowd(1)[0])
            async with dialled(a, b, port) as channel:
                await until(lambda: _fails(channel), "a handshake without room")
            keeper.awake()
            await until(lambda: keeper.link(b.id).since_us > up.since_us, "another link")
            await reached(keeper, b.id, LinkState.UP)
            assert at_a.certificates == [certificate], "it is shown, and not made anew"
        async with dialled(Person(a.key, certificate), b, port) as channel:
            assert await offered(channel) == ""
    assert set(at_b.reasons) <= {"handshake_failed"}


async def _fails(channel: aio.Channel) -> bool:
    return await called(channel) == UNAVAILABLE


@scenario
async def test_few_peers_never_see_any_of_it(tmp_path: Path) -> None:
    a, b = person(), person()
    at_b = TrustTwin(a.peer(), *crowd(1))
    async with serving(b, at_b, limits=FEW, folder=tmp_path) as port, dialled(a, b, port) as channel:
        assert await offered(channel) == ""
        assert list(tmp_path.iterdir()) == []
        at_b.pair(crowd(1)[0])
        await until(lambda: list(tmp_path.iterdir()), "an authority")
        assert await until(lambda: offered(channel), "a certificate")
        at_b.unpair(at_b.peers()[-1].id)
        assert await offered(channel) == ""


@scenario
async def test_an_issued_certificate_of_somebody_unpaired_ends_at_the_gate(tmp_path: Path) -> None:
    a = person()
    async with crowded(tmp_path, a.peer()) as (b, trust, port, ca):
        mine = issued(ca, a)
        async with dialled(mine, b, port) as channel:
            assert await called(channel) == "ok"
        trust.unpair(a.id)
        async with dialled(mine, b, port) as channel:
            assert await called(channel) == "UNAUTHENTICATED stranger"
        assert [(reason, spki) for reason, spki, _ in trust.rows] == [("stranger", a.spki)]


@scenario
async def test_no_other_certificate_passes_for_an_issued_one(tmp_path: Path) -> None:
    a, key = person(), new_key()
    async with crowded(tmp_path, a.peer()) as (b, trust, port, ca):
        mine = issued(ca, a)
        name = x509.load_pem_x509_certificate(ca.certificate.encode()).subject
        root = str(name.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
        (tmp_path / "other").mkdir()
        other = AuthorityFile(tmp_path / "other", clock=ShiftedClock(), entropy=os.urandom).make()
        attackers = {
            "another's certificate": Person(key, mine.certificate),
            "another authority": issued(other, a),
            "another authority, with it behind": Person(a.key, issued(other, a).certificate + other.certificate),
            "the authority's name": forged(a.key, key, subject=a.spki, issuer=root),
            "the authority's name and key id": forged(
                a.key, key, subject=a.spki, issuer=root, claims=ca.key.public_key()
            ),
        }
        for may in (None, False, True):
            minted = forged(key, a.key, subject=a.spki, issuer=a.spki, authority=may, may_sign=bool(may))
            attackers[f"minted, authority {may}"] = minted
            attackers[f"minted, authority {may}, with its issuer"] = Person(
                key, minted.certificate + mine.certificate + ca.certificate
            )
        for what, attacker in attackers.items():
            async with dialled(attacker, b, port) as channel:
                assert await called(channel) == UNAVAILABLE, what
        async with dialled(mine, b, port) as channel:
            assert await called(channel) == "ok"
        assert set(trust.reasons) <= {"handshake_failed"}


@scenario
async def test_a_server_that_lost_its_authority_is_shown_the_own_certificate_in_the_same_round(tmp_path: Path) -> None:
    a, b = person(), person()
    others = crowd(2)
    at_b = TrustTwin(a.peer(), *others)
    async with AsyncExitStack() as run:
        port = await run.enter_async_context(serving(b, at_b, limits=FEW, folder=tmp_path))
        at_a = TrustTwin(b.peer(f"127.0.0.1:{port}"))
        async with keeping(a, at_a) as keeper:
            await until(lambda: at_a.certificates, "a certificate")
            await reached(keeper, b.id, LinkState.UP)
            await run.aclose()
            (tmp_path / "authority.pem").unlink()
            await reached(keeper, b.id, LinkState.DOWN)
            port = await run.enter_async_context(serving(b, at_b, limits=FEW, port=port, folder=tmp_path))
            await reached(keeper, b.id, LinkState.UP)
            first, second = at_a.certificates
            assert not certificates.is_issued_by(authority(tmp_path).certificate, first)
            assert certificates.is_issued_by(authority(tmp_path).certificate, second)
            # There are few now, and nobody needs one.
            await run.aclose()
            (tmp_path / "authority.pem").unlink()
            at_b.unpair(others[0].id)
            await reached(keeper, b.id, LinkState.DOWN)
            await run.enter_async_context(serving(b, at_b, limits=FEW, port=port, folder=tmp_path))
            await reached(keeper, b.id, LinkState.UP)
            assert at_a.certificates == [first, second, ""]


@scenario
async def test_what_a_peer_issues_for_another_key_is_not_used(tmp_path: Path) -> None:
    a, b, other = person(), person(), person()

    class Confused(Roots):
        """Gives everybody the same one."""

        def issue(self, peer: Peer, presented: str) -> str:
            return super().issue(other.peer(), presented)

    at_b = TrustTwin(a.peer(), *crowd(2))
    async with port_of(b, at_b, Confused, tmp_path) as port:
        at_a = TrustTwin(b.peer(f"127.0.0.1:{port}"))
        async with keeping(a, at_a) as keeper:
            await reached(keeper, b.id, LinkState.UP)
            await until(lambda: at_a.got, "grants")
            assert at_a.certificates == []


class Generous(Roots):
    """Gives a new one to everybody, whatever they show."""

    def issue(self, peer: Peer, presented: str) -> str:
        return super().issue(peer, peer.certificate)


@pytest.mark.parametrize(("kind", "count"), [(Roots, 1), (Generous, 2)])
@scenario
async def test_what_was_issued_is_shown_at_once_and_the_next_one_only_with_the_next_link(
    tmp_path: Path, kind: type[Roots], count: int
) -> None:
    a, b = person(), person()
    at_b = TrustTwin(a.peer(), *crowd(2))
    async with port_of(b, at_b, kind, tmp_path) as port:
        wire = Wire(port)
        async with wire.lying() as address:
            at_a = TrustTwin(b.peer(address))
            async with keeping(a, at_a) as keeper:
                # Grants are known once a link is up to stay.
                await until(lambda: at_a.got, "grants")
                await reached(keeper, b.id, LinkState.UP)
                assert wire.through == 2
                assert len(at_a.certificates) == count


@scenario
async def test_another_key_is_not_dialled_with_what_was_issued_for_the_former(tmp_path: Path) -> None:
    former, a, b = person(), person(), person()
    at_b = TrustTwin(a.peer(), *crowd(2))
    async with serving(b, at_b, limits=FEW, folder=tmp_path) as port:
        old = issued(authority(tmp_path), former).certificate
        at_a = TrustTwin(replace(b.peer(f"127.0.0.1:{port}"), issued=old))
        async with keeping(a, at_a) as keeper:
            await until(lambda: at_a.certificates, "a certificate of the new key")
            await reached(keeper, b.id, LinkState.UP)
            assert certificates.is_issued_for(a.certificate, at_a.certificates[0])


@scenario
async def test_whoever_is_left_over_has_a_turn(tmp_path: Path) -> None:
    a, b = late(), person()
    at_b = TrustTwin(a.peer(), *crowd(5))
    while has_a_root(a, at_b):
        at_b = TrustTwin(a.peer(), *crowd(5))
    async with serving(b, at_b, limits=replace(FEW, peers_turn_s=1), folder=tmp_path) as port:
        async with dialled(a, b, port) as channel:
            assert await called(channel) == UNAVAILABLE, "there is no room at first"
        at_a = TrustTwin(b.peer(f"127.0.0.1:{port}"))
        async with keeping(a, at_a) as keeper:
            await until(lambda: at_a.certificates, "a turn", seconds=8)
            await reached(keeper, b.id, LinkState.UP)


@scenario
async def test_two_thousand_peers_are_a_thousand_roots_and_one(tmp_path: Path) -> None:
    limits = Limits()
    newest, b = person(), person()
    trust = TrustTwin(*crowd(1_999), replace(newest.peer(), paired_us=10_000))
    roots = roots_of(trust, limits, tmp_path)
    assert await roots.prepare()
    assert roots.text().count("BEGIN CERTIFICATE") == limits.peers_pinned + 1
    async with serving(b, trust, limits=limits, folder=tmp_path) as port, dialled(newest, b, port) as channel:
        mine = await offered(channel)
        assert certificates.is_issued_by(authority(tmp_path).certificate, mine)
