"""Attacks on the node-to-node port, on real sockets: each is refused, by name, and leaves a row."""

from __future__ import annotations

import random
import ssl
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from node.core.limits import Limits
from node.core.mesh import Grant
from node.wire.v1 import mesh_pb2 as pb
from tests import forgery
from tests.forgery import GREET, PREFACE, called, dialled, forged, said, tls_context
from tests.integration.mesh import scenario
from tests.mesh_stream import QUICK, STILL, UNAVAILABLE, Stream
from tests.peer_twin import Person, TrustTwin, person, serving
from tests.waiting import turn, until


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def behind(first: Person, second: Person) -> Person:
    """The first one's certificate with the second one's behind it, as a chain."""
    return Person(first.key, first.certificate + second.certificate)


def strangers(pinned: Person) -> dict[str, Person]:
    """Everybody who comes with something else than a pinned certificate and its key."""
    key, name = new_key(), pinned.spki
    made: dict[str, Person] = {"stranger": person()}
    for authority in (None, False, True):
        minted = forged(key, pinned.key, subject="minted", issuer=name, authority=authority, may_sign=bool(authority))
        made[f"minted, authority {authority}"] = minted
        made[f"minted, authority {authority}, with its issuer"] = behind(minted, pinned)
    made["pinned names on another key"] = forged(key, key, subject=name, issuer=name)
    made["pinned names and key id on another key"] = forged(
        key, key, subject=name, issuer=name, claims=pinned.key.public_key()
    )
    made["stranger with a pinned one behind"] = behind(person(), pinned)
    return made


@scenario
async def test_strangers_of_all_kinds_end_in_the_handshake_and_are_counted() -> None:
    b, a = person(), person()
    trust = TrustTwin(a.peer())
    async with serving(b, trust, limits=QUICK) as port:
        for what, attacker in strangers(a).items():
            async with dialled(attacker, b, port) as channel:
                assert await called(channel) == UNAVAILABLE, what
        async with dialled(a, b, port) as channel:
            assert await called(channel) == "ok"
        count = len(strangers(a))
        await until(lambda: trust.reasons["handshake_failed"] == count, "the count", seconds=6)
        assert set(trust.reasons) == {"handshake_failed"}


@scenario
async def test_certificates_out_of_their_time_are_refused_and_counted() -> None:
    b = person()
    expired, future = person(days_ago=4_000), person(days_ago=-30)
    trust = TrustTwin(expired.peer(), future.peer())
    async with serving(b, trust, limits=QUICK) as port:
        for attacker in (expired, future):
            async with dialled(attacker, b, port) as channel:
                assert await called(channel) == UNAVAILABLE
        await until(lambda: trust.reasons == {"handshake_failed": 2}, "the count", seconds=6)


@scenario
async def test_a_client_does_not_speak_to_a_server_that_is_not_the_pinned_one() -> None:
    a, b, other = person(), person(), person()
    late, early = person(days_ago=4_000), person(days_ago=-30)
    trust = TrustTwin(a.peer())
    async with AsyncExitStack() as run:
        port = await run.enter_async_context(serving(b, trust, limits=QUICK))
        async with dialled(a, other, port) as channel:
            assert await called(channel) == UNAVAILABLE
        async with dialled(a, b, port, name=other.spki[:32]) as channel:
            assert await called(channel) == UNAVAILABLE
        for server in (late, early):
            stale = await run.enter_async_context(serving(server, TrustTwin(a.peer()), limits=QUICK))
            async with dialled(a, server, stale) as channel:
                assert await called(channel) == UNAVAILABLE
        await until(lambda: trust.reasons == {"handshake_failed": 2}, "the count", seconds=6)


@scenario
async def test_a_certificate_minted_by_a_pinned_authority_passes_tls_and_not_the_gate() -> None:
    b, key = person(), new_key()
    # As no node would pin one, but a pinned key's owner can make it.
    hostile = forged(key, key, subject="hostile", issuer="hostile", authority=True, may_sign=True)
    minted = forged(new_key(), key, subject="minted", issuer="hostile")
    trust = TrustTwin(hostile.peer())
    async with serving(b, trust, limits=QUICK) as port:
        async with dialled(minted, b, port) as channel:
            assert await called(channel) == "UNAUTHENTICATED stranger"
            assert await called(channel, "/node.wire.v1.MeshService/Nothing") == "UNAUTHENTICATED stranger"
            assert await Stream(channel).end() == "UNAUTHENTICATED stranger"
        assert [(reason, spki) for reason, spki, _ in trust.rows] == [("stranger", minted.spki)] * 3
        assert all(address.startswith("127.0.0.1:") for _, _, address in trust.rows)
        async with dialled(hostile, b, port) as channel:
            assert await called(channel) == "ok"


@scenario
async def test_equal_names_among_fifty_peers_keep_nobody_out() -> None:
    b = person()
    alike = [forged(key, key, subject="mesh", issuer="mesh") for key in (new_key() for _ in range(50))]
    trust = TrustTwin(*(one.peer() for one in alike))
    async with serving(b, trust) as port:
        for one in alike:
            async with dialled(one, b, port) as channel:
                assert await called(channel) == "ok"
    assert trust.rows == []


@scenario
async def test_a_peer_that_takes_anothers_names_keeps_nobody_out() -> None:
    a, b, key = person(), person(), new_key()
    thief = forged(key, key, subject=a.spki, issuer=a.spki, claims=a.key.public_key())
    for peers in ((a.peer(), thief.peer()), (thief.peer(), a.peer())):
        trust = TrustTwin(*peers)
        async with serving(b, trust) as port:
            for one in (a, thief):
                async with dialled(one, b, port) as channel:
                    assert await called(channel) == "ok"


@scenario
async def test_tls_1_2_gets_no_answer_with_a_pinned_key_even(tmp_path: Path) -> None:
    a, b = person(), person()
    trust = TrustTwin(a.peer())
    ask = PREFACE + forgery.headers(GREET) + forgery.message(pb.GreetRequest(version="1").SerializeToString())
    async with serving(b, trust) as port:
        new = await said(port, tls_context(a, tmp_path), ask)
        assert 0 in [kind for kind, _ in forgery.frames(new)], "the same bytes are answered over TLS 1.3"
        assert trust.rows == []
        old = await said(port, tls_context(a, tmp_path, newest=ssl.TLSVersion.TLSv1_2), ask)
        assert 1 in [kind for kind, _ in forgery.frames(old)]
        assert 0 not in [kind for kind, _ in forgery.frames(old)], "a message came over TLS 1.2"
        (row,) = trust.rows
        assert row[:2] == ("wrong_tls", a.spki)


@scenario
async def test_a_new_peer_connects_at_once_and_an_unpaired_one_is_cut_off_at_once() -> None:
    a, b = person(), person()
    trust = TrustTwin()
    async with serving(b, trust, limits=STILL) as port:
        async with dialled(a, b, port) as channel:
            assert await called(channel) == UNAVAILABLE
        async with dialled(b, b, port) as channel:
            # The one root without peers is the node's own certificate.
            assert await called(channel) == "UNAUTHENTICATED stranger"
        trust.pair(a.peer())
        await turn()
        async with dialled(a, b, port) as channel:
            streams = [Stream(channel) for _ in range(3)]
            assert [(await stream.beat()).beat for stream in streams] == [1, 1, 1]
            trust.unpair(a.id)
            assert [await stream.end() for stream in streams] == ["UNAUTHENTICATED revoked"] * 3
            assert await called(channel) == "UNAUTHENTICATED stranger"
        async with dialled(a, b, port) as channel:
            assert await called(channel) == UNAVAILABLE
        assert trust.reasons == {"stranger": 2, "revoked": 3}


@scenario
async def test_a_replaced_key_is_cut_off_at_once() -> None:
    a, new, b = person(), person(), person()
    trust = TrustTwin(a.peer())
    async with serving(b, trust, limits=STILL) as port:
        async with dialled(a, b, port) as channel:
            stream = Stream(channel)
            await stream.beat()
            trust.pair(replace(a.peer(), spki=new.spki, certificate=new.certificate))
            assert await stream.end() == "UNAUTHENTICATED revoked"
        async with dialled(new, b, port) as channel:
            assert await called(channel) == "ok"


@scenario
async def test_a_revoked_grant_shows_in_a_beat_at_once() -> None:
    a, b, other = person(), person(), person()
    trust = TrustTwin(a.peer(given=frozenset({Grant.REQUEST, Grant.MIRROR_PANEL})), other.peer())
    async with serving(b, trust, limits=STILL) as port:
        async with dialled(a, b, port) as channel:
            stream = Stream(channel)
            assert list((await stream.beat()).grants) == ["mirror-panel", "request"]
            # What changes for another peer is no news here.
            trust.give(other.id, Grant.REQUEST)
            trust.give(a.id, Grant.REQUEST)
            after = await stream.beat()
            assert (after.beat, list(after.grants)) == (2, ["request"])


@scenario
async def test_a_message_that_is_too_large_is_refused_by_name() -> None:
    a, b = person(), person()
    trust = TrustTwin(a.peer())
    async with serving(b, trust) as port:
        async with dialled(a, b, port) as channel:
            for size in (Limits().mesh_message_bytes + 1, 2 << 20):
                assert await called(channel, message=bytes(size)) == "RESOURCE_EXHAUSTED"
            await until(lambda: trust.reasons == {"oversized": 2})
            assert await called(channel) == "ok"


@pytest.mark.parametrize("method", ["Greet", "Attend", "Rekey"])
def test_messages_by_chance_are_refused_as_malformed(method: str) -> None:
    @scenario
    async def run() -> None:
        a, b, chance = person(), person(), random.Random(7)  # noqa: S311
        trust = TrustTwin(a.peer())
        async with serving(b, trust) as port:
            async with dialled(a, b, port) as channel:
                for _ in range(80):
                    data = chance.randbytes(chance.randrange(40))
                    told = await called(channel, f"/node.wire.v1.MeshService/{method}", data)
                    assert told == "INVALID_ARGUMENT invalid_argument", data
                assert await called(channel) == "ok"
        assert trust.reasons == {"malformed": 80}
        assert trust.keys == []

    run()
