"""Worktrees, the pure part: what a branch is called, and what git's machine-readable answers say."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn

from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape, escape_to_width

SPACE: Final = "helio"
SLUG_CHARACTERS: Final = 60
SLUG_BYTES: Final = 160

_UNNAMED: Final = "work"
_HEADS: Final = "refs/heads/"
# Of ASCII, what neither git nor a shell reads as more than itself.
_PLAIN_ASCII: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-+")
# They look like a path's slash.
_SLASHES: Final = frozenset("\u2044\u2215\u29f5\u29f8\uff0f\uff3c")
_EDGES: Final = "-._+"
_OBJECT: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_PROGRAMS: Final = re.compile(r"(?:filter\..+\.(?:clean|smudge|process)|merge\..+\.driver)\Z", re.DOTALL)
# How many spaces come before the path in an entry of `git status --porcelain=v2`, by the entry's kind.
_STATUS_FIELDS: Final = {"1": 8, "2": 9, "u": 10, "?": 1}


class MergeHow(StrEnum):
    """How a merge went: CONFLICT changed nothing, NOTHING had nothing to bring."""

    FAST_FORWARD = "fast_forward"
    MERGE_COMMIT = "merge_commit"
    NOTHING = "nothing"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs from the last commit: tracked paths, untracked entries, and paths left in conflict."""

    tracked: int
    untracked: int
    conflicts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """One working tree of a repository; `branch` is the one it is on, None when detached or bare."""

    path: str
    branch: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChange:
    """One path that differs between two commits: `kind` is A, D, M or T; `link` marks a submodule."""

    path: str
    kind: str
    link: bool


# --- names -----------------------------------------------------------------------------------------------------------


def slug(name: str) -> str:
    """A part of a branch or folder name that says `name`: lower case, NFC, good to git, to a shell and to the eye.

    Letters of every script and emoji stay; it begins and ends with none of `-._+`, and is never empty.
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).lower())
    text = re.sub(r"-{2,}", "-", "".join(_plain(ch) for ch in text))
    text = _trimmed(re.sub(r"\.{2,}", ".", text))
    text = text[:SLUG_CHARACTERS].encode()[:SLUG_BYTES].decode("utf-8", "ignore")
    return _trimmed(text) or _UNNAMED


def free_branch(part: str, taken: Collection[str]) -> str:
    """The first of helio/`part`, helio/`part`-2, ... that can be made beside the branches `taken`.

    A branch is a file where git keeps it loose: names which differ in case are one on a Mac, and none can lie below
    another. Where a branch called `helio` stands in the way, the name begins with `helio-` instead.
    """
    keys = {_key(name) for name in taken}
    folders = {key[:cut] for key in keys for cut, ch in enumerate(key) if ch == "/"}
    prefix = f"{SPACE}-" if SPACE in keys else f"{SPACE}/"
    name, number = f"{prefix}{part}", 1
    while _key(name) in keys or _key(name) in folders:
        number += 1
        name = f"{prefix}{part}-{number}"
    return name


def branch_of(ref: str) -> str | None:
    """The branch that a full ref name names; None when it is no branch."""
    return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else None


def ref_of(branch: str) -> str:
    """The full ref name of a branch."""
    return _HEADS + branch


def _plain(ch: str) -> str:
    if ch.isascii():
        return ch if ch in _PLAIN_ASCII else "-"
    if ch.isspace() or ch in _SLASHES:
        return "-"
    return "" if escape(ch) != ch else ch


def _trimmed(text: str) -> str:
    """`text` without what git refuses at the edges of a name; a mark at the front would join the slash before it."""
    before = None
    while text != before:
        before, text = text, text.strip(_EDGES).removesuffix(".lock")
        while text and unicodedata.combining(text[0]):
            text = text[1:]
    return text


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


# --- answers of git --------------------------------------------------------------------------------------------------
# All in their -z forms, where every path stands as it is. What does not read as git documents it is refused: a wrong
# guess about somebody's files is worse than a stop.


def parse_status(answer: str) -> Changes:
    """What `git status --porcelain=v2 -z` says."""
    tracked = untracked = 0
    conflicts: list[str] = []
    entries = _parts(answer, "status")
    for entry in entries:
        kind = entry[:1]
        fields = entry.split(" ", _STATUS_FIELDS.get(kind, 0))
        if kind not in _STATUS_FIELDS or len(fields) != _STATUS_FIELDS[kind] + 1:
            _not_understood("status", entry)
        if kind == "2" and next(entries, None) is None:
            _not_understood("status", entry)
        tracked += kind in "12u"
        untracked += kind == "?"
        if kind == "u":
            conflicts.append(fields[-1])
    return Changes(tracked=tracked, untracked=untracked, conflicts=tuple(conflicts))


def parse_checkouts(answer: str) -> tuple[Checkout, ...]:
    """What `git worktree list --porcelain -z` says."""
    found: list[Checkout] = []
    *records, rest = answer.split("\0\0")
    if rest:
        _not_understood("worktree list", rest)
    for record in records:
        first, *lines = record.split("\0")
        if not first.startswith("worktree "):
            _not_understood("worktree list", first)
        refs = [line.removeprefix("branch ") for line in lines if line.startswith("branch ")]
        branch = branch_of(refs[0]) if refs else None
        found.append(Checkout(path=first.removeprefix("worktree "), branch=branch))
    return tuple(found)


def parse_merge(answer: str) -> tuple[str, tuple[str, ...]]:
    """The tree that `git merge-tree --write-tree -z --name-only --no-messages` made, and the paths in conflict."""
    parts = _parts(answer, "merge-tree")
    tree = next(parts, "")
    if not _OBJECT.match(tree):
        _not_understood("merge-tree", tree)
    return tree, tuple(parts)


def parse_differences(answer: str) -> tuple[PathChange, ...]:
    """What `git diff-tree -r -z --raw --no-renames` says."""
    found: list[PathChange] = []
    parts = _parts(answer, "diff-tree")
    for head in parts:
        fields, path = head.split(" "), next(parts, None)
        if len(fields) != 5 or not fields[0].startswith(":") or fields[4] not in set("ADMT") or not path:
            _not_understood("diff-tree", head)
        link = "160000" in {fields[0].removeprefix(":"), fields[1]}
        found.append(PathChange(path=path, kind=fields[4], link=link))
    return tuple(found)


def parse_links(answer: str) -> dict[str, str]:
    """The submodules among the entries of `git ls-tree -z`: path to commit."""
    found: dict[str, str] = {}
    for entry in _parts(answer, "ls-tree"):
        fields, tab, path = entry.partition("\t")
        match fields.split(" "):
            case [mode, "commit", commit] if tab and mode == "160000" and _OBJECT.match(commit):
                found[path] = commit
            case [_, "blob" | "tree", _] if tab:
                pass
            case _:
                _not_understood("ls-tree", entry)
    return found


def parse_modules(answer: str) -> dict[str, str]:
    r"""What `git config -z --get-regexp ^submodule\..*\.path$` says: path to name, but for names that are no path."""
    found: dict[str, str] = {}
    for entry in _parts(answer, "config"):
        key, _, path = entry.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        if path and all(part not in {"", ".", ".."} for part in name.split("/")):
            found.setdefault(path, name)
    return found


def own_programs(answer: str) -> tuple[str, ...]:
    """The settings by which a repository itself names programs that a checkout, status or merge would run.

    `answer` is `git config --list -z --show-scope --includes`. A setting which the person's own configuration has
    with the same value is theirs.
    """
    trusted: set[tuple[str, str]] = set()
    local: dict[tuple[str, str], None] = {}
    parts = _parts(answer, "config")
    for scope in parts:
        setting = next(parts, None)
        if setting is None:
            _not_understood("config", scope)
        key, _, value = setting.partition("\n")
        if _PROGRAMS.match(key) and value and scope in {"local", "worktree"}:
            local[key, value] = None
        elif scope in {"global", "system"}:
            trusted.add((key, value))
    return tuple(dict.fromkeys(key for key, value in local if (key, value) not in trusted))


def parse_version(answer: str) -> tuple[int, int]:
    """Major and minor number of `git version`."""
    found = re.match(r"git version (\d+)\.(\d+)", answer)
    if found is None:
        _not_understood("version", answer)
    return int(found[1]), int(found[2])


def _parts(answer: str, command: str) -> Iterator[str]:
    """The NUL-ended parts of `answer`."""
    parts = answer.split("\0")
    if parts.pop():
        _not_understood(command, answer[-80:])
    return iter(parts)


def _not_understood(command: str, said: str) -> NoReturn:
    raise MeshError(
        ErrorCode.INTERNAL,
        f"git {command} answered in a form that this node does not know: {escape_to_width(said, 80)}. Nothing was "
        "changed. Report it with the output of `git version`.",
    )
