"""The gate that builds the wheel from a clean copy and holds its contents to what the tree and pyproject.toml say."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from tools.gates.project import ROOT, listed_packages, program, tool_environment, tracked_files
from tools.gates.runner import Gate, Outcome

SHIPPED_SUFFIXES = frozenset({".py", ".pyi", ".sql"})
REQUIRED = ("node/py.typed", "tunnel/py.typed", "node/entry.py", "node/store/migrations/")
IMPORT_ALL = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    module = importlib.import_module(name)
    if not str(module.__file__).startswith(sys.argv[1]):
        sys.exit(f"{name} came from {module.__file__}, not from the wheel")
"""


def gate() -> Gate:
    """The gate of the wheel."""
    return Gate(name="wheel", run=_run)


def expected_members(files: Iterable[PurePosixPath], packages: Sequence[str]) -> set[str]:
    """What a wheel of `packages` should hold of the tree's `files` (relative paths)."""
    folders = {package.replace(".", "/") for package in packages}
    members = set()
    for file in files:
        parent = file.parent.as_posix()
        migration = file.suffix == ".sql" and file.parent.parent.as_posix() in folders
        data = parent == "node/data" or file.name == "py.typed"
        if migration or (parent in folders and (data or file.suffix in SHIPPED_SUFFIXES)):
            members.add(file.as_posix())
    return members


def disagreements(members: Iterable[str], files: Sequence[PurePosixPath], packages: Sequence[str]) -> list[str]:
    """What is missing from a wheel's `members` or too much in them; empty when it is right."""
    shipped = {member for member in members if ".dist-info/" not in member}
    metadata = {member.split(".dist-info/", 1)[1] for member in members if ".dist-info/" in member}
    expected = expected_members(files, packages)
    found = [f"missing: {name}" for name in sorted(expected - shipped)]
    found += [f"should not be there: {name}" for name in sorted(shipped - expected)]
    found += [f"missing: {name}" for name in REQUIRED if not any(member.startswith(name) for member in shipped)]
    found += [
        f"missing from its metadata: {name}"
        for name in ("licenses/LICENSE", "entry_points.txt")
        if name not in metadata
    ]
    return found


def importable_modules(members: Iterable[str]) -> list[str]:
    """Dotted names of a wheel's modules, `__main__` ones left out as importing those runs them."""
    modules = (PurePosixPath(m).with_suffix("") for m in members if m.endswith(".py"))
    return sorted(
        ".".join(p.parent.parts if p.name == "__init__" else p.parts) for p in modules if p.name != "__main__"
    )


def _run() -> Outcome:
    with tempfile.TemporaryDirectory(prefix="heliograph-wheel-") as scratch:
        source, built, unpacked = (Path(scratch) / name for name in ("source", "built", "unpacked"))
        files = [path.relative_to(ROOT) for path in tracked_files()]
        _copy(files, source)
        done = _python("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
                       "--wheel-dir", str(built), str(source))  # fmt: skip
        if done.returncode != 0:
            return Outcome(passed=False, output=done.stdout)
        (wheel,) = built.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            members = archive.namelist()
            archive.extractall(unpacked)
        problems = disagreements(members, [PurePosixPath(file) for file in files], listed_packages())
        imported = _python("-I", "-c", IMPORT_ALL, str(unpacked), *importable_modules(members))
        if imported.returncode != 0:
            problems.append(imported.stdout)
        return Outcome(passed=not problems, output="\n".join(problems))


def _copy(files: Iterable[Path], target: Path) -> None:
    """Built from a copy: setuptools leaves folders behind, and takes up what an earlier build left."""
    for file in files:
        destination = target / file
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, destination)


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("python"), *arguments],
        cwd=ROOT,
        env=tool_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
