"""What a node knows of others: peers that it is paired with, what each may do, how the link to each stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from node.core.rotation import Step

# Between nodes nothing less is taken; written as the TLS library names it.
TLS: Final = "TLSv1.3"


class Grant(StrEnum):
    """What one node lets another do. Directed: what A grants to B says nothing of what B grants to A."""

    REQUEST = "request"
    MIRROR_PANEL = "mirror-panel"
    MIRROR_TIMELINE = "mirror-timeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A node that a person has paired with this one.

    `spki` is the SHA-256 (hex) of its public key, the pin that every call is held to; `certificate` is its newest
    self-signed certificate (PEM). `addresses` are literal "host:port" to dial, best first. `given` is what it may do
    here, `got` what it last said that this node may do there. Times are microseconds of UTC.

    `rotated_us` is the time in its newest statement about a new key of its own, 0 for none. `holds` is the SHA-256 of
    the text of the certificate by which it knows this node; it takes no other. `issued` is a certificate (PEM) that it
    made for this node's key, to be shown to it instead of the self-signed one; empty for none.
    """

    id: str
    name: str
    spki: str
    certificate: str
    addresses: tuple[str, ...]
    given: frozenset[Grant]
    got: frozenset[Grant]
    paired_us: int
    seen_us: int | None = None
    rotated_us: int = 0
    holds: str = ""
    issued: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """What a pairing came to: the other's certificate (PEM), what it calls itself, and what each grants the other.

    `addresses` are literal "host:port" where it may be dialled, best first.
    """

    certificate: str
    name: str
    given: frozenset[Grant]
    got: frozenset[Grant]
    addresses: tuple[str, ...] = ()


class LinkState(StrEnum):
    """How the one outbound channel to a peer stands."""

    OFF = "off"
    CONNECTING = "connecting"
    UP = "up"
    DOWN = "down"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The link to a peer: since when it is in this state, at which address, and what was measured on it.

    `tls` and `group` are as the TLS library names them ("TLSv1.3", "X25519MLKEM768"); `why` says why it is not up.
    """

    state: LinkState
    since_us: int
    address: str = ""
    rtt_us: int | None = None
    tls: str = ""
    group: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A node that announces itself on the local network: a hint where to dial, proof of nothing.

    `prefix` is the beginning of its fingerprint as it claims it. `addresses` are literal "host:port", best first;
    an IPv6 link-local one carries the scope of the interface that it was heard on. `name` is what it calls itself, if
    it tells: escaped, for people to look at.
    """

    prefix: str
    version: str
    addresses: tuple[str, ...]
    seen_us: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryState:
    """How discovery stands: the `interfaces` it works on, and whether this node is `announced` there.

    `why` says what is wrong and what to do about it; empty when all is well. `ignored` counts what came in malformed.
    """

    on: bool
    why: str
    interfaces: tuple[str, ...]
    announced: bool
    ignored: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a peer says of itself and of the connection: what the caller may do there, and how it is secured.

    `issued` is a certificate (PEM) for the caller's key, to be shown from then on; empty when none is needed.
    """

    version: str
    grants: frozenset[Grant]
    now_us: int
    tls: str = ""
    group: str = ""
    issued: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A sign of life on a link; `number` counts from 1."""

    number: int
    now_us: int
    grants: frozenset[Grant]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKey:
    """What this node proves itself with: its private key (PEM, PKCS #8) and its certificate (PEM).

    `fingerprint` is the certificate's, as in Peer.holds. `step` is how the key before it handed over to this one.
    """

    key: bytes = field(repr=False)
    certificate: str
    fingerprint: str = ""
    step: Step | None = None
