"""A mirror: a directed edge from this node, the client, to a server that it watches and forwards to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from node.core.mesh import Grant

# What a server's person grants for all that a mirror is for, in the order in which it is asked for.
GRANTS: Final = (Grant.REQUEST, Grant.MIRROR_PANEL, Grant.MIRROR_TIMELINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """`peer` is the server's node id. A mirror that is paused is kept, and nothing is opened to its server."""

    peer: str
    paused: bool
    added_us: int


def asked_of(client: str) -> str:
    """What the server's person runs to let the client of that id do all that a mirror is for."""
    return f"helio peers grant {client} {' '.join(GRANTS)}"
