"""The writer thread with group commit, and the reader beside it.

Commands which wait together commit together: the writer takes all that queued while the last commit was on its way
to the disk, runs them and commits once. A command that raises undoes its own part only: if it had written anything, the
batch is rolled back and run again with a savepoint around each, so a command may run twice and must not touch anything
but its transaction. When the commit itself fails, all of them fail with AUDIT_UNAVAILABLE and nothing has happened.
From then on nothing but rows of refusals is tried, until a commit works again: `guard` keeps count.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Generic, TypeVar

from node.core.errors import ErrorCode, MeshError
from node.core.row_codes import RowDecision
from node.core.timeline import Clock as RowClock
from node.ports import Entropy, Reader, Tx
from node.store.guard import DISPLACED, Guard, Trouble, is_damage
from node.store.opening import StoreSettings, connect_reader, connect_writer, keep_copy
from node.store.reader import SqliteReader
from node.store.timeline import LOG_BROKEN
from node.store.tx import SqliteTx

T = TypeVar("T")

_log = logging.getLogger(__name__)
# So long a scrub waits for whoever reads; reads are short, and commands wait meanwhile.
_SCRUB_MS = 50
_COMMANDS_OWN = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError)


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


def unavailable(error: sqlite3.Error | MeshError | str, words: str) -> MeshError:
    """A database error as the refusal that users see."""
    return MeshError(
        ErrorCode.AUDIT_UNAVAILABLE,
        f"The node cannot write its timeline ({error}), so nothing was relayed. {words}",
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
        guard: Guard,
    ) -> None:
        self._writer = writer
        self._reader = SqliteReader(reader)
        self._reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="helio-read")
        self._settings = settings
        self._row_clock = row_clock
        self._entropy = entropy
        self._guard = guard
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Pending[object]] = deque()
        self._gathered: list[_Pending[object]] = []
        self._ready = threading.Condition()
        self._closing = False
        # A process that was killed may have deleted something and not come to empty the log.
        self._dirty = True
        self._told: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._write_loop, name="helio-write", daemon=True)
        self._thread.start()

    @classmethod
    async def open(
        cls, path: Path, *, origin: str, row_clock: Callable[[], RowClock], entropy: Entropy, settings: StoreSettings
    ) -> SqliteStore:
        """Opens (and makes or migrates) the file; AUDIT_UNAVAILABLE when it cannot be used."""
        try:
            writer = await asyncio.to_thread(connect_writer, path, settings, origin)
            reader = await asyncio.to_thread(connect_reader, path, settings)
            guard = await asyncio.to_thread(Guard, path, settings.reserve_bytes, row_clock)
        except (sqlite3.Error, OSError) as error:
            raise MeshError(
                ErrorCode.AUDIT_UNAVAILABLE,
                f"The database {path} cannot be opened ({error}). If the disk is full or read-only, mend that; if the "
                "file is damaged, move it away with its -wal file and keep both as evidence.",
            ) from error
        return cls(writer, reader, settings, row_clock, entropy, guard)

    def listen(self, told: Callable[[], None]) -> None:
        """`told` is called on the event loop after every commit, and does no more than note it."""
        self._told.append(told)

    @property
    def writable(self) -> bool:
        """Whether commits work, as far as it is known."""
        return self._guard.trouble is None

    @property
    def trouble(self) -> Trouble | None:
        """Why nothing can be written, None while it can."""
        return self._guard.trouble

    @property
    def damage(self) -> str | None:
        """What was said of damaged bytes that a command came upon since the start."""
        return self._guard.damage

    @property
    def reserved(self) -> bool:
        """Whether disk space is put by for the rows of refusals."""
        return self._guard.reserved

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

    async def scrub(self) -> bool:
        """Empties the write-ahead log, so that nothing that was deleted stands in the files; False when it could not.

        Then somebody reads an older state, and the next time that the writer has nothing to do it tries again.
        """
        self._dirty = True
        await self.write(lambda _tx: None)
        return not self._dirty

    async def close(self) -> None:
        """Commits what waits, then closes the file."""
        self._hand_over()
        with self._ready:
            self._closing = True
            self._ready.notify()
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._reading.shutdown)
        if (trouble := self._guard.trouble) is not None and trouble.reason in DISPLACED:
            await asyncio.to_thread(self._keep_in_hand)
        self._reader.close()
        self._writer.close()
        self._guard.close()

    def _keep_in_hand(self) -> None:
        """The database that is open has no name any more: it is copied to one, or its rows would be gone with us."""
        path = self._guard.in_hand
        try:
            keep_copy(self._writer, path)
        except (sqlite3.Error, OSError) as error:
            _log.error("the database that was in use could not be kept as %s: %s", path, error)
        else:
            _log.warning("the database that was in use is kept as %s", path)

    def _hand_over(self) -> None:
        with self._ready:
            self._queue.extend(self._gathered)
            self._gathered.clear()
            self._ready.notify()

    def _write_loop(self) -> None:
        self._empty_log()
        while True:
            with self._ready:
                if not self._queue and not self._closing:
                    self._ready.wait(self._settings.look_s)
                idle = not self._queue
                if idle and self._closing:
                    return
                batch = [self._queue.popleft() for _ in range(min(len(self._queue), self._settings.max_batch))]
            if idle:
                self._look()
                continue
            self._commit(batch)
            try:
                self._loop.call_soon_threadsafe(self._resolve, batch)
            except RuntimeError:
                # The loop is gone: nobody waits for these results any more, and they are on disk.
                _log.warning("%d commands were committed while the node was stopping", len(batch))

    def _look(self) -> None:
        """What an idle writer finds of its files; the end of a trouble that nobody came upon."""
        try:
            self._guard.check()
        except MeshError as error:
            self._guard.failed(error)
        else:
            if self._recovered():
                self._empty_log()

    def _commit(self, batch: list[_Pending[object]]) -> None:
        if not self._recovered():
            self._refuse(batch)
            return
        try:
            if not self._try(batch, guarded=False):
                # A command failed after it had written: once more, each with a savepoint of its own.
                self._try(batch, guarded=True)
        except (sqlite3.Error, MeshError) as error:
            # A MeshError here is no command's: the head as stored does not fit itself, or the files are others.
            self._fail(batch, error)
        else:
            self._empty_log()

    def _empty_log(self) -> None:
        """If asked for, writes all of the write-ahead log into the database and empties it, unless one reads it."""
        if not self._dirty:
            return
        try:
            self._guard.check()
            self._writer.execute(f"PRAGMA busy_timeout = {_SCRUB_MS}")
            (busy, _, _) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._writer.execute(f"PRAGMA busy_timeout = {self._settings.busy_ms}")
            self._guard.written()
        except (sqlite3.Error, MeshError) as error:
            self._undo(error)
        else:
            self._dirty = bool(busy)

    def _recovered(self) -> bool:
        """Whether commits work: after a trouble, once the row that says so is on the disk."""
        trouble = self._guard.trouble
        if trouble is None:
            return True
        if not self._guard.may_end():
            return False
        try:
            tx = self._begin()
            tx.append(self._guard.row(trouble))
            self._end(tx)
        except (sqlite3.Error, MeshError) as error:
            self._undo(error)
            return False
        self._guard.ended()
        return True

    def _refuse(self, batch: list[_Pending[object]]) -> None:
        """Commits rows of refusals as far as there is room for them, and refuses everything else."""
        try:
            self._try(batch, guarded=True, refusals=self._guard.rows_left)
        except (sqlite3.Error, MeshError) as error:
            self._fail(batch, error)

    def _resolve(self, batch: list[_Pending[object]]) -> None:
        for pending in batch:
            pending.resolve()
        for told in self._told:
            told()

    def _try(self, batch: list[_Pending[object]], *, guarded: bool, refusals: int | None = None) -> bool:
        """Commits what succeeds; unguarded, it undoes all and gives False when a command that failed had written.

        With `refusals` only so many commands count that do nothing but write the row of a refusal.
        """
        tx = self._begin()
        done = 0
        for pending in batch:
            log, changes = tx.log, self._writer.total_changes
            tx.appended.clear()
            pending.error = None
            if guarded:
                self._writer.execute("SAVEPOINT command")
            try:
                self._run(pending, tx, room=None if refusals is None else refusals - done)
            except BaseException as error:
                pending.error = self._own(error, guarded=guarded)
                if pending.error is None:
                    raise
                tx.log = log
                if guarded:
                    self._writer.execute("ROLLBACK TO command")
                elif self._writer.total_changes != changes or pending.error is not error:
                    self._writer.execute("ROLLBACK")
                    return False
            else:
                done += 1
            if guarded:
                self._writer.execute("RELEASE command")
        if done:
            self._end(tx)
        else:
            self._writer.execute("ROLLBACK")
        self._guard.refused(rows=done)
        return True

    def _run(self, pending: _Pending[object], tx: SqliteTx, *, room: int | None) -> None:
        """Runs a command; with `room` for so many rows of refusals it is refused if it does anything but write one."""
        changes, for_rows = self._writer.total_changes, tx.changes_for_rows
        pending.run(tx)
        if room is None:
            return
        other = self._writer.total_changes - changes - (tx.changes_for_rows - for_rows)
        refuses = bool(tx.appended) and not other and all(row.decision == RowDecision.REFUSED for row in tx.appended)
        self._guard.refused(counted=int(refuses))
        if not refuses or room <= 0:
            raise self._refusal()

    def _begin(self) -> SqliteTx:
        self._writer.execute("BEGIN IMMEDIATE")
        return SqliteTx(self._writer, self._row_clock, self._entropy, allow_gaps=self._settings.allow_gaps)

    def _end(self, tx: SqliteTx) -> None:
        """Commits, unless the files are no longer those that were opened."""
        tx.save_head()
        self._guard.check()
        self._writer.execute("COMMIT")
        self._guard.written()

    def _own(self, error: BaseException, *, guarded: bool) -> BaseException | None:
        """The error as the command's own; None when it is the disk's, and nothing of the batch may count."""
        if isinstance(error, MeshError) and error.details.get("reason") == LOG_BROKEN:
            return None
        if not isinstance(error, sqlite3.Error) or isinstance(error, _COMMANDS_OWN):
            return error
        if not is_damage(error):
            return None
        # Others of the batch may not come upon the damaged bytes.
        if guarded:
            self._guard.met(error)
        return unavailable(error, "Bytes of its database are damaged; what does not touch them goes on.")

    def _refusal(self) -> MeshError:
        trouble = self._guard.trouble
        return unavailable("", "") if trouble is None else unavailable(trouble.error, trouble.words)

    def _fail(self, batch: list[_Pending[object]], error: sqlite3.Error | MeshError) -> None:
        self._undo(error)
        for pending in batch:
            if pending.error is None:
                pending.error = self._refusal()

    def _undo(self, error: sqlite3.Error | MeshError) -> None:
        self._guard.failed(error)
        if self._writer.in_transaction:
            try:
                self._writer.execute("ROLLBACK")
            except sqlite3.Error:
                _log.exception("rolling back failed too")
