"""Twins of what stands behind the calls about mirrors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Link, LinkState
from node.core.views_mirror import MirrorEvent, MirrorView


def mirror(letter: str, name: str, **changes: object) -> MirrorView:
    made = MirrorView(
        id=letter * 52, shown=letter.upper() * 7, name=name, paused=False, added_us=50,
        got=frozenset({Grant.MIRROR_PANEL}), link=Link(state=LinkState.UP, since_us=60, address="192.0.2.7:4354"),
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


@dataclass(slots=True)
class Mirroring:
    """A twin of the mirrors and of what watches them: shows what a test puts into `events`, None being the end.

    `left` is set when a watch is over, however it ended.
    """

    known: dict[str, MirrorView] = field(default_factory=dict)
    wishes: list[tuple[str, bool, bool, int]] = field(default_factory=list)
    events: asyncio.Queue[MirrorEvent | MeshError | None] = field(default_factory=asyncio.Queue)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: dict[str, str] = field(default_factory=dict)

    def why(self, peer: str) -> str:
        """Why nothing is forwarded to that server."""
        return self.stopped.get(peer, "")

    def put(self, one: MirrorView) -> MirrorView:
        self.known[one.name] = one
        return one

    async def add(self, wanted: str) -> MirrorView:
        return self.put(mirror("b", wanted))

    async def remove(self, wanted: str) -> MirrorView:
        return self.known.pop(self.find(wanted).name)

    async def set_paused(self, wanted: str, *, paused: bool) -> MirrorView:
        return self.put(replace(self.find(wanted), paused=paused))

    def views(self) -> tuple[MirrorView, ...]:
        return tuple(self.known.values())

    def find(self, wanted: str) -> MirrorView:
        if wanted not in self.known:
            raise MeshError(ErrorCode.NOT_FOUND, f"{wanted} is not mirrored.")
        return self.known[wanted]

    async def watch(self, peer_id: str, *, panel: bool, timeline: bool, tail: int) -> AsyncGenerator[MirrorEvent, None]:
        self.wishes.append((peer_id, panel, timeline, tail))
        try:
            while (event := await self.events.get()) is not None:
                if isinstance(event, MeshError):
                    raise event
                yield event
        finally:
            self.left.set()
