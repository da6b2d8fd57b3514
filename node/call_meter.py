"""How often a session may call."""

from __future__ import annotations

from typing import Final

from node import mcp_words as words

_MINUTE_US: Final = 60_000_000


class Meter:
    """Calls a session may make: `limit` at once, filled up again over a minute."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spent: dict[str, tuple[float, int]] = {}

    def spend(self, session: str, now_us: int) -> None:
        """Counts one call; LIMIT, with how long to wait, when there is none left."""
        spent = self._at(session, now_us)
        if spent + 1 > self._limit:
            self._spent[session] = (spent, now_us)
            raise words.too_often(self._limit, max(1, round((spent + 1 - self._limit) * 60 / self._limit)))
        if session not in self._spent:
            self._forget_idle(now_us)
        self._spent[session] = (spent + 1, now_us)

    def _at(self, session: str, now_us: int) -> float:
        spent, then_us = self._spent.get(session, (0.0, now_us))
        return max(0.0, spent - self._limit * max(0, now_us - then_us) / _MINUTE_US)

    def _forget_idle(self, now_us: int) -> None:
        for session in [s for s, (_, then_us) in self._spent.items() if now_us - then_us >= _MINUTE_US]:
            del self._spent[session]
