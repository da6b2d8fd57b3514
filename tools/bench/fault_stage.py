"""The stage of the fault bench: two real nodes, the line between them, and agents at both."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path

from node.core.timeline import Clock as RowClock
from node.demo.puppet import Puppet
from node.local_client import LocalClient
from node.parts import entropy
from node.platform import clocks
from node.ports import NewSession, Tx
from node.store.reader import SqliteReader
from node.store.tx import SqliteTx
from tests.e2e.lab import HELIO, MESH, Lab, lab
from tools.bench.fault_agents import Asker, Record, Worker
from tools.bench.fault_line import Line
from tools.bench.harness import BenchError

PAIRS = 2
"""Askers, each with a worker of its own at the other node."""
_LOOK_S = 0.05
_READY_S = 60.0
# Short, so that what breaks is noticed and made anew soon; wide, so that only the relay sets the pace.
_LIMITS = """
[limits]
calls_per_minute = 1000000
open_exchanges = 100000
open_exchanges_per_peer = 100000
delivered_exchanges = 100000
link_beat_s = 1
link_dead_s = 3
link_retry_s = 1
link_dial_s = 1
notice_again_s = 3600
forwards_per_minute = {forwards}
"""


@dataclass(slots=True, kw_only=True)
class Stage:
    """The client's node mirrors the server's, over the line; what each end's agents had acknowledged and were given."""

    client: Lab
    server: Lab
    line: Line
    askers: list[Asker]
    workers: list[Worker]
    asked: Record
    answered: Record


async def _pair(server: Lab, client: Lab) -> None:
    """The product's own pairing, by its command line."""
    waits = await asyncio.create_subprocess_exec(
        *HELIO, "pair", "--headless", "--give", "request", "--name", "server", "--json",
        env=server.env, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    if waits.stdout is None:
        raise BenchError("helio pair has no output.")
    shown = json.loads(await waits.stdout.readline())
    await client.helio(
        "pair", f"127.0.0.1:{shown['port']}", "--want", "request", "--name", "client", "--code-stdin",
        text=f"{shown['code']}\n",
    )  # fmt: skip
    await waits.communicate()


def _change(at: Lab, change: Callable[[Tx], None]) -> None:
    """A change to the database of a node that does not run."""
    with closing(sqlite3.connect(at.home / "node.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        change(SqliteTx(db, _row_clock, entropy))
        db.execute("COMMIT")


def _row_clock() -> RowClock:
    return RowClock(ts_us=clocks.wall_us(), mono_us=clocks.boottime_us(), boot=clocks.boot_id())


def _only_over(tx: Tx, line: Line) -> None:
    """The client reaches its one peer over the line alone."""
    (peer,) = tx.peers()
    tx.put_peer(replace(peer, addresses=(f"127.0.0.1:{line.port}",)))


async def _first_start(at: Lab, forwards_per_minute: int) -> int:
    """Starts a node once for its identity and its port, which it keeps; the port."""
    await at.start()
    port = int(json.loads(await at.helio("peers", "--json"))["port"])
    settings = MESH.replace("\nport = 0", f"\nport = {port}") + _LIMITS.format(forwards=forwards_per_minute)
    (at.home / "config.toml").write_text(settings, encoding="utf-8")
    return port


def reading(at: Lab) -> closing[sqlite3.Connection]:
    """The database of a node, to be looked at beside it."""
    return closing(sqlite3.connect(f"file:{at.home / 'node.db'}?mode=ro", uri=True))


def queues(at: Lab) -> int:
    """How much of a node still waits to cross, to be fetched or to land."""
    with reading(at) as db:
        (rows,) = db.execute(
            "SELECT (SELECT COUNT(*) FROM relays) + (SELECT COUNT(*) FROM outbox WHERE kind IN ('fetch', 'land'))"
        ).fetchone()
    return int(rows)


async def _seat(at: Lab, stack: AsyncExitStack, nickname: str) -> tuple[Puppet, Path]:
    """A session with a scripted agent in a folder of its own, where it may take files from."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"helio-{nickname}-")))
    control = at.home / "run" / f"{nickname}.ctl"
    argv = (sys.executable, "-m", "node.demo.agent", "--name", nickname, "--control", str(control))
    async with LocalClient(at.home) as client:
        await client.run_session(NewSession(argv=argv, cwd=str(folder), env=tuple(at.env.items()), nickname=nickname))
    return await stack.enter_async_context(Puppet(control)), folder


async def _askable(at: Lab, wanted: int) -> None:
    """Until the client has been told of so many sessions of the server's."""
    async with asyncio.timeout(_READY_S):
        while True:
            with reading(at) as db:
                found = SqliteReader(db).remote_sessions()
            if len([one for one in found if one.askable]) >= wanted:
                return
            await asyncio.sleep(_LOOK_S)


@asynccontextmanager
async def stage(seed: int, *, pause_s: float, forwards_per_minute: int) -> AsyncIterator[Stage]:
    """Both nodes at work, mirrored over the line, with idle agents; all of it is gone afterwards."""
    async with AsyncExitStack() as stack:
        server, client = (await stack.enter_async_context(lab()), await stack.enter_async_context(lab()))
        line = Line(await _first_start(server, forwards_per_minute))
        await _first_start(client, forwards_per_minute)
        await stack.enter_async_context(line.serve())
        await _pair(server, client)
        for at in (server, client):
            await at.stop()
        _change(client, lambda tx: _only_over(tx, line))
        for at in (server, client):
            await at.start()
        await client.helio("mirror", "add", "server")
        asked, answered = Record(), Record()
        workers, askers = [], []
        for number in range(PAIRS):
            name = f"worker{number}"
            puppet, folder = await _seat(server, stack, name)
            workers.append(Worker(name, puppet, folder, answered, seed + number))
            name = f"asker{number}"
            puppet, folder = await _seat(client, stack, name)
            to = f"@worker{number}"
            askers.append(Asker(name, puppet, folder, asked, seed - number, to=to, pause_s=pause_s))
        await _askable(client, PAIRS)
        yield Stage(
            client=client, server=server, line=line, askers=askers, workers=workers, asked=asked, answered=answered
        )
