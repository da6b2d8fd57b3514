"""How tests wait for what only shows by looking: by polling, with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Returns once `holds` does; TimeoutError when it does not within `seconds`."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)
