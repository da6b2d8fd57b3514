"""What work needs from the outside: files, approvals, the start of agents and the folders they work in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from node.core.approval import Approval, ApprovalKind, Decision
from node.core.commands import Delegate, TreeView
from node.core.model import Address
from node.core.transfer import Attachment, TextFile
from node.core.views_work import AgentView
from node.core.workspace import ScreenMode, Workspace, WorkspaceState


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """What a reserved session is to be started with; `worktree` names the branch to make, or is empty for none."""

    session: str
    profile: str
    workspace: str
    cwd: str
    worktree: str


class FileStore(Protocol):
    """Keeps copies of files and puts them into inboxes."""

    async def stage(self, paths: Sequence[str], *, base: str, allowed: Sequence[str]) -> tuple[Attachment, ...]: ...
    def release(self, attachments: Sequence[Attachment]) -> None: ...
    def inbox(self, session_id: str) -> tuple[str, ...]:
        """The folder where files for that session land, once there is one: it may pass on what it received."""
        ...

    def texts(self, attachments: Sequence[Attachment]) -> AsyncGenerator[TextFile, None]:
        """The texts in them that a screen is to read, one at a time."""
        ...

    async def land(self, session_id: str, message_id: str, attachments: Sequence[Attachment]) -> tuple[str, ...]: ...


class Quarantine(Protocol):
    """Where content is kept under its hash, until no message refers to it; a pin keeps it besides. All of it blocks."""

    def adopt(self, part: Path, sha256: str) -> None:
        """Takes over a file whose bytes have that hash and are on the disk, and pins it."""
        ...

    def pin(self, sha256: str) -> bool:
        """One more pin; False when there is nothing under that hash."""
        ...

    def unpin(self, sha256: str) -> None: ...
    def open(self, sha256: str) -> int:
        """A descriptor to read from; NOT_FOUND when there is nothing under that hash."""
        ...


class Approvals(Protocol):
    """Asks the person."""

    async def ask(self, kind: ApprovalKind, session: str, wanted: Mapping[str, str], seconds: float) -> None:
        """Returns when all of `wanted` (words by subject) is allowed; APPROVAL when not, or not answered in time."""
        ...


class Stager(Protocol):
    """Makes a message's files safe before the message is recorded."""

    async def stage(self, actor: Address, paths: Sequence[str]) -> tuple[Attachment, ...]: ...
    def release(self, attachments: Sequence[Attachment]) -> None: ...


class Planner(Protocol):
    """Says how a delegate would be started, or why it cannot be."""

    async def plan(self, actor: Address, command: Delegate, session_id: str) -> LaunchPlan: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A working tree at `path` on `branch`, begun at commit `base` of the working tree `repo`.

    `folder` is where the session starts: the folder of `path` that the asking one is in `repo`. `store` is the
    repository's shared folder, which stays when `repo` is itself a worktree and goes. `onto` is the branch that `repo`
    was on, None when detached. `notes` are sentences about what is not in it.
    """

    path: Path
    folder: Path
    branch: str
    base: str
    repo: Path
    store: Path
    onto: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeStatus:
    """How a worktree stands: `ahead` and `behind` in commits against `onto` (or its base), `dirty` in tracked paths.

    `head` is the tip of its branch, None when that is gone. `on` is the branch checked out there now. `subject` was
    written by whoever committed. `conflicts` are paths with an unfinished merge in it.
    """

    exists: bool
    head: str | None
    on: str | None
    ahead: int
    behind: int
    dirty: int
    untracked: int
    conflicts: tuple[str, ...]
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """`commit` is where branch `into` stands now; with `conflicts` (paths) nothing was changed.

    `how` is a code: fast_forward, merge_commit, nothing or conflict. `left_out` counts untracked entries of the
    worktree, which no merge brings along.
    """

    merged: bool
    into: str
    commit: str
    conflicts: tuple[str, ...]
    how: str
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoState:
    """What a folder is to git. `root` is its working tree and `store` the folder that all its working trees share.

    `root` is None outside a repository, in a bare one and inside `.git`. `head` is a commit, None when `unborn`.
    `dirty` says whether something is changed or untracked there.
    """

    inside_git: bool
    root: Path | None = None
    store: Path | None = None
    head: str | None = None
    branch: str | None = None
    detached: bool = False
    dirty: bool = False
    unborn: bool = False
    bare: bool = False


class Trees(Protocol):
    """Makes and merges worktrees."""

    async def inspect(self, folder: Path) -> RepoState: ...
    async def create(self, folder: Path, *, name: str, session: str) -> Worktree: ...
    async def status(self, worktree: Worktree) -> WorktreeStatus: ...
    async def merge(self, worktree: Worktree, *, into: str | None = None, commit: str | None = None) -> MergeResult: ...
    async def remove(self, worktree: Worktree, *, keep_branch: bool = True, discard: bool = False) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a delegate works: the folder, and the branch that was made for it, if one was."""

    folder: str
    branch: str | None = None


class TreeTools(Protocol):
    """What a session may do with worktrees; `exchange` names its delegate's, None its own."""

    async def create(self, actor: Address, name: str) -> TreeView: ...
    async def view(self, actor: Address, exchange: str | None) -> TreeView: ...
    async def merge(self, actor: Address, exchange: str | None) -> tuple[TreeView, MergeResult]: ...


class Grounds(Protocol):
    """Prepares the folder of a delegate."""

    async def check(self, folder: str, *, wanted: bool | None, session: str) -> bool:
        """Whether a worktree is to be made in `folder`; WRONG_STATE says why one that is wanted cannot be."""
        ...

    async def prepare(self, folder: str, *, name: str, session: str) -> Ground: ...
    async def clear(self, session: str) -> None:
        """Takes back what was prepared for a session that could not be started, unless there is work in it."""
        ...


class ApprovalDesk(Protocol):
    """What the person sees and decides of approvals."""

    async def listed(self, *, pending: bool) -> tuple[Approval, ...]:
        """Newest first; with `pending`, only those that wait for a decision."""
        ...

    async def decide(self, wanted: str, decision: Decision) -> Approval:
        """The decided one, named by id prefix; NOT_FOUND when none is open under it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceStatus:
    """A workspace, how its driver finds it, and how many sessions run in it."""

    workspace: Workspace
    state: WorkspaceState
    sessions: int


class InPlace(Protocol):
    """What a terminal is to run so that a program lives in a workspace."""

    @property
    def argv(self) -> tuple[str, ...]: ...
    @property
    def cwd(self) -> str: ...
    @property
    def env(self) -> dict[str, str]: ...


class Places(Protocol):
    """Makes workspaces ready for sessions."""

    async def find(self, name: str) -> Workspace: ...
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
        """How to start a program in a workspace, which is turned on if it was off.

        Of `env` goes in what the workspace lets in, of `given` all; `read` are paths that it must be able to read.
        """
        ...


class Workspaces(Protocol):
    """Keeps the workspaces of the node; a name that is not there is NOT_FOUND."""

    async def listed(self) -> tuple[WorkspaceStatus, ...]:
        """All of them, the default one first."""
        ...

    async def add(self, workspace: Workspace) -> WorkspaceStatus:
        """The new one, checked and its name made clean (`core.workspace.add`); ALREADY_EXISTS for a taken name."""
        ...

    async def set(self, name: str, settings: Mapping[str, str], mode: ScreenMode | None = None) -> WorkspaceStatus:
        """With these settings changed, an empty value takes one away, and with another mode of the screen if given."""
        ...

    async def reach(self, name: str, names: Sequence[str] | None) -> WorkspaceStatus:
        """With another reach: None for every workspace."""
        ...

    async def remove(self, name: str) -> Workspace:
        """The one that is no more; WRONG_STATE while sessions run in it, and for the default one."""
        ...


class AgentCatalogue(Protocol):
    """Knows the agent CLIs."""

    async def listed(self) -> tuple[AgentView, ...]:
        """Every one that the node knows, installed or not, as it is on this machine now."""
        ...
