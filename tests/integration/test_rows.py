"""What rows say: commitments that hold, what files came to, runs and their clocks, and who overrode the screen."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from node import runs
from node.core.approval import Decision as Answer
from node.core.canonical import JsonValue, decode
from node.core.commands import Deliver, Request
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.redact import redact
from node.core.row_codes import RowDecision, RowEngine, RowReason, RowSubject, SideField
from node.core.row_decisions import DECISIONS_OF
from node.core.row_policy import policy_hash
from node.core.timeline import Clock, Scan, commitment
from node.core.workspace import ScreenMode
from node.door_rows import DoorRows
from node.ledger_rows import LedgerRows
from node.store import SqliteStore, StoreSettings
from tests.clock_twins import SECOND_US, CountedEntropy, ManualClock
from tests.holds_stage import SECRET, asking, pair
from tests.integration.mesh import (
    INJECTION,
    NODE,
    ORIGIN,
    Mesh,
    refused,
    running,
    scenario,
)

Row = dict[str, JsonValue]
SCAN = Scan(engine="rules", version="3", status="clean")


def part(row: Row, name: str) -> Row:
    value = row[name]
    assert isinstance(value, dict)
    return value


async def beside(mesh: Mesh, row: Row) -> dict[str, str]:
    """The texts beside a row."""
    seq = row["seq"]
    assert isinstance(seq, int)
    (stored,) = await mesh.store.read(lambda reader: reader.rows(seq, 1))
    return dict(stored.side)


# --- commitments ------------------------------------------------------------------------------------------------------


@scenario
async def test_a_message_too_long_for_a_row_is_cut_with_its_length_and_a_commitment_to_all_of_it(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        text = "Look at line 7. " * 5_000
        receipt = await alice.request(bob, text)
        (row,) = await mesh.rows(message=receipt.message.id)
        content, texts = part(row, "content"), await beside(mesh, row)
        assert (content["bytes"], content["chars"], content["truncated"]) == (80_000, 80_000, True)
        assert len(texts["preview"]) == 200
        assert content["commit"] == commitment(bytes.fromhex(texts["seal"]), text)
        short = await alice.request(bob, "yes")
        (row,) = await mesh.rows(message=short.message.id)
        content, texts = part(row, "content"), await beside(mesh, row)
        assert content["truncated"] is False
        # Whoever guesses a short text cannot try it without the seal, which can be erased.
        assert content["commit"] not in {hashlib.sha256(b"yes").hexdigest(), part(row, "side")["preview"]}
        assert content["commit"] == commitment(bytes.fromhex(texts["seal"]), "yes")
        again = await alice.request(bob, "yes")
        (other,) = await mesh.rows(message=again.message.id)
        assert part(other, "content")["commit"] != content["commit"]


@scenario
async def test_how_many_secrets_were_taken_out_of_what_stands_beside_a_row_is_in_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        text = "Write to ana@example.org and ben@example.org. " + "All is well. " * 50 + "password=correct-horse"
        receipt = await alice.send(Request(to=bob.name, title="For eve@example.org", text=text))
        (row,) = await mesh.rows(message=receipt.message.id)
        texts = await beside(mesh, row)
        # Counted on the whole text, though the preview is cut before the last one.
        assert part(row, "extra") == {"redacted": redact(text).count + 1}
        assert redact(text).count == 3
        assert texts["title"] == "For [redacted:mail]"
        assert "[redacted:mail] and [redacted:mail]" in texts["preview"]
        clean = await alice.request(bob, "Nothing to hide.")
        (row,) = await mesh.rows(message=clean.message.id)
        assert "extra" not in row


@scenario
async def test_rows_say_whether_the_screen_ran_and_by_which_policy_it_was_decided(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        mesh.ledger.policy = policy_hash(mesh.limits, credentials="withhold")
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        relayed = await alice.request(bob)
        withheld = await alice.request(bob, INJECTION)
        await bob.read()
        await mesh.ends(bob)
        (note,) = [row for row in await mesh.rows() if row.get("kind") == "note"]
        (first, *_), (second, *_) = [await mesh.rows(message=one.message.id) for one in (relayed, withheld)]
        scans = [part(row, "scan") for row in (first, second, note)]
        assert [scan["status"] for scan in scans] == ["clean", "flagged", "skipped"]
        assert scans[1]["rules"]
        assert {row["policy"] for row in (first, second, note)} == {mesh.ledger.policy}
        assert (first["depth"], first["root"]) == (0, relayed.exchange.id)


def test_a_policy_has_another_hash_once_a_limit_or_the_screen_is_changed() -> None:
    same = policy_hash(Limits(), credentials="withhold")
    assert same == policy_hash(Limits(), credentials="withhold")
    others = {policy_hash(Limits(), credentials="redact"), policy_hash(Limits(hops=9), credentials="withhold")}
    assert len({same, *others}) == 3


@scenario
async def test_calls_that_nobody_is_proven_to_make_leave_rows_so_many_a_minute(tmp_path: Path) -> None:
    limits = Limits(refusal_rows_per_minute=3)
    async with running(tmp_path, limits=limits) as mesh:
        alice = await mesh.seat("alice")
        door = DoorRows(store=mesh.store, ledger=mesh.ledger, limits=limits)
        await door.refused(ErrorCode.LIMIT, alice.session.id)
        for _ in range(5):
            await door.refused(ErrorCode.UNIDENTIFIED, None)
        first, *others = await mesh.rows(engine="session", decision="refused")
        assert (first["reason"], part(first, "from")["session"]) == ("limit", alice.session.id)
        assert [(row["reason"], row.get("from"), row["to"]) for row in others] == 2 * [
            ("unidentified", None, {"node": NODE})
        ]
        mesh.clock.advance(61)
        await door.refused(ErrorCode.UNIDENTIFIED, None)
        assert len(await mesh.rows(engine="session", decision="refused")) == 4


# --- who overrode the screen ------------------------------------------------------------------------------------------


@scenario
async def test_a_person_who_lets_a_held_message_through_has_a_row_that_says_so(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        receipt = await alice.request(bob, SECRET)
        assert await mesh.rows(engine="override") == []
        await person.says(Answer.ONCE)
        (row,) = await mesh.rows(engine="override")
        assert (row["row"], row["decision"], row["reason"]) == ("override", "relayed", "person")
        assert (row["msg"], part(row, "to")["session"]) == (receipt.message.id, bob.session.id)
        # Of what is allowed once nothing is kept for later.
        assert await mesh.rows(engine="screening") == []
        await alice.request(bob, f"{SECRET}!")
        await person.says(Answer.DENIED)
        assert len(await mesh.rows(engine="override")) == 1


@scenario
async def test_what_is_only_logged_is_an_override_of_both_a_hold_and_a_withholding(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        await person.screens(ScreenMode.LOG)
        await alice.request(bob, SECRET)
        await alice.request(bob, INJECTION)
        await alice.request(bob, "Which port?")
        rows = await mesh.rows(engine="override")
        assert [row["reason"] for row in rows] == ["log_only", "log_only"]
        assert all(part(row, "extra") == {"rule": "screen.log"} for row in rows)


# --- runs and their clocks --------------------------------------------------------------------------------------------


async def begins(mesh: Mesh, scan: Scan = SCAN) -> list[tuple[object, object]]:
    """A run begins; what its rows say."""
    size = await mesh.store.read(lambda reader: reader.size())
    await mesh.store.write(lambda tx: runs.begun(tx, mesh.ledger))
    await mesh.store.write(lambda tx: runs.screen_known(tx, mesh.ledger, scan))
    rows = await mesh.rows(from_seq=size)
    assert all(row["engine"] in {"lifecycle", "screening"} for row in rows)
    return [(row["decision"], row.get("reason")) for row in rows]


@scenario
async def test_a_run_says_how_the_one_before_it_ended(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        assert await begins(mesh) == [("started", "first")]
        assert await begins(mesh) == [("started", "unclean")]
        await mesh.store.write(lambda tx: runs.over(tx, mesh.ledger))
        assert await begins(mesh) == [("started", "clean")]
        (*_, row) = await mesh.rows(engine="lifecycle")
        assert (row["boot"], part(row, "from")) == ("boot-1", {"node": NODE})


@scenario
async def test_another_screen_or_policy_than_before_is_a_row(tmp_path: Path) -> None:
    gone = replace(SCAN, status="unavailable")
    async with running(tmp_path) as mesh:
        mesh.ledger.policy = "p1"
        assert await begins(mesh) == [("started", "first")]
        newer = replace(SCAN, version="4")
        assert (await begins(mesh, newer))[1:] == [("version_changed", None)]
        assert (await begins(mesh, newer))[1:] == []
        assert (await begins(mesh, gone))[1:] == [("unavailable", "scanner_unavailable")]
        assert (await begins(mesh, gone))[1:] == []
        assert (await begins(mesh))[1:] == [("available", None)]
        mesh.ledger.policy = "p2"
        assert (await begins(mesh))[1:] == [("policy_changed", None)]


class SteppedClock(ManualClock):
    """Its wall clock can be put right; sleep moves both of its clocks."""

    def __init__(self) -> None:
        super().__init__()
        self.put_right_us = 0
        self.boot = "boot-1"

    def row(self) -> Clock:
        now = super().row()
        return replace(now, ts_us=now.ts_us + self.put_right_us, boot=self.boot)


@scenario
async def test_a_step_of_the_wall_clock_is_a_row_before_the_next_one_and_sleep_is_none(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with running(tmp_path, clock=clock) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        await alice.request(bob)
        clock.advance(8 * 3_600)
        await alice.request(bob, "After a night?")
        assert await mesh.rows(engine="clock") == []
        for step_us in (-3_600 * SECOND_US, 3 * SECOND_US):
            clock.put_right_us += step_us
            receipt = await alice.request(bob, f"After {step_us}?")
            step = (await mesh.rows(engine="clock"))[-1]
            told = part(step, "extra")["step_us"]
            assert isinstance(told, int)
            assert (step["row"], step["decision"]) == ("clock", "stepped")
            assert abs(told - step_us) < 1_000
            (row, *_) = await mesh.rows(message=receipt.message.id)
            assert (row["seq"], row["ts"]) == (step["seq"] + 1, step["ts"])  # type: ignore[operator]
        clock.put_right_us += SECOND_US
        await alice.request(bob, "After a second?")
        clock.boot, clock.put_right_us = "boot-2", clock.put_right_us - 10 * SECOND_US
        await alice.request(bob, "After a restart?")
        assert len(await mesh.rows(engine="clock")) == 3
        found = await mesh.verification()
        assert found.ok
        assert [one.step_us for one in found.clock_steps] == [
            part(row, "extra")["step_us"] for row in await mesh.rows(engine="clock")
        ]


@scenario
async def test_what_is_undone_leaves_no_step_behind(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with running(tmp_path, clock=clock) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        await alice.request(bob)
        clock.put_right_us -= 60 * SECOND_US

        def fails(tx: object) -> None:
            mesh.ledger.lifecycle_row(tx, RowDecision.STOPPED)  # type: ignore[arg-type]
            raise MeshError(ErrorCode.WRONG_STATE, "It does not fit.")

        with refused(ErrorCode.WRONG_STATE):
            await mesh.store.write(fails)
        assert await mesh.rows(engine="clock") == []
        await alice.request(bob, "And now?")
        assert len(await mesh.rows(engine="clock")) == 1
        assert (await mesh.verification()).ok


# --- the tables -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", list(RowEngine))
@scenario
async def test_every_pair_of_the_tables_can_be_written(tmp_path: Path, *, engine: RowEngine) -> None:
    """Whatever code stands in a table is one that the timeline takes."""
    store = await SqliteStore.open(
        tmp_path / "node.db", origin=ORIGIN, row_clock=ManualClock().row, entropy=CountedEntropy(),
        settings=StoreSettings(),
    )  # fmt: skip
    rows = LedgerRows(NODE, CountedEntropy())
    try:
        for decision in DECISIONS_OF[engine]:
            await store.write(partial(rows.event_row, engine=engine, decision=decision, session_id="s" * 16))
        refusal = partial(rows.event_row, engine=engine, decision=RowDecision.REFUSED, session_id="s" * 16)
        for reason in RowReason:
            await store.write(partial(refusal, reason=reason))
        written = [decode(row.data) for row in await store.read(lambda reader: reader.rows(0, 1_000))]
    finally:
        await store.close()
    assert {row["decision"] for row in written} == {*DECISIONS_OF[engine], RowDecision.REFUSED}
    assert {row["reason"] for row in written if "reason" in row} == set(RowReason)


@scenario
async def test_a_day_of_work_leaves_codes_of_the_tables_alone(tmp_path: Path) -> None:
    async with asking(tmp_path) as mesh:
        alice, bob, person = await pair(mesh)
        await mesh.store.write(lambda tx: runs.begun(tx, mesh.ledger))
        opened = await alice.request(bob)
        await bob.read()
        await bob.send(Deliver(exchange=opened.exchange.id, text="8080."))
        await alice.read()
        await alice.request(bob, INJECTION)
        await alice.request(bob, SECRET)
        await person.says(Answer.ALWAYS)
        await mesh.tick(5)
        with refused(ErrorCode.NOT_FOUND):
            await alice.request("@nobody")
        rows = await mesh.rows()
        assert len({(row["engine"], row["decision"]) for row in rows}) >= 9
        for row in rows:
            assert RowDecision(str(row["decision"])) in DECISIONS_OF[RowEngine(str(row["engine"]))], row
            assert row.get("reason") is None or RowReason(str(row["reason"])), row
            assert row.get("kind") is None or RowSubject(str(row["kind"])), row
            assert {SideField(name) for name in part(row, "side")} if "side" in row else True
