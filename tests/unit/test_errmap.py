"""Every error code has a meaning at every border, and an error crosses gRPC whole."""

from __future__ import annotations

import json
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import errmap
from node.core.errors import ErrorCode, MeshError
from node.grpc_setup import aio, grpc

DETAILS = st.dictionaries(
    st.text(max_size=12),
    st.text(max_size=40) | st.integers() | st.booleans() | st.lists(st.text(max_size=12), max_size=4).map(tuple),
    max_size=4,
)


def failed(code: grpc.StatusCode, *trailer: tuple[str, str | bytes]) -> aio.AioRpcError:
    """What a client gets when its call ended with `code`."""
    return aio.AioRpcError(code, aio.Metadata(), aio.Metadata(*trailer), details="words of the transport")


def test_the_table_is_total() -> None:
    assert set(errmap.MEANINGS) == set(ErrorCode)


def test_no_code_looks_like_success() -> None:
    for code, meaning in errmap.MEANINGS.items():
        assert meaning.grpc is not grpc.StatusCode.OK, code
        assert 400 <= meaning.http <= 599, code
        assert meaning.mcp != 0, code
        # 126 and up are the shell's, 64 to 78 belong to sysexits.
        assert 1 <= meaning.exit < 64, code


def test_scripts_and_clients_can_tell_codes_apart() -> None:
    assert len({meaning.exit for meaning in errmap.MEANINGS.values()}) == len(ErrorCode)
    assert len({meaning.mcp for meaning in errmap.MEANINGS.values()}) == len(ErrorCode)


def test_json_rpc_codes_are_standard_ones_or_outside_of_the_reserved_range() -> None:
    for code, meaning in errmap.MEANINGS.items():
        assert meaning.mcp in {-32602, -32603} or not -32768 <= meaning.mcp <= -32000, code


def test_a_meaning_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        errmap.MEANINGS[ErrorCode.LIMIT] = errmap.MEANINGS[ErrorCode.CYCLE]  # type: ignore[index]
    assert astuple(errmap.MEANINGS[ErrorCode.NODE_NOT_RUNNING])[1:] == (1015, 503, 3)


@given(code=st.sampled_from(ErrorCode), message=st.text(max_size=300), details=DETAILS)
def test_an_error_comes_out_of_a_trailer_as_it_went_in(code: ErrorCode, message: str, details: dict[str, str]) -> None:
    sent = MeshError(code, message, details)
    back = errmap.decode(errmap.encode(sent))
    assert back is not None
    assert (back.code, back.message, back.details) == (sent.code, sent.message, sent.details)
    assert {name: type(value) for name, value in back.details.items()} == {n: type(v) for n, v in sent.details.items()}


def test_an_error_too_large_for_a_trailer_loses_details_before_words() -> None:
    sent = MeshError(ErrorCode.AMBIGUOUS, "Which one?", {"choices": tuple(f"choice {n}" for n in range(5_000))})
    back = errmap.decode(errmap.encode(sent))
    assert back is not None
    assert (back.code, back.message, back.details) == (ErrorCode.AMBIGUOUS, "Which one?", {})


@pytest.mark.parametrize("character", ["x", "\x00", "é", "\U0001f600", "\ud800"])
def test_a_message_of_any_size_fits_a_trailer(character: str) -> None:
    data = errmap.encode(MeshError(ErrorCode.LIMIT, character * 100_000))
    assert len(data) <= errmap.TRAILER_BYTES
    back = errmap.decode(data)
    assert back is not None
    assert back.message.endswith("…")
    assert back.message[:1000] == character * 1000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"code": "limit"}',
        b'{"code": "of the future", "message": "m", "details": {}}',
        b'{"code": "limit", "message": 7, "details": {}}',
        b'{"code": "limit", "message": "m", "details": []}',
        b'{"code": "limit", "message": "m", "details": {"a": 1.5}}',
        b'{"code": "limit", "message": "m", "details": {"a": null}}',
        b'{"code": "limit", "message": "m", "details": {"a": ["b", 1]}}',
        b'{"code": ["limit"], "message": "m", "details": {}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_error_of_ours_is_not_taken_for_one(data: bytes) -> None:
    assert errmap.decode(data) is None


def test_the_error_of_the_other_program_wins_over_the_status() -> None:
    sent = MeshError(ErrorCode.CYCLE, "You wait for each other.", {"path": ("a", "b")})
    back = errmap.from_rpc(failed(grpc.StatusCode.INTERNAL, ("helio-error-bin", errmap.encode(sent))))
    assert (back.code, back.message, back.details) == (sent.code, sent.message, sent.details)


def test_every_bare_status_becomes_an_error_with_a_next_step() -> None:
    for status in grpc.StatusCode:
        error = errmap.from_rpc(failed(status))
        assert status.name in error.message
        assert error.message.endswith((".", "log."))
        assert "words of the transport" not in error.message


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (grpc.StatusCode.UNAVAILABLE, ErrorCode.UNAVAILABLE),
        (grpc.StatusCode.CANCELLED, ErrorCode.UNAVAILABLE),
        (grpc.StatusCode.DEADLINE_EXCEEDED, ErrorCode.UNAVAILABLE),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, ErrorCode.LIMIT),
        (grpc.StatusCode.UNIMPLEMENTED, ErrorCode.UNSUPPORTED),
        (grpc.StatusCode.UNAUTHENTICATED, ErrorCode.UNAUTHENTICATED),
        (grpc.StatusCode.PERMISSION_DENIED, ErrorCode.REACH),
        (grpc.StatusCode.UNKNOWN, ErrorCode.INTERNAL),
    ],
)
def test_what_grpc_says_by_itself(status: grpc.StatusCode, code: ErrorCode) -> None:
    assert errmap.from_rpc(failed(status)).code is code


def test_a_trailer_that_is_broken_falls_back_to_the_status() -> None:
    broken = failed(grpc.StatusCode.UNIMPLEMENTED, ("helio-error-bin", json.dumps({"code": "?"}).encode()))
    assert errmap.carried(broken) is None
    assert errmap.from_rpc(broken).code is ErrorCode.UNSUPPORTED
