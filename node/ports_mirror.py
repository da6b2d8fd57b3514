"""The ports of the mirrored tunnel: what its two ends need of services, and the doors of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager
from typing import Protocol

from node.core.errors import ErrorCode
from node.core.mirror import Mirror
from node.core.model import Exchange
from node.core.panel import PanelRow
from node.core.views_mirror import MirrorEvent, MirrorView

# --- mirrors ---------------------------------------------------------------------------------------------------------


class MirrorReader(Protocol):
    """The mirrors' part of ports.Reader."""

    def mirrors(self) -> tuple[Mirror, ...]: ...
    def mirror(self, peer_id: str) -> Mirror | None: ...
    def panel_exchanges(self, limit: int) -> tuple[Exchange, ...]: ...
    def panel_exchange_count(self) -> int: ...
    def last_said(self, exchange_id: str) -> str: ...


class MirrorTx(MirrorReader, Protocol):
    """The mirrors' part of ports.Tx."""

    def put_mirror(self, mirror: Mirror) -> None: ...
    def remove_mirror(self, peer_id: str) -> bool:
        """Whether there was one."""
        ...


class Mirrors(Protocol):
    """Which servers this node mirrors: answered from memory, changed on disk together with the timeline's row.

    `wanted` names a peer: a name, @name, the beginning of an id, or an address on record.
    """

    async def add(self, wanted: str) -> MirrorView:
        """The mirror, which may have been there before; NOT_FOUND says how to pair with a node that is no peer."""
        ...

    async def remove(self, wanted: str) -> MirrorView: ...
    async def set_paused(self, wanted: str, *, paused: bool) -> MirrorView: ...
    def views(self) -> tuple[MirrorView, ...]: ...
    def find(self, wanted: str) -> MirrorView:
        """The mirror of that server; NOT_FOUND when it is not mirrored."""
        ...


class ActiveMirrors(Protocol):
    """What is open to servers asks this, and looks again when it changes."""

    def active(self) -> tuple[str, ...]:
        """The node ids of the servers whose mirrors are not paused."""
        ...

    @property
    def generation(self) -> int:
        """How often that has changed since the node started."""
        ...

    async def next_change(self, seen: int) -> int:
        """The generation, once it is another than `seen`."""
        ...

    async def refused(self, peer_id: str, code: ErrorCode) -> None:
        """The server does not let this node mirror it; for the timeline."""
        ...

    def let_in(self, peer_id: str) -> None:
        """It does, now."""
        ...


class PanelSource(Protocol):
    """The rows of this node's own panel, while somebody watches."""

    @property
    def rows(self) -> tuple[PanelRow, ...]: ...
    @property
    def left_out(self) -> int:
        """How many rows there are besides."""
        ...

    @property
    def generation(self) -> int: ...
    async def next_change(self, seen: int) -> int:
        """The generation, once it is another than `seen`."""
        ...

    def watched(self) -> AbstractContextManager[None]:
        """The panel follows what happens for the length of the block."""
        ...

    async def fresh(self) -> None:
        """Returns when the panel is no older than this call."""
        ...


class Relaying(Protocol):
    """The streams on which requests are forwarded."""

    def why(self, peer: str) -> str:
        """Why nothing is forwarded to that server now; empty while it is."""
        ...


class MirrorWatch(Protocol):
    """What mirrored servers show, to whoever at this machine looks."""

    def watch(self, peer_id: str, *, panel: bool, timeline: bool, tail: int) -> AsyncGenerator[MirrorEvent, None]:
        """What that server shows, on and on: how the stream stands, the panel and its changes, rows of the timeline.

        The timeline begins with its last `tail` rows. NOT_FOUND once the server is mirrored no more.
        """
        ...
