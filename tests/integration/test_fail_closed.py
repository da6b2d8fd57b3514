"""No row, no relay: what a node does while its database cannot be written, or is not the file that it opened."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from node.core.commands import Request
from node.core.errors import ErrorCode, MeshError
from node.core.row_codes import RowDecision
from node.core.timeline import Row, RowKind
from node.platform.reserve import Reserve
from node.platform.watched import Unlike
from node.ports import Tx
from node.store import StoreSettings
from node.store.guard import MAX_REFUSAL_ROWS, RESERVE_NAME, WORDS
from tests.integration.mesh import Agent, Mesh, refused, running, scenario
from tests.waiting import until

ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
RESERVE = 1_048_576


@contextmanager
def nothing_may_grow(path: Path) -> Iterator[Callable[[], None]]:
    """Gives a function after which no file can grow beyond the size of `path`, as on a full disk; lifted afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def asked(agent: Agent, to: Agent, key: str) -> ErrorCode | None:
    """What a request of the agent came to: the code that it was refused with, or None."""
    try:
        await agent.mesh.people.send(Request(to=to.name, text="Please describe the deployment."), key)
    except MeshError as error:
        return error.code
    return None


async def refused_for(mesh: Mesh, reason: str) -> None:
    with refused(ErrorCode.AUDIT_UNAVAILABLE, "nothing was relayed", WORDS[reason]):
        await mesh.store.write(lambda tx: tx.append(ROW))
    assert mesh.store.trouble is not None
    assert mesh.store.trouble.reason == reason
    assert not mesh.store.writable
    # What is there can be read all the while.
    assert await mesh.store.read(lambda reader: reader.size()) >= 1


@scenario
async def test_a_full_disk_takes_the_reserve_which_is_put_by_again_before_anything_is_relayed(tmp_path: Path) -> None:
    settings = StoreSettings(reserve_bytes=RESERVE)
    async with running(tmp_path, settings=settings) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        assert (tmp_path / RESERVE_NAME).stat().st_blocks * 512 >= RESERVE
        assert await asked(alice, bob, "before") is None
        (before,) = [row["seq"] for row in await mesh.rows(tail=True, limit=1)]
        with nothing_may_grow(tmp_path / "node.db-wal") as fill:
            fill()
            with refused(ErrorCode.AUDIT_UNAVAILABLE):
                await mesh.store.write(partial(add_rows, count=10_000))
            assert mesh.store.trouble is not None
            assert mesh.store.trouble.reason == "disk_full"
            assert not (tmp_path / RESERVE_NAME).exists()
            assert not mesh.store.reserved
        # The limit is lifted, so this one is relayed, behind the row that says what was.
        assert await asked(alice, bob, "again") is None
        assert mesh.store.reserved
        rows = await mesh.rows(from_seq=int(str(before)) + 1)
        assert [row["decision"] for row in rows][:2] == ["recovered", "relayed"]
        assert rows[0]["reason"] == "disk_full"
        assert (await mesh.verification()).ok


def add_rows(tx: Tx, *, count: int) -> None:
    for _ in range(count):
        tx.append(ROW)


@scenario
async def test_refusals_that_cannot_be_rows_are_counted(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            other.execute("CREATE TABLE hinder (x)")
            # Every commit fails, and with it that of the rows of refusals.
            other.execute(
                "CREATE TRIGGER hindered BEFORE UPDATE ON timeline_logs WHEN (SELECT COUNT(*) FROM hinder) = 1 "
                "BEGIN SELECT RAISE(ABORT, 'hindered'); END"
            )
            other.execute("INSERT INTO hinder VALUES (1)")
        assert await asked(alice, bob, "first") is ErrorCode.AUDIT_UNAVAILABLE
        assert mesh.store.trouble is not None
        assert mesh.store.trouble.refused == 1
        for number in range(9):
            assert await asked(alice, bob, f"more {number}") is ErrorCode.AUDIT_UNAVAILABLE
        assert mesh.store.trouble is not None
        assert (mesh.store.trouble.refused, mesh.store.trouble.rows) == (10, 0)
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            other.execute("DELETE FROM hinder")
        assert await asked(alice, bob, "last") is None
        (told,) = await mesh.rows(decision="recovered")
        extra = told["extra"]
        assert isinstance(extra, dict)
        assert (extra["count"], extra["rows"]) == (10, 0)
        assert isinstance(extra["from_us"], int)
        assert isinstance(extra["to_us"], int)
        assert extra["from_us"] < extra["to_us"]


@scenario
async def test_while_the_disk_is_full_nothing_but_the_row_of_a_refusal_is_written(tmp_path: Path) -> None:
    # There is never room for such a reserve, so the disk stays full after the limit is lifted.
    async with running(tmp_path, settings=StoreSettings(reserve_bytes=1 << 60)) as mesh:
        alice = await mesh.seat("alice")
        with nothing_may_grow(tmp_path / "node.db-wal") as fill:
            fill()
            with refused(ErrorCode.AUDIT_UNAVAILABLE):
                await mesh.store.write(partial(add_rows, count=10_000))
        refusal = replace(ROW, decision=RowDecision.REFUSED)
        assert await mesh.store.write(lambda tx: tx.append(refusal, (("name", "one"),))) == 0

        def more(tx: Tx) -> None:
            tx.append(refusal)
            tx.put_session(replace(alice.session, title="written beside the row"))

        with refused(ErrorCode.AUDIT_UNAVAILABLE, WORDS["disk_full"]):
            await mesh.store.write(more)
        assert await mesh.store.read(lambda reader: reader.session(alice.session.id)) == alice.session
        for _ in range(1, MAX_REFUSAL_ROWS):
            await mesh.store.write(lambda tx: tx.append(refusal))
        # There is an end to that; further ones are counted.
        with refused(ErrorCode.AUDIT_UNAVAILABLE, WORDS["disk_full"]):
            await mesh.store.write(lambda tx: tx.append(refusal))
        assert [row["decision"] for row in await mesh.rows()] == ["refused"] * MAX_REFUSAL_ROWS
        assert mesh.store.trouble is not None
        assert (mesh.store.trouble.refused, mesh.store.trouble.rows) == (MAX_REFUSAL_ROWS + 1, MAX_REFUSAL_ROWS)


@pytest.mark.parametrize("reason", [Unlike.REMOVED, Unlike.REPLACED])
@scenario
async def test_a_database_that_is_not_in_its_place_is_noticed_and_goes_on_when_it_is_back(
    tmp_path: Path, reason: Unlike
) -> None:
    database, away = tmp_path / "node.db", tmp_path / "away.db"
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        await mesh.store.write(lambda tx: tx.append(ROW))
        database.rename(away)
        if reason is Unlike.REPLACED:
            shutil.copy(away, database)
        await refused_for(mesh, reason)
        assert await asked(alice, bob, "one") is ErrorCode.AUDIT_UNAVAILABLE
        assert await mesh.store.read(lambda reader: reader.size()) == 1
        away.rename(database)
        assert await asked(alice, bob, "two") is None
        (told,) = await mesh.rows(decision="recovered")
        assert told["reason"] == reason
        assert (await mesh.verification()).ok


@scenario
async def test_a_database_that_was_removed_is_kept_under_another_name_by_who_has_it_open(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(partial(add_rows, count=5))
        for file in tmp_path.glob("node.db*"):
            file.unlink()
        await refused_for(mesh, Unlike.REMOVED)
    (kept,) = tmp_path.glob("node.db*")
    kept.rename(tmp_path / "node.db")
    async with running(tmp_path) as mesh:
        assert await mesh.store.read(lambda reader: reader.size()) == 5
        assert (await mesh.verification()).ok


@scenario
async def test_a_write_ahead_log_that_was_removed_is_noticed(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(lambda tx: tx.append(ROW))
        (tmp_path / "node.db-wal").unlink()
        await refused_for(mesh, Unlike.REMOVED)


@scenario
async def test_an_idle_writer_notices_too(tmp_path: Path) -> None:
    async with running(tmp_path, settings=StoreSettings(look_s=0.01)) as mesh:
        await mesh.store.write(lambda tx: tx.append(ROW))
        (tmp_path / "node.db").rename(tmp_path / "away.db")
        await until(lambda: mesh.store.trouble is not None)
        (tmp_path / "away.db").rename(tmp_path / "node.db")
        await until(lambda: mesh.store.writable)
        assert [row["decision"] for row in await mesh.rows()] == ["started", "recovered"]


@scenario
async def test_a_database_that_is_cut_short_or_written_over_in_place_is_noticed(tmp_path: Path) -> None:
    for number, (reason, harm) in enumerate(((Unlike.TRUNCATED, cut_short), (Unlike.OVERWRITTEN, write_over))):
        folder = tmp_path / str(number)
        folder.mkdir()
        mesh = await Mesh.open(folder / "node.db")
        await mesh.store.write(lambda tx: tx.append(ROW))
        harm(folder / "node.db")
        await refused_for(mesh, reason)
        with refused(ErrorCode.AUDIT_UNAVAILABLE):
            await mesh.store.write(lambda tx: tx.append(ROW))
        await mesh.store.close()


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4096)


def write_over(path: Path) -> None:
    """As cp does it: the same file with other bytes."""
    with path.open("r+b") as file:
        file.seek(24)
        file.write(b"\x00\x00\x7f\xff")


@scenario
async def test_new_times_alone_do_not_stop_a_node(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(lambda tx: tx.append(ROW))
        os.utime(tmp_path / "node.db", (1_000, 1_000))
        assert await mesh.store.write(lambda tx: tx.append(ROW)) == 1


@scenario
async def test_checkpoints_of_its_own_do_not_stop_a_node(tmp_path: Path) -> None:
    async with running(tmp_path, settings=StoreSettings(pragmas=("PRAGMA wal_autocheckpoint = 3",))) as mesh:
        for count in range(1, 40):
            await mesh.store.write(partial(add_rows, count=count))
        assert mesh.store.writable
        assert (await mesh.verification()).ok


@scenario
async def test_damaged_bytes_refuse_what_meets_them_and_nothing_else(tmp_path: Path) -> None:
    database = tmp_path / "node.db"
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        await mesh.store.write(partial(add_rows, count=3_000))
    with closing(sqlite3.connect(database)) as other:
        (root,) = other.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'commands'").fetchone()
        (page,) = other.execute("PRAGMA page_size").fetchone()
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    async with running(tmp_path) as mesh:
        alice, bob = Agent(mesh=mesh, session=alice.session), Agent(mesh=mesh, session=bob.session)
        # The node has not looked at this page yet; a torn write would leave one like it.
        with database.open("r+b") as file:
            file.seek((root - 1) * page)
            file.write(b"\xa5" * page)
        with refused(ErrorCode.AUDIT_UNAVAILABLE, "damaged"):
            await mesh.people.send(Request(to=bob.name, text="One."), "key")
        assert mesh.store.damage is not None
        # Neither the row of that refusal nor anything else is hindered by it.
        (told,) = await mesh.rows(decision="refused")
        assert told["reason"] == "audit_unavailable"
        assert mesh.store.writable
        assert [session.nickname for session in await mesh.store.read(lambda r: r.sessions())] == ["bob", "alice"]
        assert (await mesh.verification()).ok


def test_every_way_to_be_another_file_has_words() -> None:
    assert {unlike.value for unlike in Unlike} <= set(WORDS)


def test_a_reserve_is_really_on_the_disk_and_is_taken_once(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "r", RESERVE)
    assert reserve.take()
    assert (tmp_path / "r").stat().st_blocks * 512 >= RESERVE
    inode = (tmp_path / "r").stat().st_ino
    assert reserve.take()
    assert (tmp_path / "r").stat().st_ino == inode
    assert reserve.give()
    assert not reserve.give()
    assert not Reserve(tmp_path / "nowhere" / "r", RESERVE).take()


def too_long(tx: Tx) -> int:
    """A row that not even trimming makes fit."""
    side = [(f"field_{number:03}", "text") for number in range(120)]
    return tx.append(replace(ROW, msg="m" * 16, kind="ask"), side)


@scenario
async def test_a_row_that_is_too_long_stands_in_for_itself_where_the_owner_allows_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        with refused(ErrorCode.AUDIT_UNAVAILABLE, "after trimming"):
            await mesh.store.write(too_long)
        assert await mesh.store.read(lambda reader: reader.size()) == 0
    async with running(tmp_path, settings=StoreSettings(allow_gaps=True)) as mesh:
        assert await mesh.store.write(too_long) == 0
        override, gap = await mesh.rows()
        assert (override["row"], override["msg"], override["kind"]) == ("override", "m" * 16, "ask")
        assert override["extra"] == {"engine": "lifecycle", "given": "started"}
        assert (gap["row"], gap["reason"]) == ("gap", "owner_allowed")
        assert gap["extra"] == {"count": 1, "from_seq": 0, "to_seq": 0}
        # A row that is no row at all is refused all the same.
        with refused(ErrorCode.INVALID_ARGUMENT):
            await mesh.store.write(lambda tx: tx.append(replace(ROW, engine="NOT A CODE")))
        assert (await mesh.verification()).ok


@pytest.mark.parametrize("harm", ["DELETE FROM timeline WHERE place = 9", "UPDATE timeline_logs SET frontier = x''"])
@scenario
async def test_a_log_that_cannot_go_on_makes_way_for_the_next_where_the_owner_allows_it(
    tmp_path: Path, harm: str
) -> None:
    for allowed in (False, True):
        folder = tmp_path / str(allowed)
        folder.mkdir()
        async with running(folder, settings=StoreSettings(allow_gaps=allowed)) as mesh:
            await mesh.store.write(partial(add_rows, count=255))
            with closing(sqlite3.connect(folder / "node.db")) as other:
                other.execute(harm)
                other.commit()
            if not allowed:
                await refused_outright(mesh)
                continue
            assert await mesh.store.write(lambda tx: tx.append(ROW)) == 1
            gap, row = await mesh.rows()
            assert (gap["row"], gap["reason"], row["decision"]) == ("gap", "damaged", "started")
            first, second = await mesh.store.read(lambda reader: reader.logs())
            assert (first.size, second.size, second.origin) == (255, 2, first.origin.removesuffix("1") + "2")


async def refused_outright(mesh: Mesh) -> None:
    with refused(ErrorCode.AUDIT_UNAVAILABLE, "nothing was relayed"):
        await mesh.store.write(lambda tx: tx.append(ROW))
    assert mesh.store.trouble is not None
    assert mesh.store.trouble.reason == "timeline"
