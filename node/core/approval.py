"""Approvals: a decision that a person must take before something happens. No answer means no."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ApprovalKind(StrEnum):
    """What is asked for."""

    OUTSIDE_FILE = "outside_file"
    WORKTREE_MERGE = "worktree_merge"
    MESSAGE = "message"
    MESSAGE_FILE = "message_file"

    @property
    def holds_message(self) -> bool:
        """Whether a message waits for the answer, and not the call that asked."""
        return self in {ApprovalKind.MESSAGE, ApprovalKind.MESSAGE_FILE}


class Decision(StrEnum):
    """Where an approval stands. ONCE is used up by the first use; SESSION and ALWAYS hold on."""

    PENDING = "pending"
    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    DENIED = "denied"
    USED = "used"
    EXPIRED = "expired"

    @property
    def allows(self) -> bool:
        """Whether it lets the thing happen."""
        return self in {Decision.ONCE, Decision.SESSION, Decision.ALWAYS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One question to the person: may `session` do `kind` with `subject` (a path, a branch)? Times in microseconds.

    `subject` says exactly what was asked for; an approval covers this very subject and nothing that is like it. For a
    held message or its files it is the digest of the text, `session` the one that is to read it, and `message` its id.
    """

    id: str
    kind: ApprovalKind
    session: str
    subject: str
    words: str
    decision: Decision
    asked_us: int
    decided_us: int | None = None
    expires_us: int = 0
    message: str = ""


def covers(approval: Approval, *, kind: ApprovalKind, session: str, subject: str, now_us: int) -> bool:
    """Whether `approval` lets that session do that: its own, or anybody's where it was allowed for always."""
    if approval.kind is not kind or approval.subject != subject or not approval.decision.allows:
        return False
    if approval.decision is Decision.ALWAYS:
        return True
    return approval.session == session and (approval.decision is Decision.SESSION or now_us < approval.expires_us)
