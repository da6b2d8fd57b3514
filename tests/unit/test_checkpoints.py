"""When the timeline is signed, by which key, and what is kept of it outside the database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.core import note
from node.core.canonical import JsonValue
from node.core.limits import Limits
from node.core.timeline import Row, RowKind
from node.core.timeline_check import ProblemCode
from node.ports import Tx
from tests.integration.mesh import Mesh, running, scenario
from tests.local_twins_proof import MemoryKeys

ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
LIMITS = Limits(checkpoint_rows=10, checkpoint_s=60)


async def add(mesh: Mesh, times: int) -> None:
    def work(tx: Tx) -> None:
        for _ in range(times):
            tx.append(ROW)

    await mesh.store.write(work)


async def sizes(mesh: Mesh) -> list[int]:
    return [one.size for one in await mesh.store.read(lambda reader: reader.checkpoints(0, 1_000))]


async def key_rows(mesh: Mesh) -> list[JsonValue]:
    return [row["decision"] for row in await mesh.rows(engine="key")]


def seen(mesh: Mesh) -> str:
    return mesh.path.with_suffix(".seen").read_text()


@scenario
async def test_it_is_signed_after_so_many_rows_or_so_long(tmp_path: Path) -> None:
    async with running(tmp_path, limits=LIMITS) as mesh:
        await add(mesh, 9)
        assert await mesh.checkpoints.tend() == pytest.approx(60, abs=0.1)
        assert await sizes(mesh) == []
        mesh.clock.advance(59)
        assert await mesh.checkpoints.tend() == pytest.approx(1, abs=0.1)
        mesh.clock.advance(1)
        assert await mesh.checkpoints.tend() is None
        # The row that says with which key is in it.
        assert await sizes(mesh) == [10]
        assert await key_rows(mesh) == ["log_key_began"]
        assert await mesh.checkpoints.tend() is None
        await add(mesh, 10)
        assert await mesh.checkpoints.tend() is None
        assert await sizes(mesh) == [10, 20]
        await add(mesh, 1)
        assert await mesh.checkpoints.tend() == pytest.approx(60, abs=0.1)
        await mesh.checkpoints.sign()
        assert await sizes(mesh) == [10, 20, 21]
        await mesh.checkpoints.sign()
        assert await sizes(mesh) == [10, 20, 21]
        found = await mesh.verification()
        assert (found.ok, found.covered, found.checkpoints, found.vouched) == (True, 21, 3, True)


@scenario
async def test_commits_make_it_look_and_the_last_note_is_kept_beside_the_database(tmp_path: Path) -> None:
    async with running(tmp_path, limits=LIMITS) as mesh:
        mesh.store.listen(mesh.checkpoints.ring)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(mesh.checkpoints.run())
            while not mesh.path.with_suffix(".seen").exists():
                await add(mesh, 10)
            work.cancel()
        (last,) = await mesh.store.read(lambda reader: reader.checkpoints(0, 1_000)[-1:])
        head = note.read_head(note.read(seen(mesh)).text)
        assert head.size <= last.size
        await mesh.checkpoints.sign()
        last_made = await mesh.store.read(lambda reader: reader.last_checkpoint())
        assert last_made is not None
        assert seen(mesh) == last_made.note


@scenario
async def test_a_node_that_comes_back_goes_on_with_its_key(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.checkpoints.sign()
        again = await reopened(mesh, mesh.keys)
        await add(again, 3)
        await again.checkpoints.sign()
        assert await key_rows(again) == ["log_key_began"]
        found = await again.verification()
        assert (found.ok, [one.how for one in found.keys]) == (True, ["log_key_began"])
        await again.store.close()


async def reopened(mesh: Mesh, keys: MemoryKeys) -> Mesh:
    """The node after a stop, with these log keys."""
    again = await mesh.reopened()
    again.take_keys(keys)
    return again


@pytest.mark.parametrize(
    ("lost", "says", "problem"),
    [(False, "log_key_followed", None), (True, "log_key_replaced", ProblemCode.KEY_UNPROVEN)],
)
@scenario
async def test_a_key_that_gives_way_signs_for_the_next_unless_it_is_lost(
    tmp_path: Path, *, lost: bool, says: str, problem: ProblemCode | None
) -> None:
    async with running(tmp_path) as mesh:
        await add(mesh, 5)
        await mesh.checkpoints.sign()
        mesh.keys.rotate(lose_old=lost)
        again = await reopened(mesh, mesh.keys)
        await add(again, 300)
        await again.checkpoints.sign()
        assert await key_rows(again) == ["log_key_began", says]
        found = await again.verification()
        assert (found.problem.code if found.problem else None) is problem
        assert mesh.keys.left == [], "a former key has nothing more to sign"
        await again.store.close()


@scenario
async def test_a_node_that_was_stopped_before_it_signed_says_it_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.checkpoints.sign()
        mesh.keys.rotate()
        # The row was written, and nothing signed: the next start says it once more, which is no alarm.
        half = await reopened(mesh, mesh.keys)
        await half.checkpoints.settle_key()
        again = await reopened(half, mesh.keys)
        await again.checkpoints.sign()
        assert await key_rows(again) == ["log_key_began", "log_key_followed", "log_key_followed"]
        found = await again.verification()
        assert found.ok, found.problem
        await again.store.close()


@scenario
async def test_a_clock_that_was_set_just_before_takes_no_number_from_the_key_s_row(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await add(mesh, 2)
        mesh.clock.set_by_s = -3_600
        await mesh.checkpoints.sign()
        assert [row["row"] for row in await mesh.rows()][2:] == ["clock", "key"]
        found = await mesh.verification()
        assert found.ok, found.problem
        assert [step.seq for step in found.clock_steps] == [2]


@scenario
async def test_another_log_begins_with_its_key_and_both_verify(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await add(mesh, 5)
        await mesh.checkpoints.sign()
        first = (await mesh.verification()).origin
        second = first.rpartition("/")[0] + "/2"
        await mesh.store.write(lambda tx: tx.open_log(second))
        await add(mesh, 2)
        await mesh.checkpoints.sign()
        found = await mesh.verification()
        assert (found.ok, found.origin, found.covered) == (True, second, 3)
        results = [progress.result async for progress in mesh.proofs.verify(log=first)]
        assert results[-1] is not None
        assert (results[-1].ok, results[-1].origin, results[-1].covered) == (True, first, 6)


@scenario
async def test_two_signatures_are_two_lines(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        mesh.take_keys(MemoryKeys(dual=True))
        await add(mesh, 5)
        await mesh.checkpoints.sign()
        assert len(note.read(seen(mesh)).signatures) == 2
        assert (await mesh.verification()).ok
