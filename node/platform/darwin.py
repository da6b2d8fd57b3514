"""The few calls into macOS's C library which Python does not offer. Written from the public headers."""

from __future__ import annotations

import ctypes
import os
from functools import cache

# <sys/sysctl.h>
CTL_KERN = 1
KERN_PROCARGS2 = 49
# <sys/stat.h>
S_IFCHR = 0o020000


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def process_info(pid: int, flavor: int, size: int) -> bytes | None:
    """proc_pidinfo(pid, flavor) (<libproc.h>): `size` bytes, or None when there is no such process for us."""
    buffer = ctypes.create_string_buffer(size)
    written = _libc().proc_pidinfo(
        ctypes.c_int(pid), ctypes.c_int(flavor), ctypes.c_uint64(0), buffer, ctypes.c_int(size)
    )
    return buffer.raw if written == size else None


def process_arguments(pid: int) -> bytes | None:
    """sysctl kern.procargs2 of a process of ours, raw, or None when it may not be read."""
    mib = (ctypes.c_int * 3)(CTL_KERN, KERN_PROCARGS2, pid)
    size = ctypes.c_size_t(os.sysconf("SC_ARG_MAX"))
    buffer = ctypes.create_string_buffer(size.value)
    if _libc().sysctl(mib, 3, buffer, ctypes.byref(size), None, ctypes.c_size_t(0)) != 0:
        return None
    return buffer.raw[: size.value]


def device_path(device: int) -> str | None:
    """The /dev path of a character device number, by devname(3), or None for none."""
    devname = _libc().devname
    devname.restype = ctypes.c_char_p
    name: bytes | None = devname(ctypes.c_int(device), ctypes.c_uint16(S_IFCHR))
    # "??" and "#C..." are what devname answers for a device without a node.
    if name is None or name.startswith((b"?", b"#")):
        return None
    return f"/dev/{os.fsdecode(name)}"


def sysctl_string(name: str) -> str:
    """A text value of sysctlbyname(3); OSError when the system has none of that name."""
    size = ctypes.c_size_t(256)
    buffer = ctypes.create_string_buffer(size.value)
    if _libc().sysctlbyname(name.encode(), buffer, ctypes.byref(size), None, ctypes.c_size_t(0)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return buffer.value.decode("ascii")
