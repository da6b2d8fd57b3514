"""What waits for a person in an exchange that is over, and questions that nobody may read yet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from node.core.approval import Decision
from node.core.commands import Answer, Ask, Cancel, Command, Deliver, Report, Steer
from node.core.errors import ErrorCode
from node.core.model import Status
from tests.holds_stage import PUBLISH, SECRET, Person, asking, exchange_of, pair, story
from tests.integration.mesh import Agent, Mesh, refused, scenario, texts

ONCE, SESSION, ALWAYS = Decision.ONCE, Decision.SESSION, Decision.ALWAYS


async def working(mesh: Mesh) -> tuple[Agent, Agent, Person, str]:
    """Two sessions with an exchange that is worked on."""
    alice, bob, person = await pair(mesh)
    receipt = await alice.request(bob, "Build it.")
    await bob.read()
    return alice, bob, person, receipt.exchange.id


@pytest.mark.parametrize(
    "command",
    [Ask(exchange=None, text=SECRET), Report(exchange=None, text=SECRET), Deliver(exchange=None, text=SECRET)],
)
@scenario
async def test_what_the_worker_said_is_withdrawn_with_the_exchange(tmp_path: Path, command: Command) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        said = await bob.send(command)
        question = await person.only()
        await alice.send(Cancel(exchange=exchange, reason="Never mind."))
        assert await person.asked() == ()
        assert (await mesh.message(said.message.id)).ladder.held == "withdrawn"
        with refused(ErrorCode.WRONG_STATE, "was withdrawn already"):
            await person.says(ONCE, question)
        assert (await alice.read()).taken == ()
        assert texts(await bob.read()) == ["Never mind."]


@scenario
async def test_a_held_steer_is_withdrawn_and_a_held_farewell_is_not(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        await alice.send(Steer(exchange=exchange, text=PUBLISH))
        farewell = await alice.send(Cancel(exchange=exchange, reason=SECRET))
        assert (await person.only()).message == farewell.message.id
        await person.says(ONCE)
        assert texts(await bob.read()) == [SECRET]


@pytest.mark.parametrize("decision", [ONCE, SESSION, ALWAYS])
@scenario
async def test_a_yes_that_comes_too_late_lands_nothing_and_says_so(tmp_path: Path, decision: Decision) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, exchange = await working(mesh)
        steer = await alice.send(Steer(exchange=exchange, text=SECRET))
        # As a client's exchange is closed by what its server tells.
        gone = replace(await exchange_of(mesh, exchange), status=Status.FAILED)
        await mesh.store.write(lambda tx: tx.put_exchange(gone))
        assert (await person.says(decision)).decision is Decision.EXPIRED
        assert await person.asked() == ()
        assert (await bob.read()).taken == ()
        assert await story(mesh, steer.message) == [("held", "secrets"), ("withdrawn", None)]


# --- questions that wait themselves -----------------------------------------------------------------------------------


@scenario
async def test_a_held_question_is_not_answered_blind(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person, _ = await working(mesh)
        held = (await bob.send(Ask(exchange=None, text=SECRET))).message
        for wanted in (None, held.id):
            with refused(ErrorCode.WRONG_STATE, "No question waits"):
                await alice.send(Answer(question=wanted, text="Yes, do it."))
        open_one = (await bob.send(Ask(exchange=None, text="Which server?"))).message
        # The one that can be read is the one that is meant, also by the exchange it stands in.
        answer = await alice.send(Answer(question=open_one.exchange, text="The blue one."))
        assert answer.message.reply_to == open_one.id
        await person.says(ONCE)
        answer = await alice.send(Answer(question=None, text="No."))
        assert answer.message.reply_to == held.id


@scenario
async def test_what_was_withdrawn_is_shown_nowhere(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, _, exchange = await working(mesh)
        said = await bob.send(Report(exchange=None, text=SECRET))
        await alice.send(Cancel(exchange=exchange, reason=PUBLISH))
        message = await mesh.message(said.message.id)
        assert message.ladder.held == "withdrawn"
        assert message.unheard
        assert await mesh.store.read(lambda reader: reader.last_said(exchange)) == "Build it."
