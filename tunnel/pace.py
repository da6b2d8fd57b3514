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
        if self.wait_s(now_s) > 0:
            return False
        self._left -= 1
        return True

    def wait_s(self, now_s: float) -> float:
        """How long until it may happen; 0 for now."""
        if self._at is not None:
            self._left = min(self._burst, self._left + max(0.0, now_s - self._at) * self._per_s)
        self._at = now_s
        return max(0.0, (1 - self._left) / self._per_s)
