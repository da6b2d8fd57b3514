"""The timeline's part of the database: its logs, rows, texts beside them, hash tiles and checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final

from node.core import clock_step, epochs, merkle, timeline
from node.core.errors import ErrorCode, MeshError
from node.core.merkle import HASH_BYTES
from node.core.note import TreeHead
from node.core.timeline import Head
from node.ports import Entropy
from node.ports_timeline import Checkpoint, LogInfo, Side, StoredRow

TILE: Final = merkle.TILE_WIDTH
LOG_BROKEN: Final = "timeline"
"""The reason in the details of an error that says that the log as stored cannot go on."""
_PLACE_BITS: Final = 40
# As bytes: a single text that is no UTF-8 would keep all others from being read.
_TEXTS: Final = "CAST(field AS BLOB) AS field, CAST(body AS BLOB) AS body"
_CHECKPOINT: Final = "size, root, CAST(note AS BLOB) AS note, made_us"


def base(log: int) -> int:
    """The place of a log's first row."""
    return log << _PLACE_BITS


class TimelineReader:
    """Implements ports_timeline.TimelineReader."""

    _db: sqlite3.Connection

    def logs(self) -> tuple[LogInfo, ...]:
        """All logs, the current one last."""
        rows = self._db.execute("SELECT id, origin, size, first FROM timeline_logs ORDER BY id").fetchall()
        return tuple(
            LogInfo(
                id=row["id"],
                origin=row["origin"],
                size=row["size"],
                first=row["first"],
                current=row["id"] == rows[-1]["id"],
            )
            for row in rows
        )

    def rows(self, after: int, limit: int, log: int | None = None) -> tuple[StoredRow, ...]:
        """Rows with a sequence number of at least `after`, in order, with their side texts."""
        start = base(self._log(log))
        rows = self._db.execute(
            "SELECT place, data, leaf FROM timeline WHERE place >= ? AND place < ? ORDER BY place LIMIT ?",
            (start + after, start + (1 << _PLACE_BITS), limit),
        ).fetchall()
        if not rows:
            return ()
        texts: dict[int, list[tuple[str, str]]] = {}
        for row in self._db.execute(
            f"SELECT place, {_TEXTS} FROM timeline_side WHERE place BETWEEN ? AND ? ORDER BY place, field",
            (rows[0]["place"], rows[-1]["place"]),
        ):
            texts.setdefault(row["place"], []).append((_text(row["field"]), _text(row["body"])))
        return tuple(
            StoredRow(
                seq=row["place"] - start,
                data=row["data"],
                leaf=row["leaf"],
                side=tuple(texts.get(row["place"], ())),
            )
            for row in rows
        )

    def sides(self, first: int, end: int, log: int | None = None) -> tuple[Side, ...]:
        """The texts beside rows `first` to `end` - 1 with their salts, in order; what was erased is not among them."""
        start = base(self._log(log))
        rows = self._db.execute(
            f"SELECT place, salt, {_TEXTS} FROM timeline_side WHERE place >= ? AND place < ? ORDER BY place, field",
            (start + first, start + end),
        )
        return tuple(
            Side(seq=row["place"] - start, field=_text(row["field"]), salt=bytes(row["salt"]), text=_text(row["body"]))
            for row in rows
        )

    def entries(self, first: int, end: int, log: int | None = None) -> list[tuple[int, bytes, bytes]]:
        """Rows `first` to `end` - 1 as plain tuples: number, bytes, leaf hash."""
        start = base(self._log(log))
        return self._plain(
            "SELECT place - ?, data, leaf FROM timeline WHERE place >= ? AND place < ? ORDER BY place",
            (start, start + first, start + end),
        )

    def salted(self, first: int, end: int, log: int | None = None) -> list[tuple[int, bytes, bytes, bytes]]:
        """The texts beside rows `first` to `end` - 1 as plain tuples: number, field, salt, text."""
        start = base(self._log(log))
        return self._plain(
            "SELECT place - ?, CAST(field AS BLOB), salt, CAST(body AS BLOB) FROM timeline_side "
            "WHERE place >= ? AND place < ? ORDER BY place, field",
            (start, start + first, start + end),
        )

    def _plain(self, sql: str, values: tuple[int, ...]) -> list[Any]:
        cursor = self._db.cursor()
        cursor.row_factory = None
        return cursor.execute(sql, values).fetchall()

    def size(self) -> int:
        """How many rows the current log claims to have."""
        return self.head().size

    def head(self, log: int | None = None) -> Head:
        """Where a log stands, as stored."""
        row = self._log_row("origin, size, last, frontier", log)
        return Head(origin=row["origin"], size=row["size"], last=row["last"], frontier=_hashes(row["frontier"]))

    def tile(self, level: int, index: int, log: int | None = None) -> bytes:
        """The hashes of a tile, 32 bytes each; of a leaf tile all 256 or none, further up as many as there are."""
        row = self._db.execute(
            "SELECT hashes FROM timeline_tiles WHERE log = ? AND level = ? AND idx = ?",
            (self._log(log), level, index),
        ).fetchone()
        return b"" if row is None else bytes(row["hashes"])

    def checkpoints(self, after: int, limit: int, log: int | None = None) -> tuple[Checkpoint, ...]:
        """Checkpoints of more than `after` rows, the smallest first."""
        rows = self._db.execute(
            f"SELECT {_CHECKPOINT} FROM timeline_checkpoints WHERE log = ? AND size > ? ORDER BY size LIMIT ?",
            (self._log(log), after, limit),
        )
        return tuple(map(_checkpoint_of, rows))

    def last_checkpoint(self, log: int | None = None) -> Checkpoint | None:
        """The checkpoint of most rows."""
        row = self._db.execute(
            f"SELECT {_CHECKPOINT} FROM timeline_checkpoints WHERE log = ? ORDER BY size DESC LIMIT 1",
            (self._log(log),),
        ).fetchone()
        return None if row is None else _checkpoint_of(row)

    def _log(self, log: int | None) -> int:
        return int(self._log_row("id", None)["id"]) if log is None else log

    def _log_row(self, columns: str, log: int | None) -> sqlite3.Row:
        which, values = ("ORDER BY id DESC LIMIT 1", ()) if log is None else ("WHERE id = ?", (log,))
        row: sqlite3.Row | None = self._db.execute(f"SELECT {columns} FROM timeline_logs {which}", values).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("a log that the database always has is gone")
        return row


class TimelineTx(TimelineReader):
    """Implements ports_timeline.TimelineTx: appends to the current log, whose head is held until the commit."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        row_clock: Callable[[], timeline.Clock],
        entropy: Entropy,
        *,
        allow_gaps: bool = False,
    ) -> None:
        self._db = connection
        self._row_clock = row_clock
        self._entropy = entropy
        self._allow_gaps = allow_gaps
        self._current = self._log(None)
        # Why the head as stored cannot be gone on from: another log can be begun all the same.
        self._broken: MeshError | None = None
        try:
            self._head = super().head(self._current)
        except MeshError as error:
            self._head, self._broken = Head.empty("local/unknown/0"), error
        # What this transaction added to the log, in bytes, since its head was stored.
        self._grown = 0
        # What the command that is under way has appended so far.
        self.appended: list[timeline.Row] = []
        # How much of the database was changed for rows, by SQLite's count of all changes.
        self.changes_for_rows = 0
        # The log and its size when the last row was written, and the clock by then.
        self._reading: tuple[int, int, timeline.Clock] | None = None

    @property
    def log(self) -> tuple[int, Head, int, MeshError | None]:
        """The current log, its head, by how much it has grown, and what is wrong with it, as of now."""
        return self._current, self._head, self._grown, self._broken

    @log.setter
    def log(self, log: tuple[int, Head, int, MeshError | None]) -> None:
        """Takes them back to what they were before a command that was undone."""
        self._current, self._head, self._grown, self._broken = log

    def head(self, log: int | None = None) -> Head:
        """Where a log stands; of the current one with the rows of this transaction."""
        if log is not None and log != self._current:
            return super().head(log)
        if self._broken is not None:
            raise self._broken
        return self._head

    def append(self, row: timeline.Row, side: Sequence[tuple[str, str]] = ()) -> int:
        """Appends a row with commitments to its side texts; gives its sequence number.

        A step of the wall clock since the row before it is a row of its own, written first. Where the owner allows
        gaps, what cannot be said in full is said in part, and a row says that.
        """
        changes = self._db.total_changes
        try:
            return self._append_whole_or_not(row, side) if self._allow_gaps else self._append(row, side)
        finally:
            self.changes_for_rows += self._db.total_changes - changes

    def _append_whole_or_not(self, row: timeline.Row, side: Sequence[tuple[str, str]]) -> int:
        before = self.log
        self._db.execute("SAVEPOINT row")
        try:
            return self._append(row, side)
        except MeshError as error:
            if error.code is not ErrorCode.AUDIT_UNAVAILABLE:
                raise
            self._db.execute("ROLLBACK TO row")
            self.log = before
            return self._append_with_gap(row, side, error)
        finally:
            self._db.execute("RELEASE row")

    def _append_with_gap(self, row: timeline.Row, side: Sequence[tuple[str, str]], error: MeshError) -> int:
        if error.details.get("reason") == LOG_BROKEN:
            # The log cannot go on, so the next epoch begins, and the row stands in that.
            (*_, log) = self.logs()
            root = (Head.empty(log.origin) if self._broken else self._head).root
            size = log.size if self._broken else self._head.size
            self.open_log(epochs.next_origin(log.origin.split("/")[1], [one.origin for one in self.logs()]))
            seen = TreeHead(origin=log.origin, size=size, root=root)
            self._append(epochs.gap_row(epochs.Gap(seen=seen, found=size, reason=epochs.Break.DAMAGED), row.sw), ())
            return self._append(row, side)
        seq = self._append(epochs.override_row(row), ())
        self._append(epochs.left_out_row(seq, row.sw), ())
        return seq

    def tell_clock_step(self, sw: str) -> None:
        """Writes the row of a step of the wall clock since the last row, if there was one; the next has none."""
        self._now(sw)

    def _append(self, row: timeline.Row, side: Sequence[tuple[str, str]]) -> int:
        if self._broken is not None:
            raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, self._broken.message, {"reason": LOG_BROKEN})
        now = self._now(row.sw)
        self.appended.append(row)
        seq = self._add(now, row, side)
        self._reading = (*self._written, now)
        return seq

    def _now(self, sw: str) -> timeline.Clock:
        """The clock's reading, with a row of its own if that is a step from the last row's."""
        now, before = self._row_clock(), self._last_reading()
        if step := clock_step.step_us(before, now) if before is not None else 0:
            self._add(now, clock_step.step_row(step, sw), ())
            self._reading = (*self._written, now)
        return now

    @property
    def _written(self) -> tuple[int, int]:
        """The current log, and how many rows it has."""
        return self._current, self._head.size

    def _last_reading(self) -> timeline.Clock | None:
        """The clock as the last row has it; None without one, or for a row that cannot be read."""
        log, size = self._written
        if self._reading is not None and self._reading[:2] == (log, size):
            return self._reading[2]
        row = self._db.execute("SELECT data FROM timeline WHERE place = ?", (base(log) + size - 1,)).fetchone()
        return clock_step.reading_of(bytes(row["data"])) if row is not None and size else None

    def _add(self, now: timeline.Clock, row: timeline.Row, side: Sequence[tuple[str, str]]) -> int:
        place = base(self._current) + self._head.size
        salted = [(place, field, self._entropy(timeline.SALT_BYTES), text) for field, text in side]
        commits = {field: timeline.commitment(salt, text) for _, field, salt, text in salted}
        self._head, entry = timeline.append(self._head, now, row, commits or None)
        self._db.execute("INSERT INTO timeline VALUES (?, ?, ?)", (place, entry.data, entry.leaf))
        self._grown += len(entry.data)
        if salted:
            self._db.executemany("INSERT INTO timeline_side VALUES (?, ?, ?, ?)", salted)
            self._grown += sum(len(text.encode("utf-8", "surrogatepass")) for _, _, _, text in salted)
        if self._head.size % TILE == 0 and not fill_tile(self._db, self._current, self._head.size // TILE - 1):
            raise MeshError(
                ErrorCode.AUDIT_UNAVAILABLE,
                "Rows of the timeline are gone that nobody pruned, so nothing more is written to it and nothing was "
                "relayed. Run `helio timeline verify` and keep a copy of the node's folder as it is.",
                {"reason": LOG_BROKEN},
            )
        return entry.seq

    def open_log(self, origin: str) -> None:
        """Closes the current log as it is and begins another."""
        self.save_head()
        self._head, self._broken = Head.empty(origin), None
        self._current += 1
        begin_log(self._db, self._current, origin)

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keeps what was signed of the current log; one of the same size stays as it is."""
        self._db.execute(
            "INSERT OR IGNORE INTO timeline_checkpoints VALUES (?, ?, ?, ?, ?)",
            (self._current, checkpoint.size, checkpoint.root, checkpoint.note, checkpoint.made_us),
        )

    def save_head(self) -> None:
        """Stores the head; part of the transaction that wrote the rows."""
        if self._broken is not None:
            return
        self._db.execute(
            "UPDATE timeline_logs SET size = ?, last = ?, frontier = ?, bytes = bytes + ? WHERE id = ?",
            (self._head.size, self._head.last, b"".join(self._head.frontier), self._grown, self._current),
        )
        self._grown = 0


def begin_log(connection: sqlite3.Connection, log: int, origin: str) -> None:
    """An empty log of that id."""
    connection.execute(
        "INSERT INTO timeline_logs (id, origin, size, last, frontier) VALUES (?, ?, 0, NULL, x'')", (log, origin)
    )


def fill_tiles(connection: sqlite3.Connection) -> None:
    """Writes the tiles of rows from before there were tiles; a file that has them costs one look a log."""
    for log, size in connection.execute("SELECT id, size FROM timeline_logs").fetchall():
        (full,) = connection.execute(
            "SELECT COUNT(*) FROM timeline_tiles WHERE log = ? AND level = 0", (log,)
        ).fetchone()
        for index in range(full, size // TILE):
            if not fill_tile(connection, log, index):
                # What is wrong with the rows is for the check of the timeline to say, which needs a node that starts.
                break


def fill_tile(connection: sqlite3.Connection, log: int, index: int) -> bool:
    """Writes a leaf tile, and adds its root to the tile above, and so on; False when not all of its rows are there."""
    first = base(log) + index * TILE
    rows = connection.execute(
        "SELECT leaf FROM timeline WHERE place >= ? AND place < ? ORDER BY place", (first, first + TILE)
    ).fetchall()
    if len(rows) != TILE:
        return False
    hashes = b"".join(bytes(row[0]) for row in rows)
    level = 0
    connection.execute("INSERT INTO timeline_tiles VALUES (?, 0, ?, ?)", (log, index, hashes))
    while len(hashes) == TILE * HASH_BYTES:
        level, root = level + 1, merkle.root_of(_hashes(hashes))
        (hashes,) = connection.execute(
            "INSERT INTO timeline_tiles VALUES (?, ?, ?, ?) ON CONFLICT (log, level, idx) "
            "DO UPDATE SET hashes = CAST(hashes || excluded.hashes AS BLOB) RETURNING hashes",
            (log, level, index // TILE, root),
        ).fetchone()
        index //= TILE
    return True


def _text(stored: bytes) -> str:
    """A text as it is stored: of one that somebody damaged, what is no UTF-8 stays what it is, as half characters."""
    return stored.decode("utf-8", "surrogateescape")


def _hashes(folded: bytes) -> tuple[bytes, ...]:
    return tuple(folded[at : at + HASH_BYTES] for at in range(0, len(folded), HASH_BYTES))


def _checkpoint_of(row: sqlite3.Row) -> Checkpoint:
    return Checkpoint(size=row["size"], root=row["root"], note=_text(row["note"]), made_us=row["made_us"])
