"""Real git repositories for tests: a person's, with a git of the person's own, and a node's worktrees beside it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from node.core.limits import Limits
from node.git import Git
from node.ports_work import Worktree
from node.worktrees import Worktrees

SESSION = "abcdefgh23456723"
ODD_NAMES = [
    "with space", "it's \"quoted\"", "-leading-dash", "new\nline", "tab\tand\\backslash", "caf\u00e9", "cafe\u0301",
    "\U0001f680 rocket", "日本語", "$(touch pwned)", "`touch pwned`", "*", ":(glob)x", "a;b|c", "trailing ",
]  # fmt: skip


class Bench:
    """A person's home with their git configuration, one repository `main` with one commit, and a node's home."""

    def __init__(self, tmp_path: Path, name: str = "project") -> None:
        self.tmp = tmp_path.resolve()
        self.person = self.tmp / "person"
        self.person.mkdir()
        (self.person / ".gitconfig").write_text(
            "[user]\n\tname = Person\n\temail = person@example.org\n[init]\n\tdefaultBranch = main\n"
            '[protocol "file"]\n\tallow = always\n',
            encoding="utf-8",
        )
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.person)}
        self.limits = replace(Limits(), git_s=20, git_long_s=20)
        self.home = self.tmp / "home"
        self.worktrees = self.node()
        self.repo = self.tmp / name
        self.init(self.repo)
        self.commit(self.repo, {"file": "one\n"}, "first")

    def node(self, *, worktrees: int = 64, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> Worktrees:
        """A node's worktrees, with another limit or another way to wait for a lock."""
        limits = replace(self.limits, worktrees=worktrees)
        return Worktrees(self.home, limits, Git(limits, environment=self.environment, pause=pause))

    def with_program(self, script: str) -> Worktrees:
        """A node whose git is a shell script; it may go on to the real one with `exec git "$@"`."""
        path = self.tmp / "git-twin"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return Worktrees(self.home, self.limits, Git(self.limits, program=str(path), environment=self.environment))

    def git(self, place: Path, *words: str) -> str:
        """What the person's git says, without the final newline."""
        done = subprocess.run(
            ["git", *words], cwd=place, env=self.environment, check=True, capture_output=True, stdin=subprocess.DEVNULL
        )
        return os.fsdecode(done.stdout).removesuffix("\n")

    def init(self, place: Path, *words: str) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.git(place, "init", "--quiet", *words)

    def commit(self, place: Path, files: dict[str, str], message: str = "change") -> str:
        """Write files, commit everything, give the commit."""
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        self.git(place, "add", "--all")
        self.git(place, "commit", "--quiet", "--allow-empty", "-m", message)
        return self.head(place)

    def head(self, place: Path) -> str:
        return self.git(place, "rev-parse", "HEAD")

    async def worktree(self, name: str = "work", session: str = SESSION, folder: Path | None = None) -> Worktree:
        return await self.worktrees.create(folder or self.repo, name=name, session=session)


def snapshot(place: Path) -> dict[str, str]:
    """Every file of a working tree with a hash of its bytes, git's own folder left out."""
    found: dict[str, str] = {}
    for folder, folders, files in os.walk(place):
        if ".git" in folders:
            folders.remove(".git")
        for name in (name for name in files if name != ".git"):
            path = Path(folder, name)
            data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(place))] = hashlib.sha256(data).hexdigest()
    return found
