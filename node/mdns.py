"""mDNS as nodes speak it: what one packet says of which node, and the questions they ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, TypeAlias

from zeroconf import (  # type: ignore[attr-defined]
    DNSAddress,
    DNSOutgoing,
    DNSPointer,
    DNSQuestion,
    DNSRecord,
    DNSService,
    DNSText,
    RecordUpdate,
    RecordUpdateListener,
    Zeroconf,
)

from node.core.lan import Interface, is_link_local_v6
from node.core.sightings import Heard, is_instance

Record: TypeAlias = DNSRecord
Question: TypeAlias = DNSOutgoing

SERVICE: Final = "_heliograph._tcp.local."
# How long a record of ours holds (RFC 6762, 10).
TTL_S: Final = 4_500
_QUERY, _IN = 0, 1
_A, _PTR, _TXT, _AAAA, _SRV = 1, 12, 16, 28, 33


class Ear(RecordUpdateListener):
    """Hears every record that comes in, and those that run out; `take` gets them with the time in milliseconds."""

    def __init__(self, take: Callable[[Iterable[Record], float], None]) -> None:
        self._take = take

    def async_update_records(self, zc: Zeroconf, now: float, records: list[RecordUpdate]) -> None:  # noqa: ARG002
        """All records of one packet. Implements RecordUpdateListener."""
        self._take((update.new for update in records), now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """What one packet says: of whom what, who left, and how many of its records make no sense."""

    heard: tuple[Heard, ...]
    left: tuple[str, ...]
    ignored: int


def host(instance: str) -> str:
    """The name that a node's addresses stand under. It says nothing of the machine's."""
    return f"{instance}.local."


def sort(records: Iterable[Record], *, now_ms: float, on: Sequence[Interface]) -> Packet:
    """The records of one packet by the node that they are about; `on` are the interfaces that it can have come by."""
    sorting = _Sorting(scopes={one.index: one.name for one in on})
    for record in records:
        sorting.add(record, expired=record.is_expired(now_ms))
    heard = (
        Heard(instance=instance, port=parts.port, text=parts.text, addresses=tuple(parts.addresses))
        for instance, parts in sorting.parts.items()
    )
    return Packet(heard=tuple(heard), left=tuple(sorting.left), ignored=sorting.ignored)


def who_is_there(*, unicast: bool, known: Iterable[str]) -> Question:
    """Asks all nodes but the `known` ones to say that they are there, to everybody or to this node alone."""
    out = _asking([(SERVICE, _PTR)], unicast=unicast)
    for instance in known:
        out.add_answer_at_time(DNSPointer(SERVICE, _PTR, _IN, TTL_S, f"{instance}.{SERVICE}"), 0)
    return out


def questions_about(instance: str, *, unicast: bool) -> Question:
    """Asks one node for all that it says of itself."""
    name = f"{instance}.{SERVICE}"
    return _asking(
        [(name, _SRV), (name, _TXT), (host(instance), _A), (host(instance), _AAAA)],
        unicast=unicast,
    )


@dataclass(slots=True)
class _Parts:
    port: int | None = None
    text: bytes | None = None
    addresses: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Sorting:
    scopes: dict[int, str]
    parts: dict[str, _Parts] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    ignored: int = 0

    def add(self, record: Record, *, expired: bool) -> None:
        """One more record. When a pointer has run out, its node has left; other records say nothing by that."""
        if isinstance(record, DNSPointer):
            if record.key == SERVICE:
                self._add_pointer(_label(record.alias.lower(), SERVICE), expired=expired)
        elif expired:
            return
        elif isinstance(record, DNSAddress):
            if is_instance(name := _label(record.key, "local.")):
                self._of(name).addresses.append(self._literal(record))
        elif isinstance(record, DNSService | DNSText) and (instance := _label(record.key, SERVICE)):
            self._add_details(instance, record)

    def _add_pointer(self, instance: str, *, expired: bool) -> None:
        if expired:
            self.left.append(instance)
        elif instance:
            self._of(instance)
        else:
            self.ignored += 1

    def _add_details(self, instance: str, record: DNSService | DNSText) -> None:
        if isinstance(record, DNSText):
            self._of(instance).text = record.text
        elif record.server_key == host(instance):
            self._of(instance).port = record.port
        else:
            self.ignored += 1

    def _of(self, instance: str) -> _Parts:
        return self.parts.setdefault(instance, _Parts())

    def _literal(self, record: DNSAddress) -> str:
        address = str(ip_address(record.address))
        if ":" not in address or not is_link_local_v6(address):
            return address
        scope = self.scopes.get(record.scope_id or 0, "")
        if not scope and len(self.scopes) == 1:
            # It came in by IPv4, which does not say where; there is but one place.
            (scope,) = self.scopes.values()
        return f"{address}%{scope}" if scope else address


def _asking(questions: Iterable[tuple[str, int]], *, unicast: bool) -> Question:
    out = DNSOutgoing(_QUERY)
    for name, kind in questions:
        question = DNSQuestion(name, kind, _IN)
        question.unicast = unicast
        out.add_question(question)
    return out


def _label(name: str, of: str) -> str:
    """What stands before `of` in a name, when that is one label; empty otherwise."""
    label, dot, rest = name.partition(".")
    return label if dot and rest == of else ""
