"""The interfaces of this machine, and those of macOS from what its headers say."""

from __future__ import annotations

import socket
import struct
import sys

import pytest

from node.platform.interfaces import (
    DARWIN_INET6,
    DARWIN_MULTICAST,
    IFF_LOOPBACK,
    IFF_POINTOPOINT,
    IFF_RUNNING,
    IFF_UP,
    LINUX_INET6,
    LINUX_MULTICAST,
    Entry,
    assemble,
    decode_darwin,
    decode_linux,
    interfaces,
)

UP = IFF_UP | IFF_RUNNING


def test_the_loopback_of_this_machine() -> None:
    (loop,) = [one for one in interfaces() if one.loopback]
    assert loop.up
    assert "127.0.0.1" in loop.addresses
    assert loop.index == socket.if_nametoindex(loop.name)
    assert not loop.point_to_point


def test_all_addresses_of_this_machine_can_be_bound() -> None:
    for one in interfaces():
        for address in one.addresses:
            info = socket.getaddrinfo(address, 0, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)
            with socket.socket(info[0][0], socket.SOCK_DGRAM) as sock:
                sock.bind(info[0][4])


def made(*entries: Entry, darwin: bool = False, unusable: str = "") -> dict[str, tuple[bool, tuple[str, ...]]]:
    found = assemble(
        entries,
        index_of=lambda name: 0 if name == "gone0" else 7,
        usable=lambda address, _index: address != unusable,
        darwin=darwin,
    )
    return {one.name: (one.up, one.addresses) for one in found}


def test_entries_are_gathered_by_interface_and_link_local_gets_its_scope() -> None:
    found = made(
        Entry(name="eth0", flags=UP, address=None),
        Entry(name="eth0", flags=UP, address="192.168.1.5"),
        Entry(name="eth0:1", flags=UP, address="192.168.1.6"),
        Entry(name="eth0", flags=UP, address="fe80::1"),
        Entry(name="eth0", flags=UP, address="fd00::1"),
        Entry(name="gone0", flags=UP, address="10.0.0.1"),
        Entry(name="eth1", flags=IFF_UP, address=None),
    )
    assert found == {
        "eth0": (True, ("192.168.1.5", "192.168.1.6", "fe80::1%eth0", "fd00::1")),
        "eth1": (False, ()),
    }


def test_an_address_that_cannot_be_used_yet_is_left_out() -> None:
    one = Entry(name="eth0", flags=UP, address="fe80::1")
    assert made(one, unusable="fe80::1") == {"eth0": (True, ())}


@pytest.mark.parametrize(("darwin", "multicast"), [(False, LINUX_MULTICAST), (True, DARWIN_MULTICAST)])
def test_flags(*, darwin: bool, multicast: int) -> None:
    def one(flags: int) -> tuple[bool, bool, bool, bool]:
        entry = Entry(name="x0", flags=flags, address=None)
        (found,) = assemble([entry], index_of=lambda _: 1, usable=lambda *_: True, darwin=darwin)
        return found.up, found.multicast, found.point_to_point, found.loopback

    assert one(UP | multicast) == (True, True, False, False)
    assert one(UP | IFF_POINTOPOINT) == (True, False, True, False)
    assert one(IFF_LOOPBACK) == (False, False, False, True)
    # Only Linux says by its flags that the cable is out.
    assert one(IFF_UP)[0] is darwin


def test_addresses_of_linux() -> None:
    family = struct.Struct("=H")
    v4 = family.pack(2) + b"\0\0" + bytes((192, 168, 1, 5))
    v6 = family.pack(LINUX_INET6) + b"\0\0" + bytes(4) + socket.inet_pton(socket.AF_INET6, "fe80::1") + bytes(4)
    if sys.byteorder == "little":
        assert v4[:2] == b"\x02\0"
    assert decode_linux(v4) == "192.168.1.5"
    assert decode_linux(v6) == "fe80::1"
    assert decode_linux(family.pack(17) + bytes(26)) is None


def test_addresses_of_macos() -> None:
    v4 = bytes((16, 2)) + b"\0\0" + bytes((192, 168, 1, 5)) + bytes(8)
    assert decode_darwin(v4) == "192.168.1.5"

    def v6(address: str) -> bytes:
        packed = socket.inet_pton(socket.AF_INET6, address)
        return bytes((28, DARWIN_INET6)) + b"\0\0" + bytes(4) + packed + bytes(4)

    assert decode_darwin(v6("fd00::1")) == "fd00::1"
    # The kernel's own form, with the index of the interface inside.
    assert decode_darwin(v6("fe80:4::1")) == "fe80::1"
    assert decode_darwin(bytes((20, 18)) + bytes(26)) is None
