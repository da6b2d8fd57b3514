"""What the relay bench's tunnel ends in: a durable log of plain rows, as little as a durable relay can do.

A row is a number, a unique id, the exchange, the kind and the text. PostgreSQL gets the same row in that bench.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

from node.platform import durability

Row = tuple[str, str, str, str]
"""Id, exchange, kind and text."""

_TABLE: Final = """\
CREATE TABLE relayed (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, exchange TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL
)"""
_AS_A_NODE: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 8000",
    "PRAGMA cache_size = -32768",
)
# Rows of one statement. SQLite's module lets go of the interpreter for each statement, and gets it back only when the
# event loop's thread pauses: a statement a row costs more in waiting than in work.
_AT_ONCE: Final = 64


class PlainLog:
    """Appends rows; all that wait while the disk is busy go in one transaction."""

    def __init__(self, db: sqlite3.Connection, pool: ThreadPoolExecutor) -> None:
        self._db = db
        self._pool = pool
        self._waiting: list[tuple[Sequence[Row], asyncio.Future[None]]] = []
        self._ready = asyncio.Event()

    async def append(self, rows: Sequence[Row]) -> None:
        """Once the rows are on the disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        self._ready.set()
        await done

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._ready.wait()
            self._ready.clear()
            batch, self._waiting = self._waiting, []
            await loop.run_in_executor(self._pool, self._commit, [row for rows, _ in batch for row in rows])
            for _, done in batch:
                done.set_result(None)

    def _commit(self, rows: Sequence[Row]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            self._db.execute(_insert(len(some)), [value for row in some for value in row])
        self._db.execute("COMMIT")


@lru_cache(maxsize=_AT_ONCE)
def _insert(rows: int) -> str:
    return "INSERT INTO relayed (id, exchange, kind, body) VALUES (?, ?, ?, ?)" + ", (?, ?, ?, ?)" * (rows - 1)


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[PlainLog]:
    """A log in a new file, as durable as a node's database."""
    with ThreadPoolExecutor(1, thread_name_prefix="plain-log") as pool:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=2 * _AT_ONCE)
        try:
            for statement in (*_AS_A_NODE, *durability.sqlite_pragmas(), _TABLE):
                db.execute(statement)
            log = PlainLog(db, pool)
            async with asyncio.TaskGroup() as group:
                work = group.create_task(log.run())
                yield log
                work.cancel()
        finally:
            db.close()
