"""A node of its own with sessions of a real agent CLI whose model plays a script: what tests of the loop share."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pytest

from node.agents import ADAPTERS
from node.agents.adapter import Adapter
from node.agents.scripted import CONTROL
from node.core.canonical import JsonValue
from node.core.model import AgentState, SessionStatus
from node.core.prompt import PaneRef, PromptState, Screen, judge
from node.core.views import ConversationView, SessionView
from node.demo.model.homes import HOMES, TOOL_NAMES
from node.demo.model.script import Request, Turn
from node.demo.model.server import FakeModel
from node.demo.puppet import Answer, JsonObject, Puppet
from node.demo.stage import git
from node.local_client import LocalClient
from node.platform import paths, processes
from node.ports import NewSession
from node.terminal import Tmux
from tests.e2e.lab import HELIO, Lab, lab
from tests.fake_model.alone import alone
from tests.fake_model.stage import programs, until
from tests.terminals import press

PATIENCE_S = 90.0
# What a tool is told to wait at most: long enough for a loaded machine to do the other end's part.
WAIT_S = 60
NOTICE = r"^\[heliograph\]|\n\[heliograph\]"
PERSONS_FILE = "export.py"
_SCENE_S = 280.0
# So many looks in a row, a tenth of a second apart, that a screen is the same: it has come to rest.
_LOOKS = 5

CLIS = [adapter for adapter in ADAPTERS if adapter.name in HOMES]
each_cli = pytest.mark.parametrize("adapter", CLIS, ids=lambda cli: cli.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A running node, a person who uses `adapter`'s CLI there, and that CLI's model. `work` is their repository."""

    adapter: Adapter
    lab: Lab
    node: LocalClient
    model: FakeModel
    tmux: Tmux
    home: Path
    work: Path
    stack: AsyncExitStack

    # --- the model ---------------------------------------------------------------------------------------------------

    def say(self, *turns: Turn) -> None:
        """What the CLI's model is going to answer."""
        self.model.say(*turns, script=self.adapter.name)

    def calls(self, tool: str, /, *, when: str = "", gate: str = "", **arguments: object) -> Turn:
        """An answer of the model that calls a tool of the node."""
        name = TOOL_NAMES[self.adapter.name].format(server="heliograph", tool=tool)
        return Turn(tool=name, arguments=arguments, when=when, gate=gate)

    def asked(self) -> list[Request]:
        """What the CLI has asked its model so far."""
        return self.model.asked(self.adapter.name)

    async def turns(self, count: int) -> list[Request]:
        """The model's requests, once there are that many."""
        return await asyncio.to_thread(self.model.wait_for, count, self.adapter.name, seconds=PATIENCE_S)

    # --- sessions ----------------------------------------------------------------------------------------------------

    async def helio(self, *arguments: str) -> str:
        """What the command line prints, run by the person in their repository; it must succeed."""
        process = await asyncio.create_subprocess_exec(
            *HELIO, *arguments, env=self.lab.env, cwd=self.work, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(PATIENCE_S):
            output, complaint = await process.communicate()
        assert process.returncode == 0, f"helio {arguments}: {output.decode()}{complaint.decode()}"
        return output.decode()

    async def run(self, nickname: str, *command: str) -> str:
        """`helio run`: a session of the person's with the CLI (or `command`); its id."""
        words = command or (self.adapter.command,)
        return str(json.loads(await self.helio("run", "--nick", nickname, "--json", "--", *words))["session"]["id"])

    async def puppet(self, nickname: str) -> Puppet:
        """A session with a scripted agent in the person's repository, and its strings."""
        control = self.home / "run" / f"{nickname}.ctl"
        argv = (HELIO[0], "-m", "node.demo.agent", "--name", nickname, "--control", str(control))
        new = NewSession(argv=argv, cwd=str(self.work), env=tuple(self.lab.env.items()), nickname=nickname)
        await self.node.run_session(new)
        return await self.stack.enter_async_context(Puppet(control, patience_s=PATIENCE_S))

    async def strings_of(self, session: str) -> Puppet:
        """The strings of a scripted delegate that the node started."""
        control = self.home / "agents" / session / CONTROL
        return await self.stack.enter_async_context(Puppet(control, patience_s=PATIENCE_S))

    async def session(self, wanted: str) -> SessionView:
        """A session by its nickname or id."""
        sessions = await self.node.sessions(archived=True)
        return next(one for one in sessions if wanted in {one.nickname, one.id})

    async def is_in(self, wanted: str, state: AgentState) -> bool:
        """Whether a session's hooks have told that state."""
        return (await self.session(wanted)).state is state

    async def has(self, wanted: str, status: SessionStatus) -> bool:
        """Whether a session has that status."""
        return (await self.session(wanted)).status is status

    # --- terminals ---------------------------------------------------------------------------------------------------

    async def pane(self, wanted: str) -> PaneRef:
        """The terminal of a session."""
        pane = (await self.session(wanted)).pane
        return next(ref for ref in await self.tmux.panes() if ref.pane == pane)

    async def rests(self, wanted: str) -> bool:
        """Whether a session's screen shows the CLI's empty prompt."""
        return await self._shows(await self.pane(wanted), PromptState.IDLE)

    async def _shows(self, pane: PaneRef, state: PromptState) -> bool:
        return judge(await self.tmux.capture(pane), self.adapter.prompt) is state

    async def enter(self, wanted: str, text: str) -> None:
        """What a person does: waits for the prompt, types a line there, sees it stand, presses Enter."""
        pane = await self.pane(wanted)
        await until(lambda: self._shows(pane, PromptState.IDLE), f"the empty prompt of {wanted}")
        await self.type(wanted, text)
        await press(pane, "Enter")

    async def type(self, wanted: str, text: str) -> None:
        """Types a line into whatever a session shows, and sees it written there, at rest."""
        pane = await self.pane(wanted)
        # The conversation above may show the same words.
        before = len(_with(text, await self.tmux.capture(pane)))
        await press(pane, "-l", text)
        seen: list[Screen] = []

        async def written() -> bool:
            seen.append(await self.tmux.capture(pane))
            # Some take an Enter right behind text for a line end, so the line must have come to rest.
            lines = [_with(text, screen) for screen in seen[-_LOOKS:]]
            return len(lines) == _LOOKS and len(lines[0]) > before and all(line == lines[0] for line in lines)

        await until(written, f"{text!r} on the screen of {wanted}")

    # --- exchanges ---------------------------------------------------------------------------------------------------

    async def conversation(self, exchange: str) -> ConversationView:
        """An exchange and its messages, as the person is shown them."""
        return await self.node.exchange(exchange)

    async def kinds(self, exchange: str) -> list[str]:
        """What an exchange's messages are, in order."""
        return [message.kind.value for message in (await self.conversation(exchange)).messages]

    async def explain(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Adds to what went wrong what there is to look at: the screens, the timeline, the last words of the node."""
        if error is not None:
            error.add_note(await self._evidence())

    async def _evidence(self) -> str:
        found: list[str] = []
        for ref in await self.tmux.panes():
            lines = (await self.tmux.capture(ref)).lines
            found += [f"--- pane {ref.pane}", *(line.rstrip() for line in lines if line.strip())]
        asked = self.asked()
        shown = asked[-1].newest[-2_000:] if asked else ""
        found += [f"--- the model was asked {len(asked)} times; the last it was shown", shown]
        rows = await self.helio("timeline", "--limit", "40")
        return "\n".join([*found, "--- the timeline", rows, "--- the node", self.lab.told()])


def _with(text: str, screen: Screen) -> list[str]:
    return [line for line in screen.lines if text in line]


async def until_came(puppet: Puppet, exchange: str, kind: str) -> list[JsonObject]:
    """The messages that a scripted agent takes, waiting like an agent, up to one of that kind."""
    took: list[JsonObject] = []
    async with asyncio.timeout(PATIENCE_S):
        while not any(message.get("kind") == kind for message in took):
            took += accepted(await puppet.call("wait", {"exchange": exchange, "wait_seconds": WAIT_S})).messages()
            assert not [message for message in took if message.get("kind") == "note"], took
    return took


def accepted(answer: Answer) -> Answer:
    """The answer of a call that must not have been refused."""
    assert not answer.refused, answer.line
    return answer


async def call(puppet: Puppet, tool: str, /, **arguments: JsonValue) -> Answer:
    """What a scripted agent's call came to; it must not be refused."""
    async with asyncio.timeout(PATIENCE_S):
        return accepted(await puppet.call(tool, arguments))


def perform(
    adapter: Adapter,
    folder: Path,
    play: Callable[[Loop], Awaitable[None]],
    *,
    prepare: Callable[[Path], None] = lambda _: None,
) -> None:
    """Plays a scene where nothing but loopback can be reached; `prepare` is given the person's home beforehand."""

    async def scene() -> None:
        async with asyncio.timeout(_SCENE_S), _loop(adapter, folder, prepare) as on:
            await play(on)

    alone(lambda: asyncio.run(scene()))


@asynccontextmanager
async def _loop(adapter: Adapter, folder: Path, prepare: Callable[[Path], None]) -> AsyncIterator[Loop]:
    found, work = programs(), folder / "shop"
    work.mkdir()
    (work / PERSONS_FILE).write_text('TOTAL = "EUR"\n', encoding="utf-8")
    await git(work, "init", "--quiet", "--initial-branch=main")
    await git(work, "add", ".")
    await git(work, "commit", "--quiet", "-m", "Begin")
    async with AsyncExitStack() as stack:
        model = stack.enter_context(FakeModel())
        built = await stack.enter_async_context(lab())
        stack.callback(_end_all_of, built.home)
        person = HOMES[adapter.name](folder / "home", (work,), model.base(adapter.name), {})
        prepare(folder / "home")
        path = f"{found}{os.pathsep}{person['PATH']}"
        built.env = {**person, "PATH": path, "HELIOGRAPH_HOME": str(built.home)}
        await built.start()
        on = Loop(
            adapter=adapter,
            lab=built,
            node=await stack.enter_async_context(LocalClient(built.home)),
            model=model,
            tmux=Tmux(paths.run_dir(built.home) / paths.TMUX_SOCKET),
            home=built.home,
            work=work,
            stack=stack,
        )
        stack.push_async_exit(on.explain)
        yield on


def _end_all_of(home: Path) -> None:
    """Ends whatever was started for a node's home, for a CLI may leave processes behind when its terminal goes."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and processes.environment(int(entry.name)).get("HELIOGRAPH_HOME") == str(home):
            try:
                os.kill(int(entry.name), signal.SIGKILL)
            except ProcessLookupError:
                continue
