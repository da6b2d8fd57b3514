"""Policy: names, reach, which exchange is meant, and waits that would never end."""

from __future__ import annotations

import itertools
import unicodedata
from dataclasses import replace

import pytest

from node.core import policy
from node.core.errors import ErrorCode, MeshError
from node.core.model import Address, AgentState, End, Exchange, Kind, Session, SessionStatus, Status

A, B, C, D = (Address(node="n", session=letter * 16) for letter in "abcd")
PERSON = Address(node="n", session=None)


def session(number: str, nickname: str | None, status: SessionStatus = SessionStatus.RUNNING) -> Session:
    return Session(
        id=number * 16, nickname=nickname, title="title", workspace="default", profile="p", argv=("x",), cwd="/",
        pane=None, status=status, state=AgentState.IDLE, created_us=1, changed_us=1,
    )  # fmt: skip


def exchange(
    exchange_id: str, opener: Address = A, worker: Address = B, status: Status = Status.WORKING, title: str = "t"
) -> Exchange:
    return Exchange(
        id=exchange_id.ljust(16, "2"), kind=Kind.REQUEST, status=status, opener=opener, worker=worker, title=title,
        chain="c", hops=(), parent=None, root="r", depth=0, next_number=2, questions=(), ended_noted=False, reason=None,
        opened_us=1, changed_us=1,
    )  # fmt: skip


def code_of(refused: pytest.ExceptionInfo[MeshError]) -> ErrorCode:
    return refused.value.code


# --- nicknames


@pytest.mark.parametrize(
    ("wanted", "nick"),
    [
        ("payments", "payments"), ("@payments", "payments"), ("  api-2.x_y ", "api-2.x_y"), ("Ünïcode", "Ünïcode"),
        ("e\u0301cole", "école"), ("支付", "支付"), ("किताब", "किताब"), ("x" * 32, "x" * 32), ("7", "7"),
        ("e\u0301" * 32, "é" * 32), ("-a", "-a"),
    ],
)  # fmt: skip
def test_good_nicknames(wanted: str, nick: str) -> None:
    assert policy.clean_nickname(wanted) == nick


@pytest.mark.parametrize(
    "wanted",
    [
        "", "@", " ", "x" * 33, "a b", "a/b", "a\nb", "a@b", "@@a", "---", "._-", "\u0301a", "a\u200bb", "a\u202eb",
        "a½", "a\u00adb", "\U0001f600", "a:b", "$(x)", "a;b", "a\x1bb", "ⅷ",
    ],
)  # fmt: skip
def test_bad_nicknames(wanted: str) -> None:
    with pytest.raises(MeshError) as refused:
        policy.clean_nickname(wanted)
    assert code_of(refused) is ErrorCode.INVALID_ARGUMENT
    assert "1 to 32" in refused.value.message


@pytest.mark.parametrize(
    "hidden", ["\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u3164", "\ufe0f", "\uffa0", "\U000e0100"]
)
def test_a_nickname_hides_nothing(hidden: str) -> None:
    """Letters and marks which draw nothing: @bo(hidden)ss would look exactly like @boss."""
    for wanted in (f"bo{hidden}ss", f"boss{hidden}"):
        with pytest.raises(MeshError) as refused:
            policy.clean_nickname(wanted)
        assert code_of(refused) is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("one", "other"),
    [("API", "api"), ("École", "e\u0301COLE"), ("straße", "STRASSE"), ("ΣΑΣ", "σας"), ("ﬁx", "fix")],
)
def test_the_same_nickname(one: str, other: str) -> None:
    assert policy.nickname_key(one) == policy.nickname_key(other)


@pytest.mark.parametrize(("one", "other"), [("api", "apis"), ("chief", "chief-khaliq"), ("e", "é"), ("a.b", "ab")])
def test_other_nicknames(one: str, other: str) -> None:
    assert policy.nickname_key(one) != policy.nickname_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("boss", "bοss"), ("boss", "b0ss"), ("paypal", "раураl"), ("admin", "adrnin"), ("ill", "1lI"), ("ville", "víllé")],
)
def test_look_alikes_are_told_and_allowed(one: str, other: str) -> None:
    choice = policy.choose_nickname(other, [session("a", one)], for_session=None)
    assert choice.look_alikes == (f"@{one}",)


def test_what_does_not_look_alike_is_not_told() -> None:
    assert policy.choose_nickname("payments", [session("a", "payment")], for_session=None).look_alikes == ()


def test_a_taken_nickname_names_its_holder() -> None:
    with pytest.raises(MeshError) as refused:
        policy.choose_nickname("E\u0301cole", [session("a", "école")], for_session=None)
    assert code_of(refused) is ErrorCode.ALREADY_EXISTS
    assert refused.value.details == {"holder": "a" * 16}
    assert "aaaaaaaa" in refused.value.message


def test_a_session_may_keep_its_own_nickname() -> None:
    assert policy.choose_nickname("API", [session("a", "api")], for_session="a" * 16).nickname == "API"


# --- who is meant, who can be reached

SESSIONS = (session("a", "chief"), session("b", "chief-khaliq"), session("c", None), session("d", "dddddddd"))


@pytest.mark.parametrize(
    ("wanted", "number"),
    [("@chief", "a"), ("chief", "a"), ("@CHIEF-Khaliq", "b"), (" @chief ", "a"), ("cccccc", "c"), ("dddddddd", "d")],
)
def test_a_session_is_named_whole_or_by_id(wanted: str, number: str) -> None:
    assert policy.find_session(wanted, SESSIONS).id == number * 16


@pytest.mark.parametrize("wanted", ["@chie", "@chief-", "@hief", "@cccccc", "nobody", "@" + "x" * 500, "c" * 17])
def test_a_part_of_a_name_names_nobody(wanted: str) -> None:
    with pytest.raises(MeshError) as refused:
        policy.find_session(wanted, SESSIONS)
    assert code_of(refused) is ErrorCode.NOT_FOUND
    assert refused.value.details["choices"] == ("@chief", "@chief-khaliq", "@dddddddd")
    assert len(refused.value.message) < 300


def test_a_nickname_takes_over_no_other_sessions_id() -> None:
    """An agent that gives its delegate the id of another session as a nickname must not get what is meant for that."""
    taking = (session("a", "c" * 16), session("b", "cccccccc"), session("c", None))
    assert policy.find_session("c" * 16, taking).id == "c" * 16
    assert policy.find_session("@" + "c" * 16, taking).id == "a" * 16
    assert policy.find_session("@cccccccc", taking).id == "b" * 16
    with pytest.raises(MeshError) as refused:
        policy.find_session("cccccccc", taking)
    assert code_of(refused) is ErrorCode.AMBIGUOUS
    assert "@cccccccc" in refused.value.message


def test_a_refusal_names_only_sessions_in_reach() -> None:
    with pytest.raises(MeshError) as refused:
        policy.find_session("@nobody", SESSIONS, in_reach={"a" * 16})
    assert refused.value.details["choices"] == ("@chief",)
    assert "chief-khaliq" not in refused.value.message


def test_an_unnamed_target_is_refused() -> None:
    with pytest.raises(MeshError) as refused:
        policy.find_session("  ", SESSIONS)
    assert code_of(refused) is ErrorCode.INVALID_ARGUMENT


def test_one_cannot_ask_oneself() -> None:
    with pytest.raises(MeshError) as refused:
        policy.reachable("@chief", SESSIONS, A)
    assert code_of(refused) is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("status", [SessionStatus.ENDED, SessionStatus.ARCHIVED])
def test_who_has_ended_cannot_be_asked(status: SessionStatus) -> None:
    with pytest.raises(MeshError) as refused:
        policy.reachable("@gone", [session("b", "gone", status)], A)
    assert code_of(refused) is ErrorCode.UNAVAILABLE
    assert status.value in refused.value.message


def test_the_person_may_ask_anybody() -> None:
    assert policy.reachable("@chief", SESSIONS, PERSON).id == "a" * 16


# --- which exchange is meant


def resolve(wanted: str | None, among: list[Exchange], *, actor: Address = B, end: End | None = End.WORKER) -> Exchange:
    return policy.resolve_exchange(wanted, among, actor, end=end, tool="deliver")


def test_the_only_open_one_needs_no_id() -> None:
    open_one, closed = exchange("aaaaaaaa"), exchange("bbbbbbbb", status=Status.ACCEPTED)
    for nothing in (None, ""):
        assert resolve(nothing, [closed, open_one]) == open_one


def test_a_closed_one_is_found_by_its_id() -> None:
    closed = exchange("bbbbbbbb", status=Status.ACCEPTED)
    assert resolve("bbbbbb", [closed, exchange("aaaaaaaa")]) == closed


def test_several_open_ones_are_listed() -> None:
    with pytest.raises(MeshError) as refused:
        resolve(None, [exchange("aaaaaaaa", title="first thing"), exchange("bbbbbbbb")])
    assert code_of(refused) is ErrorCode.AMBIGUOUS
    assert refused.value.details["choices"] == ("aaaaaaaa22222222", "bbbbbbbb22222222")
    assert "aaaaaaaa, bbbbbbbb" in refused.value.message
    # Another agent wrote the titles: they are shown beside the node's own words, never among them.
    assert "first thing" not in refused.value.message
    assert refused.value.details["titles"] == ("first thing", "t")


def test_nothing_open_is_a_wrong_state() -> None:
    with pytest.raises(MeshError) as refused:
        resolve(None, [exchange("aaaaaaaa", status=Status.CANCELLED)])
    assert code_of(refused) is ErrorCode.WRONG_STATE


def test_an_exchange_of_others_is_not_found_and_does_not_count() -> None:
    foreign, mine = exchange("ffffffff", opener=C, worker=D), exchange("aaaaaaaa")
    assert resolve(None, [foreign, mine]) == mine
    with pytest.raises(MeshError) as refused:
        resolve("ffffffff", [foreign, mine])
    with pytest.raises(MeshError) as unknown:
        resolve("gggggggg", [foreign, mine])
    assert code_of(refused) is ErrorCode.NOT_FOUND
    assert refused.value.message.replace("ffffffff", "gggggggg") == unknown.value.message


def test_the_wrong_end_is_told_which_end_it_is() -> None:
    with pytest.raises(MeshError) as refused:
        resolve("aaaaaa", [exchange("aaaaaaaa")], actor=A)
    assert code_of(refused) is ErrorCode.WRONG_STATE
    assert "deliver is for the peer session" in refused.value.message
    assert "you are the asker" in refused.value.message


def test_without_an_end_either_will_do() -> None:
    assert resolve("aaaaaa", [exchange("aaaaaaaa")], actor=A, end=None).id.startswith("aaaaaa")


# --- cycles


@pytest.mark.parametrize(
    ("waits", "path"),
    [
        ({}, ()),
        ({B: [C]}, ()),
        ({B: [A]}, (B, A)),
        ({B: [C], C: [A]}, (B, C, A)),
        ({B: [D, C], D: [D], C: [A]}, (B, C, A)),
        ({B: [C], C: [B]}, ()),
        ({B: [PERSON], PERSON: [A]}, (B, PERSON, A)),
    ],
)
def test_the_way_back_is_found(waits: dict[Address, list[Address]], path: tuple[Address, ...]) -> None:
    assert policy.find_cycle(A, B, waits) == path


def test_waiting_for_oneself_is_a_cycle() -> None:
    assert policy.find_cycle(A, A, {}) == (A,)


def test_a_long_chain_of_waits_is_no_recursion() -> None:
    chain = [Address(node="n", session=str(number)) for number in range(20_000)]
    waits = {one: [then] for one, then in itertools.pairwise(chain)}
    assert len(policy.find_cycle(chain[-1], chain[0], waits)) == 20_000


# --- titles


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", "untitled"), ("\n \n", "untitled"), ("## Fix the build\nnow", "Fix the build"), ("- a  b\t c", "a b c"),
        ("x" * 60, "x" * 60), ("x" * 61, "x" * 59 + "…"), ("word " * 20, ("word " * 11).strip() + "…"),
        ("\u2028one\u2028two", "one"),
    ],
)  # fmt: skip
def test_titles_come_from_the_first_line_that_says_something(text: str, title: str) -> None:
    assert policy.derive_title(text) == title


def test_a_session_without_nickname_is_never_found_by_an_empty_name() -> None:
    with pytest.raises(MeshError):
        policy.find_session("@", [replace(SESSIONS[2], nickname=None)])


def test_the_look_alike_table_folds_to_latin() -> None:
    assert unicodedata.is_normalized("NFC", policy.nickname_skeleton("раураl"))
    assert policy.nickname_skeleton("раураl") == policy.nickname_skeleton("paypal")
