"""What was pruned verifies: the current log, a closed one, and a closed one whose prune row was pruned in its turn."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from node.cli.timeline_rows import row_document
from node.codec_timeline import row_from_wire, row_to_wire
from node.config import TimelineConfig
from node.core import bundle
from node.core.bundle import Later, Signed
from node.core.bundle_check import BundleCheck
from node.core.errors import ErrorCode, MeshError
from node.core.timeline import Row, RowKind
from node.core.timeline_check import ProblemCode, Verification
from node.erasure import Erasures
from node.ports import Tx
from node.ports_timeline import BundleWish, Erasure
from node.retention import Retention
from node.signatures import NoteChecks
from tests.integration.mesh import NODE, ORIGIN, Mesh, refused, running, scenario
from tests.log_lab import Log, node_of, signer

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


async def bundled(mesh: Mesh, log: str, *, from_seq: int = 0, to_seq: int | None = None) -> list[bytes]:
    wish = BundleWish(log=log, from_seq=from_seq, to_seq=to_seq)
    items = [item async for item in mesh.proofs.bundle(wish)]
    lines = [item if isinstance(item, str) else row_document(row_from_wire(row_to_wire(item))) for item in items]
    return [f"{line}\n".encode() for line in lines]


def judged(lines: list[bytes], mesh: Mesh) -> Verification:
    return BundleCheck(checks=NoteChecks()).run(lines, trusted=frozenset({node_of(mesh.keys.current)}))[1]


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
                found_in = judged(await bundled(mesh, origin), mesh)
                assert found_in.ok, found_in.problem


@scenario
async def test_a_bundle_of_a_closed_log_brings_the_row_of_the_later_one(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 600)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 300)
        await mesh.store.write(lambda tx: tx.open_log(NEXT))
        await write(mesh, 11)
        await prune(mesh)
        lines = await bundled(mesh, ORIGIN)
        found = judged(lines, mesh)
        assert found.ok, found.problem
        assert [(one.first, one.next, one.why) for one in found.pruned] == [(0, 512, "age")]
        ((at, later),) = [(at, line) for at, line in enumerate(lines) if b'"later"' in line[:10]]
        said = json.loads(later)["later"]

        def with_later(**other: object) -> ProblemCode | None:
            changed = json.dumps({"later": said | other}).encode() + b"\n"
            problem = judged([*lines[:at], changed, *lines[at + 1 :]], mesh).problem
            return None if problem is None else problem.code

        assert with_later() is None
        # Without it rows are gone, and so they are when what is in its place proves nothing of them.
        missing = judged([*lines[:at], *lines[at + 1 :]], mesh).problem
        assert missing is not None
        assert missing.code is ProblemCode.HEAD_MISSING
        assert with_later(row=said["row"].replace('"next":512', '"next":256')) is ProblemCode.HEAD_MISSING
        assert with_later(path=said["path"][:-1]) is ProblemCode.HEAD_MISSING
        assert with_later(seq=said["seq"] - 1) is ProblemCode.HEAD_MISSING
        assert with_later(log=ORIGIN) is ProblemCode.CHECKPOINT_FORGED
        # Nobody says whose key the later log's is: that leaves a question, and is no sign of tampering.
        assert with_later(keys=[]) is ProblemCode.KEY_UNKNOWN
        # A piece that begins later needs none.
        piece = await bundled(mesh, ORIGIN, from_seq=800)
        assert not any(b'"later"' in line[:10] for line in piece)


@scenario
async def test_another_node_excuses_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 600)
        await mesh.store.write(lambda tx: tx.open_log(NEXT))
        await write(mesh, 10)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 1)
        await prune(mesh)
        lines = await bundled(mesh, ORIGIN)
        stranger = Log(key=signer(), origin=NEXT)
        stranger.take_key()
        stranger.wait(NINETY_ONE_DAYS_S)
        (said,) = [json.loads(line)["later"] for line in lines if b'"later"' in line[:10]]
        stranger.add(
            Row(
                row=RowKind.PRUNE,
                engine="prune",
                decision="pruned",
                sw="test/1",
                extra=json.loads(said["row"])["extra"],
            )
        )
        made, row = stranger.sign(), stranger.rows[-1]
        forged = bundle.later_line(
            Later(
                log=NEXT, seq=row.seq, data=row.data, path=(stranger.rows[0].leaf,),
                signed=Signed(size=made.size, root=made.root, note=made.note), keys=tuple(stranger.endorsed),
            )
        )  # fmt: skip
        problem = judged([f"{forged}\n".encode() if b'"later"' in line[:10] else line for line in lines], mesh).problem
        assert problem is not None
        assert problem.code is ProblemCode.HEAD_MISSING


@scenario
async def test_a_prune_of_a_closed_log_that_is_only_said_yet_is_no_alarm(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 600)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 700)
        await mesh.store.write(lambda tx: tx.open_log(NEXT))
        await write(mesh, 1)
        assert await prune(mesh) == [(0, 0, 512)]
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 1)
        signs = iter([mesh.checkpoints.sign])

        async def stops() -> None:
            if (sign := next(signs, None)) is None:
                raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, "The disk is full.")
            await sign()

        stopped = Retention(
            store=mesh.store,
            keep=TimelineConfig(),
            node=NODE,
            row_clock=mesh.clock.row,
            sign=stops,
            scrub=mesh.store.scrub,
        )
        with refused(ErrorCode.AUDIT_UNAVAILABLE):
            async for _ in stopped.prune(dry_run=False, by_person=False):
                pass
        assert [info.first for info in await mesh.store.read(lambda reader: reader.logs())] == [512, 0]
        await mesh.checkpoints.sign()
        await verified(mesh, ORIGIN)
        found = judged(await bundled(mesh, ORIGIN), mesh)
        assert found.ok, found.problem


@scenario
async def test_a_closed_log_that_is_gone_as_a_whole_verifies_out_of_a_bundle(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 1)
        size = (await mesh.store.read(lambda reader: reader.head())).size
        await write(mesh, 512 - size)
        await mesh.store.write(lambda tx: tx.open_log(NEXT))
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 1)
        assert await prune(mesh) == [(0, 0, 512)]
        await verified(mesh, ORIGIN)
        found = judged(await bundled(mesh, ORIGIN), mesh)
        assert found.ok, found.problem
        assert (found.rows, found.covered) == (0, 512)
        with refused(ErrorCode.NOT_FOUND, "from row 512"):
            await bundled(mesh, ORIGIN, to_seq=10)


@scenario
async def test_a_bundle_of_which_rows_are_pruned_meanwhile_is_not_made(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await write(mesh, 2_000)
        mesh.clock.advance(NINETY_ONE_DAYS_S)
        await write(mesh, 10)
        items = mesh.proofs.bundle(BundleWish())
        await anext(items)
        await prune(mesh)
        with refused(ErrorCode.UNAVAILABLE, "pruned while they were read"):
            async for _ in items:
                pass
