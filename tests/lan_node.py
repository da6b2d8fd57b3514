"""A program for a host of the laboratory: discovery alone. Its argument is the port that it listens on and announces.

Commands: `start SPKI`, `stop`, `refresh INSTANCE`, `dial HOST:PORT`, `state`. Times are of the clock that all hosts of
one machine share, in seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from node.config import MeshConfig
from node.core.limits import Limits
from node.discovery import Discovery
from node.platform import clocks


def say(**what: object) -> None:
    print(json.dumps({"t": time.monotonic(), **what}), flush=True)


class SystemClock:
    """Implements ports.Clock, without all that a node imports."""

    def wall_us(self) -> int:
        return clocks.wall_us()

    def boottime_us(self) -> int:
        return clocks.boottime_us()


class Ears:
    """Says what it hears."""

    def heard(self, prefix: str, addresses: Sequence[str]) -> None:
        say(heard=prefix, addresses=list(addresses))


async def dial(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except OSError as error:
        say(dialled=address, error=str(error))
        return
    writer.close()
    await writer.wait_closed()
    say(dialled=address, error="")


async def serve(port: int) -> None:
    lines: asyncio.StreamReader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), None, port)
    discovery, running = None, None
    say(ready=True)
    async with server, asyncio.TaskGroup() as tasks:
        while line := await lines.readline():
            command, *arguments = line.decode().split()
            if command == "start":
                discovery = Discovery(
                    spki=arguments[0], port=port, version="0.1.0", name="", config=MeshConfig(), limits=Limits(),
                    clock=SystemClock(), keep=lambda _prefix: False, listener=Ears(),
                )  # fmt: skip
                say(starting=True)
                running = tasks.create_task(discovery.run())
            assert discovery is not None
            assert running is not None
            if command == "stop":
                say(stopping=True)
                running.cancel()
                await asyncio.wait([running])
                say(stopped=True)
            elif command == "refresh":
                sighting = await discovery.refresh(arguments[0])
                say(refreshed=arguments[0], addresses=list(sighting.addresses) if sighting is not None else [])
            elif command == "dial":
                await dial(arguments[0])
            elif command == "state":
                say(state=asdict(discovery.state()), sightings=sorted(discovery.sightings()))
        if running is not None:
            running.cancel()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
