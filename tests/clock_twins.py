"""Time that is set by hand, and randomness that is counted."""

from __future__ import annotations

from hashlib import sha256
from itertools import count

from node.core.timeline import Clock as RowClock

START_US = 1_750_000_000_000_000
SECOND_US = 1_000_000


class ManualClock:
    """Implements ports.Clock: stands still but for a microsecond a reading, so that no two times are equal."""

    def __init__(self) -> None:
        self._readings = count(1)
        self._skipped_us = 0
        # Set: every reading is the same, as those of a coarse clock are.
        self.stands = False
        self.set_by_s = 0

    def wall_us(self) -> int:
        return START_US + self._skipped_us + (0 if self.stands else next(self._readings))

    def boottime_us(self) -> int:
        return self.wall_us() - START_US

    def row(self) -> RowClock:
        now = self.wall_us()
        return RowClock(ts_us=now + self.set_by_s * SECOND_US, mono_us=now - START_US, boot="boot-1")

    def advance(self, seconds: float) -> None:
        self._skipped_us += int(seconds * SECOND_US)


class CountedEntropy:
    """Implements ports.Entropy: the hashes of 0, 1, 2 and so on."""

    def __init__(self) -> None:
        self._asked = count()

    def __call__(self, size: int) -> bytes:
        return sha256(str(next(self._asked)).encode()).digest()[:size]
