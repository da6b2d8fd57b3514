"""How a write is made to last through a power cut."""

from __future__ import annotations

import errno
import fcntl
import os

from node.platform import IS_DARWIN

# <sys/fcntl.h> of macOS. fsync() there hands the data to the drive, which may still hold it in its cache.
F_FULLFSYNC = 51
_NOT_OFFERED = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL})


def flush(fd: int) -> None:
    """Return once what was written to `fd` is on the medium; OSError when the system cannot promise it."""
    if IS_DARWIN:
        try:
            fcntl.fcntl(fd, F_FULLFSYNC)
            return
        except OSError as error:
            # Network and some foreign file systems know only fsync.
            if error.errno not in _NOT_OFFERED:
                raise
    os.fsync(fd)


def sqlite_pragmas() -> tuple[str, ...]:
    """The statements which make SQLite flush as `flush` does; for each new connection."""
    if IS_DARWIN:
        return ("PRAGMA fullfsync=1", "PRAGMA checkpoint_fullfsync=1")
    return ()
