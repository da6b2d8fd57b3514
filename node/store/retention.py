"""Deletes rows that a prune row names, and texts beside rows: in steps, and so that what is left still verifies."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from node.core.errors import ErrorCode, MeshError
from node.ports_timeline import Prune, TextPlace
from node.store.timeline import TILE, TimelineReader, base


class RetentionReader(TimelineReader):
    """Implements ports_timeline.RetentionReader."""

    _db: sqlite3.Connection

    def log_bytes(self, log: int) -> int:
        """What rows and texts of a log take, in bytes."""
        return int(self._log_row("bytes", log)["bytes"])

    def row_sizes(self, first: int, end: int, log: int) -> int:
        """What rows `first` to `end` - 1 and the texts beside them take, in bytes."""
        span = (base(log) + first, base(log) + end)
        (rows,) = self._db.execute(
            "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM timeline WHERE place >= ? AND place < ?", span
        ).fetchone()
        (texts,) = self._db.execute(
            "SELECT COALESCE(SUM(LENGTH(CAST(body AS BLOB))), 0) FROM timeline_side WHERE place >= ? AND place < ?",
            span,
        ).fetchone()
        return int(rows) + int(texts)

    def prunes(self) -> tuple[Prune, ...]:
        """What is to be deleted and was not yet."""
        rows = self._db.execute(
            "SELECT p.log, l.first, p.next, p.row_log, p.row_seq, "
            "(SELECT COALESCE(MAX(size), 0) FROM timeline_checkpoints WHERE log = p.row_log) > p.row_seq AS covered "
            "FROM timeline_prunes AS p JOIN timeline_logs AS l ON l.id = p.log ORDER BY p.log"
        )
        return tuple(
            Prune(
                log=row["log"],
                first=row["first"],
                next=row["next"],
                row_log=row["row_log"],
                row_seq=row["row_seq"],
                covered=bool(row["covered"]),
            )
            for row in rows
        )

    def told(self, log: int) -> tuple[int, int] | None:
        """Log and number of the row that says last what was pruned of a closed log; None when none does."""
        row = self._log_row("told_log, told_seq", log)
        return None if row["told_log"] is None else (row["told_log"], row["told_seq"])

    def texts(self, first: int, end: int, limit: int, log: int) -> tuple[TextPlace, ...]:
        """Where there are texts beside rows `first` to `end` - 1, in order, each with its row's bytes."""
        start = base(log)
        rows = self._db.execute(
            "SELECT s.place, s.field, t.data FROM timeline_side AS s LEFT JOIN timeline AS t ON t.place = s.place "
            "WHERE s.place >= ? AND s.place < ? ORDER BY s.place, s.field LIMIT ?",
            (start + first, start + end, limit),
        )
        return tuple(TextPlace(seq=row["place"] - start, field=row["field"], data=row["data"] or b"") for row in rows)


class RetentionTx(RetentionReader):
    """Implements ports_timeline.RetentionTx."""

    def begin_prune(self, prune: Prune) -> None:
        """From now on these rows are to be deleted; the row that says so is in this transaction."""
        self._db.execute(
            "INSERT INTO timeline_prunes VALUES (?, ?, ?, ?) ON CONFLICT (log) DO UPDATE "
            "SET next = excluded.next, row_log = excluded.row_log, row_seq = excluded.row_seq",
            (prune.log, prune.next, prune.row_log, prune.row_seq),
        )

    def tell(self, log: int, row: tuple[int, int]) -> None:
        """That row, by log and number, says now what was pruned of a closed log."""
        self._db.execute("UPDATE timeline_logs SET told_log = ?, told_seq = ? WHERE id = ?", (*row, log))

    def prune_tile(self, log: int) -> bool:
        """Deletes the first tile's rows that are to be deleted, and the texts beside them; False when none are left.

        WRONG_STATE while the row that says so is not covered by a checkpoint.
        """
        due = next((prune for prune in self.prunes() if prune.log == log), None)
        if due is None:
            return False
        if not due.covered:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"Row {due.row_seq}, which says that rows are pruned, is not signed yet; nothing was deleted.",
            )
        end = min(due.first + TILE, due.next)
        if due.first < end:
            freed = self.row_sizes(due.first, end, log)
            span = (base(log) + due.first, base(log) + end)
            self._db.execute("DELETE FROM timeline_side WHERE place >= ? AND place < ?", span)
            self._db.execute("DELETE FROM timeline WHERE place >= ? AND place < ?", span)
            self._db.execute("UPDATE timeline_logs SET first = ?, bytes = bytes - ? WHERE id = ?", (end, freed, log))
        if end >= due.next:
            self._db.execute("DELETE FROM timeline_prunes WHERE log = ?", (log,))
        return end < due.next

    def erase_texts(self, log: int, places: Sequence[tuple[int, str]]) -> int:
        """Deletes texts beside rows, each by its row's number and its field, with their salts; gives how many."""
        erased = 0
        for seq, field in places:
            place = (base(log) + seq, field)
            row = self._db.execute(
                "DELETE FROM timeline_side WHERE place = ? AND field = ? RETURNING LENGTH(CAST(body AS BLOB)) AS size",
                place,
            ).fetchone()
            if row is not None:
                erased += 1
                self._db.execute("UPDATE timeline_logs SET bytes = bytes - ? WHERE id = ?", (row["size"], log))
        return erased

    def thin_checkpoints(self, log: int, newest: int, day_us: int) -> int:
        """Forgets checkpoints but for the `newest` and the last one of each day; gives how many."""
        return self._db.execute(
            "DELETE FROM timeline_checkpoints WHERE log = ? "
            "AND size NOT IN (SELECT size FROM timeline_checkpoints WHERE log = ? ORDER BY size DESC LIMIT ?) "
            "AND size NOT IN (SELECT MAX(size) FROM timeline_checkpoints WHERE log = ? GROUP BY made_us / ?)",
            (log, log, newest, log, day_us),
        ).rowcount
