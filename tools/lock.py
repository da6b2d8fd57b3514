"""Writes tools/requirements-*.txt from pyproject.toml: every version pinned, every archive by hash, no registry named.

One lock for Linux and macOS and every supported Python: uv resolves them together and leaves markers where they
differ. With --upgrade the newest versions are taken; without it only what pyproject.toml forces changes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = "tools/requirements-run.txt"
DEV = "tools/requirements-dev.txt"


def compile_locks(uv: str, *, upgrade: bool) -> None:
    """Write both locks; the run-time one comes first and holds the other to its versions."""
    _compile(uv, RUN, ["--group", "build"], upgrade=upgrade)
    _compile(uv, DEV, ["--group", "dev", "--constraints", RUN], upgrade=upgrade)


def _compile(uv: str, output: str, what: Sequence[str], *, upgrade: bool) -> None:
    command = [uv, "pip", "compile", "pyproject.toml", *what, "--output-file", output, "--quiet"]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--only-binary", ":all:"]
    command += ["--no-emit-index-url", "--no-annotate", "--custom-compile-command", "python3 tools/lock.py"]
    subprocess.run([*command, *(["--upgrade"] if upgrade else [])], cwd=ROOT, check=True)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="tools/lock.py", description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heliograph-lock-") as scratch:
        venv.EnvBuilder(with_pip=True).create(scratch)
        programs = Path(scratch) / "bin"
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "uv>=0.13"], check=True)
        compile_locks(str(programs / "uv"), upgrade=options.upgrade)
    return 0


if __name__ == "__main__":
    sys.exit(main())
