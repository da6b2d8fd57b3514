"""What a driver of workspaces does, and what all of them share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.workspace import Workspace, WorkspaceState, name_list

SESSION_VARIABLE: Final = "HELIOGRAPH_SESSION"

# What a program in another place is told of the person it is shown to. Everything else of the caller's environment
# stays outside, unless the workspace's `env` setting names it; TERM is set by whatever opens the terminal.
_HANDED_ON: Final = (
    "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_TIME", "TZ", SESSION_VARIABLE,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the node keeps its things, its home and the folder of its sockets, and the limits it has."""

    home: Path
    run: Path
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """What a pane is to run so that the program it is about lives in the workspace."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]


class Driver(Protocol):
    """One way to make workspaces. Paths are absolute; `inside` ones are as a session there sees them."""

    async def boot(self, workspace: Workspace) -> None:
        """Make sure that sessions can run there; idempotent. UNAVAILABLE or UNSUPPORTED says why they cannot."""
        ...

    async def off(self, workspace: Workspace) -> None:
        """End everything that runs there; again does nothing."""
        ...

    async def state(self, workspace: Workspace) -> WorkspaceState:
        """How it is now, by looking."""
        ...

    def wrap(
        self,
        workspace: Workspace,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        given: Mapping[str, str] | None = None,
        read: Iterable[Path] = (),
        write: Iterable[Path] = (),
    ) -> Wrapped:
        """How to start `argv` in the outside folder `cwd` with what of `env` may go in. The workspace must be on.

        `given` are variables that go in whatever their names; `read` and `write` are folders or files of the node which
        this session must see besides its project. May look at the file system. INVALID_ARGUMENT says what cannot go in.
        """
        ...

    async def copy_in(self, workspace: Workspace, local: Path, inside: str) -> None:
        """Copy one file into the workspace, which must be on; what was at `inside` is replaced."""
        ...

    async def copy_out(self, workspace: Workspace, inside: str, local: Path) -> None:
        """Copy one file out of the workspace, whole or not at all; LIMIT when it exceeds a message's files."""
        ...

    def path_inside(self, workspace: Workspace, local: Path) -> str:
        """Where a file or folder of this machine is seen there; INVALID_ARGUMENT when it is not."""
        ...


class Starts:
    """One start or stop of a workspace at a time, and which workspaces are starting."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._starting: set[str] = set()

    def turn(self, workspace: Workspace) -> AbstractAsyncContextManager[None]:
        """Holds others off from starting or stopping the same workspace."""
        return self._locks.setdefault(workspace.key, asyncio.Lock())

    def begin(self, workspace: Workspace) -> None:
        """From now on it is starting; call `done` in a finally."""
        self._starting.add(workspace.key)

    def done(self, workspace: Workspace) -> None:
        """It is not starting any more, whatever came of it."""
        self._starting.discard(workspace.key)

    def starting(self, workspace: Workspace) -> bool:
        """Whether a start is under way."""
        return workspace.key in self._starting


def environment_inside(workspace: Workspace, env: Mapping[str, str], given: Mapping[str, str] | None) -> dict[str, str]:
    """What of a caller's environment goes into a workspace of its own."""
    names = {*_HANDED_ON, *name_list(workspace.setting("env"))}
    return {name: value for name, value in env.items() if name in names} | dict(given or {})


def check_words(argv: Sequence[str], cwd: str) -> None:
    """Refuse (INVALID_ARGUMENT) words that no program can be started with."""
    if not argv or not argv[0] or any("\0" in word for word in (*argv, cwd)):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "A session needs a program to run, without NUL characters.")


def check_inside(path: str) -> None:
    """Refuse (INVALID_ARGUMENT) a path that does not say from the root where a file is."""
    if not path.startswith("/") or "\0" in path or ".." in path.split("/") or path.endswith("/"):
        message = f"{path[:200]!r} is no place for a file in a workspace: give its path from the root, without '..'."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
