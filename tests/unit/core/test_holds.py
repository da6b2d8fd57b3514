"""Who decides over a flagged text, as a whole table; what a text's digest is; what a person's no undoes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from node.core.holds import ASKS, after_refusal, asks_words, judged, question, reason_of, text_digest, worst
from node.core.model import Address, Author, End, Exchange, Kind, Ladder, Message, MessageKind, Status
from node.core.verdict import Decision, Field, Finding, Verdict
from node.core.workspace import ScreenMode

BLOCK, HOLDS, LOGS = ScreenMode.BLOCK, ScreenMode.HOLD, ScreenMode.LOG
RELAY, LOG, HOLD, WITHHOLD = Decision.RELAY, Decision.LOG, Decision.HOLD, Decision.WITHHOLD
AUTHORS = tuple(Author)


def verdict(decision: Decision, *asks: str, score: int = 600, snippet: str = "") -> Verdict:
    return Verdict(
        decision=decision, score=score, findings=(), snippet=snippet, advice="", engine="twin", version="1", asks=asks
    )


@pytest.mark.parametrize("found", [RELAY, LOG])
def test_what_is_not_flagged_is_never_touched(found: Decision) -> None:
    for mode, allowed, author, here in product(ScreenMode, (True, False), AUTHORS, (True, False)):
        assert judged(verdict(found), mode=mode, allowed=allowed, author=author, to_here=here) is found


@pytest.mark.parametrize("found", [HOLD, WITHHOLD])
def test_an_allowed_text_passes_and_is_noted(found: Decision) -> None:
    for mode, author, here in product(ScreenMode, AUTHORS, (True, False)):
        assert judged(verdict(found), mode=mode, allowed=True, author=author, to_here=here) is LOG


@pytest.mark.parametrize(
    ("mode", "found", "from_others", "from_the_person", "to_elsewhere"),
    [
        (BLOCK, HOLD, HOLD, LOG, LOG),
        (BLOCK, WITHHOLD, WITHHOLD, WITHHOLD, WITHHOLD),
        (HOLDS, HOLD, HOLD, LOG, LOG),
        (HOLDS, WITHHOLD, HOLD, HOLD, WITHHOLD),
        (LOGS, HOLD, LOG, LOG, LOG),
        (LOGS, WITHHOLD, LOG, LOG, LOG),
    ],
)
def test_the_table(
    mode: ScreenMode, found: Decision, from_others: Decision, from_the_person: Decision, to_elsewhere: Decision
) -> None:
    said = verdict(found)
    for author in AUTHORS:
        here = from_the_person if author is Author.PERSON else from_others
        assert judged(said, mode=mode, allowed=False, author=author, to_here=True) is here, author
        assert judged(said, mode=mode, allowed=False, author=author, to_here=False) is to_elsewhere, author


def test_a_digest_is_of_the_exact_texts_in_their_order() -> None:
    def digest(*texts: str) -> str:
        return text_digest([Field(name=f"f{number}", text=text) for number, text in enumerate(texts)])

    assert digest("a", "b") == digest("a", "", "b") == digest("", "a", "b")
    others = [digest(*texts) for texts in (("a", "b"), ("b", "a"), ("ab",), ("a b",), ("A", "b"), ("a", "b "), ())]
    assert len(set(others)) == len(others)
    # Parts cannot be moved from one text to the next by what JSON quotes with.
    assert digest('a","b') != digest("a", "b")
    # Of what is kept in databases: it may not change.
    assert digest("a") == "0eb5b8d6f81bc677da8a08567cc4fa9a06a57e9ec8da85ed73a7f62727996002"


def test_what_is_asked_stands_in_words() -> None:
    assert asks_words(verdict(HOLD, "secrets")) == "asks for secrets"
    assert asks_words(verdict(HOLD, "secrets", "publish", "merge", "secrets")) == (
        "asks for secrets, to publish something and to merge something"
    )
    assert asks_words(verdict(HOLD, "of_a_later_version")) == asks_words(verdict(WITHHOLD))
    key = Finding(rule="credential.aws", field="text", start=0, end=9, weight=1000, view="raw", quoted=False)
    assert asks_words(replace(verdict(HOLD), findings=(key,), credentials=True)) == "carries a credential"
    assert asks_words(replace(verdict(HOLD, "merge"), findings=(key,))) == "asks to merge something"
    assert reason_of(verdict(HOLD, "of_a_later_version", "publish")) == "publish"
    assert reason_of(verdict(WITHHOLD)) == "prompt_injection"
    assert set(ASKS) == {
        "secrets", "credential_files", "env_dump", "guards_off", "merge", "publish", "permission", "send_outside",
    }  # fmt: skip


def test_a_question_names_both_ends_and_quotes_on_one_line() -> None:
    said = verdict(HOLD, "secrets", snippet="the key\n  now" + "x" * 500)
    asked = question(MessageKind.REQUEST, "@a", "@b", said)
    assert asked.startswith('A request from @a to @b asks for secrets: "the key nowx')
    assert len(asked) < 400
    assert (
        question(MessageKind.STEER, "@a", "@b", verdict(HOLD, "merge"))
        == "A steer from @a to @b asks to merge something"
    )
    assert "brings the file notes.txt, which asks for secrets" in question(
        MessageKind.REQUEST, "@a", "@b", said, file="notes.txt"
    )


def test_several_flagged_files_are_one_question() -> None:
    one, two = verdict(HOLD, "secrets", score=900), verdict(WITHHOLD, score=700, snippet="worse")
    both = worst([one, two])
    assert (both.decision, both.snippet, both.asks) == (HOLD, "worse", ("secrets",))


# --- what a no undoes -------------------------------------------------------------------------------------------------

EXCHANGE = Exchange(
    id="e" * 16, kind=Kind.REQUEST, status=Status.WORKING, opener=Address(node="n", session="a"),
    worker=Address(node="n", session="b"), title="", chain="", hops=(), parent=None, root="", depth=0, next_number=5,
    questions=(), ended_noted=False, reason=None, opened_us=1, changed_us=1,
)  # fmt: skip


def message(kind: MessageKind, number: int = 3, *, screened: str = "hold", reply_to: str | None = None) -> Message:
    return Message(
        id=f"m{number}", exchange=EXCHANGE.id, number=number, kind=kind, sender=End.WORKER, author=Author.SESSION,
        title="", text="", reply_to=reply_to, ladder=Ladder(recorded_us=1, screened=screened),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [MessageKind.BRIEF, MessageKind.REQUEST])
def test_a_refused_opening_fails_its_exchange(kind: MessageKind) -> None:
    for status in (Status.STARTING, Status.WORKING):
        after = after_refusal(replace(EXCHANGE, status=status), message(kind), ())
        assert (after.status, after.reason, after.questions) == (Status.FAILED, "withheld", ())


def test_a_refused_question_is_none() -> None:
    asked = replace(EXCHANGE, status=Status.ASKED, questions=("m3", "m9"))
    one = after_refusal(asked, message(MessageKind.ASK), ())
    assert (one.status, one.questions) == (Status.ASKED, ("m9",))
    none = after_refusal(one, message(MessageKind.ASK, 9), ())
    assert (none.status, none.questions) == (Status.WORKING, ())


def test_a_refused_answer_leaves_its_question_open() -> None:
    answer = message(MessageKind.ANSWER, reply_to="m2")
    after = after_refusal(EXCHANGE, answer, ())
    assert (after.status, after.questions) == (Status.ASKED, ("m2",))
    delivered = replace(EXCHANGE, status=Status.DELIVERED)
    assert after_refusal(delivered, answer, ()) == delivered


def test_a_refused_delivery_is_none_unless_another_one_stands() -> None:
    delivered = replace(EXCHANGE, status=Status.DELIVERED)
    first, second = message(MessageKind.DELIVER, 2), message(MessageKind.DELIVER, 3)
    assert after_refusal(delivered, second, (first, second)).status is Status.WORKING
    assert after_refusal(delivered, first, (first, second)) == delivered


def test_a_refused_steer_gives_the_delivery_back() -> None:
    deliver, steer, report = message(MessageKind.DELIVER, 2), message(MessageKind.STEER), message(MessageKind.REPORT, 4)
    assert after_refusal(EXCHANGE, steer, (deliver, steer)).status is Status.DELIVERED
    assert after_refusal(EXCHANGE, steer, (deliver, steer, report)) == EXCHANGE
    gone = replace(deliver, ladder=replace(deliver.ladder, screened="withhold"))
    assert after_refusal(EXCHANGE, steer, (gone, steer)) == EXCHANGE


def test_what_is_closed_stays_closed() -> None:
    for kind, status in product(MessageKind, (Status.ACCEPTED, Status.REJECTED, Status.CANCELLED, Status.FAILED)):
        over = replace(EXCHANGE, status=status, reason="why")
        assert after_refusal(over, message(kind), (message(kind),)) == over


@pytest.mark.parametrize("kind", [MessageKind.REPORT, MessageKind.CLOSE, MessageKind.CANCEL, MessageKind.NOTE])
def test_the_rest_had_changed_nothing(kind: MessageKind) -> None:
    assert after_refusal(EXCHANGE, message(kind), (message(kind),)) == EXCHANGE
