"""What the node makes of the hooks of its agents: their state, their conversation, and notices at the end of a turn.

A hook is believed only about the session that it is proven to come from, as a call is. What it says stays a hint, see
node/core/agent_state.py.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from node.core.agent_state import (
    TURN_ENDS,
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
from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.model import AgentState, Session, SessionStatus
from node.core.prompt import PaneRef
from node.ports import Clock, Store

PRINTED_S: Final = 1.0
_SECOND_US: Final = 1_000_000
_NO_TABLE: Final = HookTable(events={})

log = logging.getLogger(__name__)

Find = Callable[[], Awaitable[Session]]
Tell = Callable[[Mapping[str, str | Mapping[str, str] | None]], Awaitable[None]]
Hear = Callable[[], Awaitable[Mapping[str, object] | None]]


class AgentStates(Protocol):
    """Where an agent's state and conversation are recorded."""

    async def set(self, session_id: str, state: AgentState, conversation: AgentConversation | None) -> None:
        """Records the state, and the conversation unless it is None: then the recorded one stays."""
        ...


class TurnEnds(Protocol):
    """What is owed to an agent whose turn ends."""

    async def due_notice(self, session_id: str) -> str | None:
        """The notice to give it now; None when none is due."""
        ...

    async def noticed(self, session_id: str) -> None:
        """It was given that notice, and its turn goes on with it: a confirmed notice of every message that was due."""
        ...

    async def on_idle(self, session_id: str) -> None:
        """It rests at its prompt: what is owed to it may be typed at once."""
        ...


@dataclass(slots=True, kw_only=True)
class _Watch:
    """One session's track, for as long as the session stays at `pane`.

    `recorded` and `named` are the state and the conversation last set, `latest` is the newest event's arrival.
    """

    pane: PaneRef
    track: Track
    recorded: AgentState
    named: AgentConversation | None = None
    latest: int = -1
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class HookEvents:
    """Follows the agents of this node through their hooks.

    `tables` says what events mean, by the name of the agent CLI: the one that the hook names, else the one that the
    session was started as.
    """

    def __init__(
        self,
        *,
        tables: Mapping[str, HookTable],
        states: AgentStates,
        turn_ends: TurnEnds,
        store: Store,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._tables = tables
        self._states = states
        self._turn_ends = turn_ends
        self._store = store
        self._clock = clock
        self._limits = limits
        self._quiet = Quiet(
            work_us=limits.agent_busy_quiet_s * _SECOND_US,
            doubt_us=limits.agent_doubt_quiet_s * _SECOND_US,
            dialog_us=limits.agent_dialog_quiet_s * _SECOND_US,
        )
        self._arrivals = itertools.count()
        self._serving = 0
        self._watches: dict[str, _Watch] = {}
        self._turns: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def state(self, session_id: str, pane: PaneRef) -> AgentState:
        """What its hooks say of the agent at `pane` now; UNKNOWN when they said nothing, or nothing for too long."""
        watch = self._watches.get(session_id)
        # What an agent said that ended is no word of the one that was started in its place.
        return AgentState.UNKNOWN if watch is None or watch.pane != pane else self._now(watch).state

    def next_turn(self, session_id: str) -> asyncio.Future[None]:
        """Done when a hook tells that the agent was given a prompt, counted from this call on; never if none tells."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns[session_id].add(turn)
        turn.add_done_callback(lambda done: self._forget_turn(session_id, done))
        return turn

    async def take(self, line: Mapping[str, object], find: Find, tell: Tell, hear: Hear) -> None:
        """Serves one hook: `find` proves its session, `tell` answers it, `hear` reads whether it printed the answer."""
        arrival = next(self._arrivals)
        event = hook_event(line)
        if event is None or self._serving >= self._limits.hooks_at_once:
            await _let_go(tell)
            return
        self._serving += 1
        try:
            session = await find()
            if session.pane is None:
                await _let_go(tell)
                return
            watch = self._watch(session, session.pane)
            async with watch.lock:
                if arrival < watch.latest:
                    # Proven only after a later one of the same session, which knew more.
                    await _let_go(tell)
                    return
                watch.latest = arrival
                await self._follow(session, watch, event, tell, hear)
        except MeshError as refused:
            log.debug("a hook changed nothing: %s", refused.message)
            await _let_go(tell)
        finally:
            self._serving -= 1

    async def sweep(self) -> None:
        """Records what has faded, and forgets sessions that do not run any more. To be called every few seconds."""
        known = set(self._watches)
        sessions = await self._store.read(lambda reader: reader.sessions())
        running = {session.id: session for session in sessions if session.status is SessionStatus.RUNNING}
        for gone in known - running.keys():
            del self._watches[gone]
        for session in running.values():
            if session.pane is None or (session.id not in self._watches and session.state is AgentState.UNKNOWN):
                continue
            watch = self._watch(session, session.pane)
            async with watch.lock:
                watch.track = self._now(watch)
                # Compared with the row: somebody else may have written it, or an earlier word could not be recorded.
                watch.recorded = session.state
                await self._record(session.id, watch)

    def _watch(self, session: Session, pane: PaneRef) -> _Watch:
        """The session's watch; a new one, with what is on record, when it came to another pane meanwhile."""
        watch = self._watches.get(session.id)
        if watch is None or watch.pane != pane:
            named = AgentConversation(id=session.conversation) if session.conversation else None
            track = Track(state=session.state, conversation=named, heard_us=self._clock.boottime_us())
            watch = self._watches[session.id] = _Watch(pane=pane, track=track, recorded=session.state, named=named)
        return watch

    def _now(self, watch: _Watch) -> Track:
        return faded(watch.track, self._quiet, self._clock.boottime_us())

    async def _follow(self, session: Session, watch: _Watch, event: HookEvent, tell: Tell, hear: Hear) -> None:
        table = self._tables.get(event.client) or self._tables.get(session.profile, _NO_TABLE)
        before = self._now(watch)
        after = step(before, event, table, self._clock.boottime_us())
        if after.sign is Sign.PROMPTED:
            self._tell_turn(session.id)
        ended = after.sign is Sign.RESTED and event.name in TURN_ENDS
        notice = await self._due(session, before) if ended and table.can_continue else None
        given = notice is not None and await _printed(notice, tell, hear)
        if given:
            turn = replace(before, conversation=after.track.conversation)
            watch.track = goes_on(turn, self._clock.boottime_us())
        else:
            await _let_go(tell)
            watch.track = after.track
        await self._record(session.id, watch)
        if given:
            await self._turn_ends.noticed(session.id)
        elif watch.track.state is AgentState.IDLE and (ended or before.state is not AgentState.IDLE):
            await self._turn_ends.on_idle(session.id)

    async def _due(self, session: Session, track: Track) -> str | None:
        """The notice that keeps a turn going; None when it has been kept going for long enough."""
        if track.continued >= self._limits.turn_continuations:
            return None
        try:
            return await self._turn_ends.due_notice(session.id)
        except MeshError as refused:
            log.warning("a turn ends without looking for what is due: %s", refused.message)
            return None

    async def _record(self, session_id: str, watch: _Watch) -> None:
        state, conversation = watch.track.state, watch.track.conversation
        changed = conversation if conversation != watch.named else None
        if changed is not None or state is not watch.recorded:
            await self._states.set(session_id, state, changed)
            watch.recorded, watch.named = state, conversation

    def _tell_turn(self, session_id: str) -> None:
        for turn in tuple(self._turns.get(session_id, ())):
            if not turn.done():
                turn.set_result(None)

    def _forget_turn(self, session_id: str, turn: asyncio.Future[None]) -> None:
        waiting = self._turns[session_id]
        waiting.discard(turn)
        if not waiting:
            del self._turns[session_id]


async def _printed(notice: str, tell: Tell, hear: Hear) -> bool:
    """Whether the hook printed the notice for its agent. One that had left, or leaves without a word, did not."""
    await tell({"t": "hooked", "out": {"decision": "block", "reason": notice}})
    try:
        async with asyncio.timeout(PRINTED_S):
            heard = await hear()
    except TimeoutError:
        return False
    return heard is not None and heard.get("t") == "printed"


async def _let_go(tell: Tell) -> None:
    await tell({"t": "hooked", "out": None})
