"""Attacks on pairing, on real sockets: none yields a peer, and none keeps the honest from pairing afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.errors import ErrorCode
from node.core.pairing_code import commitment
from node.core.pairing_messages import Abort, Confirm, Hello, Message, Reveal
from node.core.views_mesh import PairingStep
from node.ports_mesh import PairingWish
from node.rpc_pairing import PairingNet
from tests.integration.mesh import scenario
from tests.pairing_attackers import (
    Recorded,
    Recorder,
    between,
    hello,
)
from tests.pairing_nodes import ALL, QUICK, finish, heard, new_identity, nodes, paired, shown_id
from tests.waiting import until

CODE, GUESS = "12345678", "11112222"
NONCE = bytes(range(32))


# --- somebody between ------------------------------------------------------------------------------------------------


@scenario
async def test_one_between_who_passes_everything_on_is_found_by_the_certificate(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits()
        async with between(waiter.address) as address:
            there = dialer.dials(address)
            await there.failed("other_certificate", "Somebody stands between")
            await here.failed("other_certificate", "Somebody stands between")
        assert "ask_code" not in there.steps()
        for node in (waiter, dialer):
            await node.nobody()
        assert (await dialer.rows())[-1] == "dialer failed other_certificate"


@scenario
async def test_one_between_with_an_own_certificate_at_both_ends_is_found_by_the_code(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        me = new_identity()
        here = await waiter.waits()

        def to_waiter(message: Message) -> Message:
            if isinstance(message, Hello):
                return replace(message, certificate=me.certificate, opening=commitment(me.certificate, NONCE))
            return Reveal(nonce=NONCE) if isinstance(message, Reveal) else message

        def to_dialer(message: Message) -> Message:
            return replace(message, certificate=me.certificate) if isinstance(message, Hello) else message

        async with between(waiter.address, to_waiter=to_waiter, to_dialer=to_dialer, me=me) as address:
            there = dialer.dials(address)
            asked = await there.until(PairingStep.ASK_CODE)
            shown = await here.until(PairingStep.CODE)
            # The ids that the screens show are not each other's.
            assert asked.shown == here.told[1].shown == shown_id(me.certificate)
            there.say(code=shown.code)
            await there.failed("wrong_code", "somebody stands between")
            await here.failed("wrong_code", "somebody stands between")
        for node in (waiter, dialer):
            await node.nobody()
            assert await node.burned() == 1


@scenario
async def test_one_between_who_reveals_another_nonce_than_promised_is_found_by_the_waiter(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        me = new_identity()
        here = await waiter.waits()

        def to_waiter(message: Message) -> Message:
            return replace(message, certificate=me.certificate) if isinstance(message, Hello) else message

        def to_dialer(message: Message) -> Message:
            return replace(message, certificate=me.certificate) if isinstance(message, Hello) else message

        async with between(waiter.address, to_waiter=to_waiter, to_dialer=to_dialer, me=me) as address:
            there = dialer.dials(address)
            await here.failed("wrong_commitment", "Somebody stands between")
            await there.failed("wrong_commitment", "Somebody stands between")
        assert "code" not in here.steps()
        for node in (waiter, dialer):
            await node.nobody()


@pytest.mark.parametrize("keeps_back", [False, True])
@scenario
async def test_one_between_cannot_use_a_code_known_beforehand(tmp_path: Path, *, keeps_back: bool) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        me = new_identity()
        here = await waiter.waits(code=CODE)

        def swap(message: Message) -> Message | None:
            if isinstance(message, Confirm) and keeps_back:
                return None
            return replace(message, certificate=me.certificate) if isinstance(message, Hello) else message

        async with between(waiter.address, to_waiter=swap, to_dialer=swap, me=me) as address:
            there = dialer.dials(address, code=CODE)
            if keeps_back:
                await until(lambda: "agreed" in there.steps(), "the dialer's proof")
                await here.leave()
            else:
                await here.failed("wrong_code")
            await there.end()
        for node in (waiter, dialer):
            await node.nobody()
        # Whoever has the dialer's proof may have tried a code on it.
        assert await dialer.burned() == 1


@scenario
async def test_one_between_who_changes_what_is_asked_for_is_found_by_the_code(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        # Even with the waiter's own key, as a thief of it would have.
        here = await waiter.waits()

        def greedy(message: Message) -> Message:
            return replace(message, wants=tuple(sorted(ALL))) if isinstance(message, Hello) else message

        async with between(waiter.address, to_waiter=greedy, me=waiter.me) as address:
            there = dialer.dials(address)
            shown = await here.until(PairingStep.CODE)
            await there.until(PairingStep.ASK_CODE)
            there.say(code=shown.code)
            await there.failed("wrong_code")
            await here.end()
        await waiter.nobody()
        await dialer.nobody()


@scenario
async def test_a_dialer_that_leaves_once_its_proof_is_out_counts_its_code_as_tried(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        me = new_identity()
        await waiter.waits(code=CODE)

        def swap(message: Message) -> Message | None:
            if isinstance(message, Confirm):
                return None
            return replace(message, certificate=me.certificate) if isinstance(message, Hello) else message

        async with between(waiter.address, to_waiter=swap, to_dialer=swap, me=me) as address:
            there = dialer.dials(address, code=CODE)
            await until(lambda: "agreed" in there.steps(), "the dialer's proof")
            await there.leave()
        assert await dialer.burned() == 1
        assert (await dialer.rows())[-1] == "dialer failed declined"


@scenario
async def test_one_between_who_cuts_the_connection_is_told_to_both(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits()
        async with Recorder().before(waiter.address) as address:
            there = dialer.dials(address)
            await here.until(PairingStep.CODE)
            await there.until(PairingStep.ASK_CODE)
        await here.failed("lost", "connection")
        await there.failed("lost", "went away")
        for node in (waiter, dialer):
            await node.nobody()
        await paired(waiter, dialer)


# --- replay and guesses ----------------------------------------------------------------------------------------------


@scenario
async def test_recorded_bytes_of_a_run_are_worth_nothing(tmp_path: Path) -> None:
    async with nodes(tmp_path, "waiter", "dialer", "other") as (waiter, dialer, other):
        recorder = Recorder()
        here = await waiter.waits()
        async with recorder.before(waiter.address) as address:
            await finish(here, dialer.dials(address))
        assert sum(map(len, recorder.kept)) > 1_000
        await waiter.peers.unpair("dialer")
        here = await waiter.waits()
        host, _, port = waiter.address.rpartition(":")
        for kept in recorder.kept:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(kept)
            assert b"PairingService" not in await reader.read()
            writer.close()
        assert here.steps() == ["waiting"]
        await finish(here, other.dials(waiter.address))
        assert waiter.knows(dialer) is None


@scenario
async def test_recorded_messages_of_a_run_do_not_fit_another(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        recorded = Recorded(dialer.net)
        dialer.net = recorded
        await dialer.start()
        await paired(waiter, dialer)
        await waiter.peers.unpair("dialer")
        here = await waiter.waits()
        async with PairingNet(new_identity(), QUICK).dial(waiter.address, 10) as wire:
            for message in recorded.said:
                await wire.send(message)
            said = await heard(wire)
        # The code is a fresh one, and the signature is of the run that was.
        await here.failed("bad_signature", "could not prove its key")
        assert said[-1] == Abort(reason="bad_signature")
        await waiter.nobody()
        assert await waiter.burned() == 1


@scenario
async def test_guesses_at_the_code_of_a_waiter_close_it(tmp_path: Path) -> None:
    async with nodes(tmp_path, "waiter", "stranger") as (waiter, stranger):
        stranger.limits = replace(QUICK, pairing_burned_codes=1_000)
        await stranger.start()
        for number in range(3):
            here = await waiter.waits(headless=True)
            there = stranger.dials(waiter.address, code=GUESS)
            await here.failed("wrong_code")
            await there.end()
            # One guess for each act of a person, right away or not.
            await stranger.dials(waiter.address, code=GUESS).failed("unavailable", "Nobody waits")
            assert len(await waiter.rows()) == 2 * (number + 1)
        assert (await waiter.begin(PairingWish(headless=True)).refused()).code is ErrorCode.LIMIT
        await waiter.nobody()


@scenario
async def test_a_dialer_that_hangs_up_after_the_code_is_shown_gets_no_second_look(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, _):
        here = await waiter.waits()
        me = new_identity()
        net = PairingNet(me, QUICK)
        async with net.dial(waiter.address, 10) as wire:
            await wire.send(hello(certificate=me.certificate, opening=commitment(me.certificate, NONCE)))
            await wire.send(Reveal(nonce=NONCE))
            await here.until(PairingStep.CODE)
        await here.failed("lost")
        await waiter.nobody()
