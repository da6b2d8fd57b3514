"""The screen as a service: the rules and the learnt scorer, off the event loop when a text is long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from node import shipped
from node.core.errors import ErrorCode, MeshError
from node.core.screen import ENGINE_LEARNED, Field, Verdict, screen, version_of
from node.core.screen_rules import VERSION
from node.core.screen_scorer import Scorer
from node.core.timeline import Scan

_log = logging.getLogger(__name__)

BUCKETS: Final = 20
"""Of the histogram of scores: each is 50 per mille wide."""
# Up to this many characters the screen takes about as long as handing the work to a thread and back.
_INLINE_CHARS: Final = 2_000


class Classifier:
    """Implements ports.Screener as a node has it: with the weights that it came with, and refusing all without them.

    It counts the scores of what it screened, never the texts: how they are spread shows when it fits no longer.
    """

    def __init__(self, weights: bytes | None = None) -> None:
        self.scores = [0] * BUCKETS
        self._scorer: Scorer | None = None
        self._why: MeshError | None = None
        try:
            self._scorer = shipped.scorer(weights)
        except MeshError as error:
            _log.error("%s", error.message)
            self._why = error

    @property
    def engine(self) -> str:
        """Its code, as rows of the timeline have it."""
        return ENGINE_LEARNED

    @property
    def version(self) -> str:
        """Of the rules, and of the weights with their hash."""
        return version_of(self._scorer) if self._scorer is not None else f"{VERSION}, unavailable"

    @property
    def scan(self) -> Scan:
        """Which screen is at work, as rows name it; of one that is not, only its rules have a version."""
        works = self._scorer is not None
        return Scan(
            engine=self.engine, version=self.version if works else VERSION, status="clean" if works else "unavailable"
        )

    async def screen(self, fields: Sequence[Field]) -> Verdict:
        """The verdict over all fields together; SCANNER_UNAVAILABLE when it cannot be had."""
        if self._scorer is None:
            raise self._why or MeshError(ErrorCode.SCANNER_UNAVAILABLE, "The screen does not work.")
        if sum(len(field.text) for field in fields) <= _INLINE_CHARS:
            verdict = screen(fields, self._scorer)
        else:
            verdict = await asyncio.to_thread(screen, fields, self._scorer)
        self.scores[min(BUCKETS - 1, verdict.score * BUCKETS // 1000)] += 1
        return verdict
