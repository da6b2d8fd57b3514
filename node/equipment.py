"""Equips agents: the private configuration by which an agent of a session finds this node's tools and hooks."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from node.agents.adapter import Adapter, LaunchContext, Launched
from node.agents.private_files import write_private
from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id

SESSION_VARIABLE = "HELIOGRAPH_SESSION"
"""Set in every session's environment; a hint for adopting a terminal, never a proof of anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A session that is about to be started: its id, its folder and the environment it will have."""

    session: str
    cwd: str
    env: Mapping[str, str]
    trusted: bool = False


class Equipment:
    """Prepares agents. `folder` holds the private configurations, `helio` is the command of this program."""

    def __init__(self, *, folder: Path, helio: tuple[str, ...]) -> None:
        self._folder = folder
        self._helio = helio

    async def fresh(self, adapter: Adapter, seat: Seat) -> Launched:
        """How to start an agent with a new conversation; its configuration is written."""
        return await self._written(seat, adapter.launch(self._context(seat)))

    async def resumed(self, adapter: Adapter, seat: Seat, conversation: str) -> Launched:
        """How to go on with a conversation; its configuration is written."""
        return await self._written(seat, adapter.resume(self._context(seat), conversation))

    async def by_person(self, adapter: Adapter, seat: Seat, argv: Sequence[str]) -> Launched:
        """A person's own command line with this node's tools added, when it starts an agent that an adapter knows."""
        if adapter.bundled or not adapter.startable or PurePath(argv[0]).name not in adapter.programs:
            return Launched(argv=tuple(argv), env=tuple(self._context(seat).env.items()))
        setup = adapter.setup(self._context(seat))
        launched = Launched(
            argv=(argv[0], *setup.words, *argv[1:]), env=setup.env, files=setup.files, links=setup.links
        )
        return await self._written(seat, launched)

    async def forget(self, session_id: str) -> None:
        """Removes the private configuration of a session that is deleted."""
        if is_id(session_id):
            await asyncio.to_thread(shutil.rmtree, self._folder / session_id, ignore_errors=True)

    def seen_by(self, session_id: str) -> tuple[Path, ...]:
        """What of the node a session must be able to read, wherever it runs: its own agent's configuration."""
        folder = self._folder / session_id
        return (folder,) if folder.is_dir() else ()

    def _context(self, seat: Seat) -> LaunchContext:
        env = dict(seat.env) | {SESSION_VARIABLE: seat.session}
        return LaunchContext(
            folder=self._folder / seat.session,
            cwd=seat.cwd,
            helio=self._helio,
            env=env,
            session=seat.session,
            trusted=seat.trusted,
        )

    def own_variables(self, seat: Seat, launched: Launched) -> dict[str, str]:
        """What the agent's environment has beyond the one it was asked to have: it goes along into any workspace."""
        return {name: value for name, value in launched.env if seat.env.get(name) != value}

    async def _written(self, seat: Seat, launched: Launched) -> Launched:
        if not launched.argv:
            raise MeshError(ErrorCode.UNSUPPORTED, "This node does not know how to start that agent.")
        await asyncio.to_thread(write_private, self._folder / seat.session, launched)
        env = dict(seat.env) | dict(launched.env) | {SESSION_VARIABLE: seat.session}
        return replace(launched, env=tuple(env.items()))
