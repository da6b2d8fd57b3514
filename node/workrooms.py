"""The workspaces of this node: kept, changed, and made ready for the sessions that start in them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from node.core import workspace as rules
from node.core.errors import ErrorCode, MeshError
from node.core.model import SessionStatus
from node.core.row_codes import RowDecision, RowEngine, RowReason
from node.core.secret_names import check_name
from node.core.workspace import StateCode, Workspace, WorkspaceState
from node.ledger import Ledger
from node.ports import Reader, Store, Tx
from node.ports_work import InPlace, WorkspaceStatus

_log = logging.getLogger(__name__)


class Driver(Protocol):
    """What of a workspace's driver is needed here."""

    async def boot(self, workspace: Workspace) -> None: ...
    async def off(self, workspace: Workspace) -> None: ...
    async def state(self, workspace: Workspace) -> WorkspaceState: ...
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
    ) -> InPlace: ...


class Drivers(Protocol):
    """Finds the driver that a workspace names."""

    def of(self, workspace: Workspace) -> Driver: ...


class Workrooms:
    """Implements ports_work.Workspaces and ports_work.Places."""

    def __init__(self, *, store: Store, drivers: Drivers, ledger: Ledger) -> None:
        self._store = store
        self._drivers = drivers
        self._ledger = ledger

    async def listed(self) -> tuple[WorkspaceStatus, ...]:
        """All of them, the default one first."""
        known = await self._store.read(lambda reader: rules.with_default(reader.workspaces()))
        return tuple([await self._status(workspace) for workspace in known])

    async def _status(self, workspace: Workspace) -> WorkspaceStatus:
        sessions = await self._store.read(lambda reader: _sessions_in(reader, workspace))
        return WorkspaceStatus(
            workspace=workspace, state=await self._drivers.of(workspace).state(workspace), sessions=sessions
        )

    async def add(self, workspace: Workspace) -> WorkspaceStatus:
        """A new one, checked; ALREADY_EXISTS for a taken name."""
        check_name("name of the workspace", workspace.name)

        def work(tx: Tx) -> Workspace:
            made = rules.add(
                workspace.name,
                workspace.driver.value,
                dict(workspace.settings),
                tx.workspaces(),
                reach=workspace.reach,
            )
            return self._put(tx, made, RowDecision.ADDED)

        return await self._status(await self._store.write(work))

    async def set(
        self, name: str, settings: Mapping[str, str], mode: rules.ScreenMode | None = None
    ) -> WorkspaceStatus:
        """With these settings changed, an empty value takes one away, and with another mode of the screen if given."""

        def work(tx: Tx) -> Workspace:
            found = rules.find(name, tx.workspaces())
            changed = rules.change(found, settings)
            if settings or mode is None:
                changed = self._put(tx, changed, RowDecision.CHANGED)
            if mode is not None:
                changed = replace(changed, mode=mode)
                tx.put_workspace(changed)
                reason = RowReason(mode)
                self._ledger.policy_row(tx, RowEngine.SCREENING, RowDecision.MODE_CHANGED, changed.name, reason)
            return changed

        return await self._status(await self._store.write(work))

    async def reach(self, name: str, names: Sequence[str] | None) -> WorkspaceStatus:
        """With another reach: None for every workspace."""

        def work(tx: Tx) -> Workspace:
            known = rules.with_default(tx.workspaces())
            return self._put(tx, rules.set_reach(rules.find(name, known), names, known), RowDecision.REACH_CHANGED)

        return await self._status(await self._store.write(work))

    async def remove(self, name: str) -> Workspace:
        """The one that is no more; WRONG_STATE while sessions run in it, and for the default one."""
        workspace = await self._store.read(lambda reader: rules.find(name, reader.workspaces()))
        if workspace.key == rules.DEFAULT.key:
            raise MeshError(ErrorCode.WRONG_STATE, "The default workspace is this machine itself and stays.")

        def work(tx: Tx) -> None:
            running = _sessions_in(tx, workspace)
            if running:
                raise MeshError(
                    ErrorCode.WRONG_STATE,
                    f"{running} sessions run in workspace {workspace.name!r}; archive or remove them first.",
                    {"sessions": running},
                )
            tx.remove_workspace(workspace.key)
            for other in tx.workspaces():
                kept = rules.forget(other, workspace.name)
                if kept != other:
                    tx.put_workspace(kept)
            self._ledger.policy_row(tx, RowEngine.WORKSPACE, RowDecision.REMOVED, workspace.name)

        await self._store.write(work)
        await self._drivers.of(workspace).off(workspace)
        return workspace

    def _put(self, tx: Tx, workspace: Workspace, decision: RowDecision) -> Workspace:
        tx.put_workspace(workspace)
        self._ledger.policy_row(tx, RowEngine.WORKSPACE, decision, workspace.name)
        return workspace

    async def reopen(self) -> None:
        """Shows the node's new socket to the workspaces whose sessions outlived the node's last run."""
        for workspace in await self._store.read(_in_use):
            driver = self._drivers.of(workspace)
            try:
                if (await driver.state(workspace)).code is not StateCode.OFF:
                    await driver.boot(workspace)
            except MeshError as error:
                # The node has other work too; starting a session there tries again and says why not.
                _log.warning("workspace %s was not opened again: %s", workspace.name, error.message)

    async def find(self, name: str) -> Workspace:
        """The workspace of that name; NOT_FOUND lists those there are."""
        return await self._store.read(lambda reader: rules.find(name, reader.workspaces()))

    async def settle(
        self,
        name: str,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        given: Mapping[str, str],
        read: Sequence[Path],
    ) -> InPlace:
        """How to start a program in a workspace, which is turned on if it was off."""
        workspace = await self.find(name)
        driver = self._drivers.of(workspace)
        await driver.boot(workspace)
        own = {variable: env[variable] for variable in _NODES_OWN if variable in env}
        return await asyncio.to_thread(driver.wrap, workspace, argv, cwd, env, given=own | dict(given), read=read)


def _in_use(reader: Reader) -> tuple[Workspace, ...]:
    return tuple(w for w in rules.with_default(reader.workspaces()) if _sessions_in(reader, w))


_NODES_OWN = ("HELIOGRAPH_HOME", "HELIOGRAPH_SESSION")


def _sessions_in(reader: Reader, workspace: Workspace) -> int:
    """How many sessions run, or are about to, in a workspace."""
    return sum(
        rules.name_key(session.workspace) == workspace.key and session.status is not SessionStatus.ENDED
        for session in reader.sessions()
    )
