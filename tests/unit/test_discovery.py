"""Discovery with the real library on a loopback of its own: what is said and heard, and what may happen to it."""

from __future__ import annotations

import asyncio
import gc
import getpass
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest
import zeroconf
from zeroconf import DNSIncoming
from zeroconf.asyncio import AsyncZeroconf

from node.config import MeshConfig
from node.core.lan import Interface
from node.core.limits import Limits
from node.core.sightings import text_of
from node.platform import interfaces
from node.platform.local_network import PORT
from tests.discovery_stage import LOOP, A, B, C, Node, Wire, announcement, loopback, node, scenario
from tests.waiting import until


@scenario
async def test_two_nodes_find_each_other_and_say_goodbye() -> None:
    async with node(A, port=4354) as one, node(B, port=4355) as other:
        await one.hears(B, "127.0.0.1:4355")
        await other.hears(A, "127.0.0.1:4354")
        assert set(one.discovery.sightings()) == {B[:16]}
        (sighting,) = other.discovery.sightings().values()
        assert (sighting.prefix, sighting.version, sighting.name) == (A[:16], "0.1.0", "")
        state = one.discovery.state()
        assert (state.on, state.why, state.interfaces, state.announced) == (True, "", (LOOP,), True)
        await other.stop()
        await one.hears(B)
        assert one.discovery.sightings() == {}
        assert other.discovery.state().announced is False


@scenario
async def test_who_starts_anew_under_its_name_is_heard_anew() -> None:
    async with node(A) as one:
        async with node(B, port=4355):
            await one.hears(B, "127.0.0.1:4355")
        await one.hears(B)
        async with node(B, port=4356):
            await one.hears(B, "127.0.0.1:4356")


@scenario
async def test_the_network_learns_nothing_but_fingerprint_version_and_where() -> None:
    with Wire() as wire:
        async with node(A), node(C, port=4356, config=MeshConfig(interfaces=(LOOP,), announce_name=True)) as named:
            await named.announced()
            await until(lambda: any(b"Ada's Mac" in packet for packet in wire.packets), "the name, where it is told")
        of_a = [packet for packet in wire.packets if A[:16].encode() in packet and C[:16].encode() not in packet]
        assert of_a
        assert not any(b"Ada" in packet for packet in of_a)
        for private in (socket.gethostname(), socket.getfqdn().partition(".")[0], getpass.getuser()):
            assert not any(private.encode() in packet for packet in wire.packets)
        for packet in of_a:
            texts = [answer.text for answer in DNSIncoming(packet).answers() if hasattr(answer, "text")]
            assert set(texts) <= {text_of(A[:16], "0.1.0", "")}


@scenario
async def test_a_node_that_does_not_listen_only_hears() -> None:
    async with node(A, port=None) as mute, node(B, port=4355) as other:
        await mute.hears(B, "127.0.0.1:4355")
        assert mute.discovery.state().announced is False
        assert await other.discovery.refresh(A[:16], 0.2) is None
        assert other.ears.said == []


@scenario
async def test_it_can_be_switched_off() -> None:
    with Wire() as wire:
        async with node(A, config=MeshConfig(discovery=False)) as off, node(B, port=4355) as other:
            await other.announced()
            await asyncio.wait([off.running])
            state = off.discovery.state()
            assert (state.on, state.interfaces) == (False, ())
            assert "switched off" in state.why
            assert await off.discovery.refresh(B[:16]) is None
        assert not any(A[:16].encode() in packet for packet in wire.packets)


@scenario
async def test_a_port_that_another_program_has_is_told_and_taken_when_it_is_free() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as greedy:
        greedy.bind(("", PORT))
        async with node(A) as one:
            await until(lambda: "Another program has UDP port 5353" in one.discovery.state().why, "why")
            assert one.discovery.state().on is False
            greedy.close()
            await one.announced()
            assert one.discovery.state().why == ""


@scenario
async def test_without_an_interface_it_waits_for_one_and_says_so() -> None:
    found: list[Interface] = []
    async with node(A, survey=lambda: tuple(found)) as one, node(B, port=4355) as other:
        await until(lambda: f"{LOOP} is not there" in one.discovery.state().why, "why")
        found.append(loopback())
        await other.hears(A, "127.0.0.1:4354")
        assert one.discovery.state().why == ""
        found.clear()
        await until(lambda: not one.discovery.state().on, "off again")
        found.append(loopback())
        await one.announced()


@scenario
async def test_an_unreadable_list_of_interfaces_does_not_end_it() -> None:
    broken = [True]

    def survey() -> tuple[Interface, ...]:
        if broken:
            raise OSError(5, "Input/output error")
        return (loopback(),)

    async with node(A, survey=survey) as one:
        await until(lambda: "Input/output error" in one.discovery.state().why, "why")
        broken.clear()
        await one.announced()
        broken.append(True)
        await until(lambda: not one.discovery.state().on, "off")
        broken.clear()
        await one.announced()


class Stuck(AsyncZeroconf):
    """The library on a network that goes away in the middle of each goodbye."""

    left = 0

    async def async_unregister_all_services(self) -> None:
        more = bool(self.zeroconf.registry.async_get_service_infos())
        await super().async_unregister_all_services()
        if more:
            raise OSError(101, "Network is unreachable")

    async def async_close(self) -> None:
        await super().async_close()
        Stuck.left += 1
        raise zeroconf.NotRunningException


@scenario
async def test_a_network_that_goes_away_in_a_goodbye_does_not_end_it() -> None:
    Stuck.left = 0
    found = [loopback()]
    async with node(A, survey=lambda: tuple(found), engine=Stuck) as one:
        await one.announced()
        found.clear()
        await until(lambda: f"{LOOP} is not there" in one.discovery.state().why, "why")
        assert Stuck.left == 1
        found.append(loopback())
        await one.announced()
        await one.stop()
        assert (one.running.cancelled(), Stuck.left) == (True, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: routes of a network namespace of its own")
@scenario
async def test_what_the_system_refused_is_said_again_when_it_allows_it() -> None:
    route = ("multicast", "ff00::/8", "dev", "card", "table", "local")
    for command in (
        ("link", "add", "card", "type", "veth", "peer", "name", "far"),
        ("link", "set", "card", "addrgenmode", "none"),
        ("link", "set", "far", "up"),
        ("link", "set", "card", "up"),
        ("addr", "add", "fe80::1/64", "dev", "card", "nodad"),
        ("-6", "route", "del", *route),
    ):
        subprocess.run(["ip", *command], check=True)
    config = MeshConfig(interfaces=("card",))
    looks: list[str] = []

    def survey_of(who: str) -> Callable[[], Sequence[Interface]]:
        return lambda: (looks.append(who), interfaces.interfaces())[1]

    async with (
        node(A, config=config, survey=survey_of(A)) as one,
        node(B, port=4355, config=config, survey=survey_of(B)) as other,
    ):
        for each in (one, other):
            await until(lambda at=each: "refuses multicast from fe80::1" in at.discovery.state().why, "why")
        # By the third look, which comes after all that is said at the start, it has all been said to nobody.
        await until(lambda: min(looks.count(A), looks.count(B)) >= 3, "looks")
        assert one.ears.said == other.ears.said == []
        subprocess.run(["ip", "-6", "route", "add", *route], check=True)
        await one.hears(B, "[fe80::1%card]:4355")
        await other.hears(A, "[fe80::1%card]:4354")
        await until(lambda: one.discovery.state().why == other.discovery.state().why == "", "no complaint")


@scenario
async def test_only_the_loopback_is_said_to_be_little() -> None:
    async with node(A, config=MeshConfig(), survey=lambda: (loopback(),)) as one:
        await one.announced()
        assert "Only nodes on this machine find each other" in one.discovery.state().why


@scenario
async def test_another_address_is_told_and_the_old_one_no_longer() -> None:
    here = [loopback("127.0.0.1")]
    async with node(A, survey=lambda: tuple(here)) as one, node(B, port=4355) as other:
        await other.hears(A, "127.0.0.1:4354")
        await one.announced()
        here[:] = [loopback("127.0.0.7")]
        await other.hears(A, "127.0.0.7:4354")
        answer = await other.discovery.refresh(A[:16])
        assert answer is not None
        assert "127.0.0.7:4354" in answer.addresses


@scenario
async def test_after_a_sleep_it_announces_itself_again() -> None:
    with Wire() as wire:
        async with node(A) as one:
            await one.announced()
            await until(lambda: wire.announcements() >= 3, "all announcements of the start")
            before = wire.announcements()
            one.clock.slept_s += 3_600
            await until(lambda: wire.announcements() > before, "another announcement")
            assert one.discovery.state().on


@scenario
async def test_an_address_at_which_nobody_answered_is_offered_again_when_it_is_announced_again() -> None:
    async with node(A) as one, node(B, port=4355):
        await one.hears(B, "127.0.0.1:4355")
        one.discovery.forget_address(B[:16], "127.0.0.1:4355")
        assert one.discovery.sightings() == {}
        answer = await one.discovery.refresh(B[:16], 8)
        assert answer is not None
        assert answer.addresses == ("127.0.0.1:4355",)


@scenario
async def test_a_goodbye_that_is_taken_back_at_once_was_none() -> None:
    peer = B[:16]
    with Wire() as wire:
        async with node(A) as one:
            await one.announced()
            wire.send(announcement(peer, "127.0.0.3"))
            await one.hears(B, "127.0.0.3:9")
            wire.send(announcement(peer, "127.0.0.3", ttl=0))
            wire.send(announcement(peer, "127.0.0.3", port=10))
            await one.hears(B, "127.0.0.3:10")
            wire.send(announcement(peer, "127.0.0.3", port=10, ttl=0))
            await one.hears(B)
            assert one.ears.said == [("b", ("127.0.0.3:9",)), ("b", ("127.0.0.3:10",)), ("b", ())]


@scenario
async def test_what_makes_no_sense_is_ignored_and_counted() -> None:
    with Wire() as wire:
        async with node(A) as one:
            await one.announced()
            wire.send(announcement("printer", "127.0.0.3"))
            # It would have others dial a machine of its choice.
            wire.send(announcement("d" * 16, "127.0.0.3", server="bank.local."))
            wire.send(b"\xff" * 40)
            wire.send(announcement(A[:16], "127.0.0.66"))
            wire.send(announcement(B[:16], "127.0.0.3"))
            await one.hears(B, "127.0.0.3:9")
            assert set(one.discovery.sightings()) == {B[:16]}
            assert one.discovery.state().ignored >= 2
            assert one.discovery.state().on


@scenario
async def test_ten_thousand_hostile_names_leave_memory_flat_and_peers_in_place() -> None:
    peers = {f"{n:016x}" for n in range(1, 4)}
    blank = "f" * 16
    packet = announcement(blank, "127.0.0.9")

    async def flood(one: Node, wire: Wire, *, mark: int, names: int) -> int:
        """How many blocks of memory are taken after that many names, of four records each."""
        for n in range(names):
            name = f"{mark << 40 | n:016x}"
            wire.send(packet.replace(blank.encode(), name.encode()))
            if n % 50 == 49:
                # No faster than it is taken in, or the kernel would drop what does not fit.
                await until(lambda name=name: name in one.discovery.sightings(), name, pause_s=0.001)
        one.ears.said.clear()
        wire.packets.clear()
        gc.collect()
        return sys.getallocatedblocks()

    with Wire() as wire:
        async with node(A, keep=peers.__contains__, watch_s=3_600) as one:
            await one.announced()
            for peer in peers:
                wire.send(announcement(peer, "127.0.0.3"))
            await until(lambda: peers <= one.discovery.sightings().keys(), "the peers")
            # The library remembers 10,000 records and no more.
            full = await flood(one, wire, mark=1, names=3_000)
            again = await flood(one, wire, mark=2, names=10_000)
            # Not one block for each two names.
            assert again - full < 5_000
            assert len(one.discovery.sightings()) == Limits().sightings
            assert peers <= one.discovery.sightings().keys()
            assert one.discovery.state().on
            # Who comes after them is found like anybody.
            wire.send(announcement("e" * 16, "127.0.0.4"))
            await one.hears("e", "127.0.0.4:9")
