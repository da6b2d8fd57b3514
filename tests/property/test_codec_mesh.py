"""What nodes tell each other comes out of the wire as it went in, and nothing else comes out of it."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from node import codec_mesh as codec
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Beat, Grant, Greeting
from node.core.rotation import Step
from node.wire.v1 import mesh_pb2 as pb

WORD = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._+-]{0,31}\Z")
TIME = st.integers(1, 2**53 - 1)
GRANTS = st.frozensets(st.sampled_from(Grant))
GREETINGS = st.builds(
    Greeting,
    version=WORD,
    grants=GRANTS,
    now_us=TIME,
    tls=st.just("") | WORD,
    group=st.just("") | WORD,
    issued=st.text(st.characters(codec="ascii"), max_size=codec.CERTIFICATE_BYTES),
)
BEATS = st.builds(Beat, number=st.integers(1, 2**64 - 1), now_us=TIME, grants=GRANTS)
KEYS = st.builds(
    Step,
    certificate=st.text(st.characters(codec="ascii"), min_size=1, max_size=codec.CERTIFICATE_BYTES),
    statement=st.binary(min_size=1, max_size=codec.STATEMENT_BYTES),
    signature=st.binary(min_size=1, max_size=codec.SIGNATURE_BYTES),
)


@given(GREETINGS)
def test_greetings_pass_whole(greeting: Greeting) -> None:
    wire = pb.GreetResponse.FromString(codec.greeting_to_wire(greeting).SerializeToString())
    assert codec.greeting_from_wire(wire) == greeting


@given(BEATS)
def test_beats_pass_whole(beat: Beat) -> None:
    wire = pb.AttendResponse.FromString(codec.beat_to_wire(beat).SerializeToString())
    assert codec.beat_from_wire(wire) == beat


@given(KEYS)
def test_new_keys_pass_whole(new: Step) -> None:
    wire = pb.RekeyRequest.FromString(codec.new_key_to_wire(new).SerializeToString())
    assert codec.new_key_from_wire(wire) == new


@given(st.binary(max_size=200))
def test_whatever_comes_is_refused_by_name_or_well_formed(data: bytes) -> None:
    for kind, read in (
        (pb.GreetRequest, codec.version_from_wire),
        (pb.AttendRequest, codec.version_from_wire),
        (pb.GreetResponse, codec.greeting_from_wire),
        (pb.AttendResponse, codec.beat_from_wire),
        (pb.RekeyRequest, codec.new_key_from_wire),
    ):
        try:
            read(kind.FromString(data))  # type: ignore[operator]
        except DecodeError:
            continue
        except MeshError as error:
            assert error.code in {ErrorCode.INVALID_ARGUMENT, ErrorCode.UNSUPPORTED}


@pytest.mark.parametrize(
    ("wire", "code", "words"),
    [
        (pb.GreetResponse(now_us=1), ErrorCode.INVALID_ARGUMENT, "a version"),
        (pb.GreetResponse(version="1\n", now_us=1), ErrorCode.INVALID_ARGUMENT, "a version"),
        (pb.GreetResponse(version="1" * 33, now_us=1), ErrorCode.INVALID_ARGUMENT, "a version"),
        (pb.GreetResponse(version="1"), ErrorCode.INVALID_ARGUMENT, "time"),
        (pb.GreetResponse(version="1", now_us=-1), ErrorCode.INVALID_ARGUMENT, "time"),
        (pb.GreetResponse(version="1", now_us=2**53), ErrorCode.INVALID_ARGUMENT, "time"),
        (pb.GreetResponse(version="1", now_us=1, tls="\x1b[2J"), ErrorCode.INVALID_ARGUMENT, "TLS"),
        (pb.GreetResponse(version="1", now_us=1, group="ü"), ErrorCode.INVALID_ARGUMENT, "key exchange"),
        (pb.GreetResponse(version="1", now_us=1, issued="A" * 4_097), ErrorCode.INVALID_ARGUMENT, "4096 bytes"),
        (pb.GreetResponse(version="1", now_us=1, grants=["all"]), ErrorCode.UNSUPPORTED, "different versions"),
        (pb.GreetResponse(version="1", now_us=1, grants=["request"] * 2), ErrorCode.INVALID_ARGUMENT, "twice"),
        (pb.GreetResponse(version="1", now_us=1, grants=["request"] * 5000), ErrorCode.INVALID_ARGUMENT, "twice"),
    ],
)
def test_a_greeting_is_held_to_its_words(wire: pb.GreetResponse, code: ErrorCode, words: str) -> None:
    with pytest.raises(MeshError) as caught:
        codec.greeting_from_wire(wire)
    assert caught.value.code is code
    assert words in caught.value.message


@pytest.mark.parametrize(
    "wire",
    [
        pb.RekeyRequest(statement=b"s", signature=b"s"),
        pb.RekeyRequest(certificate="c", signature=b"s"),
        pb.RekeyRequest(certificate="c", statement=b"s"),
        pb.RekeyRequest(certificate="c" * 4_097, statement=b"s", signature=b"s"),
        pb.RekeyRequest(certificate="c", statement=bytes(1_025), signature=b"s"),
        pb.RekeyRequest(certificate="c", statement=b"s", signature=bytes(81)),
    ],
)
def test_a_new_key_is_held_to_its_sizes(wire: pb.RekeyRequest) -> None:
    with pytest.raises(MeshError) as caught:
        codec.new_key_from_wire(wire)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_beat_counts_from_one() -> None:
    with pytest.raises(MeshError):
        codec.beat_from_wire(pb.AttendResponse(now_us=1))
