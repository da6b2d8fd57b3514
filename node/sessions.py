"""Sessions: panes of the node's own tmux server, their names, and their endings."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from node.agents import adapter_for, adapter_named
from node.core import policy
from node.core.agent_state import AgentConversation
from node.core.errors import ErrorCode, MeshError
from node.core.ids import match_prefix, short
from node.core.limits import Limits
from node.core.model import AgentState, Exchange, Session, SessionStatus, Status
from node.core.row_codes import RowDecision, RowReason
from node.core.secret_names import check_name, shown_command
from node.core.text import well_formed
from node.core.verdict import Decision, Field
from node.equipment import Equipment, Seat
from node.ledger import Ledger
from node.lifecycle import Lifecycle, ends
from node.ports import Bells, NewSession, Reader, Screener, Store, Terminals, Tx
from node.ports_work import Places

_log = logging.getLogger(__name__)

# What a terminal inherits from its parent and must not pass on: another pane's identity, another node's.
_NOT_INHERITED = frozenset({"TMUX", "TMUX_PANE", "STY", "HELIOGRAPH_SESSION"})
_WIDTH, _HEIGHT = 200, 50


class Sessions:
    """Implements ports.Sessions."""

    def __init__(
        self,
        *,
        store: Store,
        screener: Screener,
        terminals: Terminals,
        lifecycle: Lifecycle,
        bells: Bells,
        ledger: Ledger,
        limits: Limits,
        equipment: Equipment,
        places: Places,
        environment: Mapping[str, str],
    ) -> None:
        self._store = store
        self._screener = screener
        self._terminals = terminals
        self._lifecycle = lifecycle
        self._bells = bells
        self._ledger = ledger
        # When all running sessions were last looked at, and who of them ended its turn before it said that it leaves.
        self._looked_us = ledger.now_us()
        self._rested: set[str] = set()
        self._limits = limits
        self._equipment = equipment
        self._places = places
        self._environment = dict(environment)
        # Starting takes a while between checking a nickname and holding it; one start at a time keeps it simple.
        self._starting = asyncio.Lock()

    async def run(self, new: NewSession) -> tuple[Session, tuple[str, ...]]:
        """Starts a session in a new pane; the nickname is given before the agent can say a word."""
        self._check_new(new)
        title = well_formed(new.title).strip() or policy.derive_title(Path(new.argv[0]).name)
        await self._check_shown(title=title, nickname=new.nickname)
        workspace = (await self._places.find(new.workspace)).name
        async with self._starting:
            choice = await self._choose_for_new(new.nickname) if new.nickname else None
            await self._check_room()
            session_id = self._ledger.new_id()
            name = choice.nickname if choice else short(session_id)
            adapter = adapter_for(new.argv)
            # Files are judged by real paths; a folder reached through a link would be refused later.
            cwd = await asyncio.to_thread(os.path.realpath, new.cwd)
            seat = Seat(session=session_id, cwd=cwd, env=self._env_of(new))
            launched = await self._equipment.by_person(adapter, seat, new.argv)
            placed = await self._places.settle(
                workspace,
                launched.argv,
                cwd,
                dict(launched.env),
                given=self._equipment.own_variables(seat, launched),
                read=self._equipment.seen_by(session_id),
            )
            pane = await self._terminals.start(
                placed.argv,
                cwd=placed.cwd,
                env=placed.env,
                name=name,
                width=new.width or _WIDTH,
                height=new.height or _HEIGHT,
            )
            now = self._ledger.now_us()
            session = Session(
                id=session_id,
                nickname=choice.nickname if choice else None,
                title=title,
                workspace=workspace,
                profile=adapter.name,
                argv=shown_command(new.argv),
                cwd=cwd,
                pane=pane,
                status=SessionStatus.RUNNING,
                state=AgentState.UNKNOWN,
                created_us=now,
                changed_us=now,
            )
            try:
                await self._store.write(lambda tx: self._put_new(tx, session))
            except MeshError:
                # An agent that the node has no record of must not stay behind.
                await self._terminals.kill(pane)
                raise
        return session, choice.look_alikes if choice else ()

    def _check_new(self, new: NewSession) -> None:
        if not new.argv or not new.argv[0]:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "No command was given. Example: helio run --nick api -- claude")
        self._limits.check_text("title", new.title, self._limits.title_chars)
        check_name("path of the folder", new.cwd)
        if not Path(new.cwd).is_dir():
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, f"The folder {new.cwd!r} does not exist; start from one that does."
            )

    async def _check_shown(self, **texts: str) -> None:
        """WITHHELD unless the screen lets these pass: list_peers shows them to the agents of other sessions."""
        verdict = await self._screener.screen([Field(name=name, text=text) for name, text in texts.items()])
        if verdict.decision is Decision.WITHHOLD:
            raise MeshError(
                ErrorCode.WITHHELD,
                f"The {' or '.join(texts)} reads like an instruction to other agents, who see it in list_peers "
                f"({verdict.snippet}); nothing was changed. Choose one that only says what the session is for.",
            )

    async def _check_room(self) -> None:
        running = [s for s in await self._store.read(lambda r: r.sessions()) if s.status is SessionStatus.RUNNING]
        if len(running) >= self._limits.sessions:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{len(running)} sessions run already; the limit is {self._limits.sessions}. Archive some, or raise "
                "`sessions` under [limits] in config.toml.",
                {"limit": self._limits.sessions},
            )

    def _env_of(self, new: NewSession) -> dict[str, str]:
        env = {k: v for k, v in (dict(new.env) or self._environment).items() if k not in _NOT_INHERITED}
        home = self._environment.get("HELIOGRAPH_HOME")
        return env | ({"HELIOGRAPH_HOME": home} if home else {})

    async def _choose(self, nickname: str, for_session: str | None) -> policy.NicknameChoice:
        return await self._store.read(
            lambda reader: policy.choose_nickname(nickname, reader.sessions(), for_session=for_session)
        )

    async def _choose_for_new(self, nickname: str) -> policy.NicknameChoice:
        """A nickname for a session that is started now: it may be one that an ended session still has."""

        def work(reader: Reader) -> policy.NicknameChoice:
            there = [s for s in reader.sessions() if s.status is not SessionStatus.ENDED]
            return policy.choose_nickname(nickname, there, for_session=None)

        return await self._store.read(work)

    def _put_new(self, tx: Tx, session: Session) -> None:
        """Records a session that runs; an ended one of the same nickname gives it up, and keeps its record."""
        key = policy.nickname_key(session.nickname) if session.nickname is not None else None
        for other in tx.sessions():
            same = other.nickname is not None and policy.nickname_key(other.nickname) == key
            if same and other.status is SessionStatus.ENDED:
                self._put(tx, self._changed(other, nickname=None), RowDecision.NAMED, RowReason.GIVEN_UP)
        self._put(tx, session, RowDecision.STARTED)

    def _put(self, tx: Tx, session: Session, decision: RowDecision, reason: RowReason | None = None) -> None:
        if session.nickname is not None:
            policy.choose_nickname(session.nickname, tx.sessions(), for_session=session.id)
        tx.put_session(session)
        self._ledger.session_row(tx, session, decision, reason)

    async def _find(self, wanted: str) -> Session:
        return await self._store.read(lambda reader: _find(reader, wanted))

    async def set_nickname(self, wanted: str, nickname: str) -> tuple[Session, tuple[str, ...]]:
        """Gives a nickname, or takes it away when it is empty."""
        session = await self._find(wanted)
        if session.status is SessionStatus.ARCHIVED:
            raise MeshError(
                ErrorCode.WRONG_STATE, f"{session.label} is archived and holds no nickname; unarchive it first."
            )
        await self._check_shown(nickname=nickname)
        choice = await self._choose(nickname, session.id) if nickname else None
        changed = await self._change(session, RowDecision.NAMED, nickname=choice.nickname if choice else None)
        if changed.pane is not None and changed.status is SessionStatus.RUNNING:
            await self._terminals.rename(changed.pane, choice.nickname if choice else short(session.id))
        return changed, choice.look_alikes if choice else ()

    async def rename(self, wanted: str, title: str) -> Session:
        """Changes the title."""
        title = well_formed(title).strip()
        self._limits.check_text("title", title, self._limits.title_chars)
        if not title:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "The title is empty; give at least one word.")
        await self._check_shown(title=title)
        return await self._change(await self._find(wanted), RowDecision.RENAMED, title=title)

    async def archive(self, wanted: str) -> Session:
        """Puts a session away: its terminal ends, what it owed is told to those who wait."""
        return await self._put_away(await self._find(wanted))

    async def _put_away(self, changed: Session) -> Session:
        if changed.status is not SessionStatus.ARCHIVED:
            changed = await self._change(
                changed, RowDecision.ARCHIVED, status=SessionStatus.ARCHIVED, state=AgentState.ENDED
            )
        # Also of one that is archived already: the node may have been killed before it came to this.
        if changed.pane is not None:
            await self._terminals.kill(changed.pane)
        return changed

    async def unarchive(self, wanted: str) -> tuple[Session, str]:
        """Takes a session out again, ended; without its nickname if another took it meanwhile."""
        session = await self._find(wanted)
        if session.status is not SessionStatus.ARCHIVED:
            raise MeshError(ErrorCode.WRONG_STATE, f"{session.label} is not archived.")
        lost = ""
        if session.nickname is not None:
            try:
                await self._choose(session.nickname, session.id)
            except MeshError as taken:
                if taken.code is not ErrorCode.ALREADY_EXISTS:
                    raise
                lost = session.nickname
        changed = self._changed(
            session, status=SessionStatus.ENDED, nickname=None if lost else session.nickname, pane=None
        )
        await self._store.write(lambda tx: self._put(tx, changed, RowDecision.UNARCHIVED))
        return changed, lost

    async def remove(self, wanted: str) -> tuple[str, tuple[str, ...]]:
        """Deletes a session for good; exchanges it had not delivered fail, and their openers are told."""
        session = await self._find(wanted)
        if session.pane is not None and session.status is SessionStatus.RUNNING:
            await self._terminals.kill(session.pane)

        def work(tx: Tx) -> tuple[Exchange, ...]:
            changed = self._lifecycle.removed(tx, session.id)
            self._ledger.session_row(tx, session, RowDecision.REMOVED)
            tx.remove_session(session.id)
            return changed

        changed = await self._store.write(work, self._wake)
        await self._equipment.forget(session.id)
        return session.id, tuple(exchange.id for exchange in changed if exchange.status is Status.FAILED)

    async def attach_argv(self, wanted: str) -> tuple[str, ...]:
        """The command that shows a running session's terminal."""
        session = await self._find(wanted)
        if session.pane is None or session.status is not SessionStatus.RUNNING:
            raise MeshError(
                ErrorCode.WRONG_STATE, f"{session.label} has {session.status.value}; there is no terminal to show."
            )
        return self._terminals.attach_argv(session.pane)

    async def set(self, session_id: str, state: AgentState, conversation: AgentConversation | None) -> None:
        """Records what hooks tell of an agent. Implements hook_events.AgentStates."""

        def work(tx: Tx) -> None:
            now = tx.session(session_id)
            if now is not None and now.status is SessionStatus.RUNNING:
                if state is not AgentState.ENDED:
                    self._rested.discard(session_id)
                elif now.state is AgentState.IDLE:
                    self._rested.add(session_id)
                kept = conversation.id if conversation is not None else now.conversation
                tx.put_session(self._changed(now, state=state, conversation=kept))

        await self._store.write(work)

    async def watch_once(self) -> None:
        """Compares the records with the panes that exist; notes sessions which ended meanwhile."""
        # In this order: a session that is recorded after the look at the panes must not count as ended.
        sessions = await self._store.read(lambda reader: reader.sessions())
        now = self._ledger.now_us()
        panes = set(await self._terminals.panes())
        running = [s for s in sessions if s.status is SessionStatus.RUNNING]
        self._rested.intersection_update(s.id for s in running)
        for session in running:
            if session.pane is None:
                continue
            if session.pane not in panes:
                await self._note_end(session)
            else:
                await self._terminals.wake_suspended(session.pane, adapter_named(session.profile).prompt)
        self._looked_us = now

    async def _note_end(self, session: Session) -> None:
        ended = self._changed(session, status=SessionStatus.ENDED, state=AgentState.ENDED)

        def work(tx: Tx) -> tuple[Exchange, ...]:
            now = tx.session(session.id)
            if now is None or now.status is not SessionStatus.RUNNING or now.pane != session.pane:
                return ()
            self._put(
                tx,
                replace(ended, nickname=now.nickname, title=now.title, conversation=now.conversation),
                RowDecision.ENDED,
            )
            resting = now.state is AgentState.IDLE or session.id in self._rested
            self._lifecycle.ended_meanwhile(tx, session.id, self._looked_us, resting=resting)
            # One that is just being resumed may be started afresh: what came of that is told by whoever tries it.
            return () if tx.launching(session.id) else self._lifecycle.ended(tx, session.id)

        await self._store.write(work, self._wake)
        _log.info("session %s ended", session.id)

    def _wake(self, changed: tuple[Exchange, ...]) -> None:
        self._bells.ring(ends(changed))

    async def archive_by_id(self, session_id: str) -> None:
        """Archives the session of a closed delegation; one that is gone already needs nothing."""
        session = await self._store.read(lambda reader: reader.session(session_id))
        if session is not None:
            await self._put_away(session)

    async def _change(self, session: Session, decision: RowDecision, **changes: object) -> Session:
        """Changes a session as it is by then: it may have ended or been named since it was found."""

        def work(tx: Tx) -> tuple[Session, tuple[Exchange, ...]]:
            now = tx.session(session.id)
            if now is None:
                raise MeshError(ErrorCode.NOT_FOUND, f"{session.label} has been removed meanwhile.")
            changed = self._changed(now, **changes)
            self._put(tx, changed, decision)
            away = changed.status is SessionStatus.ARCHIVED
            return changed, self._lifecycle.ended(tx, session.id) if away else ()

        return (await self._store.write(work, lambda done: self._wake(done[1])))[0]

    def _changed(self, session: Session, **changes: object) -> Session:
        return replace(session, changed_us=self._ledger.now_us(), **changes)  # type: ignore[arg-type]


def _find(reader: Reader, wanted: str) -> Session:
    # Before any nickname: one may spell the id of a session that is put away.
    whole = reader.session(wanted.strip())
    if whole is not None:
        return whole
    sessions = reader.sessions(archived=True)
    named = [s for s in sessions if s.status is not SessionStatus.ARCHIVED]
    try:
        return policy.find_session(wanted, named)
    except MeshError as refused:
        if wanted.startswith("@") or refused.code is not ErrorCode.NOT_FOUND:
            raise
        by_id = {s.id: s for s in sessions}
        return by_id[match_prefix(wanted, by_id, what="session")]
