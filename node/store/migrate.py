"""Numbered SQL migrations, each applied once and in one transaction."""

from __future__ import annotations

import re
import sqlite3
from importlib import resources

from node.core.errors import ErrorCode, MeshError

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql\Z")


def migrations() -> tuple[tuple[int, str], ...]:
    """(number, SQL) of every migration in the package, in order and without holes."""
    found: list[tuple[int, str]] = []
    for entry in resources.files("node.store").joinpath("migrations").iterdir():
        match = _NAME.match(entry.name)
        if match:
            found.append((int(match[1]), entry.read_text(encoding="utf-8")))
    found.sort()
    numbers = [number for number, _ in found]
    if numbers != list(range(1, len(found) + 1)):
        raise MeshError(
            ErrorCode.INTERNAL, f"The installed package has migrations {numbers}; install heliograph again."
        )
    return tuple(found)


def migrate(connection: sqlite3.Connection) -> int:
    """Brings the file to the newest version and returns it; UNSUPPORTED for a file that is newer than this program."""
    steps = migrations()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(steps):
        raise MeshError(
            ErrorCode.UNSUPPORTED,
            f"The database has version {version}, this program knows {len(steps)}: it was written by a newer "
            "heliograph. Install that version again; nothing was changed.",
        )
    for number, script in steps[version:]:
        # executescript() commits first, so the transaction is part of the script.
        connection.executescript(f"BEGIN EXCLUSIVE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
    return len(steps)
