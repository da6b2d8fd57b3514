"""Applies the house rules to the tree: which rule to which files, and what --strict adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.gates import bans
from tools.gates.findings import Finding
from tools.gates.project import CHECKED, ROOT, SHIPPED, is_generated, python_files, tracked_files
from tools.gates.runner import Gate, Outcome

MAX_LINES = 400
BROAD_EXCEPTS_PER_THOUSAND_LINES = 1
# A note to do something names the issue that will: "TODO(#12): ...". Built from parts so as not to find itself.
LOOSE_NOTE = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b(?!\(#\d+\))")
TEXT_SUFFIXES = frozenset({".py", ".sh", ".sql", ".proto", ".toml", ".yaml", ".yml", ".css", ".js", ".html", ""})


def gate(*, strict: bool) -> Gate:
    """The gate of the house rules."""

    def run() -> Outcome:
        found = sorted([*always(), *(strictly() if strict else ())])
        return Outcome(passed=not found, output="\n".join(str(finding) for finding in found))

    return Gate(name="house rules", run=run)


def always() -> Iterator[Finding]:
    """Rules that hold at every moment of work."""
    for path in python_files(*CHECKED):
        top, *below = path.relative_to(ROOT).parts
        rules = [bans.vague_names, bans.loose_tasks]
        if top in SHIPPED:
            rules.append(bans.any_currency)
        if top == "node" and below[0] == "core":
            rules.append(bans.core_purity)
        yield from bans.findings(path, path.read_text(encoding="utf-8"), *rules)
    for path in tracked_files():
        if path.name == "__init__.py" and path.relative_to(ROOT).parts[0] == "proto":
            message = "proto/ is not a package: protoc writes into the import packages"
            yield Finding(path=path, line=1, rule="proto-init", message=message)


def strictly() -> Iterator[Finding]:
    """Rules that hold of everything that is handed in."""
    for path in python_files("tests"):
        yield from bans.findings(path, path.read_text(encoding="utf-8"), bans.sleeping_tests, bans.patching_tests)
    yield from too_many_broad_excepts(python_files(*SHIPPED, "tools"))
    for path in tracked_files():
        if path.suffix in TEXT_SUFFIXES and not is_generated(path) and path.name != "LICENSE":
            yield from loose_notes(path, path.read_text(encoding="utf-8"))
    for path in python_files(*CHECKED):
        yield from too_long(path, path.read_text(encoding="utf-8"))


def too_long(path: Path, source: str) -> Iterator[Finding]:
    """A file that has outgrown one thought."""
    lines = len(source.splitlines())
    if lines > MAX_LINES:
        yield Finding(
            path=path, line=MAX_LINES, rule="too-long", message=f"{lines} lines, {MAX_LINES} at most: split it"
        )


def loose_notes(path: Path, source: str) -> Iterator[Finding]:
    """Notes to do something that name no issue."""
    for number, line in enumerate(source.splitlines(), start=1):
        if LOOSE_NOTE.search(line):
            message = "name the issue that will do it, as in (#12) after the word, or do it"
            yield Finding(path=path, line=number, rule="loose-note", message=message)


def too_many_broad_excepts(paths: Iterable[Path]) -> list[Finding]:
    """All the broad handlers, when they are more than the lines of `paths` bear."""
    lines, found = 0, list[Finding]()
    for path in paths:
        source = path.read_text(encoding="utf-8")
        lines += len(source.splitlines())
        found += bans.findings(path, source, bans.broad_excepts)
    return found if len(found) * 1000 > lines * BROAD_EXCEPTS_PER_THOUSAND_LINES else []
