"""What people are shown: the local API's answers as plain values. Times are microseconds of UTC; None means not yet.

Every text is as its author wrote it: whoever displays one escapes it first (`node.core.escape`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from node.core.ids import short
from node.core.model import (
    Address,
    AgentState,
    Author,
    End,
    Exchange,
    Kind,
    Ladder,
    Message,
    MessageKind,
    Session,
    SessionStatus,
    Status,
)
from node.core.policy import derive_title
from node.core.transfer import Attachment
from node.core.views_work import FileView, view_files

THE_PERSON = "the person"
THE_NODE = "the node"
LAST_WORD_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """The node at a glance. While `timeline_writable` is false, messages are refused; `timeline_alarms` say why."""

    node_id: str
    version: str
    pid: int
    started_us: int
    home: str
    sessions_running: int
    sessions_ended: int
    exchanges_open: int
    questions_open: int
    timeline_rows: int
    timeline_writable: bool
    screen_engine: str
    screen_version: str
    notices_owed: int
    agents_connected: int
    tmux_version: str
    screen_scores: tuple[int, ...] = ()
    timeline_alarms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session, with how many messages wait for it unread and how many exchanges it is an end of are open.

    `pane` is its terminal's, None without one; `branch` is the one that the node made for it, None for none.
    """

    id: str
    nickname: str | None
    title: str
    workspace: str
    profile: str
    argv: tuple[str, ...]
    cwd: str
    status: SessionStatus
    state: AgentState
    created_us: int
    changed_us: int
    unread: int
    open_exchanges: int
    pane: str | None
    branch: str | None

    @property
    def label(self) -> str:
        """@nickname, or the short id for a session without one."""
        return f"@{self.nickname}" if self.nickname else short(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSessionView:
    """A session that was started or given a nickname, and the nicknames (with @) which look like its own."""

    session: SessionView
    look_alikes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnarchivedView:
    """A session taken out again, and the nickname it lost because another session has it by now."""

    session: SessionView
    nickname_lost: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedView:
    """The id of a session deleted for good and the ids of the exchanges which failed with it."""

    id: str
    failed_exchanges: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderView:
    """How far a message provably got; `rung` is the highest proven one in words, `screened` the screen's decision."""

    rung: str
    recorded_us: int
    screened: str
    landed_us: int | None
    notices: int
    held: str | None
    confirmed_us: int | None
    read_us: int | None
    answered_us: int | None
    gave_up_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """A message; `sender` is an @nickname, a short id, "the person" or "the node".

    A withheld one reached nobody: `snippet` is what the screen stopped at, `advice` how to rephrase.
    """

    id: str
    exchange: str
    number: int
    kind: MessageKind
    sender_end: End
    author: Author
    sender: str
    title: str
    text: str
    reply_to: str | None
    ladder: LadderView
    withheld: bool
    snippet: str
    advice: str
    files: tuple[FileView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeView:
    """An exchange: its ends as labels and, where they are sessions, ids; the asks not yet answered by message id.

    `messages` counts them; `last_word` begins the newest one (empty if nobody may read
    that), `rung` is how far it got. `branch` is the one on which a delegate works in a worktree of its own.
    """

    id: str
    kind: Kind
    status: Status
    status_words: str
    title: str
    opener: str
    worker: str
    opener_session: str | None
    worker_session: str | None
    chain: str
    hops: tuple[str, ...]
    parent: str | None
    questions: tuple[str, ...]
    reason: str | None
    opened_us: int
    changed_us: int
    messages: int
    last_word: str
    rung: str
    branch: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """An exchange with all its messages in order."""

    exchange: ExchangeView
    messages: tuple[MessageView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptView:
    """What a person's command came to, as committed: look at `message.withheld` before claiming that it went on.

    `repeated` is true when the command had been done before under the same key and this is its first result.
    """

    exchange: ExchangeView
    message: MessageView
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalView:
    """What a wait came to: the exchange as it is now and the messages handed over, `remaining` more being unread.

    `timed_out` is true when nothing came in time.
    """

    exchange: ExchangeView
    messages: tuple[MessageView, ...]
    remaining: int
    timed_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """One log of the node, whose rows `first` to `size` - 1 are kept; all but the current one are closed."""

    origin: str
    size: int
    first: int
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRowView:
    """A timeline row: the exact bytes that were hashed, their leaf hash, and the erasable texts by field.

    `salts` is what the row's commitments to the texts were made with, where it was asked for.
    """

    seq: int
    data: bytes
    leaf: bytes
    side: tuple[tuple[str, str], ...]
    salts: tuple[tuple[str, bytes], ...] = ()


_FAR = "at the other end"
_AUTHORS = {
    Author.PERSON: THE_PERSON,
    Author.NODE: THE_NODE,
    Author.FAR_PERSON: f"{THE_PERSON} {_FAR}",
    Author.FAR_NODE: f"{THE_NODE} {_FAR}",
}


def labels(
    session: Callable[[str], Session | None], far: Callable[[str], str] = lambda _id: ""
) -> Callable[[Address], str]:
    """How people call the one at an address; `session` finds a record by id, None for one that was deleted.

    `far` is how a session of another node is called, "" for an id that is of none.
    """
    known: dict[str, str] = {}

    def label(address: Address) -> str:
        if address.session is None:
            return THE_PERSON
        if address.session not in known:
            found = session(address.session)
            elsewhere = far(address.session) or short(address.session)
            known[address.session] = found.label if found is not None else elsewhere
        return known[address.session]

    return label


def view_session(session: Session, *, unread: int, open_exchanges: int) -> SessionView:
    """`session` as people see it."""
    return SessionView(
        id=session.id,
        nickname=session.nickname,
        title=session.title,
        workspace=session.workspace,
        profile=session.profile,
        argv=session.argv,
        cwd=session.cwd,
        status=session.status,
        state=session.state,
        created_us=session.created_us,
        changed_us=session.changed_us,
        unread=unread,
        open_exchanges=open_exchanges,
        pane=session.pane.pane if session.pane is not None else None,
        branch=session.branch,
    )


def view_ladder(ladder: Ladder) -> LadderView:
    """`ladder` as people see it."""
    return LadderView(
        rung=ladder.rung,
        recorded_us=ladder.recorded_us,
        screened=ladder.screened,
        landed_us=ladder.landed_us,
        notices=ladder.notices,
        held=ladder.held,
        confirmed_us=ladder.confirmed_us,
        read_us=ladder.read_us,
        answered_us=ladder.answered_us,
        gave_up_us=ladder.gave_up_us,
    )


def view_message(
    message: Message,
    exchange: Exchange,
    label: Callable[[Address], str],
    place: Callable[[str, str, Attachment], str] | None = None,
) -> MessageView:
    """`message` of `exchange` as people see it; `label` names an address.

    `place` says where a file lands, from the reader's session, the message and the file; None: nowhere on this machine.
    """
    reader = exchange.address(message.recipient).session
    paths: tuple[str, ...] | None = None
    if place is not None and reader is not None and message.ladder.landed_us is not None:
        paths = tuple(place(reader, message.id, file) for file in message.files)
    sender = _AUTHORS.get(message.author) or label(exchange.address(message.sender))
    return MessageView(
        id=message.id,
        exchange=message.exchange,
        number=message.number,
        kind=message.kind,
        sender_end=message.sender,
        author=message.author,
        sender=sender,
        title=message.title,
        text=message.text,
        reply_to=message.reply_to,
        ladder=view_ladder(message.ladder),
        withheld=message.withheld,
        snippet=message.snippet,
        advice=message.advice,
        files=view_files(message.files, paths),
    )


def view_exchange(
    exchange: Exchange,
    messages: Sequence[Message],
    label: Callable[[Address], str],
    session: Callable[[str], Session | None],
) -> ExchangeView:
    """`exchange` with its `messages` (all, in order) as people see it in a list; `label` names an address.

    `session` finds the record of a session by its id.
    """
    worker = session(exchange.worker.session) if exchange.worker.session is not None else None
    delegate = worker if exchange.kind is Kind.DELEGATION else None
    newest = messages[-1] if messages else None
    # What the screen stopped is shown where it is asked for, not spread over lists.
    told = newest.text if newest is not None and not newest.unheard else ""
    return ExchangeView(
        id=exchange.id,
        kind=exchange.kind,
        status=exchange.status,
        status_words=exchange.status.words,
        title=exchange.title,
        opener=label(exchange.opener),
        worker=label(exchange.worker),
        opener_session=exchange.opener.session,
        worker_session=exchange.worker.session,
        chain=exchange.chain,
        hops=exchange.hops,
        parent=exchange.parent,
        questions=exchange.questions,
        reason=exchange.reason,
        opened_us=exchange.opened_us,
        changed_us=exchange.changed_us,
        messages=len(messages),
        last_word=derive_title(told, limit=LAST_WORD_CHARS) if told.strip() else "",
        rung=newest.ladder.rung if newest is not None else "",
        branch=delegate.branch if delegate is not None else None,
    )
