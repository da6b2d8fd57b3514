"""What is believed of an agent after each event of its hooks, in the orders in which they really come."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.agent_state import (
    NO_PROMPT,
    TRANSITIONS,
    AgentConversation,
    HookEvent,
    HookTable,
    Quiet,
    Sign,
    Track,
    faded,
    goes_on,
    hook_event,
    step,
)
from node.core.model import AgentState

BUSY, IDLE, DIALOG, ENDED = AgentState.BUSY, AgentState.IDLE, AgentState.NEEDS_INPUT, AgentState.ENDED
UNKNOWN = AgentState.UNKNOWN
SECOND = 1_000_000
QUIET = Quiet(work_us=90 * SECOND, doubt_us=10 * SECOND, dialog_us=600 * SECOND)
TABLE = HookTable(
    events={
        "SessionStart": IDLE, "UserPromptSubmit": BUSY, "PreToolUse": BUSY, "PostToolUse": BUSY,
        "PermissionRequest": DIALOG, "Notification": None, "Notification:permission_prompt": DIALOG,
        "Notification:idle_prompt": IDLE, "Stop": IDLE, "SessionEnd": ENDED,
    },
    can_continue=True,
)  # fmt: skip
# An event for every sign.
EVENT_OF = {
    Sign.OPENED: ("SessionStart", "startup"),
    Sign.SWITCHED: ("SessionStart", "clear"),
    Sign.PROMPTED: ("UserPromptSubmit", ""),
    Sign.WORKED: ("PostToolUse", ""),
    Sign.ASKED: ("PermissionRequest", ""),
    Sign.RESTED: ("Stop", ""),
    Sign.CLOSED: ("SessionEnd", ""),
}


def event(words: str, conversation: str = "") -> HookEvent:
    """`words` is Event or Event:subtype."""
    name, _, subtype = words.partition(":")
    named = AgentConversation(id=conversation) if conversation else None
    return HookEvent(name=name, subtype=subtype, conversation=named)


def after(words: str, track: Track | None = None, *, every_us: int = SECOND) -> Track:
    """The track after these events, one a second; an event may name its conversation: Event@id."""
    track = track or Track()
    for now, word in enumerate(words.split(), 1):
        what, _, conversation = word.partition("@")
        now_us = track.heard_us + every_us if track.heard_us else now * every_us
        track = step(track, event(what, conversation), TABLE, now_us).track
    return track


def test_every_state_has_an_answer_to_every_sign() -> None:
    assert {(state, sign) for state, row in TRANSITIONS.items() for sign in row} == set(product(AgentState, Sign))


@pytest.mark.parametrize(("state", "sign"), list(product(AgentState, Sign)))
def test_an_event_leads_where_the_table_says(state: AgentState, sign: Sign) -> None:
    name, subtype = EVENT_OF[sign]
    before = Track(state=state, heard_us=5)
    got = step(before, HookEvent(name=name, subtype=subtype), TABLE, 9)
    to = TRANSITIONS[state][sign]
    if to is None:
        assert (got.track, got.sign) == (before, None)
    else:
        assert (got.track.state, got.track.heard_us, got.sign) == (to, 9, sign)


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("SessionStart:startup", IDLE),
        ("SessionStart:startup UserPromptSubmit PreToolUse PostToolUse", BUSY),
        ("SessionStart:startup UserPromptSubmit PreToolUse PostToolUse Stop", IDLE),
        ("UserPromptSubmit PreToolUse PermissionRequest", DIALOG),
        ("UserPromptSubmit PreToolUse PermissionRequest PostToolUse", BUSY),
        ("UserPromptSubmit Notification:permission_prompt", DIALOG),
        ("UserPromptSubmit Notification:auth_success", BUSY),
        ("UserPromptSubmit Notification:idle_prompt", IDLE),  # Qwen Code's only word when it was interrupted
        ("UserPromptSubmit PostToolUse UserPromptSubmit:empty Stop", IDLE),
        ("SessionStart SessionEnd SessionEnd", ENDED),
        ("UserPromptSubmit SessionEnd Stop PostToolUse", ENDED),
        ("SessionEnd SessionStart:clear", IDLE),
        ("UserPromptSubmit SessionStart:compact", BUSY),
        ("SessionStart:compact", UNKNOWN),
        ("UserPromptSubmit@a SessionStart:startup@a PreToolUse@a", BUSY),  # Codex opens with the first prompt
        ("UserPromptSubmit NeverHeardOf", BUSY),
    ],
)
def test_an_agents_day(words: str, state: AgentState) -> None:
    assert after(words).state is state


@pytest.mark.parametrize(
    ("words", "subtype_counts"), [("Notification:permission_prompt", True), ("Notification:other", False)]
)
def test_the_subtype_counts_before_the_event(words: str, *, subtype_counts: bool) -> None:
    assert (TABLE.meaning(event(words)) is DIALOG) is subtype_counts


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("UserPromptSubmit", 90),  # Claude Code says nothing when a person interrupts it
        ("UserPromptSubmit Stop PostToolUse", 10),  # a late word of the turn before
        ("UserPromptSubmit Stop PostToolUse PreToolUse", 10),
        ("UserPromptSubmit Stop UserPromptSubmit:empty", 10),
        ("UserPromptSubmit Stop PostToolUse UserPromptSubmit", 90),  # it was early, not late
        ("UserPromptSubmit Stop PreToolUse PermissionRequest", 600),
        ("UserPromptSubmit Stop PreToolUse PermissionRequest PostToolUse", 90),
        ("UserPromptSubmit PermissionRequest", 600),
        ("SessionEnd", 90),
    ],
)
def test_what_was_claimed_fades(words: str, seconds: int) -> None:
    track = after(words)
    last_us = track.heard_us + seconds * SECOND
    assert faded(track, QUIET, last_us - 1) == track
    assert faded(track, QUIET, last_us).state is UNKNOWN


@pytest.mark.parametrize("words", ["Stop", "SessionStart", "NeverHeardOf"])
def test_rest_does_not_fade(words: str) -> None:
    track = after(words)
    assert faded(track, QUIET, 10**15) == track


def test_every_sign_of_work_puts_the_fading_off() -> None:
    track = after("UserPromptSubmit " + "PostToolUse " * 10, every_us=60 * SECOND)
    assert faded(track, QUIET, track.heard_us + 80 * SECOND).state is BUSY


@pytest.mark.parametrize(
    ("words", "conversation", "state"),
    [
        ("SessionStart:startup@a", "a", IDLE),
        ("Stop@a", "a", IDLE),
        ("SessionStart:startup@a SessionStart:clear@b", "b", IDLE),
        ("SessionStart:startup@a SessionStart:resume@b", "b", IDLE),
        ("UserPromptSubmit@a SessionStart:fork@b", "b", IDLE),
        ("UserPromptSubmit@a Stop@a SessionStart:startup@b", "b", IDLE),
        ("SessionStart@a SessionEnd@a SessionStart@b", "b", IDLE),
        ("SessionStart@a UserPromptSubmit@b", "b", BUSY),  # the word of its start was lost
        # An agent that runs within a tool of the session's own.
        ("UserPromptSubmit@a SessionStart:startup@b", "a", BUSY),
        ("UserPromptSubmit@a SessionStart:startup@b UserPromptSubmit@b Stop@b SessionEnd@b", "a", BUSY),
        ("UserPromptSubmit@a PermissionRequest@a SessionStart:startup@b PostToolUse@b", "a", DIALOG),
        # One that outlived the turn which started it.
        ("UserPromptSubmit@a Stop@a PostToolUse@b Stop@b SessionEnd@b", "a", IDLE),
        ("UserPromptSubmit@a PostToolUse", "a", BUSY),
        ("SessionStart@a NeverHeardOf@b", "a", IDLE),
    ],
)
def test_the_conversation_is_the_sessions_own(words: str, conversation: str, state: AgentState) -> None:
    track = after(words)
    assert track.conversation is not None
    assert (track.conversation.id, track.state) == (conversation, state)


def test_a_conversation_keeps_the_folder_in_which_it_was_first_seen() -> None:
    first = HookEvent(name="SessionStart", conversation=AgentConversation(id="a", cwd="/work"))
    later = HookEvent(name="Stop", conversation=AgentConversation(id="a", cwd="/work/deeper"))
    track = step(step(Track(), first, TABLE, 1).track, later, TABLE, 2).track
    assert track.conversation == first.conversation


def test_an_event_without_a_state_still_names_the_conversation() -> None:
    got = step(Track(), event("Notification:other", "a"), TABLE, 1)
    assert (got.track.state, got.track.conversation, got.sign) == (UNKNOWN, AgentConversation(id="a"), None)


def test_put_off_ends_are_counted_until_the_agent_rests() -> None:
    track = after("UserPromptSubmit")
    track = goes_on(goes_on(track, 5), 6)
    assert (track.state, track.continued) == (BUSY, 2)
    assert after("PostToolUse PermissionRequest UserPromptSubmit", track).continued == 2
    assert after("Stop", track).continued == 0


WORDS = sorted({*TABLE.events, "SessionStart:clear", "SessionStart:compact", f"UserPromptSubmit:{NO_PROMPT}", "Odd"})
events = st.builds(event, st.sampled_from(WORDS), st.sampled_from(["", "a", "b"]))
history = st.lists(st.tuples(events, st.integers(0, 100 * SECOND)), max_size=30)


def lived(past: list[tuple[HookEvent, int]]) -> tuple[Track, int]:
    """What is believed after events with so much time before each, and the time then."""
    track, now_us = Track(), 1
    for happened, pause_us in past:
        now_us += pause_us
        track = step(faded(track, QUIET, now_us), happened, TABLE, now_us).track
    return track, now_us


@given(history)
def test_whatever_came_in_whatever_order_no_claim_outlives_the_silence(past: list[tuple[HookEvent, int]]) -> None:
    track, now_us = lived(past)
    assert faded(track, QUIET, now_us + QUIET.dialog_us).state in {UNKNOWN, IDLE}


@given(history)
def test_whatever_came_the_next_whole_turn_is_followed(past: list[tuple[HookEvent, int]]) -> None:
    track, now_us = lived(past)
    now_us += QUIET.dialog_us
    track = faded(track, QUIET, now_us)
    seen = []
    for name in ("UserPromptSubmit", "PostToolUse", "Stop"):
        track = step(track, event(name, "mine"), TABLE, now_us).track
        assert track.conversation == AgentConversation(id="mine")
        seen.append(track.state)
    assert seen == [BUSY, BUSY, IDLE]


@given(history, events)
def test_a_second_copy_of_an_event_changes_nothing_more(past: list[tuple[HookEvent, int]], twice: HookEvent) -> None:
    track, now_us = lived(past)
    once = step(track, twice, TABLE, now_us).track
    assert step(once, twice, TABLE, now_us).track.state is once.state


@given(history, st.permutations(["PostToolUse", "PostToolUse", "Stop"]))
def test_a_late_word_of_a_finished_turn_keeps_nobody_busy(past: list[tuple[HookEvent, int]], end: list[str]) -> None:
    track, now_us = lived(past)
    track = step(track, event("Stop"), TABLE, now_us).track
    for name in end:
        track = step(track, event(name), TABLE, now_us).track
    assert faded(track, QUIET, now_us + QUIET.doubt_us).state in {UNKNOWN, IDLE, ENDED}


LINE = {"t": "hook", "v": 1, "event": "Stop", "client": "claude", "session_id": "a-1", "subtype": "x",
        "transcript_path": "/t/a.jsonl", "cwd": "/t"}  # fmt: skip


def test_a_line_is_read() -> None:
    conversation = AgentConversation(id="a-1", transcript="/t/a.jsonl", cwd="/t")
    assert hook_event(LINE) == HookEvent(name="Stop", subtype="x", client="claude", conversation=conversation)


@pytest.mark.parametrize(
    "broken", [{"v": 2}, {"v": None}, {"event": ""}, {"event": "two words"}, {"event": 3}, {"event": "x" * 65}]
)
def test_a_line_without_a_usable_event_is_none(broken: dict[str, object]) -> None:
    assert hook_event(LINE | broken) is None


@pytest.mark.parametrize("bad", ["--resume", "-x", "", "a b", "a\n", "x" * 129, "../a", None, 7, ["a"], "ü"])
def test_what_cannot_be_a_conversation_is_not_remembered(bad: object) -> None:
    got = hook_event(LINE | {"session_id": bad})
    assert got is not None
    assert got.conversation is None


@pytest.mark.parametrize("bad", ["x" * 1025, "a\nb", "\ud800", 5, None])
def test_a_malformed_path_counts_as_not_given(bad: object) -> None:
    got = hook_event(LINE | {"cwd": bad})
    assert got is not None
    assert got.conversation == AgentConversation(id="a-1", transcript="/t/a.jsonl", cwd="")
