"""Counts changes, and lets others wait for the next one without missing any."""

from __future__ import annotations

import asyncio


class Changes:
    """A count that only grows; belongs to one event loop."""

    def __init__(self) -> None:
        self._count = 1
        self._news = asyncio.Event()

    @property
    def count(self) -> int:
        """How it stands now."""
        return self._count

    def happened(self) -> None:
        """Something changed."""
        self._count += 1
        self._news.set()
        self._news = asyncio.Event()

    async def after(self, seen: int) -> int:
        """The count, once it is another than `seen`; at once for 0."""
        while self._count == seen:
            await self._news.wait()
        return self._count
