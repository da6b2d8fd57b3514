"""Commitment, transcript, code, statement and proof: what each depends on."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import pytest

from node.core.pairing_code import code, commitment, proof, same, statement, transcript
from node.core.pairing_messages import Hello, Role
from tests.pairing_twins import DIALER_NONCE, beginnings, bytes_of, pem

DIALER, WAITER = beginnings().dialer.run.hello, beginnings().waiter.hello
RUN = transcript(DIALER, WAITER, DIALER_NONCE)

CHANGES: list[dict[str, object]] = [
    {"version": 2},
    {"certificate": pem("another")},
    {"certificate": DIALER.certificate.rstrip("\n")},
    {"opening": bytes_of("another")},
    {"pake": b"x"},
    {"wants": ("mirror-panel",)},
    {"wants": tuple(reversed(DIALER.wants))},
    {"wants": ()},
    {"gives": (*DIALER.gives, "mirror-panel")},
    {"wants": ("mirror-panel", "request", "request")},
    # What is said together is the same; who said what is not.
    {"wants": DIALER.wants + DIALER.gives, "gives": ()},
    {"name": "another"},
    {"port": 1},
]


def framed(*fields: bytes) -> bytes:
    return b"".join(len(one).to_bytes(4, "big") + one for one in fields)


def test_how_it_is_hashed_is_written_down_here() -> None:
    """Another implementation reads this: every field with its length, four bytes, before it."""
    tag = b"heliograph pairing 1"

    def said(hello: Hello) -> bytes:
        wants, gives = (framed(*(one.encode() for one in names)) for names in (hello.wants, hello.gives))
        return framed(
            b"1", hello.certificate.encode(), hello.opening, hello.pake, wants, gives, hello.name.encode(), b"4354"
        )  # fmt: skip

    committed = framed(tag, b"commitment", DIALER.certificate.encode(), DIALER_NONCE)
    assert commitment(DIALER.certificate, DIALER_NONCE) == hashlib.sha256(committed).digest()
    whole = framed(tag, b"transcript", said(DIALER), said(WAITER), DIALER_NONCE)
    assert hashlib.sha256(whole).digest() == RUN
    number = int.from_bytes(hashlib.sha256(framed(tag, b"code", RUN)).digest(), "big") % 10**8
    assert code(RUN, 8) == f"{number:08d}"
    assert statement(RUN, Role.WAITER) == framed(tag, b"confirm", b"waiter", RUN)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("role", Role)
def test_everything_that_was_said_is_in_the_transcript(role: Role, changes: dict[str, object]) -> None:
    changed = replace(DIALER if role is Role.DIALER else WAITER, **changes)  # type: ignore[arg-type]
    heard = (changed, WAITER) if role is Role.DIALER else (DIALER, changed)
    assert transcript(*heard, DIALER_NONCE) != RUN


def test_so_are_the_nonce_and_who_is_who() -> None:
    others = {transcript(DIALER, WAITER, b""), transcript(DIALER, WAITER, WAITER.opening),
              transcript(WAITER, DIALER, DIALER_NONCE), RUN}  # fmt: skip
    assert len(others) == 4


def test_a_longer_code_begins_with_the_shorter() -> None:
    assert [len(code(RUN, digits)) for digits in (6, 7, 8)] == [6, 7, 8]
    assert code(RUN, 8).startswith(code(RUN, 7))
    assert code(RUN, 7).startswith(code(RUN, 6))
    assert code(RUN, 8).isdecimal()


def test_codes_are_spread_evenly_zeros_in_front_included() -> None:
    drawn = Counter(code(bytes_of(str(n)), 8)[:1] for n in range(10_000))
    assert set(drawn) == set("0123456789")
    # A standard deviation is 30.
    assert all(850 < count < 1_150 for count in drawn.values())


def test_a_proof_takes_the_key_the_run_and_the_role() -> None:
    key = bytes_of("key")
    proofs = {proof(key, RUN, Role.DIALER), proof(key, RUN, Role.WAITER), proof(bytes_of("other"), RUN, Role.DIALER),
              proof(key, bytes_of("another run"), Role.DIALER)}  # fmt: skip
    assert len(proofs) == 4
    assert {len(one) for one in proofs} == {32}


def test_equal_is_equal() -> None:
    assert same(b"a", b"a")
    assert same("123456", "123456")
    assert not same(b"a", b"b")
    assert not same("123456", "123457")
    assert not same(b"", b"a")
