"""The panel's rows: what is in them, what never is, and when they are worked out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from node.core.approval import Decision
from node.core.commands import Deliver, Steer
from node.core.limits import Limits
from node.core.model import AgentState, SessionStatus
from node.core.panel import PanelRow
from node.panel import DelegationsPanel
from tests.holds_stage import SECRET as HELD
from tests.holds_stage import AskingScreener, Person
from tests.integration.mesh import INJECTION, Mesh, running, scenario
from tests.waiting import until

SECRET = "sk-ant-abcdefgh12345678abcdefgh"


@asynccontextmanager
async def shown(mesh: Mesh) -> AsyncIterator[DelegationsPanel]:
    """The panel at work, watched and fresh."""
    panel = DelegationsPanel(store=mesh.store, limits=mesh.limits, quiet_s=0.001)
    mesh.store.listen(panel.ring)
    async with asyncio.TaskGroup() as group:
        work = group.create_task(panel.run())
        with panel.watched():
            await panel.fresh()
            yield panel
        work.cancel()


def by_id(panel: DelegationsPanel) -> dict[str, PanelRow]:
    return {row.id: row for row in panel.rows}


@scenario
async def test_sessions_and_exchanges_are_rows_that_say_who_and_how_far(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        lead = await mesh.seat("lead", title="Release")
        hand = await mesh.seat("hand", parent=lead.session.id, state=AgentState.BUSY)
        gone = await mesh.seat("gone", status=SessionStatus.ENDED, state=AgentState.ENDED)
        receipt = await lead.request(hand, "Which port\n is   it?")
        async with shown(mesh) as panel:
            rows = by_id(panel)
            assert set(rows) == {lead.session.id, hand.session.id, gone.session.id, receipt.exchange.id}
            one = rows[lead.session.id]
            assert (one.kind, one.title, one.state, one.opener, one.worker, one.parent) == (
                "session", "Release", "idle", "@lead", "", "",
            )  # fmt: skip
            assert (rows[hand.session.id].parent, rows[hand.session.id].state) == (lead.session.id, "busy")
            assert rows[gone.session.id].state == "ended"
            row = rows[receipt.exchange.id]
            assert (row.kind, row.state, row.opener, row.worker, row.parent, row.last_word) == (
                "request", "starting", "@lead", "@hand", lead.session.id, "Which port is it?",
            )  # fmt: skip
            assert panel.left_out == 0


@scenario
async def test_what_happens_is_shown_without_being_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        lead, hand = await mesh.seat("lead"), await mesh.seat("hand")
        receipt = await lead.request(hand)
        async with shown(mesh) as panel:
            seen = panel.generation
            await hand.send(Deliver(exchange=receipt.exchange.id, text="It is 8080."))
            await until(lambda: by_id(panel)[receipt.exchange.id].last_word == "It is 8080.", "the delivery")
            assert by_id(panel)[receipt.exchange.id].state == "delivered"
            assert await panel.next_change(seen) > seen
            ended = replace(hand.session, status=SessionStatus.ENDED)
            await mesh.store.write(lambda tx: tx.put_session(ended))
            await until(lambda: by_id(panel)[hand.session.id].state == "ended", "the end")


@scenario
async def test_withheld_texts_and_secrets_are_never_in_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        lead, hand = await mesh.seat("lead", title=f"Use {SECRET}"), await mesh.seat("hand")
        withheld = await lead.request(hand, INJECTION)
        open_one = await lead.request(hand, f"The key is {SECRET}, the port is 8080.")
        await lead.send(Steer(exchange=open_one.exchange.id, text=INJECTION))
        async with shown(mesh) as panel:
            assert withheld.exchange.id not in by_id(panel)
            row = by_id(panel)[open_one.exchange.id]
            assert "the port is 8080" in row.last_word
            assert "previous instructions" not in repr(panel.rows)
            assert SECRET not in repr(panel.rows)
            assert panel.left_out == 0


@scenario
async def test_what_waits_for_a_person_is_named_and_not_shown(tmp_path: Path) -> None:
    async with running(tmp_path, screener=AskingScreener()) as mesh:
        lead, hand, person = await mesh.seat("lead"), await mesh.seat("hand"), Person.at(mesh)
        opening = await lead.request(hand, HELD)
        spoken = await lead.request(hand, "Which port?")
        await lead.send(Steer(exchange=spoken.exchange.id, text=HELD))
        async with shown(mesh) as panel:
            row = by_id(panel)[opening.exchange.id]
            assert (row.state, row.title, row.last_word, row.worker) == ("held", "", "", "@hand")
            assert by_id(panel)[spoken.exchange.id].last_word == "Which port?"
            for question in await person.asked():
                await person.says(Decision.ONCE, question)
            await panel.fresh()
            row = by_id(panel)[opening.exchange.id]
            assert (row.state, row.title, row.last_word) == ("starting", HELD, HELD)
            assert by_id(panel)[spoken.exchange.id].last_word == HELD


@scenario
async def test_the_oldest_that_is_over_is_left_out_and_counted(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(panel_rows=4)) as mesh:
        old = [await mesh.seat(f"old-{at}", status=SessionStatus.ENDED) for at in range(3)]
        lead, hand = await mesh.seat("lead"), await mesh.seat("hand")
        receipt = await lead.request(hand)
        async with shown(mesh) as panel:
            alive = {lead.session.id, hand.session.id, receipt.exchange.id}
            assert set(by_id(panel)) == {*alive, old[-1].session.id}
            assert panel.left_out == 2


@scenario
async def test_nothing_is_worked_out_while_nobody_watches(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        lead, hand = await mesh.seat("lead"), await mesh.seat("hand")
        panel = DelegationsPanel(store=mesh.store, limits=mesh.limits, quiet_s=0.001)
        mesh.store.listen(panel.ring)
        before = panel.generation
        async with asyncio.TaskGroup() as group:
            work = group.create_task(panel.run())
            await lead.request(hand)
            await mesh.caught_up()
            assert (panel.generation, panel.rows) == (before, ())
            with panel.watched():
                await panel.fresh()
            assert len(panel.rows) == 3
            await lead.request(hand)
            await mesh.caught_up()
            assert len(panel.rows) == 3
            work.cancel()
