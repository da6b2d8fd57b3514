"""The exchange machine: one table from (status, input) to what changes, what is written and what is to be done.

An unknown pair is refused and changes nothing. Inputs carry ids and texts that the broker already screened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from node.core.effects import ArchiveSession, Effect
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.model import Author, End, Exchange, Kind, MessageKind, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """The worker read the opening message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The worker asks; `message` becomes an open question."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The opener (or the person for it) answers the open question `question`."""

    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The worker tells how it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """The worker hands in the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """The opener adds to or changes what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """The opener accepts what was delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """The opener closes without accepting what was delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """The opener no longer wants the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningWithheld:
    """The screen stopped the opening message: the worker never hears of the exchange."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """The delegate's agent could not be started; `why` is for the delegator."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnded:
    """The worker's agent ended; its session still exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResumed:
    """The worker's agent runs again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRemoved:
    """The worker's session was deleted for good."""


Input = (
    Began
    | Ask
    | Answer
    | Report
    | Deliver
    | Steer
    | Accept
    | Reject
    | Cancel
    | OpeningWithheld
    | LaunchFailed
    | WorkerEnded
    | WorkerResumed
    | WorkerRemoved
)
INPUTS: Final[tuple[type[Input], ...]] = (
    Began,
    Ask,
    Answer,
    Report,
    Deliver,
    Steer,
    Accept,
    Reject,
    Cancel,
    OpeningWithheld,
    LaunchFailed,
    WorkerEnded,
    WorkerResumed,
    WorkerRemoved,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message that the node itself writes to the end `to`; `about` is the message that it tells of."""

    to: End
    text: str
    about: str | None = None
    author: Author = Author.NODE
    kind: MessageKind = MessageKind.NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one input does: the exchange afterwards, notes to write, effects to do after the commit."""

    exchange: Exchange
    notes: tuple[Note, ...] = ()
    effects: tuple[Effect, ...] = ()


def _same(exchange: Exchange, _input: Input) -> Step:
    return Step(exchange=exchange)


def _to(status: Status) -> Callable[[Exchange, Input], Step]:
    def move(exchange: Exchange, _input: Input) -> Step:
        return Step(exchange=replace(exchange, status=status))

    return move


def _ask(exchange: Exchange, given: Input) -> Step:
    if not isinstance(given, Ask):
        raise TypeError(given)
    return Step(exchange=replace(exchange, status=Status.ASKED, questions=(*exchange.questions, given.message)))


def _answer(exchange: Exchange, given: Input) -> Step:
    if not isinstance(given, Answer):
        raise TypeError(given)
    if given.question not in exchange.questions:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"Question {short(given.question)} is not open in exchange {short(exchange.id)}: it was answered or "
            "withdrawn before. Call list_delegations to see what is open.",
        )
    left = tuple(q for q in exchange.questions if q != given.question)
    return Step(exchange=replace(exchange, status=Status.ASKED if left else Status.WORKING, questions=left))


def _deliver(exchange: Exchange, _input: Input) -> Step:
    # What is delivered needs no answer any more: open questions are withdrawn with it.
    return Step(exchange=replace(exchange, status=Status.DELIVERED, questions=()))


def _close(status: Status) -> Callable[[Exchange, Input], Step]:
    def close(exchange: Exchange, _input: Input) -> Step:
        return Step(
            exchange=replace(exchange, status=status, questions=(), reason=status.value),
            effects=_archive_delegate(exchange),
        )

    return close


def _archive_delegate(exchange: Exchange) -> tuple[Effect, ...]:
    if exchange.kind is Kind.DELEGATION and exchange.worker.session is not None:
        return (ArchiveSession(session=exchange.worker.session),)
    return ()


def _withheld(exchange: Exchange, _input: Input) -> Step:
    return Step(exchange=replace(exchange, status=Status.FAILED, reason="withheld"))


def _ended(exchange: Exchange, _input: Input) -> Step:
    if exchange.ended_noted:
        return Step(exchange=exchange)
    role = End.WORKER.role(exchange.kind)
    text = (
        f"The {role}'s agent ended without delivering. The exchange stays open: steer it to have the agent resumed, "
        "or cancel it."
    )
    return Step(exchange=replace(exchange, ended_noted=True), notes=(Note(to=End.OPENER, text=text),))


def _resumed(exchange: Exchange, _input: Input) -> Step:
    return Step(exchange=replace(exchange, ended_noted=False))


def _removed(exchange: Exchange, _input: Input) -> Step:
    role = End.WORKER.role(exchange.kind)
    text = f"The {role}'s session was deleted before it delivered; nothing more will come. Ask another session."
    return Step(
        exchange=replace(exchange, status=Status.FAILED, questions=(), reason="worker_removed"),
        notes=(Note(to=End.OPENER, text=text),),
    )


def _not_launched(exchange: Exchange, given: Input) -> Step:
    if not isinstance(given, LaunchFailed):
        raise TypeError(given)
    text = f"The delegate could not be started: {given.why} Nothing was done; delegate again when that is mended."
    return Step(
        exchange=replace(exchange, status=Status.FAILED, questions=(), reason="launch_failed"),
        notes=(Note(to=End.OPENER, text=text),),
    )


Transition = Callable[[Exchange, Input], Step]

_WHILE_OPEN: Final[dict[type[Input], Transition]] = {
    Ask: _ask,
    Deliver: _deliver,
    Cancel: _close(Status.CANCELLED),
    WorkerEnded: _ended,
    WorkerResumed: _resumed,
    WorkerRemoved: _removed,
}
_WHEN_CLOSED: Final[dict[type[Input], Transition]] = {
    Began: _same,
    WorkerEnded: _same,
    WorkerResumed: _same,
    WorkerRemoved: _same,
}


def _rows(status: Status, table: dict[type[Input], Transition]) -> dict[tuple[Status, type[Input]], Transition]:
    return {(status, given): do for given, do in table.items()}


TRANSITIONS: Final[dict[tuple[Status, type[Input]], Transition]] = {
    **_rows(
        Status.STARTING,
        _WHILE_OPEN
        | {
            Began: _to(Status.WORKING),
            Report: _to(Status.WORKING),
            Steer: _same,
            OpeningWithheld: _withheld,
            LaunchFailed: _not_launched,
        },
    ),
    **_rows(Status.WORKING, _WHILE_OPEN | {Began: _same, Report: _same, Steer: _same}),
    **_rows(Status.ASKED, _WHILE_OPEN | {Began: _same, Report: _same, Steer: _same, Answer: _answer}),
    **_rows(
        Status.DELIVERED,
        _WHILE_OPEN
        | {
            Began: _same,
            Report: _same,
            Steer: _to(Status.WORKING),
            Accept: _close(Status.ACCEPTED),
            Reject: _close(Status.REJECTED),
            # The result is in: an agent that leaves afterwards owes nothing.
            WorkerEnded: _same,
            WorkerRemoved: _same,
        },
    ),
    **_rows(Status.ACCEPTED, _WHEN_CLOSED),
    **_rows(Status.REJECTED, _WHEN_CLOSED),
    **_rows(Status.CANCELLED, _WHEN_CLOSED),
    **_rows(Status.FAILED, _WHEN_CLOSED),
}

_NEXT: Final[dict[Status, str]] = {
    Status.STARTING: "the worker has not begun; it can be steered or cancelled",
    Status.WORKING: "it is being worked on; nothing was asked or delivered yet",
    Status.ASKED: "a question waits for an answer",
    Status.DELIVERED: "a result was delivered; accept it, reject it or steer for more",
    Status.ACCEPTED: "it is closed; open a new exchange for more",
    Status.REJECTED: "it is closed; open a new exchange for more",
    Status.CANCELLED: "it was cancelled; open a new exchange for more",
    Status.FAILED: "it failed; open a new exchange for more",
}


def step(exchange: Exchange, given: Input) -> Step:
    """What `given` does to `exchange`; WRONG_STATE when the pair has no row in the table."""
    transition = TRANSITIONS.get((exchange.status, type(given)))
    if transition is None:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"{type(given).__name__.lower()} does not fit exchange {short(exchange.id)}, which is "
            f"{exchange.status.words}: {_NEXT[exchange.status]}.",
            {"exchange": exchange.id, "status": exchange.status.value},
        )
    return transition(exchange, given)
