"""Rows of the timeline as they come, given on as a message with what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, TypeAlias

from node.core.timeline_groups import Grouper, Shown
from node.core.views import TimelineRowView

QUIET_S: Final = 0.3
"""While rows come no further apart than this, what becomes of a message goes into its line."""

Rows: TypeAlias = AsyncIterator[TimelineRowView]
Show: TypeAlias = Callable[[Shown[TimelineRowView]], None]


async def show_grouped(rows: Rows, show: Show) -> None:
    """Shows rows up to their end."""
    grouper = Grouper[TimelineRowView]()
    async for row in rows:
        _each(grouper.feed(row), show)
    _each(grouper.flush(), show)


async def follow_rows(rows: Rows, show: Show) -> None:
    """Shows rows as they come: what comes at about the same time together, what comes of it later by itself."""
    # One row at a time, so that a slow terminal slows the node's stream and fills no memory.
    come: asyncio.Queue[TimelineRowView | None] = asyncio.Queue(maxsize=1)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_take(rows, come))
            await _show(come, show)
    except BaseExceptionGroup as failed:
        # Either the rows ended with an error or what they were written to is gone: the other only ended with it.
        raise failed.exceptions[0] from None


async def _take(rows: Rows, come: asyncio.Queue[TimelineRowView | None]) -> None:
    async for row in rows:
        await come.put(row)
    await come.put(None)


async def _show(come: asyncio.Queue[TimelineRowView | None], show: Show) -> None:
    grouper = Grouper[TimelineRowView]()
    waits = False
    while True:
        try:
            async with asyncio.timeout(QUIET_S if waits else None):
                row = await come.get()
        except TimeoutError:
            _each(grouper.flush(), show)
            waits = False
            continue
        if row is None:
            break
        _each(grouper.feed(row), show)
        waits = True
    _each(grouper.flush(), show)


def _each(shown: Iterator[Shown[TimelineRowView]], show: Show) -> None:
    for one in shown:
        show(one)
