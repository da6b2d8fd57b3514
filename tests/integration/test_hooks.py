"""Real hooks at the real agent socket: whose state changes, what is recorded, and what a hook is given to print."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import pytest

from node.agent_socket import AgentSocket
from node.core.agent_state import AgentConversation, HookTable
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import AgentState, Session, SessionStatus
from node.core.prompt import PaneRef
from node.hook_events import HookEvents
from node.ports import T
from tests.mcp_client import run
from tests.mcp_twin import DEADLINE_S, NODE, TwinNode
from tests.unit.test_hook import command, environment
from tests.unit.test_hook import home as home  # noqa: PLC0414 - a fixture
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
async def staged(home: Path, *, limits: Limits | None = None, node: TwinNode | None = None) -> AsyncIterator[Stage]:
    node = node or TwinNode()
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
        prove=node.prove,
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


def test_a_turn_is_followed(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "PermissionRequest", "Stop", "SessionEnd"):
                assert await stage.hook(bob, event, session_id="c-1", cwd="/work") == ""
            await stage.settled(bob, ENDED)
            assert stage.states(bob) == [IDLE, BUSY, DIALOG, IDLE, ENDED]
            assert [named for _, _, named in stage.records.set_ if named] == [AgentConversation(id="c-1", cwd="/work")]
            assert stage.records.idle == [bob.id, bob.id]
            assert stage.events.state(bob.id) is ENDED

    run(play)


def test_a_hook_changes_only_the_session_it_is_proven_to_be_of(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            alice, bob = stage.seat("alice"), stage.seat("bob")
            await stage.hook(None, "UserPromptSubmit", client="claude", session_id=bob.id)
            await stage.hook(alice, "UserPromptSubmit", session_id=bob.id)
            await stage.settled(alice, BUSY)
            assert stage.states(bob) == []
            assert stage.events.state(bob.id) is AgentState.UNKNOWN

    run(play)


def test_the_client_names_the_table_and_else_the_sessions_profile_does(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            shell = stage.seat("shell", profile="generic")
            await stage.hook(shell, "UserPromptSubmit")
            await stage.hook(shell, "UserPromptSubmit", client="nobody-knows")
            assert stage.states(shell) == []
            await stage.hook(shell, "UserPromptSubmit", client="gemini")
            await stage.settled(shell, BUSY)

    run(play)


def test_a_conversation_is_recorded_when_first_seen_and_when_it_changes(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            for event, source, conversation in (
                ("SessionStart", "startup", "a"), ("UserPromptSubmit", "", "a"), ("SessionStart", "startup", "nested"),
                ("Stop", "", "nested"), ("Stop", "", "a"), ("SessionStart", "clear", "b"),
                ("UserPromptSubmit", "", "b"), ("SessionStart", "fork", "c"),
            ):  # fmt: skip
                await stage.hook(bob, event, source=source, session_id=conversation)
            await until(lambda: len(stage.conversations(bob)) == 3)
            assert stage.conversations(bob) == ["a", "b", "c"]

    run(play)


def test_the_end_of_a_turn_takes_what_is_due_instead(home: Path) -> None:
    async def play() -> None:
        async with staged(home, limits=Limits(turn_continuations=2)) as stage:
            bob = stage.seat("bob")
            stage.records.due.append(bob.id)
            await stage.hook(bob, "UserPromptSubmit")
            for times in (1, 2):
                assert json.loads(await stage.hook(bob, "Stop")) == {"decision": "block", "reason": LINE}
                await stage.noticed(times)
                assert stage.events.state(bob.id) is BUSY
            # Enough in a row: now it may rest, and what is owed is typed like everything else.
            assert await stage.hook(bob, "Stop") == ""
            await stage.settled(bob, IDLE)
            await until(lambda: stage.records.idle == [bob.id])
            assert stage.records.noticed_ == [bob.id] * 2
            # A rest begins the count anew.
            assert json.loads(await stage.hook(bob, "Stop"))["decision"] == "block"

    run(play)


@pytest.mark.parametrize(
    ("client", "event"), [("gemini", "Stop"), ("claude", "PostToolUse"), ("claude", "SessionStart")]
)
def test_only_the_end_of_a_turn_that_can_go_on_is_put_off(home: Path, client: str, event: str) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            stage.records.due.append(bob.id)
            assert await stage.hook(bob, event, client=client) == ""
            await until(lambda: stage.states(bob))
            assert stage.records.noticed_ == []

    run(play)


def test_a_notice_that_no_hook_printed_is_not_counted(home: Path) -> None:
    """The hook leaves while the node is still looking for what is due."""

    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob", state=BUSY)
            stage.records.due.append(bob.id)
            stage.records.gate = asyncio.Event()
            assert await stage.hook(bob, "Stop", patience=2) == ""
            stage.records.gate.set()
            await stage.settled(bob, IDLE)
            await until(lambda: stage.records.idle == [bob.id])
            assert stage.records.noticed_ == []

    run(play)


@asynccontextmanager
async def by_hand(home: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A hook's connection without a hook."""
    reader, writer = await asyncio.open_unix_connection(home / "run" / "agent.sock")
    try:
        yield reader, writer
    finally:
        writer.close()


def test_a_burst_of_fifty_hooks_breaks_nothing(home: Path) -> None:
    """On a busy machine some leave before they were heard, but each leaves well, and the node goes on."""

    async def play() -> None:
        async with staged(home) as stage:
            seats = [stage.seat(f"s{number}") for number in range(10)]
            async with asyncio.TaskGroup() as group:
                hooks = [group.create_task(stage.hook(seat, "PostToolUse", patience=1)) for seat in seats * 5]
            assert {hook.result() for hook in hooks} == {""}
            await stage.hook(seats[0], "UserPromptSubmit", session_id="c")
            await stage.hook(seats[0], "PermissionRequest", session_id="c")
            await stage.settled(seats[0], DIALOG)

    run(play)


def test_fifty_hooks_at_once_are_all_answered(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage, AsyncExitStack() as stack:
            bob = stage.seat("bob")
            assert bob.pane is not None
            stage.node.panes[os.getpid()] = bob.pane
            lines = [{"t": "hook", "v": 1, "event": "PostToolUse"}] * 50
            streams = [await stack.enter_async_context(by_hand(home)) for _ in lines]
            for (_, writer), line in zip(streams, lines, strict=True):
                writer.write(json.dumps(line).encode() + b"\n")
            for reader, _ in streams:
                async with asyncio.timeout(DEADLINE_S):
                    assert json.loads(await reader.readuntil(b"\n")) == {"t": "hooked", "out": None}
            await stage.settled(bob, BUSY)
            assert stage.states(bob) == [BUSY]

    run(play)


@pytest.mark.parametrize(
    "line", [{"v": 2, "event": "Stop"}, {"v": 1}, {"v": 1, "event": ["Stop"]}, {"v": 1, "event": ""}]
)
def test_a_line_that_is_no_event_is_let_go(home: Path, line: dict[str, object]) -> None:
    async def play() -> None:
        async with staged(home) as stage, by_hand(home) as (reader, writer):
            writer.write(json.dumps({"t": "hook"} | line).encode() + b"\n")
            assert json.loads(await reader.readuntil(b"\n")) == {"t": "hooked", "out": None}
            assert await reader.read() == b""
            assert stage.records.set_ == []

    run(play)


def test_more_hooks_at_once_than_the_limit_are_let_go_unproven(home: Path) -> None:
    async def play() -> None:
        async with staged(home, limits=Limits(hooks_at_once=1)) as stage:
            bob = stage.seat("bob")
            stage.records.gate = asyncio.Event()
            stage.records.due.append(bob.id)
            async with asyncio.TaskGroup() as group:
                first = group.create_task(stage.hook(bob, "Stop", patience=2))
                await first
                assert await stage.hook(bob, "UserPromptSubmit") == ""
                stage.records.gate.set()
            await stage.settled(bob, IDLE)
            await stage.hook(bob, "UserPromptSubmit")
            await stage.settled(bob, BUSY)
            assert stage.states(bob) == [IDLE, BUSY]

    run(play)


class Slow:
    """Proves callers in the order in which the test lets them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.go: list[asyncio.Event] = []

    async def find(self) -> Session:
        gate = asyncio.Event()
        self.go.append(gate)
        await gate.wait()
        return self.session

    async def asked(self, times: int) -> None:
        await until(lambda: len(self.go) == times)


async def silent() -> None:
    return None


async def deaf(_: object) -> None:
    return None


def test_what_arrived_earlier_does_not_overrule_what_arrived_later(home: Path) -> None:
    """The proof of the first takes longer than that of the second."""

    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            slow = Slow(bob)
            async with asyncio.TaskGroup() as group:
                for number, event in enumerate(("PostToolUse", "Stop"), 1):
                    line = {"t": "hook", "v": 1, "event": event, "client": "gemini"}
                    group.create_task(stage.events.take(line, slow.find, deaf, silent))
                    await slow.asked(number)
                slow.go[1].set()
                await stage.settled(bob, IDLE)
                slow.go[0].set()
            assert stage.states(bob) == [IDLE]

    run(play)


def test_what_nothing_was_heard_of_fades_on_record(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            await stage.hook(bob, "UserPromptSubmit")
            await stage.settled(bob, BUSY)
            stage.records.now_us += 89 * SECOND_US
            await stage.events.sweep()
            assert stage.node.sessions[bob.id].state is BUSY
            stage.records.now_us += SECOND_US
            assert stage.events.state(bob.id) is AgentState.UNKNOWN
            await stage.events.sweep()
            assert stage.states(bob) == [BUSY, AgentState.UNKNOWN]

    run(play)


def test_a_node_that_starts_lets_fade_what_an_earlier_one_recorded(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob", state=DIALOG)
            await stage.events.sweep()
            assert stage.events.state(bob.id) is DIALOG
            stage.records.now_us += 600 * SECOND_US
            await stage.events.sweep()
            assert stage.states(bob) == [AgentState.UNKNOWN]

    run(play)


def test_a_session_that_was_resumed_in_another_pane_starts_unknown(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            await stage.hook(bob, "SessionStart", session_id="a")
            await stage.hook(bob, "UserPromptSubmit", session_id="a")
            await stage.settled(bob, BUSY)
            stage.node.sessions[bob.id] = replace(bob, status=SessionStatus.ENDED, pane=None, state=ENDED)
            await stage.events.sweep()
            assert stage.events.state(bob.id) is AgentState.UNKNOWN
            pane = PaneRef(server="/twin", pane="%99", pid=99, started=2, tty="/dev/pts/99")
            again = stage.node.sessions[bob.id] = replace(bob, pane=pane)
            await stage.hook(again, "SessionStart", session_id="b", source="startup")
            await stage.settled(bob, IDLE)
            assert stage.conversations(bob) == ["a", "b"]

    run(play)


def test_what_could_not_be_recorded_is_recorded_later(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob", state=BUSY)
            stage.records.broken = True
            stage.records.due.append(bob.id)
            assert await stage.hook(bob, "Stop", session_id="a") == ""
            await until(lambda: stage.events.state(bob.id) is IDLE)
            assert stage.node.sessions[bob.id].state is BUSY
            stage.records.broken = False
            await stage.events.sweep()
            assert (stage.states(bob), stage.conversations(bob)) == ([IDLE], ["a"])

    run(play)


def test_who_waits_for_a_turn_hears_of_the_next_prompt(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            alice, bob = stage.seat("alice"), stage.seat("bob")
            turn, others = stage.events.next_turn(bob.id), stage.events.next_turn(alice.id)
            await stage.hook(bob, "PostToolUse")
            await stage.hook(bob, "UserPromptSubmit", prompt="")
            await stage.settled(bob, BUSY)
            for waiting in (turn, others):
                assert not waiting.done()
            await stage.hook(bob, "UserPromptSubmit", prompt="hello")
            async with asyncio.timeout(DEADLINE_S):
                await turn
            assert not others.done()

    run(play)
