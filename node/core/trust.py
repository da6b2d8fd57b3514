"""Rules of the trust records: what a peer is called, where it is dialled, and which peer is meant."""

from __future__ import annotations

import base64
import ipaddress
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape_to_width
from node.core.ids import PREFIX_MINIMUM
from node.core.mesh import Peer
from node.core.policy import NICKNAME_MAX, clean_nickname, nickname_key, nickname_skeleton

_SHOWN: Final = 12
_HIGHEST_PORT: Final = 65_535

_is_prefix = re.compile(rf"[a-z2-7]{{{PREFIX_MINIMUM},52}}", re.ASCII).fullmatch
_GAPS: Final = re.compile(r"[\s-]+", re.ASCII)
_CHECKED_EVERY: Final = 14
_SHOWN_LENGTH: Final = 56
_is_scope = re.compile(r"[A-Za-z0-9_.-]{1,15}", re.ASCII).fullmatch
_BRACKETED: Final = re.compile(r"\[([^\[\]]+)\]:([0-9]{1,5})", re.ASCII)
_PLAIN: Final = re.compile(r"([^:\[\]]+):([0-9]{1,5})", re.ASCII)


def node_id_of(spki: str) -> str:
    """The node id that belongs to a pin (64 hex digits): the same hash as 52 lowercase base32 characters."""
    return base64.b32encode(bytes.fromhex(spki)).decode("ascii").lower().rstrip("=")


def check_name(wanted: str, peers: Iterable[Peer], *, for_peer: str) -> str:
    """The name that a person gives a peer, made of what a nickname is made of; ALREADY_EXISTS names who has it."""
    name = clean_nickname(wanted)
    for peer in peers:
        if peer.id != for_peer and nickname_key(peer.name) == nickname_key(name):
            raise MeshError(
                ErrorCode.ALREADY_EXISTS,
                f"{name} is the name of another peer ({peer.id[:_SHOWN]}). Choose another, or rename that one first.",
                {"holder": peer.id},
            )
    return name


def proposed_name(proposal: str, peer_id: str, peers: Iterable[Peer]) -> str:
    """A name for a new peer from what a stranger calls itself: its letters, and unlike every other peer's name."""
    looks = {nickname_skeleton(peer.name) for peer in peers}
    plain = "".join(ch if _fits(ch) else "-" for ch in unicodedata.normalize("NFC", proposal[: 4 * NICKNAME_MAX]))
    stem = re.sub("-{2,}", "-", plain).strip("-._")[:NICKNAME_MAX].rstrip("-._")
    try:
        stem = clean_nickname(stem)
    except MeshError:
        stem = f"node-{peer_id[:PREFIX_MINIMUM]}"
    room = NICKNAME_MAX - 5
    for name in (stem, *(f"{stem[:room]}-{number}" for number in range(2, 100)), f"node-{peer_id[:24]}"):
        if nickname_skeleton(name) not in looks:
            return name
    return f"node-{peer_id[-24:]}"


def _fits(character: str) -> bool:
    return character in "._-" or unicodedata.category(character)[0] == "L" or unicodedata.category(character) == "Nd"


def parse_address(text: str) -> str:
    """An address to dial in its one form, "host:port" or "[v6]:port"; INVALID_ARGUMENT unless it is a literal one.

    Host names are refused: the TLS library asks its own resolver, which knows neither a VPN's names nor ".local".
    """
    match = _BRACKETED.fullmatch(text.strip()) or _PLAIN.fullmatch(text.strip())
    if match is None:
        raise _no_address(text, "is not an IP address with a port")
    host, _, scope = match[1].partition("%")
    port = int(match[2])
    try:
        ip: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(host)
    except ValueError as error:
        raise _no_address(text, "is not an IP address with a port") from error
    bracketed = match.re is _BRACKETED
    if isinstance(ip, ipaddress.IPv6Address) != bracketed or (not bracketed and match[1] != host):
        raise _no_address(text, "is not an IP address with a port")
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if not 1 <= port <= _HIGHEST_PORT:
        raise _no_address(text, f"has a port that is not 1 to {_HIGHEST_PORT}")
    if ip.is_unspecified or ip.is_multicast or ip == ipaddress.IPv4Address("255.255.255.255"):
        raise _no_address(text, "is not the address of one machine")
    if isinstance(ip, ipaddress.IPv4Address):
        return f"{ip}:{port}"
    if ip.is_link_local != bool(scope) or (scope and _is_scope(scope) is None):
        raise _no_address(text, "must name its interface if it begins with fe80, and else none")
    return f"[{ip}{'%' if scope else ''}{scope}]:{port}"


def _no_address(text: str, why: str) -> MeshError:
    return MeshError(
        ErrorCode.INVALID_ARGUMENT,
        f"{escape_to_width(text, 60)!r} {why}. Write it as 192.168.1.20:4354, [fd00::20]:4354 or [fe80::20%en0]:4354; "
        "`helio peers` on the other machine shows its port.",
    )


def plain_id(text: str) -> str:
    """An id, or the beginning of one, as it is kept, of the same as it is shown: grouped, every 14th a check character.

    The check characters are left out unread.
    """
    bare = _GAPS.sub("", text).lower()
    shown = len(bare) == _SHOWN_LENGTH or (len(bare) >= _CHECKED_EVERY and _GAPS.search(text.strip()) is not None)
    return "".join(ch for at, ch in enumerate(bare, start=1) if at % _CHECKED_EVERY) if shown else bare


def with_address(addresses: Sequence[str], first: str, limit: int) -> tuple[str, ...]:
    """`addresses` with `first` before the others, at most `limit` of them."""
    return (first, *(address for address in addresses if address != first))[:limit]


def find_peer(wanted: str, peers: Sequence[Peer], *, read_id: Callable[[str], str]) -> Peer:
    """The one peer of that name, @name, id or beginning of an id; `read_id` takes an id as it is shown to people.

    NOT_FOUND lists the names, AMBIGUOUS the peers that were meant.
    """
    text = wanted.strip()
    key = nickname_key(text.removeprefix("@"))
    named = next((peer for peer in peers if nickname_key(peer.name) == key), None)
    begun: list[Peer] = []
    if not text.startswith("@"):
        prefix = _prefix(text, read_id, named=named is not None)
        begun = [peer for peer in peers if peer.id.startswith(prefix)] if _is_prefix(prefix) else []
    found = {peer.id: peer for peer in ([named] if named is not None else []) + begun}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        # A stranger proposes its own name: it must not take over what is meant for another's id.
        choices = tuple(f"{peer.name} ({peer.id[:_SHOWN]})" for peer in found.values())[:8]
        raise MeshError(
            ErrorCode.AMBIGUOUS,
            f"{escape_to_width(text, 40)} names {len(found)} peers: {', '.join(choices)}. Write @ before a name, or "
            "more of the id.",
            {"choices": choices},
        )
    names = tuple(sorted(peer.name for peer in peers)[:_SHOWN])
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"No peer is called {escape_to_width(text, 40)}. Peers: {', '.join(names) or 'none yet'}. `helio peers` shows "
        "them; `helio pair` adds one.",
        {"choices": names},
    )


def _prefix(text: str, read_id: Callable[[str], str], *, named: bool) -> str:
    """What `text` is as an id; what is wrong with it as one does not matter when it is a name."""
    try:
        return read_id(text)
    except MeshError:
        if named:
            return ""
        raise
