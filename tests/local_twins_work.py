"""Twins of the services behind the calls about approvals, workspaces and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from node.core import workspace
from node.core.approval import Approval, Decision
from node.core.errors import ErrorCode, MeshError
from node.core.transfer import Attachment
from node.core.views_work import AgentView
from node.core.workspace import Workspace, WorkspaceState
from node.ports_work import WorkspaceStatus


class Questions:
    """A twin of the approvals service: newest first, decided by whole id."""

    def __init__(self) -> None:
        self.known: list[Approval] = []

    async def listed(self, *, pending: bool) -> tuple[Approval, ...]:
        return tuple(a for a in self.known if not pending or a.decision is Decision.PENDING)

    async def decide(self, wanted: str, decision: Decision) -> Approval:
        for index, approval in enumerate(self.known):
            if approval.id == wanted and approval.decision is Decision.PENDING:
                self.known[index] = replace(approval, decision=decision, decided_us=99)
                return self.known[index]
        raise MeshError(ErrorCode.NOT_FOUND, f"No open approval {wanted}.")


class Places:
    """A twin of the workspaces service, over the pure rules of the core."""

    def __init__(self) -> None:
        self.known: dict[str, Workspace] = {}
        self.states: dict[str, WorkspaceState] = {}
        self.occupied: set[str] = set()

    def status(self, one: Workspace) -> WorkspaceStatus:
        state = self.states.get(one.name, WorkspaceState(code=workspace.StateCode.ON))
        return WorkspaceStatus(workspace=one, state=state, sessions=int(one.name in self.occupied))

    def put(self, one: Workspace) -> WorkspaceStatus:
        self.known[one.name] = one
        return self.status(one)

    async def listed(self) -> tuple[WorkspaceStatus, ...]:
        return tuple(self.status(one) for one in workspace.with_default(self.known.values()))

    async def add(self, new: Workspace) -> WorkspaceStatus:
        return self.put(workspace.add(new.name, new.driver, dict(new.settings), self.known.values()))

    async def set(
        self, name: str, settings: Mapping[str, str], mode: workspace.ScreenMode | None = None
    ) -> WorkspaceStatus:
        changed = workspace.change(workspace.find(name, self.known.values()), settings)
        return self.put(changed if mode is None else replace(changed, mode=mode))

    async def reach(self, name: str, names: Sequence[str] | None) -> WorkspaceStatus:
        every = self.known.values()
        return self.put(workspace.set_reach(workspace.find(name, every), names, every))

    async def remove(self, name: str) -> Workspace:
        found = workspace.find(name, self.known.values())
        if found.name in self.occupied:
            raise MeshError(ErrorCode.WRONG_STATE, f"A session runs in {found.name}.")
        return self.known.pop(found.name)


class Installed:
    """A twin of the catalogue of agents."""

    def __init__(self) -> None:
        self.known = (
            AgentView(name="claude", program="claude", path="/opt/zoë/claude", version="2.1.9", works=True, why=""),
            AgentView(name="codex", program="codex", path=None, version=None, works=False, why="not installed"),
        )

    async def listed(self) -> tuple[AgentView, ...]:
        return self.known


def place(session_id: str, message_id: str, file: Attachment) -> str:
    return f"/inbox/{session_id}/{message_id}/{file.name}"
