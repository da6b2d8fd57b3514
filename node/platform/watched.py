"""Whether a file that is held open is still the one under its name, and nobody else wrote to it. All of it blocks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

_HEADER_BYTES: Final = 100


class Unlike(StrEnum):
    """How a file is not what it was, as the code that a row gives for it."""

    REMOVED = "removed"
    REPLACED = "replaced"
    TRUNCATED = "truncated"
    OVERWRITTEN = "overwritten"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What a file was when it was last looked at."""

    device: int
    inode: int
    size: int
    written_ns: int


class WatchedFile:
    """Holds `path` open beside whoever writes to it, who says after each write of its own that it was `written`.

    Close it after them: a POSIX lock of this process on the file ends with the first descriptor that is closed. With
    `by_name` it is compared by what is under its name alone, and nothing is held open: for a file that its writer
    changes at all times.
    """

    def __init__(self, path: Path, *, by_name: bool = False) -> None:
        self._path = path
        self._fd = None if by_name else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._header = b""
        self._last = _look(path.stat() if self._fd is None else os.fstat(self._fd))
        if self._fd is not None:
            self._header = os.pread(self._fd, _HEADER_BYTES, 0)

    def unlike(self) -> Unlike | None:
        """How the file under that name is another one than was last written, None while it is the same."""
        try:
            found = _look(self._path.stat())
        except OSError:
            return Unlike.REMOVED
        last = self._last
        if (found.device, found.inode) != (last.device, last.inode):
            return Unlike.REPLACED
        if found.size < last.size:
            return Unlike.TRUNCATED
        if self._fd is not None and found.written_ns != last.written_ns:
            # Set by a tool that looks after times, or by a hand that wrote: the header says which.
            if os.pread(self._fd, _HEADER_BYTES, 0) != self._header:
                return Unlike.OVERWRITTEN
            self._last = found
        return None

    def written(self) -> None:
        """Its writer has just written to it, or may have."""
        if self._fd is None:
            try:
                found = _look(self._path.stat())
            except OSError:
                # Nothing to remember: the next comparison says so.
                return
            if (found.device, found.inode) == (self._last.device, self._last.inode):
                self._last = found
            return
        found = _look(os.fstat(self._fd))
        if found.written_ns != self._last.written_ns or found.size != self._last.size:
            self._header = os.pread(self._fd, _HEADER_BYTES, 0)
        self._last = found

    def close(self) -> None:
        """Lets go of it."""
        if self._fd is not None:
            os.close(self._fd)


def _look(found: os.stat_result) -> _Look:
    return _Look(device=found.st_dev, inode=found.st_ino, size=found.st_size, written_ns=found.st_mtime_ns)
