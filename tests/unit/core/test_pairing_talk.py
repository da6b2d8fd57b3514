"""Whole conversations between two pairing machines, with people who do as they should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from node.core import pairing as p
from node.core.mesh import Grant
from node.core.pairing_events import (
    Agreed,
    AskCode,
    AskConfirm,
    CodeTyped,
    Declined,
    Ended,
    Expired,
    Lost,
    Paired,
    Send,
    Show,
)
from node.core.pairing_messages import Abort, Confirm, Hello, Reason, Reveal, fingerprint
from node.core.pairing_run import Run, State, dial, other_of, wait
from tests.pairing_twins import (
    DIALER,
    DIALER_NONCE,
    WAITER,
    WAITER_NONCE,
    beginnings,
    bytes_of,
    introduction,
    sent,
    settle,
)


def test_two_people_pair_two_nodes() -> None:
    ends = beginnings()
    waiter, answer = settle(ends.waiter, ends.dialer.run.hello)
    assert [type(one) for one in sent(answer)] == [Hello]
    dialer, asked = settle(ends.dialer.run, sent(answer)[0])
    assert [type(one) for one in asked] == [Send, AskCode]
    waiter, shown = settle(waiter, sent(asked)[0])
    (show,) = shown
    assert isinstance(show, Show)
    dialer, agreed = settle(dialer, CodeTyped(code=show.code))
    # The waiter's person is asked only when the other's person has typed the code.
    waiter, question = settle(waiter, sent(agreed)[0])
    assert [type(one) for one in question] == [AskConfirm]
    assert not waiter.state.over
    waiter, theirs = settle(waiter, Agreed())
    # Recorded before the other is told.
    assert [type(one) for one in theirs] == [Paired, Send]
    dialer, mine = settle(dialer, sent(theirs)[0])
    assert [type(one) for one in mine] == [Paired]

    assert (dialer.state, waiter.state) == (State.PAIRED, State.PAIRED)
    assert dialer.run == waiter.run
    at_dialer, at_waiter = other_of(dialer), other_of(waiter)
    assert (at_dialer.certificate, at_dialer.name) == (WAITER.certificate, WAITER.name)
    assert (at_waiter.certificate, at_waiter.port) == (DIALER.certificate, DIALER.port)
    assert isinstance(asked[1], AskCode)
    assert asked[1].other == at_dialer
    assert show.other == at_waiter


def test_a_code_known_beforehand_asks_nobody() -> None:
    ends = beginnings(headless=True)
    waiter, answer = settle(ends.waiter, ends.dialer.run.hello)
    dialer, proved = settle(ends.dialer.run, sent(answer)[0])
    assert [type(one) for one in proved] == [Send]
    waiter, proved_back = settle(waiter, sent(proved)[0])
    assert [type(one) for one in proved_back] == [Paired, Send]
    dialer, mine = settle(dialer, sent(proved_back)[0])
    assert [type(one) for one in mine] == [Paired]
    assert dialer.run == waiter.run
    assert other_of(dialer).certificate == WAITER.certificate
    assert other_of(waiter).certificate == DIALER.certificate


def test_two_who_do_not_know_the_same_code_burn_it_and_the_waiter_proves_nothing() -> None:
    ends = beginnings(headless=True)
    waiter, answer = settle(ends.waiter, ends.dialer.run.hello, derive=lambda *_: bytes_of("the waiter's code"))
    dialer, proved = settle(ends.dialer.run, sent(answer)[0], derive=lambda *_: bytes_of("another code"))
    waiter, ended = settle(waiter, sent(proved)[0])
    abort = Abort(reason="wrong_code")
    assert ended == (Ended(reason=Reason.WRONG_CODE, theirs=False, burned=True), Send(message=abort))
    assert not any(isinstance(message, Confirm) for message in sent(answer) + sent(ended))
    dialer, ended = settle(dialer, abort)
    assert ended == (Ended(reason=Reason.WRONG_CODE, theirs=True, burned=True),)


def test_a_wrong_code_ends_and_burns_the_run_on_both_sides() -> None:
    dialer, waiter, show = shown()
    wrong = f"{(int(show.code) + 1) % 10**6:06d}"
    dialer, ended = settle(dialer, CodeTyped(code=wrong))
    assert ended[0] == Ended(reason=Reason.WRONG_CODE, theirs=False, burned=True)
    waiter, ended_too = settle(waiter, sent(ended)[0])
    assert ended_too == (Ended(reason=Reason.WRONG_CODE, theirs=True, burned=True),)
    assert (dialer.state, waiter.state) == (State.FAILED, State.FAILED)


@pytest.mark.parametrize("given", [Declined(), Expired()])
def test_either_end_can_end_it_for_both(given: Declined | Expired) -> None:
    dialer, waiter, _ = shown()
    for first, second in ((dialer, waiter), (waiter, dialer)):
        ended, effects = settle(first, given)
        ended_too, effects_too = settle(second, sent(effects)[0])
        assert (ended.state, ended_too.state) == (State.FAILED, State.FAILED)
        assert isinstance(effects_too[-1], Ended)
        assert effects_too[-1].theirs
        assert ended.reason is ended_too.reason


def test_nothing_that_was_on_its_way_changes_a_run_that_is_over() -> None:
    dialer, _, _ = shown()
    failed, _ = settle(dialer, Lost())
    for late in (Confirm(signature=b"s"), Reveal(nonce=bytes(32)), Expired(), Abort(reason="lost")):
        assert settle(failed, late) == (failed, ())


@pytest.mark.parametrize(
    ("wants", "gives", "given"),
    [
        ({Grant.REQUEST}, {Grant.REQUEST}, {Grant.REQUEST}),
        ({Grant.REQUEST}, set(), set()),
        (set(), set(Grant), set()),
        (set(Grant), {Grant.MIRROR_PANEL, Grant.REQUEST}, {Grant.MIRROR_PANEL, Grant.REQUEST}),
        ({Grant.MIRROR_PANEL}, {Grant.MIRROR_TIMELINE}, set()),
    ],
)
def test_one_gets_what_it_wants_and_the_other_gives(wants: set[Grant], gives: set[Grant], given: set[Grant]) -> None:
    asking = introduction("asking", wants=frozenset(wants), gives=frozenset())
    giving = introduction("giving", wants=frozenset(), gives=frozenset(gives))
    for mine, theirs in ((asking, giving), (giving, asking)):
        dialer = dial(mine, nonce=DIALER_NONCE, presented=fingerprint(theirs.certificate)).run
        waiter = wait(theirs, nonce=WAITER_NONCE)
        heard, back = other_of(p.step(waiter, dialer.hello).run), other_of(p.step(dialer, waiter.hello).run)
        at_giving, at_asking = (heard, back) if theirs is giving else (back, heard)
        assert at_giving.given == at_asking.got == given
        assert at_giving.got == at_asking.given == set()


def test_a_grant_that_is_unknown_here_is_shown_and_not_given() -> None:
    hello = replace(beginnings().dialer.run.hello, wants=("drive-the-car", "request"), gives=("its-keys",))
    other = other_of(p.step(beginnings().waiter, hello).run)
    assert (other.wants, other.gives) == (hello.wants, hello.gives)
    assert (other.given, other.got) == ({Grant.REQUEST}, frozenset())


def shown() -> tuple[Run, Run, Show]:
    """Both ends of an honest run whose code is on the waiter's screen."""
    ends = beginnings()
    waiter, answer = settle(ends.waiter, ends.dialer.run.hello)
    dialer, asked = settle(ends.dialer.run, sent(answer)[0])
    waiter, (show,) = settle(waiter, sent(asked)[0])
    assert isinstance(show, Show)
    return dialer, waiter, show
