#!/usr/bin/env python3
"""Whether anything is lost, doubled or torn when what carries it breaks, again and again.

Two real nodes, one of which mirrors the other over a line that can be cut. Agents send numbered requests and files
through the tunnel and get replies with files, while faults strike at random moments. At the end each end's record is
held against the other's.
"""

# ruff: noqa: E402 - what a bench imports is there only once it runs in the environment of the project

from __future__ import annotations

import argparse
import asyncio
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    # Started as a file, Python looks for modules beside it instead of at the top of the project.
    sys.path[0] = str(ROOT)
    from tools.bench import environment

    environment.enter(__file__)

from node.version import VERSION
from tests.e2e.lab import Lab
from tools.bench import harness
from tools.bench.fault_audit import Findings, audit, missing
from tools.bench.fault_line import Way
from tools.bench.fault_stage import Stage, queues, stage
from tools.bench.harness import BenchError, Json, Result

FAULTS = 200
STOP_S = 0.5
SEED = 20_261_130
# What gets through before the next fault, in bytes at most; how long that is waited for.
_MOST_BYTES = 40_000
_FLOW_S = 0.5
_DRAIN_S = 60.0
_LOOK_S = 0.2
_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for. `stop_s` is the longest that a node stands still."""

    faults: int
    stop_s: float
    seed: int
    pause_s: float = 0.05
    forwards_per_minute: int = 6_000
    as_json: bool = False


class Injector:
    """Breaks one thing after the other, each at a moment by chance."""

    def __init__(self, on: Stage, options: Options) -> None:
        self._on = on
        self._options = options
        self._chance = random.Random(options.seed)  # noqa: S311 - when to strike, nothing secret
        self.done: Counter[str] = Counter()
        self._kinds: Mapping[str, tuple[int, Callable[[], Awaitable[None]]]] = {
            "cut": (22, self._cut),
            "delay": (14, self._delay),
            "replies_lost": (18, self._lose_replies),
            "requests_lost": (12, self._lose_requests),
            "truncated": (14, self._truncate),
            "client_stopped": (6, lambda: self._stop(self._on.client)),
            "server_stopped": (4, lambda: self._stop(self._on.server)),
            "client_killed": (4, lambda: self._kill(self._on.client)),
            "server_killed": (4, lambda: self._kill(self._on.server)),
        }

    async def run(self, say: Callable[[str], None]) -> None:
        """All faults, with a little of the work getting through between them."""
        names = list(self._kinds)
        weights = [self._kinds[name][0] for name in names]
        for number in range(1, self._options.faults + 1):
            await self._on.line.flow(self._chance.randrange(1, _MOST_BYTES), _FLOW_S)
            await asyncio.sleep(self._chance.random() * 0.05)
            (name,) = self._chance.choices(names, weights)
            say(f"fault {number} of {self._options.faults}: {name}")
            await self._kinds[name][1]()
            check_running(self._on)
            self.done[name] += 1

    async def _cut(self) -> None:
        self._on.line.cut()

    async def _delay(self) -> None:
        way = self._chance.choice(tuple(Way))
        await self._hold(way)
        self._on.line.release(way)

    async def _hold(self, way: Way) -> None:
        self._on.line.hold(way)
        await asyncio.sleep(self._chance.uniform(0.02, 0.2))

    async def _lose_replies(self) -> None:
        """The server takes what comes and commits it; that it did is lost with the line."""
        await self._hold(Way.BACK)
        self._on.line.cut()
        self._on.line.release(Way.BACK)

    async def _lose_requests(self) -> None:
        await self._hold(Way.OUT)
        self._on.line.cut()
        self._on.line.release(Way.OUT)

    async def _truncate(self) -> None:
        self._on.line.snip(self._chance.choice(tuple(Way)))

    async def _stop(self, at: Lab) -> None:
        at.freeze(frozen=True)
        await asyncio.sleep(self._chance.uniform(0.1, 1) * self._options.stop_s)
        at.freeze(frozen=False)

    async def _kill(self, at: Lab) -> None:
        await at.kill()
        await at.start()


def check_running(on: Stage) -> None:
    """BenchError when a node has ended by itself."""
    for name, at in (("client", on.client), ("server", on.server)):
        if not at.running:
            raise BenchError(f"The {name}'s node has ended. It said:\n{at.told()}")


async def drained(on: Stage) -> bool:
    """Waits until nothing is under way any more; False when that does not come to be."""
    try:
        async with asyncio.timeout(_DRAIN_S):
            while True:
                check_running(on)
                left = queues(on.client) + queues(on.server)
                left += missing(on.asked, on.answered) + missing(on.answered, on.asked)
                if not left:
                    return True
                await asyncio.sleep(_LOOK_S)
    except TimeoutError:
        return False


async def strike(options: Options, say: Callable[[str], None]) -> tuple[Findings, Counter[str], dict[str, float]]:
    """The whole run: what was found, which faults there were, and how long they and the rest took in seconds."""
    begin = time.monotonic()
    async with stage(options.seed, pause_s=options.pause_s, forwards_per_minute=options.forwards_per_minute) as on:
        injector = Injector(on, options)
        over = asyncio.Event()
        first = time.monotonic()
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(asker.ask(over)) for asker in on.askers]
            others = [group.create_task(asker.listen()) for asker in on.askers]
            others += [group.create_task(worker.work()) for worker in on.workers]
            await injector.run(say)
            last = time.monotonic()
            over.set()
            say("waiting for what is under way")
            await asyncio.wait(asking)
            empty = await drained(on)
            for task in others:
                task.cancel()
        end = time.monotonic()
        say("looking at both ends")
        found = await audit(on)
        if not empty:
            found.lost.append(f"after {_DRAIN_S:g} s there was still something under way")
        found.notes = [*on.asked.notes, *on.answered.notes]
    return found, injector.done, {"faults_s": last - first, "drain_s": end - last, "all_s": time.monotonic() - begin}


def result(found: Findings, faults: Counter[str], took: Mapping[str, float], options: Options) -> Result:
    """Counts; the context has the first problems in words."""
    context: dict[str, Json] = {
        **harness.machine(),
        "versions": {"heliograph": VERSION, "python": platform.python_version()},
        "repeats": 1,
        "seed": options.seed,
        "stop_s": options.stop_s,
        "load_after": harness.load(),
        "kinds": dict(faults),
        "problems": found.problems[:_SHOWN],
        "notes": found.notes[:_SHOWN],
    }
    figures: dict[str, float | None] = {
        "faults": sum(faults.values()),
        "lost": len(found.lost),
        "doubled": len(found.doubled),
        "torn": len(found.torn),
        "messages": found.messages,
        "files": found.files,
        "pairs": found.pairs,
        "unpaired": len(found.unpaired),
        "unverified": len(found.unverified),
        "faults_per_s": sum(faults.values()) / took["faults_s"],
        **took,
    }
    return Result(ratios={}, figures=figures, context=context)


def as_table(found: Result) -> str:
    """The result for people."""
    rows = [(name, f"{harness.significant(value or 0):,g}") for name, value in found.figures.items()]
    problems = found.context["problems"]
    parts = [harness.table(("figure", ""), rows)]
    parts += [str(one) for one in problems] if isinstance(problems, Sequence) else []
    return "\n\n".join(parts)


def parse(argv: Sequence[str]) -> Options:
    """The options; exits with 2 for those that make no sense."""
    parser = argparse.ArgumentParser(prog="tools/bench/faults.py", description=__doc__)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")
    parser.add_argument("--faults", type=int, default=FAULTS, help=f"how many faults ({FAULTS})")
    parser.add_argument("--stop-s", type=float, default=STOP_S, help=f"longest standstill of a node ({STOP_S:g})")
    parser.add_argument("--seed", type=int, default=SEED, help="another number, other moments")
    given = parser.parse_args(argv)
    if given.faults < 1 or not 0 < given.stop_s <= 60:
        parser.error("at least one fault, and a standstill of at most 60 s")
    return Options(faults=given.faults, stop_s=given.stop_s, seed=given.seed, as_json=given.as_json)


async def report(options: Options) -> int:
    """Runs it and prints what it found; 1 when anything was lost, doubled or torn."""
    progress = harness.Progress()
    found, faults, took = await strike(options, progress.say)
    progress.clear()
    shown = result(found, faults, took, options)
    print(shown.as_json() if options.as_json else as_table(shown), flush=True)
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(harness.run(report(parse(sys.argv[1:]))))
