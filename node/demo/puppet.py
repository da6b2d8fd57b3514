"""Pulls the strings of one scripted agent: its calls and the lines entered at its prompt, over its control socket."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from node.core.canonical import JsonValue

JsonObject = dict[str, JsonValue]

LINE_BYTES = 4 * 1024 * 1024


class PuppetError(Exception):
    """The agent cannot be reached, or has gone."""


class Answer:
    """What a tool call came to."""

    def __init__(self, result: JsonObject) -> None:
        self.refused = bool(result.get("isError"))
        content = result.get("content")
        first = content[0] if isinstance(content, list) and content else {}
        text = first.get("text") if isinstance(first, dict) else ""
        self.line = text if isinstance(text, str) else ""
        data = result.get("structuredContent")
        self.data: JsonObject = data if isinstance(data, dict) else {}

    @property
    def code(self) -> str:
        """The code of a refusal, else nothing."""
        code = self.data.get("refused")
        return code if isinstance(code, str) else ""

    def text(self, name: str) -> str:
        """A string of the structured result, or nothing."""
        value = self.data.get(name)
        return value if isinstance(value, str) else ""

    @property
    def details(self) -> JsonObject:
        """The details of a refusal."""
        details = self.data.get("details")
        return details if isinstance(details, dict) else {}

    def messages(self, kind: str | None = None) -> list[JsonObject]:
        """The messages that came with the answer, of one kind or all."""
        listed = self.data.get("messages")
        found = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
        return [m for m in found if kind is None or m.get("kind") == kind]


class Puppet:
    """An async context: connected to the control socket of an agent inside it."""

    def __init__(self, control: Path, *, patience_s: float = 20.0) -> None:
        self._control = control
        self._patience_s = patience_s
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._writer: asyncio.StreamWriter
        self._reading: asyncio.Task[None]
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        reader, self._writer = await self._connect()
        await self._group.__aenter__()
        self._reading = self._group.create_task(self._read(reader))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reading.cancel()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
        await self._group.__aexit__(None, None, None)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Agents take a moment to start: tries until the socket answers."""
        try:
            async with asyncio.timeout(self._patience_s):
                while True:
                    try:
                        return await asyncio.open_unix_connection(str(self._control), limit=LINE_BYTES)
                    except (FileNotFoundError, ConnectionRefusedError):
                        await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise PuppetError(f"the agent at {self._control} did not start within {self._patience_s:.0f} s") from error

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            told = json.loads(line)
            if told.get("event") == "line":
                self._lines.put_nowait(told["text"])
                continue
            answer = self._answers.pop(told["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(Answer(told["result"]))
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(PuppetError("the agent went away during a call"))

    async def call(self, tool: str, arguments: Mapping[str, JsonValue] | None = None) -> Answer:
        """Has the agent call a tool, and gives its answer."""
        number = next(self._numbers)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        order = {"id": number, "tool": tool, "args": dict(arguments or {})}
        self._writer.write(json.dumps(order).encode("utf-8") + b"\n")
        await self._writer.drain()
        return await answer

    async def entered(self, seconds: float = 30.0) -> str:
        """The next line that was entered at the agent's prompt."""
        try:
            async with asyncio.timeout(seconds):
                return await self._lines.get()
        except TimeoutError as error:
            raise PuppetError(f"nothing was entered at the agent's prompt within {seconds:.0f} s") from error
