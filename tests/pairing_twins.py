"""Two ends of a pairing run without cryptography: certificates that hold nothing, signatures and keys by hash."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from node.core import pairing
from node.core.mesh import Grant
from node.core.pairing_events import (
    CheckSignature,
    DeriveKey,
    Effect,
    Input,
    KeyDerived,
    Send,
    Sign,
    SignatureChecked,
    Signed,
)
from node.core.pairing_messages import Message, fingerprint
from node.core.pairing_run import Introduction, Run, Step, dial, dial_with_code, wait, wait_with_code

Advance = Callable[[Run, Input], Step]
# The key which two SPAKE2 messages give to the one who made the first.
Derive = Callable[[bytes, bytes], bytes]


def bytes_of(label: str, size: int = 32) -> bytes:
    """Bytes that stand for a random draw."""
    return hashlib.shake_256(label.encode()).digest(size)


def pem(label: str) -> str:
    body = base64.b64encode(bytes_of(label, 96)).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"


def signature(certificate: str, statement: bytes) -> bytes:
    """What only the certificate's owner can make; a test that plays another must not call it for that certificate."""
    return hashlib.sha256(b"signature" + certificate.encode() + statement).digest()


def same_code(mine: bytes, theirs: bytes) -> bytes:
    """The key of two who know the same code."""
    return hashlib.sha256(b"key" + b"".join(sorted((mine, theirs)))).digest()


def introduction(label: str, *, wants: frozenset[Grant], gives: frozenset[Grant], port: int = 4_354) -> Introduction:
    return Introduction(certificate=pem(label), wants=wants, gives=gives, name=f"{label}'s Mac", port=port)


DIALER = introduction("dialer", wants=frozenset({Grant.REQUEST, Grant.MIRROR_PANEL}), gives=frozenset({Grant.REQUEST}))
WAITER = introduction(
    "waiter", wants=frozenset({Grant.REQUEST, Grant.MIRROR_TIMELINE}), gives=frozenset({Grant.REQUEST})
)
DIALER_NONCE, WAITER_NONCE = bytes_of("dialer's nonce"), bytes_of("waiter's nonce")
DIALER_PAKE, WAITER_PAKE = bytes_of("dialer's pake", 33), bytes_of("waiter's pake", 33)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Both runs at their beginnings, with the dialer's first effects."""

    dialer: Step
    waiter: Run


def beginnings(*, headless: bool = False, digits: int = 6, presented: str | None = None) -> Ends:
    """Both ends; TLS presents the waiter's certificate to the dialer unless `presented` is another's fingerprint."""
    shown = presented if presented is not None else fingerprint(WAITER.certificate)
    if headless:
        return Ends(
            dialer=dial_with_code(DIALER, pake=DIALER_PAKE, presented=shown),
            waiter=wait_with_code(WAITER, pake=WAITER_PAKE),
        )
    return Ends(
        dialer=dial(DIALER, nonce=DIALER_NONCE, presented=shown, digits=digits),
        waiter=wait(WAITER, nonce=WAITER_NONCE, digits=digits),
    )


def settle(
    run: Run, given: Input, *, advance: Advance = pairing.step, derive: Derive = same_code
) -> tuple[Run, tuple[Effect, ...]]:
    """One input, and then whatever the node does without people: sign, check, derive. The other effects, in order."""
    left: list[Effect] = []
    pending = [given]
    while pending:
        step = advance(run, pending.pop(0))
        run = step.run
        for effect in step.effects:
            match effect:
                case Sign():
                    pending.append(Signed(signature=signature(run.hello.certificate, effect.statement)))
                case CheckSignature():
                    fits = effect.signature == signature(effect.certificate, effect.statement)
                    pending.append(SignatureChecked(ok=fits))
                case DeriveKey():
                    pending.append(KeyDerived(key=derive(run.hello.pake, effect.message)))
                case _:
                    left.append(effect)
    return run, tuple(left)


def sent(effects: tuple[Effect, ...]) -> list[Message]:
    return [effect.message for effect in effects if isinstance(effect, Send)]
