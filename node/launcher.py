"""Starts the agents of delegates, and resumes agents that ended: the worker of the outbox's launches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from node.agents import ADAPTERS, adapter_named
from node.agents.adapter import Adapter
from node.core.commands import Delegate
from node.core.delegation import Note
from node.core.effects import Launch
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.limits import Limits
from node.core.model import Address, AgentState, End, Exchange, Session, SessionStatus
from node.core.prompt import PaneRef
from node.equipment import SESSION_VARIABLE, Equipment, Seat
from node.ledger import Ledger
from node.lifecycle import Lifecycle, ends
from node.platform import processes
from node.ports import Bells, Store, Terminals, Tx
from node.ports_work import Ground, Grounds, LaunchPlan, Places

_log = logging.getLogger(__name__)

_BATCH = 16
_WIDTH, _HEIGHT = 200, 50
# What must not go from the delegator's terminal into the delegate's: another pane's or session's identity.
_NOT_INHERITED = frozenset({"TMUX", "TMUX_PANE", "STY", SESSION_VARIABLE, "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"})


class Launcher:
    """Implements ports.Planner, and the worker of launches."""

    def __init__(
        self,
        *,
        store: Store,
        terminals: Terminals,
        grounds: Grounds,
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
        self._lifecycle = lifecycle
        self._bells = bells
        self._ledger = ledger
        self._limits = limits
        self._equipment = equipment
        self._places = places
        self._environment_of_node = dict(environment)
        self._kicked = asyncio.Event()

    async def plan(self, actor: Address, command: Delegate, session_id: str) -> LaunchPlan:
        """How the delegate would be started; says at once what would fail later."""
        delegator = await self._store.read(lambda reader: reader.session(actor.session or ""))
        if delegator is None:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, "Only a session can delegate; start one with `helio run -- COMMAND`."
            )
        adapter = self._adapter(command.tool or delegator.profile, self._environment(delegator), asked=command.tool)
        wanted = await self._grounds.check(delegator.cwd, wanted=command.worktree)
        return LaunchPlan(
            session=session_id,
            profile=adapter.name,
            workspace=(await self._places.find(command.workspace or delegator.workspace)).name,
            cwd=delegator.cwd,
            worktree=(command.nickname or command.title) if wanted else "",
        )

    def _adapter(self, tool: str, env: Mapping[str, str], *, asked: str) -> Adapter:
        known = [adapter for adapter in ADAPTERS if adapter.startable]
        names = ", ".join(adapter.name for adapter in known)
        chosen = next((adapter for adapter in known if adapter.name == tool), None)
        if chosen is None and not asked:
            # A delegator that no adapter knows gets the first agent that is there.
            chosen = next((adapter for adapter in known if adapter.find(env) is not None), None)
        if chosen is None:
            raise MeshError(
                ErrorCode.NOT_FOUND,
                f"There is no agent {tool!r} to delegate to; the ones this node can start are: {names}. Set tool to "
                "one of them; `helio agents` says which are installed.",
            )
        if chosen.find(env) is None:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"{chosen.name} is not installed on this session's PATH, so nothing was delegated. Set tool to another "
                f"({names}), or ask your user to install it.",
            )
        return chosen

    def ring(self, _addresses: Sequence[Address]) -> None:
        """A commit happened: there may be somebody to start. Implements ports.Bells."""
        self._kicked.set()

    async def run(self) -> None:
        """Starts whom it is time to start, until cancelled."""
        while True:
            self._kicked.clear()
            try:
                await self.launch_due()
            except MeshError as error:
                _log.warning("launching waits: %s", error.message)
            try:
                async with asyncio.timeout(self._limits.tick_s):
                    await self._kicked.wait()
            except TimeoutError:
                continue

    async def launch_due(self) -> None:
        """Starts every session that is due."""
        now = self._ledger.now_us()
        for outbox, effect in await self._store.read(lambda reader: reader.effects("launch", now, _BATCH)):
            if isinstance(effect, Launch):
                await self._launch(outbox, effect.session)

    async def _launch(self, outbox: int, session_id: str) -> None:
        session, plan = await self._store.read(lambda r: (r.session(session_id), r.launch(session_id)))
        try:
            if session is not None and plan is not None and session.status is SessionStatus.STARTING:
                await self._start(session, plan)
            elif session is not None and session.status is SessionStatus.ENDED:
                await self._resume(session)
        finally:
            # Tried once: a second try after a crash would find the session started, and one that failed is told of.
            await self._store.write(lambda tx: tx.effect_done(outbox))

    async def _start(self, session: Session, plan: LaunchPlan) -> None:
        parent = await self._store.read(lambda reader: reader.session(session.parent or ""))
        env = self._environment(parent)
        try:
            ground = Ground(folder=plan.cwd)
            if plan.worktree:
                ground = await self._grounds.prepare(plan.cwd, name=plan.worktree, session=session.id)
            started, pane = await self._open(replace(session, cwd=ground.folder, branch=ground.branch), env, None)
        except MeshError as error:
            _log.warning("session %s could not be started: %s", session.id, error.message)
            await self._store.write(partial(self._failed, session=session, why=error.message), self._wake)
            return
        await self._store.write(partial(self._started, session=started, pane=pane, decision="started"), self._wake)

    async def _resume(self, session: Session) -> None:
        """Resumes by the recorded conversation; without one, or when that fails, starts afresh and says so."""
        env = self._environment(None)
        if session.conversation is not None:
            try:
                started, pane = await self._open(session, env, session.conversation)
            except MeshError as error:
                _log.warning("session %s could not be resumed: %s", session.id, error.message)
            else:
                await self._running_again(started, pane, "resumed")
                return
        try:
            started, pane = await self._open(session, env, None)
        except MeshError as error:
            text = f"{session.label}'s agent has ended and could not be started again: {error.message}"
            await self._tell_openers(session, text)
            return
        await self._running_again(started, pane, "started_fresh")
        await self._tell_openers(
            session,
            f"{session.label}'s agent had ended and its conversation could not be resumed, so a fresh one was started. "
            "It knows of the work only what stands in its inbox.",
        )

    async def _running_again(self, session: Session, pane: PaneRef, decision: str) -> None:
        await self._store.write(partial(self._started, session=session, pane=pane, decision=decision), self._wake)

    async def _open(
        self, session: Session, env: Mapping[str, str], conversation: str | None
    ) -> tuple[Session, PaneRef]:
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
        pane = await self._left_running(session.id) or await self._terminals.start(
            placed.argv,
            cwd=placed.cwd,
            env=placed.env,
            name=session.nickname or short(session.id),
            width=_WIDTH,
            height=_HEIGHT,
        )
        return replace(session, argv=launched.argv, conversation=conversation or launched.conversation), pane

    async def _left_running(self, session_id: str) -> PaneRef | None:
        """The session's terminal, if the node was killed between starting it and recording that."""
        for pane in await self._terminals.panes():
            if processes.environment(pane.pid).get(SESSION_VARIABLE) == session_id:
                return pane
        return None

    def _started(self, tx: Tx, *, session: Session, pane: PaneRef, decision: str) -> tuple[Exchange, ...]:
        now = replace(
            session,
            pane=pane,
            status=SessionStatus.RUNNING,
            state=AgentState.UNKNOWN,
            changed_us=self._ledger.now_us(),
        )
        tx.put_session(now)
        tx.drop_launch(session.id)
        tx.hasten(session.id, self._ledger.now_us())
        self._ledger.session_row(tx, now, decision)
        return self._lifecycle.resumed(tx, session.id)

    def _failed(self, tx: Tx, *, session: Session, why: str) -> tuple[Exchange, ...]:
        ended = replace(session, status=SessionStatus.ARCHIVED, state=AgentState.ENDED)
        tx.put_session(ended)
        tx.drop_launch(session.id)
        self._ledger.session_row(tx, ended, "launch_failed")
        return self._lifecycle.launch_failed(tx, session.id, why)

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

    def _environment(self, session: Session | None) -> Mapping[str, str]:
        """The environment that the session's own terminal was started with, read from its process and kept nowhere."""
        found = processes.environment(session.pane.pid) if session is not None and session.pane is not None else {}
        env = found or self._environment_of_node
        return {name: value for name, value in env.items() if name not in _NOT_INHERITED}
