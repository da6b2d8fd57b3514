"""Which interfaces carry discovery, and which addresses are dialled first."""

from __future__ import annotations

import pytest

from node.core import lan
from node.core.lan import Interface, announced, fit, no_interface, rank, sources


def card(name: str, *addresses: str, **flags: bool) -> Interface:
    given = {"up": True, "multicast": True, "point_to_point": False, "loopback": False} | flags
    return Interface(name=name, index=7, addresses=addresses or ("192.168.1.5",), **given)


LOOP = card("lo0", "127.0.0.1", "::1", multicast=False, loopback=True)


def names(*interfaces: Interface, chosen: tuple[str, ...] = ()) -> list[str]:
    return [one.name for one in fit(interfaces, chosen)]


@pytest.mark.parametrize(
    "name",
    ["utun3", "awdl0", "llw0", "bridge100", "docker0", "br-0a1b2c3d4e5f", "veth12ab", "virbr0", "tun0", "tap1", "wg0",
     "ppp0", "ipsec0", "gif0", "stf0", "anpi1", "ap1", "vmnet8", "vboxnet0", "tailscale0", "zt7nnig34", "cni0"],
)  # fmt: skip
def test_other_links_are_left_out(name: str) -> None:
    assert names(card(name), card("en0"), LOOP) == ["en0"]
    assert names(card(name), card("en0"), LOOP, chosen=(name,)) == [name]


@pytest.mark.parametrize("name", ["en0", "en7", "eth0", "wlan0", "wlp3s0", "enp0s31f6", "br0", "bond0", "eno1.20"])
def test_cards_are_taken(name: str) -> None:
    assert names(card(name), LOOP) == [name]


@pytest.mark.parametrize("flags", [{"up": False}, {"multicast": False}, {"point_to_point": True}])
def test_what_cannot_carry_it_is_left_out(flags: dict[str, bool]) -> None:
    assert names(card("en0", **flags), card("en1"), LOOP) == ["en1"]


def test_a_card_without_an_address_is_left_out_even_when_chosen() -> None:
    bare = Interface(name="en0", index=1, addresses=(), up=True, multicast=True, point_to_point=False, loopback=False)
    assert names(bare, card("en1")) == ["en1"]
    assert names(bare, card("en1"), chosen=("en0",)) == []
    assert "en0 has no address" in no_interface([bare], ["en0"])


def test_the_loopback_is_the_last_resort_unless_it_is_chosen() -> None:
    assert names(LOOP, card("utun0")) == ["lo0"]
    assert names(LOOP, card("en0")) == ["en0"]
    assert names(LOOP, card("en0"), chosen=("lo0",)) == ["lo0"]
    assert names(LOOP, card("utun0"), chosen=("en9",)) == []


def test_why_there_is_none_names_the_reasons() -> None:
    told = no_interface([card("utun0"), card("en0", up=False), LOOP], [])
    assert "en0 is down" in told
    assert "utun0 is not of the local network" in told
    assert "lo0" not in told
    assert "en9 is not there" in no_interface([card("en0")], ["en9"])


def test_private_ipv4_is_dialled_first_and_link_local_last() -> None:
    order = ["192.168.1.5", "203.0.113.9", "fd00::5", "169.254.1.1", "fe80::1%en0"]
    places = [rank(address) for address in order]
    assert places == sorted(place for place in places if place is not None)
    assert len(set(places)) == len(order)
    assert rank("10.0.0.1") == rank("172.31.0.1") == rank("192.168.0.1")
    assert rank("2001:db8::1") == rank("fd00::5")
    assert rank("172.32.0.1") == rank("203.0.113.9")


@pytest.mark.parametrize(
    "address",
    ["", "en0", "127.0.0.1", "::1", "0.0.0.1", "0.1.2.3", "224.0.0.251", "255.255.255.255", "240.0.0.1", "::",
     "ff02::fb", "fe80::1", "fe80::1%", "fe80::1%" + "x" * 40, "::ffff:10.0.0.1", "10.0.0.1%en0", "fd00::1%en0",
     "10.0.0.1:80", "host.local", "1.2.3"],
)  # fmt: skip
def test_what_nobody_should_dial(address: str) -> None:
    assert rank(address) is None


def test_the_loopback_is_dialled_on_the_loopback_only() -> None:
    assert rank("127.0.0.1", loopback=True) == rank("::1", loopback=True) == 0


def test_a_node_says_its_best_addresses_without_scopes() -> None:
    two = [card("en0", "fe80::1%en0", "fd00::5", "192.168.1.5"), card("en1", "fe80::1%en1", "10.0.0.2")]
    assert announced(two, 8) == ("10.0.0.2", "192.168.1.5", "fd00::5", "fe80::1")
    assert announced(two, 2) == ("10.0.0.2", "192.168.1.5")
    assert announced([LOOP], 8) == ("127.0.0.1", "::1")


def test_multicast_leaves_from_one_address_of_each_family() -> None:
    assert sources(card("en0", "192.168.1.5", "192.168.1.6", "fd00::5", "fe80::1%en0")) == (
        "192.168.1.5",
        "fe80::1%en0",
    )
    assert sources(card("en0", "fd00::5")) == ("fd00::5",)
    assert sources(LOOP) == ("127.0.0.1",)


def test_addresses_as_people_write_them() -> None:
    assert lan.endpoint("10.0.0.1", 4354) == "10.0.0.1:4354"
    assert lan.endpoint("fe80::1%en0", 4354) == "[fe80::1%en0]:4354"
    assert lan.bare("fe80::1%en0") == "fe80::1"
