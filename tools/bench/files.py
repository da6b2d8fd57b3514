#!/usr/bin/env python3
"""How fast a file goes from one node to another, against scp and a plain Python TLS socket, over the loopback.

Each side is a process of its own on the same file system. `node` is the whole path: gRPC over mutual TLS, hashed on the
way, flushed on the way and at the end. Then a server is killed at half of a file to see what is sent again, and a large
sparse file goes through to see that memory stays flat.
"""

# ruff: noqa: E402 - what a bench imports is there only once it runs in the environment of the project

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import platform
import secrets
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    # Started as a file, Python looks for modules beside it instead of at the top of the project.
    sys.path[0] = str(ROOT)
    from tools.bench import environment

    environment.enter(__file__)

from node.core.limits import Limits
from node.version import VERSION
from tools.bench import file_node, harness, reporting
from tools.bench.children import Child, child
from tools.bench.harness import BenchError, Json, Result, Sample
from tools.bench.peer_scp import Scp, scp
from tools.bench.peers import PeerUnavailableError

MB = 1_048_576
FILE_MB = 512
SPARSE_GB = 4
AIMS: Mapping[str, float] = {"vs_scp": 2.0, "vs_raw_mtls": 0.8}
RATIOS: Mapping[str, tuple[str, str]] = {
    "vs_scp": ("node", "scp"),
    "vs_raw_mtls": ("node", "raw_mtls"),
    "vs_raw_mtls_flushed": ("node", "raw_mtls_flushed"),
}
CASES = ("node", "raw_mtls", "raw_mtls_flushed", "scp")
_LOOK_AGAIN_S = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for; sizes in MB and GB."""

    repeats: int
    mb: int
    sparse_gb: int
    folder: Path
    as_json: bool


class Content:
    """The file that is sent, new each time: its first bytes change, and with them its hash."""

    def __init__(self, folder: Path, mb: int) -> None:
        self.path = folder / "content"
        self.size = mb * MB
        block = secrets.token_bytes(MB)
        with self.path.open("wb") as out:
            for number in range(mb):
                out.write(number.to_bytes(8, "big") + block[8:])

    def renew(self, quarantine: Path) -> str:
        """Its new hash, under which it lies in that folder, too."""
        with self.path.open("r+b") as file:
            file.write(secrets.token_bytes(8))
        with self.path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        quarantine.mkdir(exist_ok=True)
        for old in quarantine.iterdir():
            old.unlink()
        os.link(self.path, quarantine / sha256)
        return sha256


Send = Callable[[], Awaitable[float]]
"""One transfer of the content; the seconds it took."""


async def send_by_node(folder: Path, content: Content, client: Child, port: int) -> float:
    """With a link up and a server that has never seen the content."""
    sha256 = await asyncio.to_thread(content.renew, folder / "client" / "files")
    await asyncio.to_thread(os.sync)
    told = await client.ask(port=port, sha256=sha256, size=content.size)
    if told["error"]:
        raise BenchError(f"A push failed: {told['error']}")
    received = folder / "server" / "files" / sha256
    if received.stat().st_size != content.size:
        raise BenchError("A push ended well, and what arrived has another size.")
    received.unlink()
    return float(told["seconds"])


async def send_raw(content: Content, client: Child, port: int, *, flushed: bool) -> float:
    """Over a socket of its own."""
    await asyncio.to_thread(os.sync)
    told = await client.ask(port=port, path=str(content.path), flush=flushed)
    return float(told["seconds"])


async def send_by_scp(content: Content, peer: Scp) -> float:
    """With a connection of its own, as scp makes it."""
    await asyncio.to_thread(os.sync)
    begin = time.perf_counter()
    await peer.copy(content.path, "received")
    return time.perf_counter() - begin


async def resent_after_kill(folder: Path, content: Content, client: Child) -> int:
    """Bytes sent again when the server is killed with signal 9 at half of the content, and started again."""
    sha256 = await asyncio.to_thread(content.renew, folder / "client" / "files")
    async with child("file_node", "server", folder) as server, asyncio.TaskGroup() as group:
        first = group.create_task(client.ask(port=int(await server.line()), sha256=sha256, size=content.size))
        while not first.done() and _arrived(folder, sha256) < content.size // 2:  # noqa: ASYNC110 - a disk tells nobody
            await asyncio.sleep(_LOOK_AGAIN_S)
        await server.kill()
        broken = await first
    if not broken["error"]:
        raise BenchError("The content was through before the server could be killed. Give --mb a larger number.")
    async with child("file_node", "server", folder) as server:
        whole = await client.ask(port=int(await server.line()), sha256=sha256, size=content.size)
    if whole["error"]:
        raise BenchError(f"The push did not go on after the server was killed: {whole['error']}")
    return int(broken["sent"]) + int(whole["sent"]) - content.size


def _arrived(folder: Path, sha256: str) -> int:
    return max((part.stat().st_size for part in (folder / "server").glob(f"parcels/*/{sha256}.*.part")), default=0)


async def memory_growth(folder: Path, gigabytes: int) -> tuple[float | None, float]:
    """By how many MB server and client grow at their most while a sparse file goes through."""
    quarantine, size = folder / "client" / "files", gigabytes * 1024 * MB
    shutil.rmtree(quarantine, ignore_errors=True)
    quarantine.mkdir()
    sparse = quarantine / "sparse"
    with sparse.open("wb") as out:
        out.truncate(size)
    sha256 = await asyncio.to_thread(_hash_of, sparse)
    sparse.rename(quarantine / sha256)
    small = quarantine / hashlib.sha256(bytes(16 * MB)).hexdigest()
    small.write_bytes(bytes(16 * MB))
    async with child("file_node", "server", folder) as server, child("file_node", "client", folder) as client:
        port = int(await server.line())
        # What a first, small file needs is no growth.
        begin = await client.ask(port=port, sha256=small.name, size=16 * MB)
        server_before = server.resident_mb()
        end = await client.ask(port=port, sha256=sha256, size=size)
        server_after = server.resident_mb()
    if end["error"]:
        raise BenchError(f"The sparse file did not get through: {end['error']}")
    grown = None if server_before is None or server_after is None else server_after - server_before
    return grown, float(end["resident_mb"]) - float(begin["resident_mb"])


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def bench(options: Options, say: Callable[[str], None]) -> Result:
    """One run of everything in a folder of its own, which is gone afterwards."""
    load_before, missing = harness.load(), dict[str, str]()
    with tempfile.TemporaryDirectory(prefix="helio-bench-", dir=options.folder) as made:
        folder = Path(made)
        file_node.new_keys(folder)
        say("writing the content")
        content = await asyncio.to_thread(Content, folder, options.mb)
        async with AsyncExitStack() as stack:
            sends, scp_version = await prepare(stack, folder, content, missing, say)
            samples = await take_turns(sends, options, say)
        say("killing a server at half")
        async with child("file_node", "client", folder) as client:
            resent = await resent_after_kill(folder, content, client)
        growth: tuple[float | None, float | None] = (None, None)
        if options.sparse_gb:
            say(f"sending {options.sparse_gb} GB of nothing")
            content.path.unlink()
            growth = await memory_growth(folder, options.sparse_gb)
    run: dict[str, Json] = {
        "file_system": harness.file_system(options.folder),
        "load_before": load_before,
        "load_after": harness.load(),
        "repeats": options.repeats,
        "mb": options.mb,
        "sparse_gb": options.sparse_gb,
    }
    return result(samples, resent, growth, {**run, "missing": missing, "scp": scp_version})


async def prepare(
    stack: AsyncExitStack, folder: Path, content: Content, missing: dict[str, str], say: Callable[[str], None]
) -> tuple[dict[str, Send], str | None]:
    """What can be sent with, all of it started; `missing` is told why the rest cannot."""
    say("starting both ends")
    server = await stack.enter_async_context(child("file_node", "server", folder))
    client = await stack.enter_async_context(child("file_node", "client", folder))
    raw_server = await stack.enter_async_context(child("raw_mtls", "server", folder))
    raw_client = await stack.enter_async_context(child("raw_mtls", "client", folder))
    port, raw_port = int(await server.line()), int(await raw_server.line())
    sends: dict[str, Send] = {
        "node": lambda: send_by_node(folder, content, client, port),
        "raw_mtls": lambda: send_raw(content, raw_client, raw_port, flushed=False),
        "raw_mtls_flushed": lambda: send_raw(content, raw_client, raw_port, flushed=True),
    }
    try:
        peer = await stack.enter_async_context(scp(folder / "scp"))
    except PeerUnavailableError as why:
        missing["scp"] = str(why)
        return sends, None
    sends["scp"] = lambda: send_by_scp(content, peer)
    return sends, peer.version


async def take_turns(
    sends: Mapping[str, Send], options: Options, say: Callable[[str], None]
) -> dict[str, tuple[Sample, ...]]:
    """A transfer of each in every repeat, after one that warms up; `per_s` is in MB."""
    samples: dict[str, list[Sample]] = {name: [] for name in sends}
    for name, send in sends.items():
        say(f"warming up: {name}")
        await send()
    for repeat, order in enumerate(harness.turns(tuple(sends), options.repeats), start=1):
        for name in order:
            say(f"repeat {repeat} of {options.repeats}: {name}")
            seconds = await sends[name]()
            samples[name].append(Sample(per_s=options.mb / seconds, p50_ms=seconds * 1000, p99_ms=seconds * 1000))
    return {name: tuple(found) for name, found in samples.items()}


def result(
    samples: Mapping[str, Sequence[Sample]],
    resent: int,
    growth: tuple[float | None, float | None],
    run: Mapping[str, Json],
) -> Result:
    """What the samples come to; null wherever a peer is missing, and under `missing` why."""
    step = Limits().parcel_sync_bytes
    return Result(
        ratios={name: harness.ratio(samples.get(over), samples.get(under)) for name, (over, under) in RATIOS.items()},
        figures={
            **{f"{name}_mb_s": _middle(samples.get(name)) for name in CASES},
            "resent_after_kill_mb": resent / MB,
            "sync_interval_mb": step / MB,
            "server_growth_mb": growth[0],
            "client_growth_mb": growth[1],
        },
        context={
            **harness.machine(),
            **{name: value for name, value in run.items() if name != "scp"},
            "versions": {
                "heliograph": VERSION,
                "python": platform.python_version(),
                "grpcio": metadata.version("grpcio"),
                "scp": run["scp"],
            },
            "durability": {
                "node": "flushed on the way and at the end, hash checked",
                "raw_mtls": "none",
                "raw_mtls_flushed": "flushed at the end",
                "scp": "none",
            },
            "aims": dict(AIMS),
            "mb_s_slowest_fastest": {name: harness.spread(found) for name, found in samples.items()},
        },
    )


def _middle(samples: Sequence[Sample] | None) -> float | None:
    return statistics.median(sample.per_s for sample in samples) if samples else None


def as_table(found: Result) -> str:
    """The result for people."""
    figures, context = found.figures, found.context
    ratios = [
        (name, reporting.number(value), reporting.aim(name, AIMS), reporting.judged(name, value, AIMS))
        for name, value in found.ratios.items()
    ]
    resent, allowed = reporting.number(figures["resent_after_kill_mb"]), reporting.number(figures["sync_interval_mb"])
    server, client = reporting.number(figures["server_growth_mb"]), reporting.number(figures["client_growth_mb"])
    before, after = context["load_before"], context["load_after"]
    lines = [
        harness.table(("case", "MB/s"), [(name, reporting.number(figures[f"{name}_mb_s"])) for name in CASES]),
        harness.table(("ratio", "median", "aim", ""), ratios),
        f"sent again after kill -9 at half: {resent} MB, of {allowed} that are allowed",
        f"memory for {context['sparse_gb']} GB at its most: server +{server} MB, client +{client} MB",
        f"{context['cores']} cores, load {before} before and {after} after, {context['file_system']}",
    ]
    missing = context["missing"]
    if isinstance(missing, Mapping):
        lines += [f"{name}: {why}" for name, why in missing.items()]
    return "\n\n".join(lines)


def _size(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65_536:
        raise argparse.ArgumentTypeError("between 0 and 65,536")
    return number


def parse(argv: Sequence[str]) -> Options:
    """The options; exits with 2 for those that make no sense."""
    parser = reporting.parser_of("tools/bench/files.py", __doc__)
    parser.add_argument("--mb", type=_size, default=FILE_MB, help=f"size of the file ({FILE_MB}; 64 or more)")
    parser.add_argument("--sparse-gb", type=_size, default=SPARSE_GB, help=f"of the sparse file ({SPARSE_GB}; 0: none)")
    reporting.add_folder(parser)
    given = parser.parse_args(argv)
    if given.mb < 64:
        parser.error("--mb below 64 leaves nothing to resume")
    folder = reporting.folder_of(parser, given.dir)
    return Options(repeats=given.repeats, mb=given.mb, sparse_gb=given.sparse_gb, folder=folder, as_json=given.as_json)


async def report(options: Options) -> int:
    """Runs the bench and prints what it found."""
    reporting.warn_of_memory(options.folder)
    return await reporting.told(options, bench, as_table)


if __name__ == "__main__":
    sys.exit(harness.run(report(parse(sys.argv[1:]))))
