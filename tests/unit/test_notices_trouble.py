"""Notices in trouble: ended sessions, terminals that fail, lines that are read while they are typed."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace
from pathlib import Path

from node.core.commands import Ask, Deliver, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import SessionStatus
from node.core.prompt import HeldReason
from tests.integration.mesh import running, scenario
from tests.notices_stage import HELD, pair, seen_by_sender, typed_at
from tests.waiting import turn, until


@scenario
async def test_a_session_that_has_ended_is_not_typed_at_and_the_reason_shows(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await mesh.store.write(lambda tx: tx.put_session(replace(bob.session, status=SessionStatus.ENDED)))
        for _ in range(5):
            await mesh.tick(100)
        assert mesh.typer.tries == []
        assert (await seen_by_sender(alice, opened.message)).ladder.held == "gone"


@scenario
async def test_sessions_do_not_wait_for_one_another(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        carol = await mesh.seat("carol")
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.DRAFT]] * 50)
        await alice.request(bob)
        await alice.request(carol)
        for _ in range(10):
            await mesh.tick()
        assert typed_at(mesh, bob) == []
        assert len(typed_at(mesh, carol)) == 1


@scenario
async def test_a_held_notice_is_tried_at_once_when_the_session_is_hastened(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        mesh.typer.script[bob.session.id] = deque([HELD[HeldReason.UNCONFIRMED]])
        await alice.request(bob)
        await mesh.tick(2)
        await mesh.tick()
        assert len(mesh.typer.tries) == 1
        await mesh.store.write(lambda tx: tx.hasten(bob.session.id, mesh.clock.wall_us()))
        await mesh.tick(0)
        assert len(mesh.typer.lines) == 1


@scenario
async def test_reading_while_a_line_is_typed_is_no_reason_to_type_again(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        await bob.read()
        await bob.send(Ask(exchange=opened.exchange.id, text="Which region?"))
        await mesh.tick(2)
        await alice.read()
        await mesh.tick(1000)
        assert len(typed_at(mesh, alice)) == 1


@scenario
async def test_a_terminal_that_fails_does_not_end_the_worker(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(tick_s=1)) as mesh:
        alice, bob = await pair(mesh)
        mesh.typer.broken = MeshError(ErrorCode.UNAVAILABLE, "tmux did not answer.")
        await alice.request(bob)
        mesh.clock.advance(2)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(mesh.notices.run())
            await until(lambda: bool(mesh.typer.tries))
            mesh.typer.broken = None
            await until(lambda: bool(mesh.typer.lines))
            working.cancel()


@scenario
async def test_a_terminal_that_fails_is_no_trouble_to_the_line_at_another(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob, carol = [await mesh.seat(name) for name in ("alice", "bob", "carol")]
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def until_bobs_terminal_failed() -> None:
            await until(lambda: bob.session.id in mesh.typer.tries)
            for _ in range(3):
                await turn()
            reached.set_result(None)

        mesh.typer.quick = until_bobs_terminal_failed
        mesh.typer.failing = {bob.session.id}
        await alice.request(carol)
        await alice.request(bob)
        await mesh.tick(2)
        assert reached.done()
        assert len(typed_at(mesh, carol)) == 1
        assert typed_at(mesh, bob) == []


@scenario
async def test_who_was_told_of_silence_and_then_hears_more_is_noticed_anew(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await pair(mesh)
        opened = await alice.request(bob)
        for _ in range(5):
            await mesh.tick(200)
        await bob.send(Deliver(exchange=opened.exchange.id, text="Port 8080."))
        await alice.read()
        before = len(typed_at(mesh, bob))
        await alice.send(Steer(exchange=opened.exchange.id, text="And the admin port?"))
        await mesh.tick(2)
        assert len(typed_at(mesh, bob)) == before + 1
