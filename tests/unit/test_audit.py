"""The timeline's reader: filters, the tail, following, and the verdict over what was changed behind the node's back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.canonical import decode
from node.core.commands import Close, Deliver, Request
from node.core.errors import MeshError
from node.core.merkle import leaf_hash
from node.core.timeline import Content, Party, Row, RowKind
from node.core.timeline_check import ProblemCode
from node.ports import Tx
from node.ports_timeline import RowFilter, StoredRow
from tests.clock_twins import START_US
from tests.integration.mesh import INJECTION, NODE, Mesh, all_of, running, scenario
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


def message(decision: str, message_id: str, **changes: object) -> Row:
    kind = RowKind.MESSAGE if decision in {"relayed", "withheld"} else RowKind.OUTCOME
    made = Row(row=kind, engine="agent.request", decision=decision, sw="test/1", msg=message_id)
    return replace(made, **changes)  # type: ignore[arg-type]


@scenario
async def test_more_filters(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:

        def work(tx: Tx) -> None:
            mine, far = Party(node=NODE, workspace="default"), Party(node="b" * 16, workspace="lab")
            tx.append(message("relayed", "a", src=mine, dst=far), [("title", "Café au port")])
            tx.append(message("landed", "a", dst=far))
            tx.append(message("withheld", "b", src=far, dst=mine, reason="prompt_injection"), [("title", "x")])
            tx.append(message("failed", "a", dst=far, reason="files"))

        await mesh.store.write(work)
        assert await seqs(mesh, row="outcome") == [1, 3]
        assert await seqs(mesh, outcome="landed") == [1]
        assert await seqs(mesh, outcome="withheld") == []
        assert await seqs(mesh, reason="files") == [3]
        assert await seqs(mesh, peer="b" * 16) == [0, 1, 2, 3]
        assert await seqs(mesh, workspace="lab", row="message") == [0, 2]
        assert await seqs(mesh, workspace="la") == []
        assert await seqs(mesh, text="PORT cafe\u0301") == [0]
        assert await seqs(mesh, text="port", whole=True) == [0, 1, 3]
        assert await seqs(mesh, outcome="failed", whole=True) == [0, 1, 3]
        with pytest.raises(MeshError, match="helio timeline logs"):
            await mesh.rows(log="local/x/9")


@pytest.mark.parametrize("size", [1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 3])
@scenario
async def test_paging_back_gives_each_row_once(tmp_path: Path, size: int) -> None:
    """Although all have the same time: pages end at numbers."""
    async with running(tmp_path) as mesh:
        mesh.clock.stands = True
        await mesh.store.write(add(ROW, times=size))
        seen: list[int] = []
        before = 0
        while page := await seqs(mesh, before_seq=before, limit=200, tail=True):
            assert len(page) == min(200, size - len(seen))
            seen = page + seen
            before = page[0]
            if before == 0:
                break
        assert seen == list(range(size))


@scenario
async def test_paging_on_gives_each_row_of_one_moment_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        mesh.clock.stands = True
        await mesh.store.write(add(OTHER, ROW, times=PAGE))
        assert len({row["ts"] for row in await mesh.rows()}) == 1
        seen: list[int] = []
        at = 0
        while page := await seqs(mesh, from_seq=at, limit=7, engine="session"):
            seen += page
            at = page[-1] + 1
        assert seen == list(range(0, 2 * PAGE, 2))


@scenario
async def test_a_range_of_rows(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=2 * PAGE))
        assert await seqs(mesh, from_seq=PAGE - 2, before_seq=PAGE + 2) == [PAGE - 2, PAGE - 1, PAGE, PAGE + 1]
        assert await seqs(mesh, from_seq=PAGE, before_seq=PAGE) == []
        assert await seqs(mesh, from_seq=5, before_seq=9, limit=2, tail=True) == [7, 8]


@scenario
async def test_the_last_messages_come_with_all_their_rows(tmp_path: Path) -> None:
    """The limit counts messages; those which begin before the first that is asked for come whole as well."""
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(message("relayed", "a"), message("relayed", "b"), *(ROW,) * PAGE))
        await mesh.store.write(add(message("landed", "b"), message("read", "b"), message("relayed", "c")))
        whole: dict[str, int | str] = {"whole": True, "tail": True}
        assert await seqs(mesh, **whole, limit=2) == [1, PAGE + 2, PAGE + 3, PAGE + 4]
        assert await seqs(mesh, **whole, limit=1) == [PAGE + 4]
        assert await seqs(mesh, **whole, limit=1, outcome="read") == [1, PAGE + 2, PAGE + 3]
        assert await seqs(mesh, whole=True, limit=2, from_seq=0) == [0, 1, PAGE + 2, PAGE + 3]


@scenario
async def test_following_goes_on_into_the_next_log(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        first = await mesh.store.read(lambda reader: reader.head().origin)
        await mesh.store.write(add(ROW, times=3))
        async with aclosing(mesh.audit.rows(RowFilter(from_seq=2), follow=True)) as rows:
            assert await take(rows, 1) == [2]

            def work(tx: Tx) -> None:
                tx.append(ROW)
                tx.open_log("local/next/2")
                tx.append(ROW)

            await mesh.store.write(work)
            mesh.bells.ring(())
            assert await take(rows, 2) == [3, 0]
        assert await seqs(mesh) == [0]
        assert await seqs(mesh, log=first) == [0, 1, 2, 3]
        logs = await mesh.audit.logs()
        assert [(one.origin, one.size, one.current) for one in logs] == [(first, 4, False), ("local/next/2", 1, True)]


@scenario
async def test_a_damaged_row_is_given_whatever_is_wanted(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW, times=5))
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            (data,) = other.execute("SELECT data FROM timeline WHERE place & 1023 = 3").fetchone()
            stopped = bytes(data).replace(b"started", b"stopped")
            other.execute("UPDATE timeline SET data = ? WHERE place & 1023 = 3", (stopped,))
        for wanted in (RowFilter(engine="nothing"), RowFilter(text="x", whole=True), RowFilter(since_us=2**52)):
            assert [row.seq async for row in mesh.audit.rows(wanted, follow=False)] == [3]


# --- the overview -----------------------------------------------------------------------------------------------------


@scenario
async def test_an_overview_counts_what_happened_since(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        await alice.request(bob)
        mesh.clock.advance(100)
        since_us = mesh.clock.wall_us()
        empty = await mesh.audit.overview(since_us)
        assert (empty.rows, empty.relayed, empty.blocks) == (0, 0, ())
        withheld = await alice.send(Request(to="@bob", text=INJECTION))
        await alice.request(bob)
        far = Party(node="b" * 16)
        await mesh.store.write(add(message("relayed", "x", content=_files(3, 7), dst=far), message("gave_up", "x")))
        for kind, decision in (("export", "begun"), ("export", "finished"), ("prune", "pruned"), ("prune", "refused")):
            await mesh.store.write(add(replace(ROW, row=RowKind(kind), engine=kind, decision=decision)))
        for decision in ("asked", "asked", "allowed_once", "denied"):
            await mesh.store.write(add(replace(ROW, row=RowKind.POLICY, engine="approval", decision=decision)))
        refused = Row(row=RowKind.POLICY, engine="mesh", decision="refused", reason="more", sw="t", extra={"count": 9})
        await mesh.store.write(add(refused))
        found = await mesh.audit.overview(since_us)
        assert (found.relayed, found.withheld, found.undelivered) == (2, 1, 1)
        assert (found.files, found.file_bytes, found.peers) == (2, 10, ("b" * 16,))
        assert (found.approvals_asked, found.approvals_allowed, found.approvals_denied) == (2, 1, 1)
        assert (found.exports, found.prunes, found.turned_away, found.clock_steps) == (1, 1, 9, 0)
        blocks = [decode(row.data) for row in found.blocks]
        assert [(row.get("msg"), row["decision"]) for row in blocks] == [
            (withheld.message.id, "withheld"), (None, "refused"),
        ]  # fmt: skip
        assert dict(found.blocks[0].side)["snippet"]
        everything = await mesh.audit.overview(0)
        assert everything.rows == await mesh.store.read(lambda reader: reader.size())
        assert everything.relayed == found.relayed + 1


def _files(*sizes: int) -> Content:
    return Content(bytes=1, chars=1, files=tuple(("ab" * 32, size) for size in sizes))


@scenario
async def test_an_overview_counts_what_is_damaged_and_is_not_misled_by_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add(ROW))
        since_us = mesh.clock.wall_us()
        mesh.clock.advance(50)
        await mesh.store.write(add(ROW, times=PAGE))
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            other.execute("UPDATE timeline SET data = x'7b7d' WHERE place & 1023 = 250")
        found = await mesh.audit.overview(since_us)
        assert (found.rows, found.damaged) == (PAGE, 1)
