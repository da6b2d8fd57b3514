"""The one way in which a notice is typed at an agent's prompt: every doubt holds it.

Enter is pressed once in an attempt, and once more in a later one where the notice still stands at the prompt: a busy
agent may take it for a line end, and the line would stay in the person's way. Never a third time in one run of the
node: keys wait in the terminal of a program that hangs, and all arrive when it wakes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from node.core.errors import ErrorCode, MeshError
from node.core.model import AgentState
from node.core.prompt import (
    HeldReason,
    PaneRef,
    PromptProfile,
    PromptState,
    Screen,
    Typed,
    judge,
    left_behind,
    stands,
)
from node.platform import clocks, processes
from node.platform.ttys import in_line_mode

NOTICE_CHARACTERS: Final = 400
MOST_ENTERS: Final = 2
SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "nu", "pwsh", "xonsh"})

# A typed digit answers the permission dialogs of agent CLIs, even without Enter.
_UNTYPABLE: Final = re.compile(r"[\d\x00-\x1f\x7f-\x9f\u2028\u2029]")
_HELD_BY_AGENT: Final = {
    AgentState.BUSY: HeldReason.BUSY,
    AgentState.NEEDS_INPUT: HeldReason.DIALOG,
    AgentState.ENDED: HeldReason.GONE,
}
_HELD_BY_SCREEN: Final = {
    PromptState.BUSY: HeldReason.BUSY,
    PromptState.DRAFT: HeldReason.DRAFT,
    PromptState.DIALOG: HeldReason.DIALOG,
    PromptState.UNKNOWN: HeldReason.UNKNOWN_SCREEN,
    # Asked only once the notice stood in the box, which is now empty: somebody deleted it.
    PromptState.IDLE: HeldReason.SWALLOWED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long typing takes its time, in seconds.

    `shown`: until a paste stands in the box; `settle`: before Enter, longer than programs which take a quick Enter for
    a line end, and `slower` times as long as the program took to show the paste, where that is more; `confirmed`: until
    a turn is seen; `poll`: between two looks; `person`: how long a person's key counts.
    """

    shown: float = 3.0
    settle: float = 0.3
    slower: float = 4.0
    confirmed: float = 5.0
    poll: float = 0.05
    person: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One moment of a pane.

    `scrolling`: it is in a mode of the terminal server, such as copy mode; `bracketed`: its program asked for bracketed
    paste (None: the server cannot tell); `person_s`: when a person last pressed a key at it, in seconds of wall clock.
    """

    screen: Screen
    scrolling: bool
    bracketed: bool | None
    person_s: int


class Keyboard(Protocol):
    """What typing needs of a terminal server. `paste` and `enter` act only on a pane that still is as it was seen."""

    async def look(self, ref: PaneRef) -> Look | None: ...
    async def paste(self, ref: PaneRef, seen: Look, text: str) -> bool: ...
    async def enter(self, ref: PaneRef, seen: Look) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """A notice of ours in an input box, and how often Enter was pressed on it."""

    text: str
    entered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One notice on its way to one prompt."""

    ref: PaneRef
    text: str
    profile: PromptProfile
    state_now: Callable[[], AgentState]
    turn_started: Callable[[], Awaitable[object]] | None


class Typist:
    """Types notices through a keyboard, one at a time for each pane."""

    def __init__(self, keyboard: Keyboard, pace: Pace) -> None:
        self._keyboard = keyboard
        self._pace = pace
        # The second for a pane is held, not queued: what was judged for it would be stale by its turn.
        self._busy: set[PaneRef] = set()
        # What was pasted last: one a pane, forgotten with it.
        self._standing: dict[PaneRef, _Standing] = {}

    def keep_only(self, living: tuple[PaneRef, ...]) -> None:
        """Forget every pane that is not among `living`."""
        for ref in self._standing.keys() - set(living):
            del self._standing[ref]

    async def type_notice(
        self,
        ref: PaneRef,
        text: str,
        profile: PromptProfile,
        state_now: Callable[[], AgentState],
        turn_started: Callable[[], Awaitable[object]] | None = None,
    ) -> Typed:
        """Type `text` into an idle, empty prompt and enter it, or say why it was held; INVALID_ARGUMENT for bad text.

        `state_now` is what the agent's hooks last said. `turn_started` is called before Enter and what it returns is
        awaited: its end proves a turn, beside what the screen shows.
        """
        check_notice(text)
        if ref in self._busy:
            return Typed(held=HeldReason.TYPING)
        self._busy.add(ref)
        try:
            job = _Job(ref=ref, text=text, profile=profile, state_now=state_now, turn_started=turn_started)
            return Typed(held=await self._type(job))
        finally:
            self._busy.discard(ref)

    async def _type(self, job: _Job) -> HeldReason | None:
        look = await self._keyboard.look(job.ref)
        if look is None:
            return HeldReason.GONE
        held = await self._obstacle(job, look) or self._person_typing(look)
        if held is not None:
            return held
        # A notice of an attempt that stopped before Enter points at the same inbox: entering that one is enough. A node
        # that was killed right then does not remember it, but nobody else writes that very line.
        standing = self._standing.get(job.ref, _Standing(text=job.text))
        clock = asyncio.get_running_loop().time
        pasted = clock()
        text = standing.text
        if standing.entered >= MOST_ENTERS or not stands(look.screen, job.profile, text):
            text = job.text
            held = await self._put(job, look)
            if held is not None:
                return held
        # A program that is slow now is slow to be done with the paste, too.
        await asyncio.sleep(max(self._pace.settle, self._pace.slower * (clock() - pasted)))
        look = await self._keyboard.look(job.ref)
        if look is None:
            return HeldReason.GONE
        # What a person typed since the paste shows in the box, so the clock of their keys is not asked again.
        held = await self._obstacle(job, look)
        if held is not None:
            return held
        if not stands(look.screen, job.profile, text):
            return _HELD_BY_SCREEN[judge(look.screen, job.profile)]
        return await self._enter(job, look, text)

    async def _put(self, job: _Job, look: Look) -> HeldReason | None:
        """Paste the notice into the empty box of `look` and see it stand there; else why not."""
        shown = judge(look.screen, job.profile)
        if shown is not PromptState.IDLE:
            return _HELD_BY_SCREEN[shown]
        if not await self._keyboard.paste(job.ref, look, job.text):
            return HeldReason.UNKNOWN_SCREEN
        self._standing[job.ref] = _Standing(text=job.text)
        seen = await self._seen(job, self._pace.shown, lambda screen: stands(screen, job.profile, job.text))
        return None if seen else HeldReason.SWALLOWED

    async def _enter(self, job: _Job, look: Look, text: str) -> HeldReason | None:
        """Press Enter on the notice that stands in `look`; None once a turn was seen to start."""

        def taken(screen: Screen) -> bool:
            if stands(screen, job.profile, text):
                return False
            # A dialog that came up right then may have eaten the Enter, and an unknown screen tells nothing.
            started = judge(screen, job.profile) in {PromptState.IDLE, PromptState.BUSY}
            return started or left_behind(screen, job.profile, text)

        async with asyncio.TaskGroup() as group:
            hook = group.create_task(_ended(job.turn_started())) if job.turn_started is not None else None
            try:
                if not await self._keyboard.enter(job.ref, look):
                    return HeldReason.UNKNOWN_SCREEN
                before = self._standing.get(job.ref, _Standing(text=text))
                self._standing[job.ref] = replace(before, entered=before.entered + 1)
                confirmed = await self._seen(job, self._pace.confirmed, taken, hook)
            finally:
                if hook is not None:
                    hook.cancel()
        if confirmed:
            return None
        look_now = await self._keyboard.look(job.ref)
        still = look_now is not None and stands(look_now.screen, job.profile, text)
        return HeldReason.STANDING if still else HeldReason.UNCONFIRMED

    async def _seen(
        self, job: _Job, seconds: float, true_of: Callable[[Screen], bool], hook: asyncio.Task[None] | None = None
    ) -> bool:
        """Whether the screen came to be so, or `hook` came to its end, within `seconds`."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        while True:
            look = await self._keyboard.look(job.ref)
            if (look is not None and true_of(look.screen)) or (hook is not None and hook.done()):
                return True
            if look is None or clock() >= deadline:
                return False
            await asyncio.sleep(self._pace.poll)

    async def _obstacle(self, job: _Job, look: Look) -> HeldReason | None:
        """What forbids typing whatever the screen shows, or None."""
        held = _HELD_BY_AGENT.get(job.state_now())
        if held is None:
            held = await asyncio.to_thread(foreground_obstacle, job.ref, job.profile)
        if held is not None:
            return held
        if look.scrolling:
            return HeldReason.COPY_MODE
        # Without bracketed paste a notice would be typed key by key into whatever comes up meanwhile.
        return HeldReason.UNKNOWN_SCREEN if look.bracketed is False else None

    def _person_typing(self, look: Look) -> HeldReason | None:
        # A key pressed so lately may not have reached the screen yet.
        recent = look.person_s * 1_000_000 > clocks.wall_us() - int(self._pace.person * 1_000_000)
        return HeldReason.TYPING if recent else None


def check_notice(text: str) -> None:
    """Refuse (INVALID_ARGUMENT) a notice with digits, line ends or control characters, an empty or a long one."""
    if not text.strip() or len(text) > NOTICE_CHARACTERS:
        problem = f"is empty or longer than {NOTICE_CHARACTERS} characters"
    elif _UNTYPABLE.search(text):
        problem = "has digits, line ends or control characters"
    else:
        return
    raise MeshError(ErrorCode.INVALID_ARGUMENT, f"This notice {problem}, so the node does not type it at a prompt.")


def foreground_obstacle(ref: PaneRef, profile: PromptProfile) -> HeldReason | None:
    """Why keys typed into the pane would not reach the agent, as the process table tells it. Reads /proc: blocking."""
    first = processes.read(ref.pid)
    if first is None or first.ended or first.start != ref.started:
        return HeldReason.GONE
    # A group is named after its leader. One whose leader has ended is nobody we know.
    leader = first if first.tpgid == first.pgrp else processes.read(first.tpgid)
    if leader is None:
        return HeldReason.NOT_FOREGROUND
    if leader.stopped:
        return HeldReason.STOPPED
    if profile.programs:
        return None if leader.name in profile.programs else HeldReason.OTHER_PROGRAM
    if leader is not first:
        return HeldReason.OTHER_PROGRAM if first.name in SHELLS else HeldReason.NOT_FOREGROUND
    return HeldReason.OTHER_PROGRAM if first.name in SHELLS else None


def suspended(ref: PaneRef, profile: PromptProfile) -> bool:
    """Whether the pane's agent has the foreground of a terminal that it has put back. Reads /proc: blocking."""
    return foreground_obstacle(ref, profile) is None and in_line_mode(ref.tty)


async def _ended(proof: Awaitable[object]) -> None:
    await proof
