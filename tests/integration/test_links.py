"""Links on real sockets: how they come up, what takes them down, what they say then, and how they come back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.mesh import Grant, Link, LinkState, NodeKey
from node.core.rotation import Step
from node.ports import Entropy
from node.rpc_client import LinkKeeper
from tests.integration.mesh import refused, scenario
from tests.peer_twin import Person, ShiftedClock, TrustTwin, person, serving
from tests.waiting import until

QUICK = Limits(link_beat_s=1, link_dead_s=2, link_retry_s=1, link_dial_s=1)
PATIENT = replace(QUICK, link_retry_s=600)
REQUEST, PANEL = frozenset({Grant.REQUEST}), frozenset({Grant.MIRROR_PANEL})


@asynccontextmanager
async def keeping(
    who: Person | tuple[NodeKey, ...],
    trust: TrustTwin,
    *,
    limits: Limits = QUICK,
    clock: ShiftedClock | None = None,
    entropy: Entropy = os.urandom,
) -> AsyncIterator[LinkKeeper]:
    """A keeper at work, which wants all peers; `who` may be a node's keys, oldest first."""
    own = (who.own,) if isinstance(who, Person) else who
    keeper = LinkKeeper(own=own, book=trust, clock=clock or ShiftedClock(), entropy=entropy, limits=limits)
    keeper.wanted(trust.peers())
    async with asyncio.TaskGroup() as group:
        work = group.create_task(keeper.run())
        yield keeper
        work.cancel()


async def reached(keeper: LinkKeeper, peer_id: str, state: LinkState, *words: str) -> Link:
    """The link once it is in that state and says those words; a link that is not up always says why."""

    def look() -> Link | None:
        link = keeper.link(peer_id)
        return link if link.state is state and all(word in link.why for word in words) else None

    link = await until(look, f"{state} {words}", seconds=8)
    assert bool(link.why) is (state is not LinkState.UP)
    return link


class Patience:
    """Draws no pause at all for some times, and the longest there is from then on."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self, size: int) -> bytes:
        self.drawn += 1
        return bytes(size) if self.drawn <= 8 else b"\xff" * size

    async def exhausted(self) -> None:
        await until(lambda: self.drawn > 8, "a long pause")


class Wire:
    """A stretch of network in the middle, which can go dead without a word. `through` counts connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.open = asyncio.Event()
        self.open.set()
        self.through = 0

    @asynccontextmanager
    async def lying(self) -> AsyncIterator[str]:
        """Its address."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        try:
            yield f"{host}:{port}"
        finally:
            self.open.set()
            server.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.through += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._carry(reader, back))
            group.create_task(self._carry(there, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self.open.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            return
        finally:
            writer.close()


@scenario
async def test_a_link_comes_up_and_says_how_it_is_secured() -> None:
    a, b = person(), person()
    at_b = TrustTwin(a.peer(given=REQUEST))
    async with serving(b, at_b, limits=QUICK) as port:
        at_a = TrustTwin(b.peer(f"127.0.0.1:{port}"))
        async with keeping(a, at_a) as keeper:
            link = await reached(keeper, b.id, LinkState.UP)
            assert (link.address, link.tls, link.group) == (f"127.0.0.1:{port}", "TLSv1.3", "X25519MLKEM768")
            assert link.rtt_us is not None
            assert 0 < link.rtt_us < 1_000_000
            assert await until(lambda: at_a.got, "grants") == [(b.id, REQUEST)]
            assert list(dict.fromkeys(at_a.addresses)) == [(b.id, f"127.0.0.1:{port}")]
            assert keeper.link(a.id).state is LinkState.OFF
        assert keeper.link(b.id).state is LinkState.OFF
    assert at_b.rows == []


@scenario
async def test_the_server_restarts_and_the_link_is_back() -> None:
    a, b = person(), person()
    at_b = TrustTwin(a.peer())
    async with AsyncExitStack() as run:
        port = await run.enter_async_context(serving(b, at_b, limits=QUICK))
        async with keeping(a, TrustTwin(b.peer(f"127.0.0.1:{port}"))) as keeper:
            await reached(keeper, b.id, LinkState.UP)
            await run.aclose()
            away = await reached(keeper, b.id, LinkState.DOWN, f"nothing listens at 127.0.0.1:{port}")
            assert (away.rtt_us, away.tls) == (None, "")
            async with serving(b, at_b, limits=QUICK, port=port):
                back = await reached(keeper, b.id, LinkState.UP)
                assert back.since_us > away.since_us


@scenario
async def test_a_peer_that_moved_is_found_by_a_hint() -> None:
    a, b, squatter = person(), person(), person()
    patience = Patience()
    async with (
        serving(squatter, TrustTwin(), limits=QUICK) as old,
        serving(b, TrustTwin(a.peer()), limits=QUICK) as port,
    ):
        at_a = TrustTwin(b.peer(f"127.0.0.1:{old}"))
        async with keeping(a, at_a, limits=PATIENT, entropy=patience) as keeper:
            await reached(keeper, b.id, LinkState.REFUSED, "another key answers")
            await patience.exhausted()
            keeper.hint(b.id, ["nowhere", f"127.0.0.1:{port}"])
            await reached(keeper, b.id, LinkState.UP)
            assert list(dict.fromkeys(at_a.addresses)) == [(b.id, f"127.0.0.1:{port}")]


@scenario
async def test_an_address_that_a_person_adds_is_tried_at_once() -> None:
    a, b, squatter = person(), person(), person()
    patience = Patience()
    async with (
        serving(squatter, TrustTwin(), limits=QUICK) as old,
        serving(b, TrustTwin(a.peer()), limits=QUICK) as port,
    ):
        wrong, right = f"127.0.0.1:{old}", f"127.0.0.1:{port}"
        async with keeping(a, TrustTwin(b.peer(wrong)), limits=PATIENT, entropy=patience) as keeper:
            await patience.exhausted()
            keeper.wanted([b.peer(wrong, right)])
            await reached(keeper, b.id, LinkState.UP)


@scenario
async def test_a_peer_without_an_address_waits_for_one() -> None:
    a, b = person(), person()
    async with keeping(a, TrustTwin(b.peer())) as keeper:
        await reached(keeper, b.id, LinkState.DOWN, "no address of this node is known")
        keeper.hint(b.id, ["b.example:4354"])
        await reached(keeper, b.id, LinkState.DOWN, "is not an IP address with a port")
        keeper.hint(b.id, ["127.0.0.1:1", "127.0.0.1:2"])
        await reached(keeper, b.id, LinkState.DOWN, "nothing listens at 127.0.0.1:1", "2 addresses were tried")


@scenario
async def test_silence_takes_a_link_down_and_another_way_brings_it_back() -> None:
    a, b = person(), person()
    async with serving(b, TrustTwin(a.peer()), limits=QUICK) as port:
        wire = Wire(port)
        async with wire.lying() as address, keeping(a, TrustTwin(b.peer(address))) as keeper:
            await reached(keeper, b.id, LinkState.UP)
            clock = asyncio.get_running_loop().time
            begin = clock()
            wire.open.clear()
            await reached(keeper, b.id, LinkState.DOWN, f"no sign of life from {address} for 2 s")
            assert clock() - begin < 2 * QUICK.link_dead_s
            await reached(keeper, b.id, LinkState.DOWN, f"{address} does not answer")
            keeper.hint(b.id, [f"127.0.0.1:{port}"])
            assert (await reached(keeper, b.id, LinkState.UP)).address == f"127.0.0.1:{port}"


@scenario
async def test_beats_keep_a_link_up_for_longer_than_silence_may_last() -> None:
    a, b = person(), person()
    beating = replace(QUICK, link_dead_s=2)
    async with serving(b, TrustTwin(a.peer()), limits=beating) as port:
        async with keeping(a, TrustTwin(b.peer(f"127.0.0.1:{port}")), limits=beating) as keeper:
            up = await reached(keeper, b.id, LinkState.UP)
            clock = asyncio.get_running_loop().time
            end = clock() + 2 * beating.link_dead_s
            await until(lambda: clock() > end or keeper.link(b.id) != up)
            assert keeper.link(b.id) == up


@scenario
async def test_an_unpaired_link_is_refused_until_it_is_paired_again() -> None:
    a, b = person(), person()
    at_b = TrustTwin(a.peer())
    async with serving(b, at_b, limits=QUICK) as port:
        async with keeping(a, TrustTwin(b.peer(f"127.0.0.1:{port}"))) as keeper:
            await reached(keeper, b.id, LinkState.UP)
            at_b.unpair(a.id)
            await reached(keeper, b.id, LinkState.REFUSED, "does not know this one (unpaired there?)")
            # A link is up before its beats are asked for.
            assert at_b.reasons["revoked"] + at_b.reasons["stranger"] == 1
            await reached(keeper, b.id, LinkState.REFUSED, "ended the handshake", "unpaired there?")
            at_b.pair(a.peer())
            await reached(keeper, b.id, LinkState.UP)


@scenario
async def test_a_grant_that_changes_is_known_at_once() -> None:
    a, b = person(), person()
    at_b = TrustTwin(a.peer(given=REQUEST))
    slow = replace(QUICK, link_beat_s=60, link_dead_s=120)
    async with serving(b, at_b, limits=slow) as port:
        at_a = TrustTwin(b.peer(f"127.0.0.1:{port}"))
        async with keeping(a, at_a, limits=slow) as keeper:
            await reached(keeper, b.id, LinkState.UP)
            await until(lambda: len(at_a.got) == 1)
            at_b.give(a.id, Grant.MIRROR_PANEL)
            await until(lambda: len(at_a.got) == 2, seconds=2)
            assert [grants for _, grants in at_a.got] == [REQUEST, PANEL]


@scenario
async def test_after_a_sleep_every_channel_is_a_new_one() -> None:
    a, b, c = person(), person(), person()
    clock = ShiftedClock()
    async with AsyncExitStack() as run:
        wires = [
            Wire(await run.enter_async_context(serving(other, TrustTwin(a.peer()), limits=QUICK))) for other in (b, c)
        ]
        addresses = [await run.enter_async_context(wire.lying()) for wire in wires]
        at_a = TrustTwin(*(other.peer(address) for other, address in zip((b, c), addresses, strict=True)))
        keeper = await run.enter_async_context(keeping(a, at_a, clock=clock))
        await reached(keeper, b.id, LinkState.UP)
        await reached(keeper, c.id, LinkState.UP)
        assert [wire.through for wire in wires] == [1, 1]
        clock.ahead_us += 3_600_000_000
        await until(lambda: [wire.through for wire in wires] == [2, 2], seconds=4)
        await reached(keeper, b.id, LinkState.UP)
        await reached(keeper, c.id, LinkState.UP)


@scenario
async def test_another_key_at_the_address_is_named() -> None:
    a, b, other = person(), person(), person()
    async with serving(other, TrustTwin(a.peer()), limits=QUICK) as port:
        async with keeping(a, TrustTwin(b.peer(f"127.0.0.1:{port}"))) as keeper:
            await reached(keeper, b.id, LinkState.REFUSED, "another key answers", "not the one that was paired")


@scenario
async def test_a_peer_with_a_new_key_is_dialled_anew_and_one_not_wanted_is_left() -> None:
    a, old, new = person(), person(), person()
    at_b = TrustTwin(a.peer())
    async with AsyncExitStack() as run:
        port = await run.enter_async_context(serving(old, at_b, limits=QUICK))
        known = old.peer(f"127.0.0.1:{port}")
        async with keeping(a, TrustTwin(known)) as keeper:
            await reached(keeper, old.id, LinkState.UP)
            await run.aclose()
            async with serving(new, at_b, limits=QUICK, port=port):
                await reached(keeper, old.id, LinkState.REFUSED, "another key answers")
                keeper.wanted([replace(known, spki=new.spki, certificate=new.certificate)])
                await reached(keeper, old.id, LinkState.UP)
                keeper.wanted([])
                assert keeper.link(old.id).state is LinkState.OFF
                with refused(ErrorCode.UNAVAILABLE, "not connected", "no link to this node is wanted"):
                    keeper.channel(old.id)


@scenario
async def test_a_peer_that_holds_an_older_key_is_led_to_the_newest_one_by_one() -> None:
    """It was away while this node changed its key twice; each hand-over is told with the key that it knows."""
    first, second, third, b = person(), person(), person(), person()

    def step(of: Person) -> Step:
        return Step(certificate=of.certificate, statement=b"said", signature=b"signed")

    own = (first.own, replace(second.own, step=step(second)), replace(third.own, step=step(third)))

    class Following(TrustTwin):
        """Takes a new key for the old one, as a node does."""

        async def rekeyed(self, peer_id: str, certificate: str, statement: bytes, signature: bytes) -> None:
            await super().rekeyed(peer_id, certificate, statement, signature)
            follower = next(who for who in (second, third) if who.certificate == certificate)
            self.unpair(peer_id)
            self.pair(follower.peer())

    at_b = Following(first.peer())
    async with serving(b, at_b, limits=QUICK) as port:
        known = replace(b.peer(f"127.0.0.1:{port}"), holds=first.own.fingerprint)
        at_a = TrustTwin(known)
        async with keeping(own, at_a) as keeper:
            await until(lambda: at_a.pinned(b.spki) == replace(known, holds=third.own.fingerprint), "the newest key")
            await reached(keeper, b.id, LinkState.UP)
        assert [(peer_id, certificate) for peer_id, certificate, _, _ in at_b.keys] == [
            (first.id, second.certificate), (second.id, third.certificate),
        ]  # fmt: skip


@scenario
async def test_a_hand_over_whose_answer_was_lost_is_found_out() -> None:
    first, second, b = person(), person(), person()
    new = Step(certificate=second.certificate, statement=b"said", signature=b"signed")
    at_b = TrustTwin(second.peer())
    async with serving(b, at_b, limits=QUICK) as port:
        known = replace(b.peer(f"127.0.0.1:{port}"), holds=first.own.fingerprint)
        at_a = TrustTwin(known)
        async with keeping((first.own, replace(second.own, step=new)), at_a) as keeper:
            await reached(keeper, b.id, LinkState.UP)
        assert at_a.pinned(b.spki) == replace(known, holds=second.own.fingerprint)
        assert at_b.keys == []


@scenario
async def test_fifty_links_side_by_side() -> None:
    hub = person()
    others = [person() for _ in range(50)]
    at_hub = TrustTwin(*(other.peer() for other in others))
    roomy = replace(QUICK, link_dead_s=10, link_dial_s=5)
    async with AsyncExitStack() as run:
        port = await run.enter_async_context(serving(hub, at_hub, limits=roomy))
        keepers = [
            await run.enter_async_context(keeping(other, TrustTwin(hub.peer(f"127.0.0.1:{port}")), limits=roomy))
            for other in others
        ]
        await until(lambda: all(keeper.link(hub.id).state is LinkState.UP for keeper in keepers), "50 links")
    assert at_hub.rows == []
