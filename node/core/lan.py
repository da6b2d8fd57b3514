"""The local network, purely: which interfaces carry discovery, and which addresses are worth dialling first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

# Tunnels, Apple's radio links between devices, virtual machines and containers: other links than the one people mean.
# A Linux machine whose card is a port of "br0" has its address there, so that one counts; "br-" is Docker's.
_OTHERS: Final = re.compile(
    r"(?:utun|awdl|llw|anpi|ap\d|bridge|ipsec|gif|stf|ppp|tun|tap|wg|zt|tailscale|nebula"
    r"|docker|br-|veth|virbr|vmnet|vboxnet|vnic|lxc|lxd|cni|cali|flannel|podman|kube)"
)
_PRIVATE: Final = tuple(IPv4Network(net) for net in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_RESERVED: Final = tuple(IPv4Network(net) for net in ("0.0.0.0/8", "240.0.0.0/4"))
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_SCOPE_CHARS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A network interface. `addresses` are literal; an IPv6 link-local one carries its scope ("fe80::1%en0").

    `up` is switched on and, where the system tells, plugged in.
    """

    name: str
    index: int
    addresses: tuple[str, ...]
    up: bool
    multicast: bool
    point_to_point: bool
    loopback: bool


def unfit(interface: Interface) -> str:
    """Why discovery leaves the interface out when nobody named it; empty when it does not."""
    if interface.loopback:
        return "is the loopback"
    if interface.point_to_point or _OTHERS.match(interface.name):
        return "is not of the local network"
    if not interface.multicast:
        return "has no multicast"
    return _unusable(interface)


def fit(interfaces: Sequence[Interface], chosen: Collection[str]) -> tuple[Interface, ...]:
    """The interfaces for discovery, by name: those `chosen` that can be used, or all that are fit for it.

    Where none is, the loopback: nodes on one machine then still find each other.
    """
    if chosen:
        found = [one for one in interfaces if one.name in chosen and not _unusable(one)]
    else:
        found = [one for one in interfaces if not unfit(one)]
        found = found or [one for one in interfaces if one.loopback and not _unusable(one)]
    return tuple(sorted(found, key=lambda one: one.name))


def no_interface(interfaces: Sequence[Interface], chosen: Collection[str]) -> str:
    """Why `fit` has nothing, or nothing but the loopback, for the person."""
    if chosen:
        known = {one.name: one for one in interfaces}
        reasons = [f"{name} {_unusable(known[name]) if name in known else 'is not there'}" for name in chosen]
    else:
        reasons = [f"{one.name} {unfit(one)}" for one in interfaces if not one.loopback]
    told = "; ".join(sorted(reasons)[:8])
    return f"No network interface is fit for discovery ({told or 'there is none'})."


def rank(address: str, *, loopback: bool = False) -> int | None:
    """How good an address is to dial, 0 best; None for one that nobody should. Loopback only when `loopback`."""
    plain, _, scope = address.partition("%")
    try:
        parsed = ip_address(plain)
    except ValueError:
        return None
    if parsed.is_loopback:
        return 0 if loopback else None
    if parsed.is_multicast or parsed.is_unspecified:
        return None
    if isinstance(parsed, IPv4Address):
        return None if scope else _rank_v4(parsed)
    return _rank_v6(parsed, scope)


def bare(address: str) -> str:
    """The address without its scope."""
    return address.partition("%")[0]


def is_link_local_v6(address: str) -> bool:
    """Whether it means something only together with a scope."""
    return ":" in address and IPv6Address(bare(address)).is_link_local


def endpoint(address: str, port: int) -> str:
    """ "host:port" as gRPC and people write it, IPv6 in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def announced(interfaces: Iterable[Interface], most: int) -> tuple[str, ...]:
    """What a node on these interfaces says of itself: at most that many addresses without scopes, best first."""
    found = {
        bare(address): place
        for one in interfaces
        for address in one.addresses
        if (place := rank(address, loopback=one.loopback)) is not None
    }
    return tuple(sorted(found, key=lambda address: (found[address], address))[:most])


def is_any(host: str) -> bool:
    """Whether listening at `host`, a literal address or nothing, is listening at all of this machine's."""
    return not host or ip_address(host).is_unspecified


def reached(interfaces: Iterable[Interface]) -> str:
    """The best address by which another machine dials this one; empty when there is none that it could dial."""
    found = announced((one for one in interfaces if not one.loopback), 1)
    return next((address for address in found if not is_link_local_v6(address)), "")


def sources(interface: Interface) -> tuple[str, ...]:
    """From where multicast is sent on an interface: one IPv4 and one IPv6 address, as far as there are."""
    v4 = [address for address in interface.addresses if ":" not in address]
    v6 = sorted((one for one in interface.addresses if ":" in one), key=lambda one: not is_link_local_v6(one))
    # The loopback has no route for IPv6 multicast, and everything on it speaks IPv4.
    return (*v4[:1], *(() if interface.loopback and v4 else v6[:1]))


def _unusable(interface: Interface) -> str:
    if not interface.up:
        return "is down"
    return "" if interface.addresses else "has no address"


def _rank_v4(address: IPv4Address) -> int | None:
    if any(address in net for net in _RESERVED):
        return None
    if address.is_link_local:
        return 3
    return 0 if any(address in net for net in _PRIVATE) else 1


def _rank_v6(address: IPv6Address, scope: str) -> int | None:
    if address in _MAPPED:
        return None
    if not address.is_link_local:
        return None if scope else 2
    return 4 if 0 < len(scope) <= _SCOPE_CHARS else None
