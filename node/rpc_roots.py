"""Roots of the node-to-node port: peers' own certificates, and one for all who have been issued another.

The time that gRPC takes for its roots grows with the square of their number (docs/adr/0033-links.md).
"""

from __future__ import annotations

import asyncio
import logging

from node.core import roots
from node.core.limits import Limits
from node.core.mesh import Peer
from node.identity import Authority, AuthorityFile
from node.ports import Clock, Entropy
from node.ports_mesh import Pins

_log = logging.getLogger(__name__)


class Roots:
    """Chooses the roots, and issues certificates to callers once there are many peers."""

    def __init__(self, *, trust: Pins, limits: Limits, clock: Clock, entropy: Entropy, keeper: AuthorityFile) -> None:
        self._trust = trust
        self._limits = limits
        self._clock = clock
        self._entropy = entropy
        self._keeper = keeper
        self._authority: Authority | None = None
        self._loaded = False
        # Who has shown an issued certificate, and in which pairing: a new one may have lost it.
        self._shown: dict[str, int] = {}
        self._turn = 0

    async def prepare(self) -> bool:
        """Reads the private CA, or makes it when it is needed; True when there is one that there was not before."""
        if self._authority is not None or (self._loaded and not self._many()):
            return False
        try:
            self._authority = await asyncio.to_thread(self._read_or_make, make=self._many())
        except OSError as error:
            # Nobody is issued a certificate then, and peers have their turns.
            _log.warning("the port's private CA can be neither read nor written: %s", error)
            return False
        self._loaded = True
        return self._authority is not None

    def text(self) -> str:
        """The certificates (PEM) that are the roots now; nothing without peers."""
        peers = self._trust.peers()
        self._shown = {peer.spki: peer.paired_us for peer in peers if self._has_shown(peer)}
        room = self._limits.peers_pinned
        pinned = roots.chosen(peers, self._has_shown, room=room, turn=self._turn)
        own = self._authority.certificate if self._authority is not None else ""
        return own + "".join(peer.certificate for peer in pinned)

    def next_turn(self) -> None:
        """Time has passed: it is the turn of others."""
        self._turn += 1

    def issue(self, peer: Peer, presented: str) -> str:
        """A certificate (PEM) for a caller that came without one though there are many; empty for all others."""
        if self._authority is None:
            return ""
        if self._authority.issued(presented):
            self._shown[peer.spki] = peer.paired_us
            return ""
        if not self._many():
            return ""
        return self._authority.issue(peer.certificate, now_us=self._clock.wall_us(), entropy=self._entropy)

    def _many(self) -> bool:
        return len(self._trust.peers()) > self._limits.peers_pinned // 2

    def _has_shown(self, peer: Peer) -> bool:
        return self._shown.get(peer.spki) == peer.paired_us

    def _read_or_make(self, *, make: bool) -> Authority | None:
        return self._keeper.load() or (self._keeper.make() if make else None)
