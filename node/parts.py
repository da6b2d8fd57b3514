"""All that a running node is made of, put together by constructors alone."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from node import config, epochs, identity, succession
from node.agent_socket import AgentSocket
from node.agents import ADAPTERS, adapter_named
from node.approvals import Approvals
from node.attachments import Attachments
from node.audit import Audit
from node.broker import Broker
from node.callers import Callers
from node.checkpoints import Checkpoints
from node.classifier import Classifier
from node.core.limits import Limits
from node.core.model import DEFAULT_WORKSPACE, Session
from node.core.node_status import NodeStatus
from node.core.prompt import PaneRef, Typed
from node.core.row_policy import policy_hash
from node.core.timeline import Clock as RowClock
from node.door_rows import DoorRows
from node.egress import Egress
from node.egress_files import FileEgress
from node.equipment import Equipment
from node.exchanges import Exchanges
from node.exports import Exports
from node.files import Files
from node.grounds import Grounds
from node.hook_events import HookEvents
from node.inbox import Inbox
from node.ingress import Ingress
from node.launcher import Launcher
from node.ledger import Ledger
from node.lifecycle import Lifecycle
from node.log_keys import LogKeys, keep_note
from node.mcp_server import McpServer
from node.mesh import Mesh
from node.mirrors import Mirrors
from node.notices import ManyBells, Notices
from node.panel import DelegationsPanel
from node.parcels import Parcels
from node.platform import clocks, durability, paths, processes
from node.platform.keychain import Keychain, of_this_system
from node.proofs import Proofs
from node.screening import Reasons
from node.service import own_command
from node.sessions import Sessions
from node.signatures import NoteChecks
from node.store import RESERVE_BYTES, SqliteStore, StoreSettings
from node.terminal import Tmux
from node.transfer_log import TransferLog
from node.upkeep import Upkeep
from node.vault import Vault
from node.version import VERSION
from node.workrooms import Workrooms
from node.workspaces import Drivers, Place
from node.worktrees import Worktrees


class SystemClock:
    """Implements ports.Clock."""

    def wall_us(self) -> int:
        """UTC in microseconds."""
        return clocks.wall_us()

    def boottime_us(self) -> int:
        """Microseconds since boot, sleep included."""
        return clocks.boottime_us()


def entropy(size: int) -> bytes:
    """`size` random bytes of the operating system. Implements ports.Entropy."""
    return secrets.token_bytes(size)


def _row_clock() -> RowClock:
    return RowClock(ts_us=clocks.wall_us(), mono_us=clocks.boottime_us(), boot=clocks.boot_id())


class NoticeTyper:
    """Types notices with what the node knows of the session's agent; `hooks` comes once there is one to listen to."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self.hooks: HookEvents | None = None

    async def type_notice(self, session: Session, pane: PaneRef, text: str) -> Typed:
        """The line, by the safe order of the terminal; an agent's hook confirms the turn where it has one."""
        adapter, hooks = adapter_named(session.profile), self.hooks
        prompt = adapter.prompt
        if session.workspace != DEFAULT_WORKSPACE and (wrapper := processes.read(pane.pid)) is not None:
            # In a workspace of its own the agent is inside another program, which has the terminal.
            prompt = replace(prompt, programs=prompt.programs | {wrapper.name})
        if hooks is None or not adapter.hooks.events:
            return await self._tmux.type_notice(pane, text, prompt, lambda: session.state)
        return await self._tmux.type_notice(
            pane, text, prompt, lambda: hooks.state(session.id, pane), lambda: hooks.next_turn(session.id)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """All that a running node is made of."""

    home: Path
    node_id: str
    store: SqliteStore
    tmux: Tmux
    tmux_version: str
    ledger: Ledger
    exchanges: Exchanges
    sessions: Sessions
    approvals: Approvals
    attachments: Attachments
    launcher: Launcher
    workrooms: Workrooms
    notices: Notices
    audit: Audit
    checkpoints: Checkpoints
    proofs: Proofs
    upkeep: Upkeep
    exports: Exports
    agents: AgentSocket
    hooks: HookEvents
    files: Files
    mesh: Mesh
    mirrors: Mirrors
    inbox: Inbox
    egress: Egress
    file_egress: FileEgress
    ingress: Ingress
    panel: DelegationsPanel
    parcels: Parcels
    transfers: TransferLog
    bells: ManyBells
    screener: Classifier
    limits: Limits
    started_us: int
    stopping: asyncio.Event

    async def status(self) -> NodeStatus:
        """The node at a glance. Implements ports.Overview."""
        counts, rows, owed = await self.store.read(lambda r: (r.counts(), r.size(), r.owed_count()))
        alarms = await self.upkeep.alarms(clocks.wall_us())
        return NodeStatus(
            node_id=self.node_id,
            version=VERSION,
            pid=os.getpid(),
            started_us=self.started_us,
            home=str(self.home),
            sessions_running=counts.running,
            sessions_ended=counts.ended,
            exchanges_open=counts.open,
            questions_open=counts.asked,
            timeline_rows=rows,
            timeline_writable=self.store.writable,
            timeline_alarms=alarms,
            screen_engine=self.screener.engine,
            screen_version=await self.screener.version(),
            screen_scores=tuple(self.screener.scores),
            notices_owed=owed,
            agents_connected=self.agents.connected,
            tmux_version=self.tmux_version,
        )

    def stop(self) -> None:
        """Asks the node to stop. Implements ports.Overview."""
        self.stopping.set()


@asynccontextmanager
async def build(
    home: Path, settings: config.Config, *, find_keychain: Callable[[], Keychain | None] = of_this_system
) -> AsyncIterator[Parts]:
    """A node with all its parts, not yet at work; closed in order afterwards."""
    screener = Classifier()  # it reads its weights meanwhile
    run = paths.run_dir(home)
    vault = Vault(keychain=find_keychain(), chosen=settings.identity.keychain == "auto")
    generations = identity.kept(home / "identity", now_us=clocks.wall_us(), entropy=entropy, vault=vault)
    me = generations[-1]
    limits = settings.limits
    seen = epochs.read_seen(home / paths.SEEN_FILE)
    store = await SqliteStore.open(
        home / "node.db",
        # Of a new log; one that is there keeps its own.
        origin=epochs.first_origin(me.node_id, seen),
        row_clock=_row_clock,
        entropy=entropy,
        settings=StoreSettings(
            pragmas=durability.sqlite_pragmas(),
            reserve_bytes=RESERVE_BYTES,
            allow_gaps=settings.timeline.on_failure == "allow_with_gap",
        ),
    )
    try:
        await epochs.begin(store, me.node_id, seen, home / paths.SEEN_FILE)
        line = [generation.node_id for generation in generations]
        await store.write(lambda tx: succession.settle(tx, line))
        clock = SystemClock()
        resumable = frozenset(adapter.name for adapter in ADAPTERS if adapter.startable)
        ledger = Ledger(
            node=me.node_id,
            clock=clock,
            entropy=entropy,
            limits=limits,
            resumable=resumable,
            policy=policy_hash(limits, credentials=settings.screen.credentials),
        )
        tmux = Tmux(run / paths.TMUX_SOCKET)
        bells = ManyBells()
        files = Files(home=home, limits=limits)
        parcels = Parcels(home=home, limits=limits, clock=clock, quarantine=files)
        await parcels.load()
        inbox = Inbox(store=store, ledger=ledger, limits=limits, place=files.place)
        typer = NoticeTyper(tmux)
        notices = Notices(store=store, typer=typer, bells=bells, ledger=ledger, limits=limits)
        audit = Audit(store=store, poll_s=1.0)
        for ringer in (inbox.ring, notices.ring, audit.ring):
            bells.add(ringer)
        dual = settings.timeline.second_signature != "none"
        log_keys = LogKeys(home / "identity", me, entropy=entropy, vault=vault, dual=dual)
        checkpoints = Checkpoints(
            store=store, keys=log_keys, clock=clock, limits=limits, keep=partial(keep_note, home / paths.SEEN_FILE)
        )
        store.listen(checkpoints.ring)
        proofs = Proofs(store=store, keys=log_keys, checks=NoteChecks(), clock=clock, sign=checkpoints.sign)
        upkeep = Upkeep.of(store, settings.timeline, node=me.node_id, row_clock=_row_clock, sign=checkpoints.sign)
        redacts = settings.screen.credentials == "redact"
        broker = Broker(
            store=store,
            screener=screener,
            bells=bells,
            ledger=ledger,
            limits=limits,
            redacts=redacts,
        )
        lifecycle = Lifecycle(ledger, limits)
        approvals = Approvals(store=store, bells=bells, ledger=ledger, limits=limits)
        attachments = Attachments(
            store=store,
            screener=screener,
            files=files,
            approvals=approvals,
            bells=bells,
            ledger=ledger,
            limits=limits,
        )
        grounds = Grounds(
            store=store,
            screener=screener,
            trees=Worktrees(home, limits),
            approvals=approvals,
            ledger=ledger,
            limits=limits,
        )
        command, variables = own_command()
        # An agent hands on few variables: what this program needs to be found goes before its own words.
        helio = ("/usr/bin/env", *(f"{name}={value}" for name, value in variables.items()), *command)
        equipment = Equipment(folder=home / "agents", helio=helio if variables else command)
        environment = os.environ | {"HELIOGRAPH_HOME": str(home)}
        workrooms = Workrooms(store=store, drivers=Drivers(Place(home=home, run=run, limits=limits)), ledger=ledger)
        launcher = Launcher(
            store=store,
            terminals=tmux,
            grounds=grounds,
            reasons=Reasons(store=store, screener=screener, ledger=ledger),
            lifecycle=lifecycle,
            bells=bells,
            ledger=ledger,
            limits=limits,
            equipment=equipment,
            places=workrooms,
            environment=environment,
        )
        for ringer in (attachments.ring, launcher.ring):
            bells.add(ringer)
        exchanges = Exchanges(
            store=store,
            broker=broker,
            inbox=inbox,
            waits=inbox,
            stager=attachments,
            planner=launcher,
            ledger=ledger,
            limits=limits,
        )
        sessions = Sessions(
            store=store,
            screener=screener,
            terminals=tmux,
            lifecycle=lifecycle,
            bells=bells,
            ledger=ledger,
            limits=limits,
            equipment=equipment,
            places=workrooms,
            environment=environment,
        )
        hooks = HookEvents(
            tables={adapter.name: adapter.hooks for adapter in ADAPTERS},
            states=sessions,
            turn_ends=notices,
            store=store,
            clock=clock,
            limits=limits,
        )
        typer.hooks = hooks
        callers = Callers(tmux, os.getuid())
        mesh = Mesh(
            folder=home / "identity",
            generations=generations,
            vault=vault,
            store=store,
            screener=screener,
            ledger=ledger,
            clock=clock,
            entropy=entropy,
            limits=limits,
            config=settings.mesh,
        )
        await mesh.peers.load()
        mirrors = Mirrors(store=store, book=mesh.peers, link=mesh.links.link, ledger=ledger, limits=limits)
        await mirrors.load()
        egress = Egress(
            store=store, screener=screener, ledger=ledger, bells=bells, limits=limits, redacts=redacts
        )  # fmt: skip
        file_egress = FileEgress(store=store, egress=egress, claims=parcels, ledger=ledger, bells=bells, limits=limits)
        ingress = Ingress(
            store=store, broker=broker, screener=screener, trust=mesh.peers, ledger=ledger, bells=bells, limits=limits,
            claims=parcels,
        )  # fmt: skip
        panel = DelegationsPanel(store=store, limits=limits)
        # What crosses a mirror is queued by commits that ring nobody here, too.
        for heard in (egress.committed, ingress.committed):
            store.listen(heard)
        # Much that the panel shows changes without a bell.
        store.listen(panel.ring)

        yield Parts(
            home=home,
            node_id=me.node_id,
            store=store,
            tmux=tmux,
            tmux_version=await tmux.version(),
            ledger=ledger,
            exchanges=exchanges,
            sessions=sessions,
            approvals=approvals,
            attachments=attachments,
            workrooms=workrooms,
            launcher=launcher,
            notices=notices,
            audit=audit,
            checkpoints=checkpoints,
            proofs=proofs,
            upkeep=upkeep,
            exports=Exports(store=store, ledger=ledger, sign=checkpoints.sign),
            agents=AgentSocket(
                path=run / paths.AGENT_SOCKET,
                node_id=me.node_id,
                limits=limits,
                clock=clock,
                store=store,
                agents=exchanges,
                door=McpServer(exchanges, grounds),
                prove=callers.prove,
                hook=hooks.take,
                refused=DoorRows(store=store, ledger=ledger, limits=limits).refused,
            ),
            hooks=hooks,
            files=files,
            mesh=mesh,
            mirrors=mirrors,
            inbox=inbox,
            egress=egress,
            file_egress=file_egress,
            ingress=ingress,
            panel=panel,
            parcels=parcels,
            transfers=TransferLog(clock=clock, entropy=entropy, limits=limits),
            bells=bells,
            screener=screener,
            limits=limits,
            started_us=clocks.wall_us(),
            stopping=asyncio.Event(),
        )
    finally:
        await store.close()
