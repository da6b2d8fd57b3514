"""What the ends of a pairing run may say, each field up to its limit and no further."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant
from node.core.pairing_messages import (
    MOST_CERTIFICATE_CHARS,
    Abort,
    Confirm,
    Hello,
    Reason,
    Reveal,
    abort_reason,
    confirm_fits,
    fingerprint,
    hello_fault,
    reveal_fits,
)
from node.core.pairing_run import Introduction, dial, wait
from tests.pairing_twins import WAITER, WAITER_NONCE, WAITER_PAKE, pem

HELLO = wait(WAITER, nonce=WAITER_NONCE).hello
HEAD, FOOT = "-----BEGIN CERTIFICATE-----\n", "\n-----END CERTIFICATE-----\n"


def wide_pem(chars: int) -> str:
    room = chars - len(HEAD) - len(FOOT)
    return HEAD + "A" * (room - room % 4) + "\n" * (room % 4) + FOOT


FITTING: list[dict[str, object]] = [
    {},
    {"name": ""},
    {"name": "x" * 64},
    {"name": "é" * 64},
    {"port": 0},
    {"port": 65_535},
    {"wants": (), "gives": ()},
    {"wants": ("a-grant-of-a-later-version",)},
    {"wants": tuple(f"grant-{n}" for n in range(16))},
    {"gives": ("g" + "x" * 31,)},
    {"opening": b"", "pake": WAITER_PAKE},
    {"certificate": wide_pem(MOST_CERTIFICATE_CHARS)},
]
UNFIT: list[dict[str, object]] = [
    {"name": "x" * 65},
    {"name": "\ud800"},
    {"port": -1},
    {"port": 65_536},
    {"wants": tuple(f"grant-{n}" for n in range(17))},
    {"gives": tuple(f"grant-{n}" for n in range(17))},
    {"gives": ("g" + "x" * 32,)},
    {"wants": ("",)},
    {"wants": ("Request",)},
    {"wants": ("request\n",)},
    {"gives": ("\x1b[2J",)},
    {"opening": b""},
    {"opening": bytes(31)},
    {"opening": bytes(33)},
    {"pake": WAITER_PAKE},
    {"opening": b"", "pake": bytes(32)},
    {"opening": b"", "pake": bytes(34)},
    {"certificate": ""},
    {"certificate": wide_pem(MOST_CERTIFICATE_CHARS + 1)},
    {"certificate": pem("a") + pem("b")},
    {"certificate": "subject=somebody\n" + pem("a")},
    {"certificate": pem("a") + "x"},
    {"certificate": pem("a").replace("CERTIFICATE", "PUBLIC KEY")},
    {"certificate": HEAD + "AAA" + FOOT},
    {"certificate": HEAD + "A*==" + FOOT},
    {"certificate": HEAD + "\u0660AAA" + FOOT},
]


@pytest.mark.parametrize("changes", FITTING)
def test_a_hello_that_fits(changes: dict[str, object]) -> None:
    assert hello_fault(replace(HELLO, **changes)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", UNFIT)
def test_a_hello_that_does_not(changes: dict[str, object]) -> None:
    assert hello_fault(replace(HELLO, **changes)) is Reason.MALFORMED  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [0, 2, 2**32 - 1])
def test_another_version_is_said_to_be_one_whatever_else_it_says(version: int) -> None:
    later = Hello(version=version, certificate="", opening=b"", pake=b"", wants=(), gives=(), name="", port=-1)
    assert hello_fault(later) is Reason.VERSION


def test_a_node_does_not_introduce_itself_so_that_others_refuse_it() -> None:
    me = Introduction(certificate=WAITER.certificate, wants=frozenset(), gives=frozenset(Grant), name="x" * 65, port=0)
    with pytest.raises(MeshError) as refused:
        dial(me, nonce=WAITER_NONCE, presented="")
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


def test_the_fingerprint_is_of_the_der() -> None:
    der = b"anything"
    text = HEAD + base64.b64encode(der).decode() + FOOT
    assert fingerprint(text) == hashlib.sha256(der).hexdigest()
    assert fingerprint(text.rstrip("\n")) == fingerprint(text)


def test_sizes_of_the_later_messages() -> None:
    assert [size for size in range(40) if reveal_fits(Reveal(nonce=bytes(size)))] == [32]
    signatures = [size for size in range(80) if confirm_fits(Confirm(signature=bytes(size)), headless=False)]
    assert signatures == list(range(1, 73))
    for headless, proofs in ((False, [0]), (True, [32])):
        fitting = [
            size for size in range(40) if confirm_fits(Confirm(signature=b"s", proof=bytes(size)), headless=headless)
        ]
        assert fitting == proofs


def test_a_reason_that_is_unknown_here_is_an_abort_like_any_other() -> None:
    assert {abort_reason(Abort(reason=reason.value)) for reason in Reason} == set(Reason)
    for strange in ("", "WRONG_CODE", "wrong_code\n", "x" * 100_000, "a later reason"):
        assert abort_reason(Abort(reason=strange)) is Reason.ABORTED
