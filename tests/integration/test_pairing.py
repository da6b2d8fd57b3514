"""Pairing between two nodes, on real sockets and real stores: what people are told, who is a peer, what is recorded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.errors import ErrorCode
from node.core.mesh import Grant
from node.core.pairing_messages import Confirm, Message
from node.core.views_mesh import PairingStep
from node.ports_mesh import PairingWish
from tests.integration.mesh import refused, scenario
from tests.pairing_attackers import Recorded
from tests.pairing_nodes import (
    ALL,
    NONE,
    PANEL,
    QUICK,
    REQUEST,
    SERVED,
    TIMELINE,
    met,
    nobody_is_a_peer,
    nodes,
    paired,
    shown_id,
)
from tests.waiting import until

SHORT = replace(QUICK, pairing_window_s=1)
CODE, WRONG = "12345678", "87654321"


def other(code: str) -> str:
    """Another code of that length."""
    return str((int(code) + 1) % 10 ** len(code)).zfill(len(code))


# --- with two people -------------------------------------------------------------------------------------------------


@scenario
async def test_two_people_pair_their_nodes(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits(wants=frozenset({PANEL}), gives=frozenset({REQUEST, TIMELINE}))
        there = dialer.dials(waiter.address, wants=frozenset({REQUEST, PANEL}), gives=frozenset({PANEL}))
        asked = await there.until(PairingStep.ASK_CODE)
        assert (asked.name, asked.shown) == ("waiter", shown_id(waiter.me.certificate))
        assert (asked.asks, asked.offers) == ({PANEL}, {REQUEST, TIMELINE})
        shown = await here.until(PairingStep.CODE)
        assert len(shown.code) == 6
        with refused(ErrorCode.WRONG_STATE):
            here.say()
        there.say(code=f"{shown.code[:3]}-{shown.code[3:]}")
        question = await here.until(PairingStep.ASK_CONFIRM)
        assert (question.name, question.shown) == ("dialer", shown_id(dialer.me.certificate))
        assert (question.asks, question.offers) == ({REQUEST}, {PANEL})
        here.say()
        last = await there.end()
        assert (await here.end()).step is last.step is PairingStep.PAIRED
        assert (last.name, last.asks, last.offers) == ("waiter", {PANEL}, {REQUEST})
        assert here.steps() == ["waiting", "met", "code", "ask_confirm", "agreed", "paired"]
        assert there.steps() == ["met", "ask_code", "agreed", "paired"]
        of_dialer, of_waiter = waiter.knows(dialer), dialer.knows(waiter)
        assert of_dialer is not None
        assert of_waiter is not None
        assert (of_dialer.name, of_dialer.given, of_dialer.got) == ("dialer", {REQUEST}, {PANEL})
        assert (of_waiter.name, of_waiter.given, of_waiter.got) == ("waiter", {PANEL}, {REQUEST})
        assert of_dialer.addresses == of_waiter.addresses == (f"127.0.0.1:{SERVED}",)
        assert await waiter.rows() == ["waiter began", "waiter paired"]
        assert await dialer.rows() == ["dialer began", "dialer paired"]
        with refused(ErrorCode.NOT_FOUND, "helio pair"):
            there.say(code=shown.code)


@scenario
async def test_a_wrong_code_is_told_to_both_and_makes_nobody_a_peer(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        there.say(code=other(code))
        await there.failed("wrong_code", "not the right one")
        await here.failed("wrong_code", "other side says", "not the right one")
        await nobody_is_a_peer(waiter, dialer)
        assert (await waiter.burned(), await dialer.burned()) == (1, 1)
        assert await waiter.rows() == ["waiter began", "waiter failed wrong_code"]
        assert await dialer.rows() == ["dialer began", "dialer failed wrong_code"]
        await paired(waiter, dialer)
        assert (await waiter.burned(), await dialer.burned()) == (0, 0)


@scenario
async def test_too_few_digits_are_asked_for_again_and_cost_nothing(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        for typed in ("", "12345", "123456789", "12a456", "١٢٣٤٥٦"):
            there.say(code=typed)
            again = await there.until(PairingStep.ASK_CODE)
            assert "6 to 8 digits" in again.words
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        here.say()
        assert (await there.end()).step is (await here.end()).step is PairingStep.PAIRED
        assert (await waiter.burned(), await dialer.burned()) == (0, 0)


@pytest.mark.parametrize("who", ["waiter", "dialer"])
@scenario
async def test_a_person_declines(tmp_path: Path, who: str) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        if who == "waiter":
            there.say(code=code)
            await here.until(PairingStep.ASK_CONFIRM)
            here.say(confirmed=False)
            one, two = here, there
        else:
            there.say(confirmed=False)
            one, two = there, here
        await one.failed("declined", "declined")
        await two.failed("declined", "other side says", "declined")
        await nobody_is_a_peer(waiter, dialer)
        assert (await waiter.burned(), await dialer.burned()) == (0, 0)
        assert (await waiter.rows())[-1:] == ["waiter failed declined"]
        assert (await dialer.rows())[-1:] == ["dialer failed declined"]


@pytest.mark.parametrize("who", ["waiter", "dialer"])
@pytest.mark.parametrize("asked", [False, True], ids=["at the code", "at the question"])
@scenario
async def test_a_person_leaves_and_the_other_is_told(tmp_path: Path, who: str, *, asked: bool) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        if asked:
            there.say(code=code)
            await here.until(PairingStep.ASK_CONFIRM)
        left, stays = (here, there) if who == "waiter" else (there, here)
        await left.leave()
        await stays.failed("declined", "other side says")
        await nobody_is_a_peer(waiter, dialer)
        assert (await waiter.rows())[-1:] == ["waiter failed declined"]
        assert (await dialer.rows())[-1:] == ["dialer failed declined"]
        await paired(waiter, dialer)


@scenario
async def test_a_run_that_is_closed_by_its_reader_ends_without_an_error(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = waiter.desk.run(PairingWish(gives=ALL))
        port = (await anext(here)).port
        there = dialer.dials(f"127.0.0.1:{port}")
        while (await anext(here)).step is not PairingStep.CODE:
            pass
        await here.aclose()
        await there.failed("declined", "other side says")
        alone = waiter.desk.run(PairingWish(gives=ALL))
        await anext(alone)
        await alone.aclose()
        assert await waiter.rows() == ["waiter began", "waiter failed declined"] * 2


@scenario
async def test_nobody_comes_within_the_window(tmp_path: Path) -> None:
    async with nodes(tmp_path, limits=SHORT) as (waiter, dialer):
        here = await waiter.waits()
        await here.failed("expired", "Nobody came", "1 s")
        there = dialer.dials(waiter.address)
        await there.failed("unavailable", "Nobody waits", "helio pair")
        assert await waiter.rows() == ["waiter began", "waiter failed expired"]
        assert await dialer.rows() == ["dialer began", "dialer failed unavailable"]


@pytest.mark.parametrize("who", ["waiter", "dialer"])
@scenario
async def test_the_window_ends_in_the_middle_of_a_run(tmp_path: Path, who: str) -> None:
    long = replace(QUICK, pairing_window_s=15)
    limits, waits_with = (long, SHORT) if who == "waiter" else (SHORT, long)
    async with nodes(tmp_path, limits=limits, waits_with=waits_with) as (waiter, dialer):
        here, there, _ = await met(waiter, dialer)
        late, stays = (here, there) if who == "waiter" else (there, here)
        await late.failed("expired", "time for pairing is over")
        await stays.failed("expired", "other side says")
        await nobody_is_a_peer(waiter, dialer)
        assert (await waiter.rows())[-1:] == ["waiter failed expired"]
        assert (await dialer.rows())[-1:] == ["dialer failed expired"]


@scenario
async def test_peers_that_pair_again_have_the_new_grants(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        await paired(waiter, dialer, wants=frozenset({REQUEST, PANEL}))
        first = waiter.knows(dialer)
        await paired(waiter, dialer, wants=frozenset({TIMELINE}))
        second, there = waiter.knows(dialer), dialer.knows(waiter)
        assert first is not None
        assert second is not None
        assert there is not None
        assert (first.given, second.given, there.got) == ({REQUEST, PANEL}, {TIMELINE}, {TIMELINE})
        assert (first.id, first.name) == (second.id, second.name)
        # The one that waited dials now.
        await paired(dialer, waiter, wants=frozenset({REQUEST}))
        turned, back = waiter.knows(dialer), dialer.knows(waiter)
        assert turned is not None
        assert back is not None
        assert (turned.got, turned.given, back.given) == ({REQUEST}, NONE, {REQUEST})
        assert len(waiter.peers.peers()) == len(dialer.peers.peers()) == 1


# --- with a code known beforehand ------------------------------------------------------------------------------------


@scenario
async def test_with_a_code_known_beforehand_nobody_is_asked(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits(headless=True, gives=frozenset({Grant.REQUEST}))
        code = here.told[-1].code
        assert len(code) == 8
        there = dialer.dials(waiter.address, code=code, wants=ALL)
        assert (await there.end()).step is (await here.end()).step is PairingStep.PAIRED
        assert not {"ask_code", "ask_confirm", "code"} & {*here.steps(), *there.steps()}
        known = waiter.knows(dialer)
        assert known is not None
        assert known.given == {Grant.REQUEST}
        assert dialer.knows(waiter) is not None
        given = await waiter.waits(code=CODE)
        assert given.told[-1].code == ""
        there = dialer.dials(waiter.address, code=CODE)
        assert (await there.end()).step is (await given.end()).step is PairingStep.PAIRED


@scenario
async def test_three_wrong_codes_close_pairing_for_a_while_and_a_restart_does_not_open_it(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        for number in range(1, 4):
            here = await waiter.waits(code=CODE)
            there = dialer.dials(waiter.address, code=WRONG)
            await here.failed("wrong_code", "not the right one")
            await there.failed("wrong_code", "other side says")
            assert (await waiter.burned(), await dialer.burned()) == (number % 3, number % 3)
        await nobody_is_a_peer(waiter, dialer)
        assert await waiter.rows() == ["waiter began", "waiter failed wrong_code"] * 3
        for node in (waiter, dialer):
            refusal = await node.begin(PairingWish(code=CODE)).refused()
            assert refusal.code is ErrorCode.LIMIT
            assert "3 wrong codes closed pairing" in refusal.message
            assert "Try again in 900 seconds" in refusal.message
            await node.start()
            assert (await node.begin(PairingWish()).refused()).code is ErrorCode.LIMIT
            node.mesh.clock.advance(QUICK.pairing_closed_s)
        await paired(waiter, dialer)


@pytest.mark.parametrize("waits_with_code", [False, True])
@scenario
async def test_only_one_side_has_a_code(tmp_path: Path, *, waits_with_code: bool) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here = await waiter.waits(code=CODE if waits_with_code else "")
        there = dialer.dials(waiter.address, code="" if waits_with_code else CODE)
        await here.failed("other_way", "Only one side has a code")
        await there.failed("other_way", "other side says")
        await nobody_is_a_peer(waiter, dialer)


# --- what is recorded ------------------------------------------------------------------------------------------------


@scenario
async def test_a_waiter_that_cannot_record_the_peer_does_not_tell_the_dialer_that_they_are_paired(
    tmp_path: Path,
) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        waiter.store.broken = True
        here.say()
        await here.failed("audit_unavailable", "disk is full")
        await there.failed("aborted", "other side says")
        waiter.store.broken = False
        await nobody_is_a_peer(waiter, dialer)
        assert "paired" not in here.steps() + there.steps()
        await paired(waiter, dialer)


@pytest.mark.parametrize("code", ["", CODE], ids=["two people", "a code"])
@scenario
async def test_the_peer_is_recorded_then_the_other_is_told_then_the_person(tmp_path: Path, code: str) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        seen: list[tuple[bool, bool, bool]] = []

        def saying(message: Message) -> None:
            if isinstance(message, Confirm):
                told = "paired" in here.steps()
                seen.append((waiter.knows(dialer) is not None, told, dialer.knows(waiter) is not None))

        waiter.net = Recorded(waiter.net, saying)
        await waiter.start()
        here = await waiter.waits(code=code)
        there = dialer.dials(waiter.address, code=code)
        if not code:
            there_code = (await here.until(PairingStep.CODE)).code
            await there.until(PairingStep.ASK_CODE)
            there.say(code=there_code)
            await here.until(PairingStep.ASK_CONFIRM)
            here.say()
        assert (await there.end()).step is (await here.end()).step is PairingStep.PAIRED
        assert seen == [(True, False, False)]


@scenario
async def test_a_dialer_that_cannot_record_says_so_and_pairing_again_mends_it(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        here, there, code = await met(waiter, dialer)
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        dialer.store.broken = True
        here.say()
        await there.failed("audit_unavailable", "disk is full")
        assert (await here.end()).step is PairingStep.PAIRED
        dialer.store.broken = False
        await dialer.nobody()
        assert waiter.knows(dialer) is not None
        await paired(waiter, dialer)
        assert dialer.knows(waiter) is not None


@scenario
async def test_a_node_that_can_record_nothing_does_not_begin(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, _):
        waiter.store.broken = True
        assert (await waiter.begin(PairingWish()).refused()).code is ErrorCode.AUDIT_UNAVAILABLE
        waiter.store.broken = False
        here = await waiter.waits()
        await here.leave()


@scenario
async def test_as_many_peers_as_the_limit_and_no_more(tmp_path: Path) -> None:
    async with nodes(tmp_path, "waiter", "dialer", "late", waits_with=replace(QUICK, peers=1)) as (waiter, one, two):
        await paired(waiter, one)
        here, there, code = await met(waiter, two)
        there.say(code=code)
        await here.until(PairingStep.ASK_CONFIRM)
        here.say()
        await here.failed("limit", "the limit is 1")
        await there.failed("aborted", "other side says")
        assert waiter.knows(two) is None
        await two.nobody()


@scenario
async def test_nothing_of_a_run_stays_behind(tmp_path: Path) -> None:
    async with nodes(tmp_path) as (waiter, dialer):
        before = asyncio.all_tasks()
        await paired(waiter, dialer)
        here, there, _ = await met(waiter, dialer)
        await there.leave()
        await here.end()
        await until(lambda: asyncio.all_tasks() <= before, "the end of all tasks", seconds=5)
        await dialer.dials(waiter.address).failed("unavailable", "Nobody waits")
