"""The key exchange behind a pairing code that was agreed on beforehand."""

from __future__ import annotations

import pytest
from spake2.ed25519_basic import Base, ElementOfUnknownGroup, Q, Zero

from node.core.errors import ErrorCode, MeshError
from node.core.pairing_messages import Role
from node.pake import Exchange, finish, start
from node.ports import Entropy
from tests.pairing_twins import bytes_of

CODE = "04711342"


def drawn(label: str) -> Entropy:
    """Not random, and the same for the same label."""
    return lambda size: bytes_of(label, size)


def begun(role: Role, code: str = CODE) -> tuple[Exchange, bytes]:
    return start(role, code, drawn(role.value))


def refused(exchange: Exchange, message: bytes) -> ErrorCode:
    with pytest.raises(MeshError) as error:
        finish(exchange, message)
    return error.value.code


def test_the_same_code_gives_both_the_same_key() -> None:
    (dialer, from_dialer), (waiter, from_waiter) = begun(Role.DIALER), begun(Role.WAITER, "0471-1342 ")
    assert len(from_dialer) == len(from_waiter) == 33
    key = finish(dialer, from_waiter)
    assert key == finish(waiter, from_dialer)
    assert len(key) == 32


def test_another_code_gives_another_key() -> None:
    (dialer, from_dialer), (waiter, from_waiter) = begun(Role.DIALER), begun(Role.WAITER, "04711343")
    assert finish(dialer, from_waiter) != finish(waiter, from_dialer)


def test_a_code_with_zeros_in_front_is_another_code() -> None:
    (dialer, from_dialer), (waiter, from_waiter) = begun(Role.DIALER, "0471134"), begun(Role.WAITER, "471134")
    assert finish(dialer, from_waiter) != finish(waiter, from_dialer)


def test_another_draw_gives_another_message_and_key() -> None:
    messages = {start(Role.DIALER, CODE, drawn(str(number)))[1] for number in range(4)}
    assert len(messages) == 4


def test_an_exchange_is_finished_once() -> None:
    dialer, _ = begun(Role.DIALER)
    _, from_waiter = begun(Role.WAITER)
    finish(dialer, from_waiter)
    assert refused(dialer, from_waiter) is ErrorCode.WRONG_STATE


@pytest.mark.parametrize("role", Role)
def test_its_own_message_is_refused(role: Role) -> None:
    exchange, mine = begun(role)
    assert refused(exchange, mine) is ErrorCode.INVALID_ARGUMENT
    exchange, mine = begun(role)
    other_side = b"B" if role is Role.DIALER else b"A"
    assert refused(exchange, other_side + mine[1:]) is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "element",
    [
        Zero.to_bytes(),
        bytes(32),
        b"\xff" * 32,
        # y = -1: a point of order 2.
        (Q - 1).to_bytes(32, "little"),
        # No point has this y.
        (2).to_bytes(32, "little"),
        # The base point and a point of order 2 together: on the curve, outside the group.
        Base.add(ElementOfUnknownGroup((0, Q - 1, 1, 0))).to_bytes(),
        # The neutral element in two spellings that the library takes for another.
        (Q + 1).to_bytes(32, "little"),
        (1 + 2**255).to_bytes(32, "little"),
    ],
)
def test_what_is_no_element_of_the_group_is_refused(element: bytes) -> None:
    exchange, _ = begun(Role.DIALER)
    assert refused(exchange, b"B" + element) is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("message", [b"", b"B", b"B" + bytes(31), b"B" + bytes(33), b"X" * 33, b"S" + bytes(32)])
def test_a_message_of_another_shape_is_refused(message: bytes) -> None:
    exchange, _ = begun(Role.DIALER)
    assert refused(exchange, message) is ErrorCode.INVALID_ARGUMENT


def test_a_longer_message_that_begins_well_is_refused() -> None:
    exchange, _ = begun(Role.DIALER)
    _, from_waiter = begun(Role.WAITER)
    assert refused(exchange, from_waiter + b"\0") is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("code", ["", "12345", "123456789", "12345x", "١٢٣٤٥٦"])
def test_what_is_no_code_is_refused(code: str) -> None:
    with pytest.raises(MeshError) as error:
        start(Role.DIALER, code, drawn("x"))
    assert error.value.code is ErrorCode.INVALID_ARGUMENT


def test_the_code_is_in_no_representation() -> None:
    exchange, _ = begun(Role.DIALER)
    assert CODE not in repr(exchange)
