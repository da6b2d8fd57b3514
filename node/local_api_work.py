"""The local API's calls about work: approvals, workspaces and agent CLIs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from node import codec_work
from node.core.approval import Approval
from node.core.errors import ErrorCode, MeshError
from node.core.holds import shown_text
from node.core.ids import short
from node.core.views_work import view_approval, view_workspace
from node.grpc_setup import grpc
from node.labels import label_of
from node.local_door import Door
from node.ports import Reader, Store
from node.ports_work import AgentCatalogue, ApprovalDesk, Workspaces, WorkspaceStatus
from node.wire.v1 import local_pb2 as pb

# Starting or stopping what a workspace is made of takes a while.
WORKSPACE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkApi:
    """Answers what a person asks about work."""

    store: Store
    approvals: ApprovalDesk
    workspaces: Workspaces
    agents: AgentCatalogue

    def handlers(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Every one of these calls by its name, behind `door`."""
        slow = WORKSPACE_SECONDS
        return {
            "ListApprovals": door.unary(self._list_approvals, pb.ListApprovalsRequest),
            "DecideApproval": door.unary(self._decide_approval, pb.DecideApprovalRequest),
            "ListWorkspaces": door.unary(self._list_workspaces, pb.ListWorkspacesRequest),
            "AddWorkspace": door.unary(self._add_workspace, pb.AddWorkspaceRequest, waits_s=slow),
            "SetWorkspace": door.unary(self._set_workspace, pb.SetWorkspaceRequest, waits_s=slow),
            "SetReach": door.unary(self._set_reach, pb.SetReachRequest),
            "RemoveWorkspace": door.unary(self._remove_workspace, pb.RemoveWorkspaceRequest, waits_s=slow),
            "ListAgents": door.unary(self._list_agents, pb.ListAgentsRequest),
        }

    async def _list_approvals(self, asked: pb.ListApprovalsRequest) -> pb.ListApprovalsResponse:
        listed = await self.approvals.listed(pending=asked.pending)

        def work(reader: Reader) -> list[pb.Approval]:
            return [_approval_seen(reader, approval) for approval in listed]

        return pb.ListApprovalsResponse(approvals=await self.store.read(work))

    async def _decide_approval(self, asked: pb.DecideApprovalRequest) -> pb.DecideApprovalResponse:
        decision = codec_work.decision_from_wire(asked)
        try:
            decided = await self.approvals.decide(asked.approval, decision)
        except MeshError as error:
            if error.code not in {ErrorCode.NOT_FOUND, ErrorCode.INVALID_ARGUMENT}:
                raise
            raise MeshError(
                error.code,
                f"No question called {asked.approval[:40]!r} waits for an answer. Give its id, or at least the first 6 "
                "characters of it; `helio approvals` lists those that wait, with --all also those that are decided.",
            ) from error
        return pb.DecideApprovalResponse(approval=await self.store.read(lambda reader: _approval_seen(reader, decided)))

    async def _list_workspaces(self, _asked: pb.ListWorkspacesRequest) -> pb.ListWorkspacesResponse:
        listed = await self.workspaces.listed()
        return pb.ListWorkspacesResponse(workspaces=[_workspace_seen(status) for status in listed])

    async def _add_workspace(self, asked: pb.AddWorkspaceRequest) -> pb.AddWorkspaceResponse:
        added = await self.workspaces.add(codec_work.new_workspace_from_wire(asked))
        return pb.AddWorkspaceResponse(workspace=_workspace_seen(added))

    async def _set_workspace(self, asked: pb.SetWorkspaceRequest) -> pb.SetWorkspaceResponse:
        mode = codec_work.mode_from_wire(asked)
        changed = await self.workspaces.set(asked.name, dict(asked.settings), mode)
        return pb.SetWorkspaceResponse(workspace=_workspace_seen(changed))

    async def _set_reach(self, asked: pb.SetReachRequest) -> pb.SetReachResponse:
        changed = await self.workspaces.reach(asked.name, codec_work.reach_from_wire(asked.reach))
        return pb.SetReachResponse(workspace=_workspace_seen(changed))

    async def _remove_workspace(self, asked: pb.RemoveWorkspaceRequest) -> pb.RemoveWorkspaceResponse:
        return pb.RemoveWorkspaceResponse(name=(await self.workspaces.remove(asked.name)).name)

    async def _list_agents(self, _asked: pb.ListAgentsRequest) -> pb.ListAgentsResponse:
        return pb.ListAgentsResponse(agents=[codec_work.agent_to_wire(view) for view in await self.agents.listed()])


def _approval_seen(reader: Reader, approval: Approval) -> pb.Approval:
    message = reader.message(approval.message) if approval.message else None
    if message is None:
        session = reader.session(approval.session)
        asker = session.label if session is not None else short(approval.session)
        return codec_work.approval_to_wire(view_approval(approval, asker))
    asker = label_of(reader, reader.exchange_with(message).address(message.sender), message.author)
    return codec_work.approval_to_wire(view_approval(approval, asker, shown_text(message)))


def _workspace_seen(status: WorkspaceStatus) -> pb.Workspace:
    return codec_work.workspace_to_wire(view_workspace(status.workspace, status.state, sessions=status.sessions))
