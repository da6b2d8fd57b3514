"""Pairing with somebody between: everything they can do is tried, and what the commitment is for is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from node.core import pairing as p
from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.pairing_code import code, commitment, statement, transcript
from node.core.pairing_events import Agreed, AskConfirm, CodeTyped, Show
from node.core.pairing_gate import PairingGate, opened, started
from node.core.pairing_messages import Confirm, Hello, Reason, Reveal, Role, fingerprint
from node.core.pairing_run import Run, State, dial, wait
from tests.pairing_twins import DIALER, WAITER, Advance, bytes_of, sent, settle, signature
from tests.property.pairing_attacker import ATTACKER, Attack, World, ground, heedless

PRESENTED = {"the true one": fingerprint(WAITER.certificate), "the attacker's": fingerprint(ATTACKER)}


# --- everything that can happen --------------------------------------------------------------------------------------


@pytest.mark.parametrize("presented", PRESENTED)
def test_whatever_somebody_between_does_no_end_pairs_with_them(presented: str) -> None:
    attack = Attack(presented=PRESENTED[presented])
    worlds = list(attack.explore())
    assert [world for world in worlds if world.forged] == []
    # Not because nothing can happen: an untouched run goes through when TLS was not touched either.
    assert any(world.paired for world in worlds) is (presented == "the true one")
    reached = {world.dialer.state for world in worlds} | {world.waiter.state for world in worlds}
    assert {State.TYPING, State.SHOWING, State.FAILED} <= reached
    reasons = {ending.ended.reason for ending in attack.endings}
    assert {Reason.WRONG_CODE, Reason.WRONG_COMMITMENT, Reason.OTHER_CERTIFICATE, Reason.SAME_NODE} <= reasons
    assert len(worlds) > 1_000


def test_without_the_commitment_the_same_search_finds_a_forged_run() -> None:
    attack = Attack(presented=PRESENTED["the attacker's"], digits=2, advance=heedless, grinds=True)
    found = next(world for world in attack.explore() if world.forged and world.paired)
    for end in (found.dialer, found.waiter):
        assert end.theirs is not None
        assert end.theirs.certificate == ATTACKER
    # Two runs, one code: that is all it takes.
    assert found.dialer.run != found.waiter.run
    assert code(found.dialer.run, 2) == code(found.waiter.run, 2) == found.screen


def test_a_forged_run_takes_two_equal_codes() -> None:
    """With one digit codes are equal by chance often enough; then, and only then, somebody between gets through."""
    worlds = Attack(presented=PRESENTED["the attacker's"], digits=1).explore()
    forged = [world for world in worlds if world.forged]
    assert forged
    for world in forged:
        assert world.dialer.run != world.waiter.run
        assert code(world.dialer.run, 1) == code(world.waiter.run, 1)


def test_a_person_who_says_yes_before_the_other_s_screen_took_the_code_lets_a_stranger_in() -> None:
    """Why they are asked what they are asked: the code protects the waiter through the other's person alone."""
    worlds = Attack(presented=PRESENTED["the attacker's"], gullible=True).explore()
    found = next(world for world in worlds if world.forged)
    assert found.waiter.state is State.PAIRED
    assert found.dialer.state is not State.PAIRED


# --- with a code known beforehand ------------------------------------------------------------------------------------


@pytest.mark.parametrize("presented", PRESENTED)
def test_with_a_code_known_beforehand_who_does_not_know_it_pairs_with_nobody(presented: str) -> None:
    attack = Attack(presented=PRESENTED[presented], digits=0)
    worlds = list(attack.explore())
    assert [world for world in worlds if world.forged] == []
    assert any(world.paired for world in worlds) is (presented == "the true one")
    assert len(worlds) > 100
    # The waiter proves nothing before it has seen the dialer's proof.
    assert all(world.waiter.state is State.PAIRED for world in worlds if len(confirms(world)) > 1)
    # Who got the dialer's proof may know whether their guess was right: without a pair it is burned.
    given_away = [one for one in attack.endings if one.role is Role.DIALER and one.confirmed]
    assert given_away
    assert all(one.ended.burned for one in given_away)
    # At the waiter a guess is burned, and nothing else: strangers who come and go close nothing.
    at_waiter = [one.ended for one in attack.endings if one.role is Role.WAITER]
    assert {ended.burned for ended in at_waiter} == {False, True}
    assert all(ended.burned is (ended.reason in {Reason.WRONG_CODE, Reason.BAD_SIGNATURE}) for ended in at_waiter)


def confirms(world: World) -> list[Confirm]:
    return [message for message in world.heard if isinstance(message, Confirm)]


def test_who_guesses_the_code_gets_in_so_the_search_is_able_to_find_it() -> None:
    worlds = Attack(presented=PRESENTED["the attacker's"], digits=0, guessed=True).explore()
    assert any(world.forged and world.waiter.state is State.PAIRED for world in worlds)


# --- what the commitment is for --------------------------------------------------------------------------------------


def attack(number: int, digits: int, *, advance: Advance, grinds: bool) -> bool:
    """One run of each end with somebody between who makes the best of it; whether they paired with both."""
    draw = [bytes_of(f"{number} {label}") for label in ("dialer", "waiter", "attacker", "attacker, to the dialer")]
    start = dial(DIALER, nonce=draw[0], presented=fingerprint(ATTACKER), digits=digits)
    waiter = wait(WAITER, nonce=draw[1], digits=digits)
    posed = replace(start.run.hello, certificate=ATTACKER, opening=commitment(ATTACKER, draw[2]))
    waiter, answer = settle(waiter, posed, advance=advance)
    (hello,) = sent(answer)
    assert isinstance(hello, Hello)
    dialer, _ = settle(start.run, replace(hello, certificate=ATTACKER, opening=draw[3]), advance=advance)
    nonce = ground(code(dialer.run, digits), posed, hello, 30 * 10**digits) if grinds else draw[2]
    assert nonce is not None
    waiter, shown = settle(waiter, Reveal(nonce=nonce), advance=advance)
    if not isinstance(shown[0], Show):
        return False
    dialer, _ = settle(dialer, CodeTyped(code=shown[0].code), advance=advance)
    if dialer.state is State.FAILED:
        return False
    waiter, asked = settle(waiter, confirm(waiter, Role.DIALER), advance=advance)
    assert isinstance(asked[0], AskConfirm)
    waiter, _ = settle(waiter, Agreed(), advance=advance)
    dialer, _ = settle(dialer, confirm(dialer, Role.WAITER), advance=advance)
    assert dialer.theirs is not None
    assert waiter.theirs is not None
    assert dialer.theirs.certificate == waiter.theirs.certificate == ATTACKER
    return dialer.state is waiter.state is State.PAIRED


def confirm(target: Run, posing_as: Role) -> Confirm:
    return Confirm(signature=signature(ATTACKER, statement(target.run, posing_as)))


@pytest.mark.parametrize(("digits", "runs"), [(2, 20), (4, 2)])
def test_without_a_commitment_somebody_between_forges_every_run(digits: int, runs: int) -> None:
    assert all(attack(number, digits, advance=heedless, grinds=True) for number in range(runs))


def test_with_it_a_nonce_that_was_searched_for_is_refused() -> None:
    assert not any(attack(number, 2, advance=p.step, grinds=True) for number in range(20))


@pytest.mark.parametrize(("digits", "runs", "least", "most"), [(1, 600, 35, 90), (2, 3_000, 12, 55)])
def test_with_it_they_get_through_by_luck_alone(digits: int, runs: int, least: int, most: int) -> None:
    """One in ten to the power of the digits; the bounds are more than three standard deviations away."""
    assert least <= sum(attack(number, digits, advance=p.step, grinds=False) for number in range(runs)) <= most


def test_more_runs_for_one_act_would_let_them_wait_for_a_code_that_fits() -> None:
    """What the gate is for: they work out the waiter's code before it is shown, and hang up unless it fits."""
    mine = bytes_of("the attacker's")
    dialer = dial(DIALER, nonce=bytes_of("dialer's"), presented=fingerprint(ATTACKER), digits=2).run
    posed = replace(dialer.hello, certificate=ATTACKER, opening=commitment(ATTACKER, mine))
    dialer, _ = settle(dialer, replace(posed, opening=mine))
    hellos = (wait(WAITER, nonce=bytes_of(f"waiter's, run {number}")).hello for number in range(2_000))
    fitting = [code(transcript(posed, hello, mine), 2) == code(dialer.run, 2) for hello in hellos]
    assert any(fitting)
    assert not fitting[0]

    gate = started(opened(PairingGate(), 0, Limits()), 1)
    for moment in range(2, 120_000_000, 10_000_000):
        with pytest.raises(MeshError):
            started(gate, moment)
