"""The screen as a service: the rules and the learnt scorer, off the event loop when a text is long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from node import shipped
from node.core.errors import ErrorCode, MeshError
from node.core.screen import ENGINE_LEARNED, screen, version_of
from node.core.screen_rules import VERSION
from node.core.screen_scorer import Scorer
from node.core.timeline import Scan
from node.core.verdict import Field, Verdict

_log = logging.getLogger(__name__)

BUCKETS: Final = 20
"""Of the histogram of scores: each is 50 per mille wide."""
# Up to this many characters the screen takes about as long as handing the work to a thread and back.
_INLINE_CHARS: Final = 2_000


class Classifier:
    """Implements ports.Screener as a node has it: with the weights that it came with, and refusing all without them.

    The weights are read in a thread (by `read`), beside whatever else a node starts with; who comes before waits.

    It counts the scores of what it screened, never the texts: how they are spread shows when it fits no longer.
    """

    def __init__(
        self, weights: bytes | None = None, *, read: Callable[[bytes | None], Scorer] = shipped.scorer
    ) -> None:
        self.scores = [0] * BUCKETS
        reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="weights")
        self._reading: Future[Scorer] = reader.submit(read, weights)
        reader.shutdown(wait=False)
        self._reading.add_done_callback(_tell)

    @property
    def engine(self) -> str:
        """Its code, as rows of the timeline have it."""
        return ENGINE_LEARNED

    async def version(self) -> str:
        """Of the rules, and of the weights with their hash."""
        why = await self._read()
        return f"{VERSION}, unavailable" if why is not None else version_of(self._reading.result())

    async def scan(self) -> Scan:
        """Which screen is at work, as rows name it; of one that is not, only its rules have a version."""
        if await self._read() is not None:
            return Scan(engine=self.engine, version=VERSION, status="unavailable")
        return Scan(engine=self.engine, version=version_of(self._reading.result()), status="clean")

    async def screen(self, fields: Sequence[Field]) -> Verdict:
        """The verdict over all fields together; SCANNER_UNAVAILABLE when it cannot be had."""
        why = await self._read()
        if why is not None:
            # A new one each time: it takes up where it was raised.
            raise MeshError(ErrorCode.SCANNER_UNAVAILABLE, _message(why)) from why
        scorer = self._reading.result()
        if sum(len(field.text) for field in fields) <= _INLINE_CHARS:
            verdict = screen(fields, scorer)
        else:
            verdict = await asyncio.to_thread(screen, fields, scorer)
        self.scores[min(BUCKETS - 1, verdict.score * BUCKETS // 1000)] += 1
        return verdict

    async def _read(self) -> BaseException | None:
        """Wait for the weights; why they cannot be had, whatever that is."""
        if self._reading.done():
            return self._reading.exception()
        waiting = asyncio.wrap_future(self._reading)
        # Who gives up waiting leaves the others their weights.
        await asyncio.wait([waiting])
        return waiting.exception()


def _message(why: BaseException) -> str:
    return why.message if isinstance(why, MeshError) else "The screen does not work, and nothing passes without it."


def _tell(reading: Future[Scorer]) -> None:
    why = reading.exception()
    if why is not None:
        _log.error("%s", _message(why), exc_info=None if isinstance(why, MeshError) else why)
