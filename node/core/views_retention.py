"""What people see of rows that are deleted and texts that are erased."""

from __future__ import annotations

from dataclasses import dataclass

from node.core.retention import Doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneView:
    """Rows `first` to `next` - 1 of a log that are to go, for their age or the log's size; `doubt` is why they stay."""

    log: str
    first: int
    next: int
    first_us: int
    last_us: int
    why: str
    deleted: int
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseView:
    """How many rows of `size` were looked at, how many texts were found beside them, and how many are erased."""

    seq: int
    size: int
    found: int
    erased: int
