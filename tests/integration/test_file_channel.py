"""Files between a client and a server, on real sockets and disks: what arrives, what is resumed, what is refused."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from grpc import aio

from node.core.errors import ErrorCode, MeshError
from node.core.transfers import TransferState
from node.parcels import CHUNK_BYTES
from node.ports_files import Standing
from tests.file_stage import LIMITS, MB, MESSAGE, staged
from tests.integration.mesh import refused, scenario
from tests.waiting import turn
from tunnel.session.file_client import Carrier


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, 4 * MB + 1, 9 * MB])
def test_what_is_pushed_arrives_whole_and_waits_for_its_message(tmp_path: Path, size: int) -> None:
    @scenario
    async def run() -> None:
        async with staged(tmp_path) as stage:
            data = os.urandom(size)
            one = await stage.client.has("a.bin", data)
            await stage.push(one)
            assert stage.server.content(one) == data
            assert await stage.server.parcels.missing(stage.client.who.id, (one,)) == ()
            assert stage.server.parts() == [f"{size}.kept"]
            await stage.server.files.sweep(())
            assert stage.server.kept() == {one.sha256}
            await stage.server.parcels.claim(stage.client.who.id, (one,))
            await stage.server.files.sweep((one.sha256,))
            assert stage.server.kept() == {one.sha256}
            await stage.server.files.sweep(())
            assert stage.server.kept() == set()
            assert await stage.server.parcels.missing(stage.client.who.id, (one,)) == (one,)

    run()


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, 4 * MB + 1, 9 * MB])
def test_what_is_pulled_arrives_whole_and_waits_for_its_message(tmp_path: Path, size: int) -> None:
    @scenario
    async def run() -> None:
        async with staged(tmp_path) as stage:
            data = os.urandom(size)
            one = await stage.server.has("answer.bin", data)
            stage.sent_by_server(one)
            await stage.pull(one)
            assert stage.client.content(one) == data
            await stage.client.files.sweep(())
            assert stage.client.kept() == {one.sha256}
            await stage.client.parcels.claim(stage.server.who.id, (one,))
            await stage.client.files.sweep(())
            assert stage.client.kept() == set()

    run()


@scenario
async def test_what_is_there_goes_once(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        files = [await stage.client.has(f"{number}", os.urandom(MB)) for number in range(5)]
        await stage.push(*files, files[0])
        assert stage.client.parcels.read_bytes == 5 * MB
        assert stage.server.kept() == {one.sha256 for one in files}
        # What is there already does not come again, and has no second row.
        assert stage.ground.rows == [(one.sha256, MB, None) for one in files]
        assert stage.client.log.progress_of(MESSAGE) == (5 * MB, 5 * MB)


@scenario
async def test_a_push_goes_on_where_the_connection_broke(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        data = os.urandom(40 * MB)
        one = await stage.client.has("big", data)
        broken = asyncio.Event()

        async def cut() -> None:
            stage.keeper.awake()
            broken.set()

        stage.client.parcels.once(24 * MB, cut)
        with refused(ErrorCode.UNAVAILABLE):
            await stage.push(one)
        assert broken.is_set()
        said = stage.client.log.listed()[0]
        assert said.state is TransferState.BROKEN
        assert 16 * MB <= said.done <= 29 * MB
        await stage.linked()
        await stage.push(one)
        again = stage.client.parcels.read_bytes - len(data)
        assert again <= LIMITS.parcel_sync_bytes
        assert stage.server.content(one) == data


@scenario
async def test_a_pull_goes_on_where_the_connection_broke(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        data = os.urandom(40 * MB)
        one = await stage.server.has("big", data)
        stage.sent_by_server(one)

        async def cut() -> None:
            stage.keeper.awake()

        stage.server.parcels.once(24 * MB, cut)
        with refused(ErrorCode.UNAVAILABLE):
            await stage.pull(one)
        assert stage.client.parts() == [f"{len(data)}.part"]
        await stage.linked()
        await stage.pull(one)
        assert stage.client.content(one) == data
        assert stage.server.parcels.read_bytes - len(data) <= LIMITS.parcel_sync_bytes


@scenario
async def test_a_restarted_node_keeps_parts_and_what_waits(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        data, me = os.urandom(20 * MB), stage.client.who.id
        one, whole = await stage.client.has("big", data), await stage.client.has("small", b"whole")
        await stage.push(whole)
        intake = await stage.server.parcels.receive(me, one.sha256, one.size, 0)
        for at in range(0, 18 * MB, MB):
            await intake.write(data[at : at + MB])
        await intake.close()
        assert await stage.server.parcels.offer(me, one.sha256, one.size) == Standing(offset=18 * MB, complete=False)
        await stage.server.start()
        await stage.server.files.sweep(())
        assert stage.server.kept() == {whole.sha256}
        assert await stage.server.parcels.missing(me, (whole, one)) == (one,)
        after = await stage.server.parcels.offer(me, one.sha256, one.size)
        # After a crash two steps, of a sixth of 32 MB in whole pages, may not have been durable.
        assert after == Standing(offset=2 * 1_365 * 4_096, complete=False)
        intake = await stage.server.parcels.receive(me, one.sha256, one.size, after.offset)
        await intake.write(data[after.offset :])
        await intake.finish()
        assert stage.server.content(one) == data


@scenario
async def test_what_nobody_asks_for_is_given_up_in_time(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        me, parcels = stage.client.who.id, stage.server.parcels
        whole = await stage.client.has("small", b"whole")
        await stage.push(whole)
        intake = await parcels.receive(me, "a" * 64, 5, 0)
        await intake.write(b"abc")
        await intake.close()
        assert await parcels.sweep() == 0
        day_ago = stage.server.log.listed()[0].since_us / 1e6 - LIMITS.parcel_keep_s - 60
        for path in (stage.server.home / "parcels").glob("*/*"):
            os.utime(path, (day_ago, day_ago))
        await stage.server.start()
        assert stage.server.parts() == ["5.kept", "5.part"]
        assert await stage.server.parcels.sweep() == 2
        assert stage.server.parts() == []
        await stage.server.files.sweep(())
        assert stage.server.kept() == set()


@scenario
async def test_a_mark_or_part_that_a_crash_left_counts_for_what_is_there(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        me, whole = stage.client.who.id, await stage.client.has("small", b"whole")
        await stage.push(whole)
        folder = stage.server.home / "parcels" / me
        # Between the mark and the content, the content gone; and a mark beside the part it was made of.
        (folder / f"{'b' * 64}.5.kept").touch()
        (folder / f"{whole.sha256}.5.part").write_bytes(b"whole")
        (folder / "note.txt").write_bytes(b"not ours")
        await stage.server.start()
        assert sorted(path.name for path in folder.iterdir()) == sorted([f"{whole.sha256}.5.kept", "note.txt"])
        assert await stage.server.parcels.missing(me, (whole,)) == ()


@scenario
async def test_calls_with_the_same_content_go_one_after_the_other(tmp_path: Path) -> None:
    inside, doors = 0, asyncio.Semaphore(0)

    @asynccontextmanager
    async def channels(_peer: str) -> AsyncIterator[aio.Channel]:
        nonlocal inside
        inside += 1
        await doors.acquire()
        inside -= 1
        raise MeshError(ErrorCode.UNAVAILABLE, "no link")
        yield  # type: ignore[unreachable]

    async with staged(tmp_path) as stage:
        one, who = await stage.client.has("a", b"a"), stage.client
        carrier = Carrier(channels=channels, parcels=who.parcels, log=who.log, limits=LIMITS)

        async def call() -> None:
            with refused(ErrorCode.UNAVAILABLE):
                await carrier.push(stage.server.who.id, MESSAGE, one)

        async with asyncio.TaskGroup() as group:
            first, _second = group.create_task(call()), group.create_task(call())
            await turn()
            doors.release()
            await first
            # Comes while the second has just got its turn.
            group.create_task(call())
            await turn()
            await turn()
            assert inside == 1
            doors.release()
            doors.release()
