"""One step from key to key: what it must say, and that nothing else passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from node.core import rotation
from node.core.canonical import decode, encode
from node.core.errors import ErrorCode
from node.core.rotation import Claim, Step
from tests.integration.mesh import refused
from tests.rotation_keys import KEYS, sign, step

GOOD = step("a/1", "b/1", 5)


def check(given: Step, holder: str = "a/1", after_us: int = 0) -> Claim:
    return rotation.check(given, holder=holder, after_us=after_us, keys=KEYS)


def resigned(fields: dict[str, object], certificate: str = "b/1") -> Step:
    """A step whose statement says something else, signed by the right key all the same."""
    statement = encode(fields)  # type: ignore[arg-type]
    return Step(certificate=certificate, statement=statement, signature=sign("a/1", statement))


def test_a_step_names_both_keys_the_certificate_and_the_time() -> None:
    claim = check(GOOD)
    assert (claim.old, claim.new) == (KEYS.spki("a/1"), KEYS.spki("b/1"))
    assert (claim.certificate, claim.at_us, claim.renewal) == (rotation.fingerprint("b/1"), 5, False)
    assert decode(GOOD.statement)["use"] == rotation.USE
    # It is the key that hands over, whichever of its certificates is at hand.
    assert check(GOOD, holder="a/9") == claim


def test_a_new_certificate_of_the_same_key_is_a_renewal() -> None:
    assert check(step("a/1", "a/2", 5)).renewal


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (replace(GOOD, signature=b""), "old key has not signed"),
        (replace(GOOD, signature=sign("b/1", GOOD.statement)), "old key has not signed"),
        (replace(GOOD, statement=b""), "not JSON"),
        (replace(GOOD, statement=GOOD.statement + b" "), "canonical"),
        (replace(GOOD, statement=b"[]"), "canonical"),
        (replace(GOOD, certificate="b/2"), "another certificate"),
        (replace(GOOD, certificate="c/1"), "another certificate"),
        (step("a/1", "b/1", 5, new=KEYS.spki("c/1")), "another certificate"),
        (step("a/1", "b/1", 5, old=KEYS.spki("c/1")), "old key has not signed"),
        (step("c/1", "b/1", 5), "old key has not signed"),
        # Whoever hands over to the key of somebody else, who knows nothing of it.
        (step("a/1", "b/1", 5, proof=sign("a/1", b"")), "new key has not signed"),
    ],
)
def test_what_does_not_fit_is_refused(given: Step, words: str) -> None:
    with refused(ErrorCode.TAMPERED, words):
        check(given)


@pytest.mark.parametrize(
    "change",
    [{"use": "heliograph/pairing/1"}, {"ts": 0}, {"ts": -1}, {"ts": "5"}, {"ts": True}, {"old": "A" * 64},
     {"new": "a" * 63}, {"certificate": None}, {"proof": ""}, {"proof": "0"}, {"proof": "zz" * 32}, {"more": 1}],
)  # fmt: skip
def test_a_statement_says_exactly_this(change: dict[str, object]) -> None:
    assert check(resigned(dict(decode(GOOD.statement)))) == check(GOOD)
    with refused(ErrorCode.TAMPERED, "does not say"):
        check(resigned(decode(GOOD.statement) | change))


@pytest.mark.parametrize("field", ["certificate", "new", "old", "proof", "ts", "use"])
def test_a_statement_leaves_nothing_out(field: str) -> None:
    fields = {name: value for name, value in decode(GOOD.statement).items() if name != field}
    with refused(ErrorCode.TAMPERED, "does not say"):
        check(resigned(fields))


def test_an_old_statement_is_not_taken_again() -> None:
    assert check(GOOD, after_us=4).at_us == 5
    with refused(ErrorCode.TAMPERED, "not newer"):
        check(GOOD, after_us=5)


def test_a_certificate_that_cannot_be_read_is_refused() -> None:
    unread = step("a/1", "b/1", 5, certificate=rotation.fingerprint("x"))
    with refused(ErrorCode.INVALID_ARGUMENT, "cannot be read"):
        check(replace(unread, certificate="x"))
