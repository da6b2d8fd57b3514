"""Effects: what has to be done outside the database after a commit. Each is a row of the outbox."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Tell the session at the receiving end that `message` waits; `quiet` delays the first notice."""

    session: str
    message: str
    quiet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSession:
    """Put the delegate's session away: its delegation was closed or cancelled."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Start the agent of a session that is reserved for a delegate, or resume one that ended."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Land:
    """Put the files of a message into its reader's inbox; the message can be read afterwards."""

    session: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """Pull the files of a message from the mirrored node that it came from; they are landed afterwards."""

    session: str
    message: str


Effect = Notify | ArchiveSession | Launch | Land | Fetch
