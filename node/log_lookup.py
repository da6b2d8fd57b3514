"""The log that an origin names."""

from __future__ import annotations

from node.core.errors import ErrorCode, MeshError
from node.ports_timeline import LogInfo, TimelineReader


def log_of(reader: TimelineReader, origin: str) -> LogInfo:
    """The log of that origin, the current one for none; NOT_FOUND when there is none of it."""
    log = next((one for one in reader.logs() if (one.origin == origin if origin else one.current)), None)
    if log is None:
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"This node has no log of the origin {origin[:160]!r}; leave it out to take the current one. The logs "
            "there are: helio timeline logs",
        )
    return log
