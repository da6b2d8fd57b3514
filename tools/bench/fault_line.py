"""A line between two nodes that can be cut: a TCP proxy which breaks, holds back and truncates what goes through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

_CHUNK = 65_536


class Way(StrEnum):
    """The direction of bytes: from the client of the mirror to its server, or back."""

    OUT = "out"
    BACK = "back"


class Line:
    """Listens on `port` of the loopback while `serve` does, and joins every connection with one to `target`."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = {way: asyncio.Event() for way in Way}
        for way in Way:
            self._open[way].set()
        self._snip: set[Way] = set()
        self._moved = 0
        self._more = asyncio.Condition()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """The line is there inside the block."""
        server = await asyncio.start_server(self._joined, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self.cut()

    def cut(self) -> None:
        """Every connection breaks; what was on its way is gone."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    def snip(self, way: Way) -> None:
        """The next bytes that go this way go by half, and then the line is cut."""
        self._snip.add(way)

    def hold(self, way: Way) -> None:
        """Nothing gets through this way until `release`; it waits in the line."""
        self._open[way].clear()

    def release(self, way: Way) -> None:
        """Undoes `hold`."""
        self._open[way].set()

    async def flow(self, some: int, patience_s: float) -> None:
        """Waits until so many bytes have gone through since the call, or for `patience_s`."""
        goal = self._moved + some
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s), self._more:
                await self._more.wait_for(lambda: self._moved >= goal)

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self._writers |= both
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, far_writer, Way.OUT))
                group.create_task(self._pump(far_reader, writer, Way.BACK))
        finally:
            self._writers -= both
            for one in both:
                one.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self._open[way].wait()
                snipped = way in self._snip
                writer.write(data[: len(data) // 2] if snipped else data)
                await writer.drain()
                await self._count(len(data))
                if snipped:
                    self._snip.discard(way)
                    break
        # What was written arrives before the end does.
        writer.close()

    async def _count(self, size: int) -> None:
        async with self._more:
            self._moved += size
            self._more.notify_all()
