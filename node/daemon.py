"""The node: builds every part, runs them together, and takes them down in order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from node import config, lock, runs, tunnel_parts
from node.agent_catalogue import AgentClis
from node.bounded_log import BoundedLog
from node.core.errors import MeshError
from node.core.row_codes import ExtraKey, RowDecision, RowReason
from node.exchanges import People
from node.ledger import Ledger
from node.local_api import LocalApi
from node.local_api_mesh import MeshApi
from node.local_api_mirror import MirrorApi
from node.local_api_timeline import TimelineApi
from node.local_api_work import WorkApi
from node.parts import Parts, build, entropy
from node.platform import clocks, descriptors, heap, paths
from node.ports import Tx
from node.version import VERSION

_log = logging.getLogger(__name__)

REAP_AFTER_S = 20.0
"""How long a shim has after a restart of the node to say what became of its calls."""
_HOUSEKEEPING_S = 3600.0
_KEEP_KEYS_US = 7 * 24 * 3600 * 1_000_000


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


async def _tell_screen(parts: Parts) -> None:
    """Its weights are read beside the start, so that only then it is known which screen this is."""
    screen = await parts.screener.scan()
    try:
        await parts.store.write(lambda tx: runs.screen_known(tx, parts.ledger, screen))
    except MeshError as error:
        _log.warning("the timeline does not say which screen is at work: %s", error.message)


async def _archive_due(parts: Parts) -> None:
    due = await parts.store.read(lambda reader: reader.effects("archive", clocks.wall_us(), 32))
    for outbox, effect in due:
        await parts.sessions.archive_by_id(effect.session)
        await parts.store.write(partial(_done, outbox=outbox))


def _given_up(tx: Tx, *, ledger: Ledger, count: int) -> None:
    ledger.file_row(tx, RowDecision.EXPIRED, (), reason=RowReason.UNCLAIMED, extra={ExtraKey.COUNT: count})


def _done(tx: Tx, *, outbox: int) -> None:
    tx.effect_done(outbox)


async def _tidy(parts: Parts) -> None:
    """Drops old keys, content that peers left unclaimed, and copies of files which no message has any more."""
    given_up = await parts.parcels.sweep()
    if given_up:
        await parts.store.write(partial(_given_up, ledger=parts.ledger, count=given_up))
    await parts.files.sweep(await parts.store.read(lambda reader: reader.file_hashes()))
    await parts.store.write(lambda tx: tx.forget_before(clocks.wall_us() - _KEEP_KEYS_US))


async def serve(home: Path, ready: Callable[[], None]) -> None:
    """Runs the node at `home` until it is asked to stop; `ready` is called when people and agents can reach it.

    The port for peers is opened beside that: what may keep it closed does not keep the node from work.
    """
    settings = config.load(home)
    run = paths.run_dir(home)
    async with build(home, settings) as parts:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, parts.stop)
        tunnel = tunnel_parts.build(parts)
        await parts.store.write(lambda tx: runs.begun(tx, parts.ledger))
        try:
            await parts.tmux.forget_unstarted()
        except MeshError as error:
            _log.warning("what an earlier run left of terminals stays: %s", error.message)
        api = LocalApi(
            node_id=parts.node_id,
            store=parts.store,
            sessions=parts.sessions,
            people=People(parts.exchanges),
            timeline=TimelineApi(
                audit=parts.audit,
                exports=parts.exports,
                proofs=parts.proofs,
                retention=parts.upkeep.retention,
                erasures=parts.upkeep.erasures,
            ),
            overview=parts,
            limits=parts.limits,
            entropy=entropy,
            place=parts.files.place,
            work=WorkApi(
                store=parts.store, approvals=parts.approvals, workspaces=parts.workrooms, agents=AgentClis(os.environ)
            ),
            mesh=MeshApi(
                overview=parts.mesh, peers=parts.mesh.peers, pairing=parts.mesh.pairing, transfers=parts.transfers
            ),
            mirror=MirrorApi(mirrors=parts.mirrors, watch=tunnel.watched, relaying=tunnel.relays, limits=parts.limits),
        )
        async with api.serve(run / paths.LOCAL_SOCKET), asyncio.TaskGroup() as group:
            tick = float(parts.limits.tick_s)
            listening = asyncio.Event()
            work = [group.create_task(parts.agents.run(listening))]
            # Agents are started only when there is a socket for them, and one to show to workspaces.
            await listening.wait()
            work += [
                group.create_task(parts.workrooms.reopen()),
                group.create_task(parts.notices.run()),
                group.create_task(parts.attachments.run()),
                group.create_task(parts.launcher.run()),
                group.create_task(parts.mesh.run()),
                group.create_task(parts.mirrors.run()),
                group.create_task(parts.checkpoints.run()),
                group.create_task(tunnel.run()),
                group.create_task(_every(tick, parts.sessions.watch_once)),
                group.create_task(_every(tick, lambda: _archive_due(parts))),
                group.create_task(_every(tick, parts.hooks.sweep)),
                group.create_task(_every(_HOUSEKEEPING_S, lambda: _tidy(parts))),
                group.create_task(_every(_HOUSEKEEPING_S, parts.upkeep.tend)),
                group.create_task(_reap(parts)),
                group.create_task(_tell_screen(parts)),
            ]
            ready()
            await parts.stopping.wait()
            for task in work:
                task.cancel()
        try:
            await parts.store.write(lambda tx: runs.over(tx, parts.ledger))
            await parts.checkpoints.sign()
        except MeshError as error:
            _log.warning("the timeline does not say that the node stopped: %s", error.message)


def main(home: Path) -> int:
    """Runs the node in the foreground until SIGTERM, SIGINT or `helio down`; the exit code."""
    os.umask(0o077)
    descriptors.raise_limit()
    heap.keep_freed()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths.check_private(home)
    log = BoundedLog(sys.stderr, home / "log" / "node.log", config.load(home).limits.log_bytes)
    logging.basicConfig(level=logging.INFO, handlers=(log,))
    # Of a send that fails it shows a trace for each socket; discovery says what that means.
    logging.getLogger("zeroconf").setLevel(logging.ERROR)
    with lock.held(home / "node.lock"):
        _log.info("heliograph %s starts at %s", VERSION, home)
        asyncio.run(serve(home, lambda: _log.info("the node is up")))
        _log.info("the node has stopped")
    return 0
