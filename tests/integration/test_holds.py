"""Messages that wait for a person: told to the sender, shown to the person, read once or never."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.core.approval import ApprovalKind, Decision
from node.core.canonical import decode
from node.core.commands import Answer, Ask, Cancel, Close, Command, Deliver, Report, Request, Steer
from node.core.errors import ErrorCode
from node.core.model import Address, Author, MessageKind, Status
from node.mcp_words import receipt_and_arrival
from node.ports_timeline import RowFilter
from tests.holds_stage import PUBLISH, SECRET, AskingScreener, Person, asking, exchange_of, pair, story
from tests.integration.mesh import Agent, Mesh, refused, scenario, texts

ONCE, SESSION, ALWAYS, DENIED = Decision.ONCE, Decision.SESSION, Decision.ALWAYS, Decision.DENIED
WAITS = "held: waits for a person's approval"


@scenario
async def test_a_held_request_is_told_asked_about_and_read_once_when_allowed(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        receipt = await alice.request(bob, SECRET)
        message = receipt.message
        assert (message.ladder.screened, message.ladder.rung, message.ladder.landed_us) == ("hold", WAITS, None)
        said = receipt_and_arrival(receipt, None, alice.address, "Call wait for what comes back.")
        assert not said.refused
        for words in (
            "is recorded",
            "waits for the person at the other end",
            "asks for secrets",
            "Do not send it again",
        ):
            assert words in said.line
        assert "Call wait" not in said.line
        question = await person.only()
        assert (question.kind, question.session, question.message) == (
            ApprovalKind.MESSAGE, bob.session.id, message.id,
        )  # fmt: skip
        assert question.words == f'A request from @alice to @bob asks for secrets: "{SECRET}"'
        # Nobody at the other end knows of it, by any way.
        assert (await bob.read()).taken == ()
        assert await bob.list(closed=True) == ()
        await mesh.tick(5)
        assert mesh.typer.tries == []
        with refused(ErrorCode.NOT_FOUND):
            await bob.list(receipt.exchange.id)

        await person.says(ONCE)
        assert texts(await bob.read()) == [SECRET]
        assert (await bob.read()).taken == ()
        await bob.send(Deliver(exchange=None, text="No."))
        assert texts(await alice.read()) == ["No."]
        assert await story(mesh, message) == [
            ("held", "secrets"), ("approved", "message"), ("read", None), ("answered", None),
        ]  # fmt: skip
        asked = [row["decision"] for row in await mesh.rows(engine="approval")]
        assert asked == ["asked", "allowed_once"]
        assert (await mesh.verification()).ok


@scenario
async def test_no_row_shows_the_text_and_none_of_the_questions_quotes_it(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        await alice.request(bob, f"{SECRET} And {'x' * 200} the end of it.")
        await person.says(DENIED)
        rows = [row async for row in mesh.audit.rows(RowFilter(), follow=False)]
        beside = {name: text for row in rows for name, text in row.side}
        assert set(beside) >= {"snippet", "sender", "recipient"}
        assert not any(SECRET in dict(row.side).get("preview", "") for row in rows)
        assert not any("the end of it" in text for text in beside.values())
        # A title that is derived from the text stands beside the row of what is held, and nowhere else.
        titled = [decode(row.data)["decision"] for row in rows if SECRET in dict(row.side).get("title", "")]
        assert titled == ["held"]
        asked = [row for row in rows if b'"engine":"approval"' in row.data]
        assert len(asked) == 2
        assert all(row.side == () for row in asked)


@scenario
async def test_a_notice_is_owed_from_the_approval_on(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        await alice.request(bob, SECRET)
        await mesh.tick(10)
        assert mesh.typer.tries == []
        await person.says(ONCE)
        await mesh.tick(2)
        assert mesh.typer.tries == [bob.session.id]


@scenario
async def test_a_call_that_would_wait_returns_at_once(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, _ = await pair(mesh)
        receipt, arrival = await mesh.exchanges.send(alice.call("r"), Request(to="@bob", text=SECRET), 600)
        assert receipt.message.awaits_approval
        assert arrival is None
        assert not mesh.blocked(alice, bob)


@pytest.mark.parametrize("answer", [ONCE, DENIED])
@scenario
async def test_both_ends_are_rung_by_the_answer(tmp_path: Path, answer: Decision) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        await alice.request(bob, SECRET)
        rung: list[Address] = []
        mesh.bells.add(rung.extend)
        await person.says(answer)
        assert set(rung) == {alice.address, bob.address}


@scenario
async def test_whoever_waits_gets_it_when_it_is_allowed(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        await alice.request(bob, SECRET)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(bob.wait(seconds=15))
            await person.says(ONCE)
            assert texts(await work) == [SECRET]


@scenario
async def test_a_refused_request_is_never_read_and_its_sender_is_told(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        receipt = await alice.request(bob, SECRET)
        question = await person.only()
        await person.says(DENIED)
        (note,) = (await alice.read()).taken
        assert note.message.author is Author.NODE
        assert note.message.text == (
            "Your request (message 1) was refused by the person at the other end: it asks for secrets; nobody read it. "
            "Do not send it again."
        )
        message = await mesh.message(receipt.message.id)
        assert (message.withheld, message.ladder.screened, message.ladder.landed_us) == (True, "withhold", None)
        assert message.ladder.gave_up_us is not None
        assert message.ladder.rung == "refused by the person at the other end"
        exchange = await exchange_of(mesh, receipt.exchange.id)
        assert (exchange.status, exchange.reason) == (Status.FAILED, "withheld")
        assert (await bob.read()).taken == ()
        assert await bob.list(closed=True) == ()
        # A no is final, however it is said again; the same no is the same answer.
        with refused(ErrorCode.WRONG_STATE, "was denied already", "the sender of the message knows"):
            await person.says(ALWAYS, question)
        again = await person.says(DENIED, question)
        assert again.decision is DENIED
        assert (await alice.read()).taken == ()
        assert (await bob.read()).taken == ()
        assert await story(mesh, message) == [("held", "secrets"), ("refused_by_person", "message")]
        # The call that is repeated learns of it.
        refusal = receipt_and_arrival(
            type(receipt)(exchange=exchange, message=message, repeated=True), None, alice.address, ""
        )
        assert refusal.refused
        assert "refused your request" in refusal.line


@scenario
async def test_a_yes_is_final_and_saying_it_again_changes_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        await alice.request(bob, SECRET)
        question = await person.only()
        await person.says(ONCE)
        await person.says(ONCE, question)
        with refused(ErrorCode.WRONG_STATE, "was allowed already"):
            await person.says(DENIED, question)
        assert texts(await bob.read()) == [SECRET]
        assert (await bob.read()).taken == ()


@scenario
async def test_what_waits_outlives_the_node(tmp_path: Path) -> None:
    mesh = await Mesh.open(tmp_path / "node.db", screener=AskingScreener())
    alice, bob, _ = await pair(mesh)
    await alice.request(bob, SECRET)
    await alice.request(bob, PUBLISH)
    back = await mesh.reopened()
    bob = Agent(mesh=back, session=bob.session)
    person = Person.at(back)
    first, second = await person.asked()
    await person.says(ONCE, first)
    again = await back.reopened()
    bob, person = Agent(mesh=again, session=bob.session), Person.at(again)
    await person.says(DENIED, second)
    assert texts(await bob.read()) == [SECRET]
    assert (await again.verification()).ok
    await again.store.close()


# --- the other kinds of message ---------------------------------------------------------------------------------------


async def working(mesh: Mesh) -> tuple[Agent, Agent, Person, str]:
    """Two sessions with an exchange that is worked on."""
    alice, bob, person = await pair(mesh)
    receipt = await alice.request(bob, "Build it.")
    await bob.read()
    return alice, bob, person, receipt.exchange.id


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (Ask(exchange=None, text=SECRET), MessageKind.ASK),
        (Report(exchange=None, text=SECRET), MessageKind.REPORT),
        (Deliver(exchange=None, text=SECRET), MessageKind.DELIVER),
    ],
)
@scenario
async def test_what_the_worker_says_is_held_for_the_opener(tmp_path: Path, command: Command, kind: MessageKind) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        receipt = await bob.send(command)
        assert (receipt.message.kind, receipt.message.ladder.rung) == (kind, WAITS)
        # What comes behind it does not wait with it.
        await bob.send(Report(exchange=exchange, text="Half done."))
        assert texts(await alice.read()) == ["Half done."]
        assert (await person.only()).session == alice.session.id
        await person.says(ONCE)
        assert texts(await alice.read()) == [SECRET]


@scenario
async def test_a_refused_question_is_withdrawn_and_can_be_asked_otherwise(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        await bob.send(Ask(exchange=None, text=SECRET))
        assert (await exchange_of(mesh, exchange)).status is Status.ASKED
        await person.says(DENIED)
        after = await exchange_of(mesh, exchange)
        assert (after.status, after.questions) == (Status.WORKING, ())
        assert "Your ask (message 2) was refused" in texts(await bob.read())[0]
        assert (await alice.read()).taken == ()
        await bob.send(Ask(exchange=None, text="Which server?"))
        assert texts(await alice.read()) == ["Which server?"]


@scenario
async def test_an_answer_counts_once_it_is_allowed_and_a_refused_one_leaves_the_question(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        asked = await bob.send(Ask(exchange=None, text="Which server?"))
        await alice.read()
        await alice.send(Answer(question=None, text=SECRET))
        assert (await mesh.message(asked.message.id)).ladder.answered_us is None
        await person.says(DENIED)
        assert (await exchange_of(mesh, exchange)).questions == (asked.message.id,)
        assert "was refused" in texts(await alice.read())[0]
        await alice.send(Answer(question=None, text=PUBLISH))
        await person.says(ONCE)
        assert texts(await bob.read()) == [PUBLISH]
        assert (await mesh.message(asked.message.id)).ladder.answered_us is not None
        assert (await exchange_of(mesh, exchange)).status is Status.WORKING


@scenario
async def test_a_refused_delivery_leaves_the_work_open(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        await bob.send(Deliver(exchange=None, text=SECRET))
        opening = (await mesh.store.read(lambda r: r.messages(exchange)))[0]
        assert opening.ladder.answered_us is None
        await person.says(DENIED)
        assert (await exchange_of(mesh, exchange)).status is Status.WORKING
        assert "Your deliver (message 2) was refused" in texts(await bob.read())[0]
        await bob.send(Deliver(exchange=None, text="Done."))
        assert texts(await alice.read()) == ["Done."]


@scenario
async def test_a_refused_steer_gives_the_delivery_back(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        await bob.send(Deliver(exchange=None, text="Done."))
        await alice.read()
        await alice.send(Steer(exchange=exchange, text=PUBLISH))
        assert (await exchange_of(mesh, exchange)).status is Status.WORKING
        await person.says(DENIED)
        assert (await exchange_of(mesh, exchange)).status is Status.DELIVERED
        assert (await bob.read()).taken == ()
        await alice.send(Close(exchange=exchange, accepted=True))


@scenario
async def test_a_held_farewell_closes_and_is_read_if_it_is_allowed(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        await alice.send(Cancel(exchange=exchange, reason=SECRET))
        assert (await exchange_of(mesh, exchange)).status is Status.CANCELLED
        assert (await bob.read()).taken == ()
        await person.says(ONCE)
        assert texts(await bob.read()) == [SECRET]


# --- behind an opening that is held -----------------------------------------------------------------------------------


@scenario
async def test_what_stands_behind_a_held_opening_lands_with_it(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        receipt = await alice.request(bob, SECRET)
        steer = await alice.send(Steer(exchange=receipt.exchange.id, text="In the blue folder."))
        held = await alice.send(Steer(exchange=receipt.exchange.id, text=PUBLISH))
        assert (steer.message.ladder.rung, held.message.ladder.rung) == (WAITS, WAITS)
        assert await story(mesh, steer.message) == [("held", "opening")]
        await mesh.tick(10)
        assert mesh.typer.tries == []
        opening, behind = await person.asked()
        # What is allowed before its opening waits for that.
        await person.says(ONCE, behind)
        assert (await bob.read()).taken == ()
        await person.says(ONCE, opening)
        assert texts(await bob.read()) == [SECRET, "In the blue folder.", PUBLISH]


@scenario
async def test_what_stands_behind_a_refused_opening_is_never_read(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        receipt = await alice.request(bob, SECRET)
        await alice.send(Steer(exchange=receipt.exchange.id, text="In the blue folder."))
        await alice.send(Steer(exchange=receipt.exchange.id, text=PUBLISH))
        opening, _ = await person.asked()
        await person.says(DENIED, opening)
        assert await person.asked() == ()
        assert (await bob.read()).taken == ()
        rungs = [m.ladder.held for m in await mesh.store.read(lambda r: r.messages(receipt.exchange.id))]
        assert rungs == ["refused_by_person", "withdrawn", "withdrawn", None]


@scenario
async def test_what_is_called_off_while_it_is_held_asks_nobody_any_more(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        receipt = await alice.request(bob, SECRET)
        question = await person.only()
        await alice.send(Cancel(exchange=receipt.exchange.id, reason="Never mind."))
        assert await person.asked() == ()
        await mesh.tick(10)
        assert mesh.typer.tries == []
        assert (await bob.read()).taken == ()
        assert await bob.list(closed=True) == ()
        with refused(ErrorCode.WRONG_STATE, "was withdrawn already"):
            await person.says(ONCE, question)
        assert (await bob.read()).taken == ()


@scenario
async def test_a_session_that_goes_takes_what_was_held_with_it(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        carol = await mesh.seat("carol")
        to_bob = await alice.request(bob, SECRET)
        to_carol = await alice.request(carol, PUBLISH)
        assert await mesh.removes(bob) == (to_bob.exchange.id,)
        assert "session was deleted" in texts(await alice.read())[0]
        assert [one.message for one in await person.asked()] == [to_carol.message.id]
        # Who asked is gone: nobody will read the answer.
        await mesh.removes(alice)
        assert await person.asked() == ()
        assert (await carol.read()).taken == ()
        assert await carol.list(closed=True) == ()


@scenario
async def test_a_steer_that_was_held_for_a_session_goes_with_it(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        steer = await alice.send(Steer(exchange=exchange, text=SECRET))
        question = await person.only()
        await mesh.removes(bob)
        assert await person.asked() == ()
        assert (await mesh.message(steer.message.id)).ladder.held == "withdrawn"
        with refused(ErrorCode.WRONG_STATE, "was withdrawn already"):
            await person.says(ONCE, question)
