"""Processes of a bench's own that answer lines of JSON with lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tools.bench.harness import BenchError

_ROOT = Path(__file__).resolve().parents[2]
_DEADLINE_S = 900.0
_LINE_BYTES = 65_536


class Child:
    """A program that answers lines of JSON with lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    async def line(self) -> str:
        """The next line it prints."""
        if self._process.stdout is None:
            raise ValueError("its output was not asked for")
        async with asyncio.timeout(_DEADLINE_S):
            told = await self._process.stdout.readline()
        if not told:
            words = self._log.read_text(encoding="utf-8", errors="replace")[-2_000:]
            raise BenchError(f"A process of the bench ended: {words or 'it said nothing'}")
        return told.decode("utf-8")

    async def ask(self, **wanted: str | int | bool) -> Mapping[str, float | str]:
        """What it says to `wanted`."""
        if self._process.stdin is None:
            raise ValueError("it was given no input")
        self._process.stdin.write(json.dumps(wanted).encode("ascii") + b"\n")
        await self._process.stdin.drain()
        told: Mapping[str, float | str] = json.loads(await self.line())
        return told

    def resident_mb(self) -> float | None:
        """The most memory it has had in use; None where the system does not say of others."""
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            return None
        words = status.read_text(encoding="ascii").partition("VmHWM:")[2].split()
        return int(words[0]) / 1024

    async def kill(self) -> None:
        """With signal 9; it is gone when this returns."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def child(module: str, role: str, folder: Path) -> AsyncIterator[Child]:
    """A process of the bench's own, gone after the block."""
    log = folder / f"{module}-{role}.log"
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", f"tools.bench.{module}", role, str(folder), cwd=_ROOT, start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors, limit=_LINE_BYTES,
        )  # fmt: skip
    made = Child(process, log)
    try:
        yield made
    finally:
        await made.kill()
