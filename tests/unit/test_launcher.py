"""Launches: what is refused before anything is recorded, what fails afterwards, and a node that is killed meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.commands import Cancel, Delegate
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import MessageKind, SessionStatus, Status
from node.core.workspace import DriverKind, Workspace
from tests.integration.mesh import INJECTION, Agent, refused, scenario
from tests.integration.workshop import Killed, Workshop, git, program, project, workshop


async def notes(at: Workshop, agent: Agent) -> list[str]:
    unread = await at.mesh.store.read(lambda reader: reader.unread(agent.address, None, 100))
    return [message.text for message in unread if message.kind is MessageKind.NOTE]


# --- refused at once --------------------------------------------------------------------------------------------------


@scenario
async def test_an_unknown_tool_is_refused_with_the_choices(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        with refused(ErrorCode.NOT_FOUND, "'cloude'", "claude, codex, gemini, opencode, qwen", "helio agents"):
            await at.delegated(boss, tool="cloude")
        with pytest.raises(MeshError) as caught:
            await at.delegated(boss, tool="x" * 5000)
        assert len(caught.value.message) < 500
        assert await boss.list(closed=True) == ()


@scenario
async def test_an_agent_that_is_not_installed_is_refused_with_the_choices(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        bin_folder = program(tmp_path / "bin", "codex")
        boss = await at.seat("boss", tmp_path, {"PATH": str(bin_folder)})
        with pytest.raises(MeshError) as caught:
            await at.delegated(boss, tool="claude")
        assert caught.value.code is ErrorCode.UNAVAILABLE
        assert "claude is not installed on this session's PATH" in caught.value.message
        assert caught.value.details["choices"] == ("codex", "scripted")
        assert at.terminals.started == []


@scenario
async def test_without_a_tool_the_delegate_is_what_the_delegator_is(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        bin_folder = program(program(tmp_path / "bin", "qwen"), "gemini")
        path = {"PATH": str(bin_folder)}
        same = await at.seat("same", tmp_path, path, profile="qwen")
        odd = await at.seat("odd", tmp_path, path, profile="generic")
        none = await at.seat("none", tmp_path, {"PATH": str(tmp_path)}, profile="generic")
        assert (await at.delegated(same, tool=""))[1].session.profile == "qwen"
        assert (await at.delegated(odd, tool=""))[1].session.profile == "gemini"
        # The scripted agent of the demo does no work; nobody gets it without asking for it.
        with refused(ErrorCode.NOT_FOUND, "no agent 'generic'"):
            await at.delegated(none, tool="")


@scenario
async def test_what_another_machine_has_installed_is_not_judged_by_this_one(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        await at.workrooms.add(
            Workspace(name="vm", driver=DriverKind.COMMAND, settings=(("exec", "ssh vm {argv:sh}"),))
        )
        boss = await at.seat("boss", tmp_path, {"PATH": str(tmp_path)})
        _, delegate = await at.delegated(boss, tool="claude", workspace="vm")
        assert delegate.session.workspace == "vm"
        with refused(ErrorCode.UNAVAILABLE, "claude is not installed"):
            await at.delegated(boss, tool="claude")


# --- worktrees --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("worktree", "made"), [(None, True), (True, True), (False, False)])
@scenario
async def test_in_a_repository_a_worktree_is_made_unless_it_is_declined(
    tmp_path: Path, *, worktree: bool | None, made: bool
) -> None:
    async with workshop(tmp_path) as at:
        repo = project(tmp_path)
        (repo / "sub").mkdir()
        (repo / "sub" / "x").write_text("x")
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", "more")
        boss = await at.seat("boss", repo / "sub")
        _, delegate = await at.delegated(boss, worktree=worktree, title="")
        assert (delegate.session.branch is not None) is made
        assert (delegate.session.cwd == str(repo / "sub")) is not made
        # The same folder of the project that the delegator is in.
        assert (Path(delegate.session.cwd) / "x").read_text() == "x"


@scenario
async def test_outside_of_a_repository_none_is_made_and_one_that_is_wanted_is_refused(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        folder = tmp_path / "plain"
        folder.mkdir()
        boss = await at.seat("boss", folder)
        with refused(ErrorCode.WRONG_STATE, "not the working tree of a git repository", "worktree to false"):
            await at.delegated(boss, worktree=True)
        _, delegate = await at.delegated(boss)
        assert (delegate.session.cwd, delegate.session.branch) == (str(folder), None)


@pytest.mark.parametrize("worktree", [None, True])
@scenario
async def test_a_repository_without_a_commit_is_refused_at_once(tmp_path: Path, *, worktree: bool | None) -> None:
    async with workshop(tmp_path) as at:
        repo = project(tmp_path, commit=False)
        boss = await at.seat("boss", repo)
        with refused(ErrorCode.WRONG_STATE, "no commit yet", "worktree to false"):
            await at.delegated(boss, worktree=worktree)
        assert await boss.list(closed=True) == ()
        _, delegate = await at.delegated(boss, worktree=False)
        assert delegate.session.cwd == str(repo)


# --- failures after the commit ----------------------------------------------------------------------------------------


@scenario
async def test_a_reason_that_reads_like_an_instruction_is_not_passed_on(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", project(tmp_path))
        at.terminals.refuse = MeshError(ErrorCode.UNAVAILABLE, f"Branch {INJECTION!r} is taken.")
        await at.delegated(boss, nickname="worker")
        (note,) = await notes(at, boss)
        assert "could not be started" in note
        assert "withheld by the node's screen" in note
        assert "ignore" not in note.casefold()
        assert "words_withheld" in [row["decision"] for row in await at.mesh.rows(engine="session")]


@pytest.mark.parametrize(
    "error", [MeshError(ErrorCode.UNAVAILABLE, "tmux is full of holes."), OSError(28, "No space left on device")]
)
@scenario
async def test_a_launch_that_fails_is_told_with_its_reason(tmp_path: Path, error: MeshError | OSError) -> None:
    async with workshop(tmp_path) as at:
        repo = project(tmp_path)
        boss = await at.seat("boss", repo)
        at.terminals.refuse = error
        receipt, delegate = await at.delegated(boss, nickname="worker")
        assert (now := await at.exchange(receipt)).status is Status.FAILED
        assert now.reason == "launch_failed"
        (note,) = await notes(at, boss)
        assert "could not be started" in note
        assert ("full of holes" if isinstance(error, MeshError) else "No space left") in note
        assert delegate.session.status is SessionStatus.ARCHIVED
        rows = [row["decision"] for row in await at.mesh.rows(engine="session")]
        assert rows == ["reserved", "launch_failed"]
        # Nothing half-done stays: no worktree, no branch, no name, no second try, nobody to be told of a brief.
        assert git(repo, "branch", "--format=%(refname:short)") == "main"
        assert list((at.home / "worktrees").iterdir()) == []
        await boss.read()
        at.terminals.refuse = None
        await at.launcher.launch_due()
        assert at.terminals.started == []
        await at.mesh.tick(200)
        assert await at.mesh.store.read(lambda reader: reader.owed_count()) == 0
        _, second = await at.delegated(boss, nickname="worker")
        assert second.session.status is SessionStatus.RUNNING


@scenario
async def test_a_workspace_that_does_not_come_on_fails_the_delegation(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        await at.workrooms.add(Workspace(name="box", driver=DriverKind.BUBBLEWRAP))
        at.drivers.refuse["box"] = MeshError(ErrorCode.UNAVAILABLE, "The box is broken.")
        boss = await at.seat("boss", tmp_path)
        receipt, _ = await at.delegated(boss, workspace="box")
        assert (await at.exchange(receipt)).status is Status.FAILED
        assert "The box is broken." in (await notes(at, boss))[0]


@scenario
async def test_a_slow_start_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    async with workshop(tmp_path, limits=Limits(tick_s=1)) as at:
        boss = await at.seat("boss", tmp_path)
        at.terminals.hold = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(at.launcher.run())
            await boss.send(Delegate(title="slow", brief="x", tool="scripted"))
            await at.terminals.reached.wait()
            slow, at.terminals.hold, at.terminals.reached = at.terminals.hold, None, asyncio.Event()
            receipt = await boss.send(Delegate(title="fast", brief="x", tool="scripted"))
            await at.terminals.reached.wait()
            while (await at.worker_of(receipt)).session.status is not SessionStatus.RUNNING:
                await at.mesh.caught_up()
            assert len(at.terminals.started) == 1
            slow.set()
            while len(at.terminals.started) < 2:
                await at.mesh.caught_up()
            running.cancel()


@scenario
async def test_what_is_cancelled_while_it_starts_does_not_run_afterwards(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        at.terminals.hold = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            receipt = await boss.send(Delegate(title="x", brief="x", tool="scripted", nickname="worker"))
            group.create_task(at.launcher.launch_due())
            await at.terminals.reached.wait()
            await boss.send(Cancel(exchange=None))
            await at.archive_due()
            at.terminals.hold.set()
        delegate = await at.worker_of(receipt)
        assert delegate.session.status is SessionStatus.ARCHIVED
        assert at.terminals.panes_of(delegate.session.id) == []
        assert len(at.terminals.started) == len(at.terminals.killed) == 1


@scenario
async def test_what_is_deleted_while_it_starts_does_not_come_back(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        at.terminals.hold = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            receipt = await boss.send(Delegate(title="x", brief="x", tool="scripted"))
            group.create_task(at.launcher.launch_due())
            await at.terminals.reached.wait()
            worker = receipt.exchange.worker.session or ""
            await at.sessions.remove(worker)
            at.terminals.hold.set()
        assert await at.session(worker) is None
        assert at.terminals.panes_of(worker) == []
        assert (await at.exchange(receipt)).reason == "worker_removed"


@scenario
async def test_a_name_given_while_it_starts_stays(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        at.terminals.hold = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            receipt = await boss.send(Delegate(title="x", brief="x", tool="scripted"))
            group.create_task(at.launcher.launch_due())
            await at.terminals.reached.wait()
            await at.sessions.set_nickname(receipt.exchange.worker.session or "", "late")
            at.terminals.hold.set()
        assert (await at.worker_of(receipt)).session.nickname == "late"


# --- a node that dies -------------------------------------------------------------------------------------------------


@scenario
async def test_a_node_killed_before_the_start_starts_one_agent_afterwards(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path)
    boss = await at.seat("boss", project(tmp_path))
    receipt = await boss.send(Delegate(title="x", brief="x", tool="scripted"))
    at = await at.reopened()
    await at.launcher.launch_due()
    await at.launcher.launch_due()
    worker = receipt.exchange.worker.session or ""
    assert len(at.terminals.panes_of(worker)) == 1
    assert len(at.terminals.started) == 1
    await at.mesh.store.close()


@scenario
async def test_a_terminal_that_was_left_running_is_adopted_with_its_conversation(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path)
    bin_folder = program(tmp_path / "bin", "claude")
    boss = await at.seat("boss", tmp_path, {"PATH": str(bin_folder)})
    at.terminals.kills_node = True
    receipt = await boss.send(Delegate(title="x", brief="x", tool="claude"))
    with pytest.raises(BaseExceptionGroup) as died:
        await at.launcher.launch_due()
    assert died.group_contains(Killed)
    at = await at.reopened()
    await at.launcher.launch_due()
    session = (await at.worker_of(receipt)).session
    assert len(at.terminals.started) == 1
    ((argv, _, _),) = at.terminals.started
    assert session.status is SessionStatus.RUNNING
    assert [session.pane] == at.terminals.panes_of(session.id)
    # What is remembered is the conversation of the agent that runs, not one of an agent that was never started.
    assert session.conversation == argv[argv.index("--session-id") + 1]
    assert session.argv == argv
    await at.mesh.store.close()


@scenario
async def test_a_node_that_stops_in_the_middle_of_a_start_starts_it_when_it_is_back(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path)
    boss = await at.seat("boss", tmp_path)
    receipt = await boss.send(Delegate(title="x", brief="x", tool="scripted"))
    at.terminals.hold = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(at.launcher.run())
        await at.terminals.reached.wait()
        running.cancel()
    at.terminals.hold = None
    at = await at.reopened()
    await at.launcher.launch_due()
    session = (await at.worker_of(receipt)).session
    assert session.status is SessionStatus.RUNNING
    assert len(at.terminals.panes_of(session.id)) == 1
    await at.mesh.store.close()


@scenario
async def test_archived_but_not_yet_ended_when_the_node_died(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        _, delegate = await at.delegated(boss)
        await boss.send(Cancel(exchange=None))
        record = await at.session(delegate.session.id)
        assert record is not None
        archived = replace(record, status=SessionStatus.ARCHIVED)
        await at.mesh.store.write(lambda tx: tx.put_session(archived))
        await at.archive_due()
        assert at.terminals.panes_of(delegate.session.id) == []
