"""The writer thread with group commit, and the reader beside it.

Commands which wait together commit together: the writer takes all that queued while the last commit was on its way
to the disk, runs them and commits once. A command that raises undoes its own part only: if it had written anything, the
batch is rolled back and run again with a savepoint around each, so a command may run twice and must not touch anything
but its transaction. When the commit itself fails, all of them fail with AUDIT_UNAVAILABLE and nothing has happened.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from node.core.errors import ErrorCode, MeshError
from node.core.timeline import Clock as RowClock
from node.ports import Entropy, Reader, Tx
from node.store.migrate import migrate
from node.store.reader import SqliteReader
from node.store.timeline import begin_log, fill_tiles
from node.store.tx import SqliteTx

T = TypeVar("T")

_log = logging.getLogger(__name__)
_COMMANDS_OWN = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How the file is opened; `pragmas` are the platform's (fullfsync on macOS)."""

    pragmas: tuple[str, ...] = ()
    max_pending: int = 4096
    max_batch: int = 512
    busy_ms: int = 5000


class _Pending(Generic[T]):
    """A command that waits for its commit."""

    __slots__ = ("error", "future", "result", "then", "work")

    def __init__(
        self, work: Callable[[Tx], T], future: asyncio.Future[T], then: Callable[[T], None] | None = None
    ) -> None:
        self.work = work
        self.future = future
        self.then = then
        self.result: T
        self.error: BaseException | None = None

    def run(self, tx: SqliteTx) -> None:
        self.result = self.work(tx)

    def resolve(self) -> None:
        if self.error is None and self.then is not None:
            self.then(self.result)
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


def unavailable(error: sqlite3.Error | MeshError) -> MeshError:
    """A database error as the refusal that users see."""
    return MeshError(
        ErrorCode.AUDIT_UNAVAILABLE,
        f"The node cannot write its timeline ({error}), so nothing was relayed. Free disk space or mend the disk; "
        "`helio doctor` shows which.",
    )


class SqliteStore:
    """Store over one SQLite file; made by `open`, ended by `close`. Implements ports.Store."""

    def __init__(
        self,
        writer: sqlite3.Connection,
        reader: sqlite3.Connection,
        settings: StoreSettings,
        row_clock: Callable[[], RowClock],
        entropy: Entropy,
    ) -> None:
        self._writer = writer
        self._reader = SqliteReader(reader)
        self._reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="helio-read")
        self._settings = settings
        self._row_clock = row_clock
        self._entropy = entropy
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Pending[object]] = deque()
        self._gathered: list[_Pending[object]] = []
        self._ready = threading.Condition()
        self._closing = False
        self._last_error: str | None = None
        self._told: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._write_loop, name="helio-write", daemon=True)
        self._thread.start()

    @classmethod
    async def open(
        cls, path: Path, *, origin: str, row_clock: Callable[[], RowClock], entropy: Entropy, settings: StoreSettings
    ) -> SqliteStore:
        """Opens (and makes or migrates) the file; AUDIT_UNAVAILABLE when it cannot be used."""
        try:
            writer = await asyncio.to_thread(_connect, path, settings, origin)
            reader = await asyncio.to_thread(_connect_reader, path, settings)
        except sqlite3.Error as error:
            raise MeshError(
                ErrorCode.AUDIT_UNAVAILABLE,
                f"The database {path} cannot be opened ({error}). If the disk is full or read-only, mend that; if the "
                "file is damaged, move it away with its -wal file and keep both as evidence.",
            ) from error
        return cls(writer, reader, settings, row_clock, entropy)

    def listen(self, told: Callable[[], None]) -> None:
        """`told` is called on the event loop after every commit, and does no more than note it."""
        self._told.append(told)

    @property
    def writable(self) -> bool:
        """Whether the last commit worked."""
        return self._last_error is None

    async def write(self, work: Callable[[Tx], T], then: Callable[[T], None] | None = None) -> T:
        """Runs `work` on the writer and returns its result once it is on disk. Safe to cancel: the work still runs.

        `then` is called with the result after the commit, on the event loop, whether or not the caller still waits.
        """
        future: asyncio.Future[T] = self._loop.create_future()
        if self._closing:
            raise MeshError(ErrorCode.NODE_NOT_RUNNING, "The node is stopping; try again when it is up.")
        if len(self._queue) + len(self._gathered) >= self._settings.max_pending:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{self._settings.max_pending} commands already wait for the disk; try again in a moment.",
                {"limit": self._settings.max_pending, "passes": True},
            )
        if not self._gathered:
            # Handed over after everything that is ready to run now, so that commands of one moment share a commit.
            self._loop.call_soon(self._hand_over)
        self._gathered.append(_Pending(work, future, then))  # type: ignore[arg-type]  # a list of mixed results
        return await future

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Runs `work` on a consistent view of what is committed."""
        if self._closing:
            raise MeshError(ErrorCode.NODE_NOT_RUNNING, "The node is stopping; try again when it is up.")
        try:
            return await self._loop.run_in_executor(self._reading, self._reader.consistently, work)
        except sqlite3.Error as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE, f"The node's database cannot be read ({error}); run `helio doctor`."
            ) from error

    async def close(self) -> None:
        """Commits what waits, then closes the file."""
        self._hand_over()
        with self._ready:
            self._closing = True
            self._ready.notify()
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._reading.shutdown)
        self._reader.close()
        self._writer.close()

    def _hand_over(self) -> None:
        with self._ready:
            self._queue.extend(self._gathered)
            self._gathered.clear()
            self._ready.notify()

    def _write_loop(self) -> None:
        while True:
            with self._ready:
                while not self._queue and not self._closing:
                    self._ready.wait()
                if not self._queue:
                    return
                batch = [self._queue.popleft() for _ in range(min(len(self._queue), self._settings.max_batch))]
            self._commit(batch)
            try:
                self._loop.call_soon_threadsafe(self._resolve, batch)
            except RuntimeError:
                # The loop is gone: nobody waits for these results any more, and they are on disk.
                _log.warning("%d commands were committed while the node was stopping", len(batch))

    def _commit(self, batch: list[_Pending[object]]) -> None:
        try:
            if not self._try(batch, guarded=False):
                # A command failed after it had written: once more, each with a savepoint of its own.
                self._try(batch, guarded=True)
            self._last_error = None
        except (sqlite3.Error, MeshError) as error:
            # A MeshError here is no command's: the head as stored does not fit itself.
            self._fail(batch, error)

    def _resolve(self, batch: list[_Pending[object]]) -> None:
        for pending in batch:
            pending.resolve()
        for told in self._told:
            told()

    def _try(self, batch: list[_Pending[object]], *, guarded: bool) -> bool:
        """Commits what succeeds; unguarded, it undoes all and gives False when a command that failed had written."""
        self._writer.execute("BEGIN IMMEDIATE")
        tx = SqliteTx(self._writer, self._row_clock, self._entropy)
        done = 0
        for pending in batch:
            log, changes = tx.log, self._writer.total_changes
            pending.error = None
            if guarded:
                self._writer.execute("SAVEPOINT command")
            try:
                pending.run(tx)
            except BaseException as error:
                if isinstance(error, sqlite3.Error) and not isinstance(error, _COMMANDS_OWN):
                    # The disk, not the command: nothing of this batch may count.
                    raise
                pending.error = error
                tx.log = log
                if guarded:
                    self._writer.execute("ROLLBACK TO command")
                elif self._writer.total_changes != changes:
                    self._writer.execute("ROLLBACK")
                    return False
            else:
                done += 1
            if guarded:
                self._writer.execute("RELEASE command")
        if done:
            tx.save_head()
            self._writer.execute("COMMIT")
        else:
            self._writer.execute("ROLLBACK")
        return True

    def _fail(self, batch: list[_Pending[object]], error: sqlite3.Error | MeshError) -> None:
        self._last_error = str(error)
        _log.error("a commit failed: %s", error)
        if self._writer.in_transaction:
            try:
                self._writer.execute("ROLLBACK")
            except sqlite3.Error:
                _log.exception("rolling back failed too")
        for pending in batch:
            if pending.error is None:
                pending.error = unavailable(error)


def _open(path: Path, settings: StoreSettings) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=settings.busy_ms / 1000, cached_statements=512
    )
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        # Ids are random, so rows dirty pages all over their indexes: fewer, larger checkpoints write each page once.
        "PRAGMA wal_autocheckpoint = 8000",
        "PRAGMA cache_size = -32768",
        *settings.pragmas,
    ):
        connection.execute(statement)
    return connection


def _connect(path: Path, settings: StoreSettings, origin: str) -> sqlite3.Connection:
    path.touch(mode=0o600, exist_ok=True)
    connection = _open(path, settings)
    connection.execute("PRAGMA secure_delete = ON")
    migrate(connection)
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT 1 FROM timeline_logs").fetchone() is None:
        begin_log(connection, 0, origin)
    fill_tiles(connection)
    connection.execute("COMMIT")
    return connection


def _connect_reader(path: Path, settings: StoreSettings) -> sqlite3.Connection:
    connection = _open(path, settings)
    connection.execute("PRAGMA query_only = ON")
    return connection
