"""Which peers' own certificates are roots of the port, when there is no room for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from node.core.mesh import Peer


def chosen(peers: Sequence[Peer], shown: Callable[[Peer], bool], *, room: int, turn: int) -> tuple[Peer, ...]:
    """All peers if they fit. Else half of the room is for those who come first, half goes round the rest by `turn`.

    First are those who have not `shown` that they get in without, newest first; everybody has a turn sooner or later.
    """
    if len(peers) <= room:
        return tuple(peers)
    order = sorted(peers, key=lambda peer: (shown(peer), -max(peer.paired_us, peer.rotated_us), peer.id))
    first, rest = order[: room // 2], order[room // 2 :]
    places = room - len(first)
    begin = turn * places % len(rest)
    return (*first, *(rest[begin:] + rest[:begin])[:places])
