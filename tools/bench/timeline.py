#!/usr/bin/env python3
"""What the timeline costs: appending, what it adds to a message, checking and exporting a long one, and the memory.

Appending is compared with SQLite alone that takes the same bytes in the same groups; the check, with reading the rows
and hashing each. The long timeline is that of a real node, and the exports are those of `helio timeline export`.
"""

# ruff: noqa: E402 - what a bench imports is there only once it runs in the environment of the project

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    # Started as a file, Python looks for modules beside it instead of at the top of the project.
    sys.path[0] = str(ROOT)
    from tools.bench import environment

    environment.enter(__file__)

from node.core.canonical import dump
from node.core.merkle import leaf_hash
from node.platform import durability
from node.store import SqliteStore
from node.version import VERSION
from tools.bench import harness, own_node, reporting, timeline_rows
from tools.bench.children import Child, child
from tools.bench.harness import BenchError, Case, Json, Result, Sample
from tools.bench.store import own_folder
from tools.bench.timeline_export import exported

ROWS = 1_000_000
SECONDS = 2.0
MESSAGES_S = 50
"""Messages a second while their delay is measured: an office of busy agents."""
_TICKS = 100
AIMS: Mapping[str, float] = {"append_rows_s": 20_000, "verify_rows_s": 60_000, "export_mb": 150}
NOT_ABOVE = frozenset({"export_mb", "added_p99_ms"})
_DELAY_MS = 5.0
"""What a message may wait for the timeline beside two flushes of the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for."""

    repeats: int
    seconds: float
    rows: int
    folder: Path
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Long:
    """What a long timeline takes: checks of it by rate, and the most memory a check and an export had.

    `verify_texts_rows_s` is with the four texts that stand beside each row until they are erased.
    """

    verify_rows_s: tuple[float, ...]
    verify_texts_rows_s: tuple[float, ...]
    hash_rows_s: tuple[float, ...]
    verify_mb: float
    grown_mb: float
    exports: Mapping[str, tuple[float, float]]


def append_case(store: SqliteStore) -> Case:
    """Groups of rows into a log of a node's store."""
    numbers = count(0, timeline_rows.GROUP)

    async def command(_caller: int) -> None:
        work = partial(timeline_rows.append, first=next(numbers), rows=timeline_rows.GROUP)
        await store.write(work)

    return Case(name="append", callers=2, command=command, counts=timeline_rows.GROUP)


def sqlite_case(path: Path, stack: AsyncExitStack) -> Case:
    """The same bytes into SQLite alone, neither made nor hashed while it is measured."""
    db = stack.enter_context(
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=8))
    )
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", *durability.sqlite_pragmas()):
        db.execute(statement)
    db.execute("CREATE TABLE rows (seq INTEGER PRIMARY KEY, data BLOB NOT NULL, leaf BLOB NOT NULL) STRICT")
    data = dump({"row": "x" * 800})
    rows = [(data, leaf_hash(data))] * timeline_rows.GROUP

    def insert() -> None:
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO rows (data, leaf) VALUES (?, ?)", rows)
        db.execute("COMMIT")

    async def command(_caller: int) -> None:
        await asyncio.to_thread(insert)

    return Case(name="sqlite", callers=1, command=command, counts=timeline_rows.GROUP)


async def delays(store: SqliteStore, messages: int) -> list[float]:
    """How long, in milliseconds, each of so many messages waited for its row, coming at MESSAGES_S whatever happens."""
    took: list[float] = []

    async def one(number: int, due: float) -> None:
        await asyncio.sleep(due - time.perf_counter())
        asked = time.perf_counter()
        await store.write(partial(timeline_rows.append, first=number, rows=1))
        took.append((time.perf_counter() - asked) * 1000)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(messages):
            group.create_task(one(number, begun + number / MESSAGES_S))
    return took


def flushes(path: Path, messages: int) -> list[float]:
    """How long, in milliseconds, the disk takes for each of so many flushes of 1 KB."""
    took: list[float] = []
    with path.open("ab", buffering=0) as file:
        for _ in range(messages):
            file.write(own_node.BODY.encode())
            asked = time.perf_counter()
            durability.flush(file.fileno())
            took.append((time.perf_counter() - asked) * 1000)
    return took


async def long_timeline(options: Options, folder: Path, say: Callable[[str], None]) -> Long:
    """Fills a node's timeline, checks it in a process of its own, and exports it through the node."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    async with own_node.opened(home / "node.db", "b" * 52) as store:
        await timeline_rows.fill(store, options.rows, lambda done: say(f"writing rows: {done} of {options.rows}"))
    texts, _, _ = await _checked(home, options, say)
    # As rows are after the thirty days for which texts are kept.
    bare = folder / "bare"
    bare.mkdir(mode=0o700)
    shutil.copyfile(home / "node.db", bare / "node.db")
    with closing(sqlite3.connect(bare / "node.db")) as db, db:
        db.execute("DELETE FROM timeline_side")
    checked, hashed, memory = await _checked(bare, options, say)
    exports = await exported(home, options.rows, say)
    return Long(
        verify_rows_s=checked,
        verify_texts_rows_s=texts,
        hash_rows_s=hashed,
        verify_mb=max(memory),
        grown_mb=memory[-1] - memory[0],
        exports=exports,
    )


async def _checked(
    home: Path, options: Options, say: Callable[[str], None]
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Rows a second of checks and of plain hashing in turns, and the most memory (MB) that a check had had by then."""
    checked: list[float] = []
    hashed: list[float] = []
    memory: list[float] = []
    async with child("timeline_child", "verify", home) as checker:
        for repeat in range(options.repeats):
            say(f"checking {options.rows} rows, {repeat + 1} of {options.repeats}")
            checked.append(await _rate(checker, "verify", options.rows))
            memory.append(checker.resident_mb() or 0.0)
            hashed.append(await _rate(checker, "hash", options.rows))
    return tuple(checked), tuple(hashed), tuple(memory)


async def _rate(checker: Child, what: str, rows: int) -> float:
    told = await checker.ask(do=what)
    if not told["ok"] or told["rows"] != rows:
        raise BenchError(f"The check read {told['rows']} of {rows} rows; its figures would mean something else.")
    return rows / float(told["seconds"])


async def bench(options: Options, say: Callable[[str], None]) -> Result:
    """One run of all cases in a folder of its own, which is gone afterwards."""
    load_before = harness.load()
    waits: list[float] = []
    disk: list[float] = []
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(own_folder(options.folder))
        store = await stack.enter_async_context(own_node.opened(folder / "append.db", "b" * 52))
        cases = [append_case(store), sqlite_case(folder / "plain.db", stack)]
        samples = await harness.interleave(cases, repeats=options.repeats, seconds=options.seconds, say=say)
        for repeat in range(options.repeats):
            say(f"messages one by one, {repeat + 1} of {options.repeats}")
            disk.append(statistics.median(flushes(folder / "flush", _TICKS)))
            messages = max(_TICKS, round(options.seconds * MESSAGES_S))
            waits.append(harness.percentile(await delays(store, messages), 0.99))
        long = await long_timeline(options, folder, say)
    return result(
        samples, waits, disk, long,
        {
            "file_system": harness.file_system(options.folder), "rows": options.rows, "repeats": options.repeats,
            "load_before": load_before, "load_after": harness.load(),
        },
    )  # fmt: skip


def result(
    samples: Mapping[str, Sequence[Sample]],
    waits: Sequence[float],
    disk: Sequence[float],
    long: Long,
    run: Mapping[str, Json],
) -> Result:
    """What was measured, as it is printed. `added_p99_ms` is not to exceed two flushes and 5 ms."""
    flush = statistics.median(disk)
    checks = [a / b for a, b in zip(long.verify_rows_s, long.hash_rows_s, strict=True)]
    return Result(
        ratios={
            "append_vs_sqlite": harness.ratio(samples.get("append"), samples.get("sqlite")),
            "verify_vs_hash": statistics.median(checks),
        },
        figures={
            "append_rows_s": harness.median_sample(samples["append"]).per_s,
            "sqlite_rows_s": harness.median_sample(samples["sqlite"]).per_s,
            "added_p99_ms": statistics.median(waits),
            "flush_ms": flush,
            "verify_rows_s": statistics.median(long.verify_rows_s),
            "verify_texts_rows_s": statistics.median(long.verify_texts_rows_s),
            "verify_mb": long.verify_mb,
            "verify_grown_mb": long.grown_mb,
            "export_mb": max((mb for mb, _ in long.exports.values()), default=None),
            **{f"export_{name}_mb": mb for name, (mb, _) in long.exports.items()},
            **{f"export_{name}_rows_s": rate for name, (_, rate) in long.exports.items()},
        },
        context={
            **harness.machine(),
            **run,
            "group": timeline_rows.GROUP,
            "messages_s": MESSAGES_S,
            "aims": {**AIMS, "added_p99_ms": 2 * flush + _DELAY_MS},
            "versions": {"heliograph": VERSION, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version},
            "rows_s_slowest_fastest": {name: harness.spread(found) for name, found in samples.items()},
        },
    )


def as_table(found: Result) -> str:
    """The result for people."""
    told = found.context["aims"]
    aims = {name: float(value) for name, value in told.items()} if isinstance(told, Mapping) else {}  # type: ignore[arg-type]

    def line(name: str, value: float | None) -> tuple[str, ...]:
        judged = reporting.judged(name, value, aims, at_most=NOT_ABOVE)
        return name, reporting.number(value), reporting.aim(name, aims), judged

    rows = [line(name, value) for name, value in (*found.ratios.items(), *found.figures.items())]
    load = f"load {found.context['load_before']} before and {found.context['load_after']} after"
    return "\n\n".join((harness.table(("what", "median", "aim", ""), rows), f"{os.cpu_count()} cores, {load}"))


def parse(argv: Sequence[str], program: str = "tools/bench/timeline.py", about: str | None = __doc__) -> Options:
    """The options; exits with 2 for those that make no sense."""
    parser = reporting.parser_of(program, about)
    parser.add_argument("--seconds", type=reporting.stretch, default=SECONDS, help=f"length of one turn ({SECONDS:g})")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of the long timeline ({ROWS})")
    reporting.add_folder(parser)
    given = parser.parse_args(argv)
    if given.rows < 1:
        parser.error("a timeline of no rows cannot be measured; give --rows a positive number")
    folder = reporting.folder_of(parser, given.dir)
    return Options(repeats=given.repeats, seconds=given.seconds, rows=given.rows, folder=folder, as_json=given.as_json)


async def report(options: Options) -> int:
    """Runs the bench and prints what it found."""
    reporting.warn_of_memory(options.folder)
    return await reporting.told(options, bench, as_table)


if __name__ == "__main__":
    sys.exit(harness.run(report(parse(sys.argv[1:]))))
