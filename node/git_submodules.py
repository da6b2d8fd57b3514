"""Submodules of a worktree: filled from what the repository already has, never from a network, and never lost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node.core import worktree as words
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape
from node.git import Git

NESTING: Final = 4
AT_MOST: Final = 100

_ANY_STATUS: Final = range(256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submodule:
    """One submodule of the working tree at hand: its folder, the repository kept for it, and the commit wanted."""

    shown: str
    folder: Path
    module: Path
    commit: str


async def fill(git: Git, place: Path, store: Path, depth: int = 0) -> tuple[str, ...]:
    """Check the submodules of the worktree `place` out of `store`/modules; sentences about those that stay empty.

    Each becomes a linked worktree of the repository that the person's own checkout uses, so commits made in it are
    kept there and outlive it.
    """
    notes: list[str] = []
    found = await _submodules(git, place, store)
    for sub in found[:AT_MOST]:
        why = await _fill_one(git, place, sub) if depth < NESTING else "it is nested too deep"
        if why:
            notes.append(f"The submodule {sub.shown} is empty: {why}.")
        else:
            notes += await fill(git, sub.folder, sub.module, depth + 1)
    if len(found) > AT_MOST:
        notes.append(f"{len(found) - AT_MOST} more submodules are empty: {AT_MOST} are filled at most.")
    return tuple(notes)


async def check_nothing_lost(git: Git, place: Path, store: Path, depth: int = 0) -> None:
    """WRONG_STATE when a submodule of the worktree holds work that would go with its folder."""
    for sub, own in await _filled(git, place, store):
        await git.check_programs(sub.folder)
        changes = await git.changes(sub.folder)
        what = "uncommitted changes or untracked files" if changes.tracked or changes.untracked else ""
        if own != sub.module and not what:
            asked = ("rev-list", "--max-count=1", "HEAD", "--branches", "--not", "--remotes", "--")
            # Cloned by the session itself: its repository lies in the worktree's own part of git and goes with it.
            what = "commits that were pushed nowhere" if (await git.run(sub.folder, *asked, long=True)).out else ""
        if what:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"The submodule {sub.shown} of the worktree has {what}. Commit and push them, or remove the worktree "
                "with discard.",
            )
        if depth < NESTING:
            await check_nothing_lost(git, sub.folder, own, depth + 1)


async def detach(git: Git, place: Path, store: Path, *, keep: str = "", depth: int = 0) -> None:
    """Take the worktree's submodules out of the repositories they belong to.

    With `keep`, commits there that no branch has get a branch of that name, or `keep`-2 and so on.
    """
    for sub, own in await _filled(git, place, store):
        if depth < NESTING:
            await detach(git, sub.folder, own, keep=keep, depth=depth + 1)
        if own != sub.module:
            continue
        head = await git.run(sub.folder, "rev-parse", "--verify", "-q", "HEAD^{commit}", accept=_ANY_STATUS)
        if keep and head.code == 0:
            held = await git.run(own, "for-each-ref", "--count=1", "--contains", head.line, store=own, long=True)
            if not held.out:
                name = words.free_branch(keep.removeprefix(f"{words.SPACE}/"), await git.branches(own))
                await git.run(own, "update-ref", words.ref_of(name), head.line, "", store=own)
        await git.run(own, "worktree", "remove", "--force", "--", str(sub.folder), store=own, accept=_ANY_STATUS)


async def _submodules(git: Git, place: Path, store: Path) -> list[Submodule]:
    """Those that HEAD of `place` has and its .gitmodules names."""
    asked = ("config", "-z", "--blob", "HEAD:.gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    listed = await git.run(place, *asked, accept=_ANY_STATUS)
    modules = words.parse_modules(listed.out) if listed.code == 0 else {}
    if not modules:
        return []
    entries = await git.run(place, "ls-tree", "-r", "-z", "--full-tree", "HEAD", long=True)
    links = words.parse_links(entries.out)
    return [
        Submodule(shown=escape(path), folder=place / path, module=store / "modules" / modules[path], commit=commit)
        for path, commit in links.items()
        if path in modules
    ]


async def _filled(git: Git, place: Path, store: Path) -> list[tuple[Submodule, Path]]:
    """The submodules which have files now, each with the repository that it really belongs to."""
    if not await asyncio.to_thread((place / ".git").is_file):
        return []
    found: list[tuple[Submodule, Path]] = []
    for sub in await _submodules(git, place, store):
        if not await asyncio.to_thread(_has_files, place, sub.folder):
            continue
        answer = await git.run(sub.folder, "rev-parse", "--git-common-dir", accept=_ANY_STATUS)
        if answer.code == 0:
            own = await asyncio.to_thread((sub.folder / answer.line).resolve)
            found.append((sub, own))
    return found


async def _fill_one(git: Git, place: Path, sub: Submodule) -> str:
    """Check one out; why not, otherwise."""
    here = "run `git submodule update --init` in the worktree if you need it"
    if not await asyncio.to_thread(_is_kept, sub.module):
        return f"the repository has no copy of it, and the node fetches nothing; {here}"
    if not await asyncio.to_thread(_is_within, place, sub.folder):
        return "its folder leads out of the worktree"
    has = await git.run(sub.module, "cat-file", "-e", f"{sub.commit}^{{commit}}", store=sub.module, accept=_ANY_STATUS)
    if has.code:
        return f"the commit {sub.commit[:12]} is not in the repository's copy of it; {here}"
    try:
        await git.check_programs(sub.module, sub.module)
        add = ("worktree", "add", "--quiet", "--detach", "--", str(sub.folder), sub.commit)
        await git.run(sub.module, *add, store=sub.module, long=True)
    except MeshError as error:
        return error.message.removesuffix(".")
    return ""


def _is_kept(module: Path) -> bool:
    """Whether a submodule's repository is there, and not by a link from somewhere else."""
    return (module / "HEAD").is_file() and module.resolve() == module


def _has_files(place: Path, folder: Path) -> bool:
    return _is_within(place, folder) and (folder / ".git").exists()


def _is_within(place: Path, folder: Path) -> bool:
    """Whether no link on the way leads somewhere else."""
    return folder.resolve() == place.resolve() / folder.relative_to(place)
