"""A real agent CLI in a real terminal, launched by its adapter, talking with a fake model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.agents.adapter import Adapter, LaunchContext, Launched
from node.agents.private_files import write_private
from node.core.model import AgentState
from node.core.prompt import PaneRef, PromptState, Typed, judge
from node.demo.model.homes import HOMES, TOOL_NAMES
from node.demo.model.script import Turn
from node.demo.model.server import FakeModel
from node.terminal import Tmux
from tests import waiting
from tests.fake_model import helio
from tests.terminals import press, tmux_says
from tools.agent_clis import fetch

NOTICE = "[heliograph] A message waits for you. Call the read_inbox tool of heliograph now."
# An MCP server of the person's own, whose tools were not approved.
THEIRS = "theirs"
_PATIENCE_S = 90.0
_SETTLED_S = 0.5
_STANDS_S = 5.0


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str) -> None:
    """Waits until the condition holds, with a real CLI's patience; TimeoutError, naming `what`, when it does not."""
    await waiting.until(condition, what, seconds=_PATIENCE_S, pause_s=0.1)


def programs() -> Path:
    """The folder with the pinned CLIs; the test is skipped, by name of what to run, where they were not fetched."""
    cache = fetch.cache_folder()
    if not fetch.is_present(cache):
        pytest.skip("the agent CLIs are not here: run `python3 tools/agent_clis/fetch.py` once")
    return cache / "bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where one CLI performs: everything of it is below `folder`."""

    adapter: Adapter
    folder: Path
    tmux: Tmux
    model: FakeModel
    bin: Path

    @property
    def work(self) -> Path:
        """The folder that the agent works in."""
        return self.folder / "work"

    @property
    def log(self) -> Path:
        """What reached the programs that play helio: see tests.fake_model.helio."""
        return self.folder / "helio.jsonl"

    def env(self) -> dict[str, str]:
        """A person's environment, with their settings written."""
        servers = {THEIRS: (*helio.command(self.log), "mcp", THEIRS)}
        base = self.model.base(self.adapter.name)
        env = HOMES[self.adapter.name](self.folder / "home", (self.work,), base, servers)
        return {**env, "PATH": f"{self.bin}{os.pathsep}{env['PATH']}", "HELIOGRAPH_HOME": str(self.folder / "node")}

    def context(self, env: Mapping[str, str]) -> LaunchContext:
        """What the adapter is told for a launch."""
        return LaunchContext(
            folder=self.folder / "private",
            cwd=str(self.work),
            helio=helio.command(self.log),
            env=env,
            session="abcdefgh234567ab",
        )

    def tool(self, server: str, name: str) -> str:
        """What a script calls a server's tool for this CLI."""
        return TOOL_NAMES[self.adapter.name].format(server=server, tool=name)

    def say(self, *turns: Turn) -> None:
        """What the model is going to answer."""
        self.model.say(*turns, script=self.adapter.name)

    async def launch(self, resume: str | None = None, *, under: Sequence[str] = ()) -> Agent:
        """Starts the agent as the node does (or as a child of the command `under`); waits for its empty prompt."""
        env = self.env()
        context = self.context(env)
        launched = self.adapter.resume(context, resume) if resume else self.adapter.launch(context)
        write_private(context.folder, launched)
        given = {**env, **dict(launched.env)}
        pane = await self.tmux.start(
            (*under, *launched.argv), cwd=str(self.work), env=given, name=self.adapter.name, width=120, height=40
        )
        agent = Agent(stage=self, pane=pane, launched=launched)
        await until(agent.idle, f"{self.adapter.name}'s empty prompt")
        return agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A CLI that runs."""

    stage: Stage
    pane: PaneRef
    launched: Launched

    async def shows(self) -> PromptState:
        """What its screen shows."""
        return judge(await self.stage.tmux.capture(self.pane), self.stage.adapter.prompt)

    async def idle(self) -> bool:
        """Whether its screen shows an empty prompt."""
        return await self.shows() is PromptState.IDLE

    async def asks(self) -> bool:
        """Whether its screen shows a dialog."""
        return await self.shows() is PromptState.DIALOG

    async def text(self) -> str:
        """Its whole screen."""
        return "\n".join((await self.stage.tmux.capture(self.pane)).lines)

    async def notice(self) -> Typed:
        """Types the notice as the node does, with nothing known from hooks: the screen alone decides."""
        return await self.stage.tmux.type_notice(
            self.pane, NOTICE, self.stage.adapter.prompt, lambda: AgentState.UNKNOWN
        )

    async def prompt(self, text: str) -> None:
        """What a person does: types a line at the prompt, sees it stand, presses Enter."""
        await press(self.pane, "-l", text)

        async def stands() -> bool:
            return await self.shows() is PromptState.DRAFT and text in await self.text()

        await until(stands, f"{text!r} at the prompt")
        # Enter right behind text is a line end to some of them; nothing on the screen says when it no longer is.
        clock = asyncio.get_running_loop().time
        typed = clock()
        await until(lambda: clock() >= typed + _SETTLED_S, "the settling of the text")
        await press(self.pane, "Enter")
        try:
            await waiting.until(lambda: self._taken(text), "the entering of the line", seconds=_STANDS_S, pause_s=0.1)
        except TimeoutError:
            # As a person does who sees the line still standing there: on a busy machine an Enter may only break it.
            await press(self.pane, "Enter")

    async def _taken(self, text: str) -> bool:
        return await self.shows() is not PromptState.DRAFT or text not in await self.text()


@asynccontextmanager
async def stage(adapter: Adapter, folder: Path) -> AsyncIterator[Stage]:
    """A stage in `folder`, with a model and a tmux server, cleared away afterwards."""
    run, found = folder / "run", programs()
    for path in (run, folder / "work", folder / "node"):
        path.mkdir(mode=0o700, parents=True)
    tmux = Tmux(run / "t")
    with FakeModel() as model:
        try:
            yield Stage(adapter=adapter, folder=folder, tmux=tmux, model=model, bin=found)
        finally:
            await tmux.kill_server()


async def foreground(pane: PaneRef) -> str:
    """The program in the foreground of a pane, as tmux names it."""
    return (await tmux_says(pane, "display-message", "-p", "-t", pane.pane, "#{pane_current_command}")).strip()
