"""A full disk and a read-only one, for real: a node on a small file system that is mounted for it alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEGABYTES = 40
IN_A_NAMESPACE = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
TMPFS = 'mount -t tmpfs -o size={size}m,mode=700 helio "$1"'
EXT4 = 'mkfs.ext4 -q -m 0 "$1.img" {size}m && mount -o loop,errors=remount-ro "$1.img" "$1" && chmod 700 "$1"'


@pytest.fixture
def place() -> Iterator[Path]:
    """Where it is to be mounted: a short path, for the sake of sockets."""
    folder = Path(tempfile.mkdtemp(prefix="hd-", dir="/tmp"))
    yield folder
    folder.rmdir()
    Path(f"{folder}.img").unlink(missing_ok=True)


def play(scene: str, mount: str, place: Path) -> None:
    mount = mount.format(size=MEGABYTES)
    tried = subprocess.run([*IN_A_NAMESPACE, mount, "sh", place], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {tried.stderr.strip()[:200]}")
    if scene == "read_only" and not os.access("/sys/fs/ext4", os.W_OK):
        pytest.skip("the kernel's hook for file system errors is not there")
    words = f'{mount} && exec "$2" -m tests.e2e.full_disk {scene} "$1"'
    done = subprocess.run(
        [*IN_A_NAMESPACE, words, "sh", place, sys.executable],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]


def needs(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and {', '.join(programs)}")


@pytest.mark.parametrize("scene", ["full", "full_at_the_end"])
def test_a_full_tmpfs(place: Path, scene: str) -> None:
    needs("unshare", "mount")
    play(scene, TMPFS, place)


@pytest.mark.parametrize("scene", ["full", "full_at_the_end", "read_only"])
def test_a_full_or_read_only_ext4(place: Path, scene: str) -> None:
    needs("unshare", "mount", "mkfs.ext4")
    play(scene, EXT4, place)
