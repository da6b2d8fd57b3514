"""Which peers' own certificates are roots of the port, when there is no room for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from node.core.mesh import Peer


def chosen(peers: Sequence[Peer], shown: Callable[[Peer], bool], *, room: int, turn: int) -> tuple[Peer, ...]:
    """All peers if they fit. Else half of the room is for those who come first, half goes round all others by `turn`.

    First are those who have not `shown` that they get in without, newest first. Everybody is in within as many turns as
    it takes to go round once.
    """
    if len(peers) <= room:
        return tuple(peers)
    first = sorted(peers, key=lambda peer: (shown(peer), -max(peer.paired_us, peer.rotated_us), peer.id))[: room // 2]
    taken, places = {peer.id for peer in first}, room - len(first)
    # An order that stays as it is, or some would be passed over again and again.
    ring = sorted(peers, key=lambda peer: peer.id)
    begin = turn * places % len(ring)
    others = [peer for peer in ring[begin:] + ring[:begin] if peer.id not in taken]
    return (*first, *others[:places])
