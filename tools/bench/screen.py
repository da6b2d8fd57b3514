#!/usr/bin/env python3
"""How long the screen takes for ordinary text, against two others, and how long it keeps the event loop from its work.

Everybody reads the same texts in one process, in turns. The texts are what engineers write, and give nobody cause to
stop early: nearly everything is ordinary, and each relayed message waits for it to be read.
"""

# ruff: noqa: E402 - what a bench imports is there only once it runs in the environment of the project

from __future__ import annotations

import asyncio
import gc
import importlib
import platform
import statistics
import sys
import time
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

from node import shipped
from node.classifier import Classifier
from node.core.screen import screen, version_of
from node.core.verdict import Field
from node.version import VERSION
from tools.bench import harness, reporting
from tools.bench.harness import Json, Result
from tools.bench.screen_texts import text

SCORER = shipped.scorer()
SECONDS = 1.0
SIZES: Mapping[str, int] = {"1k": 1 << 10, "16k": 1 << 14, "256k": 1 << 18, "1m": 1 << 20}
TEXTS = 8
"""Different texts of each size, one after the other, so that no side answers from memory."""
AT_LEAST = 3
"""Texts in a stretch, however long they take."""
PEER_SIZE = "16k"
AIMS: Mapping[str, float] = {"p50_1k_ms": 1.0, "p50_16k_ms": 10.0}
NOT_ABOVE = frozenset(AIMS)
_TICK_S = 0.001

Read = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for."""

    repeats: int
    seconds: float
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One side that reads texts of one size."""

    name: str
    read: Read
    texts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another screen: its package, where its reader is, and what of it is called."""

    package: str
    module: str
    reader: Callable[[object], Read]


def _scanner(module: object) -> Read:
    scan: Read = module.PromptScanner().scan  # type: ignore[attr-defined]
    return scan


def _scan(module: object) -> Read:
    scan: Read = module.scan  # type: ignore[attr-defined]
    return scan


PEERS: Mapping[str, Peer] = {
    "ai_injection_guard": Peer(package="ai-injection-guard", module="prompt_shield", reader=_scanner),
    "classifinder": Peer(package="classifinder-engine", module="classifinder_engine", reader=_scan),
}


def peers() -> tuple[dict[str, Read], dict[str, str]]:
    """The readers that are installed, by name, and for the others what to install."""
    found: dict[str, Read] = {}
    missing: dict[str, str] = {}
    for name, peer in PEERS.items():
        try:
            found[name] = peer.reader(importlib.import_module(peer.module))
        except ModuleNotFoundError:
            missing[name] = f"{peer.package} is not installed; pip install {peer.package}"
    return found, missing


def own(body: str) -> object:
    """Our whole screen over a message of this text."""
    return screen([Field(name="text", text=body)], SCORER)


def cases(readers: Mapping[str, Read]) -> list[Case]:
    """Ours in all sizes, and each peer in the one where it is compared."""
    texts = {size: [text(length, number) for number in range(TEXTS)] for size, length in SIZES.items()}
    ours = [Case(name=size, read=own, texts=texts[size]) for size in SIZES]
    return [*ours, *(Case(name=name, read=read, texts=texts[PEER_SIZE]) for name, read in readers.items())]


def stretch(case: Case, seconds: float) -> list[float]:
    """How long each text took, in milliseconds: all that fit in, AT_LEAST of them, after one that warms up."""
    case.read(case.texts[-1])
    gc.collect()
    took: list[float] = []
    begun = now = time.perf_counter()
    while now - begun < seconds or len(took) < AT_LEAST:
        asked = time.perf_counter()
        case.read(case.texts[len(took) % len(case.texts)])
        now = time.perf_counter()
        took.append((now - asked) * 1000)
    return took


async def stall(body: str) -> float:
    """The longest time, in milliseconds, that a loop's other work was late while the node's screener read `body`."""
    late: list[float] = []
    over = asyncio.Event()

    async def tick() -> None:
        while not over.is_set():
            asked = time.perf_counter()
            await asyncio.sleep(_TICK_S)
            late.append(time.perf_counter() - asked - _TICK_S)

    classifier = Classifier()
    gc.collect()
    async with asyncio.TaskGroup() as group:
        group.create_task(tick())
        await asyncio.sleep(10 * _TICK_S)
        late.clear()
        await classifier.screen([Field(name="text", text=body)])
        # Once more round, so that what kept the last tick is counted.
        await asyncio.sleep(2 * _TICK_S)
        over.set()
    return max(late) * 1000


async def bench(options: Options, say: Callable[[str], None]) -> Result:
    """All sides and sizes in turns, then a megabyte beside a loop that has other work."""
    load_before = harness.load()
    readers, missing = peers()
    took: dict[str, list[list[float]]] = {}
    stalls: list[float] = []
    everybody = cases(readers)
    for repeat, order in enumerate(harness.turns(everybody, options.repeats), start=1):
        for case in order:
            say(f"repeat {repeat} of {options.repeats}: {case.name}")
            took.setdefault(case.name, []).append(stretch(case, options.seconds))
            await asyncio.sleep(0)  # a Ctrl-C is heard between two stretches
        stalls.append(await stall(text(SIZES["1m"], repeat)))
    run: dict[str, Json] = {
        "load_before": load_before,
        "load_after": harness.load(),
        "repeats": options.repeats,
        "seconds": options.seconds,
        "versions": versions(missing),
    }
    return result(took, stalls, missing, run)


def result(
    took: Mapping[str, Sequence[Sequence[float]]],
    stalls: Sequence[float],
    missing: Mapping[str, str],
    run: Mapping[str, Json],
) -> Result:
    """What the stretches come to; null for a peer that is missing, and under `missing` why."""
    medians = {name: [statistics.median(one) for one in stretches] for name, stretches in took.items()}
    return Result(
        ratios={f"vs_{name}_{PEER_SIZE}": ratio(medians.get(name), medians[PEER_SIZE]) for name in PEERS},
        figures={
            "p50_1k_ms": statistics.median(medians["1k"]),
            "p95_1k_ms": statistics.median(harness.percentile(one, 0.95) for one in took["1k"]),
            **{f"p50_{size}_ms": statistics.median(medians[size]) for size in ("16k", "256k", "1m")},
            "loop_stall_1m_ms": statistics.median(stalls),
        },
        context={
            **harness.machine(),
            **run,
            "texts": TEXTS,
            "aims": dict(AIMS),
            "p50_ms_fastest_slowest": {
                name: [harness.significant(min(found)), harness.significant(max(found))]
                for name, found in medians.items()
            },
            "loop_stall_ms_worst": harness.significant(max(stalls)),
            "missing": dict(missing),
        },
    )


def ratio(theirs: Sequence[float] | None, ours: Sequence[float]) -> float | None:
    """The median, over the repeats, of how many times as long they took; None without them."""
    if theirs is None:
        return None
    return statistics.median(their / our for their, our in zip(theirs, ours, strict=True))


def versions(missing: Mapping[str, str]) -> dict[str, Json]:
    """Everything whose version moves the figures; None for a peer that is missing."""
    return {
        "heliograph": VERSION,
        "engine": version_of(SCORER),
        "python": platform.python_version(),
        **{name: None if name in missing else metadata.version(peer.package) for name, peer in PEERS.items()},
    }


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
    parts = [
        harness.table(("figure", "median", "aim", ""), figures),
        harness.table(("ratio", "median"), ratios),
        f"{context['cores']} cores, load {context['load_before']} before and {context['load_after']} after",
    ]
    missing = context["missing"]
    if isinstance(missing, Mapping):
        parts += [f"{name}: {why}" for name, why in missing.items()]
    return "\n\n".join(parts)


def parse(argv: Sequence[str]) -> Options:
    """The options; exits with 2 for those that make no sense."""
    parser = reporting.parser_of("tools/bench/screen.py", __doc__)
    parser.add_argument("--seconds", type=reporting.stretch, default=SECONDS, help=f"length of one turn ({SECONDS:g})")
    given = parser.parse_args(argv)
    return Options(repeats=given.repeats, seconds=given.seconds, as_json=given.as_json)


if __name__ == "__main__":
    sys.exit(harness.run(reporting.told(parse(sys.argv[1:]), bench, as_table)))
