"""The lock that keeps a second daemon away from a node's home."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from node.core.errors import ErrorCode, MeshError


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Holds the lock file for the length of the block; NODE_RUNNING when another process holds it.

    The lock goes with the process, however it ends; a file left behind means nothing.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.read(descriptor, 32).decode("ascii", "replace").strip()
            raise MeshError(
                ErrorCode.NODE_RUNNING,
                f"A node is already running from {path.parent} (process {pid or 'unknown'}). Use it, stop it with "
                "`helio down`, or set HELIOGRAPH_HOME to another folder for a second node.",
                {"pid": pid},
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)
