"""How many files and sockets this process may have open."""

from __future__ import annotations

import resource
from typing import Final

# macOS gives a program 256 unless it asks; a node with many agents needs more.
WANTED: Final = 4_096


def raise_limit() -> int:
    """Asks for WANTED descriptors, or as many as the system lets this user have; how many there may be now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft
