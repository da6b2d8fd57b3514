"""What is read of the timeline: filters, pages, whole messages, the next log, and an overview."""

from __future__ import annotations

import sqlite3
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.canonical import decode
from node.core.commands import Request
from node.core.errors import MeshError
from node.core.timeline import Content, Party, Row, RowKind
from node.ports import Tx
from node.ports_timeline import RowFilter
from tests.integration.mesh import INJECTION, NODE, running, scenario
from tests.unit.test_audit import add, seqs, take

PAGE = 500  # rows that the reader takes at once; the tests cross it
ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
OTHER = Row(row=RowKind.LIFECYCLE, engine="session", decision="named", sw="test/1")


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
