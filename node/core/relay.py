"""What crosses a mirror: forwards of the client, items of the server, and what each end makes of the other's word.

Neither end trusts the other: everything here has been checked for size and form, and means no more than it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from node.core import delegation
from node.core.commands import Answer, Cancel, Close, Command, Request, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id
from node.core.model import (
    AWAITS_APPROVAL,
    REFUSED_BY_PERSON,
    Author,
    Exchange,
    Ladder,
    Message,
    MessageKind,
    SessionStatus,
    Status,
)
from node.core.transfer import Attachment
from node.core.verdict import Field

PROTOCOL: Final = 1
# The code of a forward that is to come again once its files are there.
FILES: Final = "files"
# What a client may forward, and what a server may say in a client's exchange.
FORWARDED: Final = frozenset(
    {MessageKind.REQUEST, MessageKind.ANSWER, MessageKind.STEER, MessageKind.CLOSE, MessageKind.CANCEL}
)
ITEMS: Final = frozenset({MessageKind.ASK, MessageKind.REPORT, MessageKind.DELIVER, MessageKind.NOTE})
_LATEST_US: Final = 2**53


class Outcome(StrEnum):
    """What a server made of a forward; LATER asks for it once more."""

    RELAYED = "relayed"
    WITHHELD = "withheld"
    REFUSED = "refused"
    LATER = "later"


class Forward(NamedTuple):
    """One message on its way to the server, in an exchange that the client opened.

    `session` and `nickname` are of the client's session at that end; `to` is the id of the session that is asked.
    `number` rises within one client. `chain` and `hops` come with a request only.

    A named tuple, as is its result: made for every message at both ends, where a frozen dataclass takes as long as all
    that is done with it.
    """

    number: int
    message: str
    exchange: str
    kind: MessageKind
    session: str
    nickname: str = ""
    to: str = ""
    title: str = ""
    text: str = ""
    reply_to: str = ""
    accepted: bool = False
    chain: str = ""
    hops: tuple[str, ...] = ()
    files: tuple[Attachment, ...] = ()


class ForwardResult(NamedTuple):
    """What became of a forward, durably. `code` is an ErrorCode's value and `words` are for the message's sender."""

    number: int
    message: str
    outcome: Outcome
    code: str = ""
    words: str = ""
    status: Status | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One message of the server's end in an exchange of the client's; `status` is how that stands there."""

    message: str
    exchange: str
    kind: MessageKind
    author: Author
    title: str = ""
    text: str = ""
    reply_to: str = ""
    status: Status
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a message of the client's got at the server; times in microseconds of the server's clock."""

    message: str
    exchange: str
    landed_us: int | None = None
    notices: int = 0
    held: str = ""
    confirmed_us: int | None = None
    read_us: int | None = None
    answered_us: int | None = None
    gave_up_us: int | None = None
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that happened in a client's exchange; `number` rises within one server."""

    number: int
    what: Incoming | Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What a client is to be told next: items, and how exchanges that it asked of stood at that moment."""

    items: tuple[Item, ...]
    standing: Mapping[str, Status]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSession:
    """A session on another node as that node tells of it: one to ask, or one that asked here."""

    node: str
    id: str
    nickname: str
    title: str = ""
    profile: str = ""
    status: SessionStatus = SessionStatus.RUNNING
    askable: bool = True

    @property
    def name(self) -> str:
        """@nickname, or the short id for a session without one; without its host."""
        return f"@{self.nickname}" if self.nickname else self.id[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """One row of the queue to another node; `progress` for a ladder, else a message; `files` are still to be pushed."""

    number: int
    peer: str
    exchange: str
    message: str
    progress: bool
    files: bool
    queued_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a command of another node comes from: its message id, and for a request the work it belongs to."""

    message: str
    chain: str = ""
    hops: tuple[str, ...] = ()
    nickname: str = ""


def size_of(message: Message, exchange: Exchange) -> int:
    """About how many bytes a message takes in a frame; rather more than fewer."""
    texts = (message.text, message.title, exchange.title, *exchange.hops, *(file.name for file in message.files))
    return 512 + sum(len(text.encode()) for text in texts) + 128 * len(message.files)


def command_of(forward: Forward) -> Command:
    """The command that a forward stands for; INVALID_ARGUMENT when it is none, or malformed."""
    ids = [forward.message, forward.exchange, forward.session]
    ids += [forward.to, forward.chain] if forward.kind is MessageKind.REQUEST else []
    ids += [forward.reply_to] if forward.kind is MessageKind.ANSWER else []
    if not all(is_id(one) for one in ids):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "A forwarded message has ids that are none. It was not taken.")
    match forward.kind:
        case MessageKind.REQUEST:
            return Request(to=forward.to, text=forward.text, title=forward.title)
        case MessageKind.ANSWER:
            return Answer(question=forward.reply_to, text=forward.text)
        case MessageKind.STEER:
            return Steer(exchange=forward.exchange, text=forward.text)
        case MessageKind.CLOSE:
            return Close(exchange=forward.exchange, accepted=forward.accepted, note=forward.text)
        case MessageKind.CANCEL:
            return Cancel(exchange=forward.exchange, reason=forward.text)
        case _:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, f"A {forward.kind.value} is not forwarded: only its opener's messages are."
            )


def forward_of(queued: Queued, message: Message, exchange: Exchange, nickname: str) -> Forward:
    """The forward for a queued message of the client's."""
    opening = message.kind is MessageKind.REQUEST
    return Forward(
        number=queued.number,
        message=message.id,
        exchange=exchange.id,
        kind=message.kind,
        session=exchange.opener.session or "",
        nickname=nickname,
        to=(exchange.worker.session or "") if opening else "",
        title=message.title or (exchange.title if opening else ""),
        text=message.text,
        reply_to=message.reply_to or "",
        # A close that is recorded has moved the exchange; there is no other sign of which it was.
        accepted=message.kind is MessageKind.CLOSE and exchange.status is Status.ACCEPTED,
        chain=exchange.chain if opening else "",
        hops=exchange.hops if opening else (),
        files=message.files,
    )


def item_of(queued: Queued, message: Message, exchange: Exchange) -> Item:
    """The item for a queued row of the server's; a text that was withheld is not in the queue."""
    if not queued.progress:
        return Item(
            number=queued.number,
            what=Incoming(
                message=message.id,
                exchange=exchange.id,
                kind=message.kind,
                author=message.author,
                title=message.title,
                text=message.text,
                reply_to=message.reply_to or "",
                status=exchange.status,
                files=message.files,
            ),
        )
    ladder = message.ladder
    return Item(
        number=queued.number,
        what=Progress(
            message=message.id,
            exchange=exchange.id,
            landed_us=ladder.landed_us,
            notices=ladder.notices,
            held=ladder.held or "",
            confirmed_us=ladder.confirmed_us,
            read_us=ladder.read_us,
            answered_us=ladder.answered_us,
            gave_up_us=ladder.gave_up_us,
            status=exchange.status,
        ),
    )


def texts_of(told: Incoming) -> tuple[Field, ...]:
    """Every text of an item that can reach a model."""
    return (
        Field(name="title", text=told.title),
        Field(name="text", text=told.text),
        *(Field(name="file_name", text=file.name) for file in told.files),
    )


def ladder_when_taken(ladder: Ladder, result: ForwardResult, now_us: int, *, files: bool) -> Ladder:
    """The ladder of a forward that the server has taken; what has been told of it since then stands.

    It has landed with that, but for files, which land later, and for what a person there is asked about.
    """
    if ladder.landed_us is not None or ladder.gave_up_us is not None:
        return ladder if ladder.held == REFUSED_BY_PERSON else replace(ladder, held=None)
    held = result.code == AWAITS_APPROVAL
    return replace(ladder, landed_us=None if held or files else now_us, held=AWAITS_APPROVAL if held else None)


def ladder_after(ladder: Ladder, told: Progress) -> Ladder:
    """The ladder with what the server says; nothing is taken back but a held notice, and no time is beyond reason."""

    def later(mine: int | None, theirs: int | None) -> int | None:
        return mine if theirs is None or not 0 < theirs < _LATEST_US else theirs

    return replace(
        ladder,
        landed_us=later(ladder.landed_us, told.landed_us),
        notices=max(ladder.notices, min(told.notices, 99)),
        held=told.held or None,
        confirmed_us=later(ladder.confirmed_us, told.confirmed_us),
        read_us=later(ladder.read_us, told.read_us),
        answered_us=later(ladder.answered_us, told.answered_us),
        gave_up_us=later(ladder.gave_up_us, told.gave_up_us),
    )


def after_message(exchange: Exchange, told: Incoming) -> Exchange:
    """The exchange after a message of the server's end. One that is closed here stays so."""
    if exchange.status.closed:
        return exchange
    given: delegation.Input | None = None
    match told.kind:
        case MessageKind.ASK:
            given = delegation.Ask(message=told.message)
        case MessageKind.REPORT:
            given = delegation.Report()
        case MessageKind.DELIVER:
            given = delegation.Deliver()
        case _:
            given = None
    stepped = delegation.step(exchange, given).exchange if given is not None else exchange
    return after_status(stepped, told.status)


def after_status(exchange: Exchange, told: Status) -> Exchange:
    """The exchange as the server says it stands, which decides as long as it is open here."""
    if exchange.status.closed or told is exchange.status:
        return exchange
    questions = exchange.questions if told is Status.ASKED else ()
    reason = f"remote_{told.value}" if told.closed else exchange.reason
    return replace(exchange, status=told, questions=questions, reason=reason)


def split_name(wanted: str) -> tuple[str, str]:
    """The name of a session and of its host, "" without one: "@api@studio" is ("@api", "studio")."""
    text = wanted.strip()
    at = text.rfind("@")
    return (text, "") if at <= 0 else (text[:at], text[at + 1 :].strip())


def find_remote(wanted: str, sessions: Iterable[RemoteSession], hosts: Mapping[str, str]) -> RemoteSession | None:
    """The mirrored session that `wanted` names, or None; AMBIGUOUS when several have that name.

    `hosts` are the names of the nodes that are mirrored, by id. A host that is none of them is NOT_FOUND.
    """
    name, host = split_name(wanted)
    if host and host.casefold() not in {one.casefold() for one in hosts.values()}:
        known = ", ".join(sorted(hosts.values())) or "none yet"
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"This node mirrors no node called {host[:40]!r}. Mirrored nodes: {known}. Your user can add one with "
            "`helio mirror add`.",
            {"choices": tuple(sorted(hosts.values()))},
        )
    key = name.removeprefix("@").casefold()
    found = [
        one
        for one in sessions
        if one.node in hosts
        and (not host or hosts[one.node].casefold() == host.casefold())
        and (one.nickname.casefold() == key or one.id == key)
    ]
    alive = [one for one in found if one.status is not SessionStatus.ARCHIVED] or found
    if len(alive) > 1:
        choices = tuple(sorted(label(one, hosts[one.node]) for one in alive))
        raise MeshError(
            ErrorCode.AMBIGUOUS,
            f"{len(alive)} mirrored nodes have a session {name[:40]}: {', '.join(choices[:8])}. Write which.",
            {"choices": choices[:8]},
        )
    return alive[0] if alive else None


def check_askable(session: RemoteSession, host: str) -> None:
    """UNAVAILABLE with the reason unless a request to that session would be taken, as far as its node has told."""
    if session.askable:
        return
    match session.status:
        case SessionStatus.ARCHIVED:
            why = "was put away or removed there"
        case SessionStatus.ENDED:
            why = "has ended there, and that node cannot start it again"
        case _:
            why = "cannot be asked there now"
    raise MeshError(
        ErrorCode.UNAVAILABLE,
        f"{label(session, host)} {why}: nobody would read the request, so it was not recorded. list_peers shows who "
        "can be asked.",
        {"session": session.id, "status": session.status.value},
    )


def label(session: RemoteSession, host: str) -> str:
    """How people and models read a session of another node: "@api@studio"."""
    return f"{session.name}@{host}"
