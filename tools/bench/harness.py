"""What every bench shares: interleaved repeats, medians, the machine's context, and one shape of result.

Machines are never quiet, so nothing is compared across runs: the cases of a bench take turns in short stretches, a
ratio is formed within each repeat, and its median is reported.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

MIN_REPEATS = 5
WARM_UP_SHARE = 0.15
"""Of a stretch's length, before its clock starts: caches fill, callers fall into step."""
SIGNIFICANT_DIGITS = 4
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class BenchError(Exception):
    """The bench cannot give a result; the message says why and what to do."""


async def _nothing() -> None:
    """Most cases need no preparation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`callers` who each give `command` (called with the caller's number) again as soon as the last one is done.

    They are tasks of one event loop. `prepare` runs before each stretch, off the clock. `counts` is for how many a
    command counts in a case's rate.
    """

    name: str
    callers: int
    command: Callable[[int], Awaitable[object]]
    prepare: Callable[[], Awaitable[None]] = _nothing
    counts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadedCase:
    """The same with a thread a caller and a command that blocks, for libraries which are faster that way."""

    name: str
    callers: int
    command: Callable[[int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One stretch of one case: commands done a second, and how long one took in milliseconds."""

    per_s: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCase:
    """A program that loads and measures by itself, for so many seconds."""

    name: str
    callers: int
    run: Callable[[float], Awaitable[Sample]]


AnyCase: TypeAlias = Case | ThreadedCase | ProgramCase
C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a bench prints; null stands for what could not be had, and the context says why."""

    ratios: Mapping[str, float | None]
    figures: Mapping[str, float | None]
    context: Mapping[str, Json]

    def as_json(self) -> str:
        """One object with exactly the keys ratios, figures and context; numbers to four significant digits."""
        shape = {"ratios": _rounded(self.ratios), "figures": _rounded(self.figures), "context": self.context}
        return json.dumps(shape, indent=2, allow_nan=False)


def _rounded(numbers: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: None if number is None else significant(number) for name, number in numbers.items()}


def significant(number: float) -> float:
    """`number` to SIGNIFICANT_DIGITS."""
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}")


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that at least `share` (0 < share <= 1) of them do not exceed; never interpolated."""
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


async def measure(case: AnyCase, seconds: float, clock: Callable[[], float] = time.perf_counter) -> Sample:
    """One stretch: commands that end within `seconds` after a warm-up; BenchError when none does, or one fails with it.

    Any other failure of a command ends the stretch and is raised in the group of its callers.
    """
    if isinstance(case, ProgramCase):
        return await case.run(seconds)
    if isinstance(case, Case):
        await case.prepare()
    gc.collect()
    begin = clock() + seconds * WARM_UP_SHARE
    end = begin + seconds
    done: list[tuple[float, float]] = []

    try:
        if isinstance(case, Case):
            await _in_tasks(case, end, clock, done)
        else:
            await _in_threads(case, end, clock, done)
    except ExceptionGroup as failed:
        for known in failed.exceptions:
            if isinstance(known, BenchError):
                raise BenchError(f"{case.name} broke off: {known}") from failed
        raise
    took = [duration for at, duration in done if begin <= at < end]
    if not took:
        raise BenchError(f"No command of {case.name} ended within {seconds:g} s. Give --seconds a larger number.")
    counts = case.counts if isinstance(case, Case) else 1
    return Sample(
        per_s=counts * len(took) / seconds, p50_ms=percentile(took, 0.50) * 1000, p99_ms=percentile(took, 0.99) * 1000
    )


async def _in_tasks(case: Case, end: float, clock: Callable[[], float], done: list[tuple[float, float]]) -> None:
    """Runs the callers until `end`, and notes when each command was answered and how long it took."""

    async def caller(number: int) -> None:
        asked = clock()
        while asked < end:
            await case.command(number)
            answered = clock()
            done.append((answered, answered - asked))
            asked = answered

    async with asyncio.TaskGroup() as group:
        for number in range(case.callers):
            group.create_task(caller(number))


async def _in_threads(
    case: ThreadedCase, end: float, clock: Callable[[], float], done: list[tuple[float, float]]
) -> None:
    """The same in threads; when one fails or the bench is stopped, the others end after their next command."""
    stopping = threading.Event()

    def caller(number: int) -> None:
        asked = clock()
        while asked < end and not stopping.is_set():
            case.command(number)
            answered = clock()
            done.append((answered, answered - asked))
            asked = answered

    async def watched(number: int) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(pool, caller, number)
        finally:
            # The first to end has come to `end`, or something went wrong: either way it is over for all.
            stopping.set()

    with ThreadPoolExecutor(case.callers, thread_name_prefix=case.name) as pool:
        async with asyncio.TaskGroup() as group:
            for number in range(case.callers):
                group.create_task(watched(number))


def turns(cases: Sequence[C], repeats: int) -> list[list[C]]:
    """The order of each repeat: it starts with another case each time and every second one runs backwards.

    So no case always runs first, or always after the same neighbour.
    """
    orders: list[list[C]] = []
    for repeat in range(repeats):
        first = repeat % len(cases)
        onwards = [*cases[first:], *cases[:first]]
        backwards = [*cases[first::-1], *cases[:first:-1]]
        orders.append(onwards if repeat % 2 == 0 else backwards)
    return orders


async def interleave(
    cases: Sequence[AnyCase],
    *,
    repeats: int,
    seconds: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, tuple[Sample, ...]]:
    """The samples of each case by name, in order of the repeats. `say` is told what runs."""
    samples: dict[str, list[Sample]] = {case.name: [] for case in cases}
    for repeat, order in enumerate(turns(cases, repeats), start=1):
        for case in order:
            say(f"repeat {repeat} of {repeats}: {case.name}")
            samples[case.name].append(await measure(case, seconds, clock))
    return {name: tuple(found) for name, found in samples.items()}


def median_sample(samples: Sequence[Sample]) -> Sample:
    """The median of each number for itself."""
    return Sample(
        per_s=statistics.median(s.per_s for s in samples),
        p50_ms=statistics.median(s.p50_ms for s in samples),
        p99_ms=statistics.median(s.p99_ms for s in samples),
    )


def ratio(over: Sequence[Sample] | None, under: Sequence[Sample] | None) -> float | None:
    """The median, over the repeats, of how many times as fast `over` was as `under`; None without either."""
    if over is None or under is None:
        return None
    return statistics.median(a.per_s / b.per_s for a, b in zip(over, under, strict=True))


def ratio_of_p50(over: Sequence[Sample] | None, under: Sequence[Sample] | None) -> float | None:
    """The median, over the repeats, of how many times as long a command of `over` took as one of `under`."""
    if over is None or under is None:
        return None
    return statistics.median(a.p50_ms / b.p50_ms for a, b in zip(over, under, strict=True))


def figures_of(names: Sequence[str], samples: Mapping[str, Sequence[Sample]], rate: str) -> dict[str, float | None]:
    """Medians by name: `<case>_<rate>`, `<case>_p50_ms`, `<case>_p99_ms`; None for a case that did not run."""
    found: dict[str, float | None] = {}
    for name in names:
        middle = median_sample(samples[name]) if name in samples else None
        found[f"{name}_{rate}"] = middle.per_s if middle else None
        found[f"{name}_p50_ms"] = middle.p50_ms if middle else None
        found[f"{name}_p99_ms"] = middle.p99_ms if middle else None
    return found


def spread(samples: Sequence[Sample]) -> list[Json]:
    """The slowest and the fastest repeat, in commands a second."""
    rates = [sample.per_s for sample in samples]
    return [significant(min(rates)), significant(max(rates))]


def machine() -> dict[str, Json]:
    """What the figures were measured on, without its name."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": cores(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
    }


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> list[Json]:
    """Processes that wanted to run, on average over the last 1, 5 and 15 minutes."""
    return [round(average, 2) for average in os.getloadavg()]


def file_system(folder: Path) -> str:
    """The type of the file system which holds `folder`, such as ext4, apfs or tmpfs; "unknown" when nobody says."""
    table_of_mounts = Path("/proc/self/mounts")
    if table_of_mounts.exists():
        return file_system_in(table_of_mounts.read_text(encoding="utf-8"), folder.resolve())
    told = subprocess.run(["/sbin/mount"], capture_output=True, text=True, check=False).stdout
    return file_system_in(told, folder.resolve())


# Linux: `device place type options`, blanks as \\040; macOS: `device on place (type, options)`.
_MOUNTS = (
    re.compile(r"^\S+ (?P<place>/\S*) (?P<type>\w[\w.]*) ", re.MULTILINE),
    re.compile(r"^.+? on (?P<place>/.*) \((?P<type>\w+)", re.MULTILINE),
)


def file_system_in(mounts: str, folder: Path) -> str:
    """What `mounts` (/proc/self/mounts, or what macOS' mount prints) says of an absolute `folder`; the last wins."""
    holding = {
        place: found["type"]
        for form in _MOUNTS
        for found in form.finditer(mounts)
        if folder.is_relative_to(place := found["place"].replace("\\040", " "))
    }
    return holding[max(holding, key=len)] if holding else "unknown"


def on_disk(choices: Sequence[Path]) -> Path:
    """The first of `choices` which exists and is not held in memory alone, else the first."""
    return next((c for c in choices if c.is_dir() and file_system(c) not in IN_MEMORY), choices[0])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns: the first to the left, the others to the right."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


class Progress:
    """One line on standard error that is written over; silent unless that is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def say(self, line: str) -> None:
        """Replaces the line."""
        if self._shown:
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Takes the line away."""
        self.say("")


def warn(line: str) -> None:
    """A sentence for the person who reads the figures, whatever standard output is."""
    print(f"note: {line}", file=sys.stderr, flush=True)


def run(work: Coroutine[None, None, int]) -> int:
    """Runs a bench to its exit code: 1 after a BenchError, 128 + the signal after one that stopped it.

    The first signal cancels `work`, which then puts away what it started; further ones do not cut that short.
    """
    stopped_by: list[int] = []

    async def guarded() -> int:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop(number: int) -> None:
            stopped_by.append(number)
            if len(stopped_by) == 1 and task is not None:
                task.cancel()

        for number in _STOPPING:
            loop.add_signal_handler(number, stop, number)
        return await work

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        print("\ninterrupted; everything that was started is stopped and removed", file=sys.stderr)
        return 128 + stopped_by[0] if stopped_by else 1
    except BenchError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except ExceptionGroup as group:
        # It broke off beside other work, which was ended with it.
        known, odd = group.split(BenchError)
        if known is None or odd is not None:
            raise
        print(f"\n{first_of(known)}", file=sys.stderr)
        return 1


def first_of(group: ExceptionGroup[BenchError]) -> BenchError:
    """The first in it, however deep."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, ExceptionGroup) else first
