#!/usr/bin/env python3
"""How many durable messages a second go through the tunnel, against known servers and against a call a message.

Client and server are processes of their own with mutual TLS between them; a message has 1 KB and counts once the client
holds the word that it is on the server's disk. All sides take turns within one run and keep their files on one file
system.
"""

# ruff: noqa: E402 - what a bench imports is there only once it runs in the environment of the project

from __future__ import annotations

import json
import platform
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
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
from tools.bench import file_node, harness, own_node, relay_client, reporting, store
from tools.bench.children import child
from tools.bench.harness import AnyCase, Case, Json, Result, Sample
from tools.bench.peer_nats import nats
from tools.bench.peer_postgres import pgbench
from tools.bench.peers import Peer

CALLERS = 64
BATCHED: Mapping[str, int] = {"sink": 8, "screened": 2, "full": 2}
"""Callers that hand in relay_client.BATCH messages at once, which keeps every frame full; few where one takes long."""
AIMS: Mapping[str, float] = {
    "vs_pgbench": 1.5,
    "vs_nats_always": 4.0,
    "vs_unary": 6.0,
    "p50_vs_unary": 0.125,
    "batched_vs_unary": 25.0,
}
AT_MOST = frozenset({"p50_vs_unary"})
# How far a message goes at the server, by the word at the end of a ratio's name.
LEVELS: Mapping[str, str] = {"": "sink", "_screened": "screened", "_full": "full"}
OPENERS: Mapping[str, store.Opener] = {
    "pgbench": lambda folder: pgbench(folder, callers=CALLERS, body=own_node.BODY),
    "nats_always": lambda folder: nats(folder, callers=CALLERS, new_id=own_node.new_id, body=own_node.BODY),
}
CASES = (
    "unary", *LEVELS.values(), *(f"{level}_batched" for level in LEVELS.values()), *OPENERS
)  # fmt: skip
"""In the order in which people read them."""


async def bench(options: store.Options, say: Callable[[str], None]) -> Result:
    """One run of all cases in a folder of its own, which is gone afterwards."""
    load_before = harness.load()
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(store.own_folder(options.folder))
        file_node.new_keys(folder)
        server = await stack.enter_async_context(child("relay_node", "server", folder))
        told = json.loads(await server.line())
        callers = await stack.enter_async_context(relay_client.connected(folder, told["port"], told["workers"].split()))

        def case(name: str, number: int, command: Callable[[int], Awaitable[None]], mode: str, counts: int = 1) -> Case:
            async def prepare() -> None:
                await server.ask(mode=mode)

            return Case(name=name, callers=number, command=command, prepare=prepare, counts=counts)

        peers, missing = await store.open_peers(stack, folder, OPENERS, say)
        cases: list[AnyCase] = [case("unary", CALLERS, callers.unary, "sink")]
        for level in LEVELS.values():
            one, many = (callers.full, callers.full_batch) if level == "full" else (callers.tunnel, callers.batch)
            cases.append(case(level, CALLERS, one, level))
            cases.append(case(f"{level}_batched", BATCHED[level], many, level, relay_client.BATCH))
        cases += [peer.case for peer in peers.values()]
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


def ratios(samples: Mapping[str, Sequence[Sample]]) -> dict[str, float | None]:
    """Each ratio for each level; the plain names are of the tunnel with a durable sink behind it."""
    found: dict[str, float | None] = {}
    for word, level in LEVELS.items():
        for peer in ("pgbench", "nats_always", "unary"):
            found[f"vs_{peer}{word}"] = harness.ratio(samples.get(level), samples.get(peer))
        found[f"p50_vs_unary{word}"] = harness.ratio_of_p50(samples.get(level), samples.get("unary"))
        found[f"batched_vs_unary{word}"] = harness.ratio(samples.get(f"{level}_batched"), samples.get("unary"))
    return found


def result(
    samples: Mapping[str, Sequence[Sample]],
    peers: Mapping[str, Peer],
    missing: Mapping[str, str],
    run: Mapping[str, Json],
) -> Result:
    """What the samples come to; null wherever a peer is missing, and under `missing` why."""
    versions: dict[str, Json] = {
        "heliograph": VERSION,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "grpcio": metadata.version("grpcio"),
        **{name: peers[name].version if name in peers else None for name in OPENERS},
    }
    return Result(
        ratios=ratios(samples),
        figures=harness.figures_of(CASES, samples, "messages_s"),
        context={
            **harness.machine(),
            **run,
            "callers": CALLERS,
            "callers_batched": dict(BATCHED),
            "messages_at_once_batched": relay_client.BATCH,
            "body_bytes": own_node.BODY_BYTES,
            "levels": {
                "": "the tunnel with a durable sink: a row a message, a transaction a frame",
                "_screened": "the same with the screen before it",
                "_full": "the node's whole ingress: screen, rules of the exchange, row, timeline row, notice",
            },
            "versions": versions,
            "durability": {
                "sqlite": "; ".join(("WAL", "synchronous=FULL", *durability.sqlite_pragmas())),
                **{name: peer.durability for name, peer in peers.items()},
            },
            "aims": dict(AIMS),
            "messages_s_slowest_fastest": {name: harness.spread(found) for name, found in samples.items()},
            "missing": dict(missing),
        },
    )


def as_table(found: Result) -> str:
    """The result for people."""
    rows = [
        (name, *(reporting.number(found.figures[f"{name}_{unit}"]) for unit in ("messages_s", "p50_ms", "p99_ms")))
        for name in CASES
    ]
    judged = [
        (name, reporting.number(value), reporting.aim(name, AIMS), reporting.judged(name, value, AIMS, at_most=AT_MOST))
        for name, value in found.ratios.items()
    ]
    parts = [
        harness.table(("case", "messages/s", "p50 ms", "p99 ms"), rows),
        harness.table(("ratio", "median", "aim", ""), judged),
        f"load {found.context['load_before']} before and {found.context['load_after']} after",
    ]
    missing = found.context["missing"]
    if isinstance(missing, Mapping):
        parts += [f"{name}: {why}" for name, why in missing.items()]
    return "\n\n".join(parts)


async def report(options: store.Options) -> int:
    """Runs the bench and prints what it found."""
    reporting.warn_of_memory(options.folder)
    return await reporting.told(options, bench, as_table)


if __name__ == "__main__":
    sys.exit(harness.run(report(store.parse(sys.argv[1:], "tools/bench/relay.py", __doc__))))
