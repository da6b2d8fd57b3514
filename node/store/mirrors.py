"""The mirrors' part of the database: its questions and its writes."""

from __future__ import annotations

import sqlite3

from node.core.mirror import Mirror
from node.core.model import Exchange
from node.store.rows import EXCHANGE_COLUMNS, exchange_of

_TO_BE_SHOWN = "COALESCE(reason, '') <> 'withheld'"


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

    def panel_exchanges(self, limit: int) -> tuple[Exchange, ...]:
        """Exchanges to be shown, open ones first, then newest change first; not those whose opening was withheld."""
        rows = self._db.execute(
            f"SELECT {EXCHANGE_COLUMNS} FROM exchanges WHERE {_TO_BE_SHOWN} "
            "ORDER BY closed, changed_us DESC, id LIMIT ?",
            (limit,),
        )
        return tuple(exchange_of(row) for row in rows)

    def panel_exchange_count(self) -> int:
        """How many there are."""
        row = self._db.execute(f"SELECT COUNT(*) AS n FROM exchanges WHERE {_TO_BE_SHOWN}").fetchone()
        return int(row["n"])

    def last_said(self, exchange_id: str) -> str:
        """The newest text in an exchange that its reader may know of; empty when there is none."""
        row = self._db.execute(
            "SELECT body FROM messages WHERE exchange = ? AND screened <> 'withhold' "
            "AND (landed_us IS NOT NULL OR COALESCE(held, '') NOT IN ('approval', 'withdrawn')) "
            "ORDER BY number DESC LIMIT 1",
            (exchange_id,),
        ).fetchone()
        return str(row["body"]) if row else ""


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
