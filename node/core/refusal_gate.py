"""How many refusals get a row of their own; the others are counted, and told together when it has become calm."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

_MINUTE_US: Final = 60_000_000
# A flood that never ends is told of all the same.
_LONGEST_US: Final = 10 * _MINUTE_US
_KINDS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """Refusals without a row of their own: how many, and how many for each reason."""

    count: int
    reasons: dict[str, int] = field(default_factory=dict[str, int])


class RefusalGate:
    """`limit` rows a minute."""

    def __init__(self, limit: int) -> None:
        self._rows: deque[int] = deque(maxlen=limit)
        self._untold: Counter[str] = Counter()
        self._first_us = 0
        self._last_us = 0

    def take(self, reason: str, now_us: int) -> bool:
        """Whether a refusal of now gets its own row; it is counted otherwise."""
        if len(self._rows) < (self._rows.maxlen or 0) or not _recent(self._rows[0], now_us, _MINUTE_US):
            self._rows.append(now_us)
            return True
        if not self._untold:
            self._first_us = now_us
        self._last_us = now_us
        self._untold[reason if reason in self._untold or len(self._untold) < _KINDS else "other"] += 1
        return False

    def due(self, now_us: int) -> bool:
        """Whether there is something to tell, and it is calm or has gone on for long."""
        calm = not _recent(self._last_us, now_us, _MINUTE_US) or not _recent(self._first_us, now_us, _LONGEST_US)
        return bool(self._untold) and calm

    def untold(self) -> Untold:
        """What there is to tell; it counts as told."""
        told = Untold(count=self._untold.total(), reasons=dict(sorted(self._untold.items())))
        self._untold.clear()
        return told


def _recent(then_us: int, now_us: int, span_us: int) -> bool:
    """Whether `then` is within the span; a clock that went back makes everything old."""
    return 0 <= now_us - then_us < span_us
