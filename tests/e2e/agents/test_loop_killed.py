"""kill -9 of an agent CLI, its shim or the node, Ctrl-Z and /exit while a call blocks: nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from node.agents.adapter import Adapter
from node.agents.claude import CLAUDE
from node.agents.codex import CODEX
from node.agents.gemini import GEMINI
from node.agents.opencode import OPENCODE
from node.agents.qwen import QWEN
from node.core.model import AgentState, SessionStatus
from node.demo.model.script import Turn
from node.demo.puppet import Puppet
from node.local_client import LocalClient
from node.platform import processes
from tests.e2e.agents.loop import NOTICE, PATIENCE_S, WAIT_S, Loop, call, each_cli, perform
from tests.fake_model.stage import until
from tests.terminals import press

pytestmark = pytest.mark.timeout(300)

# The id of an exchange as the model is shown it, for a script.
OPENED = r"{{\bexchange\W+([a-z2-7]{16})}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One question of @api to @web, and the call in which its agent blocks for the reply."""

    question: str
    reply: str
    tool: str


ROUNDS = (
    Round(question="Which port does the mock use?", reply="8091, heliotrope.", tool="request"),
    Round(question="And which one the database?", reply="5433, marigold.", tool="wait"),
)


@each_cli
def test_an_agent_killed_while_it_blocks_gets_the_reply_once_after_its_return(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Loop) -> None:
        web = await seated(on)
        for part in ROUNDS:
            exchange = await blocks(on, web, part)
            os.kill((await on.pane("api")).pid, signal.SIGKILL)
            await until(lambda: on.has("api", SessionStatus.ENDED), "the end of the session")
            on.say(on.calls("read_inbox", when=NOTICE), Turn(text="I see."))
            await ends_well(on, web, part, exchange)

    perform(adapter, tmp_path, play)


@each_cli
def test_a_node_killed_while_an_agent_blocks_answers_that_very_call_when_it_is_back(
    adapter: Adapter, tmp_path: Path
) -> None:
    async def play(on: Loop) -> None:
        web = await seated(on)
        for part in ROUNDS:
            exchange = await blocks(on, web, part)
            await on.lab.kill()
            await on.lab.start()
            # The token of the node that was killed is worth nothing to the next.
            on = replace(on, node=await on.stack.enter_async_context(LocalClient(on.home)))
            on.say(Turn(text="I see."))
            await ends_well(on, web, part, exchange)

    perform(adapter, tmp_path, play)


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: finds the shim in /proc")
@each_cli
def test_a_shim_killed_while_an_agent_blocks_loses_no_reply(adapter: Adapter, tmp_path: Path) -> None:
    """Qwen Code repeats its call through another one. The others have no tools until their agent is started again."""

    async def play(on: Loop) -> None:
        web = await seated(on)
        for part in ROUNDS:
            exchange = await blocks(on, web, part)
            (shim,) = shims((await on.pane("api")).pid)
            os.kill(shim, signal.SIGKILL)
            if adapter is not QWEN:
                on.say(Turn(text="It broke."))
                await until(lambda: on.is_in("api", AgentState.IDLE), "the end of the turn")
                await on.enter("api", "/exit")
                await until(lambda: on.has("api", SessionStatus.ENDED), "the end of the session")
                on.say(on.calls("read_inbox", when=NOTICE))
            on.say(Turn(text="I see."))
            await ends_well(on, web, part, exchange)

    perform(adapter, tmp_path, play)


@each_cli
def test_an_agent_suspended_while_it_blocks_gets_the_reply(adapter: Adapter, tmp_path: Path) -> None:
    """There is no shell to suspend it for: it goes on, and where it put its terminal back, the node wakes it."""

    async def play(on: Loop) -> None:
        web = await seated(on)
        # In these two the key takes the person's last words back, which then stand at the prompt.
        undoes = adapter in (GEMINI, QWEN)
        for part in ROUNDS[:1] if undoes else ROUNDS:
            exchange = await blocks(on, web, part)
            await press(await on.pane("api"), "C-z")
            on.say(Turn(text="I see."))
            await ends_well(on, web, part, exchange, rests=not undoes)

    perform(adapter, tmp_path, play)


@pytest.mark.parametrize("adapter", [CLAUDE, CODEX, OPENCODE], ids=lambda cli: cli.name)
def test_a_person_who_leaves_an_agent_while_it_blocks_loses_no_reply(adapter: Adapter, tmp_path: Path) -> None:
    """Gemini CLI and Qwen Code take no command while they work."""

    async def play(on: Loop) -> None:
        web = await seated(on)
        for part in ROUNDS:
            exchange = await blocks(on, web, part)
            await on.type("api", "/exit")
            await press(await on.pane("api"), "Enter")
            on.say(on.calls("read_inbox", when=NOTICE), Turn(text="I see."))
            # What it may have taken while it left is told again: nobody can know whether its model was shown it.
            await ends_well(on, web, part, exchange, most=2)
            on.model.forget(adapter.name)

    perform(adapter, tmp_path, play)


async def seated(on: Loop) -> Puppet:
    """@api with the real CLI, and @web whose strings the test pulls."""
    web = await on.puppet("web")
    await on.run("api")
    return web


async def blocks(on: Loop, web: Puppet, part: Round) -> str:
    """Brings @api's agent into its call; the exchange."""
    before = len(calls_of(on, (await on.session("api")).id))
    if part.tool == "request":
        on.say(on.calls("request", to="@web", text=part.question, wait_seconds=WAIT_S))
    else:
        on.say(on.calls("request", to="@web", text=part.question, wait_seconds=0))
        on.say(on.calls("wait", exchange=OPENED, wait_seconds=WAIT_S))
    await on.enter("api", "ask web for the port")
    assert (await web.entered(PATIENCE_S)).startswith("[heliograph]")
    (asked,) = (await call(web, "read_inbox")).messages("request")
    session = (await on.session("api")).id
    wanted = ["running"] if part.tool == "request" else ["settled", "running"]
    await until(lambda: calls_of(on, session)[before:] == wanted, f"the blocking of @api's {part.tool}")
    return str(asked["exchange"])


def calls_of(on: Loop, session: str) -> list[str]:
    """How the calls of a session stand, oldest first, as the node has them on record."""
    with closing(sqlite3.connect(f"file:{on.home / 'node.db'}?mode=ro", uri=True)) as db:
        return [
            row[0] for row in db.execute("SELECT state FROM calls WHERE session = ? ORDER BY created_us", (session,))
        ]


def shown(on: Loop, text: str) -> int:
    """How often the model was shown that as something new."""
    return sum(request.newest.count(text) for request in on.asked())


def shims(agent: int) -> list[int]:
    """The processes below an agent that are its shims."""
    running = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    below = [pid for pid in running if agent in {process.pid for process in processes.chain(pid)}]
    return [pid for pid in below if processes.command_line(pid)[-1:] == ("mcp",)]


async def ends_well(on: Loop, web: Puppet, part: Round, exchange: str, *, rests: bool = True, most: int = 1) -> None:
    """@web delivers; the model is shown that once, nothing is doubled, nothing is left, and the agent rests."""
    await call(web, "deliver", exchange=exchange, text=part.reply)
    await until(lambda: shown(on, part.reply) >= 1, "the reply at the model")
    await until(lambda: on.is_in("api", AgentState.IDLE), "a hook that the agent rests")
    if rests:
        await until(lambda: on.rests("api"), "its empty prompt")
    assert await on.kinds(exchange) == ["request", "deliver"]
    questions = [(await on.conversation(one.id)).messages[0].text for one in await on.node.exchanges(closed=True)]
    assert sorted(questions) == sorted(one.question for one in ROUNDS[: ROUNDS.index(part) + 1])
    assert (await call(web, "read_inbox")).messages() == []
    reply = (await on.conversation(exchange)).messages[-1]
    assert reply.ladder.read_us is not None
    assert 1 <= shown(on, part.reply) <= most
    assert [session.unread for session in await on.node.sessions()] == [0, 0]
