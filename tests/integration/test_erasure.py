"""Texts beside rows are erased: which, how the row says so, that the log still verifies, that the bytes are gone."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from node.config import TimelineConfig
from node.core.canonical import decode
from node.core.errors import ErrorCode
from node.core.retention import DAY_US
from node.core.timeline import Party
from node.erasure import TEXTS_AT_ONCE
from node.ports import Reader, Tx
from node.ports_timeline import EraseStep, Erasure
from node.store.opening import StoreSettings, connect_reader
from node.store.reader import SqliteReader
from tests.integration.mesh import DEADLINE_S, refused, scenario
from tests.retention_stage import HOUR_US, ROW, Clocks, Stage, retaining
from tests.waiting import until

ALICE = replace(ROW, conv="convconvconvcona", src=Party(session="alicealicealicea"))
BOB = replace(ROW, conv="convconvconvconb", dst=Party(session="bobbobbobbobbobb"))


async def erased(stage: Stage, wish: Erasure, *, dry_run: bool = False) -> EraseStep:
    return [step async for step in stage.erasures.erase(wish, dry_run=dry_run)][-1]


async def texts_of(stage: Stage) -> list[tuple[int, str]]:
    return [(one.seq, one.field) for one in await stage.store.read(lambda reader: reader.sides(0, 1 << 30))]


def two_rows(tx: Tx) -> None:
    tx.append(ALICE, (("title", "one"), ("preview", "two")))
    tx.append(BOB, (("title", "three"), ("preview", "four")))


EVERY = [(0, "preview"), (0, "title"), (1, "preview"), (1, "title")]


@pytest.mark.parametrize(
    ("wish", "left"),
    [
        (Erasure(seqs=(1,)), EVERY[:2]),
        (Erasure(seqs=(1, 0), field="title"), [EVERY[0], EVERY[2]]),
        (Erasure(field="preview"), [EVERY[1], EVERY[3]]),
        (Erasure(exchange="convconvconvcona"), EVERY[2:]),
        (Erasure(session="bobb"), EVERY[:2]),
        (Erasure(session="bobb", exchange="convconvconvcona"), EVERY),
        (Erasure(field="words"), EVERY),
    ],
)
@scenario
async def test_exactly_what_was_named_is_erased(tmp_path: Path, wish: Erasure, left: Sequence[tuple[int, str]]) -> None:
    async with retaining(tmp_path, Clocks()) as stage:
        await stage.store.write(two_rows)
        count = len(EVERY) - len(left)
        step = await erased(stage, wish, dry_run=True)
        assert (step.found, step.erased) == (count, 0)
        assert await texts_of(stage) == EVERY
        step = await erased(stage, wish)
        assert (step.found, step.erased) == (count, count)
        assert await texts_of(stage) == left
        await stage.check()
        rows = await stage.store.read(lambda reader: reader.rows(2, 10))
        assert len(rows) == (1 if count else 0)
        for row in rows:
            said = decode(row.data)
            assert (said["engine"], said["decision"], said["reason"]) == ("timeline", "erased", "by_person")
            assert said["extra"] == {"count": count, "from_seq": min(set(seqs(left))), "to_seq": max(set(seqs(left)))}


def seqs(left: Sequence[tuple[int, str]]) -> list[int]:
    return [seq for seq, field in EVERY if (seq, field) not in left]


@scenario
async def test_an_erasure_of_nothing_in_particular_or_of_rows_that_are_not_there_is_refused(tmp_path: Path) -> None:
    async with retaining(tmp_path, Clocks()) as stage:
        await stage.store.write(two_rows)
        with refused(ErrorCode.INVALID_ARGUMENT, "which texts"):
            await erased(stage, Erasure())
        with refused(ErrorCode.NOT_FOUND, "rows 0 to 1"):
            await erased(stage, Erasure(seqs=(0, 2)))
        with refused(ErrorCode.NOT_FOUND, "no log"):
            await erased(stage, Erasure(log="local/b/1", seqs=(0,)))
        assert await texts_of(stage) == EVERY


@scenario
async def test_the_bytes_are_gone_from_every_file(tmp_path: Path) -> None:
    async with retaining(tmp_path, Clocks()) as stage:
        for number in range(40):
            # Long and short ones, written one by one and many at once, so that pages split in every way.
            words = f"Sunflower-{number:04} " * (1 + number % 7 * 40)
            await stage.write(
                1 + number % 5, texts=(("title", words), ("preview", words), ("name", f"Rosebud-{number}"))
            )
        await stage.store.scrub()
        await stage.write(30, texts=(("snippet", "Sunflower in the write-ahead log"), ("name", "Rosebud")))
        assert found(tmp_path, b"Sunflower") > 0
        step = await erased(stage, Erasure(seqs=tuple(range(0, (await stage.kept())[1], 2))))
        assert step.erased > 0
        for field in ("title", "preview", "snippet"):
            await erased(stage, Erasure(field=field))
        assert found(tmp_path, b"Sunflower") == 0
        assert found(tmp_path, b"Rosebud") > 0
        await stage.check()
    assert found(tmp_path, b"Sunflower") == 0


def found(folder: Path, word: bytes) -> int:
    return sum(file.read_bytes().count(word) for file in folder.iterdir())


@scenario
async def test_a_reader_that_holds_an_older_state_is_told_of_and_waited_for(tmp_path: Path) -> None:
    async with retaining(tmp_path, Clocks()) as stage:
        await stage.store.write(two_rows)
        looking, go = threading.Event(), threading.Event()

        def look(reader: Reader) -> int:
            assert reader.size() == 2
            looking.set()
            assert go.wait(DEADLINE_S)
            return reader.size()

        # Beside the store's own reads, as an export of another program would.
        other = SqliteReader(connect_reader(stage.path, StoreSettings()))
        thread = threading.Thread(target=partial(other.consistently, look))
        thread.start()
        await until(looking.is_set)
        try:
            with refused(ErrorCode.UNAVAILABLE, "write-ahead log"):
                await erased(stage, Erasure(seqs=(0,)))
            # Whoever runs it again is not told that all is well.
            for dry_run in (True, False):
                with refused(ErrorCode.UNAVAILABLE, "write-ahead log"):
                    await erased(stage, Erasure(seqs=(0,)), dry_run=dry_run)
        finally:
            go.set()
            thread.join()
            other.close()
        assert await texts_of(stage) == EVERY[2:]
        assert (await erased(stage, Erasure(seqs=(0,)), dry_run=True)).found == 0
        assert (tmp_path / "node.db-wal").stat().st_size == 0


@scenario
async def test_what_a_killed_node_had_not_emptied_is_emptied_at_the_next_start(tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    killed.mkdir()
    async with retaining(tmp_path, Clocks()) as stage:
        await stage.write(1, texts=(("title", "Sunflower"),))
        await stage.store.write(lambda tx: tx.erase_texts(0, [(0, "title")]))
        for name in ("node.db", "node.db-wal"):
            shutil.copyfile(tmp_path / name, killed / name)
    assert found(killed, b"Sunflower") > 0
    async with retaining(killed, Clocks()) as stage:
        await stage.write(1)
        assert found(killed, b"Sunflower") == 0


@scenario
async def test_texts_go_by_age_and_rows_stay(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks, TimelineConfig(keep_texts_days=30)) as stage:
        await stage.write(TEXTS_AT_ONCE + 10, texts=(("title", "old"),))
        clocks.pass_asleep(32 * DAY_US)
        await stage.write(5, texts=(("title", "young"),))
        await stage.erasures.tend()
        assert [seq for seq, _ in await texts_of(stage)] == list(range(TEXTS_AT_ONCE + 10, TEXTS_AT_ONCE + 15))
        size = (await stage.kept())[1]
        row = decode((await stage.store.read(lambda reader: reader.rows(size - 1, 1)))[0].data)
        assert (row["decision"], row["reason"]) == ("erased", "age")
        await stage.check()
        # Once a day is enough for what comes of age.
        clocks.pass_asleep(HOUR_US)
        await stage.erasures.tend()
        assert (await stage.kept())[1] == size


@scenario
async def test_texts_stay_while_only_one_clock_says_that_they_are_old(tmp_path: Path) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks, TimelineConfig(keep_texts_days=30)) as stage:
        await stage.write(5, texts=(("title", "young"),))
        clocks.boots("boot-2", off_us=91 * DAY_US)
        await stage.write(1)
        await stage.erasures.tend()
        assert len(await texts_of(stage)) == 5
        assert (await stage.kept())[1] == 6


@pytest.mark.parametrize("by_person", [False, True])
@scenario
async def test_what_was_written_with_the_clock_ahead_keeps_no_older_text(tmp_path: Path, *, by_person: bool) -> None:
    clocks = Clocks()
    async with retaining(tmp_path, clocks, TimelineConfig(keep_texts_days=30)) as stage:
        clocks.boots("boot-ahead", off_us=365 * DAY_US)
        await stage.write(TEXTS_AT_ONCE + 1, texts=(("title", "ahead"),))
        clocks.boots("boot-2", off_us=-365 * DAY_US)
        await stage.write(5, texts=(("title", "old"),))
        clocks.pass_asleep(32 * DAY_US)
        await stage.write(1)
        if by_person:
            await erased(stage, Erasure(before_us=clocks.wall_us))
        else:
            await stage.erasures.tend()
        assert {seq for seq, _ in await texts_of(stage)} == set(range(TEXTS_AT_ONCE + 1))
