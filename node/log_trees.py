"""A node's logs by their origin, and the roots and paths of their trees out of what the node stores."""

from __future__ import annotations

from functools import partial

from node.core import merkle
from node.core.errors import ErrorCode, MeshError
from node.core.merkle import SubtreeRoot
from node.core.tiles import subtrees_in
from node.ports import Reader
from node.ports_timeline import LogInfo


def log_of(reader: Reader, origin: str) -> LogInfo:
    """The log of that origin, or the current one for none; NOT_FOUND when there is no such log."""
    log = next((one for one in reader.logs() if (one.origin == origin if origin else one.current)), None)
    if log is None:
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"This node has no log of the origin {origin[:160]!r}; leave it out to take the current one. The logs "
            "there are: helio timeline logs",
        )
    return log


def subtrees(reader: Reader, log: int) -> SubtreeRoot:
    """Answers roots of a log's subtrees; UNAVAILABLE where a row that it takes is gone."""
    return subtrees_in(partial(_tile, reader, log), partial(_leaves, reader, log))


def path_of(reader: Reader, log: int, seq: int, size: int) -> tuple[bytes, ...]:
    """The audit path of row `seq` in the tree of the log's first `size` rows."""
    return tuple(merkle.inclusion_proof(subtrees(reader, log), seq, size))


def _tile(reader: Reader, log: int, level: int, index: int) -> bytes:
    return reader.tile(level, index, log)


def _leaves(reader: Reader, log: int, first: int, end: int) -> tuple[bytes, ...]:
    rows = reader.rows(first, end - first, log)
    if [row.seq for row in rows] != list(range(first, end)):
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"The timeline no longer has what proves rows {first} to {end - 1}. Run `helio timeline verify`.",
        )
    return tuple(row.leaf for row in rows)
