"""Worktrees against the real git: made from any repository a person may have, looked at, and put away without loss."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.worktree import slug
from tests.integration.worktree_bench import ODD_NAMES, SESSION, Bench, snapshot


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def refused(call: Awaitable[object]) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await call
    return caught.value


# --- create -----------------------------------------------------------------------------------------------------------


def test_a_worktree_starts_at_head_on_a_branch_of_its_own(bench: Bench) -> None:
    made = asyncio.run(bench.worktree("Fix the login page"))
    assert made.path == bench.home / "worktrees" / "project-abcdefgh"
    assert made.folder == made.path
    assert (made.branch, made.onto, made.base) == ("helio/fix-the-login-page", "main", bench.head(bench.repo))
    assert bench.git(made.path, "symbolic-ref", "HEAD") == "refs/heads/helio/fix-the-login-page"
    assert (made.path / "file").read_text() == "one\n"
    assert made.notes == ()
    assert bench.git(bench.repo, "status", "--porcelain") == ""
    assert bench.git(bench.repo, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert (bench.home / "worktrees").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_of_folder_file_and_work_is_safe(tmp_path: Path, name: str) -> None:
    bench = Bench(tmp_path, name=name)
    bench.commit(bench.repo, {f"{name}/{name}": "odd"})

    async def scenario() -> None:
        made = await bench.worktree(name, folder=bench.repo / name)
        assert made.repo == bench.repo
        assert made.folder == made.path / name
        assert snapshot(made.path) == snapshot(bench.repo)
        assert bench.git(bench.repo, "check-ref-format", "--branch", made.branch) == made.branch
        bench.commit(made.path, {f"{name}/{name}": "changed", f"{name}/{name}2": "new"})
        assert (await bench.worktrees.status(made)).ahead == 1
        await bench.worktrees.merge(made)
        assert snapshot(made.path) == snapshot(bench.repo)
        await bench.worktrees.remove(made, keep_branch=False)
        assert not made.path.exists()

    asyncio.run(scenario())
    assert not list(tmp_path.rglob("pwned"))
    assert bench.git(bench.repo, "branch", "--format=%(refname:short)") == "main"


def test_git_takes_every_slug_as_a_branch(bench: Bench) -> None:
    hostile = [
        "..",
        "a..b",
        ".lock",
        "x.lock.lock",
        "@{",
        "@",
        "-",
        "~^:?*[\\",
        "\x00\x1f\x7f",
        "a/../b",
        "refs/heads/x",
    ]
    for name in [*ODD_NAMES, *hostile, "ü" * 300, "\u0301x", "\u200b", "HEAD", "x" * 400]:
        branch = f"helio/{slug(name)}"
        assert bench.git(bench.repo, "check-ref-format", "--branch", branch) == branch


def test_a_taken_branch_gets_a_number(bench: Bench) -> None:
    bench.git(bench.repo, "branch", "helio/Work")

    async def scenario() -> None:
        first = await bench.worktree("work")
        second = await bench.worktree("work")
        assert (first.branch, second.branch) == ("helio/work-2", "helio/work-3")
        assert (first.path.name, second.path.name) == ("project-abcdefgh", "project-abcdefgh-2")

    asyncio.run(scenario())


def test_a_branch_called_helio_stands_in_nobodys_way(bench: Bench) -> None:
    bench.git(bench.repo, "branch", "helio")
    assert asyncio.run(bench.worktree("work")).branch == "helio-work"


def test_a_detached_head_is_a_fine_start(bench: Bench) -> None:
    first = bench.head(bench.repo)
    bench.commit(bench.repo, {"file": "two\n"})
    bench.git(bench.repo, "checkout", "--quiet", "--detach", first)
    made = asyncio.run(bench.worktree())
    assert (made.base, made.onto) == (first, None)
    assert (made.path / "file").read_text() == "one\n"


def test_a_dirty_tree_is_said_and_left_alone(bench: Bench) -> None:
    (bench.repo / "file").write_text("half done")
    (bench.repo / "new").write_text("untracked")
    before = snapshot(bench.repo)
    made = asyncio.run(bench.worktree())
    assert (made.path / "file").read_text() == "one\n"
    assert any("Uncommitted changes" in note for note in made.notes)
    assert snapshot(bench.repo) == before


def test_a_session_starts_where_its_delegator_was(bench: Bench) -> None:
    bench.commit(bench.repo, {"services/api/code": "x"})
    (bench.repo / "scratch").mkdir()

    async def scenario() -> None:
        made = await bench.worktree(folder=bench.repo / "services" / "api")
        assert made.folder == made.path / "services" / "api"
        made = await bench.worktree(folder=bench.repo / "scratch")
        assert made.folder == made.path
        assert any("scratch" in note for note in made.notes)

    asyncio.run(scenario())


def test_what_is_no_repository_with_a_commit_is_refused_with_the_way_out(bench: Bench) -> None:
    plain, empty, bare, orphan = (bench.tmp / name for name in ("plain", "empty", "bare.git", "orphan"))
    plain.mkdir()
    bench.init(empty)
    bench.init(bare, "--bare")
    bench.init(orphan)
    bench.commit(orphan, {"a": "a"})
    bench.git(orphan, "checkout", "--quiet", "--orphan", "fresh")

    async def scenario() -> None:
        for place, words in (
            (plain, "git init"), (empty, "no commit yet on main"), (orphan, "no commit yet on fresh"),
            (bare, "bare repository"),
            (bench.repo / ".git", "inside a .git folder"), (bench.tmp / "nowhere", "does not exist"),
        ):  # fmt: skip
            error = await refused(bench.worktree(folder=place))
            assert words in error.message
        assert (await bench.worktrees.inspect(plain)).inside_git is False
        assert (await bench.worktrees.inspect(empty)).unborn is True
        assert (await bench.worktrees.inspect(bare)).bare is True

    asyncio.run(scenario())
    assert not (bench.home / "worktrees").exists()


def test_a_worktree_of_a_worktree_goes_back_into_it(bench: Bench) -> None:
    async def scenario() -> None:
        outer = await bench.worktree("outer")
        inner = await bench.worktree("inner", folder=outer.path)
        assert (inner.onto, inner.repo, inner.store) == ("helio/outer", outer.path, outer.store)
        bench.commit(inner.path, {"inner": "x"})
        assert (await bench.worktrees.merge(inner)).into == "helio/outer"
        assert (outer.path / "inner").exists()
        assert not (bench.repo / "inner").exists()
        # The outer one goes first; what is left still works.
        await bench.worktrees.remove(outer)
        assert (await bench.worktrees.status(inner)).ahead == 0
        await bench.worktrees.remove(inner)

    asyncio.run(scenario())
    assert bench.git(bench.repo, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_many_creates_at_once_come_out_apart(bench: Bench) -> None:
    async def scenario() -> None:
        made = await asyncio.gather(*(bench.worktree("same") for _ in range(4)))
        assert len({one.branch for one in made}) == len({one.path for one in made}) == 4
        for one in made:
            assert (await bench.worktrees.status(one)).exists

    asyncio.run(scenario())


def test_worktrees_end_at_their_limit(bench: Bench) -> None:
    async def scenario() -> None:
        await bench.worktree()
        error = await refused(bench.node(worktrees=1).create(bench.repo, name="x", session=SESSION))
        assert error.code is ErrorCode.LIMIT

    asyncio.run(scenario())


def test_a_lock_is_waited_for_once_and_then_named(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"file": "two\n"})
    lock = bench.repo / ".git" / "index.lock"
    lock.touch()
    pauses: list[float] = []

    async def leave(seconds: float) -> None:
        pauses.append(seconds)

    async def unlock(seconds: float) -> None:
        lock.unlink()

    bench.worktrees = bench.node(pause=leave)
    error = asyncio.run(refused(bench.worktrees.merge(made)))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "index.lock" in error.message
    assert len(pauses) == 1
    assert (bench.repo / "file").read_text() == "one\n"
    asyncio.run(bench.node(pause=unlock).merge(made))
    assert (bench.repo / "file").read_text() == "two\n"


def test_a_start_that_fails_leaves_nothing(bench: Bench) -> None:
    node = bench.with_program(
        'case "$*" in *--verify*--quiet*commit*) test -e "$PWD/.git/HEAD" || exit 1;; esac; exec git "$@"'
    )
    error = asyncio.run(refused(node.create(bench.repo, name="x", session=SESSION)))
    assert error.code is ErrorCode.UNAVAILABLE
    assert bench.git(bench.repo, "branch", "--format=%(refname:short)") == "main"
    assert bench.git(bench.repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert list((bench.home / "worktrees").iterdir()) == []


# --- status -----------------------------------------------------------------------------------------------------------


def test_status_counts_what_differs(bench: Bench) -> None:
    async def scenario() -> None:
        made = await bench.worktree()
        assert (await bench.worktrees.status(made)).head == made.base
        bench.commit(bench.repo, {"theirs": "x"})
        tip = bench.commit(made.path, {"mine": "x"}, "Add mine\n\nbody")
        (made.path / "file").write_text("changed")
        (made.path / "new").write_text("untracked")
        status = await bench.worktrees.status(made)
        assert (status.ahead, status.behind, status.dirty, status.untracked) == (1, 1, 1, 1)
        assert (status.head, status.on, status.subject) == (tip, made.branch, "Add mine")
        bench.git(made.path, "checkout", "--quiet", "--force", "--detach")
        assert (await bench.worktrees.status(made)).on is None

    asyncio.run(scenario())


def test_status_names_the_paths_of_an_unfinished_merge(bench: Bench) -> None:
    async def scenario() -> None:
        made = await bench.worktree()
        bench.commit(bench.repo, {"file": "theirs\n"})
        bench.commit(made.path, {"file": "mine\n"})
        with pytest.raises(subprocess.CalledProcessError):
            bench.git(made.path, "merge", "main")
        assert (await bench.worktrees.status(made)).conflicts == ("file",)
        assert (await refused(bench.worktrees.merge(made))).code is ErrorCode.WRONG_STATE

    asyncio.run(scenario())


def test_a_deleted_folder_or_branch_is_told(bench: Bench) -> None:
    async def scenario() -> None:
        made = await bench.worktree()
        bench.commit(made.path, {"mine": "x"})
        made.path.rename(bench.tmp / "elsewhere")
        status = await bench.worktrees.status(made)
        assert (status.exists, status.ahead, status.dirty) == (False, 1, 0)
        pruned = await bench.worktrees.prune([made])
        assert pruned.forgotten == (made.path,)
        assert "worktrees" not in bench.git(bench.repo, "worktree", "list", "--porcelain")
        assert (await bench.worktrees.merge(made)).merged
        bench.git(bench.repo, "branch", "-D", made.branch)
        assert (await bench.worktrees.status(made)).head is None
        assert (await refused(bench.worktrees.merge(made))).code is ErrorCode.NOT_FOUND
        bench.repo.rename(bench.tmp / "moved")
        assert (await refused(bench.worktrees.status(made))).code is ErrorCode.NOT_FOUND

    asyncio.run(scenario())


def test_prune_leaves_strays_alone_and_names_them(bench: Bench) -> None:
    async def scenario() -> None:
        made = await bench.worktree()
        stray = await bench.worktree()
        pruned = await bench.worktrees.prune([made])
        assert (pruned.forgotten, pruned.strays) == ((), (stray.path,))
        assert (stray.path / "file").exists()

    asyncio.run(scenario())


# --- remove -----------------------------------------------------------------------------------------------------------


def test_work_in_no_commit_or_branch_is_not_removed_by_the_way(bench: Bench) -> None:
    async def scenario() -> None:
        made = await bench.worktree()
        (made.path / "new").write_text("untracked")
        assert "1 untracked" in (await refused(bench.worktrees.remove(made))).message
        bench.commit(made.path, {})
        assert "no other branch" in (await refused(bench.worktrees.remove(made, keep_branch=False))).message
        bench.git(made.path, "checkout", "--quiet", "--detach")
        bench.commit(made.path, {"loose": "x"})
        assert "detached" in (await refused(bench.worktrees.remove(made))).message
        assert (made.path / "loose").exists()
        bench.git(made.path, "checkout", "--quiet", made.branch)
        tip = bench.head(made.path)
        await bench.worktrees.remove(made)
        assert not made.path.exists()
        assert bench.git(bench.repo, "rev-parse", made.branch) == tip
        await bench.worktrees.remove(made, keep_branch=False, discard=True)
        assert made.branch not in bench.git(bench.repo, "branch")
        await bench.worktrees.remove(made)

    asyncio.run(scenario())


def test_only_worktrees_of_the_node_are_removed(bench: Bench) -> None:
    async def scenario() -> None:
        made = await bench.worktree()
        error = await refused(bench.worktrees.remove(replace(made, path=bench.repo), discard=True))
        assert error.code is ErrorCode.INVALID_ARGUMENT

    asyncio.run(scenario())
    assert (bench.repo / "file").exists()


def test_a_folder_whose_git_was_replaced_is_not_taken_for_the_worktree(bench: Bench) -> None:
    async def scenario() -> None:
        made = await bench.worktree()
        (made.path / ".git").unlink()
        bench.init(made.path)
        assert (await refused(bench.worktrees.status(made))).code is ErrorCode.TAMPERED
        assert (await refused(bench.worktrees.remove(made))).code is ErrorCode.TAMPERED
        await bench.worktrees.remove(made, discard=True)
        assert not os.path.lexists(made.path)

    asyncio.run(scenario())
    assert bench.git(bench.repo, "worktree", "list", "--porcelain").count("worktree ") == 1


# --- submodules -------------------------------------------------------------------------------------------------------


def with_submodule(bench: Bench) -> Path:
    """Give the repository a submodule at `li b/sub`, with one inside it; the outer one's original folder."""
    inner, outer = bench.tmp / "inner", bench.tmp / "outer"
    bench.init(inner)
    bench.commit(inner, {"inner": "i"})
    bench.init(outer)
    bench.git(outer, "submodule", "--quiet", "add", str(inner), "nested")
    bench.commit(outer, {"outer": "o"})
    bench.git(bench.repo, "submodule", "--quiet", "add", str(outer), "li b/sub")
    bench.git(bench.repo, "submodule", "--quiet", "update", "--init", "--recursive")
    bench.commit(bench.repo, {})
    return outer


def test_submodules_come_from_the_repositorys_own_copy(bench: Bench) -> None:
    with_submodule(bench)
    for origin in ("inner", "outer"):
        (bench.tmp / origin).rename(bench.tmp / f"{origin}-gone")

    async def scenario() -> None:
        made = await bench.worktree()
        assert made.notes == ()
        assert snapshot(made.path) == snapshot(bench.repo)
        sub = made.path / "li b" / "sub"
        commit = bench.commit(sub, {"outer": "changed"})
        bench.commit(made.path, {})
        (sub / "scratch").write_text("x")
        assert "li b/sub" in (await refused(bench.worktrees.remove(made))).message
        (sub / "scratch").unlink()
        assert (await bench.worktrees.merge(made)).merged
        await bench.worktrees.remove(made)
        # The commit made in the submodule is in the person's own copy and stays there by a branch.
        own = bench.repo / "li b" / "sub"
        assert bench.git(own, "rev-parse", "helio/work") == commit
        bench.git(bench.repo, "submodule", "--quiet", "update", "--no-fetch")
        assert (own / "outer").read_text() == "changed"
        assert bench.git(own, "worktree", "list", "--porcelain").count("worktree ") == 1

    asyncio.run(scenario())


def test_a_submodule_that_is_not_there_stays_empty_and_is_told(bench: Bench) -> None:
    with_submodule(bench)
    clone = bench.tmp / "clone"
    bench.git(bench.tmp, "clone", "--quiet", str(bench.repo), str(clone))
    made = asyncio.run(bench.worktree(folder=clone))
    assert any("li b/sub is empty" in note and "fetches nothing" in note for note in made.notes)
    assert list((made.path / "li b" / "sub").iterdir()) == []
    asyncio.run(bench.worktrees.remove(made))
