"""Who has a root of the port when there is no room for all."""

from __future__ import annotations

from node.core.mesh import Peer
from node.core.roots import chosen


def peer(number: int, *, rotated_us: int = 0) -> Peer:
    """One that was paired at that time."""
    return Peer(
        id=f"p{number}", name="", spki="", certificate="", addresses=(), given=frozenset(), got=frozenset(),
        paired_us=number, rotated_us=rotated_us,
    )  # fmt: skip


PEERS = tuple(peer(number) for number in range(10))


def ids(peers: tuple[Peer, ...], *, shown: str = "", room: int = 4, turn: int = 0) -> list[str]:
    return [one.id for one in chosen(peers, lambda one: one.id[1:] in shown.split(), room=room, turn=turn)]


def test_all_are_in_while_they_fit() -> None:
    assert chosen(PEERS, lambda _: True, room=10, turn=3) == PEERS
    assert chosen((), lambda _: False, room=4, turn=0) == ()


def test_the_newest_are_always_in_and_the_rest_take_turns() -> None:
    assert [ids(PEERS, turn=turn) for turn in range(6)] == [
        ["p9", "p8", "p0", "p1"],
        ["p9", "p8", "p2", "p3"],
        ["p9", "p8", "p4", "p5"],
        ["p9", "p8", "p6", "p7"],
        ["p9", "p8", "p0", "p1"],
        ["p9", "p8", "p0", "p1"],
    ]


def test_whoever_gets_in_without_comes_last_and_has_turns_still() -> None:
    shown = "9 8 7 6 5 4 3"
    assert ids(PEERS, shown=shown) == ["p2", "p1", "p0", "p3"]
    seen = {one for turn in range(5) for one in ids(PEERS, shown=shown, turn=turn)}
    assert seen == {one.id for one in PEERS}


def test_nobody_is_passed_over_while_others_get_in() -> None:
    shown = ""
    for turn in range(5):
        shown = " ".join((shown, *(one[1:] for one in ids(PEERS, shown=shown, turn=turn))))
    assert {f"p{one}" for one in shown.split()} == {one.id for one in PEERS}


def test_a_new_key_makes_a_peer_new() -> None:
    assert ids((*PEERS, peer(10, rotated_us=50), peer(11)))[:2] == ["p10", "p11"]


def test_there_are_never_more_than_there_is_room_for() -> None:
    for room in range(1, 12):
        for turn in range(12):
            got = ids(PEERS, room=room, turn=turn)
            assert len(got) == len(set(got)) == min(room, 10)
