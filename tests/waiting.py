"""How tests wait for what only shows by looking: by polling, with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(
    look: Callable[[], T | Awaitable[T]], what: str = "", *, seconds: float = 20.0, pause_s: float = 0.01
) -> T:
    """What `look` finds, once that is something; TimeoutError, naming `what`, when it is not within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                found = look()
                if isinstance(found, Awaitable):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(pause_s)
    except TimeoutError as error:
        raise TimeoutError(f"never came: {what or look}") from error
