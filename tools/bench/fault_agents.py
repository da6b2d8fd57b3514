"""The agents of the fault bench: scripts that ask, steer, answer and deliver through the tunnel, with files.

Each remembers what its node acknowledged to it and what it was given. A call whose fate is unknown is made again under
its key until there is an answer.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from node.core.canonical import JsonValue
from node.core.errors import ErrorCode
from node.demo.puppet import Answer, JsonObject, Puppet
from tools.bench.harness import BenchError

# What another try may get: the node is away, or an answer was lost with it.
_PASSING = frozenset({ErrorCode.NODE_NOT_RUNNING, ErrorCode.UNAVAILABLE, ErrorCode.UNAUTHENTICATED})
_AGAIN_S = 0.1
_WAIT_S = 2
MOST_OPEN = 40
"""Exchanges that one asker has open: what waits for the line stays in bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message that a node acknowledged: its id there, its text, and its files as (name, sha256)."""

    message: str
    text: str
    files: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True)
class Record:
    """What one end acknowledged to its agents, by message id, and what it gave them, as often as it did."""

    sent: dict[str, Sent] = field(default_factory=dict)
    given: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


class Scripted:
    """One agent and its strings."""

    def __init__(self, name: str, puppet: Puppet, folder: Path, record: Record, seed: int) -> None:
        self.name = name
        self._puppet = puppet
        self._folder = folder
        self._record = record
        self._chance = random.Random(seed)  # noqa: S311 - what to say, nothing secret
        self._count = 0
        self._came: list[JsonObject] = []

    def _made(self) -> tuple[list[JsonValue], tuple[tuple[str, str], ...]]:
        """Up to two files of a size by chance, as paths for the call and as what must land."""
        paths: list[JsonValue] = []
        wanted: list[tuple[str, str]] = []
        for number in range(self._chance.choice((0, 0, 1, 1, 2))):
            size = self._chance.choice((0, 1, 700, 9_000, 60_000, 300_000))
            content = self._chance.randbytes(size)
            path = self._folder / f"{self.name}-{self._count}-{number}.bin"
            path.write_bytes(content)
            paths.append(path.name)
            wanted.append((path.name, sha256(content).hexdigest()))
        return paths, tuple(wanted)

    async def say(self, tool: str, text: str, *, field: str = "text", files: bool = False, **more: JsonValue) -> str:
        """Calls a tool that hands in a message until the node acknowledges it, and remembers it; the exchange's id."""
        self._count += 1
        key = f"{self.name}-{self._count}"
        numbered = f"{text} [{key}]"
        arguments: dict[str, JsonValue] = {**more, field: numbered, "idempotency_key": key}
        wanted: tuple[tuple[str, str], ...] = ()
        if files:
            arguments["files"], wanted = self._made()
        done = await self._done(tool, arguments)
        self._record.sent[done.text("message")] = Sent(message=done.text("message"), text=numbered, files=wanted)
        return done.text("exchange")

    async def _done(self, tool: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """The answer to a call, which is made again while the node is away; BenchError for a refusal."""
        while True:
            answer = await self._puppet.call(tool, arguments)
            self._note(answer)
            if not answer.refused:
                return answer
            if answer.code and answer.code not in _PASSING:
                raise BenchError(f"{tool} of {self.name} was refused: {answer.line}")
            await asyncio.sleep(_AGAIN_S)

    async def take(self) -> list[JsonObject]:
        """What came for this agent, waiting a little for it."""
        if not self._came:
            answer = await self._puppet.call("wait", {"wait_seconds": _WAIT_S})
            if answer.refused:
                await asyncio.sleep(_AGAIN_S)
            self._note(answer)
        came, self._came = self._came, []
        return came

    def _note(self, answer: Answer) -> None:
        """Keeps what came with an answer: a wait is not the only call that brings messages."""
        for one in answer.messages():
            self._came.append(one)
            self._record.given[str(one["id"])] += 1
            if one["from_role"] == "node":
                self._record.notes.append(f"{self.name}: {one['text']}")


class Asker(Scripted):
    """Asks a session of the mirrored node, now and then more than once in an exchange, and closes what is delivered."""

    def __init__(
        self, name: str, puppet: Puppet, folder: Path, record: Record, seed: int, *, to: str, pause_s: float
    ) -> None:
        super().__init__(name, puppet, folder, record, seed)
        self._to = to
        self._pause_s = pause_s
        # How many results each open exchange still owes.
        self._owed: Counter[str] = Counter()

    async def ask(self, over: asyncio.Event) -> None:
        """Requests until it is over; some are followed at once by more in the same exchange."""
        while not over.is_set():
            if len(self._owed) >= MOST_OPEN:
                await asyncio.sleep(_AGAIN_S)
                continue
            more = self._chance.choice((0, 0, 1, 2))
            exchange = await self.say("request", "Please do job", files=True, to=self._to, wait_seconds=0)
            self._owed[exchange] += 1 + more
            for _ in range(more):
                await self.say("steer", "And mind", files=True, exchange=exchange)
            await self._close_when_done(exchange)
            await asyncio.sleep(self._chance.random() * self._pause_s)

    async def listen(self) -> None:
        """Takes what comes back, answers questions, and closes what is delivered in full."""
        while True:
            for message in await self.take():
                exchange = str(message["exchange"])
                if message["kind"] == "ask":
                    await self.say("answer", "Take the first", question=str(message["id"]))
                elif message["kind"] == "deliver":
                    self._owed[exchange] -= 1
                    await self._close_when_done(exchange)

    async def _close_when_done(self, exchange: str) -> None:
        # A result may be here before the call that asked for it has returned.
        if self._owed[exchange] == 0 and self._owed.pop(exchange, None) is not None:
            await self.say("close_delegation", "Thanks", field="note", exchange=exchange, outcome="accepted")


class Worker(Scripted):
    """Does what it is asked: reports now and then, asks back, and delivers once for each thing it is told to do."""

    async def work(self) -> None:
        """Until cancelled."""
        owed: Counter[str] = Counter()
        asked: set[str] = set()
        while True:
            for message in await self.take():
                exchange = str(message["exchange"])
                if message["kind"] in {"request", "steer"}:
                    owed[exchange] += 1
                elif message["kind"] == "answer":
                    asked.discard(exchange)
                else:
                    continue
                if message["kind"] == "request" and self._chance.random() < 0.2:
                    asked.add(exchange)
                    await self.say("ask", "Which one for", exchange=exchange, wait_seconds=0)
                if self._chance.random() < 0.2:
                    await self.say("report", "Half way with", exchange=exchange)
                while owed[exchange] and exchange not in asked:
                    owed[exchange] -= 1
                    await self.say("deliver", "Done with", files=True, exchange=exchange)
