"""The machine itself as a workspace: always on, and nothing is wrapped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from node.core.errors import ErrorCode, MeshError
from node.core.workspace import StateCode, Workspace, WorkspaceState
from node.workspaces.driver import Place, Wrapped, check_inside, check_words
from node.workspaces.programs import copied


class Host:
    """Implements Driver."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def boot(self, workspace: Workspace) -> None:
        """Nothing is to be done: this node runs on it."""

    async def off(self, workspace: Workspace) -> None:
        """WRONG_STATE: only a person turns the machine off."""
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"Workspace {workspace.name!r} is this machine itself and is never off. Archive its sessions instead.",
        )

    async def state(self, workspace: Workspace) -> WorkspaceState:  # noqa: ARG002  (the Driver's word)
        """Always on."""
        return WorkspaceState(code=StateCode.ON)

    def wrap(
        self,
        workspace: Workspace,  # noqa: ARG002  (the Driver's word)
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        given: Mapping[str, str] | None = None,
        read: Iterable[Path] = (),  # noqa: ARG002  (everything is seen anyway)
        write: Iterable[Path] = (),  # noqa: ARG002
    ) -> Wrapped:
        """The program as it is, with the whole environment."""
        check_words(argv, cwd)
        return Wrapped(argv=tuple(argv), cwd=cwd, env=dict(env) | dict(given or {}))

    async def copy_in(self, workspace: Workspace, local: Path, inside: str) -> None:  # noqa: ARG002
        """An ordinary copy."""
        check_inside(inside)
        await asyncio.to_thread(copied, local, Path(inside), self._place.limits.message_bytes)

    async def copy_out(self, workspace: Workspace, inside: str, local: Path) -> None:  # noqa: ARG002
        """An ordinary copy."""
        check_inside(inside)
        await asyncio.to_thread(copied, Path(inside), local, self._place.limits.message_bytes)

    def path_inside(self, workspace: Workspace, local: Path) -> str:  # noqa: ARG002
        """The same path."""
        return str(local)
