"""Runs the git binary so that nothing in a repository runs with it, and asks a repository what it is and holds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node.core import worktree as words
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape, escape_to_width
from node.core.limits import Limits
from node.ports_work import RepoState

_LOCK_PAUSE_SECONDS: Final = 0.5
_END_SECONDS: Final = 5.0
_SAID_BYTES: Final = 65_536
_CHUNK_BYTES: Final = 65_536
_LOCKED: Final = re.compile(r"\.lock': File exists|could not lock config file")

# Settings of the command line win over those of the repository. An agent may write the repository's files, its
# configuration and hooks included; it must not thereby make the node run programs (docs/adr/0022).
_SETTINGS: Final = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.protectHFS": "true",
    "core.quotePath": "false",
    "color.ui": "never",
    "gc.auto": "0",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
}
# No protocol is called "none", so that nothing is fetched whatever the configuration allows; new gits do not even try.
_ENVIRONMENT: Final = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "true",
    "GIT_EDITOR": "false",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What git answered: exit status, output and the beginning of its complaints, bytes outside UTF-8 as surrogates."""

    code: int
    out: str
    said: str

    @property
    def line(self) -> str:
        """The output without its one final newline: a path may end with others."""
        return self.out.removesuffix("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run of git as `Git.run` prepared it."""

    place: Path
    argv: Sequence[str]
    name: str
    environment: Mapping[str, str]
    feed: str | None
    seconds: int


class Git:
    """One git binary. `environment` is the person's (default: the node's); `pause` waits before a retry."""

    def __init__(
        self,
        limits: Limits,
        *,
        program: str = "git",
        environment: Mapping[str, str] | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limits = limits
        self._program = program
        self._environment = _environment(os.environ if environment is None else environment)
        self._pause = pause
        self._version: tuple[int, int] | None = None

    async def version(self) -> tuple[int, int]:
        """Major and minor number of the binary."""
        if self._version is None:
            self._version = words.parse_version((await self.run(Path("/"), "version")).out)
        return self._version

    async def run(
        self,
        place: Path,
        *command: str,
        store: Path | None = None,
        feed: str | None = None,
        accept: Collection[int] = (0,),
        settings: Mapping[str, str] | None = None,
        long: bool = False,
    ) -> Output:
        """Run a command in the folder `place`, for the repository `store` when that is not to be found from there.

        A lock of another git is waited for once. An exit status outside `accept`, a timeout (`git_s`, or `git_long_s`
        when `long`) and an answer over `git_output_bytes` raise. A caller who goes away ends git.
        """
        given = [f"--git-dir={store}"] if store else []
        for name, value in _SETTINGS.items():
            given += ["-c", f"{name}={value}"]
        # A name on the command line ends at its first "="; here it may hold one, as a branch's name does.
        environment = {**self._environment, "GIT_CONFIG_COUNT": str(len(settings or {}))}
        for number, (name, value) in enumerate((settings or {}).items()):
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        argv = [self._program, *given, *command]
        if any("\0" in word for word in argv):
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "A name or path for git cannot hold a NUL character.")
        run = _Run(
            place=place, argv=argv, name=command[0], environment=environment, feed=feed,
            seconds=self._limits.git_long_s if long else self._limits.git_s,
        )  # fmt: skip
        output = await self._once(run)
        if output.code and _LOCKED.search(output.said):
            await self._pause(_LOCK_PAUSE_SECONDS)
            output = await self._once(run)
            if output.code and _LOCKED.search(output.said):
                raise MeshError(
                    ErrorCode.UNAVAILABLE,
                    f"Another git is at work in this repository and holds a lock: {_short(output.said)} Nothing was "
                    "changed. Try again when it has ended; if no git runs there, remove the lock file.",
                )
        if output.code not in accept:
            raise failure(command[0], place, output)
        return output

    async def _once(self, run: _Run) -> Output:
        try:
            process = await asyncio.create_subprocess_exec(
                *run.argv, cwd=run.place, env=run.environment, start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL if run.feed is None else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            if not await asyncio.to_thread(run.place.is_dir):
                raise MeshError(ErrorCode.NOT_FOUND, f"The folder {escape(str(run.place))} is not there.") from error
            message = "There is no git on the node's PATH, and worktrees need it. Install git 2.38 or newer."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        except OSError as error:
            message = f"The system could not start git ({error.strerror}). End programs that are not needed."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        try:
            async with asyncio.timeout(run.seconds):
                out, said = await _conversation(process, run.feed, self._limits.git_output_bytes)
        except TimeoutError as error:
            message = (
                f"git {run.name} did not finish within {run.seconds} s in {escape(str(run.place))} and was stopped."
            )
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        finally:
            await _end(process)
        if out is None:
            limit = self._limits.git_output_bytes
            raise MeshError(
                ErrorCode.LIMIT,
                f"The answer of git {run.name} is larger than the limit git_output_bytes of {limit:,}. The person at "
                "this node can raise it in config.toml.",
                {"limit": limit, "name": "git_output_bytes"},
            )
        return Output(code=process.returncode or 0, out=os.fsdecode(out), said=os.fsdecode(said or b""))

    # --- what a repository is and holds -------------------------------------------------------------------------------

    async def inspect(self, folder: Path) -> RepoState:
        """What `folder` is to git; raises when it is there and git, or the guard against its programs, refuses it."""
        if not await asyncio.to_thread(_maybe_repository, folder):
            return RepoState(inside_git=False)
        kind = await self.run(folder, "rev-parse", "--is-bare-repository", "--is-inside-work-tree", accept=(0, 128))
        if kind.code:
            if "not a git repository" in kind.said:
                return RepoState(inside_git=False)
            raise failure("rev-parse", folder, kind)
        store = await self.store(folder)
        if kind.out != "false\ntrue\n":
            return RepoState(inside_git=True, store=store, bare=kind.out.startswith("true"))
        root = Path((await self.run(folder, "rev-parse", "--show-toplevel")).line)
        own = Path((await self.run(folder, "rev-parse", "--absolute-git-dir")).line)
        await asyncio.to_thread(_check_root, root, own)
        await self.check_programs(root)
        head = await self.run(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", accept=(0, 1))
        ref = await self.run(root, "symbolic-ref", "--quiet", "HEAD", accept=(0, 1))
        changes = await self.changes(root)
        return RepoState(
            inside_git=True, root=root, store=store, head=head.line or None, branch=words.branch_of(ref.line),
            detached=not ref.line, dirty=bool(changes.tracked or changes.untracked), unborn=not head.line,
        )  # fmt: skip

    async def store(self, folder: Path) -> Path:
        """The folder that all working trees of the repository at `folder` share."""
        answer = await self.run(folder, "rev-parse", "--git-common-dir")
        return await asyncio.to_thread((folder / answer.line).resolve)

    async def check_programs(self, place: Path, store: Path | None = None) -> None:
        """UNSUPPORTED when the repository's own configuration names programs that git would run."""
        answer = await self.run(place, "config", "--list", "-z", "--show-scope", "--includes", store=store)
        found = words.own_programs(answer.out)
        if found:
            names = ", ".join(escape_to_width(name, 80) for name in found[:8])
            raise MeshError(
                ErrorCode.UNSUPPORTED,
                f"The repository at {escape(str(place))} names programs in its own configuration ({names}), which an "
                "agent could have written, so the node does not run git there. If you trust them, put the same "
                "settings into your own: git config --global NAME VALUE. Otherwise work without a worktree.",
                {"settings": found[:8]},
            )

    async def changes(self, root: Path, *, untracked: bool = True) -> words.Changes:
        """What differs from HEAD in a working tree; a submodule counts when it is at another commit."""
        answer = await self.run(
            root, "status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty",
            f"--untracked-files={'normal' if untracked else 'no'}",
        )  # fmt: skip
        return words.parse_status(answer.out)

    async def tip(self, store: Path, branch: str) -> str | None:
        """The commit at the end of a branch; None when there is no such branch."""
        answer = await self.run(
            store, "show-ref", "--verify", "--hash", "--", words.ref_of(branch), store=store, accept=(0, 1, 128)
        )
        return answer.line if answer.code == 0 else None

    async def branches(self, store: Path) -> tuple[str, ...]:
        """The names of all branches."""
        answer = await self.run(store, "for-each-ref", "--format=%(refname:lstrip=2)", words.ref_of(""), store=store)
        return tuple(answer.out.splitlines())

    async def contains(self, store: Path, commit: str, older: str) -> bool:
        """Whether `older` is `commit` or comes before it."""
        asked = ("merge-base", "--is-ancestor", older, commit)
        return (await self.run(store, *asked, store=store, accept=(0, 1), long=True)).code == 0


def failure(command: str, place: Path, output: Output) -> MeshError:
    """What git's own complaint means to the caller."""
    where = escape(str(place))
    if "dubious ownership" in output.said:
        return MeshError(
            ErrorCode.UNSUPPORTED,
            f"The repository at {where} belongs to another user, and git refuses to trust it. If you trust it, run: "
            f"git config --global --add safe.directory '{where}'",
        )
    if "promisor" in output.said:
        return MeshError(
            ErrorCode.UNAVAILABLE,
            f"The repository at {where} is a partial clone and lacks objects that git {command} needs, and the node "
            "fetches nothing by itself. Check the commit out there once yourself, then try again.",
        )
    said = _short(output.said) or f"exit status {output.code}"
    return MeshError(ErrorCode.UNAVAILABLE, f"git {command} failed in {where}: {said}")


def _short(said: str) -> str:
    return escape_to_width(" ".join(said.split()), 400)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """`given` without what would point git at another repository or ask somebody, and with what holds it back."""
    kept = {name: value for name, value in given.items() if not name.startswith("GIT_") and name != "SSH_ASKPASS"}
    return {**kept, **_ENVIRONMENT}


def _maybe_repository(folder: Path) -> bool:
    """Whether asking git is worth it: on a Mac without developer tools, `git` opens a dialog.

    NOT_FOUND when there is no such folder.
    """
    if not folder.is_dir():
        raise MeshError(ErrorCode.NOT_FOUND, f"The folder {escape(str(folder))} does not exist. Choose one that does.")
    lines = (folder.resolve(), *folder.resolve().parents)
    return any(os.path.lexists(one / ".git") or (one / "objects").is_dir() for one in lines)


def _check_root(root: Path, own: Path) -> None:
    """TAMPERED unless the working tree `root` itself names the git folder `own`.

    `core.worktree` may point anywhere, and then a merge would write there.
    """
    entry, named = root / ".git", None
    if entry.is_dir():
        named = entry.resolve()
    elif entry.is_file():
        with contextlib.suppress(OSError):
            text = os.fsdecode(entry.read_bytes()[:_CHUNK_BYTES])
            named = (root / text.removeprefix("gitdir: ").removesuffix("\n")).resolve()
    if named != own.resolve():
        raise MeshError(
            ErrorCode.TAMPERED,
            f"The repository {escape(str(own))} claims {escape(str(root))} as its working tree (core.worktree), but "
            "that folder does not name it. The node does not work there; remove core.worktree from its configuration.",
        )


async def _conversation(
    process: asyncio.subprocess.Process, feed: str | None, most: int
) -> tuple[bytes | None, bytes | None]:
    """Standard output (None when over `most` bytes) and the beginning of standard error."""
    if process.stdout is None or process.stderr is None:
        raise RuntimeError("git was started without pipes")
    async with asyncio.TaskGroup() as group:
        out = group.create_task(_bounded(process.stdout, most))
        said = group.create_task(_bounded(process.stderr, _SAID_BYTES))
        if process.stdin is not None:
            group.create_task(_hand_in(process.stdin, os.fsencode(feed or "")))
    await process.wait()
    (answer, whole), (complaint, _) = out.result(), said.result()
    return (answer if whole else None), complaint


async def _bounded(stream: asyncio.StreamReader, most: int) -> tuple[bytes, bool]:
    """Up to `most` bytes and whether that was all; the rest is read away, so that git does not block on it."""
    kept = bytearray()
    whole = True
    while chunk := await stream.read(_CHUNK_BYTES):
        whole = whole and len(kept) + len(chunk) <= most
        kept += chunk[: most - len(kept)]
    return bytes(kept), whole


async def _hand_in(stream: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(data)
        await stream.drain()
        stream.close()
        await stream.wait_closed()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a git that still runs: ask first, so that it removes its locks, then kill."""
    for step, seconds in ((signal.SIGTERM, _END_SECONDS), (signal.SIGKILL, None)):
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, step)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await process.wait()
