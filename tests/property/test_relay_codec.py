"""The relay on the wire: what goes out comes in as it was, and no bytes do more than be refused."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Address, Author, Blocked, SessionStatus, Status
from node.core.relay import (
    FORWARDED,
    ITEMS,
    Forward,
    ForwardResult,
    Incoming,
    Item,
    Outcome,
    Progress,
    RemoteSession,
)
from node.core.transfer import Attachment
from tunnel import codec_relay as codec
from tunnel.wire.v1 import mirror_pb2 as pb

LIMITS = Limits()
IDS = st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=16, max_size=16)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
CODES = st.text("abcdefghij_", max_size=20)
NUMBERS = st.integers(1, 2**62)
FILES = st.lists(
    st.builds(
        Attachment, name=TEXTS, sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
        size=st.integers(0, 10**6), folder=st.booleans(), entries=st.integers(0, 100),
    ),
    max_size=3,
).map(tuple)  # fmt: skip
FORWARDS = st.builds(
    Forward, number=NUMBERS, message=IDS, exchange=IDS, kind=st.sampled_from(sorted(FORWARDED)), session=IDS,
    nickname=TEXTS, to=CODES, title=TEXTS, text=TEXTS, reply_to=CODES, accepted=st.booleans(), chain=CODES,
    hops=st.lists(TEXTS, max_size=8).map(tuple), files=FILES,
)  # fmt: skip
INCOMING = st.builds(
    Incoming, message=IDS, exchange=IDS, kind=st.sampled_from(sorted(ITEMS)),
    author=st.sampled_from([Author.SESSION, Author.PERSON, Author.NODE]), title=TEXTS, text=TEXTS, reply_to=CODES,
    status=st.sampled_from(Status), files=FILES,
)  # fmt: skip
TIMES = st.none() | NUMBERS
HELD = st.sampled_from(["", "gone", "draft", "copy_mode"])
PROGRESS = st.builds(
    Progress, message=IDS, exchange=IDS, landed_us=TIMES, notices=st.integers(0, 2**31), held=HELD, confirmed_us=TIMES,
    read_us=TIMES, answered_us=TIMES, gave_up_us=TIMES, status=st.sampled_from(Status),
)  # fmt: skip
ITEMS_OF = st.builds(Item, number=NUMBERS, what=INCOMING | PROGRESS)
ADDRESSES = st.builds(Address, node=CODES, session=IDS)


@given(st.lists(FORWARDS, max_size=3))
def test_forwards(forwards: list[Forward]) -> None:
    frame = pb.RelayRequest()
    for one in forwards:
        codec.forward_to_wire(one, frame.forwards.add())
    assert list(codec.forwards_from_wire(codec.request_from(frame.SerializeToString()).forwards, LIMITS)) == forwards


@given(st.lists(ITEMS_OF, max_size=3))
def test_items(items: list[Item]) -> None:
    frame = pb.RelayResponse(items=[codec.item_to_wire(one) for one in items])
    wire = pb.RelayResponse.FromString(codec.response_to(frame))
    assert list(codec.items_from_wire(wire.items, LIMITS)) == items


@given(
    st.builds(
        ForwardResult, number=NUMBERS, message=IDS, outcome=st.sampled_from(Outcome), code=CODES, words=TEXTS,
        status=st.none() | st.sampled_from(Status),
    )
)  # fmt: skip
def test_results(result: ForwardResult) -> None:
    frame = pb.RelayResponse()
    codec.result_to_wire(result, frame.results.add())
    assert codec.results_from_wire(frame.results, LIMITS) == (result,)


@given(
    st.lists(
        st.builds(
            RemoteSession, node=st.just("peer"), id=IDS, nickname=TEXTS, title=TEXTS, profile=CODES,
            status=st.sampled_from(SessionStatus), askable=st.booleans(),
        ),
        max_size=4,
    )
)  # fmt: skip
def test_directories(sessions: list[RemoteSession]) -> None:
    assert list(codec.directory_from_wire(codec.directory_to_wire(sessions), "peer", LIMITS)) == sessions


@given(st.lists(st.builds(Blocked, who=ADDRESSES, on=ADDRESSES, exchange=IDS), max_size=6))
def test_waits_of_others_only(waits: list[Blocked]) -> None:
    own = waits[0].who.node if waits else "own"
    found = codec.waits_from_wire(codec.waits_to_wire(waits), LIMITS, own)
    assert list(found) == [one for one in waits if one.who.node != own]


@given(st.binary(max_size=400))
def test_no_bytes_of_a_client_do_more_than_be_refused(data: bytes) -> None:
    try:
        frame = codec.request_from(data)
        codec.forwards_from_wire(frame.forwards, LIMITS)
        codec.waits_from_wire(frame.waits, LIMITS, "own")
    except MeshError as refused:
        assert refused.code is ErrorCode.INVALID_ARGUMENT


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4), st.integers(0, 2**60))
def test_what_a_server_makes_up_is_refused_or_within_bounds(words: list[tuple[str, str, str]], size: int) -> None:
    made_up = [
        pb.Item(
            number=1,
            message=pb.Incoming(
                message=a, exchange=b, kind=c, status=a, author=b, files=[pb.FileRef(name=a, sha256=b, size=size)]
            ),
        )
        for a, b, c in words
    ]
    with suppress(MeshError):
        assert codec.items_from_wire(made_up, LIMITS) == ()
    for item in made_up[:1]:
        long = pb.Item.FromString(item.SerializeToString())
        long.message.text = "x" * (LIMITS.text_chars + 1)
        with suppress(MeshError):
            assert codec.items_from_wire([long], LIMITS) == ()
