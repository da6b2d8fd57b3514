"""What services need from the outside, as Protocols. Adapters implement them; the daemon puts them together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from node.core.approval import Approval
from node.core.commands import Arrival, Command, Peer, Receipt
from node.core.effects import Effect
from node.core.model import Address, Blocked, Conversation, Exchange, Ladder, Message, Session
from node.core.node_status import NodeStatus
from node.core.prompt import PaneRef, PromptProfile
from node.core.relay import Origin
from node.core.timeline import Head, Row
from node.core.timeline_check import Verification
from node.core.transfer import Attachment
from node.core.verdict import Field, Verdict
from node.core.workspace import Workspace
from node.ports_mesh import MeshReader, MeshTx
from node.ports_mirror import MirrorReader, MirrorTx
from node.ports_relay import RelayReader, RelayTx
from node.ports_work import LaunchPlan, Worktree

T = TypeVar("T")


class Clock(Protocol):
    """The only way to the time. Microseconds."""

    def wall_us(self) -> int:
        """UTC, may jump."""
        ...

    def boottime_us(self) -> int:
        """Since boot, counting through sleep, never backwards."""
        ...


class Entropy(Protocol):
    """The only way to randomness."""

    def __call__(self, size: int) -> bytes:
        """`size` bytes from the operating system."""
        ...


class Screener(Protocol):
    """The one check of every text before it can reach a model."""

    async def screen(self, fields: Sequence[Field]) -> Verdict:
        """The verdict; SCANNER_UNAVAILABLE when it cannot be had, which refuses the message."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """A notice that is due: an unread message of a session, and how often it was noticed.

    `unproven` counts the lines typed for it of which it is not known that they started a turn.
    """

    outbox: int
    message: str
    exchange: str
    session: str
    notices: int
    unproven: int
    taken: bool
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much of everything the node holds."""

    running: int
    ended: int
    open: int
    asked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """One timeline row as stored, with its erasable side texts by field."""

    seq: int
    data: bytes
    leaf: bytes
    side: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One tool call as the node remembers it; `key` is the command it stands for."""

    id: str
    session: str
    digest: str
    key: str
    state: str
    created_us: int


class Reader(MeshReader, MirrorReader, RelayReader, Protocol):
    """A consistent view of the node's state. Blocking: only inside Store.read or Store.write."""

    def sessions(self, *, archived: bool = False) -> tuple[Session, ...]: ...
    def session(self, session_id: str) -> Session | None: ...
    def session_at(self, pane: PaneRef) -> Session | None: ...
    def exchange(self, exchange_id: str) -> Exchange | None: ...
    def exchange_with(self, message: Message) -> Exchange: ...
    def exchanges_of(self, address: Address, *, closed: bool, hidden: bool = False) -> tuple[Exchange, ...]: ...
    def exchanges(self, *, closed: bool, limit: int) -> tuple[Exchange, ...]: ...
    def message(self, message_id: str) -> Message | None: ...
    def messages(self, exchange_id: str) -> tuple[Message, ...]: ...
    def opening(self, exchange_id: str) -> Message | None: ...
    def worked(self, exchange_id: str) -> bool: ...
    def noted(self, message_id: str) -> bool: ...
    def unread(self, address: Address, exchange_id: str | None, limit: int) -> tuple[Message, ...]: ...
    def unread_counts(self, address: Address) -> tuple[tuple[str, int], ...]: ...
    def command(self, key: str) -> tuple[str, str] | None: ...
    def call(self, call_id: str) -> CallRecord | None: ...
    def repeated_call(self, session_id: str, digest: str, since_us: int) -> CallRecord | None: ...
    def open_calls(self) -> tuple[CallRecord, ...]: ...
    def owed(self, now_us: int, limit: int) -> tuple[Owed, ...]: ...
    def owed_count(self) -> int: ...
    def workspaces(self) -> tuple[Workspace, ...]: ...
    def file_hashes(self) -> frozenset[str]: ...
    def launch(self, session_id: str) -> LaunchPlan | None: ...
    def tree(self, session_id: str) -> Worktree | None: ...
    def approvals(self, *, pending: bool, limit: int) -> tuple[Approval, ...]: ...
    def approvals_like(self, prefix: str, limit: int) -> tuple[Approval, ...]: ...
    def approvals_of(self, kind: str, subject: str) -> tuple[Approval, ...]: ...
    def approvals_for(self, message_id: str) -> tuple[Approval, ...]: ...
    def holds_of(self, session_id: str) -> tuple[Approval, ...]: ...
    def owed_since(self, session_id: str, since_us: int) -> tuple[Message, ...]: ...
    def returned(self, message_id: str) -> int: ...
    def calls_that_took(self, session_id: str, since_us: int) -> tuple[str, ...]: ...
    def launching(self, session_id: str) -> bool: ...
    def next_due(self, kind: str) -> int | None: ...
    def effects(self, kind: str, now_us: int, limit: int) -> tuple[tuple[int, Effect], ...]: ...
    def rows(self, after: int, limit: int) -> tuple[StoredRow, ...]: ...
    def size(self) -> int: ...
    def head(self) -> Head: ...
    def counts(self) -> Counts: ...


class Tx(Reader, MeshTx, MirrorTx, RelayTx, Protocol):
    """One command's part of a transaction; an exception undoes exactly this part."""

    def put_session(self, session: Session) -> None: ...
    def remove_session(self, session_id: str) -> None: ...
    def put_launch(self, plan: LaunchPlan) -> None: ...
    def drop_launch(self, session_id: str) -> None: ...
    def put_tree(self, session_id: str, tree: Worktree) -> None: ...
    def put_workspace(self, workspace: Workspace) -> None: ...
    def remove_workspace(self, key: str) -> None: ...
    def put_approval(self, approval: Approval) -> None: ...
    def prune_approvals(self, keep: int) -> None: ...
    def put_exchange(self, exchange: Exchange) -> None: ...
    def add_message(self, message: Message, to: Address) -> None: ...
    def set_ladder(self, message_id: str, ladder: Ladder) -> None: ...
    def add_command(self, key: str, exchange_id: str, message_id: str, now_us: int) -> None: ...
    def add_effect(self, effect: Effect, now_us: int, *, wait_us: int = 0) -> None: ...
    def put_off(self, outbox: int, due_us: int, *, unproven: bool = False) -> None: ...
    def hasten(self, session_id: str, now_us: int) -> None: ...
    def started_with(self, session_id: str) -> None: ...
    def effect_done(self, outbox: int) -> None: ...
    def open_call(self, call: CallRecord) -> None: ...
    def set_call(self, call_id: str, state: str) -> None: ...
    def forget_before(self, then_us: int) -> None: ...
    def lease(self, message_id: str, call_id: str) -> None: ...
    def leased(self, call_id: str) -> tuple[Message, ...]: ...
    def release(self, call_id: str) -> tuple[Message, ...]: ...
    def mark_read(self, message_id: str, now_us: int) -> None: ...
    def drop_notices(self, message_id: str) -> None: ...
    def append(self, row: Row, side: Sequence[tuple[str, str]] = ()) -> int: ...


class Store(Protocol):
    """The node's durable state. A write returns only when it is on disk."""

    async def write(self, work: Callable[[Tx], T], then: Callable[[T], None] | None = None) -> T:
        """`work` may run twice, so it touches nothing but its transaction.

        `then` gets the result after the commit, even when the caller has given up waiting meanwhile.
        """
        ...

    async def read(self, work: Callable[[Reader], T]) -> T: ...


class Terminals(Protocol):
    """The node's terminals."""

    async def start(
        self, argv: Sequence[str], *, cwd: str, env: dict[str, str], name: str, width: int, height: int
    ) -> PaneRef: ...
    async def panes(self) -> tuple[PaneRef, ...]: ...
    async def environment(self, pane: PaneRef) -> Mapping[str, str]:
        """What the terminal's program was started with; empty when it has ended."""
        ...

    async def kill(self, pane: PaneRef) -> None: ...
    async def rename(self, pane: PaneRef, name: str) -> None: ...
    def attach_argv(self, pane: PaneRef) -> tuple[str, ...]: ...
    async def wake_suspended(self, pane: PaneRef, profile: PromptProfile) -> None:
        """Lets an agent go on that has suspended itself: there is no shell in its terminal that could. Asked often."""
        ...


class Bells(Protocol):
    """Wakes the calls that wait at an address."""

    def ring(self, addresses: Sequence[Address]) -> None: ...


class Waits(Protocol):
    """The graph of blocking calls."""

    def cycle(self, blocked: Blocked, *, released: str | None = None) -> tuple[Blocked, ...]:
        """The blocked calls that `blocked` would close a cycle with, last one waiting on `blocked.who`.

        Calls which wait on exchange `released` do not count: the message about to be sent releases them.
        """
        ...

    def blocking(self, blocked: Blocked) -> AbstractContextManager[None]:
        """Enters the graph for the length of a call."""
        ...


class Broker(Protocol):
    """Takes commands: decides, steps, commits, gives a receipt."""

    async def handle(
        self,
        actor: Address,
        command: Command,
        *,
        key: str,
        exchange_id: str,
        files: tuple[Attachment, ...] = (),
        plan: LaunchPlan | None = None,
        origin: Origin | None = None,
    ) -> Receipt: ...
    async def note_refusal(self, actor: Address, tool: str, reason: str) -> None: ...


class Inbox(Protocol):
    """Hands messages to calls, at least once and never twice for a call that got them."""

    async def take(self, actor: Address, call: str, exchange: str | None) -> Arrival: ...
    async def wait(self, actor: Address, call: str, exchange: str | None, seconds: float) -> Arrival: ...
    async def settle(self, call: str) -> None: ...
    async def give_back(self, call: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call of a proven session: its id (made by the shim) and a digest of tool and arguments.

    `named`: the digest is of a key that the agent itself chose, so the call is the same however late it comes again.
    """

    id: str
    actor: Address
    digest: str
    named: bool = False


class Agents(Protocol):
    """What a proven session may do; one method per tool. The MCP door words the results."""

    async def send(self, call: Call, command: Command, wait_seconds: int | None) -> tuple[Receipt, Arrival | None]:
        """Hand in a command; `request` and `ask` then block up to `wait_seconds` (None: default, 0: not)."""
        ...

    async def read_inbox(self, call: Call, exchange: str | None) -> Arrival: ...
    async def wait(self, call: Call, exchange: str | None, wait_seconds: int | None) -> Arrival: ...
    async def peers(self, call: Call) -> tuple[Peer, ...]: ...
    async def exchanges(self, call: Call, exchange: str | None, *, closed: bool) -> tuple[Conversation, ...]: ...
    async def settle(self, call_id: str) -> None:
        """The client has the answer of that call: what it took counts as read."""
        ...

    async def give_back(self, call_id: str) -> None:
        """The client gave the call up: what it took is unread again, however late the word comes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What `helio run` asks for; empty strings mean: not given. `env` is the caller's environment."""

    argv: tuple[str, ...]
    cwd: str
    env: tuple[tuple[str, str], ...]
    nickname: str = ""
    title: str = ""
    workspace: str = ""
    width: int = 0
    height: int = 0


class Sessions(Protocol):
    """Starts, names and puts away sessions; `wanted` is an @nickname or an id prefix."""

    async def run(self, new: NewSession) -> tuple[Session, tuple[str, ...]]:
        """The running session and the nicknames which look like its own."""
        ...

    async def set_nickname(self, wanted: str, nickname: str) -> tuple[Session, tuple[str, ...]]: ...
    async def rename(self, wanted: str, title: str) -> Session: ...
    async def archive(self, wanted: str) -> Session: ...
    async def unarchive(self, wanted: str) -> tuple[Session, str]:
        """The session and the nickname it lost because another session took it, or an empty string."""
        ...

    async def remove(self, wanted: str) -> tuple[str, tuple[str, ...]]:
        """The session's id and the exchanges which failed with it."""
        ...

    async def attach_argv(self, wanted: str) -> tuple[str, ...]: ...


class People(Protocol):
    """What the person at this node may do in exchanges; attributed to the person, never to an agent."""

    async def send(self, command: Command, key: str) -> Receipt:
        """Hand in a command; `key` (made by the caller) makes a retry return the first result."""
        ...

    async def wait(self, exchange: str, seconds: int) -> tuple[Exchange, Arrival]:
        """What arrives for the person in that exchange; it counts as read."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which timeline rows; empty means any. Times in microseconds, `until_us` 0 for open."""

    from_seq: int = 0
    limit: int = 0
    engine: str = ""
    decision: str = ""
    session: str = ""
    exchange: str = ""
    message: str = ""
    since_us: int = 0
    until_us: int = 0
    tail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyProgress:
    """How far a verification is; `result` comes with the last one."""

    rows: int
    total: int
    result: Verification | None = None


class Audit(Protocol):
    """Reads and verifies the timeline."""

    def rows(self, wanted: RowFilter, *, follow: bool) -> AsyncIterator[StoredRow]: ...
    def verify(self) -> AsyncIterator[VerifyProgress]: ...


class Overview(Protocol):
    """The node itself."""

    async def status(self) -> NodeStatus: ...
    def stop(self) -> None:
        """Asks the node to stop; returns at once."""
        ...
