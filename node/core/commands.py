"""What an agent or a person may ask of the node, and what it gets back. No command says who sends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Exchange, Message, MessageKind, Session
from node.core.screen_credentials import all_without_credentials
from node.core.transfer import Attachment
from node.core.verdict import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Ask the running session `to` for something."""

    to: str
    text: str
    title: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegate:
    """Hand a piece of work to a fresh agent. `tool` and `workspace` may be empty: the delegator's own.

    `contract` says what done means, `scope` where to stay; `worktree` None means: in a git repository.
    """

    title: str
    brief: str
    contract: str = ""
    scope: str = ""
    tool: str = ""
    workspace: str = ""
    nickname: str = ""
    worktree: bool | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """As the worker, ask the other end a question."""

    exchange: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """As the worker, tell how it goes."""

    exchange: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """As the worker, hand in the result."""

    exchange: str | None
    text: str
    title: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """As the opener, answer a question named by its id or its exchange's id (None: the only open one)."""

    question: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """As the opener, change or add to what is wanted."""

    exchange: str | None
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """As the opener, close a delivered exchange, accepted or rejected."""

    exchange: str | None
    accepted: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """As the opener, call the work off."""

    exchange: str | None
    reason: str = ""


Command = Request | Delegate | Ask | Report | Deliver | Answer | Steer | Close | Cancel

MESSAGE_KINDS: dict[type[Command], MessageKind] = {
    Request: MessageKind.REQUEST,
    Delegate: MessageKind.BRIEF,
    Ask: MessageKind.ASK,
    Report: MessageKind.REPORT,
    Deliver: MessageKind.DELIVER,
    Answer: MessageKind.ANSWER,
    Steer: MessageKind.STEER,
    Close: MessageKind.CLOSE,
    Cancel: MessageKind.CANCEL,
}


_TOOLS: dict[type[Command], str] = {
    Request: "request",
    Delegate: "delegate",
    Ask: "ask",
    Report: "report",
    Deliver: "deliver",
    Answer: "answer",
    Steer: "steer",
    Close: "close_delegation",
    Cancel: "cancel",
}


def tool_of(command: Command) -> str:
    """The name of the tool that hands in such a command."""
    return _TOOLS[type(command)]


def with_texts(command: Command, change: Callable[[str], str]) -> Command:
    """The command with `change` done to each of its texts, such as `well_formed`."""
    match command:
        case Request(text=text, title=title) | Deliver(text=text, title=title):
            return replace(command, text=change(text), title=change(title))
        case Delegate(title=title, brief=brief, contract=contract, scope=scope, nickname=nickname):
            return replace(
                command,
                title=change(title),
                nickname=change(nickname),
                brief=change(brief),
                contract=change(contract),
                scope=change(scope),
            )
        case Close(note=note):
            return replace(command, note=change(note))
        case Cancel(reason=reason):
            return replace(command, reason=change(reason))
        case Ask(text=text) | Report(text=text) | Answer(text=text) | Steer(text=text):
            return replace(command, text=change(text))


def without_credentials_in(command: Command) -> Command:
    """The command with a mark in the place of each credential in its texts."""
    given = tuple(field.text for field in _texts_of(command))
    cleaned = dict(zip(given, all_without_credentials(given), strict=True))
    return with_texts(command, lambda text: cleaned.get(text, text))


def fields_of(command: Command, files: Sequence[Attachment] = ()) -> tuple[Field, ...]:
    """Every text of a command that can reach a model: what the screen must see. Addresses and ids never do.

    Of files it is the names as they will land.
    """
    return (*_texts_of(command), *(Field(name="file_name", text=file.name) for file in files))


def _texts_of(command: Command) -> tuple[Field, ...]:
    match command:
        case Delegate(title=title, brief=brief, contract=contract, scope=scope, nickname=nickname):
            return (
                Field(name="title", text=title),
                Field(name="brief", text=brief),
                Field(name="contract", text=contract),
                Field(name="scope", text=scope),
                Field(name="nickname", text=nickname),
            )
        case Request(text=text, title=title) | Deliver(text=text, title=title):
            return (Field(name="title", text=title), Field(name="text", text=text))
        case Close(note=note):
            return (Field(name="note", text=note),)
        case Cancel(reason=reason):
            return (Field(name="reason", text=reason),)
        case Ask(text=text):
            return (Field(name="question", text=text),)
        case Report(text=text) | Answer(text=text) | Steer(text=text):
            return (Field(name="text", text=text),)


_MAY_BE_EMPTY = frozenset({"title", "nickname", "note", "reason", "contract", "scope"})


def check_fields(command: Command, limits: Limits) -> None:
    """LIMIT for a text over its limit, INVALID_ARGUMENT for a message that says nothing."""
    sizes = {"title": limits.title_chars} | dict.fromkeys(("note", "reason", "contract", "scope"), limits.note_chars)
    for given in fields_of(command):
        limits.check_text(given.name, given.text, sizes.get(given.name, limits.text_chars))
        if given.name not in _MAY_BE_EMPTY and not given.text.strip():
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                f"The {given.name} is empty. Say what you want the other side to know, then call again.",
            )


def body_of(command: Command) -> str:
    """The body of the message that a command becomes."""
    match command:
        case Close(accepted=accepted, note=note):
            return note or ("Accepted." if accepted else "Rejected.")
        case Cancel(reason=reason):
            return reason or "Cancelled."
        case Delegate(brief=brief, contract=contract, scope=scope):
            parts = [brief.strip()]
            parts += [f"Done means: {contract.strip()}"] if contract.strip() else []
            parts += [f"Stay within: {scope.strip()}"] if scope.strip() else []
            return "\n\n".join(parts)
        case _:
            return command.text


def title_of(command: Command) -> str:
    """The title that came with a command, or nothing."""
    return command.title if isinstance(command, Request | Delegate | Deliver) else ""


def files_of(command: Command) -> tuple[str, ...]:
    """The paths of the files that come with a command, as its sender wrote them."""
    return command.files if isinstance(command, Request | Delegate | Deliver | Steer) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a command came to: the exchange and message as committed; `message` may be withheld.

    `repeated` is true when the same command had been done before and this is its first result.
    """

    exchange: Exchange
    message: Message
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A message handed to a call, with what its reader needs to place it; `paths` are where its files landed."""

    message: Message
    exchange: Exchange
    sender: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What a wait or a read came to.

    `taken` are the messages handed over; `elsewhere` counts unread ones on other exchanges by exchange id;
    `cycle` names the waits that made the node answer at once instead of blocking.
    """

    taken: tuple[Taken, ...] = ()
    elsewhere: tuple[tuple[str, int], ...] = ()
    remaining: int = 0
    timed_out: bool = False
    cycle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeView:
    """A worktree as its session or delegator sees it; counts are of commits and of paths."""

    session: str
    branch: str
    folder: str
    exists: bool = True
    ahead: int = 0
    behind: int = 0
    changed: int = 0
    untracked: int = 0
    conflicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A session in reach, as list_peers shows it; `note` says why it may not answer soon.

    `host` is what this node's person calls the mirrored node that the session is on; empty for this node.
    """

    session: Session
    me: bool
    open_with_me: int
    note: str = ""
    host: str = ""

    @property
    def name(self) -> str:
        """What to write to ask it."""
        return f"{self.session.label}@{self.host}" if self.host else self.session.label
