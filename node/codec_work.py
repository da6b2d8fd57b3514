"""Between protobuf messages and plain values of approvals, workspaces and agents; the rules are those of `codec`."""

from __future__ import annotations

from collections.abc import Sequence

from node.codec_values import known, wire_text
from node.core.approval import ApprovalKind, Decision
from node.core.errors import ErrorCode, MeshError
from node.core.views_work import AgentView, ApprovalView, WorkspaceView
from node.core.workspace import DriverKind, ScreenMode, StateCode, Workspace, driver_kind, screen_mode
from node.wire.v1 import local_pb2 as pb


def approval_to_wire(view: ApprovalView) -> pb.Approval:
    return pb.Approval(
        id=view.id,
        kind=view.kind.value,
        session=view.session,
        asker=wire_text(view.asker),
        subject=wire_text(view.subject),
        words=wire_text(view.words),
        decision=view.decision.value,
        asked_us=view.asked_us,
        decided_us=view.decided_us or 0,
    )


def approval_from_wire(wire: pb.Approval) -> ApprovalView:
    return ApprovalView(
        id=wire.id,
        kind=known(ApprovalKind, wire.kind),
        session=wire.session,
        asker=wire.asker,
        subject=wire.subject,
        words=wire.words,
        decision=known(Decision, wire.decision),
        asked_us=wire.asked_us,
        decided_us=wire.decided_us or None,
    )


def decision_from_wire(wire: pb.DecideApprovalRequest) -> Decision:
    """INVALID_ARGUMENT unless it is something that a person may say."""
    said = {Decision.DENIED, *(decision for decision in Decision if decision.allows)}
    if wire.decision not in said:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{wire.decision[:40]!r} is no decision. The decisions: {', '.join(sorted(said))}. Nothing was decided.",
        )
    return Decision(wire.decision)


def reach_to_wire(reach: Sequence[str] | None) -> pb.Reach:
    """ValueError when a name is not Unicode text."""
    return pb.Reach(every=reach is None, names=reach or ())


def reach_from_wire(wire: pb.Reach) -> tuple[str, ...] | None:
    return None if wire.every else tuple(wire.names)


def new_workspace_from_wire(wire: pb.AddWorkspaceRequest) -> Workspace:
    """As it was asked for, unchecked but for the driver, which is INVALID_ARGUMENT when it is none."""
    settings = tuple(sorted(wire.settings.items()))
    return Workspace(name=wire.name, driver=driver_kind(wire.driver), settings=settings)


def workspace_to_wire(view: WorkspaceView) -> pb.Workspace:
    return pb.Workspace(
        name=wire_text(view.name),
        driver=view.driver.value,
        settings={name: wire_text(value) for name, value in view.settings},
        reach=reach_to_wire(view.reach),
        state=view.state.value,
        why=wire_text(view.why),
        sessions=view.sessions,
        screen=view.mode.value,
    )


def workspace_from_wire(wire: pb.Workspace) -> WorkspaceView:
    return WorkspaceView(
        name=wire.name,
        driver=known(DriverKind, wire.driver),
        settings=tuple(sorted(wire.settings.items())),
        reach=reach_from_wire(wire.reach),
        state=known(StateCode, wire.state),
        why=wire.why,
        sessions=wire.sessions,
        # A node of before there were modes says nothing of them.
        mode=known(ScreenMode, wire.screen or ScreenMode.BLOCK.value),
    )


def mode_from_wire(wire: pb.SetWorkspaceRequest) -> ScreenMode | None:
    """The mode to change to, None for no change; INVALID_ARGUMENT for what is none."""
    return screen_mode(wire.screen) if wire.screen else None


def agent_to_wire(view: AgentView) -> pb.Agent:
    return pb.Agent(
        name=view.name,
        program=wire_text(view.program),
        path=wire_text(view.path or ""),
        version=wire_text(view.version or ""),
        works=view.works,
        why=wire_text(view.why),
    )


def agent_from_wire(wire: pb.Agent) -> AgentView:
    return AgentView(
        name=wire.name,
        program=wire.program,
        path=wire.path or None,
        version=wire.version or None,
        works=wire.works,
        why=wire.why,
    )
