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


Effect = Notify | ArchiveSession
