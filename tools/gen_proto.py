"""Generates the Python of proto/ into the import packages; with --check, compares instead of writing.

The package of a .proto is its path is its import path, so protoc's own imports are right and nothing is patched.
Messages come with protoc's stubs (.pyi), services with mypy-protobuf's.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
PACKAGES = ("node", "tunnel")
GENERATED = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")


class GenerationError(Exception):
    """protoc refused the sources; the message is its own."""


def generate(target: Path) -> None:
    """Write the code of every .proto under `target`; raises GenerationError."""
    sources = sorted(path.relative_to(PROTO).as_posix() for path in PROTO.rglob("*.proto"))
    if not sources:
        raise GenerationError(f"{PROTO} holds no .proto file")
    plugin = Path(sys.executable).parent / "protoc-gen-mypy_grpc"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--plugin=protoc-gen-mypy_grpc={plugin}"]
    command += [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python", "mypy_grpc")]
    done = subprocess.run([*command, *sources], cwd=PROTO, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GenerationError(done.stderr.strip())


def differences(fresh: Path, checked_in: Path) -> list[str]:
    """Lines of a unified diff which would bring `checked_in` to `fresh`; empty when they agree."""
    wanted, found = _generated_files(fresh), _generated_files(checked_in)
    lines: list[str] = []
    for name in sorted(wanted | found):
        old = _lines(checked_in / name) if name in found else []
        new = _lines(fresh / name) if name in wanted else []
        lines += difflib.unified_diff(old, new, f"checked in: {name}", f"generated: {name}")
    return lines


def _generated_files(root: Path) -> set[str]:
    found = (path for package in PACKAGES for pattern in GENERATED for path in (root / package).rglob(pattern))
    return {path.relative_to(root).as_posix() for path in found}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def _drop_stale(fresh: Path, names: Iterable[str]) -> None:
    """A removed .proto takes its generated code with it."""
    for name in names:
        if not (fresh / name).exists():
            (ROOT / name).unlink()


def main() -> int:
    """Command line; exit code 1 when --check finds a difference or protoc refuses."""
    parser = argparse.ArgumentParser(prog="tools/gen_proto.py", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if the checked-in code is not this"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heliograph-proto-") as scratch:
        fresh = Path(scratch)
        try:
            generate(fresh)
        except GenerationError as error:
            print(f"protoc: {error}", file=sys.stderr)
            return 1
        if options.check:
            changed = differences(fresh, ROOT)
            sys.stdout.writelines(changed)
            if changed:
                print(
                    "Generated code is not what proto/ says. Run: .venv/bin/python tools/gen_proto.py", file=sys.stderr
                )
            return 1 if changed else 0
        _drop_stale(fresh, _generated_files(ROOT))
        for name in _generated_files(fresh):
            (ROOT / name).write_bytes((fresh / name).read_bytes())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
