"""One command's writes. Every SQL INSERT, UPDATE and DELETE of the node stands here, in approvals, mesh and mirrors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict

from node.core import timeline
from node.core.effects import ArchiveSession, Effect, Fetch, Land, Launch, Notify
from node.core.model import Address, Exchange, Ladder, Message, Session
from node.core.workspace import Workspace
from node.ports import CallRecord, Entropy
from node.ports_work import LaunchPlan, Worktree
from node.store.approvals import ApprovalTx
from node.store.mesh import MeshTx
from node.store.mirrors import MirrorTx
from node.store.reader import SqliteReader, address_values
from node.store.relay import RelayTx
from node.store.retention import RetentionTx
from node.store.rows import (
    EXCHANGE_COLUMNS,
    MESSAGE_COLUMNS,
    SESSION_COLUMNS,
    exchange_values,
    ladder_values,
    message_of,
    message_values,
    session_values,
    tree_text,
    workspace_values,
)
from node.store.timeline import TimelineTx


def _marks(columns: str) -> str:
    return ", ".join("?" * len(columns.split(",")))


def _put(table: str, columns: str) -> str:
    """By id, and by nothing else: OR REPLACE would delete another row that holds the same nickname."""
    changes = ", ".join(f"{c.strip()} = excluded.{c.strip()}" for c in columns.split(",")[1:])
    return f"INSERT INTO {table} ({columns}) VALUES ({_marks(columns)}) ON CONFLICT (id) DO UPDATE SET {changes}"


_PUT_SESSION = _put("sessions", SESSION_COLUMNS)
_PUT_EXCHANGE = _put("exchanges", EXCHANGE_COLUMNS)
_ADD_MESSAGE = f"INSERT INTO messages ({MESSAGE_COLUMNS}, to_node, to_session) VALUES ({_marks(MESSAGE_COLUMNS)}, ?, ?)"
_SET_LADDER = (
    "UPDATE messages SET recorded_us = ?, screened = ?, landed_us = ?, notices = ?, held = ?, confirmed_us = ?, "
    "read_us = ?, answered_us = ?, gave_up_us = ? WHERE id = ?"
)


class SqliteTx(TimelineTx, RetentionTx, SqliteReader, ApprovalTx, MeshTx, MirrorTx, RelayTx):
    """Implements ports.Tx inside a transaction that the engine began."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        row_clock: Callable[[], timeline.Clock],
        entropy: Entropy,
        *,
        allow_gaps: bool = False,
    ) -> None:
        SqliteReader.__init__(self, connection)
        TimelineTx.__init__(self, connection, row_clock, entropy, allow_gaps=allow_gaps)

    def put_session(self, session: Session) -> None:
        """Inserts or replaces a session."""
        self._db.execute(_PUT_SESSION, session_values(session))

    def remove_session(self, session_id: str) -> None:
        """Deletes a session with what is owed to it and what it still asks the person; its exchanges stay as record."""
        self._db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
        self._db.execute("DELETE FROM approvals WHERE session = ? AND decision = 'pending'", (session_id,))
        self._db.execute("DELETE FROM worktrees WHERE session = ?", (session_id,))
        self._db.execute("DELETE FROM outbox WHERE session = ?", (session_id,))
        self.drop_launch(session_id)

    def put_launch(self, plan: LaunchPlan) -> None:
        """Keeps what a reserved session is to be started with."""
        self._db.execute("INSERT OR REPLACE INTO launches VALUES (?, ?)", (plan.session, json.dumps(asdict(plan))))

    def drop_launch(self, session_id: str) -> None:
        """Forgets it: the session was started, or never will be."""
        self._db.execute("DELETE FROM launches WHERE session = ?", (session_id,))

    def put_tree(self, session_id: str, tree: Worktree) -> None:
        """Remembers the worktree that was made for a session."""
        self._db.execute("INSERT OR REPLACE INTO worktrees VALUES (?, ?)", (session_id, tree_text(tree)))

    def put_workspace(self, workspace: Workspace) -> None:
        """Inserts or changes a workspace."""
        self._db.execute("INSERT OR REPLACE INTO workspaces VALUES (?, ?, ?, ?, ?, ?)", workspace_values(workspace))

    def remove_workspace(self, key: str) -> None:
        """Forgets a workspace."""
        self._db.execute("DELETE FROM workspaces WHERE name_key = ?", (key,))

    def put_exchange(self, exchange: Exchange) -> None:
        """Inserts or updates an exchange."""
        self._db.execute(_PUT_EXCHANGE, exchange_values(exchange))

    def add_message(self, message: Message, to: Address) -> None:
        """Inserts a message for the inbox of `to`."""
        self._db.execute(_ADD_MESSAGE, (*message_values(message), *address_values(to)))

    def set_ladder(self, message_id: str, ladder: Ladder) -> None:
        """Updates how far a message got."""
        self._db.execute(_SET_LADDER, (*ladder_values(ladder), message_id))

    def add_command(self, key: str, exchange_id: str, message_id: str, now_us: int) -> None:
        """Remembers what the command of that key came to."""
        self._db.execute("INSERT INTO commands VALUES (?, ?, ?, ?)", (key, exchange_id, message_id, now_us))

    def add_effect(self, effect: Effect, now_us: int, *, wait_us: int = 0) -> None:
        """Puts an effect into the outbox, due in `wait_us`."""
        match effect:
            case Notify(session=session, message=message):
                self._add_outbox("notify", session, message, now_us, wait_us)
            case ArchiveSession(session=session):
                self._add_outbox("archive", session, "", now_us, wait_us)
            case Launch(session=session):
                self._add_outbox("launch", session, "", now_us, wait_us)
            case Land(session=session, message=message):
                self._add_outbox("land", session, message, now_us, wait_us)
            case Fetch(session=session, message=message):
                self._add_outbox("fetch", session, message, now_us, wait_us)

    def _add_outbox(self, kind: str, session: str, message: str, now_us: int, wait_us: int) -> None:
        values = (kind, session, message, now_us + wait_us, now_us)
        self._db.execute("INSERT INTO outbox (kind, session, message, due_us, owed_us) VALUES (?, ?, ?, ?, ?)", values)

    def put_off(self, outbox: int, due_us: int, *, unproven: bool = False) -> None:
        """Makes an effect due again later; `unproven` when it may have been done, which is counted."""
        self._db.execute(
            "UPDATE outbox SET due_us = ?, attempts = attempts + ? WHERE id = ?", (due_us, int(unproven), outbox)
        )

    def effect_done(self, outbox: int) -> None:
        """Takes an effect out of the outbox."""
        self._db.execute("DELETE FROM outbox WHERE id = ?", (outbox,))

    def hasten(self, session_id: str, now_us: int) -> None:
        """Makes what was held for a session due at once."""
        self._db.execute(
            "UPDATE outbox SET due_us = ? WHERE kind = 'notify' AND session = ? AND EXISTS "
            "(SELECT 1 FROM messages AS m WHERE m.id = outbox.message AND m.held IS NOT NULL)",
            (now_us, session_id),
        )

    def started_with(self, session_id: str) -> None:
        """What is owed to a session by now is what its agent was started with: it is no news when that ends."""
        self._db.execute("UPDATE outbox SET owed_us = 0 WHERE kind = 'notify' AND session = ?", (session_id,))

    def open_call(self, call: CallRecord) -> None:
        """Remembers a call; one that is known already runs again under its first key."""
        self._db.execute(
            "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
            (call.id, call.session, call.digest, call.key, call.state, call.created_us),
        )

    def set_call(self, call_id: str, state: str) -> None:
        """Changes a call's state."""
        self._db.execute("UPDATE calls SET state = ? WHERE id = ?", (state, call_id))

    def forget_before(self, then_us: int) -> None:
        """Drops command keys older than `then_us`, and calls of that age whose client has said what became of them."""
        self._db.execute("DELETE FROM calls WHERE created_us < ? AND state IN ('settled', 'abandoned')", (then_us,))
        self._db.execute("DELETE FROM commands WHERE created_us < ?", (then_us,))

    def lease(self, message_id: str, call_id: str) -> None:
        """Hands a message to a call."""
        self._db.execute("UPDATE messages SET lease = ?, taken_by = ? WHERE id = ?", (call_id, call_id, message_id))

    def leased(self, call_id: str) -> tuple[Message, ...]:
        """What a call holds."""
        rows = self._all(f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE taken_by = ? AND lease = ?", call_id, call_id)
        return tuple(message_of(row) for row in rows)

    def release(self, call_id: str) -> tuple[Message, ...]:
        """Makes all that a call took unread again, even what counted as read; gives what changed."""
        rows = self._all(f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE taken_by = ?", call_id)
        self._db.execute(
            "UPDATE messages SET lease = NULL, taken_by = NULL, read_us = NULL, returned = returned + 1 "
            "WHERE taken_by = ?",
            (call_id,),
        )
        return tuple(message_of(row) for row in rows)

    def mark_read(self, message_id: str, now_us: int) -> None:
        """The reader has the message for sure; no notice is owed for it any more."""
        self._db.execute("UPDATE messages SET lease = NULL, read_us = ? WHERE id = ?", (now_us, message_id))
        self.drop_notices(message_id)

    def drop_notices(self, message_id: str) -> None:
        """Takes back the notices owed for a message."""
        self._db.execute("DELETE FROM outbox WHERE kind = 'notify' AND message = ?", (message_id,))
