"""A node with its real agent socket, real hooks to run in its sessions, and records of what came of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from node.agent_socket import AgentSocket, Prove
from node.core.agent_state import AgentConversation, HookTable
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import AgentState, Session
from node.hook_events import HookEvents
from node.ports import T
from tests.mcp_twin import DEADLINE_S, NODE, TwinNode
from tests.unit.test_hook import command, environment
from tests.waiting import until

BUSY, IDLE, DIALOG, ENDED = AgentState.BUSY, AgentState.IDLE, AgentState.NEEDS_INPUT, AgentState.ENDED
LINE = "[heliograph] A message waits for you. Call the read_inbox tool of heliograph now."
EVENTS: Mapping[str, AgentState | None] = {
    "SessionStart": IDLE, "UserPromptSubmit": BUSY, "PostToolUse": BUSY, "PermissionRequest": DIALOG, "Stop": IDLE,
    "SessionEnd": ENDED,
}  # fmt: skip
TABLES = {"claude": HookTable(events=EVENTS, can_continue=True), "gemini": HookTable(events=EVENTS)}
SECOND_US = 1_000_000


@dataclass(slots=True)
class Records:
    """Implements the ports of HookEvents over the sessions of a twin node."""

    node: TwinNode
    now_us: int = SECOND_US
    due: list[str] = field(default_factory=list)
    set_: list[tuple[str, AgentState, AgentConversation | None]] = field(default_factory=list)
    noticed_: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    broken: bool = False
    gate: asyncio.Event | None = None

    def boottime_us(self) -> int:
        return self.now_us

    def wall_us(self) -> int:
        return self.now_us

    async def read(self, work: Callable[[Records], T]) -> T:
        return work(self)

    def sessions(self) -> tuple[Session, ...]:
        return tuple(self.node.sessions.values())

    async def set(self, session_id: str, state: AgentState, conversation: AgentConversation | None) -> None:
        if self.broken:
            raise MeshError(ErrorCode.UNAVAILABLE, "The disk is full.")
        self.node.sessions[session_id] = replace(self.node.sessions[session_id], state=state)
        self.set_.append((session_id, state, conversation))

    async def due_notice(self, session_id: str) -> str | None:
        if self.gate is not None:
            await self.gate.wait()
        if self.broken:
            raise MeshError(ErrorCode.UNAVAILABLE, "The disk is full.")
        return LINE if session_id in self.due else None

    async def noticed(self, session_id: str) -> None:
        self.noticed_.append(session_id)

    async def on_idle(self, session_id: str) -> None:
        self.idle.append(session_id)


class NoCalls:
    """Implements agent_socket.Door for a socket at which nobody calls."""

    async def respond(self, *_: object) -> NoReturn:
        raise AssertionError("a hook is not a call")


@dataclass(slots=True, kw_only=True)
class Stage:
    """A node with its agent socket, and hooks to run in its sessions."""

    home: Path
    node: TwinNode
    records: Records
    events: HookEvents

    def seat(self, nickname: str, *, profile: str = "claude", state: AgentState = AgentState.UNKNOWN) -> Session:
        made = self.node.session_for(len(self.node.sessions) + 1, nickname)
        self.node.sessions[made.id] = replace(made, profile=profile, state=state)
        return self.node.sessions[made.id]

    def believed(self, session: Session) -> AgentState:
        """What is believed of the session's agent."""
        assert session.pane is not None
        return self.events.state(session.id, session.pane)

    async def hook(
        self, session: Session | None, event: str, *, client: str = "", patience: float = 60.0, **payload: object
    ) -> str:
        """Runs one hook in the pane of `session`; what it printed."""
        pipe = asyncio.subprocess.PIPE
        argv = command(event, *(("--client", client) if client else ()), patience=patience)
        process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, env=environment(self.home))
        if session is not None:
            assert session.pane is not None
            self.node.panes[process.pid] = session.pane
        async with asyncio.timeout(DEADLINE_S):
            printed, _ = await process.communicate(json.dumps(payload).encode())
        assert process.returncode == 0
        return printed.decode()

    def states(self, session: Session) -> list[AgentState]:
        """The states that were recorded for it, in order."""
        return [state for of, state, _ in self.records.set_ if of == session.id]

    def conversations(self, session: Session) -> list[str]:
        return [named.id for of, _, named in self.records.set_ if of == session.id and named is not None]

    async def noticed(self, times: int) -> None:
        await until(lambda: len(self.records.noticed_) == times)

    async def settled(self, session: Session, state: AgentState) -> None:
        """Returns once that state is on record: a hook leaves before it is."""
        await until(lambda: self.node.sessions[session.id].state is state)


@asynccontextmanager
async def staged(home: Path, *, limits: Limits | None = None, prove: Prove | None = None) -> AsyncIterator[Stage]:
    """The stage in `home`, until the block ends. `prove` replaces the twin's proof, which knows processes by number."""
    node = TwinNode()
    records = Records(node)
    limits = limits or Limits()
    events = HookEvents(
        tables=TABLES,
        states=records,
        turn_ends=records,
        store=records,  # type: ignore[arg-type]
        clock=records,
        limits=limits,
    )
    sock = AgentSocket(
        path=home / "run" / "agent.sock",
        node_id=NODE,
        limits=limits,
        clock=node,
        store=node,  # type: ignore[arg-type]
        agents=node,
        door=NoCalls(),
        prove=prove or node.prove,
        hook=events.take,
    )
    listening = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(sock.run(listening))
        await listening.wait()
        try:
            yield Stage(home=home, node=node, records=records, events=events)
        finally:
            running.cancel()


@asynccontextmanager
async def by_hand(home: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A hook's connection without a hook."""
    reader, writer = await asyncio.open_unix_connection(home / "run" / "agent.sock")
    try:
        yield reader, writer
    finally:
        writer.close()
