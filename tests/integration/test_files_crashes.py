"""Files when the node is killed in the middle, and when the disk takes no more."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from node.core.transfer import Attachment
from node.platform.parcel import CHUNK_BYTES
from tests.integration.file_bench import MESSAGE, SESSION, Bench, bench_in, tree

# A node in a process of its own: it kills itself at a given step, or may write files of a given size only.
NODE = """
import asyncio, json, os, resource, signal, sys
from dataclasses import asdict
from pathlib import Path
from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.transfer import Attachment
from node.files import Files

home, base, session, message, kill_at, largest = sys.argv[1:]
steps = 0

def step(path, done):
    global steps
    steps += 1
    if steps == int(kill_at):
        os.kill(os.getpid(), signal.SIGKILL)

if int(largest):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), int(largest)))
files = Files(home=Path(home), limits=Limits(spare_bytes=1), progress=step)
given = [Attachment(**one) for one in json.load(sys.stdin)]
try:
    if given:
        asyncio.run(files.land(session, message, given))
        print("[]")
    else:
        staged = asyncio.run(files.stage(["box", "big"], base=base, allowed=()))
        print(json.dumps([asdict(one) for one in staged]))
except MeshError as error:
    print(json.dumps([error.code, error.message]))
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = bench_in(tmp_path)
    made.write("big", b"x" * (2 * CHUNK_BYTES))
    made.write("box/deep/x", b"x")
    made.write("box/y", b"y" * 2_000)
    return made


def run(bench: Bench, given: Sequence[Attachment], *, kill_at: int = 0, largest: int = 0) -> tuple[int, str]:
    arguments = (str(bench.home), str(bench.base), SESSION, MESSAGE, str(kill_at), str(largest))
    done = subprocess.run(
        [sys.executable, "-c", NODE, *arguments],
        input=json.dumps([asdict(one) for one in given]),
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_stage_killed_at_any_step_leaves_nothing_that_counts(bench: Bench) -> None:
    kill_at, killed = 1, True
    while killed:
        code, said = run(bench, (), kill_at=kill_at)
        killed = code == -signal.SIGKILL
        if killed:
            assert all(name.endswith(".part") for name in bench.kept())
            kill_at += 1
    assert kill_at > 8
    assert code == 0
    staged = [Attachment(**one) for one in json.loads(said)]
    assert bench.sweep(*(one.sha256 for one in staged)) > 1
    assert bench.kept() == {one.sha256 for one in staged}
    assert tree(Path(bench.land(staged)[0])) == tree(bench.base / "box")


def test_a_landing_killed_at_any_step_is_done_again(bench: Bench) -> None:
    staged = bench.stage("box", "big")
    final = bench.home / "inbox" / SESSION / MESSAGE
    kill_at, killed = 1, True
    while killed:
        code, _ = run(bench, staged, kill_at=kill_at)
        killed = code == -signal.SIGKILL
        if killed:
            assert not final.exists()
            kill_at += 1
    assert kill_at > 8
    assert code == 0
    assert [path.name for path in final.parent.iterdir()] == [MESSAGE]
    assert tree(final / "box") == tree(bench.base / "box")
    assert (final / "big").read_bytes() == (bench.base / "big").read_bytes()


def test_a_disk_that_fills_up_meanwhile_is_said_and_nothing_is_kept(bench: Bench) -> None:
    code, said = run(bench, (), largest=CHUNK_BYTES)
    assert code == 0
    assert json.loads(said)[0] == "unavailable"
    assert "is full" in json.loads(said)[1]
    assert bench.kept() == set()
    staged = bench.stage("box", "big")
    code, said = run(bench, staged, largest=CHUNK_BYTES)
    assert code == 0
    assert "is full" in json.loads(said)[1]
    assert bench.landed() == {}
