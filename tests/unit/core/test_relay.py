"""What crosses a mirror, as pure values: names, waits, commands, and what each end makes of the other's word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core import policy, relay
from node.core.commands import Answer, Cancel, Close, Request, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import (
    Address,
    Author,
    Blocked,
    Exchange,
    Kind,
    Ladder,
    MessageKind,
    SessionStatus,
    Status,
)
from node.core.relay import Forward, ForwardResult, Incoming, Item, Outcome, Progress, RemoteSession
from tunnel import codec_relay

A, B, C = "a" * 16, "b" * 16, "c" * 16
HOSTS = {"node-1": "studio", "node-2": "attic"}


def exchange(status: Status, questions: tuple[str, ...] = ()) -> Exchange:
    return Exchange(
        id=A, kind=Kind.REQUEST, status=status, opener=Address(node="here", session=B),
        worker=Address(node="node-1", session=C), title="t", chain=A, hops=(), parent=None, root=A, depth=0,
        next_number=2, questions=questions, ended_noted=False, reason=None, opened_us=1, changed_us=1,
    )  # fmt: skip


def remote(nickname: str, node: str = "node-1", **changes: object) -> RemoteSession:
    given: dict[str, object] = {"node": node, "id": (nickname + A)[:16], "nickname": nickname}
    return RemoteSession(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "parts"),
    [
        ("@api", ("@api", "")), ("@api@studio", ("@api", "studio")), (" @api@studio ", ("@api", "studio")),
        ("api@studio", ("api", "studio")), ("abcdefgh", ("abcdefgh", "")), ("@", ("@", "")), ("", ("", "")),
        ("@api@", ("@api", "")), ("@a@b@c", ("@a@b", "c")),
    ],
)  # fmt: skip
def test_a_name_is_of_a_session_and_perhaps_of_a_host(wanted: str, parts: tuple[str, str]) -> None:
    assert relay.split_name(wanted) == parts


def test_a_mirrored_name_ignores_case_and_is_exact_with_its_host() -> None:
    there = [remote("api"), remote("db", "node-2")]
    for wanted in ("@api", "@API", "@api@studio", "@Api@STUDIO", there[0].id):
        assert relay.find_remote(wanted, there, HOSTS) == there[0]
    for wanted in ("@api@attic", "@ap", "@nobody"):
        assert relay.find_remote(wanted, there, HOSTS) is None
    with pytest.raises(MeshError) as raised:
        relay.find_remote("@api@cellar", there, HOSTS)
    assert (raised.value.code, raised.value.details["choices"]) == (ErrorCode.NOT_FOUND, ("attic", "studio"))


def test_a_name_that_two_hosts_have_is_refused_with_both() -> None:
    there = [remote("api"), remote("api", "node-2", id=B), remote("api", "node-3", id=C)]
    with pytest.raises(MeshError) as raised:
        relay.find_remote("@api", there, HOSTS)
    assert raised.value.code is ErrorCode.AMBIGUOUS
    assert raised.value.details["choices"] == ("@api@attic", "@api@studio")
    assert relay.find_remote("@api@attic", there, HOSTS) == there[1]
    gone = [remote("api", status=SessionStatus.ARCHIVED, askable=False), there[1]]
    assert relay.find_remote("@api", gone, HOSTS) == there[1]


@pytest.mark.parametrize(
    ("status", "words"),
    [(SessionStatus.ARCHIVED, "put away"), (SessionStatus.ENDED, "has ended"), (SessionStatus.STARTING, "cannot be")],
)
def test_who_cannot_be_asked_is_said_to_be_gone_or_ended(status: SessionStatus, words: str) -> None:
    relay.check_askable(remote("api", status=status), "studio")
    with pytest.raises(MeshError, match=words) as raised:
        relay.check_askable(remote("api", status=status, askable=False), "studio")
    assert "@api@studio" in raised.value.message


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (MessageKind.REQUEST, Request(to=C, text="x", title="t")), (MessageKind.ANSWER, Answer(question=B, text="x")),
        (MessageKind.STEER, Steer(exchange=A, text="x")),
        (MessageKind.CLOSE, Close(exchange=A, accepted=True, note="x")),
        (MessageKind.CANCEL, Cancel(exchange=A, reason="x")),
    ],
)  # fmt: skip
def test_a_forward_is_one_command_of_the_openers(kind: MessageKind, command: object) -> None:
    forward = Forward(
        number=1, message=B, exchange=A, kind=kind, session=C, to=C, title="t", text="x", reply_to=B, accepted=True,
        chain=A,
    )  # fmt: skip
    assert relay.command_of(forward) == command


@pytest.mark.parametrize("kind", sorted(set(MessageKind) - relay.FORWARDED))
def test_no_other_kind_is_forwarded(kind: MessageKind) -> None:
    with pytest.raises(MeshError) as raised:
        relay.command_of(Forward(number=1, message=B, exchange=A, kind=kind, session=C))
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("field", ["message", "exchange", "session", "to", "chain"])
def test_ids_that_are_none_are_refused(field: str) -> None:
    ids = {"message": B, "exchange": A, "session": C, "to": C, "chain": A} | {field: "../../etc"}
    with pytest.raises(MeshError) as raised:
        relay.command_of(Forward(number=1, kind=MessageKind.REQUEST, text="x", **ids))
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("told", list(Status))
@pytest.mark.parametrize("mine", list(Status))
def test_the_server_decides_how_an_open_exchange_stands(mine: Status, told: Status) -> None:
    before = exchange(mine, (B,) if mine is Status.ASKED else ())
    after = relay.after_status(before, told)
    if mine.closed:
        assert after == before
    else:
        assert after.status is told
        assert not after.questions or told is Status.ASKED


@pytest.mark.parametrize("kind", sorted(relay.ITEMS))
@pytest.mark.parametrize("mine", list(Status))
def test_every_item_fits_an_open_exchange_and_leaves_a_closed_one(mine: Status, kind: MessageKind) -> None:
    before = exchange(mine)
    told = Incoming(message=B, exchange=A, kind=kind, author=Author.SESSION, status=Status.WORKING)
    after = relay.after_message(before, told)
    assert after.status is (mine if mine.closed else Status.WORKING)


TIMES = st.none() | st.integers(-5, 2**60)


@given(TIMES, TIMES, st.integers(0, 2**31), st.integers(0, 5))
def test_nothing_of_a_ladder_is_taken_back_and_no_time_is_beyond_reason(
    mine: int | None, theirs: int | None, notices: int, had: int
) -> None:
    good = mine if mine is None or 0 < mine < 2**53 else None
    before = Ladder(recorded_us=1, read_us=good, notices=had)
    after = relay.ladder_after(
        before, Progress(message=B, exchange=A, read_us=theirs, notices=notices, status=Status.WORKING)
    )
    assert after.read_us is not None or good is None
    assert after.read_us is None or 0 < after.read_us < 2**53
    assert had <= after.notices <= max(had, 99)


NODES = st.sampled_from(["n1", "n2", "n3"])
WAITS = st.lists(
    st.builds(
        lambda a, b, c, d: Blocked(who=Address(node=a, session=b), on=Address(node=c, session=d), exchange="e"),
        NODES, st.sampled_from("xyz"), NODES, st.sampled_from("xyz"),
    ),
    max_size=12,
)  # fmt: skip


@given(WAITS, NODES)
def test_the_waits_towards_a_node_are_those_that_lead_there(waits: list[Blocked], node: str) -> None:
    def leads(start: Blocked, seen: frozenset[Address]) -> bool:
        if start.on.node == node:
            return True
        onward = [one for one in waits if one.who == start.on and one.on not in seen]
        return any(leads(one, seen | {one.on}) for one in onward)

    found = policy.waits_towards(node, waits, 100)
    assert list(found) == [one for one in waits if leads(one, frozenset({one.on}))]
    assert len(policy.waits_towards(node, waits, 2)) <= 2


@pytest.mark.parametrize(
    ("before", "code", "files", "landed_us", "held"),
    [
        (Ladder(recorded_us=1, held="server unreachable"), "", False, 9, None),
        (Ladder(recorded_us=1), "", True, None, None),
        (Ladder(recorded_us=1), "approval", False, None, "approval"),
        (Ladder(recorded_us=1), "approval", True, None, "approval"),
        (Ladder(recorded_us=1), "of a later version", False, 9, None),
        # What became of it was told first: a person was quick.
        (Ladder(recorded_us=1, landed_us=5), "approval", False, 5, None),
        (Ladder(recorded_us=1, gave_up_us=5, held="refused_by_person"), "approval", False, None, "refused_by_person"),
    ],
)
def test_a_forward_that_is_taken_has_landed_unless_it_waits(
    *, before: Ladder, code: str, files: bool, landed_us: int | None, held: str | None
) -> None:
    result = ForwardResult(number=1, message=A, outcome=Outcome.RELAYED, code=code)
    after = relay.ladder_when_taken(before, result, 9, files=files)
    assert (after.landed_us, after.held) == (landed_us, held)


@pytest.mark.parametrize(
    ("told", "held"),
    [("approval", "approval"), ("refused_by_person", "refused_by_person"), ("withdrawn", "withdrawn"), ("words", "")],
)
def test_of_what_holds_a_message_only_known_codes_come_in(told: str, held: str) -> None:
    progress = Progress(message=A, exchange=B, held=told, status=Status.STARTING)
    wire = codec_relay.item_to_wire(Item(number=1, what=progress))
    (item,) = codec_relay.items_from_wire([wire], Limits())
    assert isinstance(item.what, Progress)
    assert item.what.held == held
