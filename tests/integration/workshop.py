"""A mesh with all that delegations need: real git, real files, real approvals, and a twin of the terminals.

A terminal here is a record with an environment. It outlives the node that started it, as tmux does.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from node.agents import ADAPTERS
from node.approvals import Approvals
from node.attachments import Attachments
from node.core import workspace as rules
from node.core.commands import Delegate, Receipt
from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.model import Exchange, Message, Session, SessionStatus
from node.core.prompt import PaneRef, PromptProfile
from node.core.workspace import Workspace, WorkspaceState
from node.equipment import Equipment
from node.exchanges import Exchanges, People
from node.files import Files
from node.grounds import Grounds
from node.launcher import Launcher
from node.lifecycle import Lifecycle
from node.ports import Screener
from node.screening import Reasons
from node.sessions import Sessions
from node.workrooms import Workrooms
from node.workspaces import Wrapped
from node.worktrees import Worktrees
from tests.clock_twins import CountedEntropy, ManualClock
from tests.integration.mesh import Agent, Mesh
from tests.rule_screener import RuleScreener
from tests.waiting import until

RESUMABLE = frozenset(adapter.name for adapter in ADAPTERS if adapter.startable)


class Killed(BaseException):
    """The node is gone in this very moment; nothing of it runs any more."""


@dataclass(slots=True)
class TwinTerminals:
    """Implements ports.Terminals. `refuse` is the error of the next starts, `kills_node` kills after the start."""

    alive: dict[PaneRef, dict[str, str]] = field(default_factory=dict)
    started: list[tuple[tuple[str, ...], str, dict[str, str]]] = field(default_factory=list)
    killed: list[PaneRef] = field(default_factory=list)
    refuse: MeshError | OSError | None = None
    kills_node: bool = False
    dies_with: frozenset[str] = frozenset()
    hold: asyncio.Event | None = None
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    while_listing: Callable[[], Awaitable[object]] | None = None

    async def start(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], name: str, width: int, height: int
    ) -> PaneRef:
        if self.refuse is not None:
            raise self.refuse
        assert Path(cwd).is_dir()
        self.reached.set()
        if self.hold is not None:
            await self.hold.wait()
        number = len(self.started)
        pane = PaneRef(server="/run/tmux", pane=f"%{number}", pid=1000 + number, started=number, tty=f"/dev/p{number}")
        self.started.append((tuple(argv), cwd, dict(env)))
        if not self.dies_with & set(argv):
            self.alive[pane] = dict(env)
        if self.kills_node:
            raise Killed
        return pane

    async def panes(self) -> tuple[PaneRef, ...]:
        seen = tuple(self.alive)
        meanwhile, self.while_listing = self.while_listing, None
        if meanwhile is not None:
            await meanwhile()
        return seen

    async def kill(self, pane: PaneRef) -> None:
        self.killed.append(pane)
        self.alive.pop(pane, None)

    async def rename(self, pane: PaneRef, name: str) -> None:
        assert pane in self.alive

    async def wake_suspended(self, pane: PaneRef, profile: PromptProfile) -> None:
        assert pane in self.alive

    def attach_argv(self, pane: PaneRef) -> tuple[str, ...]:
        return ("tmux", "attach", pane.pane)

    async def environment(self, pane: PaneRef) -> Mapping[str, str]:
        return self.alive.get(pane, {})

    def panes_of(self, session: str) -> list[PaneRef]:
        return [pane for pane, env in self.alive.items() if env.get("HELIOGRAPH_SESSION") == session]


@dataclass(slots=True)
class TwinDrivers:
    """Implements workrooms.Drivers and its Driver: a workspace is on once it was booted."""

    states: dict[str, WorkspaceState] = field(default_factory=dict)
    booted: list[str] = field(default_factory=list)
    refuse: dict[str, MeshError] = field(default_factory=dict)

    def of(self, workspace: Workspace) -> TwinDrivers:
        return self

    async def boot(self, workspace: Workspace) -> None:
        self.booted.append(workspace.name)
        if workspace.name in self.refuse:
            raise self.refuse[workspace.name]
        self.states[workspace.name] = WorkspaceState(code=rules.StateCode.ON)

    async def off(self, workspace: Workspace) -> None:
        self.states.pop(workspace.name, None)

    async def state(self, workspace: Workspace) -> WorkspaceState:
        return self.states.get(workspace.name, WorkspaceState(code=rules.StateCode.OFF))

    def wrap(
        self,
        workspace: Workspace,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        given: Mapping[str, str] | None = None,
        read: object = (),
        write: object = (),
    ) -> Wrapped:
        where = () if workspace.key == rules.DEFAULT.key else ("in", workspace.name)
        return Wrapped(argv=(*where, *argv), cwd=cwd, env=dict(env) | dict(given or {}))


@dataclass(slots=True, kw_only=True)
class Workshop:
    """One node with its workers; nothing works by itself, each worker is asked to."""

    home: Path
    mesh: Mesh
    terminals: TwinTerminals
    drivers: TwinDrivers
    files: Files
    approvals: Approvals
    attachments: Attachments
    grounds: Grounds
    workrooms: Workrooms
    launcher: Launcher
    sessions: Sessions
    screener: Screener

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        terminals: TwinTerminals | None = None,
        drivers: TwinDrivers | None = None,
        limits: Limits | None = None,
        clock: ManualClock | None = None,
        entropy: CountedEntropy | None = None,
        screener: Screener | None = None,
    ) -> Workshop:
        """Composes the parts as the daemon does, over the home and the terminals that there are."""
        home = path / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        limits = limits or Limits(approval_wait_s=1, spare_bytes=1, resume_proof_s=1)
        mesh = await Mesh.open(
            home / "node.db", limits=limits, clock=clock, entropy=entropy, resumable=RESUMABLE, screener=screener
        )  # fmt: skip
        screener = screener or RuleScreener()
        terminals, drivers = terminals or TwinTerminals(), drivers or TwinDrivers()
        store, ledger, bells = mesh.store, mesh.ledger, mesh.bells
        files = Files(home=home, limits=limits)
        approvals = Approvals(store=store, bells=bells, ledger=ledger, limits=limits)
        attachments = Attachments(
            store=store, screener=screener, files=files, approvals=approvals, bells=bells, ledger=ledger, limits=limits
        )
        grounds = Grounds(
            store=store, screener=RuleScreener(), trees=Worktrees(home, limits), approvals=approvals, ledger=ledger,
            limits=limits,
        )  # fmt: skip
        workrooms = Workrooms(store=store, drivers=drivers, ledger=ledger)
        equipment = Equipment(folder=home / "agents", helio=("helio",))
        environment = {"PATH": os.environ["PATH"], "HELIOGRAPH_HOME": str(home), "WHOSE": "the node's"}
        lifecycle = Lifecycle(ledger, limits)
        launcher = Launcher(
            store=store, terminals=terminals, grounds=grounds, lifecycle=lifecycle, bells=bells, ledger=ledger,
            reasons=Reasons(store=store, screener=RuleScreener(), ledger=ledger),
            limits=limits, equipment=equipment, places=workrooms, environment=environment,
        )  # fmt: skip
        sessions = Sessions(
            screener=RuleScreener(),
            store=store, terminals=terminals, lifecycle=lifecycle, bells=bells, ledger=ledger, limits=limits,
            equipment=equipment, places=workrooms, environment=environment,
        )  # fmt: skip
        mesh.inbox = type(mesh.inbox)(store=store, ledger=ledger, limits=limits, place=files.place)
        for ringer in (mesh.inbox.ring, attachments.ring, launcher.ring):
            bells.add(ringer)
        mesh.exchanges = Exchanges(
            store=store, broker=mesh.broker, inbox=mesh.inbox, waits=mesh.inbox, stager=attachments, planner=launcher,
            ledger=ledger, limits=limits,
        )  # fmt: skip
        mesh.people = People(mesh.exchanges)
        return cls(
            home=home, mesh=mesh, terminals=terminals, drivers=drivers, files=files, approvals=approvals,
            attachments=attachments, grounds=grounds, workrooms=workrooms, launcher=launcher, sessions=sessions,
            screener=screener,
        )  # fmt: skip

    async def reopened(self) -> Workshop:
        """The node after it went away without a word: a new one over the same home and the same terminals."""
        mesh = self.mesh
        await mesh.store.close()
        self.terminals.kills_node = False
        return await Workshop.open(
            self.home.parent, terminals=self.terminals, drivers=self.drivers, limits=mesh.limits, clock=mesh.clock,
            entropy=mesh.entropy, screener=self.screener,
        )  # fmt: skip

    async def seat(self, nickname: str, cwd: Path, env: Mapping[str, str] | None = None, **changes: object) -> Agent:
        """A running session in that folder, with a terminal that has `env`."""
        number = len(self.terminals.alive) + 500
        pane = PaneRef(server="/run/tmux", pane=f"%{number}", pid=number, started=1, tty=f"/dev/p{number}")
        self.terminals.alive[pane] = {"PATH": os.environ["PATH"], **(env or {})}
        return await self.mesh.seat(nickname, cwd=str(cwd), pane=pane, **changes)

    async def delegated(self, by: Agent, **changes: object) -> tuple[Receipt, Agent]:
        """A delegation, launched."""
        given: dict[str, object] = {"title": "The work", "brief": "Do it.", "tool": "scripted"}
        receipt = await by.send(Delegate(**(given | changes)))  # type: ignore[arg-type]
        await self.launcher.launch_due()
        return receipt, await self.worker_of(receipt)

    async def worker_of(self, receipt: Receipt) -> Agent:
        session = await self.session(receipt.exchange.worker.session or "")
        assert session is not None
        return Agent(mesh=self.mesh, session=session)

    async def session(self, session_id: str) -> Session | None:
        return await self.mesh.store.read(lambda reader: reader.session(session_id))

    async def exchange(self, receipt: Receipt) -> Exchange:
        found = await self.mesh.store.read(lambda reader: reader.exchange(receipt.exchange.id))
        assert found is not None
        return found

    async def messages(self, receipt: Receipt) -> tuple[Message, ...]:
        return await self.mesh.store.read(lambda reader: reader.messages(receipt.exchange.id))

    async def gone(self, agent: Agent) -> None:
        """The agent's terminal is gone, and the node has seen it."""
        session = await self.session(agent.session.id)
        assert session is not None
        assert session.pane is not None
        self.terminals.alive.pop(session.pane, None)
        await self.sessions.watch_once()

    async def launching(self, agent: Agent) -> bool:
        """Whether the agent is about to be started, or started again."""
        return await self.mesh.store.read(lambda reader: reader.launching(agent.session.id))

    async def runs_again(self, agent: Agent) -> None:
        """Until the agent's session runs, which somebody else sees to meanwhile."""

        async def running() -> bool:
            session = await self.session(agent.session.id)
            return session is not None and session.status is SessionStatus.RUNNING

        await until(running)

    async def claude_delegate(self, path: Path) -> tuple[Agent, Agent]:
        """A delegator, and its delegate in Claude Code, which resumes by a conversation."""
        bin_folder = program(path / "bin", "claude")
        boss = await self.seat("boss", path, {"PATH": str(bin_folder)})
        _, delegate = await self.delegated(boss, tool="claude")
        return boss, delegate

    async def archive_due(self) -> None:
        """What the daemon does every tick."""
        now = self.mesh.clock.wall_us()
        for outbox, effect in await self.mesh.store.read(lambda reader: reader.effects("archive", now, 32)):
            await self.sessions.archive_by_id(effect.session)
            await self.mesh.store.write(lambda tx, row=outbox: tx.effect_done(row))  # type: ignore[misc]


@asynccontextmanager
async def workshop(path: Path, **options: object) -> AsyncIterator[Workshop]:
    """A workshop over `path`, closed afterwards."""
    at = await Workshop.open(path, **options)  # type: ignore[arg-type]
    try:
        yield at
    finally:
        await at.mesh.store.close()


def git(folder: Path, *words: str) -> str:
    """What a person's git says there."""
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ("git", "-C", str(folder), *words), env=os.environ | identity, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def project(path: Path, *, commit: bool = True) -> Path:
    """A git repository at `path`/project with one commit, unless told otherwise."""
    folder = path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "file").write_text("one\n")
    if commit:
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "start")
    return folder


def program(folder: Path, name: str) -> Path:
    """A program of that name, in a folder to put on a PATH."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\n")
    path.chmod(0o755)
    return folder
