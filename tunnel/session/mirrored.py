"""One mirrored server as this machine shows it: what its stream said, and what each local watcher was given of that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant
from node.core.panel import PanelDelta, PanelSnapshot
from node.core.views import TimelineRowView
from node.core.views_mirror import BreakView, MirroredRows, MirrorEvent, MirrorStanding, StreamState
from tunnel.codec import Beat, WatchWish
from tunnel.mirror import Bounds, MirroredPanel, Panel, Slot, Taken
from tunnel.mirrored_log import LogBatch, MirroredLog

HISTORY: Final = 64
# Of a row of the timeline and the texts beside it, in an answer to a local watcher.
_ROWS_AT_ONCE: Final = 100


class GapError(Exception):
    """What a server sent has a hole: the stream is to be made anew."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Watcher:
    """One local watcher: what it has been given."""

    panel: bool
    timeline: bool
    tail: int
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    standing: MirrorStanding | None = None
    slot: Slot = field(default_factory=lambda: Slot(0))
    # How many rows of the log it is past, None before the log is told for the first time; and how many breaks.
    past: int | None = None
    breaks: int = 0


class Mirrored:
    """What a server shows, bounded, and all who look at it here. `run` names it among others of this process."""

    def __init__(self, *, run: str, limits: Limits, standing: MirrorStanding) -> None:
        bounds = Bounds(rows=limits.panel_rows, title_chars=limits.title_chars)
        self._panel = MirroredPanel(bounds)
        self._log = MirroredLog(keep=limits.mirror_rows_kept)
        self._shown = Panel(run=run, history=HISTORY)
        self._tail = limits.mirror_rows_kept
        self._watchers: set[_Watcher] = set()
        self._caught_up = False
        self._gone = False
        self.standing = standing

    @property
    def watched(self) -> bool:
        """Whether anybody looks."""
        return bool(self._watchers)

    @property
    def wanted(self) -> frozenset[Grant]:
        """What those who look want to see."""
        panel = any(watcher.panel for watcher in self._watchers)
        timeline = any(watcher.timeline for watcher in self._watchers)
        both = ((Grant.MIRROR_PANEL, panel), (Grant.MIRROR_TIMELINE, timeline))
        return frozenset(grant for grant, wanted in both if wanted)

    def wish(self, wanted: frozenset[Grant]) -> WatchWish:
        """What to ask the server for, so that it goes on from here."""
        (run, revision), (origin, seq) = self._panel.wanted, self._log.wanted
        return WatchWish(
            panel=Grant.MIRROR_PANEL in wanted,
            timeline=Grant.MIRROR_TIMELINE in wanted,
            run=run,
            revision=revision,
            origin=origin,
            seq=seq,
            tail=self._tail,
        )

    def stand(self, standing: MirrorStanding) -> None:
        """This is how the stream stands now."""
        before = self.standing
        if (before.state, before.why, before.grants) != (standing.state, standing.why, standing.grants):
            self.standing = standing
            self._wake()

    def end(self) -> None:
        """The server is mirrored no more."""
        self._gone = True
        self._wake()

    def take_panel(self, sent: PanelSnapshot | PanelDelta) -> None:
        """Shows what the server sent of its panel; GapError when something before it is missing."""
        taken = self._panel.take(sent)
        if taken is Taken.GAP:
            raise GapError("something of the panel is missing")
        if taken is Taken.SHOWN and self._shown.update(self._panel.rows.values(), self._panel.left_out):
            self._wake()
        elif self._shown.revision == 1:
            # An empty panel, which is news at first.
            self._wake()

    def take_rows(self, batch: LogBatch) -> None:
        """Shows what the server sent of its timeline."""
        before = self._log.breaks_total
        if self._log.take(batch) or self._log.breaks_total != before:
            self._wake()

    def take_beat(self, beat: Beat) -> None:
        """Compares with what the server says that it has given; GapError when that is not what came."""
        if beat.revision and self._panel.heard(beat.revision) is Taken.GAP:
            raise GapError("something of the panel is missing")
        if beat.rows and self._log.heard(beat.rows):
            raise GapError("rows of the timeline are missing")
        if beat.rows and not self._caught_up:
            self._caught_up = True
            self._wake()

    def _wake(self) -> None:
        for watcher in self._watchers:
            watcher.wake.set()

    async def watch(self, watcher: _Watcher) -> AsyncGenerator[MirrorEvent, None]:
        """What there is to see for a watcher that `enter` made, on and on; NOT_FOUND when the mirror is gone."""
        while True:
            watcher.wake.clear()
            if self._gone:
                raise MeshError(ErrorCode.NOT_FOUND, "The server is not mirrored by this node any more.")
            for event in self._news(watcher):
                yield event
            if not watcher.wake.is_set() and not self._owes(watcher):
                await watcher.wake.wait()

    def enter(self, *, panel: bool, timeline: bool, tail: int) -> _Watcher:
        """Somebody looks."""
        watcher = _Watcher(panel=panel, timeline=timeline, tail=tail)
        self._watchers.add(watcher)
        return watcher

    def leave(self, watcher: _Watcher) -> None:
        """And looks no more."""
        self._watchers.discard(watcher)

    def _owes(self, watcher: _Watcher) -> bool:
        return watcher.past is not None and watcher.past < self._log.rows_total

    def _news(self, watcher: _Watcher) -> Iterator[MirrorEvent]:
        if watcher.standing != self.standing:
            watcher.standing = self.standing
            yield self.standing
        if watcher.panel and self._panel.run:
            watcher.slot.offer(self._shown.revision)
            if watcher.slot.pending:
                since = watcher.slot.take()
                yield self._shown.since(self._shown.run if since else "", since)
        if watcher.timeline and (self._caught_up or self._log.breaks_total):
            first = watcher.past is None
            rows, missed = self._rows(watcher)
            if first or rows or watcher.breaks != self._log.breaks_total:
                watcher.breaks = self._log.breaks_total
                yield self._told(rows, missed)

    def _rows(self, watcher: _Watcher) -> tuple[tuple[TimelineRowView, ...], int]:
        """The next rows for a watcher, and how many before them were kept no longer."""
        log = self._log
        kept_from = log.rows_total - len(log.rows)
        past = watcher.past
        if past is None:
            past = max(kept_from, log.rows_total - watcher.tail)
        missed = max(0, kept_from - past)
        begin = past + missed - kept_from
        rows = tuple(
            TimelineRowView(seq=row.seq, data=row.data, leaf=row.leaf, side=row.side)
            for row in islice(log.rows, begin, begin + _ROWS_AT_ONCE)
        )
        watcher.past = past + missed + len(rows)
        return rows, missed

    def _told(self, rows: tuple[TimelineRowView, ...], missed: int) -> MirroredRows:
        log = self._log
        return MirroredRows(
            origin=log.origin,
            since=log.since,
            next=log.next,
            rows=rows,
            breaks=tuple(
                BreakView(first=one.first, last=one.last, code=one.code, words=one.words) for one in log.breaks
            ),
            breaks_total=log.breaks_total,
            missed=missed,
        )


def standing(state: StreamState, why: str, now_us: int, grants: frozenset[Grant] = frozenset()) -> MirrorStanding:
    """How a stream stands from now on."""
    return MirrorStanding(state=state, why=why, grants=grants, since_us=now_us)
