"""Every pair of the exchange machine, with its outcome written down here by hand, not read from the machine."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from node.core import delegation as d
from node.core.effects import ArchiveSession
from node.core.errors import ErrorCode, MeshError
from node.core.model import Address, Author, End, Exchange, Kind, MessageKind, Status

OPENER = Address(node="n", session="oooooooooooooooo")
WORKER = Address(node="n", session="wwwwwwwwwwwwwwww")
QUESTION = "qqqqqqqqqqqqqqqq"
NEW = "mmmmmmmmmmmmmmmm"

INPUTS: dict[str, d.Input] = {
    "began": d.Began(),
    "ask": d.Ask(message=NEW),
    "answer": d.Answer(question=QUESTION),
    "report": d.Report(),
    "deliver": d.Deliver(),
    "steer": d.Steer(),
    "accept": d.Accept(),
    "reject": d.Reject(),
    "cancel": d.Cancel(),
    "withheld": d.OpeningWithheld(),
    "unlaunched": d.LaunchFailed(why="no such program."),
    "ended": d.WorkerEnded(),
    "resumed": d.WorkerResumed(),
    "removed": d.WorkerRemoved(),
}

# A row for each status; a cell is the status afterwards, "=" for the same, "." for refused. "!" tells the opener,
# "a" adds a question, "-" answers the one that is open, "0" withdraws all that are open, "x" puts the delegate away.
TABLE = """
          began   ask     answer    report  deliver     steer   accept     reject     cancel       withheld unlaunched ended resumed removed
starting  working asked:a .         working delivered   =       .          .          cancelled:x  failed   failed:!   =:!   =       failed:!
working   =       asked:a .         =       delivered   =       .          .          cancelled:x  .        .          =:!   =       failed:!
asked     =       =:a     working:- =       delivered:0 =       .          .          cancelled:0x .        .          =:!   =       failed:0!
delivered =       asked:a .         =       =           working accepted:x rejected:x cancelled:x  .        .          =     =       =
accepted  =       .       .         .       .           .       .          .          .            .        .          =     =       =
rejected  =       .       .         .       .           .       .          .          .            .        .          =     =       =
cancelled =       .       .         .       .           .       .          .          .            .        .          =     =       =
failed    =       .       .         .       .           .       .          .          .            .        .          =     =       =
"""  # noqa: E501
COLUMNS, *LINES = (line.split() for line in TABLE.strip().splitlines())
EXPECTED = {(Status(line[0]), name): cell for line in LINES for name, cell in zip(COLUMNS, line[1:], strict=True)}
PAIRS = sorted(EXPECTED)


def exchange(status: Status, **changes: object) -> Exchange:
    made = Exchange(
        id="xxxxxxxxxxxxxxxx", kind=Kind.DELEGATION, status=status, opener=OPENER, worker=WORKER, title="title",
        chain="c", hops=("@a",), parent=None, root="r", depth=0, next_number=2,
        questions=(QUESTION,) if status is Status.ASKED else (), ended_noted=False, reason=None, opened_us=1,
        changed_us=2,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def test_the_table_crosses_every_status_with_every_input() -> None:
    assert set(EXPECTED) == set(product(Status, INPUTS))
    assert {type(given) for given in INPUTS.values()} == set(d.INPUTS)


@pytest.mark.parametrize(("status", "name"), PAIRS)
def test_each_pair_comes_out_as_written(status: Status, name: str) -> None:
    cell = EXPECTED[status, name]
    before = exchange(status)
    if cell == ".":
        with pytest.raises(MeshError) as refused:
            d.step(before, INPUTS[name])
        assert refused.value.code is ErrorCode.WRONG_STATE
        assert refused.value.details == {"exchange": before.id, "status": status.value}
        assert status.words in refused.value.message
        assert before == exchange(status)
        return
    wanted, _, marks = cell.partition(":")
    step = d.step(before, INPUTS[name])
    after = step.exchange
    assert after.status is (status if wanted == "=" else Status(wanted))
    questions = before.questions
    if "a" in marks:
        questions = (*questions, NEW)
    if "-" in marks or "0" in marks:
        questions = ()
    assert after.questions == questions
    assert [note.to for note in step.notes] == ([End.OPENER] if "!" in marks else [])
    assert all(note.author is Author.NODE and note.kind is MessageKind.NOTE for note in step.notes)
    assert step.effects == ((ArchiveSession(session="wwwwwwwwwwwwwwww"),) if "x" in marks else ())
    touched = {"status", "questions", "reason", "ended_noted"}
    assert all(
        getattr(after, field) == getattr(before, field)
        for field in Exchange.__dataclass_fields__
        if field not in touched
    )


@pytest.mark.parametrize(("status", "name"), PAIRS)
def test_a_closed_exchange_has_a_reason_and_no_questions(status: Status, name: str) -> None:
    if EXPECTED[status, name] != "." and not status.closed:
        after = d.step(exchange(status), INPUTS[name]).exchange
        assert (after.reason is not None) is after.status.closed
        assert not (after.status.closed and after.questions)


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("accept", Status.DELIVERED, "accepted"),
        ("reject", Status.DELIVERED, "rejected"),
        ("cancel", Status.WORKING, "cancelled"),
        ("withheld", Status.STARTING, "withheld"),
        ("removed", Status.ASKED, "worker_removed"),
    ],
)
def test_why_an_exchange_was_closed(name: str, status: Status, reason: str) -> None:
    assert d.step(exchange(status), INPUTS[name]).exchange.reason == reason


@pytest.mark.parametrize(("name", "status"), [("accept", Status.DELIVERED), ("cancel", Status.STARTING)])
def test_a_peer_session_is_never_put_away(name: str, status: Status) -> None:
    assert d.step(exchange(status, kind=Kind.REQUEST), INPUTS[name]).effects == ()


def test_a_person_who_was_asked_is_never_put_away() -> None:
    person = exchange(Status.DELIVERED, worker=Address(node="n", session=None))
    assert d.step(person, d.Accept()).effects == ()


def test_one_of_two_questions_answered_leaves_the_other() -> None:
    both = exchange(Status.ASKED, questions=(QUESTION, NEW))
    left = d.step(both, d.Answer(question=QUESTION)).exchange
    assert (left.status, left.questions) == (Status.ASKED, (NEW,))
    assert d.step(left, d.Answer(question=NEW)).exchange.status is Status.WORKING


def test_a_question_that_is_not_open_is_refused() -> None:
    before = exchange(Status.ASKED)
    with pytest.raises(MeshError) as refused:
        d.step(before, d.Answer(question=NEW))
    assert refused.value.code is ErrorCode.WRONG_STATE
    assert before == exchange(Status.ASKED)


def test_the_opener_is_told_once_an_ending() -> None:
    first = d.step(exchange(Status.WORKING), d.WorkerEnded())
    second = d.step(first.exchange, d.WorkerEnded())
    assert (len(first.notes), len(second.notes), second.exchange) == (1, 0, first.exchange)
    again = d.step(d.step(second.exchange, d.WorkerResumed()).exchange, d.WorkerEnded())
    assert len(again.notes) == 1


@pytest.mark.parametrize(("kind", "word"), [(Kind.DELEGATION, "delegate"), (Kind.REQUEST, "peer session")])
def test_notes_name_the_worker_by_its_role(kind: Kind, word: str) -> None:
    for given in (d.WorkerEnded(), d.WorkerRemoved()):
        assert word in d.step(exchange(Status.WORKING, kind=kind), given).notes[0].text


@pytest.mark.parametrize("status", list(Status))
def test_a_refusal_tells_what_may_be_done_instead(status: Status) -> None:
    given = d.Accept() if status is not Status.DELIVERED else d.OpeningWithheld()
    with pytest.raises(MeshError) as refused:
        d.step(exchange(status), given)
    assert "xxxxxxxx" in refused.value.message
    assert len(refused.value.message.partition(": ")[2]) > 20
