"""The server's end of a watch: its panel and timeline, to be looked at. No message of it changes anything here.

What changed is serialised once for all who watch. Whoever is slow is owed one step of the panel, and reads the timeline
where it stands: nothing is kept for anybody. Grants are asked again whenever trust changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from node.core.canonical import decode
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant, Peer
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason, SideField
from node.ledger import Ledger
from node.ledger_rows import Extra
from node.ports import Clock, Reader, Store
from node.ports_mesh import Calls, Pins
from node.ports_mirror import PanelSource
from node.ports_timeline import StoredRow
from node.rpc_gate import REASON, Caller, Gate, Handlers
from tunnel import codec
from tunnel.codec import Beat, WatchWish
from tunnel.mirror import Panel, Slot
from tunnel.mirrored_log import LogBatch, SideText
from tunnel.pace import Pace
from tunnel.wire.v1 import mirror_pb2 as pb

METHOD: Final = "/tunnel.wire.v1.MirrorService/Watch"
HISTORY: Final = 128
# Of all who follow the timeline most want the same rows.
_PAGES_KEPT: Final = 16
_PAGE_ROWS: Final = 256
# Of all who see the panel most have the same revision of it.
_STEPS_KEPT: Final = 8
# A client ends the stream of a server that sends more than limits.watch_frames_per_s.
_SHARE_OF_PACE: Final = 0.5
_MINUTE_S: Final = 60.0
# What the screen stopped stays here; of a row about it only who and whom.
_UNREAD: Final = frozenset({"withheld", "held"})
_SHOWN_OF_WITHHELD: Final = frozenset({SideField.SENDER, SideField.RECIPIENT})
# Whoever sees a preview need not be able to try what the whole was.
_KEPT_HERE: Final = frozenset({SideField.SEAL})

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class _Watcher:
    """One stream. `slot` is there once the panel is shown, `seq` the next row of the timeline."""

    wish: WatchWish
    pace: Pace
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    slot: Slot | None = None
    seq: int | None = None


class WatchServer:
    """Answers MirrorService.Watch; follows what it shows in `run`."""

    def __init__(
        self, *, gate: Gate, panel: PanelSource, store: Store, ledger: Ledger, trust: Pins, calls: Calls, clock: Clock,
        limits: Limits,
    ) -> None:  # fmt: skip
        self._gate = gate
        self._source = panel
        self._store = store
        self._ledger = ledger
        self._trust = trust
        self._calls = calls
        self._clock = clock
        self._limits = limits
        self._panel = Panel(run=ledger.new_id(), history=HISTORY)
        self._frames: dict[int, tuple[bytes, ...]] = {}
        self._pages = _Pages(store)
        self._watchers: set[_Watcher] = set()
        self._starts: dict[str, deque[float]] = {}

    @property
    def watching(self) -> int:
        """How many streams are open."""
        return len(self._watchers)

    def handlers(self) -> Handlers:
        """For the port that peers call."""
        return {METHOD: self._gate.stream(self._watch, pb.WatchRequest)}

    def committed(self) -> None:
        """There may be new rows of the timeline."""
        self._pages.commits += 1
        for watcher in self._watchers:
            if watcher.seq is not None:
                watcher.wake.set()

    async def run(self) -> None:
        """Follows the panel and trust until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_panel())
            group.create_task(self._follow_trust())

    async def _follow_panel(self) -> None:
        seen = self._source.generation
        while True:
            seen = await self._source.next_change(seen)
            self._refresh()

    async def _follow_trust(self) -> None:
        seen = self._trust.generation
        while True:
            seen = await self._trust.next_change(seen)
            for watcher in self._watchers:
                watcher.wake.set()

    def _refresh(self) -> None:
        """The panel as it was worked out last, and all who watch are owed it."""
        if not self._panel.update(self._source.rows, self._source.left_out):
            return
        self._frames.clear()
        for watcher in self._watchers:
            if watcher.slot is not None:
                watcher.slot.offer(self._panel.revision)
                watcher.wake.set()

    async def _watch(self, caller: Caller, given: pb.WatchRequest) -> AsyncGenerator[bytes, None]:
        wish = codec.wish_from_wire(given)
        now = asyncio.get_running_loop().time()
        granted = self._granted(caller, wish)
        if not granted:
            raise _not_granted(wish)
        self._count_start(caller.peer, now)
        rate = self._limits.watch_frames_per_s * _SHARE_OF_PACE
        watcher = _Watcher(wish=wish, pace=Pace(rate, int(rate)))
        await self._row(caller, RowDecision.WATCH_BEGAN, granted)
        self._watchers.add(watcher)
        try:
            with self._source.watched() if wish.panel else nullcontext():
                async with aclosing(self._frames_for(caller, watcher)) as frames:
                    async for frame in frames:
                        yield frame
        finally:
            self._watchers.discard(watcher)
            try:
                await self._row(caller, RowDecision.WATCH_ENDED, granted, self._why_over(caller, wish))
            except MeshError as error:
                # The disk, most likely. It is over all the same.
                _log.warning("the end of a watch could not be recorded: %s", error.message)

    async def _frames_for(self, caller: Caller, watcher: _Watcher) -> AsyncGenerator[bytes, None]:
        now = asyncio.get_running_loop().time
        beat_at, told = now(), frozenset[Grant]()
        while True:
            watcher.wake.clear()
            granted = self._granted(caller, watcher.wish)
            if not granted:
                raise _not_granted(watcher.wish)
            if granted != told:
                told, beat_at = granted, now()
                self._narrow(watcher, granted)
                # What may be seen comes before anything that is seen.
                yield self._beat(watcher, granted)
            if Grant.MIRROR_PANEL in granted:
                for frame in await self._owed(watcher):
                    yield frame
                    await _rest(watcher)
            if Grant.MIRROR_TIMELINE in granted:
                page = await self._page(watcher)
                if page is not None:
                    yield page
                    await _rest(watcher)
                    # Trust may have changed meanwhile: it is asked between any two frames of a long log.
                    continue
            if now() >= beat_at:
                beat_at = now() + self._limits.link_beat_s
                yield self._beat(watcher, granted)
                continue
            try:
                async with asyncio.timeout_at(beat_at):
                    await watcher.wake.wait()
            except TimeoutError:
                continue

    def _narrow(self, watcher: _Watcher, granted: frozenset[Grant]) -> None:
        if Grant.MIRROR_PANEL not in granted:
            watcher.slot = None
        if Grant.MIRROR_TIMELINE not in granted:
            watcher.seq = None

    async def _owed(self, watcher: _Watcher) -> tuple[bytes, ...]:
        """The frames of the panel that the watcher is owed."""
        if watcher.slot is None:
            await self._source.fresh()
            self._refresh()
            wish = watcher.wish
            known = wish.run == self._panel.run and wish.revision <= self._panel.revision
            watcher.slot = Slot(wish.revision if known else 0)
            watcher.slot.offer(self._panel.revision)
        if not watcher.slot.pending:
            return ()
        since = watcher.slot.take()
        frames = self._frames.get(since)
        if frames is None:
            run = self._panel.run if since else ""
            frames = codec.panel_to_wire(self._panel.since(run, since))
            if len(self._frames) < _STEPS_KEPT:
                self._frames[since] = frames
        return frames

    async def _page(self, watcher: _Watcher) -> bytes | None:
        """The rows of the timeline from where the watcher stands, None when it has all of them."""
        if watcher.seq is None:
            head = await self._store.read(lambda reader: reader.head())
            wish = watcher.wish
            known = wish.origin == head.origin and wish.seq <= head.size
            watcher.seq = wish.seq if known else max(0, head.size - wish.tail)
        page = await self._pages.at(watcher.seq)
        if page is None:
            return None
        watcher.seq = page.next
        return page.frame

    def _beat(self, watcher: _Watcher, granted: frozenset[Grant]) -> bytes:
        return codec.beat_to_wire(
            Beat(
                now_us=self._clock.wall_us(),
                revision=watcher.slot.held if watcher.slot is not None else 0,
                rows=watcher.seq or 0,
                grants=granted,
            )
        )

    def _granted(self, caller: Caller, wish: WatchWish) -> frozenset[Grant]:
        peer = self._trust.pinned(caller.spki)
        if peer is None:
            # The gate is about to end this.
            return frozenset()
        return self._calls.grants_for(peer) & _wanted(wish)

    def _count_start(self, peer: Peer, now: float) -> None:
        """LIMIT for a peer that begins too often: each time is a row, and the work of a whole panel."""
        for known in [one for one, starts in self._starts.items() if starts[-1] + _MINUTE_S < now]:
            del self._starts[known]
        most = self._limits.watches_per_minute
        starts = self._starts.setdefault(peer.id, deque(maxlen=most))
        if len(starts) == most and starts[0] + _MINUTE_S > now:
            raise MeshError(
                ErrorCode.LIMIT,
                f"This peer began to watch {most} times within a minute, and that is the most. Try again later.",
                {REASON: RowReason.TOO_OFTEN, "limit": most},
            )
        starts.append(now)

    def _why_over(self, caller: Caller, wish: WatchWish) -> RowReason:
        if self._trust.pinned(caller.spki) is None:
            return RowReason.REVOKED
        return RowReason.LEFT if self._granted(caller, wish) else RowReason.GRANT_TAKEN

    async def _row(
        self, caller: Caller, decision: RowDecision, granted: frozenset[Grant], reason: RowReason | None = None
    ) -> None:
        peer = self._trust.pinned(caller.spki) or caller.peer
        extra: Extra = {ExtraKey.GRANTS: [grant.value for grant in sorted(granted)]}
        row = partial(self._ledger.peer_row, peer=peer, engine=RowEngine.MIRROR, decision=decision, reason=reason)
        await self._store.write(lambda tx: row(tx, extra=extra))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """A frame with rows, and the number of the row after them."""

    frame: bytes
    next: int


class _Pages:
    """Pages of the timeline, of which the last ones are kept: each is read and serialised once for all who want it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[int, _Page] = OrderedDict()
        self._reading = asyncio.Lock()
        # After so many commits there was no row of that number.
        self._end = (0, 0)
        self.commits = 0

    async def at(self, seq: int) -> _Page | None:
        """The page that begins with that row; None when it is not written yet."""
        async with self._reading:
            if seq not in self._kept:
                commits = self.commits
                if self._end == (commits, seq):
                    return None
                page = await self._store.read(lambda reader: _read_page(reader, seq))
                if page is None:
                    self._end = (commits, seq)
                    return None
                self._kept[seq] = page
                if len(self._kept) > _PAGES_KEPT:
                    self._kept.popitem(last=False)
            return self._kept[seq]


def _read_page(reader: Reader, seq: int) -> _Page | None:
    rows: list[StoredRow] = []
    texts: list[SideText] = []
    size = 0
    for row in reader.rows(seq, _PAGE_ROWS):
        if rows and row.seq != rows[-1].seq + 1:
            break
        beside = _side(row)
        rows.append(row)
        texts += beside
        size += len(row.data) + sum(len(text.text.encode("utf-8", "replace")) + len(text.field) for text in beside)
        if size >= codec.PART_BYTES:
            break
    if not rows:
        return None
    batch = LogBatch(
        origin=reader.head().origin, first_seq=rows[0].seq, rows=tuple(row.data for row in rows), texts=tuple(texts)
    )
    return _Page(frame=codec.log_to_wire(batch), next=rows[-1].seq + 1)


def _side(row: StoredRow) -> list[SideText]:
    """The texts beside a row that may leave this node."""
    try:
        withheld = decode(row.data).get("decision") in _UNREAD
    except MeshError:
        # A damaged row: nobody can tell what its texts are about.
        withheld = True
    return [
        SideText(seq=row.seq, field=name, text=text)
        for name, text in row.side
        if name not in _KEPT_HERE and (not withheld or name in _SHOWN_OF_WITHHELD)
    ]


async def _rest(watcher: _Watcher) -> None:
    """Keeps to the pace at which a client takes frames."""
    seconds = watcher.pace.spend(asyncio.get_running_loop().time())
    if seconds:
        await asyncio.sleep(seconds)


def _wanted(wish: WatchWish) -> frozenset[Grant]:
    both = ((Grant.MIRROR_PANEL, wish.panel), (Grant.MIRROR_TIMELINE, wish.timeline))
    return frozenset(grant for grant, wanted in both if wanted)


def _not_granted(wish: WatchWish) -> MeshError:
    wanted = " and ".join(sorted(_wanted(wish)))
    return MeshError(
        ErrorCode.REACH,
        f"This node's person has not granted {wanted} to the client. There it is given with `helio peers grant`.",
        {REASON: RowReason.NOT_GRANTED},
    )
