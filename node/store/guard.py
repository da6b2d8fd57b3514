"""What the store does while it cannot write: it refuses, keeps count, says so in a row as soon as one can be written.

A refusal is itself to be on record. Disk space is put by for that: it is given up when the disk is full, so that the
first refusals are rows of their own, and taken back before anything but a refusal is written again.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from node.core.canonical import JsonValue
from node.core.errors import ErrorCode, MeshError
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason
from node.core.timeline import Clock as RowClock
from node.core.timeline import Row, RowKind
from node.platform.reserve import Reserve
from node.platform.watched import WatchedFile
from node.store.timeline import LOG_BROKEN
from node.version import SOFTWARE

RESERVE_NAME: Final = "timeline.reserve"
RESERVE_BYTES: Final = 16_777_216
MAX_REFUSAL_ROWS: Final = 64
"""So many refusals are rows by themselves while nothing else can be written; further ones are only counted."""

_log = logging.getLogger(__name__)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SPARE_BYTES: Final = 4_194_304
_PROBE_BYTES: Final = 4_096
_AGAIN: Final = "messages are relayed again by themselves once that is mended."
_RESTART: Final = "then run: helio down && helio up, after which the node says what it finds."
DISPLACED: Final = frozenset({"removed", "replaced"})
WORDS: Final = {
    "disk_full": f"The disk is full. Free some space; {_AGAIN}",
    "read_only": f"The disk is read-only. Mend the disk; {_AGAIN}",
    "locked": f"Another program holds the database. End that program; {_AGAIN}",
    "disk_failed": f"The disk failed. See what is wrong with it; {_AGAIN}",
    "damaged": f"The database is damaged. Keep a copy of the node's folder as it is, {_RESTART}",
    "removed": "The database's file was removed while the node runs. Put that very file back; or keep a copy of the "
    f"node's folder as it is, {_RESTART} What is open is kept beside it, under a name of its own.",
    "replaced": "Another file was put in place of the database while the node runs. Put the first one back; or keep "
    f"both, {_RESTART}",
    "truncated": f"The database's file was cut short while the node runs. Keep a copy of it, {_RESTART}",
    "overwritten": f"Something else wrote over the database while the node runs. Keep a copy of it, {_RESTART}",
    LOG_BROKEN: "The timeline cannot go on: its rows do not fit together. Keep a copy of the node's folder as it is, "
    f"{_RESTART}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Since when nothing can be written, why (a code), and how many messages were refused for it so far.

    `rows` of the refusals are in the timeline, `error` is what the system said.
    """

    reason: str
    since_us: int
    error: str
    refused: int = 0
    rows: int = 0

    @property
    def words(self) -> str:
        """What is wrong and what to do, for a person."""
        return WORDS[self.reason]


class Guard:
    """Belongs to the writer's thread; `trouble` and `damage` may be read from any."""

    def __init__(self, path: Path, reserve_bytes: int, row_clock: Callable[[], RowClock]) -> None:
        self._path = path
        self._row_clock = row_clock
        self._reserve = Reserve(path.with_name(RESERVE_NAME), reserve_bytes)
        self._reserve_bytes = reserve_bytes
        # Both are there once the writer has begun a transaction.
        self._files = (WatchedFile(path), WatchedFile(path.with_name(path.name + "-wal"), by_name=True))
        self.trouble: Trouble | None = None
        self.damage: str | None = None
        self.reserved = self._reserve.take()
        if not self.reserved:
            _log.warning("the disk of %s has no room for a reserve of %d bytes", path.parent, reserve_bytes)

    def check(self) -> None:
        """AUDIT_UNAVAILABLE when the files are not those that were opened, or somebody else wrote to them."""
        for file in self._files:
            if (unlike := file.unlike()) is not None:
                words = WORDS[unlike.value]
                raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, words, {"reason": unlike.value})

    def written(self) -> None:
        """A commit or a checkpoint is done."""
        for file in self._files:
            file.written()

    def met(self, error: sqlite3.Error) -> None:
        """A command came upon damaged bytes; others may not."""
        if self.damage is None:
            _log.error("bytes of the database are damaged: %s", error)
        self.damage = str(error)

    def failed(self, error: sqlite3.Error | MeshError) -> None:
        """A commit failed."""
        reason = self._reason(error)
        before = self.trouble
        if before is None:
            _log.error("nothing can be written, so messages are refused (%s): %s", reason, error)
            self.trouble = Trouble(reason=reason, since_us=self._row_clock().ts_us, error=str(error))
        elif before.reason != reason:
            _log.error("it still cannot be written (%s): %s", reason, error)
            self.trouble = replace(before, reason=reason, error=str(error))
        if reason == "disk_full" and self._reserve.give():
            self.reserved = False

    def refused(self, *, counted: int = 0, rows: int = 0) -> None:
        """So much more was refused, and so many of the refusals are rows now."""
        if self.trouble is not None and (counted or rows):
            refused, rows = self.trouble.refused + counted, self.trouble.rows + rows
            self.trouble = replace(self.trouble, refused=refused, rows=rows)

    @property
    def in_hand(self) -> Path:
        """Where the open database is copied to when it is no longer under its name."""
        return self._path.with_name(f"{self._path.name}.in-hand-{self._row_clock().ts_us}")

    @property
    def rows_left(self) -> int:
        """How many refusals may still be rows by themselves."""
        return 0 if self.trouble is None else max(0, MAX_REFUSAL_ROWS - self.trouble.rows)

    def may_end(self) -> bool:
        """Whether a commit is worth a try: a full disk must have room for the reserve first, which is taken."""
        if self.trouble is None or self.trouble.reason != "disk_full":
            return True
        disk = os.statvfs(self._path.parent)
        held = self._reserve_bytes if self.reserved else 0
        if self._reserve_bytes and disk.f_bavail * disk.f_frsize + held < self._reserve_bytes + _SPARE_BYTES:
            return False
        self.reserved = self._reserve.take()
        return self.reserved

    def row(self, trouble: Trouble) -> Row:
        """The row that says from when to when messages were refused, and how many."""
        extra: dict[str, JsonValue] = {
            ExtraKey.FROM_US: trouble.since_us,
            ExtraKey.TO_US: self._row_clock().ts_us,
            ExtraKey.COUNT: trouble.refused,
            ExtraKey.ROWS: trouble.rows,
        }
        return Row(
            row=RowKind.LIFECYCLE,
            engine=RowEngine.TIMELINE,
            decision=RowDecision.RECOVERED,
            reason=RowReason(trouble.reason),
            sw=SOFTWARE,
            extra=extra,
        )

    def ended(self) -> None:
        """That row is on the disk."""
        if self.trouble is not None:
            _log.warning("rows can be written again; %d messages were refused meanwhile", self.trouble.refused)
        self.trouble = None

    def close(self) -> None:
        """Lets go of the files; after the connections to them are closed. The reserve stays for the next start."""
        for file in self._files:
            file.close()

    def _reason(self, error: sqlite3.Error | MeshError) -> str:
        if isinstance(error, MeshError):
            told = error.details.get("reason")
            return told if isinstance(told, str) and told in WORDS else LOG_BROKEN
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return "damaged"
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return "locked"
        found = self._probe()
        if code == sqlite3.SQLITE_FULL or found in _FULL:
            return "disk_full"
        return "read_only" if found == errno.EROFS or code == sqlite3.SQLITE_READONLY else "disk_failed"

    def _probe(self) -> int:
        """What the disk says to a few bytes more, as an error number; 0 when it takes them. SQLite does not tell."""
        probe = self._path.with_name("timeline.probe")
        # As long as the longest of its files: there are limits on that, too.
        sizes = [name.stat().st_size for name in self._path.parent.glob(self._path.name + "*")]
        try:
            fd = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(fd, bytes(_PROBE_BYTES), max(sizes, default=0))
                os.fsync(fd)
            finally:
                os.close(fd)
                probe.unlink()
        except OSError as error:
            return error.errno or errno.EIO
        return 0


def is_damage(error: sqlite3.Error) -> bool:
    """Whether it says that bytes in the file are not as SQLite wrote them."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
