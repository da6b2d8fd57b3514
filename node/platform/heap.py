"""How the C library of this process treats memory that was freed."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

# <malloc.h> of glibc.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 33_554_432
_LARGEST_BYTES: Final = 8_388_608


def keep_freed() -> None:
    """Has up to 32 MB of freed memory kept for what comes next, rather than given back at once.

    Chunks of files are of a size that glibc asks the system for, each anew; that took a third of a sender's time. Other
    systems keep such memory by themselves.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # musl has none.
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
