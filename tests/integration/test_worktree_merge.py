"""Merging a worktree's branch: wholly or not at all, whatever the person's own checkout is doing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape
from node.core.worktree import MergeHow
from node.ports_work import Worktree
from tests.integration.worktree_bench import ODD_NAMES, Bench, snapshot
from tests.waiting import turn, until


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Untouched:
    """A block in which neither a file of the repository, nor its index, nor a branch may change."""

    def __init__(self, bench: Bench, place: Path | None = None) -> None:
        self._bench, self._place = bench, place or bench.repo

    def _look(self) -> tuple[object, ...]:
        git = self._bench.git
        refs = git(self._place, "for-each-ref", "--format=%(refname) %(objectname)")
        return snapshot(self._place), refs, git(self._place, "status", "--porcelain=v2", "--branch", "--ignored")

    def __enter__(self) -> None:
        self._before = self._look()

    def __exit__(self, *_: object) -> None:
        assert self._look() == self._before


def merge(bench: Bench, made: Worktree, **more: str) -> MeshError:
    """The refusal of a merge that has to change nothing."""
    with Untouched(bench), pytest.raises(MeshError) as caught:
        asyncio.run(bench.worktrees.merge(made, **more))
    return caught.value


def test_a_branch_ahead_is_a_fast_forward(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    tip = bench.commit(made.path, {"file": "two\n", "new/deep": "x"})
    result = asyncio.run(bench.worktrees.merge(made, commit=tip))
    assert (result.merged, result.how, result.into, result.commit) == (True, MergeHow.FAST_FORWARD, "main", tip)
    assert bench.head(bench.repo) == tip
    assert snapshot(bench.repo) == snapshot(made.path)
    assert bench.git(bench.repo, "status", "--porcelain") == ""
    with Untouched(bench):
        assert asyncio.run(bench.worktrees.merge(made)).how is MergeHow.NOTHING


def test_two_lines_of_work_become_one_commit_with_both(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    mine, theirs = bench.commit(made.path, {"mine": "x"}), bench.commit(bench.repo, {"theirs": "y"})
    (bench.repo / "scratch").write_text("untracked")
    (made.path / "forgotten").write_text("untracked")
    result = asyncio.run(bench.worktrees.merge(made))
    assert (result.how, result.left_out) == (MergeHow.MERGE_COMMIT, 1)
    assert bench.git(bench.repo, "log", "-1", "--format=%P %an %s") == (
        f"{theirs} {mine} Person Merge branch 'helio/work' into main"
    )
    assert sorted(snapshot(bench.repo)) == ["file", "mine", "scratch", "theirs"]
    assert bench.git(bench.repo, "status", "--porcelain") == "?? scratch"


def test_a_conflict_changes_nothing_and_names_the_paths(bench: Bench) -> None:
    files = {f"{name}/{number}": "base\n" for number, name in enumerate(ODD_NAMES[:6])}
    bench.commit(bench.repo, files)
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, dict.fromkeys(files, "mine\n") | {"clean": "x"})
    bench.commit(bench.repo, dict.fromkeys(files, "theirs\n"))
    with Untouched(bench):
        result = asyncio.run(bench.worktrees.merge(made))
    assert (result.merged, result.how, result.commit) == (False, MergeHow.CONFLICT, bench.head(bench.repo))
    assert set(result.conflicts) == {escape(path) for path in files}


@pytest.mark.parametrize("stage", ["staged", "unstaged"])
def test_a_dirty_checkout_is_not_merged_into(bench: Bench, stage: str) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"other": "x"})
    (bench.repo / "file").write_text("half a thought")
    if stage == "staged":
        bench.git(bench.repo, "add", "file")
    error = merge(bench, made)
    assert (error.code, "uncommitted changes" in error.message) == (ErrorCode.WRONG_STATE, True)


def test_a_merge_or_rebase_under_way_is_left_alone(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"other": "x"})
    bench.git(bench.repo, "checkout", "--quiet", "-b", "side")
    bench.commit(bench.repo, {"file": "side\n"})
    bench.git(bench.repo, "checkout", "--quiet", "main")
    bench.git(bench.repo, "merge", "--quiet", "--no-ff", "--no-commit", "-s", "ours", "side")
    error = merge(bench, made)
    assert (error.code, "under way (MERGE_HEAD)" in error.message) == (ErrorCode.WRONG_STATE, True)
    bench.git(bench.repo, "merge", "--abort")
    bench.commit(bench.repo, {"file": "main\n"})
    with pytest.raises(subprocess.CalledProcessError):
        bench.git(bench.repo, "rebase", "side")
    assert "rebased" in merge(bench, made).message


@pytest.mark.parametrize("kind", ["ignored", "untracked"])
def test_files_that_git_does_not_know_are_not_overwritten(bench: Bench, kind: str) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"notes.txt": "agent's"})
    bench.commit(bench.repo, {".gitignore": "notes.txt\n" if kind == "ignored" else "\n"})
    (bench.repo / "notes.txt").write_text("person's")
    error = merge(bench, made)
    assert (error.code, "notes.txt" in error.message) == (ErrorCode.WRONG_STATE, True)


def test_uncommitted_work_of_the_session_is_not_left_behind(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"other": "x"})
    (made.path / "file").write_text("not committed")
    assert "The session has to commit" in merge(bench, made).message


def test_only_what_was_approved_is_merged(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    approved = bench.commit(made.path, {"good": "x"})
    bench.commit(made.path, {"bad": "x"})
    error = merge(bench, made, commit=approved)
    assert (error.code, approved[:12] in error.message) == (ErrorCode.WRONG_STATE, True)


def test_a_branch_that_nobody_has_checked_out_just_moves(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"mine": "x"})
    bench.commit(bench.repo, {"theirs": "x"})
    bench.git(bench.repo, "checkout", "--quiet", "-b", "elsewhere", "HEAD~1")
    (bench.repo / "file").write_text("dirty, and none of the merge's business")
    before = snapshot(bench.repo)
    result = asyncio.run(bench.worktrees.merge(made))
    assert result.how is MergeHow.MERGE_COMMIT
    assert bench.git(bench.repo, "ls-tree", "--name-only", "main").split() == ["file", "mine", "theirs"]
    assert snapshot(bench.repo) == before


@pytest.mark.parametrize(
    "into", ["nowhere", "main~1", "-x", "--force", "refs/heads/main", "a\nb", "", "alias", "helio/work"]
)
def test_odd_targets_are_refused(bench: Bench, into: str) -> None:
    bench.git(bench.repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    bench.git(bench.repo, "checkout", "--quiet", "--detach")
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"mine": "x"})
    assert merge(bench, made, into=into).code in {ErrorCode.NOT_FOUND, ErrorCode.INVALID_ARGUMENT}


@pytest.mark.parametrize("where", ["checked out", "nowhere"])
def test_a_target_that_moves_meanwhile_is_merged_as_it_then_stands(bench: Bench, where: str) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"mine": "x"})
    bench.commit(bench.repo, {"theirs": "x"})
    tree = bench.git(bench.repo, "rev-parse", "HEAD^{tree}")
    if where == "nowhere":
        bench.git(bench.repo, "checkout", "--quiet", "--detach")
    # Just before the first landing, somebody commits to main.
    node = bench.with_program(
        f"""case "$*" in *"merge --ff-only"*|*"update-ref --no-deref"*) if [ ! -e {bench.tmp}/moved ]; then
        : > {bench.tmp}/moved; cd {bench.repo}
        git update-ref refs/heads/main "$(git commit-tree {tree} -p main -m meanwhile)"; cd "$OLDPWD"
        fi;; esac; exec git "$@" """
    )
    assert asyncio.run(node.merge(made)).how is MergeHow.MERGE_COMMIT
    assert (bench.tmp / "moved").exists()
    assert "meanwhile" in bench.git(bench.repo, "log", "--format=%s", "main").splitlines()
    assert bench.git(bench.repo, "ls-tree", "--name-only", "main").split() == ["file", "mine", "theirs"]
    assert bench.git(bench.repo, "status", "--porcelain") == ""


def test_a_landing_that_fails_half_way_is_put_back(bench: Bench) -> None:
    # The person's own filter refuses one file, after git has written and deleted others.
    filters = (
        '[filter "picky"]\n\tclean = cat\n\tsmudge = grep -v poison\n\trequired = true\n'
        "[user]\n\tname = P\n\temail = p@x\n"
    )
    bench.commit(
        bench.repo, {"a": "a\n", "gone": "g\n", "z.picky": "fine\n", ".gitattributes": "*.picky filter=picky\n"}
    )
    made = asyncio.run(bench.worktree())
    (made.path / "gone").unlink()
    bench.commit(
        made.path, {"a": "changed\n", "b/new": "n\n", "m.picky": "poison\n", "z.picky": "poison\n", "zz": "n\n"}
    )
    (bench.person / ".gitconfig").write_text(filters, encoding="utf-8")
    error = merge(bench, made)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "picky" in error.message


def held_landing(bench: Bench) -> tuple[Path, Path, str]:
    """A file that tells when a landing begins, one that lets it go on, and the script of the git that does so."""
    began, go_on = bench.tmp / "began", bench.tmp / "go-on"
    waiting = f"while [ ! -e {go_on} ]; do sleep 0.02; done"
    script = f'case "$*" in *"merge --ff-only"*) : > {began}; {waiting};; esac; exec git "$@"'
    return began, go_on, script


def test_a_caller_who_goes_away_leaves_a_whole_merge(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    tip = bench.commit(made.path, {"mine": "x"})
    began, go_on, script = held_landing(bench)
    node = bench.with_program(script)

    async def scenario() -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(node.merge(made))
            await until(began.exists)
            task.cancel()
            await turn()
            assert not task.done()
            go_on.touch()

    asyncio.run(scenario())
    assert bench.head(bench.repo) == tip
    assert (bench.repo / "mine").exists()
    assert bench.git(bench.repo, "status", "--porcelain") == ""


def test_a_node_that_is_killed_leaves_a_whole_merge(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    tip = bench.commit(made.path, {"mine": "x"})
    began, go_on, script = held_landing(bench)
    bench.with_program(script)
    code = (
        "import asyncio; from pathlib import Path; from node.core.limits import Limits; from node.git import Git\n"
        "from node.git_landing import Landing\n"
        f"landing = Landing(Git(Limits(), program={str(bench.tmp / 'git-twin')!r}))\n"
        f"store, repo = Path({str(made.store)!r}), Path({str(made.repo)!r})\n"
        f"asyncio.run(landing.land(store, repo, branch={made.branch!r}, tip={tip!r}, target='main'))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], env=bench.environment, cwd=Path(__file__).parents[2]) as node:
        asyncio.run(until(began.exists))
        node.kill()
    assert bench.head(bench.repo) != tip
    go_on.touch()
    asyncio.run(until(lambda: bench.head(bench.repo) == tip))
    assert bench.git(bench.repo, "status", "--porcelain") == ""


def test_a_checkout_with_its_git_elsewhere_is_found(bench: Bench) -> None:
    place = bench.tmp / "apart"
    bench.init(place, f"--separate-git-dir={bench.tmp / 'store'}")
    bench.commit(place, {"file": "x"})

    async def scenario() -> None:
        made = await bench.worktree(folder=place)
        bench.commit(made.path, {"mine": "x"})
        assert (await bench.worktrees.merge(made)).merged
        assert (place / "mine").exists()

    asyncio.run(scenario())


def test_an_old_git_says_how_to_merge_by_hand(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    node = bench.with_program(
        'for word; do :; done; [ "$word" = version ] && echo "git version 2.34.1" && exit; exec git "$@"'
    )
    with pytest.raises(MeshError, match=r"git 2\.34 cannot .* git merge helio/work"):
        asyncio.run(node.merge(made))
