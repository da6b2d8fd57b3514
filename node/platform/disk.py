"""What everything that keeps files of a node needs of its disk. All of it blocks."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.platform.durability import flush

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def private_folder(folder: Path) -> None:
    """Makes `folder` 0700 unless it is there; UNAVAILABLE when something else is there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not stat.S_ISDIR(folder.lstat().st_mode):
        message = f"{folder} is not a folder of this node, so no files can be kept there. Move it away."
        raise MeshError(ErrorCode.UNAVAILABLE, message, {"path": str(folder)})


def flush_folder(folder: Path) -> None:
    """Returns once the names in `folder` are on the medium."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flush(opened)
    finally:
        os.close(opened)


def check_room(home: Path, size: int, spare_bytes: int) -> None:
    """UNAVAILABLE unless the disk of `home` has room for `size` bytes and `spare_bytes` besides."""
    disk = os.statvfs(home)
    free = disk.f_bavail * disk.f_frsize
    if free < size + spare_bytes:
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"The disk of this node has {free:,} bytes free. These files need {size:,}, and spare_bytes keeps "
            f"{spare_bytes:,} free, so nothing was copied. Free some space, then call again.",
            {"free": free, "needed": size},
        )


def disk_error(error: OSError, home: Path, left: str = "nothing of the message was kept") -> MeshError:
    """What a failed write below `home` amounts to; `left` says what is left of what was to be written."""
    if error.errno in _FULL:
        what = f"The disk of this node is full, or its quota is used up ({home}). Free some space"
    else:
        what = f"This node cannot write to {home} ({error.strerror}). See what is wrong there"
    return MeshError(ErrorCode.UNAVAILABLE, f"{what}, then call again; {left}.")
