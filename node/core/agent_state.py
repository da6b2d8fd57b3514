"""What an agent is doing, as its hooks tell: one step for each event, and what to believe once nothing more is heard.

Hooks are hints. They come late, twice or not at all (Claude Code says nothing when a person interrupts a turn), so what
one of them claimed fades to UNKNOWN, where the screen decides. What an event means is data of each agent CLI.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from node.core.model import AgentState
from node.core.screen_credentials import credentials

LINE_VERSION: Final = 1
# The subtype that a hook gives a prompt event without a prompt: Qwen Code has one after each tool result.
NO_PROMPT: Final = "empty"

_MOST_CHARS: Final = 1_024
_TOKEN: Final = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
# It ends up in the argument list that resumes the conversation, so it must not look like an option.
_CONVERSATION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}")

# The names under which CLIs tell of the same three moments, beside everything else that they tell.
OPENINGS: Final = frozenset({"SessionStart", "session.created"})
PROMPTS: Final = frozenset({"UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt", "session.status"})
TURN_ENDS: Final = frozenset({"Stop", "AfterAgent", "stop"})
_SWITCHES: Final = frozenset({"resume", "clear", "fork"})
# Claude Code opens the conversation anew when it has compacted it, in the middle of a turn.
_COMPACTED: Final = "compact"
_MID_TURN: Final = frozenset({AgentState.BUSY, AgentState.NEEDS_INPUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConversation:
    """A conversation as its agent names it, unproven: its id, its transcript's path and its folder ("" when unsaid)."""

    id: str
    transcript: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One event of an agent CLI. `subtype` tells events of one name apart, `client` is the CLI that the hook is of."""

    name: str
    subtype: str = ""
    client: str = ""
    conversation: AgentConversation | None = None

    @property
    def opens(self) -> bool:
        """Whether a conversation begins or is taken up again."""
        return self.name in OPENINGS and self.subtype != _COMPACTED

    @property
    def prompts(self) -> bool:
        """Whether somebody gave the agent a prompt."""
        return self.name in PROMPTS and self.subtype != NO_PROMPT


@dataclass(frozen=True, slots=True, kw_only=True)
class HookTable:
    """What the events of one agent CLI mean.

    `events` is keyed "Event:subtype" or "Event", the first of the two counts; None: it says nothing of the state.
    `can_continue`: its hook at a turn's end can make the agent go on with a reason.
    """

    events: Mapping[str, AgentState | None]
    can_continue: bool = False

    def knows(self, event: HookEvent) -> bool:
        """Whether the event has a meaning at all."""
        return f"{event.name}:{event.subtype}" in self.events or event.name in self.events

    def meaning(self, event: HookEvent) -> AgentState | None:
        """The state that the event tells of, if any."""
        subtyped = f"{event.name}:{event.subtype}"
        return self.events[subtyped] if subtyped in self.events else self.events.get(event.name)


class Sign(StrEnum):
    """What an event is a sign of."""

    OPENED = "opened"
    SWITCHED = "switched"
    PROMPTED = "prompted"
    WORKED = "worked"
    ASKED = "asked"
    RESTED = "rested"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """What is believed of one session's agent. Times in microseconds since boot.

    `doubtful`: it rested, and then a sign of work came without a prompt: an agent that went on by itself, or a late
    word of the turn before. `continued` counts how often in a row the end of its turn was put off.
    """

    state: AgentState = AgentState.UNKNOWN
    conversation: AgentConversation | None = None
    doubtful: bool = False
    continued: int = 0
    heard_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The track after an event, and what that event was a sign of: None when it changed no state."""

    track: Track
    sign: Sign | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """After how long without a word a state is not believed any more, in microseconds."""

    work_us: int
    doubt_us: int
    dialog_us: int


# None: the sign is late, or not of this agent, and changes nothing.
TRANSITIONS: Final[Mapping[AgentState, Mapping[Sign, AgentState | None]]] = {
    AgentState.UNKNOWN: {
        Sign.OPENED: AgentState.IDLE,
        Sign.SWITCHED: AgentState.IDLE,
        Sign.PROMPTED: AgentState.BUSY,
        Sign.WORKED: AgentState.BUSY,
        Sign.ASKED: AgentState.NEEDS_INPUT,
        Sign.RESTED: AgentState.IDLE,
        Sign.CLOSED: AgentState.ENDED,
    },
    AgentState.IDLE: {
        Sign.OPENED: AgentState.IDLE,
        Sign.SWITCHED: AgentState.IDLE,
        Sign.PROMPTED: AgentState.BUSY,
        Sign.WORKED: AgentState.BUSY,
        Sign.ASKED: AgentState.NEEDS_INPUT,
        Sign.RESTED: AgentState.IDLE,
        Sign.CLOSED: AgentState.ENDED,
    },
    AgentState.BUSY: {
        # Codex opens its conversation with the first prompt; an opening of another one here is an agent within a tool.
        Sign.OPENED: None,
        Sign.SWITCHED: AgentState.IDLE,
        Sign.PROMPTED: AgentState.BUSY,
        Sign.WORKED: AgentState.BUSY,
        Sign.ASKED: AgentState.NEEDS_INPUT,
        Sign.RESTED: AgentState.IDLE,
        Sign.CLOSED: AgentState.ENDED,
    },
    AgentState.NEEDS_INPUT: {
        Sign.OPENED: None,
        Sign.SWITCHED: AgentState.IDLE,
        Sign.PROMPTED: AgentState.BUSY,
        Sign.WORKED: AgentState.BUSY,
        Sign.ASKED: AgentState.NEEDS_INPUT,
        Sign.RESTED: AgentState.IDLE,
        Sign.CLOSED: AgentState.ENDED,
    },
    AgentState.ENDED: {
        Sign.OPENED: AgentState.IDLE,
        Sign.SWITCHED: AgentState.IDLE,
        Sign.PROMPTED: AgentState.BUSY,
        Sign.WORKED: None,
        Sign.ASKED: None,
        Sign.RESTED: None,
        # Gemini CLI says goodbye twice.
        Sign.CLOSED: None,
    },
}

_SIGNS: Final[Mapping[AgentState | None, Sign]] = {
    AgentState.BUSY: Sign.WORKED,
    AgentState.NEEDS_INPUT: Sign.ASKED,
    AgentState.IDLE: Sign.RESTED,
    AgentState.ENDED: Sign.CLOSED,
}


def hook_event(line: Mapping[str, object]) -> HookEvent | None:
    """The event of a hook's line; None for a line of another version or without a usable event name.

    A field that is too long or malformed counts as not given: half an id or path would be a wrong one.
    """
    name = _matching(_TOKEN, line.get("event"))
    if line.get("v") != LINE_VERSION or not name:
        return None
    conversation = _matching(_CONVERSATION, line.get("session_id"))
    # It is kept: an agent's client chose it, and whoever writes a hook may choose anything.
    conversation = "" if credentials(conversation) else conversation
    named = AgentConversation(id=conversation, transcript=_path(line, "transcript_path"), cwd=_path(line, "cwd"))
    return HookEvent(
        name=name,
        subtype=_matching(_TOKEN, line.get("subtype")),
        client=_matching(_TOKEN, line.get("client")),
        conversation=named if conversation else None,
    )


def step(track: Track, event: HookEvent, table: HookTable, now_us: int) -> Step:
    """What is believed after `event`."""
    if not table.knows(event) or not _is_its_own(track, event):
        return Step(track=track)
    sign = _sign(event, table)
    conversation = _conversation(track.conversation, event)
    if sign is None:
        return Step(track=replace(track, conversation=conversation))
    state = TRANSITIONS[track.state][sign]
    if state is None:
        return Step(track=track)
    unprompted = sign is Sign.WORKED and (track.doubtful or track.state is AgentState.IDLE)
    continued = track.continued if state in _MID_TURN else 0
    return Step(
        track=Track(
            state=state, conversation=conversation, doubtful=unprompted, continued=continued, heard_us=now_us
        ),
        sign=sign,
    )  # fmt: skip


def goes_on(track: Track, now_us: int) -> Track:
    """The track of a turn whose end was just put off once more."""
    return replace(track, state=AgentState.BUSY, doubtful=False, continued=track.continued + 1, heard_us=now_us)


def faded(track: Track, quiet: Quiet, now_us: int) -> Track:
    """The track as it is to be believed now. IDLE stays: whoever types looks at the screen anyway."""
    if track.state is AgentState.BUSY:
        patience = quiet.doubt_us if track.doubtful else quiet.work_us
    elif track.state is AgentState.NEEDS_INPUT:
        patience = quiet.dialog_us
    elif track.state is AgentState.ENDED:
        # Of an agent that is gone the terminal tells before long; one that is not has only changed conversations.
        patience = quiet.work_us
    else:
        return track
    return track if now_us - track.heard_us < patience else replace(track, state=AgentState.UNKNOWN, doubtful=False)


def _is_its_own(track: Track, event: HookEvent) -> bool:
    """Whether the event is of the conversation that is followed, or begins the one to follow from here on.

    An agent that another one starts within its tools, or a part of it with an id of its own, has hooks as well, and
    they come from the same terminal: while a turn is on, only an explicit change leads to another conversation.
    """
    if event.conversation is None or track.conversation is None or event.conversation.id == track.conversation.id:
        return True
    if event.opens and event.subtype in _SWITCHES:
        return True
    return (event.opens or event.prompts) and track.state not in _MID_TURN


def _conversation(known: AgentConversation | None, event: HookEvent) -> AgentConversation | None:
    """The conversation to remember: as first seen, for its folder then is the one that it is resumed in."""
    named = event.conversation
    return known if named is None or (known is not None and known.id == named.id) else named


def _sign(event: HookEvent, table: HookTable) -> Sign | None:
    state = table.meaning(event)
    if event.name in OPENINGS and not event.opens:
        return None
    if state is AgentState.BUSY and event.prompts:
        return Sign.PROMPTED
    if state is AgentState.IDLE and event.opens:
        return Sign.SWITCHED if event.subtype in _SWITCHES else Sign.OPENED
    return _SIGNS.get(state)


def _matching(pattern: re.Pattern[str], value: object) -> str:
    return value if isinstance(value, str) and pattern.fullmatch(value) else ""


def _path(line: Mapping[str, object], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) and len(value) <= _MOST_CHARS and value.isprintable() else ""
