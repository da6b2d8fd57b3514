"""The timeline's reader: filters, the tail, following, and the verdict over what was changed behind the node's back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from node.core.canonical import decode
from node.core.commands import Close, Deliver, Request
from node.core.merkle import leaf_hash
from node.core.timeline import Row, RowKind
from node.core.timeline_check import ProblemCode
from node.ports import Tx
from node.ports_timeline import RowFilter, StoredRow
from tests.clock_twins import START_US
from tests.integration.mesh import INJECTION, Mesh, all_of, running, scenario
from tests.waiting import turn

PAGE = 500  # rows that the reader takes at once; the tests cross it
ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
OTHER = Row(row=RowKind.LIFECYCLE, engine="session", decision="named", sw="test/1")


def add(*rows: Row, times: int = 1) -> Callable[[Tx], None]:
    """A write of these rows, so often."""

    def work(tx: Tx) -> None:
        for _ in range(times):
            for row in rows:
                tx.append(row)

    return work


async def seqs(mesh: Mesh, **wanted: int | str) -> list[int]:
    return [row["seq"] for row in await mesh.rows(**wanted)]  # type: ignore[misc]


async def take(rows: AsyncIterator[StoredRow], number: int) -> list[int]:
    return [(await anext(rows)).seq for _ in range(number)]


@pytest.mark.parametrize("size", [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 3])
@scenario
async def test_every_row_once_in_order_across_pages(tmp_path: Path, size: int) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=size))
        assert await seqs(mesh) == list(range(size))
        assert await seqs(mesh, from_seq=7) == list(range(7, size))
        assert await seqs(mesh, limit=5) == list(range(min(5, size)))
        assert await seqs(mesh, limit=5, tail=True) == list(range(max(0, size - 5), size))


@scenario
async def test_filters(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        carol = await mesh.seat("carol")
        first = await alice.request(bob)
        middle_us = mesh.clock.wall_us()
        mesh.clock.advance(5)
        second = await carol.request(bob)
        withheld = await alice.send(Request(to="@carol", text=INJECTION))
        await bob.send(Deliver(exchange=first.exchange.id, text="Port 8080."))
        await mesh.store.write(add(ROW, OTHER))
        everything = await mesh.rows()
        assert await mesh.rows(exchange=first.exchange.id[:8]) == [
            row for row in everything if row.get("conv") == first.exchange.id
        ]
        assert [row["msg"] for row in await mesh.rows(decision="withheld")] == [withheld.message.id]
        assert await seqs(mesh, message=second.message.id, decision="relayed") == [1]
        assert [row["decision"] for row in await mesh.rows(engine="lifecycle")] == ["started"]
        assert {row["conv"] for row in await mesh.rows(session=carol.session.id)} == {
            second.exchange.id, withheld.exchange.id,
        }  # fmt: skip
        assert await seqs(mesh, until_us=middle_us) == [0]
        assert await seqs(mesh, since_us=middle_us) == list(range(1, len(everything)))
        assert await seqs(mesh, since_us=START_US, until_us=middle_us, engine="lifecycle") == []
        assert await seqs(mesh, exchange="q" * 16) == []
        assert await seqs(mesh, engine="lifecycle", tail=True, limit=3) == [len(everything) - 2]


@scenario
async def test_following_sees_each_row_once_across_pages(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=PAGE - 3))
        async with aclosing(mesh.audit.rows(RowFilter(), follow=True)) as rows:
            seen = await take(rows, PAGE - 3)
            for size in (1, 5, 2 * PAGE, 1):
                await mesh.store.write(add(ROW, times=size))
                mesh.bells.ring(())
                seen += await take(rows, size)
        assert seen == list(range(PAGE - 3 + 1 + 5 + 2 * PAGE + 1))


@scenario
async def test_following_a_tail_misses_nothing_that_comes_while_it_is_shown(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=PAGE + 10))
        async with aclosing(mesh.audit.rows(RowFilter(limit=3, tail=True), follow=True)) as rows:
            seen = await take(rows, 1)
            # Whoever watches takes their time; the node does not stop for that.
            await mesh.store.write(add(ROW, times=4))
            seen += await take(rows, 6)
        assert seen == list(range(PAGE + 7, PAGE + 14))


@scenario
async def test_following_with_a_filter_that_rarely_matches(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(OTHER, *(ROW,) * PAGE, OTHER))
        async with aclosing(mesh.audit.rows(RowFilter(engine="session"), follow=True)) as rows:
            seen = await take(rows, 2)
            await mesh.store.write(add(*(ROW,) * 3, OTHER))
            mesh.bells.ring(())
            seen += await take(rows, 1)
        assert seen == [0, PAGE + 1, PAGE + 5]


@scenario
async def test_following_wakes_for_every_commit_of_the_broker(tmp_path: Path) -> None:
    """The pause between looks is longer than the test may take: only the bell can wake it."""
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        async with aclosing(mesh.audit.rows(RowFilter(decision="relayed"), follow=True)) as rows:
            for _ in range(3):
                async with asyncio.TaskGroup() as group:
                    came = group.create_task(take(rows, 1))
                    await turn()
                    receipt = await alice.request(bob)
                (seq,) = came.result()
                (row,) = await mesh.rows(from_seq=seq, limit=1)
                assert row["msg"] == receipt.message.id


@scenario
async def test_a_limit_ends_even_a_follower(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=3))
        rows = [row.seq async for row in mesh.audit.rows(RowFilter(limit=2), follow=True)]
        assert rows == [0, 1]


@pytest.mark.parametrize("size", [0, 1, PAGE, PAGE + 1])
@scenario
async def test_an_untouched_timeline_verifies(tmp_path: Path, size: int) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=size))
        progress = [(p.rows, p.total, p.result is None) async for p in mesh.proofs.verify()]
        assert progress[-1] == (size, size, False)
        assert all(total == size and pending for _, total, pending in progress[:-1])
        assert (await mesh.verification()).ok


@scenario
async def test_a_verification_is_of_the_head_as_it_was_at_its_start(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=PAGE + 5))
        async with aclosing(mesh.proofs.verify()) as checking:
            first = await anext(checking)
            await mesh.store.write(add(ROW, times=PAGE))
            *_, last = [first] + [progress async for progress in checking]
        assert last.result is not None
        assert (last.result.ok, last.result.rows) == (True, PAGE + 5)


EDITED = b'"decision":"stopped"'


def edit_with_its_hash(db: sqlite3.Connection) -> None:
    (data,) = db.execute("SELECT data FROM timeline WHERE place = 600").fetchone()
    changed = bytes(data).replace(b'"decision":"started"', EDITED)
    assert changed != data
    db.execute("UPDATE timeline SET data = ?, leaf = ? WHERE place = 600", (changed, leaf_hash(changed)))


def edit_the_last(db: sqlite3.Connection) -> None:
    (data,) = db.execute("SELECT data FROM timeline WHERE place = 699").fetchone()
    changed = bytes(data).replace(b'"decision":"started"', EDITED)
    db.execute("UPDATE timeline SET data = ?, leaf = ? WHERE place = 699", (changed, leaf_hash(changed)))


def cut_out(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM timeline WHERE place = 600")


def cut_the_tail(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM timeline WHERE place >= 690")


def cut_the_head(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM timeline WHERE place < 3")


def close_the_gap(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM timeline WHERE place = 600")
    db.execute("UPDATE timeline SET place = place - 1 WHERE place > 600")


@pytest.mark.parametrize(
    ("damage", "seq", "code"),
    [
        (edit_with_its_hash, 601, ProblemCode.CHAIN_BROKEN),
        (edit_the_last, 699, ProblemCode.ROOT_DIFFERS),
        (cut_out, 600, ProblemCode.MISSING),
        (cut_the_tail, 690, ProblemCode.TAIL_MISSING),
        (cut_the_head, 0, ProblemCode.HEAD_MISSING),
        (close_the_gap, 600, ProblemCode.RENUMBERED),
    ],
)
@scenario
async def test_damage_is_found_and_named(
    tmp_path: Path, damage: Callable[[sqlite3.Connection], None], seq: int, code: ProblemCode
) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=700))
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            damage(other)
        found = await mesh.verification()
        assert found.problem is not None
        assert (found.ok, found.problem.seq, found.problem.code) == (False, seq, code)


@scenario
async def test_a_changed_byte_is_found_and_the_row_is_still_shown(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=5))
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            other.execute("UPDATE timeline SET data = CAST(x'7b' || data AS BLOB) WHERE place = 3")
        found = await mesh.verification()
        assert found.problem is not None
        assert (found.problem.seq, found.problem.code) == (3, ProblemCode.EDITED)
        # A filter that the damaged row cannot match does not hide it.
        rows = [row.seq async for row in mesh.audit.rows(RowFilter(engine="session"), follow=False)]
        assert rows == [3]


@scenario
async def test_a_conversation_leaves_rows_that_verify_and_hold_no_words(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        opened = await alice.request(bob, "The quick brown fox asks.")
        await bob.read()
        await bob.send(Deliver(exchange=opened.exchange.id, text="The lazy dog answers."))
        await alice.read()
        await alice.send(Close(exchange=opened.exchange.id, accepted=True, note="The fox is content."))
        stored = [row async for row in mesh.audit.rows(RowFilter(), follow=False)]
        assert [decode(row.data)["decision"] for row in stored] == [
            "relayed", "read", "relayed", "answered", "read", "relayed",
        ]  # fmt: skip
        assert not any(word in row.data for row in stored for word in (b"fox", b"dog", b"alice", b"bob"))
        assert dict(stored[0].side)["preview"] == "The quick brown fox asks."
        assert (await mesh.verification()).ok


@scenario
async def test_several_readers_see_the_same(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=PAGE + 5))
        assert await all_of([seqs(mesh) for _ in range(4)]) == [list(range(PAGE + 5))] * 4


# --- filters, whole messages, the way back ----------------------------------------------------------------------------
