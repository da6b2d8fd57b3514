"""A node that is watched, and many watchers of it, each side in a process of its own.

    python -m tools.bench.watch_node server|client FOLDER

Both read their keys from FOLDER/keys.json. The server prints its port; then each line of its input is a stretch of
updates, and its answer what that cost. Each line of the client's input is a stretch, too: it answers with what arrived.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from node.core.ids import make_id
from node.core.limits import Limits
from node.core.mesh import Grant, Peer
from node.core.model import DEFAULT_WORKSPACE, AgentState, Session, SessionStatus
from node.core.panel import PanelSnapshot
from node.core.timeline import Clock as RowClock
from node.grpc_setup import aio
from node.identity import AuthorityFile
from node.ledger import Ledger
from node.panel import DelegationsPanel
from node.parts import SystemClock, entropy
from node.platform import clocks, durability, heap
from node.ports import Tx
from node.rpc_client import LinkKeeper
from node.rpc_roots import Roots
from node.rpc_server import MeshServer
from node.store import SqliteStore, StoreSettings
from tools.bench import file_node, harness
from tunnel import codec
from tunnel.codec import Part, WatchWish
from tunnel.session.watch_server import METHOD, WatchServer

WATCHERS: Final = 500
SESSIONS: Final = 50
# How many rows one update changes, which makes it about 2 KB.
CHANGED: Final = 8
LIMITS: Final = Limits(
    mesh_calls_per_peer=4 * WATCHERS, watches_per_minute=4 * WATCHERS, mesh_connections=4 * WATCHERS, link_dead_s=60
)
_MICRO: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """So many updates a second for so many seconds; 0 for none."""

    per_s: int
    seconds: int


class Watched:
    """The server's inside: real store, panel and both halves of what serves it."""

    def __init__(self, store: SqliteStore, panel: DelegationsPanel) -> None:
        self._store = store
        self._panel = panel
        self._sessions = [
            Session(
                id=make_id(number.to_bytes(10, "big")), nickname=f"agent-{number}", title="t" * 120,
                workspace=DEFAULT_WORKSPACE, profile="claude", argv=("claude",), cwd="/", pane=None,
                status=SessionStatus.RUNNING, state=AgentState.IDLE, created_us=1, changed_us=1,
            )
            for number in range(SESSIONS)
        ]  # fmt: skip

    async def update(self) -> None:
        """One commit; its rows carry the moment as the time of their change."""
        now_us = clocks.wall_us()
        for at in range(CHANGED):
            self._sessions[at] = replace(self._sessions[at], changed_us=now_us)
        await self._store.write(partial(_put, sessions=tuple(self._sessions[:CHANGED])))

    async def begin(self) -> None:
        """All rows for the first time."""
        await self._store.write(partial(_put, sessions=tuple(self._sessions)))

    async def play(self, stretch: Stretch) -> dict[str, float]:
        """Updates for the length of a stretch; the processor time that the process used, and its memory after it."""
        gc.collect()
        cpu, now = time.process_time(), time.perf_counter()
        end, due, updates = now + stretch.seconds, now, 0
        while stretch.per_s and due < end:
            await self.update()
            updates += 1
            due += 1 / stretch.per_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await asyncio.sleep(max(0.0, end - time.perf_counter()))
        return {"cpu_s": time.process_time() - cpu, "updates": updates, "resident_mb": resident_now_mb()}


def _put(tx: Tx, *, sessions: Sequence[Session]) -> None:
    for session in sessions:
        tx.put_session(session)


async def serve(folder: Path) -> None:
    """The server, at a free port, until standard input ends."""
    home = folder / "server"
    store = await SqliteStore.open(
        home / "node.db",
        origin="local/bench/1",
        row_clock=lambda: RowClock(ts_us=clocks.wall_us(), mono_us=clocks.boottime_us(), boot="bench"),
        entropy=entropy,
        settings=StoreSettings(pragmas=durability.sqlite_pragmas()),
    )
    client = file_node.peer_of(folder, "client")
    trust = file_node.Known(replace(client, given=frozenset({Grant.MIRROR_PANEL})))
    clock, own = SystemClock(), file_node.own_key(folder, "server")
    keeper = AuthorityFile(folder / "identity", clock=clock, entropy=entropy)
    roots = Roots(trust=trust, limits=LIMITS, clock=clock, entropy=entropy, keeper=keeper)
    mesh = MeshServer(own=own, trust=trust, calls=trust, clock=clock, limits=LIMITS, roots=roots)
    panel = DelegationsPanel(store=store, limits=LIMITS)
    store.listen(panel.ring)
    ledger = Ledger(node="bench", clock=clock, entropy=entropy, limits=LIMITS)
    server = WatchServer(
        gate=mesh.gate, panel=panel, store=store, ledger=ledger, trust=trust, calls=trust, clock=clock, limits=LIMITS
    )  # fmt: skip
    store.listen(server.committed)
    watched = Watched(store, panel)
    await watched.begin()
    async with AsyncExitStack() as run:
        port = await run.enter_async_context(mesh.serve("127.0.0.1", 0, server.handlers()))
        async with asyncio.TaskGroup() as group:
            work = [group.create_task(one.run()) for one in (panel, server)]
            print(port, flush=True)
            while line := await asyncio.to_thread(sys.stdin.readline):
                print(json.dumps(await watched.play(Stretch(**json.loads(line)))), flush=True)
            for task in work:
                task.cancel()
    await store.close()


@dataclass(slots=True)
class Seen:
    """What arrived in a stretch: how long each delivery took, in milliseconds."""

    delays_ms: list[float] = field(default_factory=list)

    def take(self, data: bytes) -> None:
        """A frame, with the moment of its update in it."""
        frame = codec.frame_from_wire(data)
        if isinstance(frame, Part):
            rows = frame.whole.rows if isinstance(frame.whole, PanelSnapshot) else frame.whole.changed
            newest = max((row.changed_us for row in rows), default=0)
            if newest > 1:
                self.delays_ms.append((clocks.wall_us() - newest) / 1_000)


async def watch_all(folder: Path) -> None:
    """The client: opens all streams, then does what standard input says, line by line."""
    port = json.loads(await asyncio.to_thread(sys.stdin.readline))["port"]
    peer = file_node.peer_of(folder, "server", f"127.0.0.1:{port}")
    seen, ready = Seen(), asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        work = [group.create_task(_watch(folder, peer, seen, ready)) for _ in range(WATCHERS)]
        for _ in range(WATCHERS):
            await ready.acquire()
        print(json.dumps({"watchers": WATCHERS}), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            delays, seen.delays_ms = seen.delays_ms, []
            told = {"deliveries": len(delays), "p50_ms": 0.0, "p99_ms": 0.0}
            if delays:
                told |= {"p50_ms": harness.percentile(delays, 0.5), "p99_ms": harness.percentile(delays, 0.99)}
            print(json.dumps(told), flush=True)
        for task in work:
            task.cancel()


async def _watch(folder: Path, peer: Peer, seen: Seen, ready: asyncio.Semaphore) -> None:
    """One watcher, with a connection of its own."""
    links = LinkKeeper(
        own=(file_node.own_key(folder, "client"),), book=file_node.Known(peer), clock=SystemClock(), entropy=entropy,
        limits=LIMITS,
    )  # fmt: skip
    links.wanted((peer,))
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(links.run())
        count = 0
        while not links.link(peer.id).address:
            count = await links.next_link(count)
        method: aio.UnaryStreamMultiCallable[bytes, bytes] = links.channel(peer.id).unary_stream(METHOD)
        call = method(codec.wish_to_wire(WatchWish(panel=True, timeline=False)))
        try:
            first = True
            async for data in call:
                seen.take(data)
                if first:
                    ready.release()
                    first = False
        finally:
            call.cancel()
            keeping.cancel()


def resident_now_mb() -> float:
    """The memory that this process has in use, in MB; where the system does not say, the most it ever had."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return file_node.resident_mb()
    return int(status.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    # As the daemon does.
    heap.keep_freed()
    asyncio.run({"server": serve, "client": watch_all}[sys.argv[1]](Path(sys.argv[2])))
