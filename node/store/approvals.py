"""The approvals' part of the database: its questions and its writes."""

from __future__ import annotations

import sqlite3

from node.core.approval import Approval, ApprovalKind, Decision


class ApprovalReader:
    """The approvals' part of ports.Reader."""

    _db: sqlite3.Connection

    def approvals(self, *, pending: bool, limit: int) -> tuple[Approval, ...]:
        """Approvals, newest first; only those that wait for a decision, or all."""
        where = "WHERE decision = 'pending'" if pending else ""
        return self._approvals(f"{where} ORDER BY asked_us DESC, id LIMIT ?", limit)

    def approvals_like(self, prefix: str, limit: int) -> tuple[Approval, ...]:
        """Approvals whose ids begin so, those that wait for a decision first."""
        # What ids are made of stands before the brace.
        where = "WHERE id >= ? AND id < ? ORDER BY decision <> 'pending', asked_us DESC, id LIMIT ?"
        return self._approvals(where, prefix, prefix + "{", limit)

    def approvals_of(self, kind: str, subject: str) -> tuple[Approval, ...]:
        """What was asked and decided for exactly that subject, newest first."""
        return self._approvals("WHERE kind = ? AND subject = ? ORDER BY asked_us DESC, id", kind, subject)

    def approvals_for(self, message_id: str) -> tuple[Approval, ...]:
        """What was asked about a message that is or was held, newest first."""
        return self._approvals("WHERE message = ? ORDER BY asked_us DESC, id", message_id)

    def holds_of(self, session_id: str) -> tuple[Approval, ...]:
        """What the person is asked about messages to a session, oldest first."""
        where = "WHERE session = ? AND decision = 'pending' AND message <> '' ORDER BY asked_us, id"
        return self._approvals(where, session_id)

    def _approvals(self, where: str, *values: str | int) -> tuple[Approval, ...]:
        return tuple(_approval_of(row) for row in self._db.execute(f"SELECT * FROM approvals {where}", values))


class ApprovalTx(ApprovalReader):
    """The approvals' part of ports.Tx."""

    def put_approval(self, approval: Approval) -> None:
        """Inserts or replaces an approval."""
        self._db.execute(
            "INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                approval.id,
                approval.kind.value,
                approval.session,
                approval.subject,
                approval.words,
                approval.decision.value,
                approval.asked_us,
                approval.decided_us,
                approval.expires_us,
                approval.message,
            ),
        )

    def prune_approvals(self, keep: int) -> None:
        """Forgets those that are used up or withdrawn, but for the newest `keep`."""
        self._db.execute(
            "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE decision IN ('used', 'expired') "
            "ORDER BY asked_us DESC, id LIMIT -1 OFFSET ?)",
            (keep,),
        )


def _approval_of(row: sqlite3.Row) -> Approval:
    return Approval(
        id=row["id"],
        kind=ApprovalKind(row["kind"]),
        session=row["session"],
        subject=row["subject"],
        words=row["words"],
        decision=Decision(row["decision"]),
        asked_us=row["asked_us"],
        decided_us=row["decided_us"],
        expires_us=row["expires_us"],
        message=row["message"],
    )
