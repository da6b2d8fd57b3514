"""Whether a file that is held open is still the one under its name, and nobody else wrote to it. All of it blocks."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

_HEADER_BYTES: Final = 100


class Unlike(StrEnum):
    """How a file is not what it was, as the code that a row gives for it."""

    REMOVED = "removed"
    REPLACED = "replaced"
    TRUNCATED = "truncated"
    OVERWRITTEN = "overwritten"


# Device, inode, size, time of the last write; a plain tuple, for it is made four times for each commit.
_Look: TypeAlias = tuple[int, int, int, int]


class WatchedFile:
    """Holds `path` open beside whoever writes to it, who says after each write of its own that it was `written`.

    Close it after them: a POSIX lock of this process on the file ends with the first descriptor that is closed. With
    `by_name` it is compared by what is under its name alone, and nothing is held open: for a file that its writer
    changes at all times.
    """

    def __init__(self, path: Path, *, by_name: bool = False) -> None:
        self._path = os.fspath(path)
        self._fd = None if by_name else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._header = b""
        self._last = self._now()
        if self._fd is not None:
            self._header = os.pread(self._fd, _HEADER_BYTES, 0)

    def unlike(self) -> Unlike | None:
        """How the file under that name is another one than was last written, None while it is the same."""
        try:
            found = _look(os.stat(self._path))  # noqa: PTH116  (four times a commit)
        except OSError:
            return Unlike.REMOVED
        if found == self._last:
            return None
        device, inode, size, written_ns = self._last
        if found[:2] != (device, inode):
            return Unlike.REPLACED
        if found[2] < size:
            return Unlike.TRUNCATED
        if self._fd is not None and found[3] != written_ns:
            # Set by a tool that looks after times, or by a hand that wrote: the header says which.
            if os.pread(self._fd, _HEADER_BYTES, 0) != self._header:
                return Unlike.OVERWRITTEN
            self._last = found
        return None

    def written(self) -> None:
        """Its writer has just written to it, or may have."""
        try:
            found = self._now()
        except OSError:
            # Nothing to remember: the next comparison says so.
            return
        if found == self._last or found[:2] != self._last[:2]:
            return
        if self._fd is not None:
            self._header = os.pread(self._fd, _HEADER_BYTES, 0)
        self._last = found

    def _now(self) -> _Look:
        return _look(os.stat(self._path if self._fd is None else self._fd))  # noqa: PTH116  (as above)

    def close(self) -> None:
        """Lets go of it; a second time, too."""
        held, self._fd = self._fd, None
        if held is not None:
            os.close(held)


def _look(found: os.stat_result) -> _Look:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
