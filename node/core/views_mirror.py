"""What people are shown of mirrors."""

from __future__ import annotations

from dataclasses import dataclass

from node.core.mesh import Grant, Link


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorView:
    """A mirror with the peer that it is of, and the link to that. `got` is what this node may do there."""

    id: str
    shown: str
    name: str
    paused: bool
    added_us: int
    got: frozenset[Grant]
    link: Link
