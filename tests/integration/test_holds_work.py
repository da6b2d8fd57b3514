"""Held briefs and flagged files: nobody is started and nothing lands before a person allows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from node.core.approval import ApprovalKind, Decision
from node.core.commands import Cancel, Delegate, Receipt, Request, Steer
from node.core.limits import Limits
from node.core.model import SessionStatus, Status
from node.core.workspace import ScreenMode
from tests.holds_stage import SECRET, AskingScreener, Person, exchange_of, story
from tests.integration.mesh import INJECTION, Agent, scenario, texts
from tests.integration.workshop import Workshop, workshop

ONCE, SESSION, ALWAYS, DENIED = Decision.ONCE, Decision.SESSION, Decision.ALWAYS, Decision.DENIED
WAITS = "held: waits for a person's approval"
QUICK = Limits(approval_wait_s=1, spare_bytes=1, resume_proof_s=1, approvals_pending=2)


async def pair(at: Workshop, path: Path) -> tuple[Agent, Agent, Person]:
    for name in ("a", "b"):
        (path / name).mkdir()
    alice, bob = await at.seat("alice", path / "a"), await at.seat("bob", path / "b")
    return alice, bob, Person.at(at.mesh)


async def sent(alice: Agent, *files: str, text: str = "See the files.") -> Receipt:
    return await alice.send(Request(to="@bob", text=text, files=files))


async def landed(at: Workshop, receipt: Receipt) -> bool:
    await at.attachments.land_due()
    return (await at.mesh.message(receipt.message.id)).ladder.landed_us is not None


# --- briefs -----------------------------------------------------------------------------------------------------------


@scenario
async def test_a_delegate_is_started_once_its_brief_is_allowed(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        boss, person = await at.seat("boss", tmp_path), Person.at(at.mesh)
        receipt = await boss.send(Delegate(title="Work", brief=SECRET, tool="scripted"))
        delegate = await at.worker_of(receipt)
        assert receipt.message.ladder.rung == WAITS
        assert delegate.session.status is SessionStatus.STARTING
        await at.launcher.launch_due()
        assert not await at.launching(delegate)
        assert at.terminals.started == []
        question = await person.only()
        assert question.session == delegate.session.id
        assert question.words.startswith("A brief from @boss to ")
        await person.says(ONCE)
        await at.launcher.launch_due()
        session = await at.session(delegate.session.id)
        assert session is not None
        assert session.status is SessionStatus.RUNNING
        assert texts(await delegate.read()) == [SECRET]
        assert await story(at.mesh, receipt.message) == [("held", "secrets"), ("approved", "message"), ("read", None)]


@scenario
async def test_a_delegate_whose_brief_is_refused_is_put_away_unstarted(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        boss, person = await at.seat("boss", tmp_path), Person.at(at.mesh)
        receipt = await boss.send(Delegate(title="Work", brief=SECRET, tool="scripted"))
        await person.says(DENIED)
        await at.archive_due()
        await at.launcher.launch_due()
        assert at.terminals.started == []
        session = await at.session(receipt.exchange.worker.session or "")
        assert session is not None
        assert session.status is SessionStatus.ARCHIVED
        exchange = await exchange_of(at.mesh, receipt.exchange.id)
        assert (exchange.status, exchange.reason) == (Status.FAILED, "withheld")
        assert "Your brief (message 1) was refused" in texts(await boss.read())[0]


@scenario
async def test_a_hold_outlives_the_node_with_its_plan(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path, screener=AskingScreener())
    boss = await at.seat("boss", tmp_path)
    receipt = await boss.send(Delegate(title="Work", brief=SECRET, tool="scripted"))
    back = await at.reopened()
    await Person.at(back.mesh).says(ONCE)
    again = await back.reopened()
    await again.launcher.launch_due()
    assert texts(await (await again.worker_of(receipt)).read()) == [SECRET]
    assert len(again.terminals.started) == 1
    await again.mesh.store.close()


# --- files of a message that is held for its text ---------------------------------------------------------------------


@scenario
async def test_files_land_after_the_approval_of_their_message(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, bob, person = await pair(at, tmp_path)
        (tmp_path / "a" / "x").write_text("hello")
        receipt = await sent(alice, "x", text=SECRET)
        assert not await landed(at, receipt)
        await person.says(ONCE)
        assert (await bob.read()).taken == ()
        assert await landed(at, receipt)
        (taken,) = (await bob.read()).taken
        assert [Path(path).read_text() for path in taken.paths] == ["hello"]


@scenario
async def test_files_of_a_refused_message_never_land(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, _, person = await pair(at, tmp_path)
        (tmp_path / "a" / "x").write_text("hello")
        receipt = await sent(alice, "x", text=SECRET)
        await person.says(DENIED)
        assert not await landed(at, receipt)
        assert not (at.home / "inbox").exists()


# --- what is in the files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [SECRET, INJECTION])
@scenario
async def test_a_text_file_that_is_flagged_waits_for_a_person(tmp_path: Path, content: str) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, bob, person = await pair(at, tmp_path)
        (tmp_path / "a" / "notes.txt").write_text(content)
        (tmp_path / "a" / "fine.txt").write_text("Nothing to see.")
        receipt = await sent(alice, "fine.txt", "notes.txt")
        steer = await alice.send(Steer(exchange=receipt.exchange.id, text="Quickly."))
        assert not await landed(at, receipt)
        message = await at.mesh.message(receipt.message.id)
        assert (message.ladder.screened, message.ladder.rung) == ("hold", WAITS)
        question = await person.only()
        assert question.kind is ApprovalKind.MESSAGE_FILE
        assert question.words.startswith("A request from @alice to @bob brings the file notes.txt, which ")
        # What came behind it says nothing without it.
        assert (await bob.read()).taken == ()
        assert not (at.home / "inbox").exists()
        await person.says(ONCE)
        assert await landed(at, receipt)
        assert [taken.message.id for taken in (await bob.read()).taken] == [receipt.message.id, steer.message.id]
        decisions = [decision for decision, _ in await story(at.mesh, message)]
        assert decisions == ["relayed", "held", "approved", "landed", "read"]
        assert (await at.mesh.verification()).ok


@scenario
async def test_a_refused_file_takes_its_message_with_it(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, bob, person = await pair(at, tmp_path)
        (tmp_path / "a" / "notes.txt").write_text(SECRET)
        receipt = await sent(alice, "notes.txt")
        assert not await landed(at, receipt)
        await person.says(DENIED)
        assert not await landed(at, receipt)
        assert (await bob.read()).taken == ()
        assert "was refused by the person at the other end: for what is in its files" in texts(await alice.read())[0]
        assert (await exchange_of(at.mesh, receipt.exchange.id)).status is Status.FAILED


@scenario
async def test_text_and_file_are_two_questions(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, bob, person = await pair(at, tmp_path)
        (tmp_path / "a" / "notes.txt").write_text(SECRET)
        receipt = await sent(alice, "notes.txt", text=SECRET)
        assert (await person.only()).kind is ApprovalKind.MESSAGE
        await person.says(ONCE)
        assert not await landed(at, receipt)
        assert (await person.only()).kind is ApprovalKind.MESSAGE_FILE
        await person.says(ONCE)
        assert await landed(at, receipt)
        assert texts(await bob.read()) == [SECRET]


@pytest.mark.parametrize("decision", [SESSION, ALWAYS])
@scenario
async def test_an_allowed_file_passes_from_then_on(tmp_path: Path, decision: Decision) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, _, person = await pair(at, tmp_path)
        (tmp_path / "a" / "notes.txt").write_text(SECRET)
        first = await sent(alice, "notes.txt")
        assert not await landed(at, first)
        await person.says(decision)
        second = await sent(alice, "notes.txt", text="Once more.")
        assert await landed(at, second)
        assert ("files_flagged", "allow_list") in await story(at.mesh, second.message)
        # The words of the file are no message that was allowed.
        assert (await sent(alice, text=SECRET)).message.awaits_approval
        (tmp_path / "a" / "notes.txt").write_text(f"{SECRET}!")
        assert not await landed(at, await sent(alice, "notes.txt"))


@scenario
async def test_in_mode_log_flagged_files_land_and_are_noted(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, _, person = await pair(at, tmp_path)
        await person.screens(ScreenMode.LOG)
        (tmp_path / "a" / "notes.txt").write_text(INJECTION)
        receipt = await sent(alice, "notes.txt")
        assert await landed(at, receipt)
        assert ("files_flagged", "log_only") in await story(at.mesh, receipt.message)


@pytest.mark.parametrize(
    "data",
    [SECRET.encode() + bytes(60), SECRET.encode() + b"\xff" * 60, SECRET.encode().ljust(1_001), b""],
    ids=["nul", "not utf-8", "too long", "empty"],
)
@scenario
async def test_what_is_no_text_of_that_size_is_not_screened(tmp_path: Path, data: bytes) -> None:
    limits = Limits(approval_wait_s=1, spare_bytes=1, screened_file_bytes=1_000)
    async with workshop(tmp_path, screener=AskingScreener(), limits=limits) as at:
        alice, _, _ = await pair(at, tmp_path)
        (tmp_path / "a" / "x").write_bytes(data)
        assert await landed(at, await sent(alice, "x"))
        for text in (SECRET.encode().ljust(1_000), SECRET.encode() + b"\xff", b"\0" + SECRET.encode()):
            # An agent reads it for all of its one odd byte.
            (tmp_path / "a" / "x").write_bytes(text)
            assert not await landed(at, await sent(alice, "x"))


@scenario
async def test_every_text_file_in_a_folder_is_read(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, _, person = await pair(at, tmp_path)
        deep = tmp_path / "a" / "box" / "deep"
        deep.mkdir(parents=True)
        (tmp_path / "a" / "box" / "big.bin").write_bytes(bytes(3_000_000))
        (deep / ("long name " * 15)).write_text("fine")
        (deep / "z.md").write_text(SECRET)
        receipt = await sent(alice, "box")
        assert not await landed(at, receipt)
        assert "the file box/deep/z.md, which asks for secrets" in (await person.only()).words
        await person.says(ONCE)
        assert await landed(at, receipt)


@scenario
async def test_only_so_many_are_read_and_that_is_on_record(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener(), limits=Limits(spare_bytes=1, screened_files=2)) as at:
        alice, _, _ = await pair(at, tmp_path)
        box = tmp_path / "a" / "box"
        box.mkdir()
        for name in ("1", "2", "3"):
            (box / name).write_text("fine" if name != "3" else SECRET)
        receipt = await sent(alice, "box")
        assert await landed(at, receipt)
        assert ("files_unscreened", "screened_files") in await story(at.mesh, receipt.message)


@scenario
async def test_several_flagged_files_are_one_question(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, _, person = await pair(at, tmp_path)
        for name in ("one", "two"):
            (tmp_path / "a" / name).write_text(f"{SECRET} {name}")
        receipt = await sent(alice, "one", "two")
        assert not await landed(at, receipt)
        assert "the file one and 1 more, which" in (await person.only()).words
        await person.says(ONCE)
        assert await landed(at, receipt)


@scenario
async def test_files_are_screened_once_however_often_landing_is_tried(tmp_path: Path) -> None:
    class Counting(AskingScreener):
        files = 0

        async def screen(self, fields: Sequence[object]):  # type: ignore[no-untyped-def]
            self.files += sum(getattr(field, "name", "") == "file" for field in fields)
            return await super().screen(fields)  # type: ignore[arg-type]

    screener = Counting()
    async with workshop(tmp_path, screener=screener, limits=Limits(spare_bytes=1)) as at:
        alice, bob, _ = await pair(at, tmp_path)
        (tmp_path / "a" / "x").write_text("fine")
        receipt = await sent(alice, "x")
        # In the way of the landing: a file where its folder would be.
        (at.home / "inbox").mkdir(mode=0o700)
        (at.home / "inbox" / bob.session.id).write_text("")
        for _ in range(3):
            assert not await landed(at, receipt)
            at.mesh.clock.advance(at.mesh.limits.tick_s + 1)
        (at.home / "inbox" / bob.session.id).unlink()
        assert await landed(at, receipt)
        assert screener.files == 1


@scenario
async def test_files_beyond_what_a_person_is_asked_are_withheld(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener(), limits=QUICK) as at:
        alice, bob, person = await pair(at, tmp_path)
        receipts: list[Receipt] = []
        for name in ("one", "two", "three"):
            (tmp_path / "a" / name).write_text(f"{SECRET} {name}")
            receipts.append(await sent(alice, name))
            assert not await landed(at, receipts[-1])
        assert len(await person.asked()) == 2
        last = await at.mesh.message(receipts[-1].message.id)
        assert (last.withheld, last.ladder.rung) == (True, "withheld")
        assert (await exchange_of(at.mesh, receipts[-1].exchange.id)).status is Status.FAILED
        (told,) = texts(await alice.read())
        assert "was withheld because a file of it asks for secrets" in told
        assert "2 messages to that session wait" in told
        assert (await bob.read()).taken == ()


@scenario
async def test_of_files_of_a_closed_exchange_nobody_is_asked(tmp_path: Path) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        alice, bob, person = await pair(at, tmp_path)
        (tmp_path / "a" / "notes.txt").write_text(SECRET)
        receipt = await sent(alice, "notes.txt")
        await alice.send(Cancel(exchange=receipt.exchange.id, reason="Never mind."))
        assert not await landed(at, receipt)
        assert await person.asked() == ()
        assert (await at.mesh.message(receipt.message.id)).ladder.held == "withdrawn"
        assert texts(await bob.read()) == ["Never mind."]


@pytest.mark.parametrize("answer", [Decision.ONCE, Decision.DENIED])
@scenario
async def test_a_delegate_is_not_started_before_the_files_of_its_brief_are_judged(
    tmp_path: Path, answer: Decision
) -> None:
    async with workshop(tmp_path, screener=AskingScreener()) as at:
        boss, person = await at.seat("boss", tmp_path), Person.at(at.mesh)
        (tmp_path / "notes.txt").write_text(SECRET)
        receipt = await boss.send(Delegate(title="Work", brief="See it.", tool="scripted", files=("notes.txt",)))
        await at.launcher.launch_due()
        assert at.terminals.started == []
        assert not await landed(at, receipt)
        await at.launcher.launch_due()
        assert at.terminals.started == []
        await person.says(answer)
        assert await landed(at, receipt) is (answer is Decision.ONCE)
        await at.archive_due()
        await at.launcher.launch_due()
        assert len(at.terminals.started) == (answer is Decision.ONCE)
