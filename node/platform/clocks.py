"""Clocks of the system: one that counts through sleep, the wall clock, and which boot this is."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from node.platform import IS_DARWIN, darwin

# On macOS CLOCK_MONOTONIC_RAW is mach_continuous_time, which counts through sleep; CLOCK_MONOTONIC on Linux does not.
_SINCE_BOOT = time.CLOCK_MONOTONIC_RAW if IS_DARWIN else getattr(time, "CLOCK_BOOTTIME", 7)
_LINUX_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boottime_us() -> int:
    """Microseconds since boot, counting through sleep; never goes back within one `boot_id`."""
    return time.clock_gettime_ns(_SINCE_BOOT) // 1_000


def wall_us() -> int:
    """Microseconds of UTC since 1970; may jump."""
    return time.time_ns() // 1_000


@cache
def boot_id() -> str:
    """An id that changes with every boot, in lower case; readings of `boottime_us` compare only within one."""
    if IS_DARWIN:
        return darwin.sysctl_string("kern.bootsessionuuid").lower()
    return _LINUX_BOOT_ID.read_text(encoding="ascii").strip().lower()
