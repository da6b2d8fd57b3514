"""The timeline on a real file: its logs, the tiles of its tree, its checkpoints, and files from before these."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from node.core import merkle
from node.core.errors import ErrorCode, MeshError
from node.core.merkle import HASH_BYTES, TILE_WIDTH
from node.core.timeline import Row, RowKind
from node.ports import Reader, Tx
from node.ports_timeline import Checkpoint, RowFilter
from node.store.migrate import migrations
from tests.integration.mesh import ORIGIN, running, scenario

ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")


def add_rows(tx: Tx, *, count: int) -> None:
    for _ in range(count):
        tx.append(ROW)


def leaves(reader: Reader) -> list[bytes]:
    return [row.leaf for row in reader.rows(0, 10_000)]


@scenario
async def test_each_full_tile_is_written_with_the_row_that_fills_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(partial(add_rows, count=TILE_WIDTH - 1))
        assert await mesh.store.read(lambda reader: reader.tile(0, 0)) == b""
        await mesh.store.write(partial(add_rows, count=TILE_WIDTH + 90))

        def look(reader: Reader) -> None:
            kept = leaves(reader)
            assert [reader.tile(0, index) for index in range(3)] == [
                b"".join(kept[:TILE_WIDTH]), b"".join(kept[TILE_WIDTH : 2 * TILE_WIDTH]), b"",
            ]  # fmt: skip
            above = reader.tile(1, 0)
            assert above == merkle.root_of(kept[:TILE_WIDTH]) + merkle.root_of(kept[TILE_WIDTH : 2 * TILE_WIDTH])
            rest = [above[:HASH_BYTES], above[HASH_BYTES:], *kept[2 * TILE_WIDTH :]]
            assert reader.head().size == 2 * TILE_WIDTH + 89 == 2 * TILE_WIDTH + len(rest) - 2
            left = merkle.node_hash(rest[0], rest[1])
            assert merkle.node_hash(left, merkle.root_of(rest[2:])) == reader.head().root

        await mesh.store.read(look)


@scenario
async def test_a_file_from_before_there_were_tiles_gets_them(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(partial(add_rows, count=2 * TILE_WIDTH + 7))
        before = await mesh.store.read(lambda reader: (reader.head(), reader.tile(0, 1), reader.tile(1, 0)))
    with closing(sqlite3.connect(tmp_path / "node.db")) as old:
        # As the version before it would have left it.
        old.executescript("""
            CREATE TABLE timeline_head (one INTEGER PRIMARY KEY CHECK (one = 1), origin TEXT NOT NULL,
                size INTEGER NOT NULL, last BLOB, frontier BLOB NOT NULL) STRICT;
            INSERT INTO timeline_head SELECT 1, origin, size, last, frontier FROM timeline_logs;
            DROP TABLE timeline_logs; DROP TABLE timeline_tiles; DROP TABLE timeline_checkpoints;
            DROP TABLE timeline_prunes;
            ALTER TABLE timeline RENAME COLUMN place TO seq; ALTER TABLE timeline_side RENAME COLUMN place TO seq;
            PRAGMA user_version = 7;
        """)
    async with running(tmp_path) as mesh:
        after = await mesh.store.read(lambda reader: (reader.head(), reader.tile(0, 1), reader.tile(1, 0)))
        assert after == before
        assert (await mesh.verification()).ok
        assert len(migrations()) >= 8


@scenario
async def test_nothing_is_written_over_rows_that_are_gone(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(partial(add_rows, count=TILE_WIDTH - 1))
        with closing(sqlite3.connect(tmp_path / "node.db")) as other:
            other.execute("DELETE FROM timeline WHERE place = 9")
            other.commit()
        with pytest.raises(MeshError) as refused:
            await mesh.store.write(partial(add_rows, count=1))
        assert refused.value.code is ErrorCode.AUDIT_UNAVAILABLE
        assert not (await mesh.verification()).ok
    async with running(tmp_path) as mesh:
        # It starts, so that somebody can look.
        assert not (await mesh.verification()).ok


@scenario
async def test_another_log_begins_where_the_last_one_is_left_as_it_is(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(partial(add_rows, count=TILE_WIDTH + 3))
        old = await mesh.store.read(lambda reader: reader.head())
        origin = ORIGIN.removesuffix("1") + "2"

        def begin(tx: Tx) -> None:
            tx.append(ROW)
            tx.open_log(origin)
            tx.append(ROW)

        await mesh.store.write(begin)

        def look(reader: Reader) -> None:
            assert [(log.id, log.origin, log.size, log.current) for log in reader.logs()] == [
                (0, ORIGIN, old.size + 1, False), (1, origin, 1, True),
            ]  # fmt: skip
            assert reader.head().origin == origin
            assert reader.head(0).size == old.size + 1
            assert [row.seq for row in reader.rows(0, 10)] == [0]
            assert [row.seq for row in reader.rows(old.size - 1, 10, 0)] == [old.size - 1, old.size]
            assert reader.tile(0, 0) == b""
            assert reader.tile(0, 0, 0) == b"".join(row.leaf for row in reader.rows(0, TILE_WIDTH, 0))

        await mesh.store.read(look)
        found = [row.seq async for row in mesh.audit.rows(RowFilter(log=ORIGIN, from_seq=old.size), follow=False)]
        assert found == [old.size]
        with pytest.raises(MeshError, match="no log of the origin 'local/nobody/1'") as refused:
            await anext(aiter(mesh.audit.rows(RowFilter(log="local/nobody/1"), follow=False)))
        assert refused.value.code is ErrorCode.NOT_FOUND
    async with running(tmp_path) as mesh:
        assert await mesh.store.read(lambda reader: (reader.head().origin, reader.size())) == (origin, 1)


@scenario
async def test_another_log_that_a_command_began_and_failed_never_was(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:

        def begin_and_fail(tx: Tx) -> None:
            tx.append(ROW)
            tx.open_log("local/other/2")
            raise MeshError(ErrorCode.WRONG_STATE, "It does not fit.")

        with pytest.raises(MeshError, match="does not fit"):
            await mesh.store.write(begin_and_fail)
        await mesh.store.write(partial(add_rows, count=2))
        assert await mesh.store.read(lambda reader: (reader.head().origin, reader.size())) == (ORIGIN, 2)


@scenario
async def test_checkpoints_are_kept_by_size_and_log(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        made = [Checkpoint(size=size, root=bytes([size]) * 32, note=f"note {size}", made_us=size) for size in (3, 7, 9)]

        def keep(tx: Tx) -> None:
            for one in made:
                tx.add_checkpoint(one)
            # The first one signed stands.
            tx.add_checkpoint(Checkpoint(size=7, root=bytes(32), note="another", made_us=70))

        await mesh.store.write(keep)
        assert await mesh.store.read(lambda reader: reader.checkpoints(3, 10)) == (made[1], made[2])
        assert await mesh.store.read(lambda reader: reader.last_checkpoint()) == made[2]
        await mesh.store.write(lambda tx: tx.open_log("local/other/2"))
        assert await mesh.store.read(lambda reader: reader.last_checkpoint()) is None
        assert await mesh.store.read(lambda reader: reader.checkpoints(0, 1, 0)) == (made[0],)


@scenario
async def test_texts_beside_rows_come_with_their_salts(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:

        def write(tx: Tx) -> None:
            tx.append(ROW, (("title", "one"), ("name", "two")))
            tx.append(ROW)
            tx.append(ROW, (("title", "three"),))

        await mesh.store.write(write)
        found = await mesh.store.read(lambda reader: reader.sides(0, 3))
        assert [(one.seq, one.field, one.text) for one in found] == [
            (0, "name", "two"), (0, "title", "one"), (2, "title", "three"),
        ]  # fmt: skip
        assert len({one.salt for one in found}) == 3
        assert [one.seq for one in await mesh.store.read(lambda reader: reader.sides(1, 3))] == [2]
