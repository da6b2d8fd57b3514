"""What was pruned verifies: the current log, a closed one, and a closed one whose prune row was pruned in its turn."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from node.config import TimelineConfig
from node.core.timeline import Row, RowKind
from node.core.timeline_check import Verification
from node.erasure import Erasures
from node.ports import Tx
from node.ports_timeline import Erasure
from node.retention import Retention
from tests.integration.mesh import NODE, ORIGIN, Mesh, running, scenario

ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
NEXT = ORIGIN.removesuffix("1") + "2"
NINETY_ONE_DAYS_S = 91 * 86_400


def write_rows(tx: Tx, *, count: int) -> None:
    for number in range(count):
        tx.append(ROW, (("title", f"row {number}"),))


async def write(mesh: Mesh, count: int) -> None:
    await mesh.store.write(partial(write_rows, count=count))
    await mesh.checkpoints.sign()


async def prune(mesh: Mesh, keep: TimelineConfig | None = None) -> list[tuple[int, int, int]]:
    """Log, first row and next of what was pruned."""
    retention = Retention(
        store=mesh.store, keep=keep or TimelineConfig(), node=NODE, row_clock=mesh.clock.row,
        sign=mesh.checkpoints.sign, scrub=mesh.store.scrub,
    )  # fmt: skip
    steps = [step async for step in retention.prune(dry_run=False, by_person=True)]
    assert all(step.doubt is None for step in steps)
    return list(dict.fromkeys((step.range.log, step.range.first, step.range.next) for step in steps))


async def verified(mesh: Mesh, log: str = "") -> Verification:
    found = [step.result async for step in mesh.proofs.verify(log=log)][-1]
    assert found is not None
    assert found.problem is None
    return found


@scenario
async def test_a_log_of_which_rows_went_by_age_and_by_size_verifies(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 600)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 700)
        assert await prune(mesh) == [(0, 0, 512)]
        found = await verified(mesh)
        assert [(one.first, one.next, one.why) for one in found.pruned] == [(0, 512, "age")]
        ((_, first, after),) = await prune(mesh, TimelineConfig(keep_bytes=150_000))
        assert first == 512
        found = await verified(mesh)
        assert [(one.first, one.next, one.why) for one in found.pruned][-1:] == [(512, after, "size")]
        erasures = Erasures(
            store=mesh.store, node=NODE, texts_days=30, row_clock=mesh.clock.row, scrub=mesh.store.scrub
        )
        assert [step.erased async for step in erasures.erase(Erasure(field="title"), dry_run=False)][-1] > 0
        await verified(mesh)


@scenario
async def test_a_closed_log_is_excused_by_rows_of_the_current_one_for_ever(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 600)
        await mesh.store.write(lambda tx: tx.open_log(NEXT))
        await write(mesh, 10)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 1)
        assert await prune(mesh) == [(0, 0, 512)]
        found = await verified(mesh, ORIGIN)
        assert [(one.first, one.next, one.why) for one in found.pruned] == [(0, 512, "age")]
        await verified(mesh)
        # The row that says so is pruned with others of its age, and says it once more before.
        await write(mesh, 600)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 1)
        assert await prune(mesh) == [(1, 0, 512)]
        await verified(mesh, ORIGIN)
        await verified(mesh)


@scenario
async def test_a_log_that_is_pruned_by_halves_verifies_as_well(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 1_300)
        await mesh.store.write(lambda tx: tx.open_log(NEXT))
        await write(mesh, 1_300)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 1)
        retention = Retention(
            store=mesh.store, keep=TimelineConfig(), node=NODE, row_clock=mesh.clock.row, sign=mesh.checkpoints.sign,
            scrub=mesh.store.scrub,
        )  # fmt: skip
        for log in (0, 1):
            steps = retention.prune(dry_run=False, by_person=False)
            while (await anext(steps)).range.log != log:
                pass
            # As a kill would leave it: some of the range is gone, and the rest is not.
            await steps.aclose()
            found = await mesh.store.read(lambda reader: [info.first for info in reader.logs()])
            assert found[log] == 256
            for origin in (ORIGIN, NEXT):
                await verified(mesh, origin)
