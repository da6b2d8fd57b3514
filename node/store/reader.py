"""Questions to the database. Every SQL SELECT of the node stands here, in approvals, mesh, mirrors and relay."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import TypeVar

from node.core.effects import Effect
from node.core.model import Address, Exchange, Message, Session
from node.core.prompt import PaneRef
from node.core.workspace import Workspace
from node.ports import CallRecord, Counts, Owed, Reader
from node.ports_work import LaunchPlan, Worktree
from node.store.approvals import ApprovalReader
from node.store.mesh import MeshReader
from node.store.mirrors import MirrorReader
from node.store.relay import RelayReader
from node.store.retention import RetentionReader
from node.store.rows import (
    EXCHANGE_COLUMNS,
    MESSAGE_COLUMNS,
    SESSION_COLUMNS,
    SqlValue,
    effect_of,
    exchange_of,
    message_of,
    session_of,
    tree_of,
    workspace_of,
)

T = TypeVar("T")

# What is to be read before a message: those of its exchange for the same reader.
_BEFORE = (
    "FROM messages AS before WHERE before.exchange = messages.exchange AND before.number < messages.number "
    "AND before.to_node = messages.to_node AND before.to_session = messages.to_session"
)
# A message whose files take longer to land is not overtaken by what stands behind it. One that waits for a person
# is, for that may take days, unless it is the one that says what the exchange is about.
_UNREAD = (
    "landed_us IS NOT NULL AND read_us IS NULL AND lease IS NULL AND to_node = ? AND to_session = ? AND NOT EXISTS "
    f"(SELECT 1 {_BEFORE} AND before.landed_us IS NULL AND before.gave_up_us IS NULL "
    "AND before.screened <> 'withhold' "
    "AND (COALESCE(before.held, '') <> 'approval' OR before.number = 1))"
)
_READABLE_US = f"MAX(landed_us, COALESCE((SELECT MAX(before.landed_us) {_BEFORE}), 0))"
_CALL_COLUMNS = "id, session, digest, key, state, created_us"


def address_values(address: Address) -> tuple[str, str]:
    """An address as its two columns."""
    return address.node, address.session or ""


class SqliteReader(ApprovalReader, MeshReader, MirrorReader, RelayReader, RetentionReader):
    """Implements ports.Reader over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        self._db = connection

    def consistently(self, work: Callable[[Reader], T]) -> T:
        """Runs `work` inside one read transaction, so that all its questions see one state."""
        self._db.execute("BEGIN")
        try:
            return work(self)
        finally:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Closes the connection."""
        self._db.close()

    def _all(self, sql: str, *values: SqlValue) -> list[sqlite3.Row]:
        return self._db.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: SqlValue) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._db.execute(sql, values).fetchone()
        return row

    def _only(self, sql: str, *values: SqlValue) -> sqlite3.Row:
        row = self._one(sql, *values)
        if row is None:
            raise sqlite3.DatabaseError("a row that the database always has is gone")
        return row

    def sessions(self, *, archived: bool = False) -> tuple[Session, ...]:
        """Sessions, newest first; archived ones only on demand."""
        where = "" if archived else "WHERE status <> 'archived'"
        return tuple(
            session_of(row)
            for row in self._all(f"SELECT {SESSION_COLUMNS} FROM sessions {where} ORDER BY created_us DESC, id")
        )

    def session(self, session_id: str) -> Session | None:
        """The session of that whole id."""
        row = self._one(f"SELECT {SESSION_COLUMNS} FROM sessions WHERE id = ?", session_id)
        return session_of(row) if row else None

    def session_at(self, pane: PaneRef) -> Session | None:
        """The session whose terminal is exactly that pane: same server, id, process and start of the process."""
        row = self._one(
            f"SELECT {SESSION_COLUMNS} FROM sessions "
            "WHERE pane_id = ? AND pane_pid = ? AND pane_started = ? AND pane_server = ? AND status = 'running'",
            pane.pane,
            pane.pid,
            pane.started,
            pane.server,
        )
        return session_of(row) if row else None

    def exchange(self, exchange_id: str) -> Exchange | None:
        """The exchange of that whole id."""
        row = self._one(f"SELECT {EXCHANGE_COLUMNS} FROM exchanges WHERE id = ?", exchange_id)
        return exchange_of(row) if row else None

    def exchange_with(self, message: Message) -> Exchange:
        """The exchange that a message belongs to."""
        return exchange_of(self._only(f"SELECT {EXCHANGE_COLUMNS} FROM exchanges WHERE id = ?", message.exchange))

    def exchanges_of(self, address: Address, *, closed: bool, hidden: bool = False) -> tuple[Exchange, ...]:
        """Exchanges that `address` is an end of and may know of, newest change first.

        One whose opening was withheld, or waits for a person, exists for its opener only; with `hidden` for both.
        """
        node, session, still = *address_values(address), "" if closed else "AND closed = 0"
        known = "" if hidden else "AND COALESCE(reason, '') NOT IN ('withheld', 'held')"
        rows = self._all(
            f"SELECT {EXCHANGE_COLUMNS} FROM exchanges WHERE opener_session = ? AND opener_node = ? {still} UNION ALL "
            f"SELECT {EXCHANGE_COLUMNS} FROM exchanges WHERE worker_session = ? AND worker_node = ? {still} "
            "AND NOT (opener_session = worker_session AND opener_node = worker_node) "
            f"{known} ORDER BY changed_us DESC, id",
            session,
            node,
            session,
            node,
        )
        return tuple(exchange_of(row) for row in rows)

    def exchanges(self, *, closed: bool, limit: int) -> tuple[Exchange, ...]:
        """Exchanges of the whole node, newest change first."""
        where = "" if closed else "WHERE closed = 0"
        rows = self._all(
            f"SELECT {EXCHANGE_COLUMNS} FROM exchanges {where} ORDER BY changed_us DESC, id LIMIT ?", limit
        )
        return tuple(exchange_of(row) for row in rows)

    def message(self, message_id: str) -> Message | None:
        """The message of that whole id."""
        row = self._one(f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE id = ?", message_id)
        return message_of(row) if row else None

    def messages(self, exchange_id: str) -> tuple[Message, ...]:
        """The messages of an exchange by number."""
        rows = self._all(f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE exchange = ? ORDER BY number", exchange_id)
        return tuple(message_of(row) for row in rows)

    def opening(self, exchange_id: str) -> Message | None:
        """The message that opened an exchange."""
        row = self._one(f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE exchange = ? AND number = 1", exchange_id)
        return message_of(row) if row else None

    def worked(self, exchange_id: str) -> bool:
        """Whether the worker of an exchange has written in it, and not only what was withheld."""
        sql = (
            "SELECT 1 FROM messages WHERE exchange = ? AND sender = 'worker' AND author <> 'node' "
            "AND screened <> 'withhold' LIMIT 1"
        )
        return self._one(sql, exchange_id) is not None

    def noted(self, message_id: str) -> bool:
        """Whether the node has written a note about a message."""
        sql = (
            "SELECT 1 FROM messages AS note JOIN messages AS told ON note.exchange = told.exchange "
            "WHERE told.id = ? AND note.reply_to = told.id AND note.kind = 'note' LIMIT 1"
        )
        return self._one(sql, message_id) is not None

    def unread(self, address: Address, exchange_id: str | None, limit: int) -> tuple[Message, ...]:
        """Landed messages for `address` that no call has taken, in the order they landed, exchanges in their order."""
        only = "" if exchange_id is None else "AND exchange = ?"
        values: tuple[SqlValue, ...] = () if exchange_id is None else (exchange_id,)
        rows = self._all(
            f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE {_UNREAD} {only} "
            f"ORDER BY {_READABLE_US}, exchange, number LIMIT ?",
            *address_values(address),
            *values,
            limit,
        )
        return tuple(message_of(row) for row in rows)

    def unread_counts(self, address: Address) -> tuple[tuple[str, int], ...]:
        """(exchange id, unread messages) for `address`."""
        rows = self._all(
            f"SELECT exchange, COUNT(*) AS n FROM messages WHERE {_UNREAD} GROUP BY exchange ORDER BY exchange",
            *address_values(address),
        )
        return tuple((row["exchange"], row["n"]) for row in rows)

    def command(self, key: str) -> tuple[str, str] | None:
        """(exchange id, message id) that the command of that key came to."""
        row = self._one("SELECT exchange, message FROM commands WHERE key = ?", key)
        return (row["exchange"], row["message"]) if row else None

    def call(self, call_id: str) -> CallRecord | None:
        """The call of that id."""
        row = self._one(f"SELECT {_CALL_COLUMNS} FROM calls WHERE id = ?", call_id)
        return _call_of(row) if row else None

    def repeated_call(self, session_id: str, digest: str, since_us: int) -> CallRecord | None:
        """The newest call of that session with that digest, unless its client is known to have the answer."""
        row = self._one(
            f"SELECT {_CALL_COLUMNS} FROM calls WHERE session = ? AND digest = ? AND created_us >= ? "
            "ORDER BY created_us DESC, id DESC LIMIT 1",
            session_id,
            digest,
            since_us,
        )
        return _call_of(row) if row and row["state"] != "settled" else None

    def open_calls(self) -> tuple[CallRecord, ...]:
        """Calls that are neither settled nor abandoned."""
        return tuple(
            _call_of(row)
            for row in self._all(f"SELECT {_CALL_COLUMNS} FROM calls WHERE state IN ('running', 'answered')")
        )

    def owed(self, now_us: int, limit: int) -> tuple[Owed, ...]:
        """Notices that are due, oldest first, with how often their message was noticed; settled ones included."""
        rows = self._all(
            "SELECT o.id, o.message, o.session, o.attempts, m.exchange, m.notices, m.lease, m.read_us "
            "FROM outbox o JOIN messages m ON m.id = o.message "
            "WHERE o.kind = 'notify' AND o.due_us <= ? ORDER BY o.due_us, o.id LIMIT ?",
            now_us,
            limit,
        )
        return tuple(
            Owed(
                outbox=row["id"],
                message=row["message"],
                exchange=row["exchange"],
                session=row["session"],
                notices=row["notices"],
                unproven=row["attempts"],
                taken=row["lease"] is not None,
                settled=row["read_us"] is not None,
            )
            for row in rows
        )

    def owed_count(self) -> int:
        """How many notices are owed, due or not."""
        row = self._one("SELECT COUNT(*) AS n FROM outbox WHERE kind = 'notify'")
        return int(row["n"]) if row else 0

    def launch(self, session_id: str) -> LaunchPlan | None:
        """What a reserved session is to be started with, until it was."""
        row = self._one("SELECT plan FROM launches WHERE session = ?", session_id)
        return LaunchPlan(**json.loads(row["plan"])) if row else None

    def tree(self, session_id: str) -> Worktree | None:
        """The worktree that was made for a session."""
        row = self._one("SELECT tree FROM worktrees WHERE session = ?", session_id)
        return tree_of(row["tree"]) if row else None

    def workspaces(self) -> tuple[Workspace, ...]:
        """The workspaces that a person added or changed; the default one is among them only if it was changed."""
        rows = self._all("SELECT name, driver, settings, reach, mode FROM workspaces ORDER BY name_key")
        return tuple(workspace_of(row) for row in rows)

    def file_hashes(self) -> frozenset[str]:
        """The hashes of all files that messages have."""
        rows = self._all(
            "SELECT DISTINCT json_extract(file.value, '$[1]') AS hash FROM messages, json_each(messages.files) AS file "
            "WHERE messages.files <> '[]'"
        )
        return frozenset(row["hash"] for row in rows)

    def owed_since(self, session_id: str, since_us: int) -> tuple[Message, ...]:
        """Unread messages for a session that came, or came back, since then and since its agent was started."""
        rows = self._all(
            f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE landed_us IS NOT NULL AND read_us IS NULL AND lease IS NULL "
            "AND id IN (SELECT message FROM outbox WHERE kind = 'notify' AND session = ? AND owed_us >= ?)",
            session_id,
            since_us,
        )
        return tuple(message_of(row) for row in rows)

    def returned(self, message_id: str) -> int:
        """How often a message that was taken became unread again."""
        row = self._one("SELECT returned FROM messages WHERE id = ?", message_id)
        return int(row["returned"]) if row else 0

    def calls_that_took(self, session_id: str, since_us: int) -> tuple[str, ...]:
        """The newest call of a session, if it took messages that count as read since then."""
        rows = self._all(
            "SELECT DISTINCT m.taken_by AS call FROM messages m JOIN calls c ON c.id = m.taken_by "
            "WHERE c.session = ? AND m.read_us >= ? AND NOT EXISTS "
            "(SELECT 1 FROM calls AS later WHERE later.session = c.session AND later.created_us > m.read_us)",
            session_id,
            since_us,
        )
        return tuple(row["call"] for row in rows)

    def launching(self, session_id: str) -> bool:
        """Whether somebody starts or resumes this session, or is about to."""
        return self._one("SELECT 1 FROM outbox WHERE kind = 'launch' AND session = ?", session_id) is not None

    def next_due(self, kind: str) -> int | None:
        """When the next effect of that kind is due, or None when there is none."""
        row = self._one("SELECT MIN(due_us) AS due FROM outbox WHERE kind = ?", kind)
        return None if row is None or row["due"] is None else int(row["due"])

    def effects(self, kind: str, now_us: int, limit: int) -> tuple[tuple[int, Effect], ...]:
        """(outbox id, effect) of one kind that is due."""
        rows = self._all(
            "SELECT id, kind, session, message FROM outbox WHERE kind = ? AND due_us <= ? ORDER BY due_us, id LIMIT ?",
            kind,
            now_us,
            limit,
        )
        return tuple((row["id"], effect_of(row)) for row in rows)

    def counts(self) -> Counts:
        """How much of everything there is."""
        row = self._only(
            "SELECT (SELECT COUNT(*) FROM sessions WHERE status = 'running') AS running, "
            "(SELECT COUNT(*) FROM sessions WHERE status = 'ended') AS ended, "
            "(SELECT COUNT(*) FROM exchanges WHERE closed = 0) AS open, "
            "(SELECT COUNT(*) FROM exchanges WHERE closed = 0 AND questions <> '[]') AS asked"
        )
        return Counts(running=row["running"], ended=row["ended"], open=row["open"], asked=row["asked"])


def _call_of(row: sqlite3.Row) -> CallRecord:
    return CallRecord(
        id=row["id"],
        session=row["session"],
        digest=row["digest"],
        key=row["key"],
        state=row["state"],
        created_us=row["created_us"],
    )
