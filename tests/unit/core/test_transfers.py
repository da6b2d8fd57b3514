"""The registry of transfers: what it says of those that move, and which it forgets."""

from __future__ import annotations

from dataclasses import replace

from node.core.transfers import Direction, Transfer, Transfers, TransferState

SECOND = 1_000_000
BEGIN = 1_750_000_000 * SECOND


def transfer(letter: str, **changes: object) -> Transfer:
    made = Transfer(
        id=letter * 16,
        message="m" * 16,
        peer="p" * 52,
        name=f"{letter}.bin",
        sha256=letter * 64,
        direction=Direction.OUT,
        size=1_000,
        done=0,
        rate=0,
        state=TransferState.MOVING,
        since_us=BEGIN,
        changed_us=BEGIN,
    )
    return replace(made, **changes)


def test_a_transfer_moves_and_ends() -> None:
    known, one = Transfers(8), transfer("a")
    known.begin(one)
    known.moved(one.id, 400, BEGIN + SECOND // 2)
    assert known.listed() == (replace(one, done=400, changed_us=BEGIN + SECOND // 2),)
    known.ended(one.id, BEGIN + 2 * SECOND)
    (ended,) = known.listed()
    assert (ended.state, ended.done, ended.rate, ended.why) == (TransferState.DONE, 1_000, 500, "")


def test_a_rate_is_of_a_second_at_least_and_not_of_what_was_there_before() -> None:
    known, one = Transfers(8), transfer("a", done=600)
    known.begin(one)
    rates = []
    for done, at in ((700, 0.4), (800, 1.0), (850, 1.5), (900, 2.0), (900, 4.0)):
        known.moved(one.id, done, BEGIN + int(at * SECOND))
        rates.append(known.listed()[0].rate)
    assert rates == [0, 200, 200, 100, 0]


def test_one_that_broke_off_says_why_and_makes_way_for_the_next_try() -> None:
    known, first = Transfers(8), transfer("a")
    known.begin(first)
    known.moved(first.id, 300, BEGIN)
    known.ended(first.id, BEGIN + SECOND, "the cable was pulled")
    (broken,) = known.listed()
    assert (broken.state, broken.done, broken.why) == (TransferState.BROKEN, 300, "the cable was pulled")
    known.begin(transfer("a", id="b" * 16, done=300))
    assert [(one.id, one.state) for one in known.listed()] == [("b" * 16, TransferState.MOVING)]
    # Of another message, or the other way, it is another one.
    known.ended("b" * 16, BEGIN)
    known.begin(transfer("a", id="c" * 16, message="n" * 16))
    known.begin(transfer("a", id="d" * 16, direction=Direction.IN))
    assert [one.id[0] for one in known.listed()] == ["d", "c", "b"]


def test_the_oldest_that_ended_are_forgotten_before_one_that_moves() -> None:
    known = Transfers(3)
    for letter in "abc":
        known.begin(transfer(letter))
    known.ended("b" * 16, BEGIN)
    known.begin(transfer("d"))
    assert [one.id[0] for one in known.listed()] == ["d", "c", "a"]
    known.begin(transfer("e"))
    assert [one.id[0] for one in known.listed()] == ["e", "d", "c"]
    # What is said of one that is forgotten changes nothing.
    known.moved("a" * 16, 5, BEGIN)
    known.ended("a" * 16, BEGIN)
    assert len(known.listed()) == 3


def test_the_progress_of_a_message_is_that_of_its_files() -> None:
    known = Transfers(8)
    assert known.progress_of("m" * 16) is None
    known.begin(transfer("a"))
    known.begin(transfer("b", size=500))
    known.begin(transfer("c", message="", name=""))
    known.moved("a" * 16, 100, BEGIN)
    known.ended("b" * 16, BEGIN)
    assert known.progress_of("m" * 16) == (600, 1_500)
    assert known.progress_of("") is None
