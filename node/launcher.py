"""Starts the agents of delegates, and resumes agents that ended: the worker of the outbox's launches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeGuard

from node.agents import ADAPTERS, adapter_named
from node.agents.adapter import Adapter
from node.core import policy
from node.core.commands import Delegate
from node.core.delegation import Note
from node.core.effects import Launch
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.limits import Limits
from node.core.model import Address, AgentState, End, Exchange, Session, SessionStatus
from node.core.prompt import PaneRef
from node.core.row_codes import RowDecision
from node.core.screen_credentials import without_credentials
from node.core.secret_names import shown_command
from node.core.workspace import DriverKind, name_key
from node.equipment import SESSION_VARIABLE, Equipment, Seat
from node.ledger import Ledger
from node.lifecycle import Lifecycle, ends
from node.ports import Bells, Store, Terminals, Tx
from node.ports_work import Ground, Grounds, LaunchPlan, Places
from node.screening import Reasons

_log = logging.getLogger(__name__)

_BATCH: Final = 64
_WIDTH, _HEIGHT = 200, 50
_LOOK_AGAIN_S: Final = 0.5
_SHOWN_CHARS: Final = 40
# What must not go from the delegator's terminal into the delegate's: another pane's or session's identity.
_NOT_INHERITED = frozenset({"TMUX", "TMUX_PANE", "STY", SESSION_VARIABLE, "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Intent:
    """What of a session's record changes when its agent is about to be started."""

    cwd: str
    branch: str | None
    argv: tuple[str, ...]
    conversation: str | None


class Launcher:
    """Implements ports.Planner, and the worker of launches."""

    def __init__(
        self,
        *,
        store: Store,
        terminals: Terminals,
        grounds: Grounds,
        reasons: Reasons,
        lifecycle: Lifecycle,
        bells: Bells,
        ledger: Ledger,
        limits: Limits,
        equipment: Equipment,
        places: Places,
        environment: Mapping[str, str],
    ) -> None:
        self._store = store
        self._terminals = terminals
        self._grounds = grounds
        self._reasons = reasons
        self._lifecycle = lifecycle
        self._bells = bells
        self._ledger = ledger
        self._limits = limits
        self._equipment = equipment
        self._places = places
        self._environment_of_node = dict(environment)
        self._kicked = asyncio.Event()
        self._under_way: set[str] = set()

    async def plan(self, actor: Address, command: Delegate, session_id: str) -> LaunchPlan:
        """How the delegate would be started; says at once what would fail later."""
        delegator = await self._store.read(lambda reader: reader.session(actor.session or ""))
        if delegator is None:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, "Only a session can delegate; start one with `helio run -- COMMAND`."
            )
        place = await self._places.find(command.workspace or delegator.workspace)
        beside = place.key == name_key(delegator.workspace)
        env = await self._environment(delegator if beside else None)
        # What is installed on another machine only its own programs could tell.
        adapter = self._adapter(
            command.tool or delegator.profile, env, asked=command.tool, elsewhere=place.driver is DriverKind.COMMAND
        )
        wanted = await self._grounds.check(delegator.cwd, wanted=command.worktree, session=delegator.id)
        # It becomes a branch and a folder, before the screen has seen the rest.
        called = command.nickname or command.title.strip() or policy.derive_title(command.brief)
        return LaunchPlan(
            session=session_id,
            profile=adapter.name,
            workspace=place.name,
            cwd=delegator.cwd,
            worktree=without_credentials(called) if wanted else "",
        )

    def _adapter(self, tool: str, env: Mapping[str, str], *, asked: str, elsewhere: bool) -> Adapter:
        known = [adapter for adapter in ADAPTERS if adapter.startable]
        names = ", ".join(adapter.name for adapter in known)
        chosen = next((adapter for adapter in known if adapter.name == tool), None)
        if chosen is None and not asked:
            # A delegator that no adapter knows gets the first agent that is there.
            chosen = next((one for one in known if not one.bundled and one.find(env) is not None), None)
        if chosen is None:
            raise MeshError(
                ErrorCode.NOT_FOUND,
                f"There is no agent {tool[:_SHOWN_CHARS]!r} to delegate to; the ones this node can start are: {names}. "
                "Set tool to one of them; `helio agents` says which are installed.",
                {"choices": tuple(adapter.name for adapter in known)},
            )
        if not elsewhere and chosen.find(env) is None:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"{chosen.name} is not installed on this session's PATH, so nothing was delegated. Set tool to another "
                f"({names}), or ask your user to install it.",
                {"choices": tuple(adapter.name for adapter in known if adapter.find(env) is not None)},
            )
        return chosen

    def ring(self, _addresses: Sequence[Address]) -> None:
        """A commit happened: there may be somebody to start. Implements ports.Bells."""
        self._kicked.set()

    async def run(self) -> None:
        """Starts whom it is time to start, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._kicked.clear()
                try:
                    for session_id, rows in (await self._due()).items():
                        group.create_task(self._launch(session_id, rows))
                except MeshError as error:
                    _log.warning("launching waits: %s", error.message)
                try:
                    async with asyncio.timeout(self._limits.tick_s):
                        await self._kicked.wait()
                except TimeoutError:
                    continue

    async def launch_due(self) -> None:
        """Starts every session that is due, side by side, and returns when that is done."""
        async with asyncio.TaskGroup() as group:
            for session_id, rows in (await self._due()).items():
                group.create_task(self._launch(session_id, rows))

    async def _due(self) -> dict[str, list[int]]:
        """The outbox rows that are due, by session, without the sessions which are being started now."""
        now = self._ledger.now_us()
        due: dict[str, list[int]] = {}
        for outbox, effect in await self._store.read(lambda reader: reader.effects("launch", now, _BATCH)):
            if isinstance(effect, Launch) and effect.session not in self._under_way:
                due.setdefault(effect.session, []).append(outbox)
        self._under_way |= due.keys()
        return due

    async def _launch(self, session_id: str, rows: Sequence[int]) -> None:
        """Starts or resumes one session. Its rows leave the outbox with the commit that says what came of it."""
        try:
            session, plan = await self._store.read(lambda r: (r.session(session_id), r.launch(session_id)))
            if session is not None and plan is not None and session.status is SessionStatus.STARTING:
                await self._start(session, plan)
            elif session is not None and session.status is SessionStatus.ENDED:
                await self._resume(session)
            await self._store.write(lambda tx: self._done(tx, session_id, rows), self._wake)
        except MeshError as error:
            # The disk, or what lists the terminals: the rows are still there, and the next round tries again.
            _log.warning("starting session %s waits: %s", session_id, error.message)
        finally:
            self._under_way.discard(session_id)

    def _done(self, tx: Tx, session_id: str, rows: Sequence[int]) -> tuple[Exchange, ...]:
        for row in rows:
            tx.effect_done(row)
        # Of one that was put away before it was started, nobody will need the plan.
        tx.drop_launch(session_id)
        session = tx.session(session_id)
        # Nobody tells of an end while the launch is under way.
        over = session is not None and session.status is SessionStatus.ENDED and not tx.launching(session_id)
        return self._lifecycle.ended(tx, session_id) if over else ()

    async def _start(self, session: Session, plan: LaunchPlan) -> None:
        env = await self._surroundings(session)
        try:
            ground = Ground(folder=plan.cwd)
            if plan.worktree:
                ground = await self._grounds.prepare(plan.cwd, name=plan.worktree, session=session.id)
            pane = await self._open(replace(session, cwd=ground.folder, branch=ground.branch), env, None)
        except (MeshError, OSError) as error:
            _log.warning("session %s could not be started: %s", session.id, error)
            why = await self._reasons.of(error, session.id)
            if plan.worktree:
                await self._grounds.clear(session.id)
            await self._store.write(partial(self._failed, session_id=session.id, why=why), self._wake)
            return
        await self._record(session, pane, RowDecision.STARTED)

    async def _resume(self, session: Session) -> None:
        """Resumes by the recorded conversation; without one, or when that fails, starts afresh and says so."""
        env = await self._surroundings(session)
        if session.conversation is not None and await self._resumed(session, env, session.conversation):
            return
        try:
            pane = await self._open(session, env, None)
        except (MeshError, OSError) as error:
            why = await self._reasons.of(error, session.id)
            text = f"{session.label}'s agent has ended and could not be started again: {why}"
            await self._tell_openers(session, text)
            return
        if await self._record(session, pane, RowDecision.STARTED_FRESH):
            await self._tell_openers(
                session,
                f"{session.label}'s agent had ended and its conversation could not be resumed, so a fresh one was "
                "started. It knows of the work only what stands in its inbox.",
            )

    async def _resumed(self, session: Session, env: Mapping[str, str], conversation: str) -> bool:
        """Whether the agent goes on, or is not wanted any more; False when it did not know the conversation."""
        try:
            pane = await self._open(session, env, conversation)
        except (MeshError, OSError) as error:
            _log.warning("session %s could not be resumed: %s", session.id, error)
            return False
        if not await self._record(session, pane, RowDecision.RESUMED) or pane is None:
            return True
        # One that tells nothing by hooks would leave us looking for as long as it is allowed to; it is believed.
        if not adapter_named(session.profile).hooks.events or await self._stays(session.id, pane):
            return True
        _log.warning("session %s did not take up its conversation", session.id)
        return not await self._store.write(lambda tx: self._gave_way(tx, session.id, pane))

    async def _stays(self, session_id: str, pane: PaneRef) -> bool:
        """Whether a resumed agent stays. One that does not know the conversation says so on its screen and ends."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._limits.resume_proof_s
        while pane in await self._terminals.panes():
            session = await self._store.read(lambda reader: reader.session(session_id))
            # That it ends is a word of it, too, and no sign that it stays.
            spoke = session is None or session.state not in {AgentState.UNKNOWN, AgentState.ENDED}
            if clock() >= deadline or spoke:
                return True
            await asyncio.sleep(_LOOK_AGAIN_S)
        return False

    def _gave_way(self, tx: Tx, session_id: str, pane: PaneRef) -> bool:
        """Whether the session is still one to start: it ended at once, and nobody put it away meanwhile."""
        now = tx.session(session_id)
        if now is None or now.pane != pane or now.status not in {SessionStatus.RUNNING, SessionStatus.ENDED}:
            return False
        tx.put_session(replace(now, status=SessionStatus.ENDED, state=AgentState.ENDED, conversation=None))
        return True

    async def _open(self, session: Session, env: Mapping[str, str], conversation: str | None) -> PaneRef | None:
        """The session's terminal, with its agent in it; None when nobody wants it any more.

        What is started is recorded before: should the node be killed in between, it knows what runs in the terminal.
        """
        left = await self._left_running(session.id)
        if left is not None:
            return left
        adapter = adapter_named(session.profile)
        if not adapter.startable:
            raise MeshError(ErrorCode.UNSUPPORTED, f"This node does not know how to start {session.profile} again.")
        # The delegator's person trusts the repository already, and a worktree of it holds nothing else.
        seat = Seat(session=session.id, cwd=session.cwd, env=env, trusted=session.parent is not None)
        if conversation is not None:
            launched = await self._equipment.resumed(adapter, seat, conversation)
        else:
            launched = await self._equipment.fresh(adapter, seat)
        placed = await self._places.settle(
            session.workspace,
            launched.argv,
            session.cwd,
            dict(launched.env),
            given=self._equipment.own_variables(seat, launched),
            read=self._equipment.seen_by(session.id),
        )
        intent = _Intent(
            cwd=session.cwd,
            branch=session.branch,
            argv=shown_command(launched.argv),
            conversation=conversation or launched.conversation,
        )
        if not await self._store.write(lambda tx: _intend(tx, session.id, intent)):
            return None
        return await self._terminals.start(
            placed.argv,
            cwd=placed.cwd,
            env=placed.env,
            name=session.nickname or short(session.id),
            width=_WIDTH,
            height=_HEIGHT,
        )

    async def _left_running(self, session_id: str) -> PaneRef | None:
        """The session's terminal, if the node was killed between starting it and recording that."""
        # A program can give itself any variable: a terminal that is another session's on record stays that.
        taken = await self._store.read(lambda reader: {s.pane for s in reader.sessions() if s.id != session_id})
        for pane in await self._terminals.panes():
            if pane not in taken and (await self._terminals.environment(pane)).get(SESSION_VARIABLE) == session_id:
                return pane
        return None

    async def _record(self, session: Session, pane: PaneRef | None, decision: RowDecision) -> bool:
        """Whether the session runs now. One that was put away while it was started ends again."""
        if pane is None:
            return False
        started = await self._store.write(
            lambda tx: self._started(tx, session.id, pane, decision), lambda done: self._wake(done or ())
        )
        if started is None:
            await self._terminals.kill(pane)
        return started is not None

    def _started(self, tx: Tx, session_id: str, pane: PaneRef, decision: RowDecision) -> tuple[Exchange, ...] | None:
        before = tx.session(session_id)
        if not _wanted(before):
            return None
        now = replace(
            before,
            pane=pane,
            status=SessionStatus.RUNNING,
            state=AgentState.UNKNOWN,
            changed_us=self._ledger.now_us(),
        )
        tx.put_session(now)
        tx.drop_launch(session_id)
        tx.hasten(session_id, self._ledger.now_us())
        tx.started_with(session_id)
        self._ledger.session_row(tx, now, decision)
        return self._lifecycle.resumed(tx, session_id)

    def _failed(self, tx: Tx, *, session_id: str, why: str) -> tuple[Exchange, ...]:
        before = tx.session(session_id)
        if not _wanted(before):
            return ()
        ended = replace(before, status=SessionStatus.ARCHIVED, state=AgentState.ENDED)
        tx.put_session(ended)
        tx.drop_launch(session_id)
        self._ledger.session_row(tx, ended, RowDecision.LAUNCH_FAILED)
        return self._lifecycle.launch_failed(tx, session_id, why)

    def _wake(self, changed: tuple[Exchange, ...]) -> None:
        self._bells.ring(ends(changed))

    async def _tell_openers(self, session: Session, text: str) -> None:
        worker = Address(node=self._ledger.node, session=session.id)

        def work(tx: Tx) -> tuple[Address, ...]:
            told: list[Address] = []
            for exchange in tx.exchanges_of(worker, closed=False):
                if exchange.worker == worker:
                    self._ledger.write_notes(tx, exchange, (Note(to=End.OPENER, text=text),))
                    told.append(exchange.opener)
            return tuple(told)

        await self._store.write(work, self._bells.ring)

    async def _surroundings(self, session: Session) -> Mapping[str, str]:
        """The environment for a session's agent: its delegator's, if that runs in the same workspace, else the node's.

        From another workspace nothing is taken over: what a sandbox set would be a way out of it.
        """
        parent = await self._store.read(lambda reader: reader.session(session.parent or ""))
        beside = parent is not None and name_key(parent.workspace) == name_key(session.workspace)
        return await self._environment(parent if beside else None)

    async def _environment(self, session: Session | None) -> Mapping[str, str]:
        """The environment that the session's own terminal was started with, read from its process and kept nowhere."""
        pane = session.pane if session is not None and session.status is SessionStatus.RUNNING else None
        env = (await self._terminals.environment(pane) if pane is not None else {}) or self._environment_of_node
        return {name: value for name, value in env.items() if name not in _NOT_INHERITED}


def _wanted(session: Session | None) -> TypeGuard[Session]:
    """Whether it is still to be started: neither put away nor removed since that was decided."""
    return session is not None and session.status in {SessionStatus.STARTING, SessionStatus.ENDED}


def _intend(tx: Tx, session_id: str, intent: _Intent) -> bool:
    session = tx.session(session_id)
    if not _wanted(session):
        return False
    now = replace(session, cwd=intent.cwd, branch=intent.branch, argv=intent.argv, conversation=intent.conversation)
    tx.put_session(now)
    return True
