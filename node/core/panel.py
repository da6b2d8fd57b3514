"""The Delegations panel as values: its rows, the whole of it at a revision, and what changed since another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SESSION: Final = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRow:
    """A session or an exchange. `kind` is "session", "delegation" or "request"; `state` a code.

    A session has its own name as `opener` and no worker; an exchange has both ends. `parent` is the session under
    which it is nested, empty at the top. `last_word` is a preview without secrets.
    """

    id: str
    kind: str
    title: str
    state: str
    opener: str
    worker: str
    parent: str
    last_word: str
    changed_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSnapshot:
    """The whole panel: revisions count from 1 within a run. `left_out` rows are not shown because of their number."""

    run: str
    revision: int
    rows: tuple[PanelRow, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelDelta:
    """What leads from one revision to a later one; whoever has one in between may take it, too."""

    from_revision: int
    revision: int
    changed: tuple[PanelRow, ...]
    removed: tuple[str, ...]
    left_out: int
