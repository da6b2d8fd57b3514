"""A client of the real shim: its process, and lines written and read in whatever order a test wants."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.mcp_twin import DEADLINE_S, ROOT, TwinNode


def run(play: Callable[[], Awaitable[None]]) -> None:
    """Runs a test's conversation to its end, or until it has taken far too long."""

    async def bounded() -> None:
        async with asyncio.timeout(3 * DEADLINE_S):
            await play()

    asyncio.run(bounded())


def shim_command() -> list[str]:
    """How a client starts the shim."""
    return [sys.executable, "-c", "import sys; from node.shim import main; sys.exit(main())"]


def shim_env(home: Path) -> dict[str, str]:
    """The environment of a shim of the node in `home`."""
    return {**os.environ, "HELIOGRAPH_HOME": str(home), "PYTHONPATH": str(ROOT)}


class ShimClient:
    """A client of one shim process that writes and reads lines, in whatever order a test wants."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._ids = count(1)
        self.notes: list[Mapping[str, object]] = []

    async def write(self, line: bytes) -> None:
        self.stdin.write(line)
        await self.stdin.drain()

    async def say(self, method: str, params: Mapping[str, object] | None = None, **more: object) -> int:
        """Sends a request; its id."""
        request_id = next(self._ids)
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}} | more
        await self.write(json.dumps(message).encode() + b"\n")
        return request_id

    async def notify(self, method: str, params: Mapping[str, object]) -> None:
        await self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    async def hear(self) -> dict[str, object]:
        """The next message; notifications go to `notes`."""
        while True:
            async with asyncio.timeout(DEADLINE_S):
                line = await self.stdout.readuntil(b"\n")
            message = json.loads(line)
            assert isinstance(message, dict)
            if "method" not in message:
                return message
            self.notes.append(message)

    async def initialize(self, version: str = "2025-11-25") -> dict[str, object]:
        info = {"name": "test", "version": "1"}
        await self.say("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})
        answer = await self.hear()
        await self.notify("notifications/initialized", {})
        return answer

    async def start_call(self, tool: str, meta: Mapping[str, object] | None = None, **arguments: object) -> int:
        """Begins a tool call; the id of the request."""
        params: dict[str, object] = {"name": tool, "arguments": arguments}
        return await self.say("tools/call", params | ({"_meta": meta} if meta else {}))

    async def call(self, tool: str, **arguments: object) -> Answer:
        """One whole tool call."""
        request_id = await self.start_call(tool, **arguments)
        return await self.answer(request_id)

    async def answer(self, request_id: int) -> Answer:
        """The answer to that call, which has to be the next message."""
        message = await self.hear()
        assert message["id"] == request_id, message
        result = message["result"]
        assert isinstance(result, dict), message
        return Answer(
            line=result["content"][0]["text"], shown=result["content"][1]["text"], data=result["structuredContent"],
            refused=result["isError"],
        )  # fmt: skip

    async def leave(self) -> int:
        """Closes stdin and waits for the shim to go; its exit status."""
        self.stdin.close()
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A tool call's result, taken apart."""

    line: str
    shown: str
    data: Mapping[str, object]
    refused: bool

    @property
    def messages(self) -> list[Mapping[str, object]]:
        """The messages that were handed over."""
        found = self.data.get("messages", [])
        assert isinstance(found, list)
        return found


@asynccontextmanager
async def shim(home: Path, node: TwinNode | None = None, nickname: str = "") -> AsyncIterator[ShimClient]:
    """A shim process and its client; with `node`, in a session of that nickname."""
    process = await asyncio.create_subprocess_exec(
        *shim_command(), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=shim_env(home),
        limit=64 * 1024 * 1024,
    )  # fmt: skip
    if node is not None and nickname:
        node.session_for(process.pid, nickname)
    client = ShimClient(process)
    try:
        yield client
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        client.stdin.close()
