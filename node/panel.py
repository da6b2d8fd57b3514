"""The Delegations panel of this node as rows: what a mirror is shown, without withheld texts and without secrets.

It is worked out anew after commits, while somebody watches, and no more than ten times a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from node.changes import Changes
from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.model import OPENING_HELD, Address, AgentState, Author, Exchange, Session, SessionStatus
from node.core.panel import SESSION, PanelRow
from node.labels import label_of
from node.ledger_rows import side_text
from node.ports import Reader, Store

QUIET_S: Final = 0.1
# Of the time between two looks no more than a fifth is spent looking.
_REST: Final = 4
_ALIVE: Final = frozenset({SessionStatus.STARTING, SessionStatus.RUNNING})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What one look at the store found: rows without their last words, and texts that were not seen before."""

    rows: tuple[PanelRow, ...]
    left_out: int
    # By exchange: when it changed, and its newest text by then. What a person lets through is no new message.
    said: Mapping[str, tuple[int, str]]


class DelegationsPanel:
    """Implements ports.Bells and ports_mirror.PanelSource; works while `run` does."""

    def __init__(self, *, store: Store, limits: Limits, quiet_s: float = QUIET_S) -> None:
        self._store = store
        self._limits = limits
        self._quiet_s = quiet_s
        self._watchers = 0
        self._rung = asyncio.Event()
        self._changes, self._looks = Changes(), Changes()
        self._asked = self._done = 0
        self._words: dict[str, tuple[int, str]] = {}
        self.rows: tuple[PanelRow, ...] = ()
        self.left_out = 0

    def ring(self, _addresses: Sequence[Address] = ()) -> None:
        """A commit happened."""
        if self._watchers:
            self._rung.set()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """The panel follows the store for the length of the block."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1

    @property
    def generation(self) -> int:
        """How often the panel has changed since the node started."""
        return self._changes.count

    async def next_change(self, seen: int) -> int:
        """The generation, once it is another than `seen`."""
        return await self._changes.after(seen)

    async def fresh(self) -> None:
        """Returns when the panel is no older than this call; to be awaited while it is watched."""
        self._asked += 1
        wanted = self._asked
        self._rung.set()
        while self._done < wanted:
            await self._looks.after(self._looks.count)

    async def run(self) -> None:
        """Works until cancelled."""
        now = asyncio.get_running_loop().time
        while True:
            await self._rung.wait()
            self._rung.clear()
            asked, begin = self._asked, now()
            try:
                await self._look()
            except MeshError as error:
                _log.warning("the panel cannot be read: %s", error.message)
                await asyncio.sleep(self._limits.tick_s)
                self._rung.set()
                continue
            self._done = asked
            self._looks.happened()
            await asyncio.sleep(max(self._quiet_s, _REST * (now() - begin)))

    async def _look(self) -> None:
        words = self._words
        seen = await self._store.read(lambda reader: self._seen(reader, words))
        # Taking secrets out of a long text takes a while, and is done once for each message.
        fresh = await asyncio.to_thread(_previews, seen.said)
        kept = {row.id: fresh.get(row.id) or words.get(row.id) for row in seen.rows if row.kind != SESSION}
        self._words = {one: word for one, word in kept.items() if word is not None}
        rows = tuple(_with_word(row, self._words.get(row.id)) for row in seen.rows)
        if (rows, seen.left_out) != (self.rows, self.left_out):
            self.rows, self.left_out = rows, seen.left_out
            self._changes.happened()

    def _seen(self, reader: Reader, words: Mapping[str, tuple[int, str]]) -> _Seen:
        most = self._limits.panel_rows
        sessions = reader.sessions()
        exchanges = reader.panel_exchanges(most)
        found: list[tuple[bool, int, PanelRow]] = [
            (session.status not in _ALIVE, -session.changed_us, _session_row(session)) for session in sessions
        ]
        found += [
            (exchange.status.closed, -exchange.changed_us, _exchange_row(reader, exchange)) for exchange in exchanges
        ]
        found.sort(key=lambda one: (one[0], one[1], one[2].id))
        rows = tuple(row for _, _, row in found[:most])
        shown = {row.id for row in rows}
        changes = {one.id: one.changed_us for one in exchanges if one.id in shown}
        return _Seen(
            rows=rows,
            left_out=len(sessions) + reader.panel_exchange_count() - len(rows),
            said={
                one: (changed_us, reader.last_said(one))
                for one, changed_us in changes.items()
                if words.get(one, (0, ""))[0] != changed_us
            },
        )


def _session_row(session: Session) -> PanelRow:
    running = session.status is SessionStatus.RUNNING and session.state is not AgentState.UNKNOWN
    return PanelRow(
        id=session.id,
        kind=SESSION,
        title=side_text(session.title),
        state=session.state.value if running else session.status.value,
        opener=session.label,
        worker="",
        parent=session.parent or "",
        last_word="",
        changed_us=session.changed_us,
    )


def _exchange_row(reader: Reader, exchange: Exchange) -> PanelRow:
    held = exchange.reason == OPENING_HELD
    return PanelRow(
        id=exchange.id,
        kind=exchange.kind.value,
        # The title may be the words that wait for a person, who reads them elsewhere.
        title="" if held else side_text(exchange.title),
        state=OPENING_HELD if held and not exchange.status.closed else exchange.status.value,
        opener=label_of(reader, exchange.opener, Author.SESSION),
        worker=label_of(reader, exchange.worker, Author.SESSION),
        parent=exchange.opener.session or "",
        last_word="",
        changed_us=exchange.changed_us,
    )


def _with_word(row: PanelRow, word: tuple[int, str] | None) -> PanelRow:
    return row if word is None else replace(row, last_word=word[1])


def _previews(said: Mapping[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    return {one: (changed_us, side_text(" ".join(text.split()))) for one, (changed_us, text) in said.items()}
