"""Real hooks at the real agent socket: whose state changes, what is recorded, and what a hook is given to print."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from node.callers import Callers
from node.core.agent_state import AgentConversation
from node.core.limits import Limits
from node.core.model import AgentState, Session, SessionStatus
from node.core.prompt import PaneRef
from tests.hook_stage import BUSY, DIALOG, ENDED, IDLE, LINE, SECOND_US, by_hand, staged
from tests.mcp_client import run
from tests.mcp_twin import DEADLINE_S
from tests.terminals import start, terminal
from tests.unit.test_hook import command, environment
from tests.unit.test_hook import home as home  # noqa: PLC0414 - a fixture
from tests.waiting import until


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
            assert stage.believed(bob) is ENDED
            # Another agent may have been started in its place by then.
            assert bob.pane is not None
            assert stage.events.state(bob.id, replace(bob.pane, pid=bob.pane.pid + 1)) is AgentState.UNKNOWN

    run(play)


def test_a_hook_changes_only_the_session_it_is_proven_to_be_of(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            alice, bob = stage.seat("alice"), stage.seat("bob")
            await stage.hook(None, "UserPromptSubmit", client="claude", session_id=bob.id)
            await stage.hook(alice, "UserPromptSubmit", session_id=bob.id)
            await stage.settled(alice, BUSY)
            assert stage.states(bob) == []
            assert stage.believed(bob) is AgentState.UNKNOWN

    run(play)


def test_a_hook_in_a_session_of_its_own_is_proven_through_its_parents(home: Path) -> None:
    """As Claude Code and Codex start theirs: without the terminal, but as descendants of the pane's own process."""

    async def play() -> None:
        async with terminal(home) as tmux, staged(home, prove=Callers(tmux, os.getuid()).prove) as stage:
            alice, bob = stage.seat("alice"), stage.seat("bob")
            argv = shlex.join(["setsid", "--wait", *command("UserPromptSubmit")])
            env = environment(home)
            ref = await start(tmux, home, "bash", "-c", f"{argv} < /dev/null; read", env=env)
            stage.node.sessions[bob.id] = replace(bob, pane=ref)
            await stage.settled(bob, BUSY)
            # A hook that runs outside of every pane is nobody's.
            assert await stage.hook(None, "UserPromptSubmit", client="claude") == ""
            assert stage.states(alice) == []

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
                assert stage.believed(bob) is BUSY
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
            assert stage.believed(bob) is AgentState.UNKNOWN
            await stage.events.sweep()
            assert stage.states(bob) == [BUSY, AgentState.UNKNOWN]

    run(play)


def test_a_node_that_starts_lets_fade_what_an_earlier_one_recorded(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob", state=DIALOG)
            await stage.events.sweep()
            assert stage.believed(bob) is DIALOG
            stage.records.now_us += 600 * SECOND_US
            await stage.events.sweep()
            assert stage.states(bob) == [AgentState.UNKNOWN]

    run(play)


@pytest.mark.parametrize("swept", [True, False], ids=["looked at", "not looked at"])
def test_a_session_that_was_resumed_in_another_pane_starts_unknown(home: Path, *, swept: bool) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            await stage.hook(bob, "SessionStart", session_id="a")
            await stage.hook(bob, "UserPromptSubmit", session_id="a")
            await stage.settled(bob, BUSY)
            stage.node.sessions[bob.id] = replace(bob, status=SessionStatus.ENDED, pane=None, state=ENDED)
            if swept:
                await stage.events.sweep()
                assert stage.believed(bob) is AgentState.UNKNOWN
            pane = PaneRef(server="/twin", pane="%99", pid=99, started=2, tty="/dev/pts/99")
            again = stage.node.sessions[bob.id] = replace(bob, pane=pane)
            await stage.hook(again, "SessionStart", session_id="b", source="startup")
            await stage.settled(bob, IDLE)
            assert stage.conversations(bob) == ["a", "b"]

    run(play)


def test_a_row_that_somebody_else_wrote_is_set_right(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob")
            await stage.hook(bob, "Stop")
            await stage.settled(bob, IDLE)
            stage.node.sessions[bob.id] = replace(stage.node.sessions[bob.id], state=ENDED)
            await stage.events.sweep()
            assert stage.states(bob) == [IDLE, IDLE]
            await stage.events.sweep()
            assert stage.states(bob) == [IDLE, IDLE]

    run(play)


def test_a_node_that_starts_knows_the_conversation_that_an_earlier_one_recorded(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob", state=BUSY)
            stage.node.sessions[bob.id] = replace(bob, state=BUSY, conversation="a")
            await stage.hook(bob, "SessionStart", session_id="nested", source="startup")
            await stage.hook(bob, "Stop", session_id="nested")
            await stage.hook(bob, "PermissionRequest", session_id="a")
            await stage.settled(bob, DIALOG)
            assert (stage.states(bob), stage.conversations(bob)) == ([DIALOG], [])

    run(play)


def test_what_could_not_be_recorded_is_recorded_later(home: Path) -> None:
    async def play() -> None:
        async with staged(home) as stage:
            bob = stage.seat("bob", state=BUSY)
            stage.records.broken = True
            stage.records.due.append(bob.id)
            assert await stage.hook(bob, "Stop", session_id="a") == ""
            await until(lambda: stage.believed(bob) is IDLE)
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
