"""What people are shown of mirrors, and of what their servers show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from node.core.mesh import Grant, Link
from node.core.panel import PanelDelta, PanelSnapshot
from node.core.timeline_check import ProblemCode
from node.core.views import TimelineRowView


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorView:
    """A mirror with the peer that it is of, and the link to that. `got` is what this node may do there.

    `relay_why` says why nothing is forwarded there now; it is empty while it is.
    """

    id: str
    shown: str
    name: str
    paused: bool
    added_us: int
    got: frozenset[Grant]
    link: Link
    relay_why: str = ""


class StreamState(StrEnum):
    """How the stream from a mirrored server stands."""

    CONNECTING = "connecting"
    LIVE = "live"
    # The server has not granted it.
    WAITING = "waiting"
    PAUSED = "paused"
    # What came was refused; it is tried again later.
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStanding:
    """How the stream stands and why; `grants` is what of that which is wanted the server shows."""

    state: StreamState
    why: str
    grants: frozenset[Grant]
    since_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakView:
    """Where a mirrored timeline does not hold: rows `first` to `last` are missing, or row `first` does not fit."""

    first: int
    last: int
    code: ProblemCode
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredRows:
    """New rows of a server's timeline. From `since` up to `next`, which is not there, each follows the one before it.

    `breaks` are the last ones, `missed` rows were taken and not kept long enough for this watcher.
    """

    origin: str
    since: int
    next: int
    rows: tuple[TimelineRowView, ...]
    breaks: tuple[BreakView, ...]
    breaks_total: int
    missed: int


MirrorEvent: TypeAlias = MirrorStanding | PanelSnapshot | PanelDelta | MirroredRows
