"""How the database is opened: its settings, and one connection that writes beside one that reads."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from node.store.migrate import migrate
from node.store.timeline import begin_log, fill_tiles


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How the file is opened; `pragmas` are the platform's (fullfsync on macOS).

    `reserve_bytes` of the disk are put by for rows of refusals; every `look_s` an idle writer looks at its files. With
    `allow_gaps` a row that cannot be written in full stands in for itself as far as it can.
    """

    pragmas: tuple[str, ...] = ()
    max_pending: int = 4096
    max_batch: int = 512
    busy_ms: int = 5000
    reserve_bytes: int = 0
    look_s: float = 5.0
    allow_gaps: bool = False


def _open(path: Path, settings: StoreSettings) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=settings.busy_ms / 1000, cached_statements=512
    )
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        # Ids are random, so rows dirty pages all over their indexes: fewer, larger checkpoints write each page once.
        "PRAGMA wal_autocheckpoint = 8000",
        "PRAGMA cache_size = -32768",
        *settings.pragmas,
    ):
        connection.execute(statement)
    return connection


def connect_writer(path: Path, settings: StoreSettings, origin: str) -> sqlite3.Connection:
    """The connection that writes: to a file that is there and of the newest version afterwards, with a log in it."""
    path.touch(mode=0o600, exist_ok=True)
    connection = _open(path, settings)
    connection.execute("PRAGMA secure_delete = ON")
    migrate(connection)
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT 1 FROM timeline_logs").fetchone() is None:
        begin_log(connection, 0, origin)
    fill_tiles(connection)
    connection.execute("COMMIT")
    return connection


def connect_reader(path: Path, settings: StoreSettings) -> sqlite3.Connection:
    """A connection that cannot write."""
    connection = _open(path, settings)
    connection.execute("PRAGMA query_only = ON")
    return connection


def keep_copy(connection: sqlite3.Connection, path: Path) -> None:
    """Copies the database that is open to `path`, where nothing may be."""
    path.touch(mode=0o600, exist_ok=False)
    with closing(sqlite3.connect(path)) as copy:
        connection.backup(copy)
