"""What does not become a pairing run, and where one is reached."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from node.core.errors import ErrorCode
from node.core.views_mesh import PairingStep
from node.ports_mesh import PairingWish
from node.rpc_pairing import PairingNet
from tests.integration.mesh import scenario
from tests.pairing_nodes import (
    QUICK,
    SERVED,
    met,
    nobody_is_a_peer,
    nodes,
    paired,
)

CODE = "12345678"


# --- what cannot begin -----------------------------------------------------------------------------------------------


@scenario
async def test_one_run_at_a_time(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        for second in (waiter.begin(PairingWish()), dialer.dials(waiter.address)):
            refusal = await second.refused()
            assert refusal.code is ErrorCode.WRONG_STATE
            assert "pairing already" in refusal.message
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        here.say()
        assert (await there.end()).step is PairingStep.PAIRED


@scenario
async def test_a_second_dialer_is_turned_away(tmp_path: Path) -> None:
    async with nodes(tmp_path, "waiter", "dialer", "late") as (waiter, dialer, late):
        here, there, code = await met(waiter, dialer)
        third = late.dials(waiter.address)
        await third.failed("lost", "in a pairing run with another one")
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        here.say()
        assert (await there.end()).step is (await here.end()).step is PairingStep.PAIRED
        assert waiter.knows(late) is None
        await late.nobody()


@scenario
async def test_so_many_runs_an_hour_and_no_more(tmp_path: Path) -> None:
    async with nodes(tmp_path, limits=replace(QUICK, pairing_runs_per_hour=2)) as (waiter, dialer):
        for _ in range(2):
            here, there, _ = await met(waiter, dialer)
            there.say(confirmed=False)
            await there.end()
            await here.end()
        for refusal in (await waiter.begin(PairingWish()).refused(), await dialer.dials("127.0.0.1:9").refused()):
            assert refusal.code is ErrorCode.LIMIT
            assert "the limit is 2" in refusal.message
            assert "Try again in" in refusal.message
        for node in (waiter, dialer):
            node.mesh.clock.advance(3_600)
        await paired(waiter, dialer)


@scenario
async def test_a_clock_that_is_put_back_gives_no_runs_back_and_keeps_no_window_open(tmp_path: Path) -> None:
    async with nodes(tmp_path, limits=replace(QUICK, pairing_runs_per_hour=1)) as (waiter, dialer):
        waiter.mesh.clock.advance(3 * 86_400)
        here, there, _ = await met(waiter, dialer)
        there.say(confirmed=False)
        await there.end()
        await here.end()
        waiter.mesh.clock.advance(-86_400)
        assert (await waiter.begin(PairingWish()).refused()).code is ErrorCode.LIMIT
        waiter.mesh.clock.advance(3_600)
        here = await waiter.waits()
        dialer.mesh.clock.advance(3_600)
        waiter.mesh.clock.advance(-86_400)
        there = dialer.dials(waiter.address)
        await here.until(PairingStep.CODE)
        until_us = (await waiter.gate())["until_us"]
        assert isinstance(until_us, int)
        assert 0 < until_us - waiter.mesh.clock.wall_us() <= QUICK.pairing_window_s * 1_000_000
        await there.leave()


@scenario
async def test_runs_that_nobody_joined_are_not_counted(tmp_path: Path) -> None:
    async with nodes(tmp_path, limits=replace(QUICK, pairing_runs_per_hour=1)) as (waiter, dialer):
        for _ in range(3):
            here = await waiter.waits()
            await here.leave()
        await paired(waiter, dialer)


@scenario
async def test_a_node_that_dials_itself(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, twin):
        # Another desk with the same key, as a copied folder has.
        twin.me, twin.net = waiter.me, PairingNet(waiter.me, QUICK, host="127.0.0.1")
        await twin.start()
        here = await waiter.waits()
        there = twin.dials(waiter.address)
        await there.failed("same_node", "this very node")
        await here.failed("same_node", "this very node")
        await nobody_is_a_peer(waiter, twin)


@pytest.mark.parametrize("code", ["12345", "123456789", "abcdef"])
@scenario
async def test_a_code_that_is_none_is_refused_before_anybody_waits(tmp_path: Path, code: str) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        for talk in (waiter.begin(PairingWish(code=code)), dialer.dials("127.0.0.1:9", code=code)):
            await talk.failed("invalid_argument", "6 to 8 digits")
            assert talk.steps() == ["failed"]


@scenario
async def test_names_and_addresses_that_lead_nowhere(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        await dialer.dials("abcdefgh").failed("not_found", "helio pair")
        for target in ("127.0.0.1:", ":4355", "127.0.0.1:0", "127.0.0.1:70000", "[]:1", "h:٣"):
            await dialer.dials(target).failed("invalid_argument", "no address with a port")
        for target in ("a..b:4355", f"{'a' * 70}:4355", "no\0name:4355", "127.0.0.1:1"):
            await dialer.dials(target).failed("unavailable", "Nobody waits")
        here = await waiter.waits()
        dialer.found["wxyz"] = waiter.address
        there = dialer.dials("wxyz")
        await there.until(PairingStep.ASK_CODE)
        await here.leave()
        await there.end()


@scenario
async def test_a_node_dialled_by_its_host_name_is_recorded_where_it_was_reached(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits()
        there = dialer.dials(f"localhost:{waiter.address.rpartition(':')[2]}")
        there_asked, shown = await there.until(PairingStep.ASK_CODE), await here.until(PairingStep.CODE)
        assert there_asked.address == waiter.address
        there.say(code=shown.code)
        await here.until(PairingStep.ASK_CONFIRM)
        here.say()
        assert (await there.end()).step is PairingStep.PAIRED
        peer = dialer.knows(waiter)
        assert peer is not None
        assert peer.addresses == (f"127.0.0.1:{SERVED}",)


@scenario
async def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits()
        port = int(waiter.address.rpartition(":")[2])
        await dialer.begin(PairingWish(port=port)).failed("unavailable", f"Port {port}", "--port")
        await here.leave()


@scenario
async def test_nodes_pair_over_ipv6(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        waiter.net = PairingNet(waiter.me, QUICK, host="::1")
        await waiter.start()
        here = await waiter.waits(code=CODE)
        there = dialer.dials(f"[::1]:{here.told[-1].port}", code=CODE)
        assert (await there.end()).step is (await here.end()).step is PairingStep.PAIRED
        for peer in (waiter.knows(dialer), dialer.knows(waiter)):
            assert peer is not None
            assert peer.addresses == (f"[::1]:{SERVED}",)


@pytest.mark.parametrize(("host", "reached"), [("", True), ("127.0.0.1", True), ("127.0.0.2", False)])
@scenario
async def test_the_port_is_open_at_the_configured_address_alone(tmp_path: Path, host: str, *, reached: bool) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        async with PairingNet(waiter.me, QUICK, host=host).listen(0) as listener:
            talk = dialer.dials(f"127.0.0.1:{listener.port}")
            if reached:
                assert (await listener.accept()).address.startswith("127.0.0.1:")
                await talk.leave()
            else:
                await talk.failed("unavailable", "Nobody waits")
