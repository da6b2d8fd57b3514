"""What the local network says of nodes: a table that nobody on the network can make large, pure.

Everything in it is claimed, by anybody. It is a hint where to dial; who answers there is proven by the pinned key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from node.core.escape import escape_to_width
from node.core.lan import bare, endpoint, is_link_local_v6, rank
from node.core.limits import Limits
from node.core.mesh import Sighting

PREFIX_CHARS: Final = 16
TEXT_BYTES: Final = 400
NAME_CHARS: Final = 64
_PREFIX: Final = re.compile(r"[0-9a-f]{16}\Z")
_VERSION: Final = re.compile(r"[0-9A-Za-z.+-]{1,32}\Z")
_SECOND_US: Final = 1_000_000
_SILENCE_US: Final = 5_000_000
_ASKS: Final = 3


def is_instance(label: str) -> bool:
    """Whether a label can be of a node: the first 16 hex digits of its key's fingerprint."""
    return _PREFIX.match(label) is not None


def text_of(prefix: str, version: str, name: str) -> bytes:
    """The TXT record of a node, `name` only if it is to be told: strings of at most 255 bytes after their lengths."""
    pairs = [f"v={version}".encode()[:255], f"f={prefix}".encode()]
    if name:
        pairs.append(b"n=" + _cut(name, NAME_CHARS * 3))
    return b"".join(bytes((len(pair),)) + pair for pair in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a TXT record claims."""

    version: str
    name: str


def claims(instance: str, text: bytes) -> Claims | None:
    """What the TXT record of that instance claims; None when it is not one of a node, or another one's."""
    if len(text) > TEXT_BYTES:
        return None
    found: dict[bytes, bytes] = {}
    place = 0
    while place < len(text):
        size = text[place]
        key, _, value = text[place + 1 : place + 1 + size].partition(b"=")
        found.setdefault(key, value)
        place += 1 + size
    version = found.get(b"v", b"").decode("ascii", "replace")
    if place != len(text) or found.get(b"f") != instance.encode() or not _VERSION.match(version):
        return None
    name = found.get(b"n", b"").decode("utf-8", "replace")
    return Claims(version=version, name=escape_to_width(name, NAME_CHARS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one packet says of one instance; what it does not say is None or empty.

    `addresses` are literal IPs, an IPv6 link-local one with the scope of the interface it was heard on, if known.
    """

    instance: str
    port: int | None = None
    text: bytes | None = None
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    whole: str
    rank: int
    heard_us: int


def _nowhere() -> dict[str, _Place]:
    return {}


@dataclass(slots=True)
class _Entry:
    port: int | None = None
    claims: Claims | None = None
    # By the bare address.
    places: dict[str, _Place] = field(default_factory=_nowhere)
    shown: Sighting | None = None
    heard_us: int = 0
    seen_us: int = 0
    asked: int = 0


class SightingTable:
    """At most `limits.sightings` nodes, each with at most `limits.peer_addresses` addresses.

    The newest win, but a stranger never displaces one that `keep` is true of. `own` is never taken in. `now_us`
    counts through sleep and does not jump; `wall_us` is what people are shown.
    """

    def __init__(self, *, own: str, limits: Limits, keep: Callable[[str], bool], loopback: bool = False) -> None:
        self._own = own
        self._limits = limits
        self._keep = keep
        self.loopback = loopback
        self._entries: dict[str, _Entry] = {}
        self.ignored = 0

    def __len__(self) -> int:
        return len(self._entries)

    def hear(self, heard: Heard, *, now_us: int, wall_us: int) -> bool:
        """Take in what was heard; whether it is news: what is shown changed, or it was silent for a while."""
        alone = heard.addresses and heard.port is None and heard.text is None
        if heard.instance == self._own or (alone and heard.instance not in self._entries):
            return False
        told = claims(heard.instance, heard.text) if heard.text is not None else None
        if (
            not is_instance(heard.instance)
            or (heard.text is not None and told is None)
            or (heard.port is not None and not 0 < heard.port < 65_536)
        ):
            self.ignored += 1
            return False
        entry = self._entry(heard.instance)
        if entry is None:
            return False
        before = entry.shown
        silent = heard.port is not None and entry.heard_us < now_us - _SILENCE_US
        entry.port = heard.port if heard.port is not None else entry.port
        entry.claims = told or entry.claims
        self._take_addresses(entry, heard, now_us)
        entry.heard_us, entry.seen_us = now_us, wall_us
        entry.shown = _shown(heard.instance, entry)
        return _told(before) != _told(entry.shown) or (silent and entry.shown is not None)

    def gone(self, instance: str) -> bool:
        """It said goodbye; whether it was shown."""
        entry = self._entries.pop(instance, None)
        return entry is not None and entry.shown is not None

    def forget(self, instance: str, address: str) -> bool:
        """Nobody answered at that "host:port": not shown until it is announced again. Whether it was shown."""
        entry = self._entries.get(instance)
        if entry is None or entry.port is None:
            return False
        found = [key for key, place in entry.places.items() if endpoint(place.whole, entry.port) == address]
        for key in found:
            del entry.places[key]
        entry.shown = _shown(instance, entry)
        return bool(found)

    def expire(self, before_us: int) -> tuple[str, ...]:
        """Drop what was last heard before then; the instances that are shown no longer."""
        old = [name for name, entry in self._entries.items() if entry.heard_us < before_us]
        return tuple(name for name in old if self.gone(name))

    def incomplete(self, most: int) -> tuple[str, ...]:
        """Instances of which too little is known, to be asked for, each a few times only; those to keep first."""
        lacking = [name for name, entry in self._entries.items() if entry.asked < _ASKS and entry.shown is None]
        chosen = sorted(lacking, key=lambda name: not self._keep(name))[:most]
        for name in chosen:
            self._entries[name].asked += 1
        return tuple(chosen)

    def sighting(self, instance: str) -> Sighting | None:
        """What is shown of one instance."""
        entry = self._entries.get(instance)
        return entry.shown if entry is not None else None

    def shown(self) -> dict[str, Sighting]:
        """All of which enough is known to dial them, heard last first."""
        newest_first = reversed(self._entries.items())
        return {name: entry.shown for name, entry in newest_first if entry.shown is not None}

    def _entry(self, instance: str) -> _Entry | None:
        """The entry, now the newest; a new one takes the place of the oldest stranger."""
        entry = self._entries.pop(instance, None)
        if entry is None:
            if len(self._entries) >= self._limits.sightings and not self._make_room(instance):
                return None
            entry = _Entry()
        self._entries[instance] = entry
        return entry

    def _make_room(self, instance: str) -> bool:
        oldest = next((name for name in self._entries if not self._keep(name)), None)
        if oldest is None and self._keep(instance):
            oldest = next(iter(self._entries))
        if oldest is None:
            return False
        del self._entries[oldest]
        return True

    def _take_addresses(self, entry: _Entry, heard: Heard, now_us: int) -> None:
        if heard.port is not None and heard.addresses:
            # With the port come all addresses that the node has: what it had before it has no longer. The same
            # packet comes in once for each interface.
            entry.places = {k: place for k, place in entry.places.items() if place.heard_us > now_us - _SECOND_US}
        for address in heard.addresses:
            key, known = bare(address), entry.places.get(bare(address))
            whole = known.whole if known is not None and key == address else address
            worth = rank(whole, loopback=self.loopback)
            if worth is not None:
                entry.places[key] = _Place(whole=whole, rank=worth, heard_us=now_us)
            elif not _lacks_scope(whole):
                self.ignored += 1
        most = self._limits.peer_addresses
        if len(entry.places) > most:
            entry.places = {bare(place.whole): place for place in _best_first(entry)[:most]}


def _best_first(entry: _Entry) -> list[_Place]:
    return sorted(entry.places.values(), key=lambda place: (place.rank, -place.heard_us, place.whole))


def _shown(instance: str, entry: _Entry) -> Sighting | None:
    if entry.port is None or entry.claims is None or not entry.places:
        return None
    return Sighting(
        prefix=instance,
        version=entry.claims.version,
        addresses=tuple(endpoint(place.whole, entry.port) for place in _best_first(entry)),
        seen_us=entry.seen_us,
        name=entry.claims.name,
    )


def _told(sighting: Sighting | None) -> tuple[Sequence[str], str, str] | None:
    return None if sighting is None else (sighting.addresses, sighting.version, sighting.name)


def _lacks_scope(address: str) -> bool:
    """An address that leads nowhere without a scope, which is not the fault of who sent it."""
    try:
        return "%" not in address and is_link_local_v6(address)
    except ValueError:
        return False


def _cut(text: str, size: int) -> bytes:
    """The longest beginning of the text that has at most `size` bytes in UTF-8."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore").encode()
