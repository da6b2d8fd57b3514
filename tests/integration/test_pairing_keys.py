"""Pairing runs with real keys: certificates, signatures and SPAKE2 as a node makes them."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from node import certificates, pake
from node.core import pairing
from node.core.errors import MeshError
from node.core.mesh import Grant
from node.core.pairing_events import (
    Agreed,
    CheckSignature,
    CodeTyped,
    DeriveKey,
    Effect,
    Ended,
    Input,
    KeyDerived,
    Show,
    Sign,
    SignatureChecked,
    Signed,
    Unreadable,
)
from node.core.pairing_messages import Reason, Role, fingerprint
from node.core.pairing_run import Introduction, Run, State, dial, dial_with_code, other_of, wait, wait_with_code
from tests.pairing_twins import sent


class Node:
    """A node's key, and what it does for its pairing run without people."""

    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        certificate = certificates.make(self.key, now_us=1_800_000_000_000_000, serial=os.urandom(20))
        grants = frozenset({Grant.REQUEST})
        self.me = Introduction(certificate=certificate, wants=grants, gives=grants, name=name, port=4_354)
        self.exchange: pake.Exchange | None = None

    def pake(self, role: Role, code: str) -> bytes:
        self.exchange, message = pake.start(role, code, os.urandom)
        return message

    def take(self, run: Run, given: Input) -> tuple[Run, tuple[Effect, ...]]:
        left: list[Effect] = []
        pending = [given]
        while pending:
            step = pairing.step(run, pending.pop(0))
            run = step.run
            for effect in step.effects:
                answer = self.answer(effect)
                left += [effect] if answer is None else []
                pending += [answer] if answer is not None else []
        return run, tuple(left)

    def answer(self, effect: Effect) -> Input | None:
        match effect:
            case Sign():
                return Signed(signature=certificates.sign(self.key, effect.statement))
            case CheckSignature():
                key = certificates.public_key(effect.certificate)
                return SignatureChecked(ok=certificates.signed(key, effect.statement, effect.signature))
            case DeriveKey():
                assert self.exchange is not None
                try:
                    return KeyDerived(key=pake.finish(self.exchange, effect.message))
                except MeshError:
                    return Unreadable()
            case _:
                return None


@pytest.fixture(scope="module")
def pair() -> tuple[Node, Node]:
    return Node("dialer"), Node("waiter")


def test_two_real_nodes_pair_by_a_code_that_is_shown(pair: tuple[Node, Node]) -> None:
    here, there = pair
    start = dial(here.me, nonce=os.urandom(32), presented=fingerprint(there.me.certificate))
    waiter, answer = there.take(wait(there.me, nonce=os.urandom(32)), start.run.hello)
    dialer, revealed = here.take(start.run, sent(answer)[0])
    waiter, shown = there.take(waiter, sent(revealed)[0])
    assert isinstance(shown[0], Show)
    dialer, agreed = here.take(dialer, CodeTyped(code=shown[0].code))
    waiter, _ = there.take(waiter, sent(agreed)[0])
    waiter, told = there.take(waiter, Agreed())
    dialer, _ = here.take(dialer, sent(told)[0])
    assert (dialer.state, waiter.state) == (State.PAIRED, State.PAIRED)
    assert other_of(dialer).certificate == there.me.certificate
    assert other_of(waiter).certificate == here.me.certificate


@pytest.mark.parametrize(("typed", "outcome"), [("4711 8820", State.PAIRED), ("4711 8821", State.FAILED)])
def test_two_real_nodes_pair_by_a_code_known_beforehand(pair: tuple[Node, Node], typed: str, outcome: State) -> None:
    here, there = pair
    shown = fingerprint(there.me.certificate)
    start = dial_with_code(here.me, pake=here.pake(Role.DIALER, typed), presented=shown)
    waiter, answer = there.take(
        wait_with_code(there.me, pake=there.pake(Role.WAITER, "47118820")), start.run.hello
    )  # fmt: skip
    dialer, proved = here.take(start.run, sent(answer)[0])
    waiter, told = there.take(waiter, sent(proved)[0])
    dialer, _ = here.take(dialer, sent(told)[0])
    assert (dialer.state, waiter.state) == (outcome, outcome)
    if outcome is State.FAILED:
        assert told[0] == Ended(reason=Reason.WRONG_CODE, theirs=False, burned=True)


def test_a_key_exchange_message_that_is_none_ends_the_run(pair: tuple[Node, Node]) -> None:
    here, there = pair
    mine = here.pake(Role.DIALER, "123456")
    start = dial_with_code(here.me, pake=mine, presented=fingerprint(there.me.certificate))
    hello = wait_with_code(there.me, pake=mine).hello
    dialer, effects = here.take(start.run, hello)
    assert (dialer.state, dialer.reason) == (State.FAILED, Reason.MALFORMED)
    assert effects[0] == Ended(reason=Reason.MALFORMED, theirs=False, burned=False)
