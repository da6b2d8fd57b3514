"""Part files: what they hold after any batches, where they go on, and what their length tells."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from node.platform.parcel import StoppedError
from node.platform.part_file import ALIGNED, PartFile, durable_length

MB = 1 << 20
NEVER = threading.Event()

# In a process of its own: a limit on the size of files is not given back.
FULL = """
import sys, threading, resource
from pathlib import Path
from node.platform.part_file import PartFile
resource.setrlimit(resource.RLIMIT_FSIZE, (6_000_000, 6_000_000))
part = PartFile(Path(sys.argv[1]), offset=0, stop=threading.Event())
try:
    part.put([bytes(9_000_000)])
except OSError as error:
    print(error.errno, part.written, part.taken)
try:
    part.drain()
except OSError as error:
    print(error.errno, part.written)
part.close()
"""


@pytest.mark.parametrize("begin", [0, 1, ALIGNED, 3 * ALIGNED, 5 * MB + 7])
def test_what_is_put_in_any_pieces_is_there_and_hashed(tmp_path: Path, begin: int) -> None:
    chance = random.Random(begin)  # noqa: S311
    data, path = os.urandom(13 * MB + 11), tmp_path / "part"
    path.write_bytes(data[:begin] + b"what a crash left behind it")
    part = PartFile(path, offset=begin, stop=NEVER)
    at = begin
    while at < len(data):
        batch = [data[at : (at := at + chance.randrange(1, 2 * MB))] for _ in range(chance.randrange(3))]
        part.put(batch)
        part.hash(batch)
        assert part.taken == min(at, len(data))
    part.drain()
    part.flush()
    assert part.written == len(data)
    assert part.sha256() == hashlib.sha256(data).hexdigest()
    part.close()
    assert path.read_bytes() == data


def test_a_full_disk_leaves_what_went_in(tmp_path: Path) -> None:
    path = tmp_path / "part"
    said = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True, timeout=60)
    assert said.stderr == ""
    first, second = (line.split() for line in said.stdout.splitlines())
    assert first == ["27", "6000000", str(3 * 2 * MB)]
    assert second == ["27", "6000000"]
    assert path.stat().st_size == 6_000_000


def test_reading_what_is_there_can_be_stopped(tmp_path: Path) -> None:
    path, stop = tmp_path / "part", threading.Event()
    path.write_bytes(bytes(MB))
    stop.set()
    before = opened()
    with pytest.raises(StoppedError):
        PartFile(path, offset=MB, stop=stop)
    assert opened() == before


def opened() -> int:
    """File descriptors of this process."""
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_a_part_that_is_shorter_than_was_known_is_not_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(b"short")
    part = PartFile(path, offset=ALIGNED, stop=NEVER)
    # The hash of what is missing is that of zeros, which the whole will not have.
    assert part.sha256() == hashlib.sha256(b"short".ljust(ALIGNED, b"\0")).hexdigest()
    part.close()


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "part").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"):
        PartFile(tmp_path / "part", offset=0, stop=NEVER)
    assert (tmp_path / "mine").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("length", "durable"),
    [(0, 0), (1, 0), (8, 0), (9, 0), (16, 0), (17, 8), (24, 8), (25, 16), (1000, 984), (1001, 992)],
)
def test_two_steps_behind_the_last_one_begun_are_durable(length: int, durable: int) -> None:
    assert durable_length(length, 8) == durable
