"""Exports of a long timeline through a real node and its command line, and what memory either takes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tools.bench.harness import BenchError

FORMATS = ("jsonl", "csv", "ocsf")
_LOOK_S = 0.05
_ROOT = Path(__file__).resolve().parents[2]


async def exported(home: Path, rows: int, say: Callable[[str], None]) -> Mapping[str, tuple[float, float]]:
    """By format: the most memory (MB) that the command had, or the node beyond what it began with; rows a second."""
    found: dict[str, tuple[float, float]] = {}
    async with _node(home) as pid:
        for name in FORMATS:
            say(f"exporting {rows} rows as {name}")
            target = home.parent / f"rows.{name}"
            _forget_peak(pid)
            before = _memory_mb(pid, "VmRSS")
            begun = time.perf_counter()
            words = ("timeline", "export", "--format", name, "--output", str(target))
            peak = await asyncio.to_thread(_helio, home, *words)
            took = time.perf_counter() - begun
            found[name] = (max(peak, _memory_mb(pid, "VmHWM") - before), rows / took)
            target.unlink()
    return found


@asynccontextmanager
async def _node(home: Path) -> AsyncIterator[int]:
    """A node at `home`, stopped after the block; its process id."""
    await asyncio.to_thread(_helio, home, "up")
    try:
        yield int((home / "node.lock").read_text(encoding="ascii"))
    finally:
        await asyncio.to_thread(_helio, home, "down")


def _helio(home: Path, *words: str) -> float:
    """Runs the command to its end; the most memory (MB) that it had. BenchError when it fails."""
    said = home.parent / "helio.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "node", *words], cwd=_ROOT, env=os.environ | {"HELIOGRAPH_HOME": str(home)},
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        peak = 0.0
        # What the system counts for an ended child begins with what its parent had when it was started.
        while process.poll() is None:
            peak = max(peak, _memory_mb(process.pid, "VmHWM"))
            time.sleep(_LOOK_S)
    if process.returncode:
        words_said = said.read_text(encoding="utf-8", errors="replace")[-2_000:]
        raise BenchError(f"`helio {' '.join(words)}` ended with {process.returncode}: {words_said}")
    return peak


def _forget_peak(pid: int) -> None:
    """The most memory of another process is what it has now; nothing where the system does not count that."""
    refs = Path(f"/proc/{pid}/clear_refs")
    if refs.exists():
        refs.write_text("5", encoding="ascii")


def _memory_mb(pid: int, what: str) -> float:
    """The memory of another process now (VmRSS) or at most (VmHWM); 0 where the system does not say of others."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    # A process that has just ended has a status without memory.
    words = status.read_text(encoding="ascii").partition(f"{what}:")[2].split()
    return int(words[0]) / 1024 if words else 0.0
