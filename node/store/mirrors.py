"""The mirrors' part of the database: its questions and its writes."""

from __future__ import annotations

import sqlite3

from node.core.mirror import Mirror


class MirrorReader:
    """Implements ports_mirror.MirrorReader."""

    _db: sqlite3.Connection

    def mirrors(self) -> tuple[Mirror, ...]:
        """All mirrors, oldest first."""
        rows = self._db.execute("SELECT peer, paused, added_us FROM mirrors ORDER BY added_us, peer")
        return tuple(_mirror_of(row) for row in rows)

    def mirror(self, peer_id: str) -> Mirror | None:
        """The mirror of that server."""
        row = self._db.execute("SELECT peer, paused, added_us FROM mirrors WHERE peer = ?", (peer_id,)).fetchone()
        return _mirror_of(row) if row else None


class MirrorTx(MirrorReader):
    """Implements ports_mirror.MirrorTx."""

    def put_mirror(self, mirror: Mirror) -> None:
        """Inserts or replaces a mirror."""
        values = (mirror.peer, int(mirror.paused), mirror.added_us)
        self._db.execute("INSERT OR REPLACE INTO mirrors VALUES (?, ?, ?)", values)

    def remove_mirror(self, peer_id: str) -> bool:
        """Forgets the mirror of that server; whether there was one."""
        return self._db.execute("DELETE FROM mirrors WHERE peer = ?", (peer_id,)).rowcount > 0


def _mirror_of(row: sqlite3.Row) -> Mirror:
    return Mirror(peer=row["peer"], paused=bool(row["paused"]), added_us=row["added_us"])
