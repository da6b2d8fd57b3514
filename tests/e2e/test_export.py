"""An export by a real command from a real node, ended in the middle: by a person, by the system, and by kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from node.core.note import read, read_head
from node.core.timeline import Clock
from node.store import SqliteStore, StoreSettings
from tests.e2e.lab import HELIO, Lab, lab
from tests.export_stage import add_rows
from tests.waiting import until

ROWS = 8_000
INTERRUPTED = 130


async def filled(built: Lab) -> None:
    """The lab's node, running, with so many rows that an export of them takes a while."""
    await built.start()
    await built.stop()
    with closing(sqlite3.connect(built.home / "node.db")) as database:
        (origin,) = database.execute("SELECT origin FROM timeline_logs").fetchone()
    store = await SqliteStore.open(
        built.home / "node.db",
        origin=origin,
        row_clock=lambda: Clock(ts_us=1_790_000_000_000_000, mono_us=1, boot="boot-1"),
        entropy=os.urandom,
        settings=StoreSettings(),
    )
    await store.write(partial(add_rows, count=ROWS))
    await store.close()
    await built.start()


async def begun(built: Lab, folder: Path) -> asyncio.subprocess.Process:
    """An export of which a part is on the disk already."""
    process = await asyncio.create_subprocess_exec(
        *HELIO, "timeline", "export", "--format", "csv", "-o", str(folder / "x.csv"), env=built.env,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    await until(lambda: [part for part in folder.glob(".x.csv.*.part") if part.stat().st_size], "a part on the disk")
    return process


async def last_export(built: Lab) -> dict[str, object]:
    told = await built.helio("timeline", "--engine", "export", "--json")
    return json.loads(told.splitlines()[-1])["row"]


def test_an_export_that_is_ended_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    async def play() -> None:
        async with lab() as built:
            await filled(built)
            for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                process = await begun(built, tmp_path)
                process.send_signal(how)
                _, said = await process.communicate()
                assert process.returncode == INTERRUPTED, said
                assert b"Traceback" not in said
                assert list(tmp_path.iterdir()) == []
                row = await last_export(built)
                assert row["decision"] == "cancelled"
                extra = row["extra"]
                assert isinstance(extra, dict)
                assert f"helio: cancelled after {extra['count']} rows;".encode() in said
                assert 0 < extra["count"] < ROWS

    asyncio.run(play())


def test_what_kill_9_leaves_has_not_the_name_and_its_row_has_no_end(tmp_path: Path) -> None:
    async def play() -> None:
        async with lab() as built:
            await filled(built)
            process = await begun(built, tmp_path)
            process.kill()
            await process.communicate()
            assert [path.suffix for path in tmp_path.iterdir()] == [".part", ".part"]
            assert (await last_export(built))["decision"] == "begun"
            whole = json.loads(
                await built.helio("timeline", "export", "--format", "jsonl", "-o", str(tmp_path / "x"), "--json")
            )
            assert whole["count"] == whole["range"]["last"] + 1 >= ROWS
            assert whole["range"]["contiguous"] is True
            assert whole["last_row_proven"] is True
            signed = read_head(read(whole["log"]["checkpoint"]).text)
            assert (signed.origin, signed.size, signed.root.hex()) == (
                whole["log"]["origin"], whole["log"]["size"], whole["log"]["root"],
            )  # fmt: skip

    asyncio.run(play())


def test_a_node_that_goes_away_is_said_and_nothing_is_kept(tmp_path: Path) -> None:
    async def play() -> None:
        async with lab() as built:
            await filled(built)
            process = await begun(built, tmp_path)
            await built.kill()
            _, said = await process.communicate()
            assert process.returncode == 3
            assert b"The node is not running" in said
            assert list(tmp_path.iterdir()) == []

    asyncio.run(play())
