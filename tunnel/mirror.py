"""A panel at its server and as it is mirrored, without a word on how it travels.

The server keeps rows with a revision and what the last revisions changed. Whoever watches is owed one thing at most:
the step from the revision it has to the newest. What a mirrored panel takes is bounded, whatever its server sends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from types import MappingProxyType

from node.core.panel import PanelDelta, PanelRow, PanelSnapshot


class Panel:
    """The server's side. `run` names this panel among those of other runs; `history` is how many revisions it knows."""

    def __init__(self, *, run: str, history: int) -> None:
        self.run = run
        self.revision = 1
        self.left_out = 0
        self._rows: dict[str, PanelRow] = {}
        self._changes: deque[frozenset[str]] = deque(maxlen=history)

    def update(self, rows: Iterable[PanelRow], left_out: int = 0) -> bool:
        """These are the rows now; whether that is a new revision."""
        fresh = {row.id: row for row in rows}
        before = self._rows
        changed = {row.id for row in fresh.values() if before.get(row.id) != row} | (before.keys() - fresh.keys())
        if not changed and left_out == self.left_out:
            return False
        self._rows, self.left_out = fresh, left_out
        self._changes.append(frozenset(changed))
        self.revision += 1
        return True

    def snapshot(self) -> PanelSnapshot:
        """All of it."""
        return PanelSnapshot(
            run=self.run, revision=self.revision, rows=tuple(self._rows.values()), left_out=self.left_out
        )

    def since(self, run: str, revision: int) -> PanelDelta | PanelSnapshot:
        """What whoever has that revision of that run has to be given: the whole when it is too old, or another run."""
        behind = self.revision - revision
        if run != self.run or not 0 <= behind <= len(self._changes):
            return self.snapshot()
        ids: set[str] = set()
        for change in islice(self._changes, len(self._changes) - behind, None):
            ids |= change
        return PanelDelta(
            from_revision=revision,
            revision=self.revision,
            changed=tuple(self._rows[one] for one in self._rows if one in ids),
            removed=tuple(sorted(ids - self._rows.keys())),
            left_out=self.left_out,
        )


class Slot:
    """What one watcher is owed: nothing, or the step from the revision that it has to the newest. Latest wins."""

    def __init__(self, held: int) -> None:
        """`held` is the revision that it has, 0 for none of this run."""
        self.held = held
        self._newest = held

    @property
    def pending(self) -> bool:
        """Whether it is owed something."""
        return self.held != self._newest

    def offer(self, revision: int) -> None:
        """There is a newer revision, which takes the place of what it was owed."""
        self._newest = max(self._newest, revision)

    def take(self) -> int:
        """The revision from which on it is owed; it counts as given."""
        since, self.held = self.held, self._newest
        return since


class Taken(StrEnum):
    """What became of what a server sent."""

    # The panel is another one now.
    SHOWN = "shown"
    # It was there already, or is older.
    OLD = "old"
    # Something before it is missing: the panel has to be asked for anew.
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much a mirrored panel holds: rows, and characters of each kind of text."""

    rows: int
    title_chars: int
    name_chars: int = 64
    word_chars: int = 200


class MirroredPanel:
    """The client's side: follows what a server sends, says when something is missing, and holds no more than bounds."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._rows: dict[str, PanelRow] = {}
        self._left_out = 0
        self._over: set[str] = set()
        self.run = ""
        self.revision = 0
        self.gap = False

    @property
    def rows(self) -> Mapping[str, PanelRow]:
        """What is shown, by id."""
        return MappingProxyType(self._rows)

    @property
    def left_out(self) -> int:
        """How many rows are not shown, at the server or here."""
        return self._left_out + len(self._over)

    @property
    def wanted(self) -> tuple[str, int]:
        """The run and the revision to go on from; after a gap, or at the beginning, the whole is asked for."""
        return ("", 0) if self.gap else (self.run, self.revision)

    def take(self, sent: PanelSnapshot | PanelDelta) -> Taken:
        """Shows what the server sent, if it follows what is shown."""
        if isinstance(sent, PanelSnapshot):
            self._rows, self._over = {}, set()
            self.run, self.gap = sent.run, False
            self._put(sent.rows)
        else:
            if self.gap or not self.run or sent.from_revision > self.revision:
                self.gap = True
                return Taken.GAP
            if sent.revision <= self.revision:
                return Taken.OLD
            for one in sent.removed:
                self._rows.pop(one, None)
                self._over.discard(one)
            self._put(sent.changed)
        self.revision, self._left_out = sent.revision, sent.left_out
        return Taken.SHOWN

    def heard(self, revision: int) -> Taken:
        """The server says that it has given this revision: another one is a gap."""
        if self.gap or not self.run or revision == self.revision:
            return Taken.OLD
        self.gap = True
        return Taken.GAP

    def _put(self, rows: Iterable[PanelRow]) -> None:
        for row in rows:
            if row.id in self._rows or len(self._rows) < self._bounds.rows:
                self._rows[row.id] = self._cut(row)
                self._over.discard(row.id)
            elif len(self._over) < self._bounds.rows:
                # More than that are not even counted.
                self._over.add(row.id)

    def _cut(self, row: PanelRow) -> PanelRow:
        bounds = self._bounds
        return replace(
            row,
            kind=row.kind[: bounds.name_chars],
            title=row.title[: bounds.title_chars],
            state=row.state[: bounds.name_chars],
            opener=row.opener[: bounds.name_chars],
            worker=row.worker[: bounds.name_chars],
            parent=row.parent[: bounds.name_chars],
            last_word=row.last_word[: bounds.word_chars],
        )
