"""What the composition itself decides: which programs a notice may be typed at."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from node.core.model import AgentState, SessionStatus
from node.core.prompt import PaneRef, PromptProfile, Typed
from node.parts import NoticeTyper
from node.platform import processes
from node.terminal import Tmux
from tests.local_twins import session


class Terminals(Tmux):
    """A tmux which keeps the profiles that notices are typed with."""

    def __init__(self) -> None:
        super().__init__(Path("/nonexistent/t"))
        self.profiles: list[PromptProfile] = []

    async def type_notice(
        self,
        ref: PaneRef,
        text: str,
        profile: PromptProfile,
        state_now: Callable[[], AgentState],
        turn_started: Callable[[], Awaitable[object]] | None = None,
    ) -> Typed:
        self.profiles.append(profile)
        return Typed()


def test_in_a_workspace_of_its_own_an_agent_is_behind_another_program() -> None:
    terminals = Terminals()
    me = processes.read(os.getpid())
    assert me is not None
    pane = PaneRef(server="s", pane="%1", pid=me.pid, started=me.start, tty="t")
    claude = replace(session(1), profile="claude", status=SessionStatus.RUNNING, pane=pane)
    for workspace in ("default", "box"):
        asyncio.run(NoticeTyper(terminals).type_notice(replace(claude, workspace=workspace), pane, "x"))
    assert [profile.programs for profile in terminals.profiles] == [{"claude"}, {"claude", me.name}]
