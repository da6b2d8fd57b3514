"""A file that is being received: written in order, hashed on the way, and flushed behind the writing. All of it blocks.

What of it is durable after a crash is told by its length alone. Flushes begin at every multiple of a step, and nothing
is written past the next multiple before the one behind it is flushed.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from node.platform.durability import flush
from node.platform.parcel import StoppedError

_READ_BYTES: Final = 1_048_576
_MODE: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def durable_length(length: int, step: int) -> int:
    """How many bytes of a part file of that length are on the medium for sure."""
    return max(0, (length - 1) // step - 1) * step


class PartFile:
    """Opens `path`, made if need be, to go on at `offset`; what lies behind that is cut off, what is before is hashed.

    One thread at a time, but for `flush`. StoppedError once `stop` is set while it reads what is there.
    """

    def __init__(self, path: Path, *, offset: int, stop: threading.Event) -> None:
        self.path = path
        self._digest = hashlib.sha256()
        self._fd = os.open(path, _MODE, 0o600)
        try:
            os.ftruncate(self._fd, offset)
            done = 0
            while done < offset:
                if stop.is_set():
                    raise StoppedError
                data = os.pread(self._fd, min(_READ_BYTES, offset - done), done)
                if not data:
                    raise OSError(f"{path} ended at {done} of {offset} bytes")
                self._digest.update(data)
                done += len(data)
            os.lseek(self._fd, offset, os.SEEK_SET)
        except BaseException:
            os.close(self._fd)
            raise
        self.written = offset

    def put(self, batch: Sequence[bytes]) -> None:
        """Appends; when it fails, `written` is what is there."""
        for data in batch:
            rest = memoryview(data)
            while rest:
                count = os.write(self._fd, rest)
                self._digest.update(rest[:count])
                self.written += count
                rest = rest[count:]

    def flush(self) -> None:
        """What was written before the call is on the medium after it."""
        flush(self._fd)

    def sha256(self) -> str:
        """Of all that was written, in hex."""
        return self._digest.hexdigest()

    def close(self) -> None:
        os.close(self._fd)
