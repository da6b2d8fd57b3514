"""The store on a real file: what commits together, what is undone, what a full disk leaves behind, what survives."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.commands import Request
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.timeline import Row, RowKind
from node.ports import Reader, Tx
from node.store import StoreSettings
from node.store.migrate import migrations
from tests.clock_twins import CountedEntropy, ManualClock
from tests.integration.mesh import DEADLINE_S, Mesh, all_of, pane_of, refused, running, scenario
from tests.waiting import turn, until

ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")


def add_row(tx: Tx) -> int:
    return tx.append(ROW)


def add_row_and_fail(tx: Tx) -> None:
    tx.append(ROW)
    raise MeshError(ErrorCode.WRONG_STATE, "It does not fit.")


def commits_in(wal: Path) -> int:
    """Transactions in a write-ahead log: its frames that say how large the database is after a commit."""
    data = wal.read_bytes()
    page = int.from_bytes(data[8:12], "big")
    frames = range(32, len(data), 24 + page)
    return sum(
        int.from_bytes(data[at + 4 : at + 8], "big") > 0 for at in frames if data[at + 8 : at + 16] == data[16:24]
    )


@contextmanager
def nothing_may_grow(path: Path) -> Iterator[Callable[[], None]]:
    """Gives a function after which no file can grow beyond the size of `path`, as on a full disk; lifted afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@scenario
async def test_what_waits_together_commits_together(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        wal = tmp_path / "node.db-wal"
        # As it is at each start, by when nobody can tell: now it is.
        assert await mesh.store.scrub()
        before = commits_in(wal)
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                written = [group.create_task(mesh.store.write(add_row)) for _ in range(64)]
                await turn()
        assert sorted(task.result() for task in written) == list(range(64))
        # What held the writer wrote nothing.
        assert commits_in(wal) - before == 1
        assert (await mesh.verification()).rows == 64


@scenario
async def test_a_batch_has_an_end(tmp_path: Path) -> None:
    async with running(tmp_path, settings=StoreSettings(max_batch=10)) as mesh:
        wal = tmp_path / "node.db-wal"
        # As it is at each start, by when nobody can tell: now it is.
        assert await mesh.store.scrub()
        before = commits_in(wal)
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                for _ in range(64):
                    group.create_task(mesh.store.write(add_row))
                await turn()
        assert commits_in(wal) - before == 7


@scenario
async def test_a_command_that_fails_undoes_only_itself(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                good = [group.create_task(mesh.store.write(add_row)) for _ in range(2)]
                bad = group.create_task(outcome(mesh, add_row_and_fail))
                good.append(group.create_task(mesh.store.write(add_row)))
                await turn()
        assert [task.result() for task in good] == [0, 1, 2]
        assert bad.result() is ErrorCode.WRONG_STATE
        found = await mesh.verification()
        assert (found.ok, found.rows) == (True, 3)
        assert mesh.store.writable


@scenario
async def test_a_lone_command_that_fails_leaves_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        assert await outcome(mesh, add_row_and_fail) is ErrorCode.WRONG_STATE
        assert await mesh.store.write(add_row) == 0
        assert (await mesh.verification()).ok


@scenario
async def test_an_error_of_sql_is_the_commands_own_when_it_breaks_a_rule(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(lambda tx: tx.add_command("key", "e" * 16, "m" * 16, 1))
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                twice = group.create_task(raised(mesh, lambda tx: tx.add_command("key", "e" * 16, "m" * 16, 1)))
                other = group.create_task(mesh.store.write(add_row))
                await turn()
        assert isinstance(twice.result(), sqlite3.IntegrityError)
        assert other.result() == 0
        assert mesh.store.writable


@scenario
async def test_a_failed_commit_fails_all_of_it_and_leaves_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        assert await mesh.store.write(add_row) == 0
        with nothing_may_grow(tmp_path / "node.db-wal") as fill:

            def fill_the_disk(tx: Tx) -> None:
                fill()
                add_row(tx)

            async with asyncio.TaskGroup() as group:
                async with mesh.held_writer():
                    waiting = [
                        group.create_task(outcome(mesh, work))
                        for work in (fill_the_disk, *(add_row,) * 20, add_row_and_fail)
                    ]
                    await turn()
            codes = [task.result() for task in waiting]
            assert not mesh.store.writable
        assert codes == [ErrorCode.AUDIT_UNAVAILABLE] * 21 + [ErrorCode.WRONG_STATE]
        assert await mesh.store.read(lambda reader: reader.size()) == 1
        # The disk has room again: nothing else has to be done, and row 1 says how long that took.
        assert await mesh.store.write(add_row) == 2
        assert [row["decision"] for row in await mesh.rows(from_seq=1, limit=1)] == ["recovered"]
        assert mesh.store.writable
        assert (await mesh.verification()).ok


@scenario
async def test_a_full_database_refuses_and_recovers_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "node.db"
    async with running(tmp_path):
        pass
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE ballast (x BLOB)")
        other.execute("INSERT INTO ballast VALUES (zeroblob(200000))")
        (pages,) = other.execute("PRAGMA page_count").fetchone()
    settings = StoreSettings(pragmas=(f"PRAGMA max_page_count = {pages + 8}",))
    async with running(tmp_path, settings=settings, limits=Limits(open_exchanges=1000)) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        ask = Request(to=bob.name, text="Please describe the deployment. " * 20)
        opened = 0
        with refused(ErrorCode.AUDIT_UNAVAILABLE, "nothing was relayed"):
            while True:
                await mesh.broker.handle(alice.address, ask, key=f"key {opened}", exchange_id=mesh.ledger.new_id())
                opened += 1
        assert not mesh.store.writable
        left = await mesh.store.read(lambda reader: reader.exchanges(closed=True, limit=1000))
        assert 0 < opened == len(left) == len(await bob.unread())
        assert await mesh.store.read(lambda reader: reader.command(f"key {opened}")) is None
        found = await mesh.verification()
        assert (found.ok, found.rows) == (True, opened)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("DELETE FROM ballast")
        await mesh.broker.handle(alice.address, ask, key=f"key {opened}", exchange_id=mesh.ledger.new_id())
        assert mesh.store.writable
        assert (await mesh.verification()).rows == opened + 2


@scenario
async def test_a_damaged_head_refuses_instead_of_leaving_writers_waiting(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add_row)
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            (frontier,) = other.execute("SELECT frontier FROM timeline_logs").fetchone()
            other.execute("UPDATE timeline_logs SET frontier = x''")
        assert await outcome(mesh, add_row) is ErrorCode.AUDIT_UNAVAILABLE
        assert not mesh.store.writable
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            other.execute("UPDATE timeline_logs SET frontier = ?", (frontier,))
        assert await mesh.store.write(add_row) == 2


@scenario
async def test_a_reader_sees_one_state_however_long_it_looks(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        looking, go = threading.Event(), threading.Event()

        def look_twice(reader: Reader) -> tuple[int, int]:
            first = reader.size()
            looking.set()
            assert go.wait(DEADLINE_S)
            return first, len(reader.rows(0, 10))

        async with asyncio.TaskGroup() as group:
            seen = group.create_task(mesh.store.read(look_twice))
            await until(looking.is_set)
            await mesh.store.write(add_row)
            go.set()
        assert seen.result() == (0, 0)
        assert await mesh.store.read(lambda reader: reader.size()) == 1


@scenario
async def test_a_read_that_fails_does_not_spoil_the_next(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:

        def fail(_reader: Reader) -> None:
            raise MeshError(ErrorCode.NOT_FOUND, "It is not there.")

        with refused(ErrorCode.NOT_FOUND):
            await mesh.store.read(fail)
        assert await mesh.store.read(lambda reader: reader.size()) == 0


@scenario
async def test_a_queue_that_is_full_is_refused_with_the_limit(tmp_path: Path) -> None:
    async with running(tmp_path, settings=StoreSettings(max_pending=5)) as mesh:
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                waiting = [group.create_task(mesh.store.write(add_row)) for _ in range(5)]
                await turn()
                with refused(ErrorCode.LIMIT, "5 commands"):
                    await mesh.store.write(add_row)
        assert [task.result() for task in waiting] == [0, 1, 2, 3, 4]
        assert await mesh.store.write(add_row) == 5


@scenario
async def test_closing_commits_what_waits_and_refuses_what_comes(tmp_path: Path) -> None:
    mesh = await Mesh.open(tmp_path / "node.db")
    async with asyncio.TaskGroup() as group:
        async with mesh.held_writer():
            waiting = [group.create_task(mesh.store.write(add_row)) for _ in range(10)]
            closing_it = group.create_task(mesh.store.close())
            await turn()
            with refused(ErrorCode.NODE_NOT_RUNNING):
                await mesh.store.write(add_row)
    assert closing_it.done()
    assert [task.result() for task in waiting] == list(range(10))
    with refused(ErrorCode.NODE_NOT_RUNNING):
        await mesh.store.read(lambda reader: reader.size())
    async with running(tmp_path) as again:
        assert await again.store.read(lambda reader: reader.size()) == 10
        assert (await again.verification()).ok


@scenario
async def test_a_writer_that_leaves_does_not_take_its_work_along(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                leaving = group.create_task(mesh.store.write(add_row))
                await turn()
                leaving.cancel()
        assert leaving.cancelled()
        assert await mesh.store.write(add_row) == 1


@scenario
async def test_a_file_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "node.db"
    async with running(tmp_path) as mesh:
        await mesh.store.write(add_row)
    newer = len(migrations()) + 1
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"PRAGMA user_version = {newer}")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with refused(ErrorCode.UNSUPPORTED, f"version {newer}", "nothing was changed"):
        await Mesh.open(path)
    assert path.read_bytes() == before


@scenario
async def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "node.db"
    path.write_bytes(b"a letter to the future, not a database. " * 200)
    before = path.read_bytes()
    with refused(ErrorCode.AUDIT_UNAVAILABLE, "cannot be opened"):
        await Mesh.open(path)
    assert path.read_bytes() == before


@scenario
async def test_the_files_are_the_owners_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(add_row)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("node.db*")}
    assert set(modes.values()) == {0o600}
    assert "node.db-wal" in modes


@scenario
async def test_a_log_goes_on_where_it_stood(tmp_path: Path) -> None:
    clock, entropy = ManualClock(), CountedEntropy()
    for life in range(3):
        async with running(tmp_path, clock=clock, entropy=entropy) as mesh:
            await all_of([mesh.store.write(add_row) for _ in range(7)])
            found = await mesh.verification()
            assert (found.ok, found.rows) == (True, 7 * (life + 1))


@scenario
async def test_a_nickname_clash_never_deletes_a_session(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        error = await raised(mesh, lambda tx: tx.put_session(replace(bob.session, nickname="ALICE")))
        assert isinstance(error, sqlite3.IntegrityError)
        names = await mesh.store.read(lambda reader: {s.id: s.nickname for s in reader.sessions()})
        assert names == {alice.session.id: "alice", bob.session.id: "bob"}


@scenario
async def test_a_pane_is_a_session_only_in_the_same_life(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice = await mesh.seat("alice")
        pane = pane_of(alice.session.id)
        assert await mesh.store.read(lambda reader: reader.session_at(pane)) == alice.session
        for changed in (
            replace(pane, pid=101),
            replace(pane, started=2),
            replace(pane, pane="%other"),
            replace(pane, server="/run/elsewhere"),
        ):
            assert await mesh.store.read(lambda reader, at=changed: reader.session_at(at)) is None


async def outcome(mesh: Mesh, work: Callable[[Tx], object]) -> ErrorCode | object:
    """What a write came to: its result, or the code it was refused with."""
    try:
        return await mesh.store.write(work)
    except MeshError as error:
        return error.code


async def raised(mesh: Mesh, work: Callable[[Tx], object]) -> sqlite3.Error:
    with pytest.raises(sqlite3.Error) as caught:
        await mesh.store.write(work)
    return caught.value
