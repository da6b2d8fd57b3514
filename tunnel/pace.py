"""How often something may happen: so many times a second, and a burst after a rest. Pure: the time is an argument."""

from __future__ import annotations


class Pace:
    """`per_s` times a second on average, `burst` at once after a rest."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._left = float(burst)
        self._at: float | None = None

    def take(self, now_s: float) -> bool:
        """Whether it may happen now; if so, it counts."""
        self._refill(now_s)
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def spend(self, now_s: float) -> float:
        """It happens now, whatever the pace; how long to rest before the next time."""
        self._refill(now_s)
        self._left -= 1
        return max(0.0, -self._left / self._per_s)

    def _refill(self, now_s: float) -> None:
        if self._at is not None:
            self._left = min(self._burst, self._left + max(0.0, now_s - self._at) * self._per_s)
        self._at = now_s
