"""Writes the private configuration of one session's agent, which nobody but this user can read."""

from __future__ import annotations

import os
from pathlib import Path

from node.agents.adapter import Launched
from node.core.errors import ErrorCode, MeshError

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


def write_private(folder: Path, launched: Launched) -> None:
    """Makes `folder` hold what `launched` asks for; what was there from an earlier start is replaced. Blocking.

    UNAVAILABLE when it cannot be written.
    """
    try:
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        for name, target in launched.links:
            path = _place(folder, name)
            # What the agent itself has put there in place of a link is the newer one.
            if path.is_symlink() or not path.exists():
                path.unlink(missing_ok=True)
                path.symlink_to(target)
        for name, text in launched.files:
            path = _place(folder, name)
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        message = (
            f"The agent's private configuration could not be written to {folder}: {error.strerror}. Make room there."
        )
        raise MeshError(ErrorCode.UNAVAILABLE, message) from error


def _place(folder: Path, name: str) -> Path:
    """Where `name` goes, its parents made. They are folders of ours: links are made for last names only."""
    path = folder / name
    path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    return path
