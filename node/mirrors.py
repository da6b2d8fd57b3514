"""Mirrors: the servers that this node is a thin client of. Answered from memory, changed on disk with a row."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from node import changes
from node.core import trust
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape_to_width
from node.core.limits import Limits
from node.core.mesh import Link, Peer
from node.core.mirror import Mirror
from node.core.node_id import show
from node.core.row_codes import RowDecision, RowEngine, RowReason
from node.core.views_mirror import MirrorView
from node.ledger import Ledger
from node.ports import Store, Tx
from node.ports_mesh import Changes

_log = logging.getLogger(__name__)
_SHOWN_CHARS = 60


class _Book(Changes, Protocol):
    """Who is a peer."""

    def peers(self) -> tuple[Peer, ...]: ...
    def find(self, wanted: str) -> Peer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What a commit came to: the mirror as it is now, None for one that is gone."""

    peer: str
    mirror: Mirror | None


class Mirrors:
    """Implements ports_mirror.Mirrors and ports_mirror.ActiveMirrors. Loaded before it is asked; follows in `run`.

    `link` says how the link to a peer stands.
    """

    def __init__(
        self, *, store: Store, book: _Book, link: Callable[[str], Link], ledger: Ledger, limits: Limits
    ) -> None:
        self._store = store
        self._book = book
        self._link = link
        self._ledger = ledger
        self._limits = limits
        self._mirrors: dict[str, Mirror] = {}
        self._said: dict[str, ErrorCode] = {}
        self._changes = changes.Changes()

    async def load(self) -> None:
        """Takes what is on disk into memory."""
        # As a write, it comes to memory in its turn among those.
        await self._store.write(lambda tx: tx.mirrors(), self._take)

    async def run(self) -> None:
        """Follows the peers until cancelled: one that was unpaired is mirrored no more, one may have another key."""
        seen = self._book.generation
        while True:
            try:
                await self.load()
            except MeshError as error:
                # Whoever is no peer is left out all the same.
                _log.warning("the mirrors could not be read again: %s", error.message)
                await asyncio.sleep(self._limits.tick_s)
                continue
            seen = await self._book.next_change(seen)

    @property
    def generation(self) -> int:
        """How often mirrors have changed since the node started."""
        return self._changes.count

    async def next_change(self, seen: int) -> int:
        """The generation, once it is another than `seen`."""
        return await self._changes.after(seen)

    def active(self) -> tuple[str, ...]:
        """The node ids of the servers whose mirrors are not paused."""
        return tuple(peer.id for peer, mirror in self._known() if not mirror.paused)

    def views(self) -> tuple[MirrorView, ...]:
        """All mirrors, by the names of their peers."""
        return tuple(self._view(peer, mirror) for peer, mirror in self._known())

    def find(self, wanted: str) -> MirrorView:
        """The mirror of that server; NOT_FOUND when it is not mirrored."""
        peer, mirror = self._there(wanted)
        return self._view(peer, mirror)

    async def add(self, wanted: str) -> MirrorView:
        """The mirror of that peer, as it was when there was one before."""
        peer = self._meant(wanted)

        def work(tx: Tx) -> _Change:
            known = tx.mirror(peer.id)
            if known is not None:
                return _Change(peer=peer.id, mirror=known)
            if tx.peer(peer.id) is None:
                raise MeshError(ErrorCode.NOT_FOUND, "That peer has been unpaired meanwhile; nothing was changed.")
            if len(tx.mirrors()) >= self._limits.mirrors:
                raise MeshError(
                    ErrorCode.LIMIT,
                    f"This node mirrors {self._limits.mirrors} servers, and that is the most. Remove one with `helio "
                    "mirror rm`, or raise `mirrors` under [limits] in config.toml.",
                    {"limit": self._limits.mirrors},
                )
            added = Mirror(peer=peer.id, paused=False, added_us=self._ledger.now_us())
            tx.put_mirror(added)
            self._ledger.peer_row(tx, peer, RowEngine.MIRROR, RowDecision.ADDED)
            return _Change(peer=peer.id, mirror=added)

        return self._view(peer, await self._commit(work))

    async def remove(self, wanted: str) -> MirrorView:
        """Mirrors that server no more; what the mirror was is given back."""
        peer, mirror = self._there(wanted)

        def work(tx: Tx) -> _Change:
            if tx.remove_mirror(peer.id):
                self._ledger.peer_row(tx, peer, RowEngine.MIRROR, RowDecision.REMOVED)
            return _Change(peer=peer.id, mirror=None)

        await self._store.write(work, self._apply)
        return self._view(peer, mirror)

    async def set_paused(self, wanted: str, *, paused: bool) -> MirrorView:
        """Nothing is opened to that server while its mirror is paused."""
        peer, _ = self._there(wanted)

        def work(tx: Tx) -> _Change:
            known = tx.mirror(peer.id)
            if known is None:
                raise _not_mirrored(peer)
            changed = replace(known, paused=paused)
            if changed != known:
                tx.put_mirror(changed)
                decision = RowDecision.PAUSED if paused else RowDecision.RESUMED
                self._ledger.peer_row(tx, peer, RowEngine.MIRROR, decision)
            return _Change(peer=peer.id, mirror=changed)

        return self._view(peer, await self._commit(work))

    async def refused(self, peer_id: str, code: ErrorCode) -> None:
        """The server does not let this node mirror it: a row, once until it does or says something else."""
        peer = next((one for one in self._book.peers() if one.id == peer_id), None)
        if peer is None or self._said.get(peer_id) is code:
            return
        self._said[peer_id] = code
        engine, decision, reason = RowEngine.MIRROR, RowDecision.LINK_REFUSED, RowReason(code)
        await self._store.write(lambda tx: self._ledger.peer_row(tx, peer, engine, decision, reason=reason))

    def let_in(self, peer_id: str) -> None:
        """It does, now."""
        self._said.pop(peer_id, None)

    async def _commit(self, work: Callable[[Tx], _Change]) -> Mirror:
        done = await self._store.write(work, self._apply)
        if done.mirror is None:
            raise MeshError(ErrorCode.NOT_FOUND, "That mirror has been removed meanwhile.")
        return done.mirror

    def _take(self, mirrors: Sequence[Mirror]) -> None:
        found = {mirror.peer: mirror for mirror in mirrors}
        if found != self._mirrors:
            self._mirrors = found
            self._changes.happened()

    def _apply(self, change: _Change) -> None:
        """Memory follows the disk, in the order of the commits; then whoever holds something open is told."""
        before = self._mirrors.get(change.peer)
        if change.mirror is None:
            self._mirrors.pop(change.peer, None)
        else:
            self._mirrors[change.peer] = change.mirror
        if before != change.mirror:
            self._changes.happened()

    def _known(self) -> tuple[tuple[Peer, Mirror], ...]:
        """Mirrors of those who are peers now, with these."""
        return tuple((peer, self._mirrors[peer.id]) for peer in self._book.peers() if peer.id in self._mirrors)

    def _there(self, wanted: str) -> tuple[Peer, Mirror]:
        peer = self._meant(wanted)
        mirror = self._mirrors.get(peer.id)
        if mirror is None:
            raise _not_mirrored(peer)
        return peer, mirror

    def _meant(self, wanted: str) -> Peer:
        """The peer of that name, id or address."""
        text = wanted.strip()
        host = _host(text)
        if host is None:
            try:
                return self._book.find(text)
            except MeshError as error:
                if error.code is not ErrorCode.NOT_FOUND:
                    raise
                words = f"{error.message} A server is mirrored once it is a peer."
                raise MeshError(error.code, words, error.details) from error
        found = [peer for peer in self._book.peers() if self._is_at(peer, text, host)]
        if len(found) == 1:
            return found[0]
        shown = escape_to_width(text, _SHOWN_CHARS)
        if found:
            names = tuple(peer.name for peer in found[:8])
            words = f"{shown} is the address of {len(found)} peers: {', '.join(names)}. Name the one that is meant."
            raise MeshError(ErrorCode.AMBIGUOUS, words, {"choices": names})
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"No peer is at {shown}, and only a peer can be mirrored. Run `helio pair` there and `helio pair ADDRESS` "
            "here, with the address that it shows; then mirror it by its name.",
        )

    def _is_at(self, peer: Peer, address: str, host: str) -> bool:
        known = {*peer.addresses, self._link(peer.id).address} - {""}
        if host == address:
            return any(_host(one) == host for one in known)
        return trust.parse_address(address) in known

    def _view(self, peer: Peer, mirror: Mirror) -> MirrorView:
        return MirrorView(
            id=peer.id,
            shown=show(peer.id),
            name=peer.name,
            paused=mirror.paused,
            added_us=mirror.added_us,
            got=peer.got,
            link=self._link(peer.id),
        )


def _host(text: str) -> str | None:
    """The IP address in an address with or without a port; None for what is none."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        pass
    try:
        return trust.parse_address(text).rpartition(":")[0].strip("[]")
    except MeshError:
        return None


def _not_mirrored(peer: Peer) -> MeshError:
    return MeshError(
        ErrorCode.NOT_FOUND,
        f"{peer.name} is not mirrored by this node. `helio mirror list` shows what is; to mirror it: helio mirror add "
        f"{peer.name}",
    )
