"""Strangers at the port of pairing, ports that are no nodes, and names that are no names."""

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
from node.core.pairing_messages import Abort, Confirm, Reveal
from node.rpc_pairing import PairingNet
from node.wire.v1 import pairing_pb2 as pb
from tests.forgery import PREFACE, frame, headers
from tests.integration.mesh import scenario
from tests.pairing_attackers import (
    PAIR,
    Stream,
    careless,
    channel,
    closes,
    data_of,
    hang_up,
    hello,
    hostile_waiter,
    port_of,
    says,
    silent,
    tls_server,
)
from tests.pairing_nodes import HERE, QUICK, finish, heard, new_identity, nodes, paired
from tests.peer_twin import TrustTwin, person, serving
from tests.waiting import until

NONCE = bytes(range(32))


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
        writer.write(PREFACE[:24] + window + frame(4, 1, 0, b"") + call)
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
