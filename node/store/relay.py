"""The relay's part of the database: the queues to other nodes and the sessions they told of."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence

from node.core.effects import Fetch
from node.core.model import SessionStatus, Status
from node.core.relay import Queued, RemoteSession

_QUEUED = "number, peer, exchange, message, progress, waiting, queued_us"
_REMOTE = "id, node, nickname, title, profile, status, askable"


class RelayReader:
    """Implements ports_relay.RelayReader."""

    _db: sqlite3.Connection

    def queued(self, peer: str, after: int, limit: int, *, forward: bool) -> tuple[Queued, ...]:
        """What may cross to that node now, by number: forwards of this node's, or items of that node's exchanges."""
        return self._queued(
            "peer = ? AND forward = ? AND waiting = 0 AND number > ? ORDER BY number LIMIT ?",
            peer,
            int(forward),
            after,
            limit,
        )

    def queued_message(self, message_id: str) -> Queued | None:
        """The row of a message that has not crossed yet."""
        return next(iter(self._queued("message = ? AND progress = 0", message_id)), None)

    def queued_before(self, then_us: int, limit: int) -> tuple[Queued, ...]:
        """Forwards that have waited since before then, oldest first. What a client has not pulled waits for it."""
        return self._queued("queued_us < ? AND forward = 1 ORDER BY queued_us, number LIMIT ?", then_us, limit)

    def queued_files(self, peer: str, limit: int) -> tuple[Queued, ...]:
        """Messages whose files have to cross first, oldest first."""
        return self._queued("peer = ? AND waiting = 1 ORDER BY number LIMIT ?", peer, limit)

    def queued_messages(self, peer: str, limit: int) -> tuple[Queued, ...]:
        """All forwards that have not crossed to that node, oldest first."""
        return self._queued("peer = ? AND forward = 1 ORDER BY number LIMIT ?", peer, limit)

    def newest_relay(self) -> int:
        """The highest number that was ever given; 0 when there was none."""
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'relays'").fetchone()
        return int(row["seq"]) if row else 0

    def _queued(self, where: str, *values: str | int) -> tuple[Queued, ...]:
        rows = self._db.execute(f"SELECT {_QUEUED} FROM relays WHERE {where}", values).fetchall()
        return tuple(
            Queued(
                number=row["number"],
                peer=row["peer"],
                exchange=row["exchange"],
                message=row["message"],
                progress=bool(row["progress"]),
                files=row["waiting"] == 1,
                queued_us=row["queued_us"],
            )
            for row in rows
        )

    def fetches(self, node: str, limit: int) -> tuple[tuple[int, Fetch], ...]:
        """(outbox id, effect) of messages from that node whose files are to be pulled."""
        rows = self._db.execute(
            "SELECT o.id, o.session, o.message FROM outbox o JOIN messages m ON m.id = o.message "
            "JOIN exchanges e ON e.id = m.exchange WHERE o.kind = 'fetch' AND e.worker_node = ? ORDER BY o.id LIMIT ?",
            (node, limit),
        ).fetchall()
        return tuple((row["id"], Fetch(session=row["session"], message=row["message"])) for row in rows)

    def remote_session(self, session_id: str) -> RemoteSession | None:
        """The session of another node with that id."""
        row = self._db.execute(f"SELECT {_REMOTE} FROM remote_sessions WHERE id = ?", (session_id,)).fetchone()
        return _remote_of(row) if row else None

    def remote_sessions(self, node: str | None = None) -> tuple[RemoteSession, ...]:
        """The sessions of that node, or of all other nodes."""
        where = "" if node is None else "WHERE node = ?"
        values = () if node is None else (node,)
        rows = self._db.execute(f"SELECT {_REMOTE} FROM remote_sessions {where} ORDER BY id", values).fetchall()
        return tuple(_remote_of(row) for row in rows)

    def open_from(self, node: str) -> int:
        """How many exchanges that another node opened here are open."""
        row = self._db.execute(
            "SELECT COUNT(*) AS n FROM exchanges WHERE opener_node = ? AND closed = 0", (node,)
        ).fetchone()
        return int(row["n"])

    def standing(self, exchanges: Collection[str]) -> Mapping[str, Status]:
        """How those of these exchanges stand that there are."""
        if not exchanges:
            return {}
        marks = ", ".join("?" * len(exchanges))
        rows = self._db.execute(f"SELECT id, status FROM exchanges WHERE id IN ({marks})", tuple(exchanges))
        return {row["id"]: Status(row["status"]) for row in rows}


class RelayTx(RelayReader):
    """Implements ports_relay.RelayTx."""

    def queue(
        self, peer: str, exchange: str, message: str, now_us: int, *, forward: bool, progress: bool, files: bool
    ) -> None:
        """Puts something into the queue to a node, behind all else; of one message's progress only the newest stays."""
        if progress:
            self._db.execute("DELETE FROM relays WHERE message = ? AND progress = 1", (message,))
            waiting = 0
        elif files:
            waiting = 1
        else:
            row = self._db.execute(
                "SELECT 1 FROM relays WHERE exchange = ? AND waiting > 0 AND peer = ?", (exchange, peer)
            ).fetchone()
            waiting = 2 if row else 0
        self._db.execute(
            "INSERT INTO relays (peer, exchange, message, forward, progress, waiting, queued_us) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (peer, exchange, message, int(forward), int(progress), waiting, now_us),
        )

    def files_crossed(self, message: str) -> None:
        """A message's files are there: it may cross, and what stood behind it up to the next one with files."""
        row = self._db.execute(
            "SELECT peer, exchange, number FROM relays WHERE message = ? AND waiting = 1", (message,)
        ).fetchone()
        if row is None:
            return
        self._db.execute("UPDATE relays SET waiting = 2 WHERE number = ?", (row["number"],))
        # Another one's files may be awaited again meanwhile: what stands before it crosses before it.
        if not self._stands_behind(row):
            self._let_pass(row)

    def given_up(self, message: str) -> None:
        """A message will not cross: nothing waits behind its files any more."""
        row = self._db.execute(
            "SELECT peer, exchange, number, waiting FROM relays WHERE message = ? AND progress = 0", (message,)
        ).fetchone()
        if row is None:
            return
        self._db.execute("DELETE FROM relays WHERE number = ?", (row["number"],))
        if row["waiting"] == 1 and not self._stands_behind(row):
            self._let_pass(row)

    def _stands_behind(self, row: sqlite3.Row) -> bool:
        """Whether something of its exchange waits before that row."""
        values = (row["peer"], row["exchange"], row["number"])
        sql = "SELECT 1 FROM relays WHERE peer = ? AND exchange = ? AND number < ? AND forward = 1 AND waiting > 0"
        return self._db.execute(sql, values).fetchone() is not None

    def _let_pass(self, row: sqlite3.Row) -> None:
        """What waits of an exchange from that row on may cross, up to the next one with files; under new numbers."""
        behind = self._queued(
            "peer = ? AND exchange = ? AND number >= ? AND forward = 1 AND waiting > 0 ORDER BY number",
            row["peer"],
            row["exchange"],
            row["number"],
        )
        for one in behind:
            if one.files:
                break
            self._db.execute("DELETE FROM relays WHERE number = ?", (one.number,))
            self._db.execute(
                "INSERT INTO relays (peer, exchange, message, forward, progress, waiting, queued_us) "
                "VALUES (?, ?, ?, 1, 0, 0, ?)",
                (one.peer, one.exchange, one.message, one.queued_us),
            )

    def files_wanted(self, message: str) -> None:
        """The other node has not all of a message's files after all: it waits for them, and what is behind it."""
        row = self._db.execute(
            "SELECT peer, exchange, number FROM relays WHERE message = ? AND forward = 1 AND waiting = 0", (message,)
        ).fetchone()
        if row is None:
            return
        self._db.execute("UPDATE relays SET waiting = 1 WHERE number = ?", (row["number"],))
        self._db.execute(
            "UPDATE relays SET waiting = 2 "
            "WHERE peer = ? AND exchange = ? AND forward = 1 AND waiting = 0 AND number > ?",
            (row["peer"], row["exchange"], row["number"]),
        )

    def crossed(self, numbers: Sequence[int]) -> None:
        """The other node holds these."""
        self._db.executemany("DELETE FROM relays WHERE number = ?", [(number,) for number in numbers])

    def withdraw(self, exchange: str) -> None:
        """Nothing of that exchange is to cross any more."""
        self._db.execute("DELETE FROM relays WHERE exchange = ?", (exchange,))

    def forget_gone(self, node: str) -> None:
        """Nothing is kept of sessions of that node that are gone and that no exchange is with."""
        self._db.execute(
            "DELETE FROM remote_sessions WHERE node = ? AND status = 'archived' AND NOT EXISTS "
            "(SELECT 1 FROM exchanges AS e WHERE e.worker_session = remote_sessions.id "
            "OR e.opener_session = remote_sessions.id)",
            (node,),
        )

    def forget_relays_of_strangers(self) -> None:
        """What waits for a node that is no peer any more waits for nobody."""
        self._db.execute("DELETE FROM relays WHERE forward = 0 AND peer NOT IN (SELECT id FROM peers)")

    def put_remote_session(self, session: RemoteSession) -> None:
        """Inserts or replaces a session of another node."""
        self._db.execute(
            f"INSERT OR REPLACE INTO remote_sessions ({_REMOTE}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                session.id,
                session.node,
                session.nickname,
                session.title,
                session.profile,
                session.status.value,
                int(session.askable),
            ),
        )


def _remote_of(row: sqlite3.Row) -> RemoteSession:
    return RemoteSession(
        id=row["id"],
        node=row["node"],
        nickname=row["nickname"],
        title=row["title"],
        profile=row["profile"],
        status=SessionStatus(row["status"]),
        askable=bool(row["askable"]),
    )
