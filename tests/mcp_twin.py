"""A node for the MCP door with nothing behind it: the ports of agents and store in memory.

What it keeps outlives its socket, as a database would: a test stops the socket and starts it anew to play a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from node.agent_socket import AgentSocket, Pace
from node.core import commands, delegation, policy
from node.core.commands import Arrival, Command, Peer, Receipt, Taken, TreeView
from node.core.errors import ErrorCode, MeshError
from node.core.ids import make_id
from node.core.limits import Limits
from node.core.model import (
    DEFAULT_WORKSPACE,
    Address,
    AgentState,
    Author,
    Conversation,
    End,
    Exchange,
    Kind,
    Ladder,
    Message,
    MessageKind,
    Session,
    SessionStatus,
    Status,
)  # fmt: skip
from node.core.prompt import PaneRef
from node.mcp_server import McpServer
from node.platform.peercred import PeerSocket, peer_of
from node.ports import Call, CallRecord, T
from node.ports_work import MergeResult

NODE = "twinnodetwinnode"
ROOT = Path(__file__).resolve().parent.parent
DEADLINE_S = 20.0
_FROM_WORKER = {commands.Report: delegation.Report(), commands.Deliver: delegation.Deliver()}


@dataclass(slots=True, kw_only=True)
class Held:
    """A message with who has it: `by` is the call that took it, `settled` whether that call's client has it."""

    message: Message
    by: str | None = None
    settled: bool = False


class NoTrees:
    """A ports.TreeTools for sessions outside of git."""

    async def create(self, actor: Address, name: str) -> TreeView:
        raise MeshError(ErrorCode.WRONG_STATE, f"no repository for {name}")

    async def view(self, actor: Address, exchange: str | None) -> TreeView:
        raise MeshError(ErrorCode.NOT_FOUND, f"no worktree for {exchange}")

    async def merge(self, actor: Address, exchange: str | None) -> tuple[TreeView, MergeResult]:
        raise MeshError(ErrorCode.NOT_FOUND, f"no worktree for {exchange}")


@dataclass(slots=True)
class TwinNode:
    """Implements ports.Agents and as much of ports.Store as the socket asks for."""

    sessions: dict[str, Session] = field(default_factory=dict)
    panes: dict[int, PaneRef] = field(default_factory=dict)
    exchanges_: dict[str, Exchange] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    records: dict[str, CallRecord] = field(default_factory=dict)
    results: dict[str, Receipt] = field(default_factory=dict)
    calls_seen: list[str] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _ids: Callable[[], int] = field(default_factory=lambda: count(1).__next__)

    # --- the operating system and the clock

    async def prove(self, sock: PeerSocket) -> TwinProof:
        peer = peer_of(sock)
        peer.close()
        if peer.pid not in self.panes:
            raise MeshError(ErrorCode.UNIDENTIFIED, "Nothing ties the caller to a terminal. Start with `helio run`.")
        return TwinProof(pane=self.panes[peer.pid])

    def wall_us(self) -> int:
        return self._ids()

    def boottime_us(self) -> int:
        return 1_000_000

    def session_for(self, pid: int, nickname: str) -> Session:
        """A running session in whose pane process `pid` is."""
        session_id = self.new_id()
        pane = PaneRef(server="/twin", pane=f"%{pid}", pid=pid, started=1, tty=f"/dev/pts/{pid}")
        self.panes[pid] = pane
        self.sessions[session_id] = Session(
            id=session_id, nickname=nickname, title=f"the session of {nickname}", workspace=DEFAULT_WORKSPACE,
            profile="", argv=("agent",), cwd="/", pane=pane, status=SessionStatus.RUNNING, state=AgentState.IDLE,
            created_us=1, changed_us=1,
        )  # fmt: skip
        return self.sessions[session_id]

    def new_id(self) -> str:
        return make_id(self._ids().to_bytes(2, "big") * 5)

    # --- the store

    async def read(self, work: Callable[[TwinNode], T]) -> T:
        return work(self)

    def session_at(self, pane: PaneRef) -> Session | None:
        return next((s for s in self.sessions.values() if s.pane == pane), None)

    def call(self, call_id: str) -> CallRecord | None:
        return self.records.get(call_id)

    # --- the agents

    async def _open(self, call: Call) -> str:
        """The key of the command that `call` stands for."""
        if self.faults:
            raise self.faults.pop()
        self.calls_seen.append(call.id)
        alike = [r for r in self.records.values() if r.digest == call.digest and r.session == call.actor.session]
        known = self.records.get(call.id) or next((r for r in alike if r.state != "settled"), None)
        key = known.key if known else call.id
        self.records[call.id] = CallRecord(
            id=call.id, session=call.actor.session or "", digest=call.digest, key=key, state="running", created_us=1
        )
        async with self.changed:
            self.changed.notify_all()
        return key

    def _mine(self, actor: Address) -> list[Exchange]:
        return [e for e in self.exchanges_.values() if e.end_of(actor) is not None]

    async def send(self, call: Call, command: Command, wait_seconds: int | None) -> tuple[Receipt, Arrival | None]:
        seconds = Limits().wait_seconds(wait_seconds)
        key = await self._open(call)
        if key in self.results:
            receipt = replace(self.results[key], repeated=True)
        else:
            receipt = self.results[key] = self._do(call.actor, command)
        async with self.changed:
            self.changed.notify_all()
        if not isinstance(command, commands.Request | commands.Ask) or not seconds or receipt.message.withheld:
            return receipt, None
        return receipt, await self._wait(call, receipt.exchange.id, seconds)

    def _do(self, actor: Address, command: Command) -> Receipt:
        reply_to = None
        match command:
            case commands.Request(to=to, text=text, title=title):
                worker = policy.find_session(to, list(self.sessions.values()))
                exchange = self._new_exchange(actor, Address(node=NODE, session=worker.id), title)
                given: delegation.Input | None = None
                kind, end = MessageKind.REQUEST, End.OPENER
            case commands.Answer(question=question, text=text):
                exchange = self._asked_in(actor, question)
                reply_to = exchange.questions[0]
                given, kind, end = delegation.Answer(question=reply_to), MessageKind.ANSWER, End.OPENER
            case commands.Ask(text=text) | commands.Report(text=text) | commands.Deliver(text=text):
                exchange = self._resolve(command.exchange, actor, End.WORKER)
                given = {commands.Report: delegation.Report(), commands.Deliver: delegation.Deliver()}.get(
                    type(command)
                )
                kind, end = MessageKind(type(command).__name__.lower()), End.WORKER
            case commands.Steer(text=text):
                exchange = self._resolve(command.exchange, actor, End.OPENER)
                given, kind, end = delegation.Steer(), MessageKind.STEER, End.OPENER
            case commands.Close(note=text):
                exchange = self._resolve(command.exchange, actor, End.OPENER)
                given = delegation.Accept() if command.accepted else delegation.Reject()
                kind, end = MessageKind.CLOSE, End.OPENER
            case commands.Cancel(reason=text):
                exchange = self._resolve(command.exchange, actor, End.OPENER)
                given, kind, end = delegation.Cancel(), MessageKind.CANCEL, End.OPENER
        message = Message(
            id=self.new_id(), exchange=exchange.id, number=exchange.next_number, kind=kind, sender=end,
            author=Author.SESSION, title="", text=text, reply_to=reply_to, ladder=Ladder(recorded_us=1, landed_us=1),
        )  # fmt: skip
        if "WITHHOLD ME" in text:
            ladder = Ladder(recorded_us=1, screened="withhold")
            message = replace(message, ladder=ladder, snippet="WITHHOLD ME", advice="Leave those two words out.")
        elif kind is MessageKind.ASK:
            exchange = delegation.step(exchange, delegation.Ask(message=message.id)).exchange
        elif given is not None:
            exchange = delegation.step(exchange, given).exchange
        self.exchanges_[exchange.id] = replace(exchange, next_number=exchange.next_number + 1)
        self.held[message.id] = Held(message=message)
        return Receipt(exchange=self.exchanges_[exchange.id], message=message)

    def _new_exchange(self, opener: Address, worker: Address, title: str) -> Exchange:
        new = self.new_id()
        return Exchange(
            id=new, kind=Kind.REQUEST, status=Status.WORKING, opener=opener, worker=worker, title=title or "untitled",
            chain=new, hops=(), parent=None, root=new, depth=1, next_number=1, questions=(), ended_noted=False,
            reason=None, opened_us=1, changed_us=1,
        )  # fmt: skip

    def _resolve(self, wanted: str | None, actor: Address, end: End) -> Exchange:
        return policy.resolve_exchange(wanted, self._mine(actor), actor, end=end, tool="the tool")

    def _asked_in(self, actor: Address, question: str | None) -> Exchange:
        asked = [e for e in self._mine(actor) if e.questions and e.end_of(actor) is End.OPENER]
        for exchange in asked:
            if question is None or exchange.id.startswith(question) or exchange.questions[0].startswith(question):
                return exchange
        raise MeshError(ErrorCode.NOT_FOUND, "No such question is open. Call list_delegations.")

    def _take(self, call: Call, exchange: str | None) -> Arrival:
        self._release(call.id)
        taken: list[Taken] = []
        for held in self.held.values():
            around = self.exchanges_[held.message.exchange]
            mine = around.address(held.message.recipient) == call.actor
            if mine and held.by is None and not held.message.withheld and exchange in {None, around.id}:
                held.by = call.id
                sender = self.sessions[around.address(held.message.sender).session or ""].label
                taken.append(Taken(message=held.message, exchange=around, sender=sender))
        return Arrival(taken=tuple(taken))

    def _release(self, call_id: str) -> None:
        for held in self.held.values():
            if held.by == call_id:
                held.by, held.settled = None, False

    async def _wait(self, call: Call, exchange: str | None, seconds: float) -> Arrival:
        try:
            async with asyncio.timeout(seconds), self.changed:
                while not (arrival := self._take(call, exchange)).taken:
                    await self.changed.wait()
                return arrival
        except TimeoutError:
            return Arrival(timed_out=True)

    async def read_inbox(self, call: Call, exchange: str | None) -> Arrival:
        await self._open(call)
        return self._take(call, exchange and self._resolve_any(exchange, call.actor))

    async def wait(self, call: Call, exchange: str | None, wait_seconds: int | None) -> Arrival:
        await self._open(call)
        wanted = exchange and self._resolve_any(exchange, call.actor)
        return await self._wait(call, wanted, Limits().wait_seconds(wait_seconds))

    def _resolve_any(self, wanted: str, actor: Address) -> str:
        return policy.resolve_exchange(wanted, self._mine(actor), actor, end=None, tool="wait").id

    async def peers(self, call: Call) -> tuple[Peer, ...]:
        return tuple(Peer(session=s, me=s.id == call.actor.session, open_with_me=0) for s in self.sessions.values())

    async def exchanges(self, call: Call, exchange: str | None, *, closed: bool) -> tuple[Conversation, ...]:
        wanted = exchange and self._resolve_any(exchange, call.actor)
        return tuple(
            Conversation(
                exchange=e, messages=tuple(h.message for h in self.held.values() if h.message.exchange == e.id)
            )
            for e in self._mine(call.actor)
            if wanted == e.id or (wanted is None and (closed or not e.status.closed))
        )

    async def settle(self, call_id: str) -> None:
        if call_id in self.records:
            self.records[call_id] = replace(self.records[call_id], state="settled")
        for held in self.held.values():
            if held.by == call_id:
                held.settled = True
                held.message = replace(held.message, ladder=replace(held.message.ladder, read_us=2))
        async with self.changed:
            self.changed.notify_all()

    def settled(self) -> bool:
        """Whether every message that was taken is known to be with its reader."""
        return all(held.settled for held in self.held.values() if held.by)

    def abandoned(self) -> bool:
        """Whether there were calls, and all of them were given up or settled, one at least given up."""
        states = {record.state for record in self.records.values()}
        return "abandoned" in states and "running" not in states

    def running(self) -> bool:
        """Whether a call that may block has begun."""
        return any(record.state == "running" for record in self.records.values())

    async def give_back(self, call_id: str) -> None:
        if call_id in self.records:
            self.records[call_id] = replace(self.records[call_id], state="abandoned")
        self._release(call_id)
        async with self.changed:
            self.changed.notify_all()

    async def until(self, true: Callable[[], bool]) -> None:
        """Returns once `true()` holds, looked at whenever something changed; TimeoutError at the deadline."""
        async with asyncio.timeout(DEADLINE_S), self.changed:
            await self.changed.wait_for(true)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinProof:
    """Implements agent_socket.Proven."""

    pane: PaneRef


@asynccontextmanager
async def serving(
    node: TwinNode, home: Path, *, limits: Limits | None = None, pace: Pace | None = None, progress_s: float = 10.0
) -> AsyncIterator[AgentSocket]:
    """The socket of `node` in `home`, until the block ends: then it stops as a node stops."""
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    sock = AgentSocket(
        path=home / "run" / "agent.sock",
        node_id=NODE,
        limits=limits or Limits(),
        clock=node,
        store=node,
        agents=node,
        door=McpServer(node, NoTrees(), progress_s=progress_s),
        prove=node.prove,
        pace=pace,
    )  # type: ignore[arg-type]  # fmt: skip - the store is as much of one as the socket reads
    listening = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(sock.run(listening))
        await listening.wait()
        try:
            yield sock
        finally:
            running.cancel()
