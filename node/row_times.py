"""When rows were written, read from a sample of them: enough to judge whether a clock may be believed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from node.core.clock_step import reading_of
from node.core.retention import Moment
from node.ports import Reader, Store
from node.ports_timeline import LogInfo

SAMPLES: Final = 2_048
_AT_ONCE: Final = 128
_LATE: Final = 256


async def moments(store: Store) -> tuple[Moment, ...]:
    """Moments of about `SAMPLES` rows in order, evenly spread over all that are kept, and of each log's last rows.

    What cannot be read is left out: that only makes for more doubt.
    """
    logs = await store.read(lambda reader: reader.logs())
    step = max(1, sum(log.size - log.first for log in logs) // SAMPLES)
    found: list[Moment] = []
    for log in logs:
        late = max(log.first, log.size - _LATE)
        wanted = [*range(log.first, late, step), *range(late, log.size)]
        for at in range(0, len(wanted), _AT_ONCE):
            rows = await store.read(partial(_rows, log=log, wanted=wanted[at : at + _AT_ONCE]))
            found += await asyncio.to_thread(moments_of, log.id, rows)
    return tuple(found)


def moments_of(log: int, entries: Sequence[tuple[int, bytes, bytes]]) -> list[Moment]:
    """The moments of these rows (number, bytes, leaf hash), but for those that cannot be read."""
    found = (moment_of(log, seq, data) for seq, data, _ in entries)
    return [moment for moment in found if moment is not None]


def moment_of(log: int, seq: int, data: bytes) -> Moment | None:
    """When that row was written; None when it does not say."""
    clock = reading_of(data)
    if clock is None:
        return None
    return Moment(log=log, seq=seq, ts_us=clock.ts_us, mono_us=clock.mono_us, boot=clock.boot)


def _rows(reader: Reader, *, log: LogInfo, wanted: Sequence[int]) -> list[tuple[int, bytes, bytes]]:
    return [row for seq in wanted for row in reader.entries(seq, seq + 1, log.id)]
