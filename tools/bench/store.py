#!/usr/bin/env python3
"""How many durable commands a second the store takes, against its own single form and against two known servers.

Each command is one row (or message) of 1 KB under a fresh unique id, answered only when it is on the disk; all sides
keep their files on the same file system, and take turns within one run. `relay` is what a user's message costs: the
whole path through the broker with the screen, the timeline row and the notice.
"""

# ruff: noqa: E402 - what a bench imports is there only once it runs in the environment of the project

from __future__ import annotations

import asyncio
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    # Started as a file, Python looks for modules beside it instead of at the top of the project.
    sys.path[0] = str(ROOT)
    from tools.bench import environment

    environment.enter(__file__)

from node.platform import durability
from node.version import VERSION
from tools.bench import harness, own_node, reporting
from tools.bench.harness import AnyCase, Case, Json, Result, Sample
from tools.bench.peer_nats import nats
from tools.bench.peer_postgres import postgres
from tools.bench.peers import Peer, PeerUnavailableError

CALLERS = 64
SECONDS = 2.0
AIMS: Mapping[str, float] = {"group_vs_single": 6.0, "vs_postgres": 3.0, "vs_nats_always": 3.0}
RATIOS: Mapping[str, tuple[str, str]] = {
    "group_vs_single": ("group", "single"),
    "vs_postgres": ("group", "postgres"),
    "vs_nats_always": ("group", "nats_always"),
    "relay_group_vs_single": ("relay", "relay_single"),
}
FLUSH = "disk_flush"
CASES = (FLUSH, "single", "group", "postgres", "nats_always", "relay_single", "relay")
"""In the order in which people read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for."""

    repeats: int
    seconds: float
    folder: Path
    as_json: bool


def flush_case(path: Path, stack: AsyncExitStack) -> Case:
    """What the disk itself takes: 1 KB appended and flushed, one after the other."""
    file = stack.enter_context(path.open("ab", buffering=0))
    block = own_node.BODY.encode()

    def append() -> None:
        file.write(block)
        durability.flush(file.fileno())

    async def command(_caller: int) -> None:
        await asyncio.to_thread(append)

    return Case(name=FLUSH, callers=1, command=command)


Opener = Callable[[Path], AbstractAsyncContextManager[Peer]]

PEERS: Mapping[str, Opener] = {
    "postgres": lambda folder: postgres(folder, callers=CALLERS, new_id=own_node.new_id, body=own_node.BODY),
    "nats_always": lambda folder: nats(folder, callers=CALLERS, new_id=own_node.new_id, body=own_node.BODY),
}


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """A fresh folder in `parent`, gone after the block."""
    with tempfile.TemporaryDirectory(prefix="helio-bench-", dir=parent) as made:
        folder = Path(made)
        # A server that runs as another user has to get through to its own folder in here.
        folder.chmod(0o711)
        yield folder


async def open_peers(
    stack: AsyncExitStack, folder: Path, openers: Mapping[str, Opener], say: Callable[[str], None]
) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that could be started, by name, and for the others why not."""
    peers: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name, opener in openers.items():
        say(f"starting {name}")
        try:
            peers[name] = await stack.enter_async_context(opener(folder / name))
        except PeerUnavailableError as why:
            missing[name] = str(why)
    return peers, missing


async def bench(options: Options, say: Callable[[str], None]) -> Result:
    """One run of all cases in a folder of its own, which is gone afterwards."""
    load_before = harness.load()
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(own_folder(options.folder))
        single, group = await stack.enter_async_context(own_node.bare_store(folder / "store.db", callers=CALLERS))
        peers, missing = await open_peers(stack, folder, PEERS, say)
        relays = await stack.enter_async_context(own_node.whole_path(folder / "relay.db", callers=CALLERS))
        others = [peer.case for peer in peers.values()]
        cases: list[AnyCase] = [flush_case(folder / "flush", stack), single, group, *others, *relays]
        samples = await harness.interleave(cases, repeats=options.repeats, seconds=options.seconds, say=say)
        say("stopping what was started")
    run: dict[str, Json] = {
        "file_system": harness.file_system(options.folder),
        "load_before": load_before,
        "load_after": harness.load(),
        "repeats": options.repeats,
        "seconds": options.seconds,
    }
    return result(samples, peers, missing, run)


def result(
    samples: Mapping[str, Sequence[Sample]],
    peers: Mapping[str, Peer],
    missing: Mapping[str, str],
    run: Mapping[str, Json],
) -> Result:
    """What the samples come to; null wherever a peer is missing, and under `missing` why."""
    return Result(
        ratios={name: harness.ratio(samples.get(over), samples.get(under)) for name, (over, under) in RATIOS.items()},
        figures=figures(samples),
        context={
            **harness.machine(),
            **run,
            "callers": CALLERS,
            "body_bytes": own_node.BODY_BYTES,
            "versions": versions(peers),
            "durability": {
                "sqlite": "; ".join(("WAL", "synchronous=FULL", *durability.sqlite_pragmas())),
                **{name: peer.durability for name, peer in peers.items()},
            },
            "aims": dict(AIMS),
            "commands_s_slowest_fastest": {name: harness.spread(found) for name, found in samples.items()},
            "missing": dict(missing),
        },
    )


def figures(samples: Mapping[str, Sequence[Sample]]) -> dict[str, float | None]:
    """Medians by name: `<case>_commands_s`, `<case>_p50_ms`, `<case>_p99_ms`; None for a case that did not run."""
    return harness.figures_of(CASES, samples, "commands_s")


def versions(peers: Mapping[str, Peer]) -> dict[str, Json]:
    """Everything whose version moves the figures; None for a peer that is missing."""
    return {
        "heliograph": VERSION,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "psycopg": metadata.version("psycopg"),
        **{name: peers[name].version if name in peers else None for name in PEERS},
    }


def as_table(found: Result) -> str:
    """The result for people."""
    rows = [
        (name, *(reporting.number(found.figures[f"{name}_{unit}"]) for unit in ("commands_s", "p50_ms", "p99_ms")))
        for name in CASES
    ]
    ratios = [
        (name, reporting.number(value), reporting.aim(name, AIMS), reporting.judged(name, value, AIMS))
        for name, value in found.ratios.items()
    ]
    parts = [
        harness.table(("case", "commands/s", "p50 ms", "p99 ms"), rows),
        harness.table(("ratio", "median", "aim", ""), ratios),
        _surroundings(found.context),
    ]
    missing = found.context["missing"]
    if isinstance(missing, Mapping):
        parts += [f"{name}: {why}" for name, why in missing.items()]
    return "\n\n".join(parts)


def _surroundings(context: Mapping[str, Json]) -> str:
    before, after = context["load_before"], context["load_after"]
    return f"{context['cores']} cores, load {before} before and {after} after, {context['file_system']}"


def parse(argv: Sequence[str], program: str = "tools/bench/store.py", about: str | None = __doc__) -> Options:
    """The options; exits with 2 for those that make no sense."""
    parser = reporting.parser_of(program, about)
    parser.add_argument("--seconds", type=reporting.stretch, default=SECONDS, help=f"length of one turn ({SECONDS:g})")
    reporting.add_folder(parser)
    given = parser.parse_args(argv)
    folder = reporting.folder_of(parser, given.dir)
    return Options(repeats=given.repeats, seconds=given.seconds, folder=folder, as_json=given.as_json)


async def report(options: Options) -> int:
    """Runs the bench and prints what it found."""
    reporting.warn_of_memory(options.folder)
    return await reporting.told(options, bench, as_table)


if __name__ == "__main__":
    sys.exit(harness.run(report(parse(sys.argv[1:]))))
