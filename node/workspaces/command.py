"""Workspaces behind commands that a person gives: another box over ssh, a container, a virtual machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.workspace import TIMEOUT_DEFAULT_S, StateCode, Workspace, WorkspaceState
from node.core.workspace_template import expand, mentions
from node.platform import paths
from node.workspaces.driver import (
    SESSION_VARIABLE,
    Place,
    Starts,
    Wrapped,
    check_inside,
    check_words,
    environment_inside,
)
from node.workspaces.programs import Outcome, appearing, readable, run

_ON, _OFF = 0, 1
_POLL_SECONDS: Final = 0.2


class Command:
    """Implements Driver."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._starts = Starts()
        # Of workspaces without a `state` command: the node's own word for it, since it was started.
        self._booted: set[str] = set()

    async def boot(self, workspace: Workspace) -> None:
        """Run its start command unless it is on, and wait until its state command agrees."""
        async with self._starts.turn(workspace):
            if (await self._look(workspace)).code is StateCode.ON:
                return
            self._starts.begin(workspace)
            try:
                await self._start(workspace)
            finally:
                self._starts.done(workspace)

    async def _start(self, workspace: Workspace) -> None:
        if workspace.setting("start"):
            outcome = await self._run(workspace, "start")
            if outcome.status != 0:
                raise _failed(workspace, "start", outcome)
        self._booted.add(workspace.key)
        clock = asyncio.get_running_loop().time
        deadline = clock() + _seconds(workspace)
        while True:
            seen = await self._look(workspace)
            if seen.code is StateCode.ON:
                return
            if clock() >= deadline:
                message = (
                    f"Workspace {workspace.name!r} did not come on within {_seconds(workspace):g} s; its state is "
                    f"{seen}. Look there, or try its `start` and `state` commands by hand."
                )
                raise MeshError(ErrorCode.UNAVAILABLE, message)
            await asyncio.sleep(_POLL_SECONDS)

    async def off(self, workspace: Workspace) -> None:
        """Run its stop command, unless it is off."""
        async with self._starts.turn(workspace):
            if (await self._look(workspace)).code is StateCode.OFF:
                return
            if not workspace.setting("stop"):
                message = (
                    f"Workspace {workspace.name!r} has no stop command, so the node cannot turn it off. Give it one: "
                    f"helio workspace set {workspace.name} stop=COMMAND"
                )
                raise MeshError(ErrorCode.WRONG_STATE, message)
            outcome = await self._run(workspace, "stop")
            if outcome.status != 0:
                raise _failed(workspace, "stop", outcome)
            self._booted.discard(workspace.key)

    async def state(self, workspace: Workspace) -> WorkspaceState:
        """What its state command says: exit status 0 is on, 1 is off, and anything else is broken."""
        if self._starts.starting(workspace):
            return WorkspaceState(code=StateCode.STARTING)
        return await self._look(workspace)

    async def _look(self, workspace: Workspace) -> WorkspaceState:
        if not workspace.setting("state"):
            return WorkspaceState(code=StateCode.ON if workspace.key in self._booted else StateCode.OFF)
        try:
            outcome = await self._run(workspace, "state")
        except MeshError as error:
            return WorkspaceState(code=StateCode.BROKEN, why=error.message)
        if outcome.status in {_ON, _OFF}:
            return WorkspaceState(code=StateCode.ON if outcome.status == _ON else StateCode.OFF)
        return WorkspaceState(code=StateCode.BROKEN, why=outcome.why)

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
        """Its exec command, filled. It runs here with the caller's own environment: ssh needs its agent and HOME."""
        check_words(argv, cwd)
        for needed in (*read, *write):
            self.path_inside(workspace, needed)
        inside = environment_inside(workspace, env, given)
        words = expand(
            workspace.setting("exec"),
            {
                "name": workspace.name,
                "session": env.get(SESSION_VARIABLE, ""),
                "socket": str(self._place.run / paths.AGENT_SOCKET),
                "cwd": self.path_inside(workspace, Path(cwd)),
                "env": tuple(f"{name}={value}" for name, value in sorted(inside.items())),
                "argv": tuple(argv),
            },
        )
        return Wrapped(argv=words, cwd=cwd if Path(cwd).is_dir() else str(self._place.home), env=dict(env))

    async def copy_in(self, workspace: Workspace, local: Path, inside: str) -> None:
        """Run its copy_in command; the file is also the command's input, for those that do not name {local}."""
        check_inside(inside)
        with readable(local, self._place.limits.message_bytes) as feed:
            outcome = await run(
                self._copy_words(workspace, "copy_in", local, inside),
                what=_named(workspace, "copy_in"), seconds=_seconds(workspace), feed=feed,
            )  # fmt: skip
        if outcome.status != 0:
            raise _failed(workspace, "copy_in", outcome)

    async def copy_out(self, workspace: Workspace, inside: str, local: Path) -> None:
        """Run its copy_out command, which writes {local} itself, or else writes the file to its output."""
        check_inside(inside)
        most = self._place.limits.message_bytes
        with appearing(local) as part:
            words = self._copy_words(workspace, "copy_out", part, inside)
            if mentions(workspace.setting("copy_out"), "local"):
                outcome = await self._copied(workspace, words)
                with readable(part, most):
                    pass
            else:
                with part.open("wb") as into:
                    outcome = await run(
                        words, what=_named(workspace, "copy_out"), seconds=_seconds(workspace), into=into,
                        most_bytes=most,
                    )  # fmt: skip
            if outcome.status != 0:
                raise _failed(workspace, "copy_out", outcome)

    async def _copied(self, workspace: Workspace, words: Sequence[str]) -> Outcome:
        return await run(words, what=_named(workspace, "copy_out"), seconds=_seconds(workspace))

    def path_inside(self, workspace: Workspace, local: Path) -> str:
        """The path below `inside` for one below `outside`; the same path when these settings are not given."""
        outside, inside = workspace.setting("outside"), workspace.setting("inside")
        if not outside and not inside:
            return str(local)
        root = Path(outside or "/")
        if ".." in local.parts or not local.is_relative_to(root):
            message = (
                f"{local} is not seen in workspace {workspace.name!r}, which shows what is below {root}. Work below "
                "that folder, or change the workspace's `outside` setting."
            )
            raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
        return str(Path(inside or "/") / local.relative_to(root))

    def _copy_words(self, workspace: Workspace, which: str, local: Path, inside: str) -> tuple[str, ...]:
        template = workspace.setting(which)
        if not template:
            message = (
                f"Workspace {workspace.name!r} has no {which} command, so files cannot go that way. Give it one: helio "
                f"workspace set {workspace.name} {which}=COMMAND"
            )
            raise MeshError(ErrorCode.WRONG_STATE, message)
        return expand(template, {"name": workspace.name, "local": str(local), "remote": inside})

    async def _run(self, workspace: Workspace, which: str) -> Outcome:
        words = expand(workspace.setting(which), {"name": workspace.name})
        return await run(words, what=_named(workspace, which), seconds=_seconds(workspace))


def _seconds(workspace: Workspace) -> float:
    return float(workspace.setting("timeout") or TIMEOUT_DEFAULT_S)


def _named(workspace: Workspace, which: str) -> str:
    return f"The {which} command of workspace {workspace.name!r}"


def _failed(workspace: Workspace, which: str, outcome: Outcome) -> MeshError:
    message = f"{_named(workspace, which)} failed: {outcome.why}. Run it by hand to see more."
    return MeshError(ErrorCode.UNAVAILABLE, message, {"workspace": workspace.name, "status": outcome.status})
