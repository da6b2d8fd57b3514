"""What the gates need to know of the project: where it is, which files are its own, which programs check it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VENV_BIN = ROOT / ".venv" / "bin"
SHIPPED = ("node", "tunnel")
CHECKED = (*SHIPPED, "tests", "tools")
GENERATED_SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


def is_generated(path: Path) -> bool:
    """True for what protoc wrote: it is regenerated and diffed, not judged."""
    return path.name.endswith(GENERATED_SUFFIXES)


def tracked_files() -> list[Path]:
    """Every file of the working tree that git tracks or would, ignored ones left out; absolute, sorted."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    # A file deleted but not yet committed is still listed.
    return sorted({ROOT / name for name in names if name and (ROOT / name).is_file()})


def python_files(*roots: str) -> list[Path]:
    """The project's own Python files under `roots` (top-level folders), generated ones left out."""
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in roots and not is_generated(path)
    ]


def listed_packages(pyproject: Path = ROOT / "pyproject.toml") -> list[str]:
    """The import packages that pyproject.toml ships, as dotted names."""
    packages = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    return [str(package) for package in packages]


def tool_environment() -> Mapping[str, str]:
    """The environment of every checking program: nothing of it reaches out, caches stay in the checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    environment["PATH"] = f"{VENV_BIN}{os.pathsep}{environment.get('PATH', os.defpath)}"
    environment["VIRTUAL_ENV"] = str(VENV_BIN.parent)
    environment["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"
    environment["BUF_CACHE_DIR"] = str(VENV_BIN.parent / "buf-cache")
    environment["NO_COLOR"] = "1"
    return environment


def program(name: str) -> str:
    """The absolute path of a program of the environment; raises FileNotFoundError."""
    found = shutil.which(name, path=str(VENV_BIN))
    if found is None:
        raise FileNotFoundError(f"{name} is not in {VENV_BIN}")
    return found
