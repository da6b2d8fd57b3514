"""How a node stands, as `helio status` shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """The node at a glance."""

    node_id: str
    version: str
    pid: int
    started_us: int
    home: str
    sessions_running: int
    sessions_ended: int
    exchanges_open: int
    questions_open: int
    timeline_rows: int
    timeline_writable: bool
    screen_engine: str
    screen_version: str
    notices_owed: int
    agents_connected: int
    tmux_version: str
    screen_scores: tuple[int, ...] = ()
    timeline_alarms: tuple[str, ...] = ()
