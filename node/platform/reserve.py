"""Disk space that is put by, so that there is some when the disk is full. All of it blocks."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from typing import Final

from node.platform import IS_DARWIN

# <sys/fcntl.h> of macOS: struct fstore and what its fields may be.
_F_PREALLOCATE: Final = 42
_F_ALLOCATEALL: Final = 4
_F_PEOFPOSMODE: Final = 3
_FSTORE: Final = struct.Struct("=Iiqqq")
_BLOCK_BYTES: Final = 512


class Reserve:
    """A file of `size` bytes that holds nothing but its space; a size of 0 is no reserve at all."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size

    def take(self) -> bool:
        """Puts the space by, unless it is already; False when the disk has not so much, or cannot be written."""
        if not self._size:
            return True
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            if not self._held(fd):
                allocate(fd, self._size)
        except OSError:
            self.give()
            return False
        finally:
            os.close(fd)
        return True

    def give(self) -> bool:
        """Gives the space back to the disk; False when there was none to give, or the disk takes no change."""
        if not self._size:
            return False
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def _held(self, fd: int) -> bool:
        found = os.fstat(fd)
        return found.st_size == self._size and found.st_blocks * _BLOCK_BYTES >= self._size


def allocate(fd: int, size: int) -> None:
    """Makes the open file that long, with room on the disk for all of it; OSError when there is not."""
    if IS_DARWIN:
        lacking = size - os.fstat(fd).st_blocks * _BLOCK_BYTES
        if lacking > 0:
            fcntl.fcntl(fd, _F_PREALLOCATE, _FSTORE.pack(_F_ALLOCATEALL, _F_PEOFPOSMODE, 0, lacking, 0))
        os.ftruncate(fd, size)
        return
    os.posix_fallocate(fd, 0, size)
    os.ftruncate(fd, size)
