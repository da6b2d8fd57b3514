"""Work that must not be left half-way by whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

from node.core.errors import MeshError


async def to_the_end(work: Coroutine[None, None, None]) -> None:
    """Awaits `work`; a caller who is cancelled meanwhile, however often, leaves only when it is done."""

    async def outcome() -> MeshError | None:
        try:
            await work
        except MeshError as error:
            return error
        return None

    async with asyncio.TaskGroup() as group:
        task = group.create_task(outcome())
        try:
            await asyncio.shield(task)
        finally:
            while not task.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait((task,))
    error = task.result()
    if error is not None:
        raise error
