"""Brings a branch into another one so that the person's files change wholly or not at all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node.core import worktree as words
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape
from node.core.worktree import MergeHow, PathChange
from node.git import Git, failure
from node.to_the_end import to_the_end

# The first git with `merge-tree --write-tree`.
NEEDED: Final = (2, 38)
NAMED_AT_ONCE: Final = 8
# How often a merge starts over because somebody committed to the target meanwhile.
ATTEMPTS: Final = 2

_UNDER_WAY: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")
# Files in which a rebase or a bisection says which branch it has taken off HEAD and will put back.
_HOLDERS: Final = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """Where the target stands after a merge, and the paths in conflict when it went nowhere."""

    commit: str
    how: MergeHow
    conflicts: tuple[str, ...] = ()


class Landing:
    """Merges in the object store, without touching a file; what came out whole is then put where the branch is."""

    def __init__(self, git: Git) -> None:
        self._git = git

    async def land(self, store: Path, repo: Path, *, branch: str, tip: str, target: str) -> Landed:
        """Bring commit `tip` of `branch` into branch `target`; `repo` is the working tree that the branch began in.

        WRONG_STATE, nothing changed: when the working tree of `target` has uncommitted changes or something under way,
        when the merge would overwrite files there that git does not know, and when `target` keeps moving.
        """
        if await self._git.version() < NEEDED:
            have = ".".join(str(number) for number in await self._git.version())
            raise MeshError(
                ErrorCode.UNSUPPORTED,
                f"git {have} cannot merge without touching files; 2.38 or newer is needed. Update git, or merge by "
                f"hand in the repository: git merge {branch}",
            )
        for _ in range(ATTEMPTS):
            landed = await self._attempt(store, repo, branch, tip, target)
            if landed is not None:
                return landed
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"Somebody committed to {target} each time while this was merged. Nothing was changed; merge again when it "
            "is quiet.",
        )

    async def _attempt(self, store: Path, repo: Path, branch: str, tip: str, target: str) -> Landed | None:
        """One merge into `target` as it stands now; None, nothing changed, when it moved meanwhile."""
        old = await self._target(store, target)
        place = await self._place(store, repo, target)
        if place is not None:
            await self._check_place(place, store, target)
        if await self._git.contains(store, old, tip):
            return Landed(commit=old, how=MergeHow.NOTHING)
        new, how = tip, MergeHow.FAST_FORWARD
        if not await self._git.contains(store, tip, old):
            message = f"Merge branch '{branch}' into {target}"
            new, conflicts = await self._merged(place, store, (old, tip), message)
            how = MergeHow.MERGE_COMMIT
            if conflicts:
                return Landed(commit=old, how=MergeHow.CONFLICT, conflicts=conflicts)
        try:
            if place is None:
                await self._move(store, target, old, new)
            else:
                await to_the_end(self._update(place, target, old, new))
        except MeshError:
            if await self._git.tip(store, target) == old:
                raise
            return None
        if place is not None and await self._git.tip(store, target) != new:
            raise MeshError(
                ErrorCode.INTERNAL,
                f"{escape(str(place))} was taken off {target} while it was merged. Look there with git reflog: the "
                f"merged commit is {new}.",
            )
        return Landed(commit=new, how=how)

    async def _target(self, store: Path, target: str) -> str:
        tip = await self._git.tip(store, target)
        if tip is None:
            message = f"There is no branch {escape(target)} to merge into. Name one that exists."
            raise MeshError(ErrorCode.NOT_FOUND, message)
        other = await self._git.run(store, "symbolic-ref", "-q", words.ref_of(target), store=store, accept=(0, 1))
        if other.code == 0:
            message = f"{target} is only another name for {other.line}; name that branch itself."
            raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
        return tip

    async def _place(self, store: Path, repo: Path, target: str) -> Path | None:
        """The working tree that is on `target`; None when none is. WRONG_STATE when it is missing or suspended."""
        answer = await self._git.run(store, "worktree", "list", "--porcelain", "-z", store=store)
        places = [Path(one.path) for one in words.parse_checkouts(answer.out) if one.branch == target]
        if not places:
            holder = await asyncio.to_thread(_holder, store, target)
            if holder is not None:
                raise MeshError(
                    ErrorCode.WRONG_STATE,
                    f"{target} is being rebased or bisected ({escape(str(holder))}). Finish or abort that, then merge "
                    "again.",
                )
            return None
        if len(places) > 1:
            message = f"{target} is checked out {len(places)} times. Leave it in one place."
            raise MeshError(ErrorCode.WRONG_STATE, message)
        place = places[0]
        if place == store:
            # How git names the main working tree when its .git is elsewhere, as that of a submodule is.
            named = await self._git.run(store, "config", "--get", "core.worktree", store=store, accept=(0, 1))
            place = await asyncio.to_thread((store / named.line).resolve) if named.line else repo
        if not await asyncio.to_thread(place.is_dir):
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"{target} is checked out in {escape(str(place))}, which is not there. Bring it back, or run "
                "`git worktree prune` in the repository.",
            )
        return place

    async def _check_place(self, place: Path, store: Path, target: str) -> None:
        state = await self._git.inspect(place)
        if state.root is None or state.store != store or state.branch != target:
            message = f"{escape(str(place))} is not on {target}, though git has it so. Merge by hand where {target} is."
            raise MeshError(ErrorCode.WRONG_STATE, message)
        own = Path((await self._git.run(place, "rev-parse", "--absolute-git-dir")).line)
        under_way = await asyncio.to_thread(lambda: [name for name in _UNDER_WAY if (own / name).exists()])
        changes = await self._git.changes(place, untracked=False)
        if under_way or changes.tracked:
            what = f"a merge, rebase or the like under way ({under_way[0]})" if under_way else "uncommitted changes"
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"{escape(str(place))}, where {target} is checked out, has {what}. Nothing was changed. Commit, stash "
                "or finish that first, then merge again.",
            )

    async def _merged(
        self, place: Path | None, store: Path, sides: tuple[str, str], message: str
    ) -> tuple[str, tuple[str, ...]]:
        """The merge commit of both, or the paths in conflict. Made of objects alone: no ref and no file changes."""
        cwd, at = (store, store) if place is None else (place, None)
        asked = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", *sides)
        answer = await self._git.run(cwd, *asked, store=at, accept=(0, 1), long=True)
        if answer.code == 1 and not answer.out:
            raise failure("merge-tree", cwd, answer)
        tree, conflicts = words.parse_merge(answer.out)
        if answer.code == 1:
            return "", conflicts or ("(git named no path)",)
        parents = ("-p", sides[0], "-p", sides[1])
        made = await self._git.run(cwd, "commit-tree", tree, *parents, "-F", "-", store=at, feed=message)
        return made.line, ()

    async def _move(self, store: Path, target: str, old: str, new: str) -> None:
        """Nobody has the branch checked out: moving it is all, if it still stands where it stood."""
        note = "heliograph: merge"
        await self._git.run(store, "update-ref", "--no-deref", "-m", note, words.ref_of(target), new, old, store=store)

    async def _update(self, place: Path, target: str, old: str, new: str) -> None:
        """Move a clean working tree and its branch ahead from `old` to `new`, which contains it."""
        asked = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv", old, new, "--")
        changes = words.parse_differences((await self._git.run(place, *asked, long=True)).out)
        in_the_way = await asyncio.to_thread(_in_the_way, place, changes)
        if in_the_way:
            names = ", ".join(escape(path) for path in in_the_way[:NAMED_AT_ONCE])
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"The merge would overwrite files in {escape(str(place))} that git does not know: {names}. Nothing was "
                "changed. Move them away, then merge again.",
            )
        # One process does both, files and branch: a node that dies meanwhile does not take it along.
        answer = await self._git.run(
            place, "merge", "--ff-only", "--no-squash", "--commit", "--no-autostash", "--no-stat",
            "--no-verify-signatures", "--no-overwrite-ignore", "--quiet", "--end-of-options", new,
            settings={f"branch.{target}.mergeOptions": ""}, accept=range(256), long=True,
        )  # fmt: skip
        if answer.code:
            await self._put_back(place, old, changes)
            raise failure("merge", place, answer)

    async def _put_back(self, place: Path, old: str, changes: Sequence[PathChange]) -> None:
        """Undo what a git that failed half-way wrote. All these paths were clean, or not there, a moment before."""
        if (await self._git.run(place, "rev-parse", "HEAD")).line != old:
            return
        await asyncio.to_thread(_remove_added, place, changes)
        paths = "".join(f"{change.path}\0" for change in changes if change.kind != "A" and not change.link)
        if paths:
            await self._git.run(
                place, "restore", f"--source={old}", "--staged", "--worktree", "--no-recurse-submodules",
                "--pathspec-from-file=-", "--pathspec-file-nul",
                feed=paths, long=True,
            )  # fmt: skip


def _in_the_way(place: Path, changes: Sequence[PathChange]) -> list[str]:
    """The paths a merge adds where something stands already. Renaming only the case of one is no such thing."""
    leaving = {change.path.casefold() for change in changes if change.kind == "D"}
    added = (change.path for change in changes if change.kind == "A" and not change.link)
    return [path for path in added if path.casefold() not in leaving and os.path.lexists(place / path)]


def _remove_added(place: Path, changes: Sequence[PathChange]) -> None:
    for change in changes:
        path = place / change.path
        if change.kind == "A" and not change.link and (path.is_symlink() or path.is_file()):
            path.unlink()


def _holder(store: Path, target: str) -> Path | None:
    """The file that says that a rebase or a bisection will put `target` back."""
    names = {words.ref_of(target), target}
    linked = store / "worktrees"
    folders = [store, *linked.iterdir()] if linked.is_dir() else [store]
    for folder in folders:
        for name in _HOLDERS:
            path = folder / name
            if path.is_file() and path.read_text(encoding="utf-8", errors="surrogateescape").strip() in names:
                return path
    return None
