"""The node: builds every part, runs them together, and takes them down in order."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from node import config, identity, lock
from node.agent_socket import AgentSocket
from node.agents import ADAPTERS, adapter_named
from node.approvals import Approvals
from node.attachments import Attachments
from node.audit import Audit
from node.broker import Broker
from node.callers import Callers
from node.classifier import RuleScreener
from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.model import Session
from node.core.prompt import PaneRef, Typed
from node.core.screen import ENGINE
from node.core.screen_rules import VERSION as SCREEN_VERSION
from node.core.timeline import Clock as RowClock
from node.core.timeline import Row, RowKind
from node.exchanges import Exchanges, People
from node.files import Files
from node.grounds import Grounds
from node.inbox import Inbox
from node.launcher import Launcher, LaunchSettings
from node.ledger import Ledger
from node.lifecycle import Lifecycle
from node.local_api import LocalApi
from node.mcp_server import McpServer
from node.notices import ManyBells, Notices
from node.platform import clocks, durability, paths
from node.ports import NodeStatus, Tx
from node.service import own_command
from node.sessions import Sessions
from node.store import SqliteStore, StoreSettings
from node.terminal import Tmux
from node.version import SOFTWARE, VERSION
from node.worktrees import Worktrees

_log = logging.getLogger(__name__)

REAP_AFTER_S = 20.0
"""How long a shim has after a restart of the node to say what became of its calls."""
_HOUSEKEEPING_S = 3600.0
_KEEP_KEYS_US = 7 * 24 * 3600 * 1_000_000


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


@dataclass(frozen=True, slots=True)
class NoticeTyper:
    """Types notices with what the node knows of the session's agent."""

    tmux: Tmux

    async def type_notice(self, session: Session, pane: PaneRef, text: str) -> Typed:
        """The line, by the safe order of the terminal."""
        return await self.tmux.type_notice(pane, text, adapter_named(session.profile).prompt, lambda: session.state)


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
    notices: Notices
    audit: Audit
    agents: AgentSocket
    limits: Limits
    started_us: int
    stopping: asyncio.Event

    async def status(self) -> NodeStatus:
        """The node at a glance. Implements ports.Overview."""
        counts, rows, owed = await self.store.read(lambda r: (r.counts(), r.size(), r.owed_count()))
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
            screen_engine=ENGINE,
            screen_version=SCREEN_VERSION,
            notices_owed=owed,
            agents_connected=self.agents.connected,
            tmux_version=self.tmux_version,
        )

    def stop(self) -> None:
        """Asks the node to stop. Implements ports.Overview."""
        self.stopping.set()


@asynccontextmanager
async def build(home: Path, settings: config.Config) -> AsyncIterator[Parts]:
    """A node with all its parts, not yet at work; closed in order afterwards."""
    run = paths.run_dir(home)
    me = identity.load_or_create(home / "identity")
    limits = settings.limits
    store = await SqliteStore.open(
        home / "node.db",
        origin=f"local/{me.node_id}/1",
        row_clock=_row_clock,
        entropy=entropy,
        settings=StoreSettings(pragmas=durability.sqlite_pragmas()),
    )
    try:
        clock = SystemClock()
        resumable = frozenset(adapter.name for adapter in ADAPTERS if adapter.startable)
        ledger = Ledger(node=me.node_id, clock=clock, entropy=entropy, limits=limits, resumable=resumable)
        tmux = Tmux(run / paths.TMUX_SOCKET)
        bells = ManyBells()
        files = Files(home=home, limits=limits)
        inbox = Inbox(store=store, ledger=ledger, limits=limits, place=files.place)
        notices = Notices(store=store, typer=NoticeTyper(tmux), bells=bells, ledger=ledger, limits=limits)
        audit = Audit(store=store, poll_s=1.0)
        for ringer in (inbox.ring, notices.ring, audit.ring):
            bells.add(ringer)
        broker = Broker(store=store, screener=RuleScreener(), bells=bells, ledger=ledger, limits=limits)
        lifecycle = Lifecycle(ledger)
        approvals = Approvals(store=store, ledger=ledger, limits=limits)
        attachments = Attachments(
            store=store,
            files=files,
            approvals=approvals,
            bells=bells,
            ledger=ledger,
            limits=limits,
        )
        grounds = Grounds(store=store, trees=Worktrees(home, limits), approvals=approvals, ledger=ledger, limits=limits)
        command, variables = own_command()
        launcher = Launcher(
            store=store,
            terminals=tmux,
            grounds=grounds,
            lifecycle=lifecycle,
            bells=bells,
            ledger=ledger,
            limits=limits,
            settings=LaunchSettings(
                folder=home / "agents",
                helio=command,
                environment=os.environ | variables | {"HELIOGRAPH_HOME": str(home)},
            ),
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
            terminals=tmux,
            lifecycle=lifecycle,
            bells=bells,
            ledger=ledger,
            limits=limits,
            environment=os.environ | {"HELIOGRAPH_HOME": str(home)},
        )
        callers = Callers(tmux, os.getuid())

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
            launcher=launcher,
            notices=notices,
            audit=audit,
            agents=AgentSocket(
                path=run / paths.AGENT_SOCKET,
                node_id=me.node_id,
                limits=limits,
                clock=clock,
                store=store,
                agents=exchanges,
                door=McpServer(exchanges, grounds),
                prove=callers.prove,
            ),
            limits=limits,
            started_us=clocks.wall_us(),
            stopping=asyncio.Event(),
        )
    finally:
        await store.close()


async def _every(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            await work()
        except MeshError as error:
            # The disk may be full or tmux slow: the next round may do better, and doors go on telling why not.
            _log.warning("%s", error.message)
        await asyncio.sleep(seconds)


async def _reap(parts: Parts) -> None:
    await asyncio.sleep(REAP_AFTER_S)
    given_back = await parts.exchanges.reap()
    if given_back:
        _log.info("%d calls of an earlier run were given back", given_back)


async def _archive_due(parts: Parts) -> None:
    due = await parts.store.read(lambda reader: reader.effects("archive", clocks.wall_us(), 32))
    for outbox, effect in due:
        await parts.sessions.archive_by_id(effect.session)
        await parts.store.write(partial(_done, outbox=outbox))


def _done(tx: Tx, *, outbox: int) -> None:
    tx.effect_done(outbox)


async def _forget(parts: Parts) -> None:
    await parts.store.write(lambda tx: tx.forget_before(clocks.wall_us() - _KEEP_KEYS_US))


async def _lifecycle_row(parts: Parts, decision: str) -> None:
    row = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision=decision, sw=SOFTWARE)
    await parts.store.write(lambda tx: tx.append(row))


async def serve(home: Path, ready: Callable[[], None]) -> None:
    """Runs the node at `home` until it is asked to stop; `ready` is called when all doors are open."""
    settings = config.load(home)
    run = paths.run_dir(home)
    async with build(home, settings) as parts:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, parts.stop)
        await _lifecycle_row(parts, "started")
        api = LocalApi(
            node_id=parts.node_id,
            store=parts.store,
            sessions=parts.sessions,
            people=People(parts.exchanges),
            audit=parts.audit,
            overview=parts,
            limits=parts.limits,
            entropy=entropy,
        )
        async with api.serve(run / paths.LOCAL_SOCKET), asyncio.TaskGroup() as group:
            tick = float(parts.limits.tick_s)
            listening = asyncio.Event()
            work = [
                group.create_task(parts.agents.run(listening)),
                group.create_task(parts.notices.run()),
                group.create_task(parts.attachments.run()),
                group.create_task(parts.launcher.run()),
                group.create_task(_every(tick, parts.sessions.watch_once)),
                group.create_task(_every(tick, lambda: _archive_due(parts))),
                group.create_task(_every(_HOUSEKEEPING_S, lambda: _forget(parts))),
                group.create_task(_reap(parts)),
            ]
            await listening.wait()
            ready()
            await parts.stopping.wait()
            for task in work:
                task.cancel()
        await _lifecycle_row(parts, "stopped")


def main(home: Path) -> int:
    """Runs the node in the foreground until SIGTERM, SIGINT or `helio down`; the exit code."""
    os.umask(0o077)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths.check_private(home)
    with lock.held(home / "node.lock"):
        _log.info("heliograph %s starts at %s", VERSION, home)
        asyncio.run(serve(home, lambda: _log.info("the node is up")))
        _log.info("the node has stopped")
    return 0
