"""Retention on a real file: what goes and what stays, what a clock must show first, and what a kill leaves behind."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from node.config import TimelineConfig
from node.core.canonical import decode
from node.core.errors import ErrorCode, MeshError
from node.core.merkle import TILE_WIDTH
from node.core.retention import DAY_US, Doubt
from node.ports import Tx
from node.ports_timeline import Checkpoint, Prune
from tests.integration.mesh import refused, scenario
from tests.retention_stage import HOUR_US, Clocks, retaining

TEXTS = (("title", "Quarterly figures"),)


@scenario
async def test_whole_tiles_of_old_rows_go_behind_a_row_that_says_so(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(2 * TILE_WIDTH + 100, texts=TEXTS)
        clocks.pass_asleep(91 * DAY_US)
        await stage.write(10, texts=TEXTS)
        (step,) = await stage.prune()
        assert (step.range.first, step.range.next, step.range.why, step.deleted) == (0, 512, "age", 512)
        first, size = await stage.kept()
        assert first == 512
        await stage.check()
        row = decode((await stage.store.read(lambda reader: reader.rows(size - 1, 1)))[0].data)
        assert (row["row"], row["engine"], row["decision"], row["reason"]) == ("prune", "prune", "pruned", "age")
        extra = row["extra"]
        assert isinstance(extra, dict)
        assert (extra["first"], extra["next"], extra["keep_days"], extra["boots"]) == (0, 512, 90, 1)
        assert row["from"] == {"node": "a" * 16, "role": "person"}
        # Rows of the third tile are as old, but it is not full of such rows: nothing more goes, however often.
        assert await stage.prune() == []
        assert await stage.store.read(lambda reader: len(reader.sides(0, 512))) == 0


@scenario
async def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(300)
        clocks.pass_asleep(91 * DAY_US)
        await stage.sign()
        before = await stage.kept()
        (step,) = await stage.prune(dry_run=True)
        assert (step.range.next, step.deleted, step.doubt) == (256, 0, None)
        assert await stage.kept() == before


@scenario
async def test_more_than_is_kept_goes_the_oldest_first_and_no_more_than_that(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks, TimelineConfig(keep_bytes=200_000)) as stage:
        await stage.write(4 * TILE_WIDTH)
        (step,) = await stage.prune()
        assert step.range.why == "size"
        left = await stage.store.read(lambda reader: reader.log_bytes(0))
        one = await stage.store.read(lambda reader: reader.row_sizes(step.range.next, step.range.next + TILE_WIDTH, 0))
        assert left <= 200_000 + 1_000
        assert left + one > 200_000
        await stage.check()


@scenario
async def test_a_start_with_the_clock_far_ahead_deletes_nothing(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(600)
    clocks.boots("boot-2", off_us=91 * DAY_US)
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(1)
        (step,) = await stage.prune()
        assert (step.doubt, step.deleted) == (Doubt.UNPROVEN, 0)
        assert (await stage.kept())[0] == 0
        # The clock is set right again: there is nothing to doubt, and nothing old.
        clocks.wall_us -= 91 * DAY_US
        clocks.boots("boot-3", off_us=HOUR_US)
        await stage.write(1)
        clocks.pass_asleep(2 * HOUR_US)
        (step, *_) = await stage.prune() or [None]
        assert step is None


@pytest.mark.parametrize("jump_us", [91 * DAY_US, 200 * DAY_US])
@scenario
async def test_a_clock_that_jumps_while_the_machine_runs_deletes_nothing(tmp_path: Path, jump_us: int) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(600)
        clocks.wall_us += jump_us
        await stage.write(1)
        assert {step.doubt for step in await stage.prune()} == {Doubt.STEPPED}
        assert (await stage.kept())[0] == 0


@scenario
async def test_a_clock_behind_the_newest_row_deletes_nothing(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks, TimelineConfig(keep_bytes=1)) as stage:
        await stage.write(600)
        clocks.boots("boot-2", off_us=-3 * HOUR_US)
        assert {step.doubt for step in await stage.prune()} == {Doubt.WENT_BACK}
        assert (await stage.kept())[0] == 0


@scenario
async def test_a_machine_that_was_off_for_long_prunes_once_a_second_boot_bears_it_out(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(600)
        clocks.boots("boot-2", off_us=100 * DAY_US)
        await stage.write(1)
        assert [step.doubt for step in await stage.prune()] == [Doubt.UNPROVEN]
        clocks.boots("boot-3", off_us=HOUR_US)
        await stage.write(1)
        assert [(step.doubt, step.deleted) for step in await stage.prune()] == [(None, 512)]
        await stage.check()


@scenario
async def test_a_boot_in_which_the_clock_jumped_bears_nothing_out(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(600)
        for boot in ("boot-2", "boot-3"):
            clocks.wall_us += 91 * DAY_US
            await stage.write(1)
            clocks.wall_us -= 91 * DAY_US
            clocks.boots(boot)
            await stage.write(1)
        clocks.boots("boot-4", off_us=91 * DAY_US)
        assert [step.doubt for step in await stage.prune()] == [Doubt.UNPROVEN]


@scenario
async def test_a_clock_that_is_set_right_by_a_little_is_believed(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(600)
        clocks.pass_asleep(50 * DAY_US)
        clocks.wall_us += 40_000_000
        await stage.write(1)
        clocks.pass_asleep(50 * DAY_US)
        clocks.wall_us -= 90_000_000
        await stage.write(1)
        assert [(step.doubt, step.deleted) for step in await stage.prune()] == [(None, 512)]


@scenario
async def test_rows_that_are_not_signed_stay(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(300)
        await stage.sign()
        await stage.write(300)
        clocks.pass_asleep(91 * DAY_US)
        stage.unsigned[0] = True
        steps = await stage.prune(dry_run=True)
        assert [(step.range.first, step.range.next, step.doubt) for step in steps] == [
            (0, 256, None), (256, 512, Doubt.UNSIGNED),
        ]  # fmt: skip
        # Nor does anything go while the row that says so is not signed.
        with refused(ErrorCode.WRONG_STATE, "not signed"):
            await stage.prune()
        assert (await stage.kept())[0] == 0
        assert [prune.next for prune in await stage.store.read(lambda reader: reader.prunes())] == [256]
        # It is what the next run begins with.
        stage.unsigned[0] = False
        await stage.prune()
        assert (await stage.kept())[0] == 512
        assert await stage.store.read(lambda reader: reader.prunes()) == ()
        await stage.check()


@scenario
async def test_what_a_stopped_run_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(4 * TILE_WIDTH, texts=TEXTS)
        clocks.pass_asleep(91 * DAY_US)
        steps = stage.retention.prune(dry_run=False, by_person=False)
        assert (await anext(aiter(steps))).deleted == TILE_WIDTH
        await steps.aclose()
        assert await stage.kept() == (256, 1025)
        await stage.check()
    async with retaining(tmp_path, clocks) as stage:
        await stage.retention.tend()
        assert await stage.kept() == (1024, 1025)
        await stage.check()


@scenario
async def test_closed_logs_are_pruned_by_rows_of_the_current_one(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(300)
        await stage.sign()
        await stage.store.write(lambda tx: tx.open_log("local/aaaaaaaaaaaaaaaa/2"))
        await stage.write(1)
        clocks.pass_asleep(91 * DAY_US)
        await stage.write(1)
        (step,) = await stage.prune()
        assert (step.range.log, step.range.next) == (0, 256)
        assert [log.first for log in await stage.store.read(lambda reader: reader.logs())] == [256, 0]
        await stage.check()


@scenario
async def test_a_prune_whose_row_will_never_be_signed_is_said_again(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(300)
        await stage.sign()
        clocks.pass_asleep(91 * DAY_US)
        stage.unsigned[0] = True
        with pytest.raises(MeshError):
            await stage.prune()
        await stage.store.write(lambda tx: tx.open_log("local/aaaaaaaaaaaaaaaa/2"))
        await stage.write(1)
        stage.unsigned[0] = False
        await stage.prune()
        assert [log.first for log in await stage.store.read(lambda reader: reader.logs())] == [256, 0]


@pytest.mark.parametrize("harm", ["UPDATE timeline SET data = x'7b7d'", "DELETE FROM timeline"])
@scenario
async def test_rows_that_are_damaged_or_gone_are_not_pruned_away(tmp_path: Path, harm: str) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(600)
        clocks.pass_asleep(91 * DAY_US)
        with closing(sqlite3.connect(tmp_path / "node.db")) as other:
            other.execute(f"{harm} WHERE place = 300")
            other.commit()
        assert [(step.range.first, step.range.next) for step in await stage.prune()] == [(0, 256)]
        assert (await stage.kept())[0] == 256


@scenario
async def test_nothing_is_deleted_for_a_row_that_no_checkpoint_covers(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(600)
        await stage.sign()
        await stage.store.write(lambda tx: tx.begin_prune(Prune(log=0, first=0, next=256, row_log=0, row_seq=600)))
        with refused(ErrorCode.WRONG_STATE):
            await stage.store.write(lambda tx: tx.prune_tile(0))
        await stage.write(1)
        await stage.sign()
        assert not await stage.store.write(lambda tx: tx.prune_tile(0))


@scenario
async def test_checkpoints_are_thinned_to_the_last_of_each_day_and_the_newest(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks) as stage:
        await stage.write(1)

        def keep_checkpoints(tx: Tx) -> None:
            for size in range(1, 101):
                made_us = size * DAY_US // 10
                tx.add_checkpoint(Checkpoint(size=size, root=bytes(32), note="", made_us=made_us))

        await stage.store.write(keep_checkpoints)
        await stage.store.write(lambda tx: tx.thin_checkpoints(0, 5, DAY_US))
        left = [one.size for one in await stage.store.read(lambda reader: reader.checkpoints(0, 1_000))]
        assert left == [9, 19, 29, 39, 49, 59, 69, 79, 89, 96, 97, 98, 99, 100]
