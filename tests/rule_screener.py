"""A screener of the rules alone, for what is told of a verdict whoever made it: it needs no weights."""

from __future__ import annotations

from collections.abc import Sequence

from node.core.screen import screen
from node.core.verdict import Field, Verdict


class RuleScreener:
    """Implements ports.Screener."""

    async def screen(self, fields: Sequence[Field]) -> Verdict:
        """The verdict over all fields together."""
        return screen(fields, None)
