"""Worktrees, the pure part: names that git and a Mac take, and git's answers read strictly."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core import worktree
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape

COMMIT = "0123456789abcdef0123456789abcdef01234567"


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Fix the Login page", "fix-the-login-page"),
        ("caf\u00e9", "caf\u00e9"),
        ("cafe\u0301", "caf\u00e9"),
        ("日本語 テスト", "日本語-テスト"),
        ("\U0001f680 go", "\U0001f680-go"),
        ("--force", "force"),
        (".hidden", "hidden"),
        ("a..b", "a.b"),
        ("x.lock", "x"),
        ("x.LOCK.lock.", "x"),
        ("a@{1}", "a-1"),
        ("feature/x:y", "feature-x-y"),
        ("a\u2215b", "a-b"),
        ("new\nline\x00", "new-line"),
        ("zero\u200bwidth\u202e", "zerowidth"),
        ("\u0301accent first", "accent-first"),
        ("İ", "i\u0307"),
        ("...", "work"),
        ("", "work"),
        ("@", "work"),
    ],
)
def test_slugs(name: str, expected: str) -> None:
    assert worktree.slug(name) == expected


@given(st.text(max_size=400))
def test_every_slug_is_good_to_git_to_a_shell_and_to_the_eye(name: str) -> None:
    made = worktree.slug(name)
    assert 0 < len(made) <= worktree.SLUG_CHARACTERS
    assert len(made.encode()) <= worktree.SLUG_BYTES
    assert made[0] not in "-._+"
    assert made[-1] not in "-._+"
    assert not made.endswith(".lock")
    assert ".." not in made
    assert not unicodedata.combining(made[0])
    assert all(ch in "abcdefghijklmnopqrstuvwxyz0123456789._-+" for ch in made if ch.isascii())
    assert escape(made) == made
    assert unicodedata.is_normalized("NFC", made)
    assert worktree.slug(made) == made


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([], "helio/work"),
        (["main", "work"], "helio/work"),
        (["helio/work"], "helio/work-2"),
        (["HELIO/Work", "helio/work-2"], "helio/work-3"),
        (["helio/work/below"], "helio/work-2"),
        (["helio"], "helio-work"),
        (["Helio", "helio-work"], "helio-work-2"),
    ],
)
def test_a_branch_is_made_beside_what_is_there(taken: list[str], expected: str) -> None:
    assert worktree.free_branch("work", taken) == expected


def test_composition_makes_no_second_branch() -> None:
    assert worktree.free_branch("caf\u00e9", ["helio/cafe\u0301"]) == "helio/caf\u00e9-2"


def test_refs_are_branches_or_not() -> None:
    assert worktree.branch_of(worktree.ref_of("a/b")) == "a/b"
    assert worktree.branch_of("refs/remotes/origin/a") is None
    assert worktree.branch_of("") is None


# --- answers of git ---------------------------------------------------------------------------------------------------


def test_status_is_counted_whatever_the_paths_are() -> None:
    hashes = f"100644 100644 100644 {COMMIT} {COMMIT}"
    answer = (
        f"1 .M N... {hashes} a b\n? c\0"
        f"2 R. N... {hashes} R100 new name\0? old name\0"
        f"u UU N... 100644 {hashes} {COMMIT} in conflict\0"
        "? 1 .M looks like one\0"
    )
    assert worktree.parse_status(answer) == worktree.Changes(tracked=3, untracked=1, conflicts=("in conflict",))
    assert worktree.parse_status("") == worktree.Changes(tracked=0, untracked=0, conflicts=())


def test_checkouts_are_told_apart() -> None:
    answer = (
        f"worktree /a\nb\0HEAD {COMMIT}\0branch refs/heads/x y\0\0"
        f"worktree /c\0HEAD {COMMIT}\0detached\0locked branch refs/heads/no\0\0"
        "worktree /d\0bare\0\0"
    )
    found = worktree.parse_checkouts(answer)
    assert [(one.path, one.branch) for one in found] == [("/a\nb", "x y"), ("/c", None), ("/d", None)]


def test_a_merge_is_a_tree_and_the_paths_in_conflict() -> None:
    assert worktree.parse_merge(f"{COMMIT}\0") == (COMMIT, ())
    assert worktree.parse_merge(f"{'a' * 64}\0one\0two\nlines\0") == ("a" * 64, ("one", "two\nlines"))


def test_differences_keep_path_kind_and_submodules() -> None:
    answer = f":100644 000000 {COMMIT} {COMMIT} D\0:a b\0:000000 160000 {COMMIT} {COMMIT} A\0sub\0"
    assert [(one.path, one.kind, one.link) for one in worktree.parse_differences(answer)] == [
        (":a b", "D", False), ("sub", "A", True)
    ]  # fmt: skip


def test_links_and_modules_meet_at_the_path() -> None:
    entries = f"100644 blob {COMMIT}\tcommit x\x00160000 commit {COMMIT}\tli b\tx\0"
    assert worktree.parse_links(entries) == {"li b\tx": COMMIT}
    named = "submodule.a.path.path\nli b\tx\0submodule.../up.path\ny\0submodule./etc.path\nz\0submodule.n.path\0"
    assert worktree.parse_modules(named) == {"li b\tx": "a.path"}


@pytest.mark.parametrize("key", ["filter.a.b.clean", "filter.x.smudge", "filter.x.process", "merge.a b.driver"])
@pytest.mark.parametrize("scope", ["local", "worktree"])
def test_programs_of_the_repository_itself_are_named(key: str, scope: str) -> None:
    answer = f"global\0user.name\nX\0{scope}\0{key}\nrun me\0"
    assert worktree.own_programs(answer) == (key,)


def test_what_is_also_the_persons_setting_is_theirs() -> None:
    mine = "global\0filter.lfs.clean\ngit-lfs clean\0"
    assert worktree.own_programs(f"{mine}local\0filter.lfs.clean\ngit-lfs clean\0") == ()
    assert worktree.own_programs(f"{mine}local\0filter.lfs.clean\ngit-lfs clean; x\0") == ("filter.lfs.clean",)
    assert worktree.own_programs("local\0filter.x.clean\n\0local\0filter.x.required\ntrue\0local\0core.bare\0") == ()
    assert worktree.own_programs(f"{mine}command\0filter.x.clean\ny\0") == ()


def test_versions() -> None:
    assert worktree.parse_version("git version 2.39.5 (Apple Git-154)\n") == (2, 39)
    assert worktree.parse_version("git version 2.50.0.windows.1") == (2, 50)


@pytest.mark.parametrize(
    ("parse", "answer"),
    [
        (worktree.parse_status, "1 .M no end"),
        (worktree.parse_status, "x unknown\0"),
        (worktree.parse_status, "# branch.oid x\0"),
        (worktree.parse_status, "1 .M too short\0"),
        (worktree.parse_status, f"2 R. N... 1 1 1 {COMMIT} {COMMIT} R100 without origin\0"),
        (worktree.parse_checkouts, "HEAD x\0\0"),
        (worktree.parse_checkouts, "worktree /cut off\0HEAD"),
        (worktree.parse_merge, ""),
        (worktree.parse_merge, "Auto-merging x\0"),
        (worktree.parse_differences, ":1 2 3 4 R100\0a\0b\0"),
        (worktree.parse_differences, ":1 2 3 4 A\0"),
        (worktree.parse_links, "040000 tree\0"),
        (worktree.parse_links, f"160000 commit {COMMIT[:39]}\tx\0"),
        (worktree.own_programs, "local\0"),
        (worktree.parse_version, "zsh: command not found"),
    ],
)
def test_an_answer_of_another_form_is_refused(parse: Callable[[str], object], answer: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse(answer)
    assert caught.value.code is ErrorCode.INTERNAL
