"""What people are shown of work: files, approvals, workspaces and agent CLIs. As in `views`, texts are not escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from node.core.approval import Approval, ApprovalKind, Decision
from node.core.transfer import Attachment
from node.core.workspace import DriverKind, ScreenMode, StateCode, Workspace, WorkspaceState

HASH_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """A file or folder of a message: `size` in bytes as stored, `path` where it landed, None until it has.

    `entries` counts the files and folders inside a folder.
    """

    name: str
    size: int
    sha256: str
    folder: bool
    entries: int
    path: str | None

    @property
    def short_hash(self) -> str:
        """The first digits of the hash, for people to compare."""
        return self.sha256[:HASH_SHOWN]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalView:
    """A question to the person: may `asker` (@nickname or short id of `session`) do this with `subject`?

    Of a held message `asker` is who wrote it, `subject` its text, and `session` who is to read it. `words` tell it as a
    sentence without its end. Times are microseconds of UTC, `decided_us` None while it is open.
    """

    id: str
    kind: ApprovalKind
    session: str
    asker: str
    subject: str
    words: str
    decision: Decision
    asked_us: int
    decided_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceView:
    """A workspace as its driver finds it (`why` is empty unless it is broken) and how many sessions run in it.

    `reach` names the workspaces that its sessions may ask besides their own; None is every one, mirrors too. `mode` is
    what becomes of a message to them that the screen flags.
    """

    name: str
    driver: DriverKind
    settings: tuple[tuple[str, str], ...]
    reach: tuple[str, ...] | None
    state: StateCode
    why: str
    sessions: int
    mode: ScreenMode = ScreenMode.BLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """An agent CLI as the node finds it: `path` and `version` are None where it is not installed.

    `works` is whether it is known to work with this version of the node; `why` says why not, else it is empty.
    """

    name: str
    program: str
    path: str | None
    version: str | None
    works: bool
    why: str


def view_files(files: Sequence[Attachment], paths: Sequence[str] | None) -> tuple[FileView, ...]:
    """`files` as people see them; `paths` are where they landed, in the same order, None until they have."""
    places: Sequence[str | None] = [None] * len(files) if paths is None else paths
    return tuple(
        FileView(
            name=file.name, size=file.size, sha256=file.sha256, folder=file.folder, entries=file.entries, path=path
        )
        for file, path in zip(files, places, strict=True)
    )


def view_approval(approval: Approval, asker: str, text: str | None = None) -> ApprovalView:
    """`approval` as people see it; `asker` is how they call who asks, `text` what a held message says."""
    return ApprovalView(
        id=approval.id,
        kind=approval.kind,
        session=approval.session,
        asker=asker,
        subject=approval.subject if text is None else text,
        words=approval.words,
        decision=approval.decision,
        asked_us=approval.asked_us,
        decided_us=approval.decided_us,
    )


def view_workspace(workspace: Workspace, state: WorkspaceState, *, sessions: int) -> WorkspaceView:
    """`workspace` as people see it, in `state`, with so many running sessions."""
    return WorkspaceView(
        name=workspace.name,
        driver=workspace.driver,
        settings=workspace.settings,
        reach=workspace.reach,
        state=state.code,
        why=state.why,
        sessions=sessions,
        mode=workspace.mode,
    )
