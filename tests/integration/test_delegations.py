"""Delegations through the whole heart of a node: opened, launched, worked on, closed, and what may not be."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.commands import Answer, Ask, Cancel, Close, Delegate, Deliver, Report, Request, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Address, MessageKind, SessionStatus, Status
from node.core.workspace import DriverKind, Workspace
from tests.integration.mesh import INJECTION, NODE, Agent, refused, scenario, texts
from tests.integration.workshop import Workshop, git, project, workshop
from tests.waiting import until

WORK = Delegate(title="The work", brief="Count the files.", contract="a number", scope="src", tool="scripted")


async def notes(at: Workshop, agent: Agent) -> list[str]:
    """What the node itself has told that session and it has not read."""
    unread = await at.mesh.store.read(lambda reader: reader.unread(agent.address, None, 100))
    return [message.text for message in unread if message.kind is MessageKind.NOTE]


async def decisions(at: Workshop, engine: str) -> list[object]:
    return [row["decision"] for row in await at.mesh.rows(engine=engine)]


@scenario
async def test_the_whole_way_from_the_brief_to_the_archive(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        repo = project(tmp_path)
        boss = await at.seat("boss", repo)
        receipt, delegate = await at.delegated(
            boss, brief="Count the files.", contract="a number", scope="src", nickname="counter"
        )
        assert (receipt.exchange.status, receipt.exchange.depth) == (Status.STARTING, 1)
        session = delegate.session
        assert (session.status, session.nickname, session.parent) == (
            SessionStatus.RUNNING, "counter", boss.session.id,
        )  # fmt: skip
        assert session.branch == "helio/counter"
        assert Path(session.cwd).is_relative_to(at.home / "worktrees")
        assert git(Path(session.cwd), "symbolic-ref", "--short", "HEAD") == "helio/counter"
        # The brief is not on the command line: it is told of by a notice and read with read_inbox.
        ((argv, cwd, env),) = at.terminals.started
        assert not any("Count" in word for word in argv)
        assert (cwd, env["HELIOGRAPH_SESSION"]) == (session.cwd, session.id)
        await at.mesh.tick(2)
        assert [who for who, _, _ in at.mesh.typer.lines] == [session.id]

        (taken,) = (await delegate.read()).taken
        assert taken.sender == "@boss"
        assert taken.message.text == "Count the files.\n\nDone means: a number\n\nStay within: src"
        await delegate.send(Ask(exchange=None, text="Hidden ones too?"))
        assert texts(await boss.read()) == ["Hidden ones too?"]
        await boss.send(Answer(question=None, text="No."))
        assert texts(await delegate.read()) == ["No."]
        await delegate.send(Report(exchange=None, text="Half done."))
        await delegate.send(Deliver(exchange=None, text="12"))
        assert texts(await boss.read()) == ["Half done.", "12"]
        await boss.send(Close(exchange=None, accepted=True))
        await at.archive_due()
        ended = await at.session(session.id)
        assert ended is not None
        assert ended.status is SessionStatus.ARCHIVED
        assert at.terminals.killed == [session.pane]
        assert git(repo, "branch", "--list", "helio/counter") != ""
        assert Path(session.cwd).is_dir()
        assert await decisions(at, "session") == ["reserved", "started", "archived"]
        assert await decisions(at, "worktree") == ["created"]
        assert (await decisions(at, "agent.delegation"))[0] == "relayed"
        assert (await at.mesh.verification()).ok
        # Nobody will sit there any more: what was owed is not owed for ever.
        await at.mesh.tick(200)
        assert await at.mesh.store.read(lambda reader: reader.owed_count()) == 0


@scenario
async def test_nesting_ends_at_three_and_says_so_also_when_the_middle_was_put_away(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        agent = await at.seat("top", tmp_path)
        chain = [agent]
        for depth in (1, 2, 3):
            receipt, agent = await at.delegated(agent)
            assert receipt.exchange.depth == depth
            await agent.read()
            chain.append(agent)
        with refused(ErrorCode.LIMIT, "3 levels down", "the limit is 3"):
            await agent.send(WORK)
        await at.sessions.archive(chain[1].session.id)
        with refused(ErrorCode.LIMIT, "3 levels down"):
            await agent.send(WORK)
        assert len(at.terminals.started) == 3
        refusals = [row for row in await at.mesh.rows(engine="agent.delegation") if row["decision"] == "refused"]
        assert [row["reason"] for row in refusals] == ["limit", "limit"]


@scenario
async def test_nine_at_once_are_one_too_many(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        for number in range(8):
            await boss.send(Delegate(title=f"part {number}", brief="Do it.", tool="scripted"))
        with refused(ErrorCode.LIMIT, "8 open exchanges", "the limit is 8", "list_delegations"):
            await boss.send(WORK)
        await at.launcher.launch_due()
        assert len(at.terminals.started) == 8
        (first, *_) = await boss.list()
        await boss.send(Cancel(exchange=first.exchange.id))
        await boss.send(WORK)


@scenario
async def test_a_withheld_brief_starts_nobody_and_nobody_hears_of_it(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", project(tmp_path))
        for hostile in (
            Delegate(title="x", brief=INJECTION, tool="scripted", nickname="evil"),
            Delegate(title=INJECTION, brief="x", tool="scripted", nickname="evil"),
            Delegate(title="x", brief="x", contract=INJECTION, tool="scripted", nickname="evil"),
            Delegate(title="x", brief="x", scope=INJECTION, tool="scripted", nickname="evil"),
        ):
            receipt = await boss.send(hostile)
            assert receipt.message.withheld
            assert (receipt.exchange.status, receipt.exchange.reason) == (Status.FAILED, "withheld")
        await at.launcher.launch_due()
        assert at.terminals.started == []
        assert [s.id for s in await at.mesh.store.read(lambda r: r.sessions(archived=True))] == [boss.session.id]
        worker = Address(node=NODE, session=receipt.exchange.worker.session)
        assert await at.mesh.store.read(lambda r: r.exchanges_of(worker, closed=True)) == ()
        assert not (at.home / "worktrees").exists()
        assert await decisions(at, "agent.delegation") == ["withheld"] * 4
        assert await at.mesh.store.read(lambda r: r.next_due("launch")) is None


@scenario
async def test_a_call_made_twice_starts_one_agent(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        call = boss.call(WORK)
        first, _ = await at.mesh.exchanges.send(call, WORK, 0)
        again, _ = await at.mesh.exchanges.send(call, WORK, 0)
        assert (again.exchange.id, again.repeated) == (first.exchange.id, True)
        await asyncio.gather(at.launcher.launch_due(), at.launcher.launch_due())
        assert len(at.terminals.started) == 1


@scenario
async def test_a_nickname_that_is_taken_opens_nothing(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        with refused(ErrorCode.ALREADY_EXISTS, "@BOSS is taken"):
            await at.delegated(boss, nickname="BOSS")
        assert await boss.list() == ()


@scenario
async def test_a_person_delegates_only_through_an_agent(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        with refused(ErrorCode.INVALID_ARGUMENT, "Only a session can delegate"):
            await at.mesh.people.send(WORK, "key")


@scenario
async def test_deleting_the_delegates_session_fails_the_exchange(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        receipt, delegate = await at.delegated(boss)
        _, failed = await at.sessions.remove(delegate.session.id)
        assert failed == (receipt.exchange.id,)
        assert ((now := await at.exchange(receipt)).status, now.reason) == (Status.FAILED, "worker_removed")
        (note,) = await notes(at, boss)
        assert "was deleted before it delivered" in note
        assert at.terminals.panes_of(delegate.session.id) == []


@pytest.mark.parametrize("command", [Close(exchange=None, accepted=True), Cancel(exchange=None)])
@scenario
async def test_who_has_ended_is_not_started_again_for_a_farewell(tmp_path: Path, command: Close | Cancel) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        _, delegate = await at.delegated(boss)
        await delegate.send(Deliver(exchange=None, text="done"))
        assert delegate.session.pane is not None
        del at.terminals.alive[delegate.session.pane]
        await at.sessions.watch_once()
        await boss.send(command)
        await at.launcher.launch_due()
        await at.archive_due()
        await at.launcher.launch_due()
        assert len(at.terminals.started) == 1
        ended = await at.session(delegate.session.id)
        assert ended is not None
        assert ended.status is SessionStatus.ARCHIVED


@scenario
async def test_an_ended_delegate_is_resumed_by_the_next_steer_and_told_of_once(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        receipt, delegate = await at.delegated(boss)
        await delegate.read()
        at.mesh.clock.advance(at.mesh.limits.agent_leaving_s + 1)
        await at.sessions.watch_once()
        assert delegate.session.pane is not None
        del at.terminals.alive[delegate.session.pane]
        await at.sessions.watch_once()
        await at.sessions.watch_once()
        (note,) = await notes(at, boss)
        assert "ended without delivering" in note
        await boss.read()
        await boss.send(Steer(exchange=None, text="Go on."))
        await boss.send(Steer(exchange=None, text="And hurry."))
        await at.launcher.launch_due()
        resumed = await at.session(delegate.session.id)
        assert resumed is not None
        assert (resumed.status, resumed.conversation) == (SessionStatus.RUNNING, delegate.session.conversation)
        assert len(at.terminals.started) == 2
        assert texts(await delegate.read()) == ["Go on.", "And hurry."]
        assert await notes(at, boss) == []
        assert not (await at.exchange(receipt)).ended_noted
        assert await decisions(at, "session") == ["reserved", "started", "ended", "resumed"]


@scenario
async def test_words_of_the_node_itself_start_nobody(tmp_path: Path) -> None:
    """A delegator and its delegate both ended: that the one is told of the other brings nobody back."""
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        await at.delegated(boss)
        at.terminals.alive.clear()
        await at.sessions.watch_once()
        assert len(await notes(at, boss)) == 1
        await at.launcher.launch_due()
        assert at.terminals.alive == {}


@scenario
async def test_a_request_to_an_ended_agent_starts_it_if_the_node_can(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        asker = await at.seat("asker", tmp_path)
        known = await at.seat("known", tmp_path, status=SessionStatus.ENDED, profile="scripted")
        await at.seat("odd", tmp_path, status=SessionStatus.ENDED, profile="generic")
        at.terminals.alive.clear()
        notes_on = {p.session.nickname: p.note for p in await at.mesh.exchanges.peers(asker.call("peers"))}
        assert notes_on["known"] == "its agent ended; a request starts it again"
        assert notes_on["odd"] == "its agent ended; it cannot be asked"
        with refused(ErrorCode.UNAVAILABLE, "@odd has ended"):
            await asker.request("@odd")
        await asker.request("@known")
        await at.launcher.launch_due()
        assert len(at.terminals.panes_of(known.session.id)) == 1
        await at.mesh.tick(2)
        assert known.session.id in [who for who, _, _ in at.mesh.typer.lines]
        # No conversation of it was on record, so it is a fresh one, and that is said.
        (note,) = await notes(at, asker)
        assert "could not be resumed, so a fresh one was started" in note


@scenario
async def test_reach_is_one_way_and_answers_travel_back(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        for name in ("box", "far"):
            await at.workrooms.add(Workspace(name=name, driver=DriverKind.BUBBLEWRAP))
        await at.workrooms.reach("box", ())
        host = await at.seat("host", tmp_path)
        inmate = await at.seat("inmate", tmp_path, workspace="box")
        await at.seat("other", tmp_path, workspace="far")
        for target in ("@host", "@other"):
            with refused(ErrorCode.REACH, "workspace 'box'", "only sessions in the same workspace"):
                await inmate.request(target)
        with pytest.raises(MeshError) as unknown:
            await inmate.request("@nobody")
        # A slip of the pen is no way to learn who else is there.
        assert unknown.value.details["choices"] == ("@inmate",)
        with refused(ErrorCode.REACH, "Out of reach"):
            await inmate.send(Delegate(title="x", brief="x", tool="scripted", workspace="far"))
        assert [p.session.nickname for p in await at.mesh.exchanges.peers(inmate.call("peers"))] == ["inmate"]
        await host.request("@inmate", "Which port?")
        peers = await at.mesh.exchanges.peers(inmate.call("peers again"))
        assert {p.session.nickname for p in peers} == {"inmate", "host"}
        assert texts(await inmate.read()) == ["Which port?"]
        await inmate.send(Ask(exchange=None, text="Of what?"))
        await host.send(Answer(question=None, text="The service."))
        await inmate.send(Deliver(exchange=None, text="8080"))
        assert texts(await host.read()) == ["Of what?", "8080"]
        _, delegate = await at.delegated(inmate, workspace="BOX")
        assert delegate.session.workspace == "box"
        assert at.drivers.booted == ["box"]
        with refused(ErrorCode.NOT_FOUND, "no workspace 'nowhere'", "default, box, far"):
            await host.send(Delegate(title="x", brief="x", tool="scripted", workspace="nowhere"))


@scenario
async def test_a_delegate_that_would_wait_for_its_waiting_delegator_is_refused(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        receipt, delegate = await at.delegated(boss, nickname="worker")
        await delegate.read()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(boss.wait(receipt.exchange.id, seconds=15))
            await until(lambda: at.mesh.blocked(boss, delegate))
            call = delegate.call("request")
            with refused(ErrorCode.CYCLE, "@worker waits for @boss waits for @worker"):
                await at.mesh.exchanges.send(call, Request(to="@boss", text="Which one?"), 15)
            # A question in the delegation itself is the way, and ends the wait.
            await delegate.send(Ask(exchange=None, text="Which one?"))
            assert texts(await waiting) == ["Which one?"]


@scenario
async def test_questions_of_a_nested_delegate_go_one_step_up(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        outer, middle = await at.delegated(boss)
        await middle.read()
        inner, leaf = await at.delegated(middle)
        await leaf.read()
        assert (inner.exchange.parent, inner.exchange.root, inner.exchange.depth) == (
            outer.exchange.id, outer.exchange.id, 2,
        )  # fmt: skip
        await leaf.send(Ask(exchange=None, text="Why?"))
        assert await boss.unread() == []
        assert texts(await middle.read()) == ["Why?"]
        with refused(ErrorCode.NOT_FOUND):
            await boss.list(inner.exchange.id)


@scenario
async def test_only_so_many_sessions_are_reserved(tmp_path: Path) -> None:
    async with workshop(tmp_path, limits=Limits(sessions=2)) as at:
        boss = await at.seat("boss", tmp_path)
        await boss.send(WORK)
        with refused(ErrorCode.LIMIT, "2 sessions run already; the limit is 2"):
            await boss.send(WORK)


@scenario
async def test_two_sessions_in_one_folder_are_resumed_each_with_its_own_conversation(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        boss = await at.seat("boss", tmp_path)
        pair = [(await at.delegated(boss, nickname=name))[1] for name in ("one", "two")]
        for agent in pair:
            named = replace(agent.session, conversation=f"conversation-{agent.name[1:]}")
            await at.mesh.store.write(lambda tx, named=named: tx.put_session(named))  # type: ignore[misc]
        at.terminals.alive.clear()
        await at.sessions.watch_once()
        for agent in reversed(pair):
            await boss.send(Steer(exchange=(await _exchange_with(at, agent)), text="Go on."))
        await at.launcher.launch_due()
        for agent in pair:
            now = await at.session(agent.session.id)
            assert now is not None
            assert (now.status, now.conversation) == (SessionStatus.RUNNING, f"conversation-{agent.name[1:]}")


async def _exchange_with(at: Workshop, agent: Agent) -> str:
    (found,) = await at.mesh.store.read(lambda reader: reader.exchanges_of(agent.address, closed=False))
    return found.id
