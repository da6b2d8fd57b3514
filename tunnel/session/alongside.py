"""Runs work beside other work, and ends it with it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


async def alongside(main: Coroutine[object, object, T], *beside: Coroutine[object, object, None]) -> T:
    """What `main` gives; the others run until then. What one of them raises ends all, and is raised as it was."""
    try:
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(one) for one in beside]
            try:
                return await main
            finally:
                for other in others:
                    other.cancel()
    except BaseExceptionGroup as failed:
        if len(failed.exceptions) > 1:
            raise
        raise failed.exceptions[0] from None
