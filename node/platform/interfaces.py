"""The network interfaces of this machine, from getifaddrs(3), which Linux and macOS both have."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from node.core.lan import Interface, bare
from node.platform import IS_DARWIN

# <net/if.h>: these are the same on both; multicast is not.
IFF_UP: Final = 0x1
IFF_LOOPBACK: Final = 0x8
IFF_POINTOPOINT: Final = 0x10
IFF_RUNNING: Final = 0x40
LINUX_MULTICAST: Final = 0x1000
DARWIN_MULTICAST: Final = 0x8000
# <sys/socket.h>.
AF_INET: Final = 2
LINUX_INET6: Final = 10
DARWIN_INET6: Final = 30
# struct sockaddr_in, up to the address; struct sockaddr_in6, whole.
_V4_BYTES: Final = 8
_V6_BYTES: Final = 28


class _IfAddrs(ctypes.Structure):
    """struct ifaddrs, as far as it is the same on both."""


_IfAddrs._fields_ = [
    ("next", ctypes.POINTER(_IfAddrs)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("addr", ctypes.c_void_p),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of what getifaddrs tells: an interface, its flags, and perhaps one of its addresses, without scope."""

    name: str
    flags: int
    address: str | None


def interfaces() -> tuple[Interface, ...]:
    """All interfaces with the addresses that can be used now; OSError when the system does not say."""
    return assemble(_entries(), index_of=_index_of, usable=_usable, darwin=IS_DARWIN)


def assemble(
    entries: Iterable[Entry], *, index_of: Callable[[str], int], usable: Callable[[str, int], bool], darwin: bool
) -> tuple[Interface, ...]:
    """The interfaces that `entries` tell of; `usable` says whether a socket can be bound to an address.

    An address that is new, or a duplicate, or about to go cannot. Only Linux tells with its flags whether a cable
    is in.
    """
    found: dict[str, _Gathered] = {}
    for entry in entries:
        # "eth0:1" is a label of another address of eth0.
        name = entry.name.partition(":")[0]
        gathered = found.setdefault(name, _Gathered(flags=entry.flags))
        if entry.address is not None and entry.address not in gathered.addresses:
            gathered.addresses.append(entry.address)
    made = ((name, index_of(name), gathered) for name, gathered in found.items())
    multicast = DARWIN_MULTICAST if darwin else LINUX_MULTICAST
    needed = IFF_UP if darwin else IFF_UP | IFF_RUNNING
    return tuple(
        Interface(
            name=name,
            index=index,
            addresses=tuple(_scoped(one, name) for one in gathered.addresses if usable(one, index)),
            up=gathered.flags & needed == needed,
            multicast=bool(gathered.flags & multicast),
            point_to_point=bool(gathered.flags & IFF_POINTOPOINT),
            loopback=bool(gathered.flags & IFF_LOOPBACK),
        )
        for name, index, gathered in made
        if index
    )


def decode_linux(raw: bytes) -> str | None:
    """The address in a struct sockaddr of Linux (family, then the rest); None when it is of another family."""
    family = int.from_bytes(raw[:2], sys.byteorder)
    if family == AF_INET:
        return str(IPv4Address(raw[4:8]))
    return str(IPv6Address(raw[8:24])) if family == LINUX_INET6 else None


def decode_darwin(raw: bytes) -> str | None:
    """The address in a struct sockaddr of macOS (length, family, then the rest); None when of another family.

    The kernel keeps the scope of a link-local address inside it, in bytes that mean nothing to anybody else.
    """
    family = raw[1]
    if family == AF_INET:
        return str(IPv4Address(raw[4:8]))
    if family != DARWIN_INET6:
        return None
    packed = raw[8:24]
    if IPv6Address(packed).is_link_local:
        packed = packed[:2] + b"\0\0" + packed[4:]
    return str(IPv6Address(packed))


@dataclass(slots=True)
class _Gathered:
    flags: int
    addresses: list[str] = field(default_factory=list)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.getifaddrs.argtypes = [ctypes.POINTER(ctypes.POINTER(_IfAddrs))]
    libc.freeifaddrs.argtypes = [ctypes.POINTER(_IfAddrs)]
    libc.freeifaddrs.restype = None
    return libc


def _entries() -> list[Entry]:
    first = ctypes.POINTER(_IfAddrs)()
    if _libc().getifaddrs(ctypes.byref(first)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    try:
        found = []
        here = first
        while here:  # type: ignore[truthy-bool]  # a null pointer is false
            entry = here.contents
            found.append(Entry(name=os.fsdecode(entry.name), flags=entry.flags, address=_address(entry.addr)))
            here = entry.next
        return found
    finally:
        _libc().freeifaddrs(first)


def _address(pointer: int | None) -> str | None:
    if not pointer:
        return None
    decode, inet6 = (decode_darwin, DARWIN_INET6) if IS_DARWIN else (decode_linux, LINUX_INET6)
    head = ctypes.string_at(pointer, 2)
    family = head[1] if IS_DARWIN else int.from_bytes(head, sys.byteorder)
    size = {AF_INET: _V4_BYTES, inet6: _V6_BYTES}.get(family)
    return decode(ctypes.string_at(pointer, size)) if size is not None else None


def _index_of(name: str) -> int:
    try:
        return socket.if_nametoindex(name)
    except OSError:
        # It went away in this moment.
        return 0


def _usable(address: str, index: int) -> bool:
    v6 = ":" in address
    try:
        with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((address, 0, 0, index if IPv6Address(address).is_link_local else 0) if v6 else (address, 0))
    except OSError:
        return False
    return True


def _scoped(address: str, name: str) -> str:
    return f"{address}%{name}" if ":" in address and IPv6Address(bare(address)).is_link_local else address
