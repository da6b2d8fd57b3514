"""What the benches share at their command lines: options, numbers for people, and how a run is told."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Protocol, TypeVar

from tools.bench import harness
from tools.bench.harness import Result

ROOT: Final = Path(__file__).resolve().parents[2]
NOBODY: Final[frozenset[str]] = frozenset()


class Told(Protocol):
    """Options of any bench."""

    @property
    def as_json(self) -> bool: ...


class OnDisk(Told, Protocol):
    """Options of a bench with files."""

    @property
    def folder(self) -> Path: ...


Given = TypeVar("Given", bound=Told)


def number(value: float | None) -> str:
    """A number for people."""
    return "-" if value is None else f"{harness.significant(value):,g}"


def aim(name: str, aims: Mapping[str, float]) -> str:
    """What is aimed at, empty where nothing is."""
    return f"{aims[name]:g}" if name in aims else ""


def judged(name: str, value: float | None, aims: Mapping[str, float], *, at_most: frozenset[str] = NOBODY) -> str:
    """Whether an aim is reached; those in `at_most` are not to be exceeded, the others are to be."""
    if value is None or name not in aims:
        return ""
    good = value <= aims[name] if name in at_most else value >= aims[name]
    return "reached" if good else "missed"


def repeats(text: str) -> int:
    """A number of repeats, at least MIN_REPEATS."""
    found = int(text)
    if found < harness.MIN_REPEATS:
        raise argparse.ArgumentTypeError(f"medians need at least {harness.MIN_REPEATS} repeats")
    return found


def stretch(text: str) -> float:
    """Seconds of one stretch, at least 0.1."""
    found = float(text)
    if not 0.1 <= found <= 600:
        raise argparse.ArgumentTypeError("between 0.1 and 600 seconds")
    return found


def parser_of(program: str, about: str | None) -> argparse.ArgumentParser:
    """A parser with what every bench takes: --json and --repeats."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")
    parser.add_argument("--repeats", type=repeats, default=harness.MIN_REPEATS, help="turns of every case (5 or more)")
    return parser


def add_folder(parser: argparse.ArgumentParser) -> None:
    """The option --dir."""
    parser.add_argument("--dir", type=Path, default=None, help="where all files go; a real disk, as a node has")


def folder_of(parser: argparse.ArgumentParser, given: Path | None) -> Path:
    """The folder that --dir names, else one on a real disk; ends the program when it cannot be written to."""
    folder = given or harness.on_disk([Path(tempfile.gettempdir()), Path("/var/tmp"), ROOT])  # noqa: S108 - a real disk
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        parser.error(f"{folder} is not a folder that can be written to")
    return folder.resolve()


def warn_of_memory(folder: Path) -> None:
    """Says so when nothing there outlives a power cut."""
    kind = harness.file_system(folder)
    if kind in harness.IN_MEMORY:
        harness.warn(f"{folder} is {kind}: nothing there outlives a power cut, and the ratios mean little.")


async def told(
    options: Given,
    bench: Callable[[Given, Callable[[str], None]], Awaitable[Result]],
    as_table: Callable[[Result], str],
) -> int:
    """Runs a bench and prints what it found; always 0, for a machine's figures are nobody's fault."""
    progress = harness.Progress()
    found = await bench(options, progress.say)
    progress.clear()
    print(found.as_json() if options.as_json else as_table(found), flush=True)
    return 0
