"""What people are shown of the mesh: this node's identity, its peers, what is heard on the network, a pairing run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from node.core.mesh import Grant, Link, Peer
from node.core.node_id import show


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityView:
    """This node as others know it: `shown` is its id with check characters. `expires_us` is its certificate's end.

    `former_keys` is how many keys it had before and has kept, by which peers that were away know it.
    `in_keychain`: its key is kept in the macOS Keychain, and else in a file.
    """

    id: str
    shown: str
    spki: str
    expires_us: int
    former_keys: int
    in_keychain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerView:
    """A peer and the link to it. `given` is what it may do here, `got` what this node may do there."""

    id: str
    shown: str
    name: str
    addresses: tuple[str, ...]
    given: frozenset[Grant]
    got: frozenset[Grant]
    paired_us: int
    seen_us: int | None
    link: Link


def view_peer(peer: Peer, link: Link) -> PeerView:
    """A peer and its link as people are shown them."""
    return PeerView(
        id=peer.id,
        shown=show(peer.id),
        name=peer.name,
        addresses=peer.addresses,
        given=peer.given,
        got=peer.got,
        paired_us=peer.paired_us,
        seen_us=peer.seen_us,
        link=link,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundView:
    """A node that announces itself on the network; `peer` is the name of the peer that it claims to be, or empty.

    `name` is what it calls itself, if it tells.
    """

    instance: str
    version: str
    addresses: tuple[str, ...]
    seen_us: int
    peer: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshView:
    """How the node meets others. `port` is None while it does not listen; `why` says what keeps discovery from work."""

    port: int | None
    discovery: bool
    why: str
    interfaces: tuple[str, ...]
    peers: tuple[PeerView, ...]
    found: tuple[FoundView, ...]


class PairingStep(StrEnum):
    """What a pairing run tells the person who began it."""

    # It waits for the other node: `port` is where.
    WAITING = "waiting"
    # The two nodes talk; `name` and `asks` are what the other says of itself and wants.
    MET = "met"
    # This node's code, to be typed at the other.
    CODE = "code"
    # The person is to type the other node's code.
    ASK_CODE = "ask_code"
    # The person is to say whether all of it is right.
    ASK_CONFIRM = "ask_confirm"
    # This person has agreed; the other has not yet.
    AGREED = "agreed"
    PAIRED = "paired"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingEvent:
    """One step of a run. Fields which a step does not have are empty.

    `run` is what an answer names. `shown` is the other node's id; `name`, `asks` (what it wants here) and `offers`
    (what it would let this node do) are its own words until the run ends in PAIRED. `reason` is a code, `words` say it.
    """

    step: PairingStep
    run: str
    name: str = ""
    shown: str = ""
    asks: frozenset[Grant] = frozenset()
    offers: frozenset[Grant] = frozenset()
    code: str = ""
    port: int = 0
    address: str = ""
    reason: str = ""
    words: str = ""
