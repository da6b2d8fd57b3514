"""The screen as a service: runs the pure rules off the event loop when a text is long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from node.core.screen import Field, Verdict, screen

# Up to this many characters the rules take about as long as handing the work to a thread and back.
_INLINE_CHARS = 2_000


class RuleScreener:
    """Implements ports.Screener with the rules of node.core.screen."""

    async def screen(self, fields: Sequence[Field]) -> Verdict:
        """The verdict over all fields together."""
        if sum(len(field.text) for field in fields) <= _INLINE_CHARS:
            return screen(fields)
        return await asyncio.to_thread(screen, fields)
