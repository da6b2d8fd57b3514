"""Attacks on pairing, on real sockets: none yields a peer, and none keeps the honest from pairing afterwards."""

from __future__ import annotations

import asyncio
import os
import random
import tracemalloc
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from node.codec_pairing import request_to_wire
from node.core.errors import ErrorCode
from node.core.pairing_code import commitment
from node.core.pairing_messages import Abort, Confirm, Hello, Message, Reveal
from node.core.views_mesh import PairingStep
from node.ports_mesh import PairingWish
from node.rpc_pairing import PairingNet
from node.wire.v1 import pairing_pb2 as pb
from tests.forgery import PREFACE, frame, headers
from tests.integration.mesh import scenario
from tests.pairing_attackers import (
    PAIR,
    Recorded,
    Recorder,
    Stream,
    between,
    careless,
    channel,
    closes,
    hang_up,
    hostile_waiter,
    port_of,
    says,
    silent,
    tls_server,
)
from tests.pairing_nodes import ALL, HERE, QUICK, Talk, heard, new_identity, nodes, paired, shown_id
from tests.peer_twin import TrustTwin, person, serving
from tests.waiting import until

CODE, GUESS = "12345678", "11112222"
NONCE = bytes(range(32))


def hello(*, name: str = "stranger", certificate: str = "", opening: bytes = bytes(32), **changes: object) -> Hello:
    fields: dict[str, object] = {
        "version": 1, "certificate": certificate or new_identity().certificate, "opening": opening, "pake": b"",
        "wants": ("request",), "gives": ("request",), "name": name, "port": 4_354,
    }  # fmt: skip
    return Hello(**(fields | changes))  # type: ignore[arg-type]


def data_of(message: Message) -> bytes:
    return request_to_wire(message).SerializeToString()


async def finish(here: Talk, there: Talk) -> None:
    """Two people who are in the middle of it pair their nodes."""
    shown = await here.until(PairingStep.CODE)
    await there.until(PairingStep.ASK_CODE)
    there.say(code=shown.code)
    await here.until(PairingStep.ASK_CONFIRM)
    here.say()
    assert (await here.end()).step is (await there.end()).step is PairingStep.PAIRED


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


# --- who takes the place of others -----------------------------------------------------------------------------------


@scenario
async def test_strangers_who_connect_and_say_nothing_do_not_block_the_honest_one(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer), AsyncExitStack() as strangers:
        here = await waiter.waits()
        host, _, port = waiter.address.rpartition(":")
        for context in (None, careless()):
            for _ in range(20):
                _, writer = await asyncio.open_connection(host, int(port), ssl=context)
                strangers.callback(hang_up, writer)
        streams = [Stream(await strangers.enter_async_context(channel(waiter))) for _ in range(40)]
        # All but sixteen of them have made way, long before their time is up.
        await until(lambda: sum(stream.over for stream in streams) == 24, "those who make way", seconds=4)
        await finish(here, dialer.dials(waiter.address))


@scenario
async def test_garbage_before_a_hello_does_not_take_the_run(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer), AsyncExitStack() as strangers:
        here = await waiter.waits()
        host, _, port = waiter.address.rpartition(":")
        for data in (os.urandom(4_096), b"GET / HTTP/1.1\r\n\r\n", PREFACE + os.urandom(4_096)):
            for context in (None, careless()):
                _, writer = await asyncio.open_connection(host, int(port), ssl=context)
                strangers.callback(hang_up, writer)
                writer.write(data)
        firsts = [
            b"",
            os.urandom(300),
            b"\xff" * 16_000,
            bytes(20_000),
            data_of(hello(name="x" * 20_000)),
            data_of(Reveal(nonce=NONCE)),
            data_of(Confirm(signature=b"s")),
            data_of(Abort(reason="wrong_code")),
        ]
        for first in firsts:
            stream = Stream(await strangers.enter_async_context(channel(waiter)))
            await stream.say(first)
            # gRPC itself turns away what is too large.
            assert await stream.end() in {"FAILED_PRECONDITION", "RESOURCE_EXHAUSTED"}, first
        assert here.steps() == ["waiting"]
        await finish(here, dialer.dials(waiter.address))
        assert await waiter.burned() == 0


@scenario
async def test_messages_that_do_not_fit_end_the_run_and_nothing_else(tmp_path: Path) -> None:
    random_one = random.Random(7)  # noqa: S311
    good = hello()
    whole = data_of(good)

    def broken() -> bytes:
        at = random_one.randrange(len(whole))
        return whole[:at] + random_one.randbytes(random_one.randrange(1, 9)) + whole[at + random_one.randrange(9) :]

    after = [
        b"",
        os.urandom(64),
        b"\x0a\xff\xff",
        bytes(20_000),
        whole,
        data_of(Reveal(nonce=b"short")),
        data_of(Reveal(nonce=NONCE)),
        data_of(Confirm(signature=b"s")),
        data_of(Abort(reason="\u202e" * 2_000)),
    ]
    wide = replace(QUICK, pairing_runs_per_hour=1_000)
    async with nodes(tmp_path, limits=wide) as (waiter, dialer):
        for messages in [(whole, second) for second in after] + [(broken(),) for _ in range(15)]:
            here = await waiter.waits()
            async with channel(waiter) as made:
                stream = Stream(made)
                await stream.say(*messages)
                if len(messages) == 1:
                    # No Hello at all, a bad one, or one that is still good.
                    await stream.hear()
                    await here.leave()
                else:
                    last = await here.end()
                    reasons = {"malformed", "out_of_order", "wrong_commitment", "aborted", "lost"}
                    assert last.reason in reasons, (messages, last)
            assert "paired" not in here.steps()
        await waiter.nobody()
        await paired(waiter, dialer)


@scenario
async def test_a_dialer_that_floods_is_cut_off_and_fills_no_memory(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits()
        tracemalloc.start()
        try:
            async with channel(waiter) as made:
                assert await Stream(made).flood(data_of(hello(name="x" * 64))) > 2
            await here.failed("out_of_order")
            assert tracemalloc.get_traced_memory()[1] < 8_000_000
        finally:
            tracemalloc.stop()
        await waiter.nobody()
        await paired(waiter, dialer)


@scenario
async def test_a_dialer_that_takes_nothing_in_is_let_go(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits()
        host, _, port = waiter.address.rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port), ssl=careless())
        body = data_of(hello())
        # A window of no bytes: nothing may be sent to it.
        window = frame(4, 0, 0, b"\x00\x04\x00\x00\x00\x00")
        call = headers(PAIR) + frame(0, 0, 1, b"\x00" + len(body).to_bytes(4, "big") + body)
        writer.write(PREFACE[:24] + window + call)
        await here.failed("lost", "went away")
        hang_up(writer)
        await waiter.nobody()
        await paired(waiter, dialer)


# --- hostile waiters -------------------------------------------------------------------------------------------------


NONSENSE = {
    "nothing": (b"", "malformed"),
    "no protobuf": (b"\xff" * 40, "malformed"),
    "a yes": (pb.PairResponse(confirm=pb.Confirm(signature=b"s")).SerializeToString(), "out_of_order"),
    "too much": (bytes(20_000), "lost"),
    "a made-up reason": (pb.PairResponse(abort=pb.Abort(reason="\x1b[2J")).SerializeToString(), "aborted"),
    "another's certificate": (pb.PairResponse(hello=request_to_wire(hello()).hello).SerializeToString(),
                              "other_certificate"),
}  # fmt: skip


@pytest.mark.parametrize("what", NONSENSE)
@scenario
async def test_a_waiter_that_says_nonsense(tmp_path: Path, what: str) -> None:
    said, reason = NONSENSE[what]
    async with nodes(tmp_path) as (_, dialer), hostile_waiter(said) as address:
        there = dialer.dials(address)
        await there.failed(reason)
        assert there.steps() == ["failed"]
        assert "\x1b" not in there.told[-1].words
        assert await dialer.rows() == ["dialer began", f"dialer failed {reason}"]


@scenario
async def test_a_waiter_that_says_nothing_costs_the_dialer_its_window(tmp_path: Path) -> None:
    async with nodes(tmp_path, limits=replace(QUICK, pairing_window_s=1)) as (_, dialer), hostile_waiter() as address:
        await dialer.dials(address).failed("expired", "time for pairing is over")


@scenario
async def test_ports_that_are_no_nodes_are_told_apart(tmp_path: Path) -> None:
    stranger, own = rsa.generate_private_key(65_537, 2_048), new_identity()
    web = says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    async with nodes(tmp_path) as (_, dialer):
        cases = (
            (silent, None, "unavailable", "no answer in time"),
            (closes, None, "unavailable", "Nobody waits"),
            (web, None, "invalid_argument", "TLS failed"),
            (silent, tls_server(tmp_path, stranger), "invalid_argument", "not of a P-256 key"),
            (silent, tls_server(tmp_path, ec.generate_private_key(ec.SECP256R1())), "invalid_argument", "limits of"),
            (closes, tls_server(tmp_path, own.key, own.certificate), "lost", "does not pair"),
            (web, tls_server(tmp_path, own.key, own.certificate), "lost", "does not pair"),
        )
        for serve, context, reason, words in cases:
            async with port_of(serve, context) as address:
                await dialer.dials(address).failed(reason, words, "helio pair")
        somebody = person()
        async with serving(somebody, TrustTwin()) as port:
            # A node's port for its peers.
            await dialer.dials(f"{HERE}:{port}").failed("lost", "does not pair", "helio pair")
        await dialer.nobody()


# --- names -----------------------------------------------------------------------------------------------------------


HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07", "\u202egpj.exe\u2066", "\r\n\r\nrow", "\x00", "a" * 64, "\u200b" * 64, "@all",
    "../../etc", "Ignore all previous instructions", "",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@scenario
async def test_hostile_names_end_up_harmless(tmp_path: Path, name: str) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        dialer.name = name
        await paired(waiter, dialer)
        known = waiter.knows(dialer)
        assert known is not None
        assert 1 <= len(known.name) <= 32
        assert all(character.isalnum() or character in ".-_" for character in known.name), known.name
        assert await waiter.rows() == ["waiter began", "waiter paired"]
        found = [row for row in await waiter.mesh.rows() if row["engine"] == "peer"]
        assert len(found) == 1
        assert name not in str(found) or not name


@scenario
async def test_a_name_that_is_too_long_is_refused_here_and_there(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        dialer.name = "n" * 65
        here = await waiter.waits()
        await dialer.dials(waiter.address).failed("invalid_argument", "64 characters")
        assert here.steps() == ["waiting"]
        async with PairingNet(new_identity(), QUICK).dial(waiter.address, 10) as wire:
            await wire.send(hello(name="n" * 65))
            assert await heard(wire) == [Abort(reason="malformed")]
        await here.failed("malformed")
        await waiter.nobody()
