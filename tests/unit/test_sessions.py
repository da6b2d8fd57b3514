"""Sessions: their records, names and endings, over a twin of the terminals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from node.core.commands import Deliver
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import AgentState, Session, SessionStatus, Status
from node.core.prompt import PaneRef, PromptProfile
from node.equipment import Equipment
from node.lifecycle import Lifecycle
from node.ports import NewSession
from node.sessions import Sessions
from node.workrooms import Workrooms
from node.workspaces import Drivers, Place
from tests.integration.mesh import INJECTION, Mesh, refused, running, scenario, texts
from tests.rule_screener import RuleScreener
from tests.waiting import turn


@dataclass(slots=True)
class TwinTerminals:
    """Implements ports.Terminals in memory; keeps what was started with which environment, and what was killed."""

    alive: dict[str, PaneRef] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    environments: list[dict[str, str]] = field(default_factory=list)
    killed: list[PaneRef] = field(default_factory=list)
    looked_after: list[tuple[str, str]] = field(default_factory=list)

    async def start(
        self, argv: Sequence[str], *, cwd: str, env: dict[str, str], name: str, width: int, height: int
    ) -> PaneRef:
        number = len(self.environments)
        pane = PaneRef(
            server="/run/tmux", pane=f"%{number}", pid=1000 + number, started=number, tty=f"/dev/pts/{number}"
        )
        self.environments.append(env)
        self.alive[pane.pane] = pane
        self.names[pane.pane] = name
        return pane

    async def panes(self) -> tuple[PaneRef, ...]:
        return tuple(self.alive.values())

    async def kill(self, pane: PaneRef) -> None:
        self.killed.append(pane)
        self.alive.pop(pane.pane, None)

    async def rename(self, pane: PaneRef, name: str) -> None:
        self.names[pane.pane] = name

    def attach_argv(self, pane: PaneRef) -> tuple[str, ...]:
        return ("tmux", "attach", pane.pane)

    async def wake_suspended(self, pane: PaneRef, profile: PromptProfile) -> None:
        self.looked_after.append((pane.pane, profile.name))


@dataclass(slots=True, kw_only=True)
class Desk:
    """A node's heart with sessions that start."""

    mesh: Mesh
    terminals: TwinTerminals
    sessions: Sessions
    cwd: str

    async def start(self, nickname: str = "", **changes: object) -> Session:
        new = NewSession(argv=("agent",), cwd=self.cwd, env=(("PATH", "/bin"),), nickname=nickname)
        session, _ = await self.sessions.run(replace(new, **changes))  # type: ignore[arg-type]
        return session

    async def record(self, session: Session) -> Session | None:
        return await self.mesh.store.read(lambda reader: reader.session(session.id))


@asynccontextmanager
async def desk(path: Path, limits: Limits | None = None) -> AsyncIterator[Desk]:
    async with running(path, limits=limits) as mesh:
        terminals = TwinTerminals()
        sessions = Sessions(
            screener=RuleScreener(),
            store=mesh.store, terminals=terminals, lifecycle=Lifecycle(mesh.ledger, mesh.limits), bells=mesh.bells,
            equipment=Equipment(folder=path / "agents", helio=("helio",)),
            places=Workrooms(
                store=mesh.store, drivers=Drivers(Place(home=path, run=path, limits=mesh.limits)), ledger=mesh.ledger
            ),
            ledger=mesh.ledger, limits=mesh.limits,
            environment={"HELIOGRAPH_HOME": "/home/x/.heliograph", "HOME": "/home/x", "TMUX": "of the daemon"},
        )  # fmt: skip
        yield Desk(mesh=mesh, terminals=terminals, sessions=sessions, cwd=str(path))


@scenario
async def test_a_session_is_on_record_when_it_runs(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session, alike = await at.sessions.run(
            NewSession(
                argv=("/opt/bin/agent", "-v"), cwd=at.cwd, nickname="@Payments", title=" The\ud800 work ",
                env=(("PATH", "/bin"), ("TMUX", "/x"), ("TMUX_PANE", "%7"), ("HELIOGRAPH_SESSION", "forged")),
            )
        )  # fmt: skip
        assert alike == ()
        assert await at.record(session) == session
        assert (session.nickname, session.title) == ("Payments", "The\ufffd work")
        assert (session.status, session.state) == (SessionStatus.RUNNING, AgentState.UNKNOWN)
        assert at.terminals.environments == [
            {"PATH": "/bin", "HELIOGRAPH_HOME": "/home/x/.heliograph", "HELIOGRAPH_SESSION": session.id}
        ]
        assert list(at.terminals.names.values()) == ["Payments"]
        (row,) = await at.mesh.rows(engine="session")
        assert (row["decision"], row["from"]["session"]) == ("started", session.id)  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"argv": ()}, ErrorCode.INVALID_ARGUMENT),
        ({"argv": ("",)}, ErrorCode.INVALID_ARGUMENT),
        ({"cwd": "/no/such/folder"}, ErrorCode.INVALID_ARGUMENT),
        ({"workspace": "elsewhere"}, ErrorCode.NOT_FOUND),
        ({"title": "x" * 121}, ErrorCode.LIMIT),
        ({"nickname": "no spaces"}, ErrorCode.INVALID_ARGUMENT),
        ({"nickname": "TAKEN"}, ErrorCode.ALREADY_EXISTS),
    ],
)
@scenario
async def test_what_cannot_start_starts_nothing(tmp_path: Path, changes: dict[str, object], code: ErrorCode) -> None:
    async with desk(tmp_path) as at:
        await at.start("taken")
        with refused(code):
            await at.start(**changes)  # type: ignore[arg-type]
        assert len(at.terminals.environments) == 1
        assert len(await at.mesh.store.read(lambda reader: reader.sessions(archived=True))) == 1


@scenario
async def test_only_so_many_sessions_run(tmp_path: Path) -> None:
    async with desk(tmp_path, Limits(sessions=2)) as at:
        first = await at.start()
        await at.start()
        with refused(ErrorCode.LIMIT, "the limit is 2"):
            await at.start()
        assert len(at.terminals.environments) == 2
        await at.sessions.archive(first.id)
        await at.start()


@scenario
async def test_a_new_session_takes_over_the_nickname_of_one_that_ended(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first, _ = await at.sessions.run(NewSession(argv=("claude",), cwd=at.cwd, env=(), nickname="api"))
        at.terminals.alive.clear()
        await at.sessions.watch_once()
        second, _ = await at.sessions.run(NewSession(argv=("claude",), cwd=at.cwd, env=(), nickname="API"))
        stored = await at.mesh.store.read(lambda reader: {s.id: s for s in reader.sessions()})
        assert (stored[first.id].nickname, stored[first.id].status) == (None, SessionStatus.ENDED)
        assert stored[second.id].nickname == "API"
        with pytest.raises(MeshError) as taken:
            await at.sessions.run(NewSession(argv=("claude",), cwd=at.cwd, env=(), nickname="api"))
        assert taken.value.code is ErrorCode.ALREADY_EXISTS


@scenario
async def test_starting_at_the_same_time_gives_a_nickname_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        async with asyncio.TaskGroup() as group:
            starts = [group.create_task(_outcome(at, name)) for name in ("api", "API", "Api")]
        assert sorted(str(task.result()) for task in starts) == ["already_exists", "already_exists", "running"]
        assert len(at.terminals.alive) == 1


async def _outcome(at: Desk, nickname: str) -> str:
    try:
        return (await at.start(nickname)).status.value
    except MeshError as error:
        return error.code.value


@scenario
async def test_nicknames_are_given_changed_and_taken_away(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        one, other = await at.start("payments"), await at.start("api")
        with refused(ErrorCode.ALREADY_EXISTS, one.id[:8]):
            await at.sessions.set_nickname("@api", "Payments")
        changed, alike = await at.sessions.set_nickname("@api", "paymemts")
        assert (changed.nickname, alike) == ("paymemts", ())
        _, alike = await at.sessions.set_nickname("@paymemts", "раyments")
        assert alike == ("@payments",)
        changed, _ = await at.sessions.set_nickname(other.id[:8], "")
        assert changed.nickname is None
        assert at.terminals.names[pane(other)] == other.id[:8]
        assert await at.record(one) == one


@scenario
async def test_two_changes_at_once_are_both_made(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("api")
        async with asyncio.TaskGroup() as group:
            async with at.mesh.held_writer():
                group.create_task(at.sessions.set_nickname(session.id, "payments"))
                group.create_task(at.sessions.rename(session.id, "New title"))
                await turn()
        record = await at.record(session)
        assert record is not None
        assert (record.nickname, record.title) == ("payments", "New title")


@scenario
async def test_a_change_does_not_bring_an_ended_session_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("api")
        at.terminals.alive.clear()
        async with asyncio.TaskGroup() as group:
            async with at.mesh.held_writer():
                group.create_task(at.sessions.watch_once())
                group.create_task(at.sessions.rename(session.id, "New title"))
                await turn()
        record = await at.record(session)
        assert record is not None
        assert (record.status, record.title) == (SessionStatus.ENDED, "New title")


@scenario
async def test_an_ending_is_seen_once_and_told_to_who_waits(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("api")
        alice = await at.mesh.seat("alice", pane=None)
        await at.mesh.store.write(lambda tx: tx.put_session(replace(alice.session, status=SessionStatus.ENDED)))
        opened = await alice.request("@api")
        await at.sessions.watch_once()
        assert await at.record(session) == session
        assert at.terminals.looked_after == [(pane(session), "generic")]
        at.terminals.alive.clear()
        for _ in range(3):
            await at.sessions.watch_once()
        record = await at.record(session)
        assert record is not None
        assert (record.status, record.state) == (SessionStatus.ENDED, AgentState.ENDED)
        (told,) = texts(await alice.read())
        assert "ended without delivering" in told
        assert [row["decision"] for row in await at.mesh.rows(engine="session")] == ["started", "ended"]
        exchange = await at.mesh.store.read(lambda reader: reader.exchange(opened.exchange.id))
        assert exchange is not None
        assert not exchange.status.closed


@scenario
async def test_a_reused_pane_is_not_the_session(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("api")
        at.terminals.alive[pane(session)] = replace(at.terminals.alive[pane(session)], started=99)
        await at.sessions.watch_once()
        record = await at.record(session)
        assert record is not None
        assert record.status is SessionStatus.ENDED


@scenario
async def test_archiving_ends_it_and_frees_its_nickname(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first = await at.start("api")
        await at.sessions.archive("@api")
        assert [p.pane for p in at.terminals.killed] == [pane(first)]
        assert await at.sessions.archive(first.id[:8]) == await at.record(first)
        second = await at.start("api")
        with refused(ErrorCode.WRONG_STATE, "archived"):
            await at.sessions.set_nickname(first.id, "other")
        back, lost = await at.sessions.unarchive(first.id)
        assert (back.nickname, back.status, back.pane, lost) == (None, SessionStatus.ENDED, None, "api")
        await at.sessions.archive(second.id)
        back, lost = await at.sessions.unarchive(second.id)
        assert (back.nickname, lost) == ("api", "")
        with refused(ErrorCode.WRONG_STATE, "not archived"):
            await at.sessions.unarchive("@api")


@scenario
async def test_a_nickname_that_spells_an_id_draws_nothing_to_itself(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        meant = await at.start("worker")
        impostor = await at.start(meant.id)
        await at.sessions.archive_by_id(meant.id)
        assert at.terminals.killed == [meant.pane]
        assert (await at.sessions.archive(meant.id)).id == meant.id
        running = await at.record(impostor)
        assert running is not None
        assert running.status is SessionStatus.RUNNING
        assert (await at.sessions.archive(f"@{meant.id}")).id == impostor.id


@scenario
async def test_removing_fails_what_was_owed_and_keeps_the_record_of_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("api")
        alice = await at.mesh.seat("alice")
        owed, delivered = await alice.request("@api"), await alice.request("@api", "Another thing.")
        worker = replace(alice, session=session)
        await worker.send(Deliver(exchange=delivered.exchange.id, text="Done."))
        assert await at.sessions.remove("@api") == (session.id, (owed.exchange.id,))
        assert await at.record(session) is None
        assert at.terminals.alive == {}
        found = {c.exchange.id: c.exchange.status for c in await alice.list(closed=True)}
        assert found == {owed.exchange.id: Status.FAILED, delivered.exchange.id: Status.DELIVERED}
        assert len(texts(await alice.read())) == 2
        for _ in range(5):
            await at.mesh.tick(200)
        assert at.mesh.typer.lines == []
        with refused(ErrorCode.NOT_FOUND):
            await at.sessions.attach_argv(session.id)


@scenario
async def test_an_agent_without_a_record_is_not_left_behind(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.mesh.store.close()
        with refused(ErrorCode.NODE_NOT_RUNNING):
            await at.sessions.run(NewSession(argv=("agent",), cwd=at.cwd, env=()))
        assert at.terminals.alive == {}


@scenario
async def test_a_session_is_meant_by_name_or_id_and_only_whole(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("chief-khaliq")
        for wanted in ("@chief-khaliq", "CHIEF-khaliq", session.id, session.id[:6]):
            assert (await at.sessions.attach_argv(wanted))[-1] == pane(session)
        for wanted in ("@chief", "chief", "@", "zzzzzz"):
            with pytest.raises(MeshError):
                await at.sessions.attach_argv(wanted)


@pytest.mark.parametrize(("title", "code"), [("", ErrorCode.INVALID_ARGUMENT), ("x" * 121, ErrorCode.LIMIT)])
@scenario
async def test_a_title_says_something_and_fits(tmp_path: Path, title: str, code: ErrorCode) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("api")
        with refused(code):
            await at.sessions.rename("@api", title)
        assert await at.record(session) == session


def pane(session: Session) -> str:
    assert session.pane is not None
    return session.pane.pane


# --- what other agents see --------------------------------------------------------------------------------------------


@scenario
async def test_a_title_that_other_agents_would_read_passes_the_screen(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        session = await at.start("api")
        with refused(ErrorCode.WITHHELD, "nothing was changed"):
            await at.sessions.rename(session.id, INJECTION)
        record = await at.record(session)
        assert record is not None
        assert record.title == session.title
        before = len(at.terminals.alive)
        with refused(ErrorCode.WITHHELD, "list_peers"):
            await at.sessions.run(NewSession(argv=("sh",), cwd=str(tmp_path), env=(), title=INJECTION))
        assert len(at.terminals.alive) == before
