"""What a repository may make the node do: nothing. Each lure is first seen to work on a plain git."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.git import Git
from node.platform import processes
from node.ports_work import Worktree
from node.worktrees import Worktrees
from tests.integration.worktree_bench import SESSION, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def whole_life(bench: Bench) -> Worktree:
    """Everything that the node does with a repository, a real merge included."""

    async def scenario() -> Worktree:
        made = await bench.worktree()
        bench.git(made.path, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "add", "--all")
        quiet = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false")
        for place, name in ((made.path, "mine"), (bench.repo, "theirs")):
            (place / name).write_text(name)
            bench.git(place, *quiet, "add", "--all")
            bench.git(place, *quiet, "commit", "--quiet", "-m", name)
        await bench.worktrees.status(made)
        assert (await bench.worktrees.merge(made)).merged
        await bench.worktrees.remove(made, keep_branch=False)
        return made

    return asyncio.run(scenario())


def test_no_hook_runs(bench: Bench) -> None:
    ran = bench.tmp / "ran"
    hooks = bench.repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    names = [
        "post-checkout", "post-merge", "pre-merge-commit", "commit-msg", "prepare-commit-msg", "reference-transaction",
        "post-index-change", "pre-commit", "post-commit", "post-rewrite", "fsmonitor-watchman",
    ]  # fmt: skip
    for name in names:
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> '{ran}'\n")
        (hooks / name).chmod(0o755)
    bench.git(bench.repo, "checkout", "--quiet", "-b", "proof")
    bench.git(bench.repo, "checkout", "--quiet", "main")
    assert "post-checkout" in ran.read_text()
    ran.unlink()
    whole_life(bench)
    assert not ran.exists()


def test_no_program_of_the_configuration_runs(bench: Bench) -> None:
    ran = bench.tmp / "ran"
    program = bench.tmp / "program"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{ran}'\n")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass", "core.gitProxy",
        "gpg.program", "diff.external", "sequence.editor", "credential.helper", "core.alternateRefsCommand",
    ):  # fmt: skip
        bench.git(bench.repo, "config", key, str(program))
    for key, value in (
        ("core.hooksPath", str(bench.tmp)), ("commit.gpgSign", "true"), ("log.showSignature", "true"),
        ("merge.verifySignatures", "true"), ("alias.status", f"!{program}"), ("alias.worktree", f"!{program}"),
        ("alias.merge", f"!{program}"), ("branch.main.mergeOptions", "-s ours --no-ff"), ("merge.ff", "false"),
        ("status.submoduleSummary", "true"), ("submodule.recurse", "true"), ("color.ui", "always"),
        ("status.short", "true"), ("core.quotePath", "true"),
    ):  # fmt: skip
        bench.git(bench.repo, "config", key, value)
    bench.git(bench.repo, "status")
    assert "program" in ran.read_text()
    ran.unlink()
    whole_life(bench)
    assert not ran.exists()
    assert sorted(path.name for path in bench.repo.iterdir()) == [".git", "file", "mine", "theirs"]


@pytest.mark.parametrize("key", ["filter.x.smudge", "filter.x.clean", "filter.x.process", "merge.x.driver"])
@pytest.mark.parametrize("place", ["itself", "include"])
def test_a_repositorys_own_filters_and_drivers_are_refused_everywhere(bench: Bench, key: str, place: str) -> None:
    ran = bench.tmp / "ran"
    bench.commit(bench.repo, {".gitattributes": "* filter=x merge=x\n"})
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {"mine": "x"})
    command = f"sh -c 'echo ran >> {ran}; cat'"
    if place == "include":
        bench.git(bench.repo, "config", "--file", str(bench.repo / ".git" / "more"), key, command)
        bench.git(bench.repo, "config", "include.path", "more")
    else:
        bench.git(bench.repo, "config", key, command)

    async def scenario() -> None:
        node = bench.worktrees
        calls = (bench.worktree(), node.inspect(bench.repo), node.status(made), node.merge(made), node.remove(made))
        for call in calls:
            with pytest.raises(MeshError, match=key) as caught:
                await call
            assert caught.value.code is ErrorCode.UNSUPPORTED

    asyncio.run(scenario())
    assert not ran.exists()
    # The person's word for it makes it theirs.
    bench.git(bench.repo, "config", "--global", key, command)
    asyncio.run(bench.worktrees.status(made))


def test_a_worktrees_own_configuration_is_guarded_too(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    bench.git(made.path, "config", "extensions.worktreeConfig", "true")
    bench.git(made.path, "config", "--worktree", "filter.x.clean", "cat")
    with pytest.raises(MeshError, match=r"filter\.x\.clean"):
        asyncio.run(bench.worktrees.status(made))


def test_a_working_tree_that_is_somewhere_else_is_refused(bench: Bench) -> None:
    made = asyncio.run(bench.worktree())
    bench.commit(made.path, {".profile": "echo gotcha\n"})
    bench.git(bench.repo, "config", "core.worktree", str(bench.tmp))
    with pytest.raises(MeshError, match=r"core\.worktree") as caught:
        asyncio.run(bench.worktrees.inspect(bench.repo))
    assert caught.value.code is ErrorCode.TAMPERED
    with pytest.raises(MeshError):
        asyncio.run(bench.worktrees.merge(made))
    assert not (bench.tmp / ".profile").exists()


def test_nothing_is_fetched_for_a_partial_clone(bench: Bench) -> None:
    ran = bench.tmp / "ran"
    bench.git(bench.repo, "config", "uploadpack.allowFilter", "true")
    clone = bench.tmp / "clone"
    bench.git(bench.tmp, "clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{bench.repo}", str(clone))
    bench.git(clone, "config", "remote.origin.url", "ssh://nobody@127.0.0.1:1/repo")
    bench.git(clone, "config", "core.sshCommand", f"sh -c 'echo ssh >> {ran}; exit 1'")
    bench.git(clone, "config", "protocol.ssh.allow", "always")
    with pytest.raises(subprocess.CalledProcessError):
        bench.git(clone, "checkout", "main")
    assert ran.exists()
    ran.unlink()
    with pytest.raises(MeshError, match="partial clone"):
        asyncio.run(bench.worktree(folder=clone))
    assert not ran.exists()
    assert bench.git(clone, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_a_submodule_named_like_a_path_out_is_not_followed(bench: Bench) -> None:
    victim = bench.tmp / "victim"
    bench.init(victim)
    commit = bench.commit(victim, {"secret": "s"})
    module = bench.repo / ".git" / "modules" / "evil"
    module.parent.mkdir()
    module.symlink_to(victim / ".git")
    for name in ("../../../victim/.git", "evil"):
        (bench.repo / ".gitmodules").write_text(f'[submodule "{name}"]\n\tpath = sub\n\turl = x\n')
        bench.git(bench.repo, "add", ".gitmodules")
        bench.git(bench.repo, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
        bench.git(bench.repo, "commit", "--quiet", "-m", name)
        made = asyncio.run(bench.worktree())
        assert not list((made.path / "sub").iterdir())
    assert not (victim / ".git" / "worktrees").exists()


def test_the_nodes_own_git_variables_reach_no_git(bench: Bench) -> None:
    lure = {
        "GIT_DIR": str(bench.tmp / "nowhere"), "GIT_WORK_TREE": "/", "GIT_INDEX_FILE": "/nowhere",
        "GIT_CONFIG_COUNT": "x", "GIT_CONFIG_PARAMETERS": "'core.bare'='true'", "GIT_OBJECT_DIRECTORY": "/nowhere",
        "GIT_NAMESPACE": "x",
    }  # fmt: skip
    git = Git(bench.limits, environment={**bench.environment, **lure})
    made = asyncio.run(Worktrees(bench.home, bench.limits, git).create(bench.repo, name="x", session=SESSION))
    assert (made.path / "file").exists()


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (
            'echo "fatal: detected dubious ownership in repository at x" >&2; exit 128',
            ErrorCode.UNSUPPORTED,
            "safe.directory",
        ),
        ("echo nonsense", ErrorCode.INTERNAL, "git version"),
        ("head -c 40000000 /dev/zero", ErrorCode.LIMIT, "git_output_bytes"),
        ("kill -9 $$", ErrorCode.UNAVAILABLE, "failed"),
    ],
)
def test_a_git_that_misbehaves_is_reported(bench: Bench, script: str, code: ErrorCode, words: str) -> None:
    made = asyncio.run(bench.worktree())
    rest = f'case "$*" in *" status "*) {script}; exit;; esac; exec git "$@"'
    with pytest.raises(MeshError) as caught:
        asyncio.run(bench.with_program(rest).status(made))
    assert (caught.value.code, words in caught.value.message) == (code, True)


def test_a_git_that_hangs_is_ended_with_its_children(bench: Bench) -> None:
    pids = bench.tmp / "pids"
    os.mkfifo(bench.tmp / "fifo")
    bench.limits = type(bench.limits)(git_s=1)
    node = bench.with_program(f"cat {bench.tmp}/fifo & echo $$ $! > {pids}; wait")
    with pytest.raises(MeshError, match="did not finish within 1 s"):
        asyncio.run(node.inspect(bench.repo))
    for pid in pids.read_text().split():
        process = processes.read(int(pid))
        assert process is None or process.ended


def test_no_git_at_all_is_said(bench: Bench) -> None:
    node = Worktrees(
        bench.home, bench.limits, Git(bench.limits, program="git-is-not-here", environment=bench.environment)
    )
    with pytest.raises(MeshError, match="no git on the node's PATH"):
        asyncio.run(node.inspect(bench.repo))
    # Where there is nothing to ask about, git is not needed to say so.
    assert not asyncio.run(node.inspect(bench.person)).inside_git


def test_a_git_that_the_system_cannot_start_is_said(bench: Bench) -> None:
    """As when no process or descriptor is left: whatever the reason, it must not end the node."""
    broken = bench.tmp / "git"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    node = Worktrees(bench.home, bench.limits, Git(bench.limits, program=str(broken), environment=bench.environment))
    with pytest.raises(MeshError, match="could not start git"):
        asyncio.run(node.inspect(bench.repo))
