"""Runs work beside other work and ends it with it, and tells a call that was cut from a task that is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import TypeVar

from node.core.errors import ErrorCode, MeshError
from node.grpc_setup import aio

T = TypeVar("T")

_ENDINGS = (MeshError, aio.AioRpcError, TimeoutError)


async def uncut(step: Awaitable[T]) -> T:
    """What one step of a call gives; UNAVAILABLE when its channel was closed meanwhile.

    gRPC raises that as a cancellation, which would end the task that waits without a word to anybody.
    """
    try:
        return await step
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise MeshError(ErrorCode.UNAVAILABLE, "The link to the other node ended.") from None


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
        # Several find at the same time that a call has ended, which is one end; of faults, none is hidden.
        if len(failed.exceptions) > 1 and failed.split(_ENDINGS)[1] is not None:
            raise
        raise failed.exceptions[0] from None
