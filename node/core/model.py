"""What the node knows: sessions, exchanges, messages and how far each message provably got."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from node.core.prompt import PaneRef
from node.core.transfer import Attachment

DEFAULT_WORKSPACE = "default"
# `Ladder.held` of a message that waits for a person, and once they said no; `withdrawn` when it came to neither.
AWAITS_APPROVAL: Final = "approval"
REFUSED_BY_PERSON: Final = "refused_by_person"
WITHDRAWN: Final = "withdrawn"
# `Exchange.reason` as long as its opening waits for a person: the worker may not know of it.
OPENING_HELD: Final = "held"


class Kind(StrEnum):
    """The two kinds of exchange."""

    DELEGATION = "delegation"
    REQUEST = "request"


class Status(StrEnum):
    """Where an exchange stands."""

    STARTING = "starting"
    WORKING = "working"
    ASKED = "asked"
    DELIVERED = "delivered"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def words(self) -> str:
        """The status as people read it."""
        return "Asked a question" if self is Status.ASKED else self.value.capitalize()

    @property
    def closed(self) -> bool:
        """Whether nothing more can happen in the exchange."""
        return self in _CLOSED


_CLOSED = frozenset({Status.ACCEPTED, Status.REJECTED, Status.CANCELLED, Status.FAILED})


class End(StrEnum):
    """An end of an exchange: OPENER is the delegator or asker, WORKER the delegate or peer session."""

    OPENER = "opener"
    WORKER = "worker"

    @property
    def other(self) -> End:
        """The end across."""
        return End.WORKER if self is End.OPENER else End.OPENER

    def role(self, kind: Kind) -> str:
        """The word of the design for this end of an exchange of `kind`."""
        return _ROLES[kind, self]


_ROLES = {
    (Kind.DELEGATION, End.OPENER): "delegator",
    (Kind.DELEGATION, End.WORKER): "delegate",
    (Kind.REQUEST, End.OPENER): "asker",
    (Kind.REQUEST, End.WORKER): "peer session",
}


class MessageKind(StrEnum):
    """What a message is for."""

    BRIEF = "brief"
    REQUEST = "request"
    ASK = "ask"
    ANSWER = "answer"
    REPORT = "report"
    DELIVER = "deliver"
    STEER = "steer"
    CLOSE = "close"
    CANCEL = "cancel"
    NOTE = "note"


class Author(StrEnum):
    """Who wrote a message: an agent's session, the person at the node or the node itself, or those at the far end."""

    SESSION = "session"
    PERSON = "person"
    NODE = "node"
    FAR_PERSON = "far_person"
    FAR_NODE = "far_node"

    @property
    def far(self) -> Author:
        """It as seen from the other node."""
        return {Author.PERSON: Author.FAR_PERSON, Author.NODE: Author.FAR_NODE}.get(self, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One end: a session of a node, or (session None) the person at that node."""

    node: str
    session: str | None

    @property
    def is_person(self) -> bool:
        """Whether this end is the person."""
        return self.session is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A wait that a call is about to begin: `exchange` is the one it waits on, `on` who has to act."""

    who: Address
    on: Address
    exchange: str


class AgentState(StrEnum):
    """What the agent in a session is doing, as its hooks and calls tell."""

    UNKNOWN = "unknown"
    IDLE = "idle"
    BUSY = "busy"
    NEEDS_INPUT = "needs_input"
    ENDED = "ended"


class SessionStatus(StrEnum):
    """Whether a session is about to run, runs, has ended, or was put away."""

    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One agent in one terminal in one workspace; times in microseconds of wall clock.

    `parent` is the delegator's session for a delegate, `conversation` the id by which the agent's CLI can resume,
    `branch` the one that the node made for this session's worktree at `cwd`.
    """

    id: str
    nickname: str | None
    title: str
    workspace: str
    profile: str
    argv: tuple[str, ...]
    cwd: str
    pane: PaneRef | None
    status: SessionStatus
    state: AgentState
    created_us: int
    changed_us: int
    parent: str | None = None
    conversation: str | None = None
    branch: str | None = None

    @property
    def label(self) -> str:
        """@nickname, or the short id for a session without one."""
        return f"@{self.nickname}" if self.nickname else self.id[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A delegation or a request: two ends, a status and numbered messages.

    `hops` are the labels that the chain of work went through, `questions` the ids of asks not yet answered,
    `ended_noted` whether the opener was told that the worker's agent ended (once per ending). `reason` is why it is
    closed, or OPENING_HELD as long as its worker may not know of it.
    """

    id: str
    kind: Kind
    status: Status
    opener: Address
    worker: Address
    title: str
    chain: str
    hops: tuple[str, ...]
    parent: str | None
    root: str
    depth: int
    next_number: int
    questions: tuple[str, ...]
    ended_noted: bool
    reason: str | None
    opened_us: int
    changed_us: int

    def address(self, end: End) -> Address:
        """Who is at `end`."""
        return self.opener if end is End.OPENER else self.worker

    def end_of(self, address: Address) -> End | None:
        """Which end `address` is, or None for a stranger."""
        if address == self.opener:
            return End.OPENER
        return End.WORKER if address == self.worker else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """How far a message provably got; every time is microseconds of wall clock or None."""

    recorded_us: int
    screened: str = "relay"
    landed_us: int | None = None
    notices: int = 0
    held: str | None = None
    confirmed_us: int | None = None
    read_us: int | None = None
    answered_us: int | None = None
    gave_up_us: int | None = None

    @property
    def awaits_approval(self) -> bool:
        """Whether it can be read only once the person at the receiving end allows it."""
        return self.held == AWAITS_APPROVAL and self.landed_us is None

    @property
    def rung(self) -> str:
        """The highest rung that is proven, in words."""
        if self.held == REFUSED_BY_PERSON:
            return "refused by the person at the other end"
        if self.screened == "withhold":
            return "withheld"
        if self.answered_us is not None:
            return "answered"
        if self.read_us is not None:
            return "read"
        if self.gave_up_us is not None:
            return f"gave up after {self.notices} notices"
        if self.confirmed_us is not None:
            return "turn confirmed"
        if self.awaits_approval:
            return "held: waits for a person's approval"
        if self.notices:
            return f"noticed {self.notices}"
        if self.landed_us is not None:
            return f"landed, notice held: {self.held}" if self.held else "landed"
        return f"queued: {self.held}" if self.held else "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One numbered message of an exchange; `sender` is the end it came from (node notes come from across)."""

    id: str
    exchange: str
    number: int
    kind: MessageKind
    sender: End
    author: Author
    title: str
    text: str
    reply_to: str | None
    ladder: Ladder
    snippet: str = ""
    advice: str = ""
    files: tuple[Attachment, ...] = ()

    @property
    def recipient(self) -> End:
        """The end which is to read it."""
        return self.sender.other

    @property
    def withheld(self) -> bool:
        """Whether the screen stopped it, or the person whom it was held for."""
        return self.ladder.screened == "withhold"

    @property
    def awaits_approval(self) -> bool:
        """Whether it can be read only once the person at the receiving end allows it."""
        return self.ladder.awaits_approval

    @property
    def unheard(self) -> bool:
        """Whether its reader may know nothing of it, for good or for now."""
        withdrawn = self.ladder.held == WITHDRAWN and self.ladder.landed_us is None
        return self.withheld or self.awaits_approval or withdrawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """An exchange with its messages in order."""

    exchange: Exchange
    messages: tuple[Message, ...] = field(default=())
