"""Chains of hand-overs: the whole one leads on, and no other selection, order or change of its steps does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core import rotation
from node.core.errors import ErrorCode, MeshError
from node.core.rotation import Step, check_chain
from tests.rotation_keys import ALREADY_US, KEYS, chain, step

NAMES = st.text("abcdefgh", min_size=1, max_size=4)


@st.composite
def lines(draw: st.DrawFn, least: int = 2) -> list[str]:
    """Certificates as they follow one another: keys that never come back, each renewed now and then."""
    line: list[str] = []
    for key in draw(st.lists(NAMES, min_size=1, max_size=5, unique=True)):
        line += [f"{key}/{serial}" for serial in range(draw(st.integers(1, 3)))]
    while len(line) < least:
        line.append(f"z/{len(line)}")
    return line


def accepted(first: str, steps: Sequence[Step], last: str) -> bool:
    try:
        check_chain(first, steps, last=last, keys=KEYS)
    except MeshError as refusal:
        assert refusal.code in {ErrorCode.TAMPERED, ErrorCode.INVALID_ARGUMENT}
        return False
    return True


@given(lines(least=1))
def test_a_whole_chain_leads_from_its_first_certificate_to_its_last(line: list[str]) -> None:
    claims = check_chain(line[0], chain(line), last=line[-1], keys=KEYS)
    assert [claim.new for claim in claims] == [KEYS.spki(one) for one in line[1:]]


@given(lines(), st.data())
def test_steps_that_are_left_out_repeated_or_out_of_order_lead_nowhere(line: list[str], data: st.DataObject) -> None:
    steps, keys = chain(line), [certificate.split("/")[0] for certificate in line]
    chosen = data.draw(st.lists(st.integers(0, len(steps) - 1), max_size=len(steps) + 2))
    # All that can be done without is a renewal: the same key has signed for the certificate that comes after it, too.
    in_order = all(before < after for before, after in pairwise(chosen))
    passed_over = {at for at in range(len(steps)) if keys[at] != keys[at + 1]} - set(chosen)
    leads = in_order and not passed_over and len(steps) - 1 in chosen
    assert accepted(line[0], [steps[at] for at in chosen], line[-1]) == leads


@given(lines(), st.data())
def test_a_chain_has_no_other_end(line: list[str], data: st.DataObject) -> None:
    steps = chain(line)
    end = data.draw(st.sampled_from(line[:-1]))
    assert not accepted(line[0], steps, end)
    # Nor another beginning: the key has to be the one that signed first.
    start = data.draw(st.sampled_from(line))
    assert accepted(start, steps, line[-1]) == (KEYS.spki(start) == KEYS.spki(line[0]))


@given(lines(), st.data())
def test_any_changed_bit_is_found(line: list[str], data: st.DataObject) -> None:
    steps = list(chain(line))
    at = data.draw(st.integers(0, len(steps) - 1))
    part = data.draw(st.sampled_from(["statement", "signature"]))
    raw = bytearray(getattr(steps[at], part))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    steps[at] = replace(steps[at], **{part: bytes(raw)})
    assert not accepted(line[0], steps, line[-1])


@given(lines(), lines(), st.data())
def test_a_step_of_others_fits_in_nowhere(line: list[str], theirs: list[str], data: st.DataObject) -> None:
    foreign = [f"other {certificate}" for certificate in theirs]
    steps = list(chain(line))
    at = data.draw(st.integers(0, len(steps) - 1))
    instead = data.draw(st.sampled_from(chain(foreign)))
    assert not accepted(line[0], [*steps[:at], instead, *steps[at + 1 :]], line[-1])
    assert not accepted(line[0], [*steps, instead], instead.certificate)
    # The certificate of another with the statement of this one.
    steps[at] = replace(steps[at], certificate=instead.certificate)
    assert not accepted(line[0], steps, steps[-1].certificate)


@given(st.lists(NAMES, min_size=2, max_size=5, unique=True))
def test_a_key_that_was_left_does_not_come_back(keys: list[str]) -> None:
    line = [f"{key}/1" for key in keys] + [f"{keys[0]}/2"]
    assert not accepted(line[0], chain(line), line[-1])


@given(lines(least=3))
def test_statements_do_not_get_older(line: list[str]) -> None:
    pairs = list(pairwise(line))
    steps = [step(old, new, ALREADY_US - at) for at, (old, new) in enumerate(pairs)]
    assert not accepted(line[0], steps, line[-1])


def test_a_chain_has_an_end() -> None:
    line = [f"a/{serial}" for serial in range(rotation.MAX_STEPS + 2)]
    check_chain(line[0], chain(line[:-1]), last=line[-2], keys=KEYS)
    with pytest.raises(MeshError, match=f"the limit is {rotation.MAX_STEPS}"):
        check_chain(line[0], chain(line), last=line[-1], keys=KEYS)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_statement_or_refused(raw: bytes) -> None:
    with pytest.raises(MeshError) as refusal:
        rotation.read(raw)
    assert refusal.value.code is ErrorCode.TAMPERED
