"""A file that is being received: written in order, hashed on the way, and flushed behind the writing. All of it blocks.

What of it is durable after a crash is told by its length alone. Flushes begin at every multiple of a step, and nothing
is written past the next multiple before the one behind it is flushed.

Where the system can, it writes past its cache: nobody reads a large file soon, and to copy it there costs as much as to
decrypt and hash it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import mmap
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from node.platform.durability import flush
from node.platform.parcel import StoppedError

# Writes past the cache have to begin and end at multiples of this; every offset that is gone on from is one.
ALIGNED: Final = 4_096
# At least as much is written at once, but for the end.
_BUFFER_BYTES: Final = 2_097_152
_READ_BYTES: Final = 1_048_576
_MODE: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
# Not on macOS, and not on every file system.
_PAST_CACHE: Final[int] = getattr(os, "O_DIRECT", 0)


def durable_length(length: int, step: int) -> int:
    """How many bytes of a part file of that length are on the medium for sure."""
    return max(0, (length - 1) // step - 1) * step


class PartFile:
    """Opens `path`, made if need be, to go on at `offset`; what lies behind that is cut off, what is before is hashed.

    One thread may put while another one hashes and a third one flushes. StoppedError once `stop` is set while it reads
    what is there.
    """

    def __init__(self, path: Path, *, offset: int, stop: threading.Event) -> None:
        self._digest = hashlib.sha256()
        self._fd = os.open(path, _MODE, 0o600)
        try:
            os.ftruncate(self._fd, offset)
            self._hash_first(offset, stop)
            os.lseek(self._fd, offset, os.SEEK_SET)
            self._past_cache = False
            self._set_past_cache(wanted=offset % ALIGNED == 0)
            # Begins at a page, as such writes need it.
            self._buffer = mmap.mmap(-1, _BUFFER_BYTES)
        except BaseException:
            os.close(self._fd)
            raise
        self._filled = 0
        self._written = offset

    @property
    def written(self) -> int:
        """Bytes in the file."""
        return self._written

    @property
    def taken(self) -> int:
        """Bytes in the file and in the buffer."""
        return self._written + self._filled

    def put(self, batch: Sequence[bytes]) -> None:
        """Takes what comes next; most of it is written."""
        for data in batch:
            rest = memoryview(data)
            while rest:
                count = min(len(rest), _BUFFER_BYTES - self._filled)
                self._buffer[self._filled : self._filled + count] = rest[:count]
                self._filled += count
                rest = rest[count:]
                if self._filled == _BUFFER_BYTES:
                    self._write_out()

    def hash(self, batch: Sequence[bytes]) -> None:
        """Hashes what is put."""
        for data in batch:
            self._digest.update(data)

    def drain(self) -> None:
        """Writes the rest."""
        if self._filled:
            self._set_past_cache(wanted=False)
            self._write_out()

    def flush(self) -> None:
        """What was written before the call is on the medium after it."""
        flush(self._fd)

    def sha256(self) -> str:
        """Of all that was hashed, in hex."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Without the rest, if there is one."""
        self._buffer.close()
        os.close(self._fd)

    def _hash_first(self, offset: int, stop: threading.Event) -> None:
        done = 0
        while done < offset:
            if stop.is_set():
                raise StoppedError
            data = os.pread(self._fd, min(_READ_BYTES, offset - done), done)
            self._digest.update(data)
            done += len(data)

    def _write_out(self) -> None:
        """Writes the buffer; what could not be written stays in it."""
        done = 0
        try:
            with memoryview(self._buffer) as view:
                while done < self._filled:
                    try:
                        done += os.write(self._fd, view[done : self._filled])
                    except OSError as error:
                        # Some file systems say so only now, and a full disk may have taken an odd number of bytes.
                        if not (self._past_cache and error.errno == errno.EINVAL):
                            raise
                        self._set_past_cache(wanted=False)
        finally:
            self._written += done
            self._buffer.move(0, done, self._filled - done)
            self._filled -= done

    def _set_past_cache(self, *, wanted: bool) -> None:
        if wanted == self._past_cache or not _PAST_CACHE:
            return
        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self._fd, fcntl.F_SETFL, flags | _PAST_CACHE if wanted else flags & ~_PAST_CACHE)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return
        self._past_cache = wanted
