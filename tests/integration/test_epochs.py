"""What a start makes of a database that is not the one that was signed last: old copies, lost ones, other histories."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from node import epochs
from node.core import note
from node.core.canonical import decode
from node.core.merkle import TILE_WIDTH
from node.core.note import Note, Signature, TreeHead
from node.core.retention import DAY_US
from tests.integration.mesh import NODE, ORIGIN, scenario
from tests.retention_stage import Clocks, Stage, opened

NEXT = ORIGIN.removesuffix("1") + "2"


async def seen_of(stage: Stage) -> TreeHead:
    """What a node would sign and keep of its log now."""
    head = await stage.store.read(lambda reader: reader.head())
    return TreeHead(origin=head.origin, size=head.size, root=head.root)


async def first_row(stage: Stage) -> dict[str, object]:
    (row, *_) = await stage.store.read(lambda reader: reader.rows(0, 1))
    return dict(decode(row.data))


async def started(folder: Path, clocks: Clocks, *seen: TreeHead) -> Stage:
    """The node comes back and looks at its log, as it does before anything else."""
    stage = await opened(folder / "node.db", clocks, origin=epochs.first_origin(NODE, seen))
    await epochs.begin(stage.store, NODE, seen, folder / "timeline.seen")
    return stage


async def run(folder: Path, clocks: Clocks, rows: int, *seen: TreeHead) -> TreeHead:
    """One run of the node that writes so many rows; what it signed last."""
    stage = await started(folder, clocks, *seen)
    await stage.write(rows)
    found = await seen_of(stage)
    await stage.store.close()
    return found


@pytest.mark.parametrize("rows", [1, 255, 256, 257, 3 * TILE_WIDTH, 3 * TILE_WIDTH + 17])
@scenario
async def test_the_log_that_was_signed_goes_on(tmp_path: Path, rows: int) -> None:
    clocks = Clocks()
    before = await run(tmp_path, clocks, rows)
    after = await run(tmp_path, clocks, 300, before)
    assert (after.origin, after.size) == (ORIGIN, rows + 300)
    # A checkpoint that is older than the log, as after a kill between the two.
    assert (await run(tmp_path, clocks, 1, before)).size == rows + 301


@pytest.mark.parametrize(("kept", "lost"), [(5, 1), (255, 2), (600, 700)])
@scenario
async def test_an_old_copy_is_closed_as_it_is_and_no_number_comes_twice(tmp_path: Path, kept: int, lost: int) -> None:
    clocks = Clocks()
    await run(tmp_path, clocks, kept)
    shutil.copy(tmp_path / "node.db", tmp_path / "old.db")
    seen = await run(tmp_path, clocks, lost)
    shutil.copy(tmp_path / "old.db", tmp_path / "node.db")
    (tmp_path / "timeline.seen").write_text("the note", encoding="utf-8")
    stage = await started(tmp_path, clocks, seen)
    await stage.write(3)
    logs = await stage.store.read(lambda reader: reader.logs())
    assert [(log.origin, log.size) for log in logs] == [(ORIGIN, kept), (NEXT, 4)]
    row = await first_row(stage)
    assert (row["row"], row["engine"], row["reason"]) == ("gap", "timeline", "rolled_back")
    assert row["extra"] == {"found": kept, "log": ORIGIN, "root": seen.root.hex(), "size": seen.size}
    await stage.check()
    told = await stage.store.read(lambda reader: epochs.told(reader, clocks.wall_us))
    assert f"had {kept + lost} rows and has {kept}" in told
    # The old checkpoint is evidence, and is kept when the next is written over it.
    assert (tmp_path / "timeline.seen.epoch-1").read_text(encoding="utf-8") == "the note"
    await stage.store.close()
    # That it is said once is enough, before the first checkpoint of the new log and after it.
    assert (await run(tmp_path, clocks, 1, seen)).origin == NEXT
    after = await run(tmp_path, clocks, 1, seen)
    assert (await run(tmp_path, clocks, 1, after)).origin == NEXT
    stage = await started(tmp_path, clocks, after)
    assert await stage.store.read(lambda reader: epochs.told(reader, clocks.wall_us + 31 * DAY_US)) == ""
    await stage.store.close()


@scenario
async def test_an_old_copy_from_before_the_epoch_makes_a_third_one(tmp_path: Path) -> None:
    clocks = Clocks()
    first = await run(tmp_path, clocks, 5)
    shutil.copy(tmp_path / "node.db", tmp_path / "old.db")
    (tmp_path / "node.db").unlink()
    second = await run(tmp_path, clocks, 5, first)
    assert second.origin == NEXT
    shutil.copy(tmp_path / "old.db", tmp_path / "node.db")
    third = await run(tmp_path, clocks, 5, second)
    assert third.origin == ORIGIN.removesuffix("1") + "3"


@scenario
async def test_a_database_that_is_gone_is_said_in_the_first_row_of_the_next(tmp_path: Path) -> None:
    clocks = Clocks()
    seen = await run(tmp_path, clocks, 5)
    (tmp_path / "node.db").unlink()
    stage = await started(tmp_path, clocks, seen)
    logs = await stage.store.read(lambda reader: reader.logs())
    assert [(log.id, log.origin, log.size) for log in logs] == [(0, NEXT, 1)]
    assert (await first_row(stage))["reason"] == "database_lost"
    await stage.store.close()


@scenario
async def test_a_new_node_has_nothing_to_say(tmp_path: Path) -> None:
    stage = await started(tmp_path, Clocks())
    assert epochs.first_origin(NODE, []) == ORIGIN
    assert await stage.store.read(lambda reader: (reader.size(), epochs.told(reader, 1))) == (0, "")
    await stage.store.close()


@pytest.mark.parametrize("size", [3, 300])
@scenario
async def test_another_history_of_the_same_length_is_a_fork(tmp_path: Path, size: int) -> None:
    clocks = Clocks()
    seen = await run(tmp_path, clocks, size)
    other = tmp_path / "other"
    other.mkdir()
    clocks.pass_asleep(1)
    await run(other, clocks, size + 5)
    shutil.copy(other / "node.db", tmp_path / "node.db")
    stage = await started(tmp_path, clocks, seen)
    assert (await first_row(stage))["reason"] == "forked"
    await stage.store.close()


Harm = Callable[[sqlite3.Connection], object]


@pytest.mark.parametrize(
    "harm",
    [
        lambda db: db.execute("DELETE FROM timeline WHERE place = 290"),
        lambda db: db.execute("UPDATE timeline SET leaf = zeroblob(32) WHERE place = 290"),
        lambda db: db.execute("UPDATE timeline_tiles SET hashes = zeroblob(32) WHERE level = 1"),
        lambda db: db.execute("UPDATE timeline_logs SET frontier = x''"),
        lambda db: db.execute("UPDATE timeline_logs SET frontier = zeroblob(LENGTH(frontier))"),
        lambda db: db.execute("UPDATE timeline_logs SET size = size - 1"),
    ],
)
@scenario
async def test_a_log_that_does_not_fit_itself_is_left_for_another(tmp_path: Path, harm: Harm) -> None:
    clocks = Clocks()
    await run(tmp_path, clocks, 300)
    with closing(sqlite3.connect(tmp_path / "node.db")) as db:
        harm(db)
        db.commit()
    stage = await started(tmp_path, clocks)
    row = await first_row(stage)
    assert (row["reason"], row["log"]) == ("damaged", NEXT)
    await stage.write(300)
    assert stage.store.writable
    assert await stage.store.read(lambda reader: reader.size()) == 301
    await stage.store.close()


@scenario
async def test_a_pruned_log_is_compared_by_its_tiles(tmp_path: Path) -> None:
    clocks = Clocks()
    early = await run(tmp_path, clocks, 300)
    await run(tmp_path, clocks, 400, early)
    clocks.pass_asleep(91 * DAY_US)
    stage = await started(tmp_path, clocks)
    assert [step.deleted for step in await stage.prune()] == [512]
    await stage.store.close()
    # Size 300 lies within rows that are gone.
    assert (await run(tmp_path, clocks, 1, early)).origin == ORIGIN
    forged = TreeHead(origin=ORIGIN, size=300, root=bytes(32))
    assert (await run(tmp_path, clocks, 1, forged)).origin == NEXT


def test_what_was_signed_is_read_from_its_file_or_not_at_all(tmp_path: Path) -> None:
    head = TreeHead(origin=ORIGIN, size=7, root=bytes(32))
    signature = Signature(name=ORIGIN, key_id=b"abcd", data=bytes(64))
    path = tmp_path / "timeline.seen"
    assert epochs.read_seen(path) == ()
    path.write_text(note.write(Note(text=note.head_text(head), signatures=(signature,))), encoding="utf-8")
    assert epochs.read_seen(path) == (head,)
    for garbage in (b"", b"\xff", b"local/x/1\n7\n", path.read_bytes()[:-3]):
        path.write_bytes(garbage)
        assert epochs.read_seen(path) == ()
