#!/usr/bin/env python3
"""What it costs a node to be watched by 500 others, how late they see a change, and whether its memory grows.

The node has a real store, panel and port, each watcher a connection of its own over mutual TLS; the two sides are
processes of their own and share the machine. An update changes 8 rows, which is about 2 KB.
"""

# ruff: noqa: E402 - what a bench imports is there only once it runs in the environment of the project

from __future__ import annotations

import argparse
import asyncio
import platform
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    # Started as a file, Python looks for modules beside it instead of at the top of the project.
    sys.path[0] = str(ROOT)
    from tools.bench import environment

    environment.enter(__file__)

from node.version import VERSION
from tools.bench import file_node, harness, reporting, watch_node
from tools.bench.children import Child, child
from tools.bench.harness import Json, Result

SECONDS = 10
# Updates a second. At the last one more comes than anybody can be shown.
CASES: Mapping[str, int] = {"idle": 0, "calm": 2, "storm": 40}
AIMS: Mapping[str, float] = {"cpu_per_1000_deliveries": 0.25, "p99_ms": 250.0}
NOT_ABOVE = frozenset(AIMS)
_SETTLE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for."""

    repeats: int
    seconds: int
    folder: Path
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One stretch: what the server spent, what arrived, how late, and the server's memory after it."""

    cpu_s: float
    updates: int
    deliveries: int
    p50_ms: float
    p99_ms: float
    resident_mb: float


async def turn(server: Child, client: Child, per_s: int, seconds: int) -> Turn:
    """A stretch of updates, and what came of it."""
    # What is left of the stretch before counts for nobody.
    await client.ask(take=True)
    spent = await server.ask(per_s=per_s, seconds=seconds)
    await asyncio.sleep(_SETTLE_S)
    arrived = await client.ask(take=True)
    return Turn(
        cpu_s=float(spent["cpu_s"]),
        updates=int(spent["updates"]),
        deliveries=int(arrived["deliveries"]),
        p50_ms=float(arrived["p50_ms"]),
        p99_ms=float(arrived["p99_ms"]),
        resident_mb=float(spent["resident_mb"]),
    )


async def bench(options: Options, say: Callable[[str], None]) -> Result:
    """All cases in turn, with the same watchers; one storm before them warms up."""
    load_before = harness.load()
    with tempfile.TemporaryDirectory(prefix="helio-bench-", dir=options.folder) as made:
        folder = Path(made)
        file_node.new_keys(folder)
        (folder / "identity").mkdir(mode=0o700)
        async with child("watch_node", "server", folder) as server, child("watch_node", "client", folder) as client:
            say(f"connecting {watch_node.WATCHERS} watchers")
            await client.ask(port=int(await server.line()))
            say("warming up")
            await turn(server, client, CASES["storm"], options.seconds)
            turns: dict[str, list[Turn]] = {name: [] for name in CASES}
            for repeat, order in enumerate(harness.turns(tuple(CASES), options.repeats), start=1):
                for name in order:
                    say(f"repeat {repeat} of {options.repeats}: {name}")
                    turns[name].append(await turn(server, client, CASES[name], options.seconds))
            say("stopping what was started")
    run: dict[str, Json] = {
        "file_system": harness.file_system(options.folder),
        "load_before": load_before,
        "load_after": harness.load(),
        "repeats": options.repeats,
        "seconds": options.seconds,
    }
    return result(turns, options.seconds, run)


def result(turns: Mapping[str, Sequence[Turn]], seconds: int, run: Mapping[str, Json]) -> Result:
    """What the turns come to. Memory is that after the last turn over that after the first, of any kind."""
    calm, storm = turns["calm"], turns["storm"]
    firsts = statistics.median(found[0].resident_mb for found in turns.values())
    lasts = statistics.median(found[-1].resident_mb for found in turns.values())
    return Result(
        ratios={
            "calm_delivered": _middle([one.deliveries / (one.updates * watch_node.WATCHERS) for one in calm]),
            "storm_delivered": _middle([one.deliveries / (one.updates * watch_node.WATCHERS) for one in storm]),
            "memory_last_vs_first": lasts / firsts,
        },
        figures={
            "cpu_per_1000_deliveries": _middle([1_000 * one.cpu_s / one.deliveries for one in calm if one.deliveries]),
            "p50_ms": _middle([one.p50_ms for one in calm]),
            "p99_ms": _middle([one.p99_ms for one in calm]),
            "rss_growth_mb": lasts - firsts,
            "idle_core_share": _middle([one.cpu_s / seconds for one in turns["idle"]]),
            "storm_cpu_per_1000_deliveries": _middle(
                [1_000 * one.cpu_s / one.deliveries for one in storm if one.deliveries]
            ),
            "storm_p50_ms": _middle([one.p50_ms for one in storm]),
            "storm_p99_ms": _middle([one.p99_ms for one in storm]),
            "rss_mb": lasts,
        },
        context={
            **harness.machine(),
            **run,
            "watchers": watch_node.WATCHERS,
            "updates_per_s": dict(CASES),
            "rows_per_update": watch_node.CHANGED,
            "versions": {
                "heliograph": VERSION,
                "python": platform.python_version(),
                "grpcio": metadata.version("grpcio"),
                "sqlite": sqlite3.sqlite_version,
            },
            "aims": dict(AIMS),
            "calm_cpu_slowest_fastest": [
                harness.significant(edge([1_000 * one.cpu_s / one.deliveries for one in calm if one.deliveries]))
                for edge in (max, min)
            ],
        },
    )


def _middle(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def as_table(found: Result) -> str:
    """The result for people."""
    figures = [
        (
            name,
            reporting.number(value),
            reporting.aim(name, AIMS),
            reporting.judged(name, value, AIMS, at_most=NOT_ABOVE),
        )
        for name, value in found.figures.items()
    ]
    ratios = [(name, reporting.number(value)) for name, value in found.ratios.items()]
    context = found.context
    return "\n\n".join(
        (
            harness.table(("figure", "median", "aim", ""), figures),
            harness.table(("ratio", "median"), ratios),
            f"{context['cores']} cores, load {context['load_before']} before and {context['load_after']} after",
        )
    )


def _seconds(text: str) -> int:
    number = int(text)
    if not 2 <= number <= 600:
        raise argparse.ArgumentTypeError("between 2 and 600 seconds")
    return number


def parse(argv: Sequence[str]) -> Options:
    """The options; exits with 2 for those that make no sense."""
    parser = reporting.parser_of("tools/bench/watchers.py", __doc__)
    parser.add_argument("--seconds", type=_seconds, default=SECONDS, help=f"length of one turn ({SECONDS})")
    reporting.add_folder(parser)
    given = parser.parse_args(argv)
    folder = reporting.folder_of(parser, given.dir)
    return Options(repeats=given.repeats, seconds=given.seconds, folder=folder, as_json=given.as_json)


if __name__ == "__main__":
    sys.exit(harness.run(reporting.told(parse(sys.argv[1:]), bench, as_table)))
