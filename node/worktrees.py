"""Worktrees: a branch and a working tree of its own for a session, and the way back into the person's branch."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from node import git_submodules as submodules
from node.core import worktree as words
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape, escape_to_width
from node.core.ids import short
from node.core.limits import Limits
from node.core.worktree import MergeHow
from node.git import Git
from node.git_landing import Landing
from node.ports_work import MergeResult, RepoState, Worktree, WorktreeStatus

SUBJECT_CHARACTERS: Final = 120
NAMED_AT_ONCE: Final = 50

_NO_CHANGES: Final = words.Changes(tracked=0, untracked=0, conflicts=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """`forgotten` worktrees had lost their folder; `strays` are folders that no record names, left as they are."""

    forgotten: tuple[Path, ...]
    strays: tuple[Path, ...]


class Worktrees:
    """The worktrees under `home`/worktrees. What changes one repository happens there one after the other."""

    def __init__(self, home: Path, limits: Limits, git: Git | None = None) -> None:
        self._base = home.resolve() / "worktrees"
        self._limits = limits
        self._git = git or Git(limits)
        self._landing = Landing(self._git)
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    async def inspect(self, folder: Path) -> RepoState:
        """What `folder` is to git."""
        return await self._git.inspect(folder)

    # --- create -------------------------------------------------------------------------------------------------------

    async def create(self, folder: Path, *, name: str, session: str) -> Worktree:
        """A new worktree of the repository at `folder`, from its HEAD, for the session with that id.

        Refused with the way out: no repository, a bare one, one without a commit, and `worktrees` of them already.
        """
        root, store, base, state = _usable(await self._git.inspect(folder), folder)
        async with self._alone(store):
            path = await asyncio.to_thread(self._free_path, store, session)
            branch = words.free_branch(words.slug(name), await self._git.branches(store))
            done = False
            try:
                await self._git.run(
                    root, "worktree", "add", "--quiet", "--no-track", "-b", branch, "--", str(path), base, long=True
                )
                await self._git.run(path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
                notes = await submodules.fill(self._git, path, store)
                done = True
            finally:
                if not done:
                    await self._undo(store, path, branch, base)
        inside = (await asyncio.to_thread(folder.resolve)).relative_to(await asyncio.to_thread(root.resolve))
        start = path / inside
        if not await asyncio.to_thread(start.is_dir):
            start = path
            notes = (*notes, f"The folder {escape(str(inside))} is in no commit; the worktree starts at its top.")
        if state.dirty:
            notes = (f"Uncommitted changes and untracked files of {escape(str(root))} are not in it.", *notes)
        return Worktree(
            path=path, folder=start, branch=branch, base=base, repo=root, store=store, onto=state.branch, notes=notes
        )

    def _free_path(self, store: Path, session: str) -> Path:
        self._base.mkdir(mode=0o700, parents=True, exist_ok=True)
        present = {entry.name for entry in self._base.iterdir()}
        if len(present) >= self._limits.worktrees:
            limit = self._limits.worktrees
            raise MeshError(
                ErrorCode.LIMIT,
                f"This node keeps {len(present)} worktrees; the limit worktrees is {limit}. Remove some that are done "
                "with (their branches can stay), or raise the limit in config.toml.",
                {"limit": limit, "name": "worktrees"},
            )
        repository = store.parent.name if store.name == ".git" else store.name.removesuffix(".git")
        wanted = chosen = f"{words.slug(repository)}-{words.slug(short(session))}"
        number = 1
        while chosen in present:
            number += 1
            chosen = f"{wanted}-{number}"
        return self._base / chosen

    async def _undo(self, store: Path, path: Path, branch: str, base: str) -> None:
        """Take back what a failed start left; `worktree add` leaves its branch, a stopped one also its folder."""
        await submodules.detach(self._git, path, store)
        anything = range(256)
        await self._git.run(store, "worktree", "remove", "-f", "-f", "--", str(path), store=store, accept=anything)
        await self._git.run(store, "update-ref", "-d", words.ref_of(branch), base, store=store, accept=anything)
        await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    # --- status -------------------------------------------------------------------------------------------------------

    async def status(self, worktree: Worktree) -> WorktreeStatus:
        """How it stands now; also when its folder or its branch is gone."""
        store = worktree.store
        await self._check_store(worktree)
        head = await self._git.tip(store, worktree.branch)
        onto = (await self._git.tip(store, worktree.onto) if worktree.onto else None) or worktree.base
        ahead = behind = 0
        subject = ""
        if head is not None:
            asked = ("rev-list", "--left-right", "--count", f"{head}...{onto}", "--")
            counts = (await self._git.run(store, *asked, store=store, long=True)).out.split()
            ahead, behind = int(counts[0]), int(counts[1])
            subject = (await self._git.run(store, "log", "-1", "--format=%s", head, "--", store=store)).line
        exists = await self._is_there(worktree)
        changes = await self._git.changes(worktree.path) if exists else _NO_CHANGES
        on = await self._git.run(worktree.path, "symbolic-ref", "-q", "HEAD", accept=(0, 1)) if exists else None
        return WorktreeStatus(
            exists=exists, head=head, on=words.branch_of(on.line) if on else None, ahead=ahead, behind=behind,
            dirty=changes.tracked, untracked=changes.untracked, conflicts=_shown(changes.conflicts),
            subject=escape_to_width(subject, SUBJECT_CHARACTERS),
        )  # fmt: skip

    async def _check_store(self, worktree: Worktree) -> None:
        if not await asyncio.to_thread((worktree.store / "objects").is_dir):
            raise MeshError(
                ErrorCode.NOT_FOUND,
                f"The repository {escape(str(worktree.store))} of this worktree is not there any more. If it was "
                "moved, move it back, or run `git worktree repair` in it and merge by hand.",
            )
        await self._git.check_programs(worktree.store, worktree.store)

    async def _is_there(self, worktree: Worktree) -> bool:
        """Whether its folder is there; TAMPERED when that is no working tree of its repository any more."""
        if not await asyncio.to_thread(os.path.lexists, worktree.path):
            return False
        state = await self._git.inspect(worktree.path) if await asyncio.to_thread(worktree.path.is_dir) else None
        if state is None or state.root != worktree.path or state.store != worktree.store:
            raise MeshError(
                ErrorCode.TAMPERED,
                f"The folder {escape(str(worktree.path))} is no longer a worktree of {escape(str(worktree.store))}: "
                f"its .git was replaced. Its branch {worktree.branch} is untouched; look into the folder before you "
                "remove it with discard.",
            )
        return True

    # --- merge --------------------------------------------------------------------------------------------------------

    async def merge(self, worktree: Worktree, *, into: str | None = None, commit: str | None = None) -> MergeResult:
        """Bring its branch into branch `into` (default: the one its repository was on), all or nothing.

        With `commit`, only when the branch still ends there: what a person approved is what is merged. WRONG_STATE for
        uncommitted changes at either end and for whatever else is under way there.
        """
        target = into or worktree.onto
        if target is None:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                "The repository was on no branch (detached HEAD) when this worktree was made. Name the branch to merge "
                "into with `into`.",
            )
        if target == worktree.branch:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{target} is the worktree's own branch; name another one.")
        async with self._alone(worktree.store):
            await self._check_store(worktree)
            left_out = await self._committed(worktree)
            tip = await self._git.tip(worktree.store, worktree.branch)
            if tip is None:
                message = f"The branch {worktree.branch} is gone; there is nothing to merge."
                raise MeshError(ErrorCode.NOT_FOUND, message)
            if commit is not None and tip != commit:
                raise MeshError(
                    ErrorCode.WRONG_STATE,
                    f"{worktree.branch} has moved from {commit[:12]} to {tip[:12]} since the merge was asked for. Look "
                    "at what is new and ask again.",
                )
            landed = await self._landing.land(
                worktree.store, worktree.repo, branch=worktree.branch, tip=tip, target=target
            )
        return MergeResult(
            merged=landed.how is not MergeHow.CONFLICT, into=target, commit=landed.commit,
            conflicts=_shown(landed.conflicts), how=landed.how, left_out=left_out,
        )  # fmt: skip

    async def _committed(self, worktree: Worktree) -> int:
        """WRONG_STATE while tracked changes of the worktree are uncommitted; else how many untracked entries it has."""
        if not await self._is_there(worktree):
            return 0
        changes = await self._git.changes(worktree.path)
        if changes.tracked:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"{changes.tracked} tracked files of the worktree have uncommitted changes, which a merge would leave "
                "out. The session has to commit or undo them first.",
                {"conflicts": _shown(changes.conflicts)},
            )
        return changes.untracked

    # --- remove and prune ---------------------------------------------------------------------------------------------

    async def remove(self, worktree: Worktree, *, keep_branch: bool = True, discard: bool = False) -> None:
        """Remove its folder, and its branch unless `keep_branch`; what is already gone is no error.

        WRONG_STATE, and nothing removed, while work in it would be lost; `discard` loses it.
        """
        if worktree.path.parent != self._base:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{escape(str(worktree.path))} is not a worktree of this node.")
        async with self._alone(worktree.store):
            await self._check_store(worktree)
            tip = await self._git.tip(worktree.store, worktree.branch)
            if not discard:
                await self._check_nothing_lost(worktree, tip, keep_branch=keep_branch)
            await submodules.detach(self._git, worktree.path, worktree.store, keep=worktree.branch)
            await self._forget(worktree, discard=discard)
            if tip is not None and not keep_branch:
                await self._git.run(
                    worktree.store, "branch", "-D", "--quiet", "--", worktree.branch, store=worktree.store
                )

    async def _check_nothing_lost(self, worktree: Worktree, tip: str | None, *, keep_branch: bool) -> None:
        advice = "Commit it, or remove the worktree with discard."
        if await self._is_there(worktree):
            changes = await self._git.changes(worktree.path)
            if changes.tracked or changes.untracked:
                raise MeshError(
                    ErrorCode.WRONG_STATE,
                    f"The worktree {escape(str(worktree.path))} has {changes.tracked} changed and {changes.untracked} "
                    f"untracked files which are in no commit. {advice}",
                )
            await submodules.check_nothing_lost(self._git, worktree.path, worktree.store)
            loose = await self._git.run(worktree.path, "for-each-ref", "--count=1", "--contains", "HEAD", long=True)
            if not loose.out:
                message = f"Commits at {escape(str(worktree.path))} are on no branch (detached HEAD). {advice}"
                raise MeshError(ErrorCode.WRONG_STATE, message)
        if not keep_branch and tip is not None:
            asked = ("for-each-ref", "--count=2", "--format=%(refname)", "--contains", tip)
            if len((await self._git.run(worktree.store, *asked, store=worktree.store, long=True)).out.splitlines()) < 2:
                raise MeshError(
                    ErrorCode.WRONG_STATE,
                    f"{worktree.branch} has commits that are on no other branch. Merge it, keep it, or discard it.",
                )

    async def _forget(self, worktree: Worktree, *, discard: bool) -> None:
        if discard:
            # First, because git does not remove a folder that is no worktree any more, but forgets one that is gone.
            await asyncio.to_thread(_remove_folder, worktree.path)
        registered = await self._git.run(worktree.store, "worktree", "list", "--porcelain", store=worktree.store)
        if f"worktree {worktree.path}" in registered.out.splitlines():
            asked = ("worktree", "remove", "--force", "--", str(worktree.path))
            await self._git.run(worktree.store, *asked, store=worktree.store, long=True)
        await asyncio.to_thread(_remove_folder, worktree.path)

    async def prune(self, known: Sequence[Worktree]) -> Pruned:
        """Forget those of `known` whose folder was deleted, branches staying; tell which folders are none of them."""
        forgotten: list[Path] = []
        for worktree in known:
            there = await asyncio.to_thread(os.path.lexists, worktree.path)
            if not there and await asyncio.to_thread((worktree.store / "objects").is_dir):
                async with self._alone(worktree.store):
                    await self._forget(worktree, discard=False)
                forgotten.append(worktree.path)
        named = {worktree.path for worktree in known}
        return Pruned(forgotten=tuple(forgotten), strays=await asyncio.to_thread(_strays, self._base, named))

    def _alone(self, store: Path) -> asyncio.Lock:
        return self._locks.setdefault(store, asyncio.Lock())


def _usable(state: RepoState, folder: Path) -> tuple[Path, Path, str, RepoState]:
    """Working tree, store and HEAD commit of a state that a worktree can be made from; a refusal for any other."""
    where = escape(str(folder))
    without = "or work without a worktree (worktree=false)"
    if not state.inside_git:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{where} is not in a git repository, so it can have no worktree. Run `git init` and commit there, "
            f"{without}.",
        )
    if state.root is None or state.store is None:
        what = "a bare repository" if state.bare else "inside a .git folder"
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT, f"{where} is {what}, without working files. Start from a checkout, {without}."
        )
    if state.head is None:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"The repository at {where} has no commit yet on {state.branch or 'its HEAD'}, and a worktree begins at "
            f"one. Commit first (git commit --allow-empty -m start), {without}.",
        )
    return state.root, state.store, state.head, state


def _shown(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(escape(path) for path in paths[:NAMED_AT_ONCE])


def _remove_folder(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def _strays(base: Path, named: set[Path]) -> tuple[Path, ...]:
    return tuple(sorted(entry for entry in base.iterdir() if entry not in named)) if base.is_dir() else ()
