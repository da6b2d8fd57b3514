"""The timeline's part of the database: its logs, rows, texts beside them, hash tiles and checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from node.core import clock_step, merkle, timeline
from node.core.errors import ErrorCode, MeshError
from node.core.merkle import HASH_BYTES
from node.core.timeline import Head
from node.ports import Entropy
from node.ports_timeline import Checkpoint, LogInfo, Side, StoredRow

TILE: Final = merkle.TILE_WIDTH
_PLACE_BITS: Final = 40


def _base(log: int) -> int:
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
        base = _base(self._log(log))
        rows = self._db.execute(
            "SELECT place, data, leaf FROM timeline WHERE place >= ? AND place < ? ORDER BY place LIMIT ?",
            (base + after, base + (1 << _PLACE_BITS), limit),
        ).fetchall()
        if not rows:
            return ()
        texts: dict[int, list[tuple[str, str]]] = {}
        for row in self._db.execute(
            "SELECT place, field, body FROM timeline_side WHERE place BETWEEN ? AND ? ORDER BY place, field",
            (rows[0]["place"], rows[-1]["place"]),
        ):
            texts.setdefault(row["place"], []).append((row["field"], row["body"]))
        return tuple(
            StoredRow(
                seq=row["place"] - base,
                data=row["data"],
                leaf=row["leaf"],
                side=tuple(texts.get(row["place"], ())),
            )
            for row in rows
        )

    def sides(self, first: int, end: int, log: int | None = None) -> tuple[Side, ...]:
        """The texts beside rows `first` to `end` - 1 with their salts, in order; what was erased is not among them."""
        base = _base(self._log(log))
        rows = self._db.execute(
            "SELECT place, field, salt, body FROM timeline_side WHERE place >= ? AND place < ? ORDER BY place, field",
            (base + first, base + end),
        )
        return tuple(
            Side(seq=row["place"] - base, field=row["field"], salt=row["salt"], text=row["body"]) for row in rows
        )

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
            "SELECT size, root, note, made_us FROM timeline_checkpoints WHERE log = ? AND size > ? "
            "ORDER BY size LIMIT ?",
            (self._log(log), after, limit),
        )
        return tuple(map(_checkpoint_of, rows))

    def last_checkpoint(self, log: int | None = None) -> Checkpoint | None:
        """The checkpoint of most rows."""
        row = self._db.execute(
            "SELECT size, root, note, made_us FROM timeline_checkpoints WHERE log = ? ORDER BY size DESC LIMIT 1",
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
        self, connection: sqlite3.Connection, row_clock: Callable[[], timeline.Clock], entropy: Entropy
    ) -> None:
        self._db = connection
        self._row_clock = row_clock
        self._entropy = entropy
        self._current = self._log(None)
        self._head = super().head(self._current)
        # The log and its size when the last row was written, and the clock by then.
        self._reading: tuple[int, int, timeline.Clock] | None = None

    @property
    def log(self) -> tuple[int, Head]:
        """The current log and its head, as of now in this transaction."""
        return self._current, self._head

    @log.setter
    def log(self, log: tuple[int, Head]) -> None:
        """Takes them back to what they were before a command that was undone."""
        self._current, self._head = log

    def head(self, log: int | None = None) -> Head:
        """Where a log stands; of the current one with the rows of this transaction."""
        return self._head if log is None or log == self._current else super().head(log)

    def append(self, row: timeline.Row, side: Sequence[tuple[str, str]] = ()) -> int:
        """Appends a row with commitments to its side texts; gives its sequence number.

        A step of the wall clock since the row before it is a row of its own, written first.
        """
        now, before = self._row_clock(), self._last_reading()
        step = clock_step.step_us(before, now) if before is not None else 0
        if step:
            self._add(now, clock_step.step_row(step, row.sw), ())
        seq = self._add(now, row, side)
        self._reading = (*self._written, now)
        return seq

    @property
    def _written(self) -> tuple[int, int]:
        """The current log, and how many rows it has."""
        return self._current, self._head.size

    def _last_reading(self) -> timeline.Clock | None:
        """The clock as the last row has it; None without one, or for a row that cannot be read."""
        log, size = self._written
        if self._reading is not None and self._reading[:2] == (log, size):
            return self._reading[2]
        row = self._db.execute("SELECT data FROM timeline WHERE place = ?", (_base(log) + size - 1,)).fetchone()
        return clock_step.reading_of(bytes(row["data"])) if row is not None and size else None

    def _add(self, now: timeline.Clock, row: timeline.Row, side: Sequence[tuple[str, str]]) -> int:
        place = _base(self._current) + self._head.size
        salted = [(place, field, self._entropy(timeline.SALT_BYTES), text) for field, text in side]
        commits = {field: timeline.commitment(salt, text) for _, field, salt, text in salted}
        self._head, entry = timeline.append(self._head, now, row, commits or None)
        self._db.execute("INSERT INTO timeline VALUES (?, ?, ?)", (place, entry.data, entry.leaf))
        if salted:
            self._db.executemany("INSERT INTO timeline_side VALUES (?, ?, ?, ?)", salted)
        if self._head.size % TILE == 0 and not fill_tile(self._db, self._current, self._head.size // TILE - 1):
            raise MeshError(
                ErrorCode.AUDIT_UNAVAILABLE,
                "Rows of the timeline are gone that nobody pruned, so nothing more is written to it and nothing was "
                "relayed. Run `helio timeline verify` and keep a copy of the node's folder as it is.",
            )
        return entry.seq

    def open_log(self, origin: str) -> None:
        """Closes the current log as it is and begins another."""
        self.save_head()
        self._head = Head.empty(origin)
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
        self._db.execute(
            "UPDATE timeline_logs SET size = ?, last = ?, frontier = ? WHERE id = ?",
            (self._head.size, self._head.last, b"".join(self._head.frontier), self._current),
        )


def begin_log(connection: sqlite3.Connection, log: int, origin: str) -> None:
    """An empty log of that id."""
    connection.execute("INSERT INTO timeline_logs VALUES (?, ?, 0, NULL, x'', 0)", (log, origin))


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
    first = _base(log) + index * TILE
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


def _hashes(folded: bytes) -> tuple[bytes, ...]:
    return tuple(folded[at : at + HASH_BYTES] for at in range(0, len(folded), HASH_BYTES))


def _checkpoint_of(row: sqlite3.Row) -> Checkpoint:
    return Checkpoint(size=row["size"], root=row["root"], note=row["note"], made_us=row["made_us"])
