"""How tests wait: for what is ready to run, and, by polling with a deadline, for what only shows by looking."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def turn() -> None:
    """Whoever is ready to run now runs first; no time passes."""
    await asyncio.sleep(0)


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
