"""What counts of a pairing run that cannot be ended well: the other takes in no more, or this node cannot go on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.errors import ErrorCode
from node.core.pairing_messages import Abort, Confirm, Message
from node.core.views_mesh import PairingStep
from node.ports_mesh import PairingWish
from tests.integration.mesh import scenario
from tests.pairing_attackers import Recorded, between
from tests.pairing_nodes import QUICK, PairingNode, Talk, met, nodes, paired
from tests.waiting import turn, until

CODE = "12345678"


async def stalling(node: PairingNode, kind: type[Message]) -> Recorded:
    """The node, up again, whose other end takes in nothing of that kind."""
    node.net = recorded = Recorded(node.net, stalls=kind)
    await node.start()
    return recorded


async def leaves_at_once(talk: Talk, stalled: asyncio.Event | None = None) -> None:
    """The person leaves, and again while the other end is being told."""
    talk.go()
    await turn()
    if stalled is not None:
        await stalled.wait()
    talk.go()


async def over(talk: Talk) -> None:
    assert talk.task is not None
    await asyncio.wait({talk.task}, timeout=2)
    assert talk.task.done()


@scenario
async def test_a_code_is_tried_even_when_the_one_between_does_not_hear_the_end(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        recorded = await stalling(dialer, Abort)
        await waiter.waits(code=CODE)

        def swallow(message: Message) -> Message | None:
            return None if isinstance(message, Confirm) else message

        async with between(waiter.address, to_waiter=swallow, me=waiter.me) as address:
            there = dialer.dials(address, code=CODE)
            await until(lambda: any(isinstance(one, Confirm) for one in recorded.said), "the dialer's proof")
            await leaves_at_once(there, recorded.stalled)
            await over(there)
        assert await dialer.burned() == 1
        assert await dialer.rows() == ["dialer began", "dialer failed declined"]


@pytest.mark.parametrize("hears", [True, False])
@scenario
async def test_a_code_is_tried_when_its_pair_cannot_be_recorded(tmp_path: Path, *, hears: bool) -> None:
    async with nodes(tmp_path, "dialer", "other", "waiter", waits_with=replace(QUICK, peers=1)) as (
        dialer,
        other,
        waiter,
    ):
        await paired(other, dialer)
        recorded = await stalling(dialer, Abort) if not hears else None
        await waiter.waits(code=CODE)
        there = dialer.dials(waiter.address, code=CODE)
        if recorded is not None:
            await recorded.stalled.wait()
            await leaves_at_once(there)
        await over(there)
        assert dialer.knows(waiter) is None
        assert await dialer.burned() == 1
        assert (await dialer.rows())[-1] == "dialer failed limit"


@scenario
async def test_a_waiter_that_leaves_before_the_dialer_heard_its_yes_is_paired(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        recorded = await stalling(waiter, Confirm)
        here, there, code = await met(waiter, dialer)
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        here.say()
        await recorded.stalled.wait()
        await leaves_at_once(here)
        await over(here)
        assert waiter.knows(dialer) is not None
        assert await waiter.rows() == ["waiter began", "waiter paired"]
        await there.end()


@scenario
async def test_a_waiter_that_leaves_while_the_peer_is_recorded_is_paired(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        waiter.store.slow = slow = asyncio.Event()
        here.say()
        await waiter.store.held.wait()
        await leaves_at_once(here)
        await turn()
        slow.set()
        await over(here)
        assert waiter.knows(dialer) is not None
        assert await waiter.rows() == ["waiter began", "waiter paired"]
        await there.end()


@scenario
async def test_how_a_run_began_and_ended_counts_with_its_row_or_not_at_all(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        waiter.store.mute = True
        assert (await waiter.begin(PairingWish()).refused()).code is ErrorCode.AUDIT_UNAVAILABLE
        assert await waiter.gate() == {}
        waiter.store.mute = False
        here = await waiter.waits(code=CODE)
        there = dialer.dials(waiter.address, code=CODE[::-1])
        waiter.store.mute = True
        await here.failed("wrong_code")
        await there.end()
        kept = await waiter.gate()
        assert (kept["running"], kept["burned"]) == (True, 0)
        assert await waiter.rows() == ["waiter began"]


@scenario
async def test_a_code_of_a_run_that_a_crash_cut_off_is_not_forgiven(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        for number in range(1, 4):
            here = await waiter.waits(code=CODE)
            there = dialer.dials(waiter.address, code=CODE[::-1])
            # Its end is not written, and the node comes up on what was there before.
            waiter.store.mute = True
            await here.failed("wrong_code")
            await there.end()
            waiter.store.mute = False
            await waiter.start()
            dialer.mesh.clock.advance(QUICK.pairing_closed_s)
            if number < 3:
                await (await waiter.waits()).leave()
                assert await waiter.burned() == number
        for left in (900, 800):
            refusal = await waiter.begin(PairingWish()).refused()
            assert refusal.code is ErrorCode.LIMIT
            assert f"Try again in {left} seconds" in refusal.message
            waiter.mesh.clock.advance(100)
        assert (await waiter.rows()).count("failed interrupted") == 3
        waiter.mesh.clock.advance(QUICK.pairing_closed_s)
        await paired(waiter, dialer)
        assert (await waiter.rows()).count("failed interrupted") == 3
