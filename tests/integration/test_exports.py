"""Exports of a real log: noted before the first byte, whole or not there, and tied to the log by proofs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from node.core import canonical, merkle
from node.core.errors import ErrorCode, MeshError
from node.core.export_manifest import ExportNote, Recorded
from node.core.export_record import Format, Record, Step, line_of
from node.core.merkle import TILE_WIDTH
from node.core.timeline import commitment
from node.core.timeline_check import Verifier
from node.core.timeline_filter import RowFilter
from node.export_files import MANIFEST_SUFFIX
from tests.export_stage import Near, file_sink, nothing, run_of
from tests.integration.mesh import ORIGIN, refused, running, scenario


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@scenario
async def test_an_export_verifies_by_itself_and_its_manifest_proves_it(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(700)
        manifest = await run_of(file_sink(out / "x")).play(node, nothing)
        rows = [json.loads(line) for line in (out / "x").read_bytes().split(b"\n")[:-1]]
        told = json.loads((out / f"x{MANIFEST_SUFFIX}").read_text("utf-8"))

        verifier = Verifier(ORIGIN)
        for row in rows:
            verifier.feed(row["seq"], canonical.dump(row["row"]), bytes.fromhex(row["leaf"]))
        assert verifier.finish().ok
        assert rows[5]["side"] == {"title": "title 5"}
        for row in rows:
            assert {
                name: commitment(bytes.fromhex(row["salts"][name]), text) for name, text in row["side"].items()
            } == row["row"].get("side", {})

        assert manifest.proven
        assert told["log"]["checkpoint"] == "signed 701\n"
        assert told["last_row_proven"] is True
        assert (told["count"], told["range"]) == (700, {"log": ORIGIN, "first": 0, "last": 699, "contiguous": True})
        data = (out / "x").read_bytes()
        assert (told["sha256"], told["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
        path = [bytes.fromhex(one) for one in told["last_row_proof"]["path"]]
        leaf, root = bytes.fromhex(rows[-1]["leaf"]), bytes.fromhex(told["log"]["root"])
        assert merkle.verify_inclusion(699, 701, leaf, path, root)
        assert (out / "x").stat().st_mode & 0o777 == 0o600
        assert parts(out) == ["x", f"x{MANIFEST_SUFFIX}"]


@scenario
async def test_rows_tell_of_it_from_before_its_first_byte_to_its_end(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(3)
        sink = file_sink(out / "x")
        seen: list[str] = []

        def look(row: Record) -> bytes:
            with closing(sqlite3.connect(tmp_path / "node.db")) as other:
                (data,) = other.execute("SELECT data FROM timeline ORDER BY place DESC LIMIT 1").fetchone()
                seen.append(json.loads(data)["decision"])
            return line_of(row)

        sink = file_sink(out / "x", encode=look)
        await run_of(sink, RowFilter(from_seq=1)).play(node, nothing)
        assert seen == ["begun"] * 2
        begun, finished = await mesh.rows(engine="export")
        assert (begun["row"], begun["decision"], begun["seq"]) == ("export", "begun", 3)
        assert finished["decision"] == "finished"
        assert begun["extra"] == {"export": finished["extra"]["export"], "format": "jsonl", "first": 1}
        told = finished["extra"]
        assert (told["first"], told["next"], told["count"]) == (1, 3, 2)
        assert told["sha256"] == hashlib.sha256((out / "x").read_bytes()).hexdigest()
        sides = await mesh.store.read(lambda reader: reader.rows(3, 2))
        assert [dict(row.side)["destination"] for row in sides] == ["/somewhere/x"] * 2


@scenario
async def test_a_log_that_begins_meanwhile_is_not_part_of_it(tmp_path: Path, out: Path) -> None:
    """When the log cannot go on, the next one begins while the node runs; its rows have the same numbers."""
    async with running(tmp_path) as mesh:

        class Broken(Near):
            async def record_export(self, note: ExportNote) -> Recorded:
                recorded = await super().record_export(note)
                if note.step is Step.BEGUN:
                    await mesh.store.write(lambda tx: tx.open_log("local/n/2"))
                    await self.add(9)
                return recorded

        node = Broken(mesh)
        await node.add(4)
        before = await mesh.store.read(lambda reader: [row.leaf.hex() for row in reader.rows(0, 4)])
        manifest = await run_of(file_sink(out / "x")).play(node, nothing)
        lines = (out / "x").read_bytes().splitlines()
        assert [json.loads(line)["leaf"] for line in lines] == before
        assert (manifest.proven, manifest.standing.origin) == (True, ORIGIN)
        (finished,) = await mesh.rows(engine="export")
        assert (finished["decision"], finished["extra"]["log"]) == ("finished", ORIGIN)


@scenario
async def test_rows_written_meanwhile_are_not_part_of_it(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(4)
        sink = file_sink(out / "x")

        class Busy(Near):
            async def record_export(self, note: ExportNote) -> Recorded:
                recorded = await super().record_export(note)
                await self.add(600)
                return recorded

        manifest = await run_of(sink).play(Busy(mesh), nothing)
        assert (manifest.tally.last, manifest.standing.size) == (3, 5)


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [
        (RowFilter(), [25, 50, 75, 100]),
        (RowFilter(from_seq=2), [50, 100]),
        (RowFilter(limit=2, tail=True), [50, 100]),
        (RowFilter(before_seq=2), [50, 100]),
    ],
)
@scenario
async def test_progress_is_told_as_a_part_of_what_is_to_come(
    tmp_path: Path, out: Path, wanted: RowFilter, seen: list[int]
) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(4)
        told: list[int] = []
        await run_of(file_sink(out / "x"), wanted).play(node, lambda run: told.append(run.per_cent))
        assert told == seen


@scenario
async def test_being_cancelled_leaves_nothing_but_its_row(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        task: list[asyncio.Task[object]] = []

        def at(seq: int) -> None:
            if seq == 40:
                task[0].cancel()

        node = Near(mesh, at)
        await node.add(2_000)
        task.append(asyncio.ensure_future(run_of(file_sink(out / "x")).play(node, nothing)))  # noqa: TID251
        with pytest.raises(asyncio.CancelledError):
            await task[0]
        assert parts(out) == []
        last = (await mesh.rows(engine="export"))[-1]
        assert last["decision"] == "cancelled"
        assert (last["extra"]["first"], last["extra"]["next"]) == (0, last["extra"]["count"])
        assert 40 <= last["extra"]["count"] < 2_000


@scenario
async def test_a_name_that_is_taken_stays_as_it_is_unless_forced(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        (out / "x").write_text("mine")
        with refused(ErrorCode.ALREADY_EXISTS, "--force"):
            await run_of(file_sink(out / "x")).play(node, nothing)
        assert (out / "x").read_text() == "mine"
        assert parts(out) == ["x"]
        assert [row["decision"] for row in await mesh.rows(engine="export")] == ["begun", "failed"]

        def taken_meanwhile(_row: Record) -> bytes:
            (out / "y").write_text("mine")
            return b"row\n"

        with refused(ErrorCode.ALREADY_EXISTS):
            await run_of(file_sink(out / "y", encode=taken_meanwhile)).play(node, nothing)
        assert (out / "y").read_text() == "mine"
        assert parts(out) == ["x", "y"]
        await run_of(file_sink(out / "x", force=True)).play(node, nothing)
        assert (out / "x").read_text().startswith('{"seq":0,')


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@scenario
async def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, small_disk: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(5_000)
        with refused(ErrorCode.UNAVAILABLE, "No space left on device", "Free some space"):
            await run_of(file_sink(small_disk / "x")).play(node, nothing)
        assert parts(small_disk) == []
        last = (await mesh.rows(engine="export"))[-1]
        assert (last["decision"], last["reason"]) == ("failed", "unavailable")


@scenario
async def test_a_name_may_be_as_long_as_names_are(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        name = "é" * 120
        await run_of(file_sink(out / name)).play(Near(mesh), nothing)
        assert parts(out) == [name, f"{name}{MANIFEST_SUFFIX}"]


@scenario
async def test_a_whole_export_whose_end_is_not_noted_is_kept_and_said(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:

        class Leaving(Near):
            async def record_export(self, note: ExportNote) -> Recorded:
                if note.step is Step.FINISHED:
                    raise MeshError(ErrorCode.NODE_NOT_RUNNING, "The node is not running.")
                return await super().record_export(note)

        node = Leaving(mesh)
        await node.add(3)
        with refused(ErrorCode.NODE_NOT_RUNNING, "The export is whole"):
            await run_of(file_sink(out / "x")).play(node, nothing)
        assert parts(out) == ["x", f"x{MANIFEST_SUFFIX}"]


@scenario
async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        with refused(ErrorCode.UNAVAILABLE, "No such file or directory"):
            await run_of(file_sink(tmp_path / "none" / "x")).play(Near(mesh), nothing)


@scenario
async def test_a_log_that_was_changed_is_exported_whole_and_said_to_be(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(300)
        with closing(sqlite3.connect(tmp_path / "node.db")) as attacker:
            data = attacker.execute("SELECT data FROM timeline WHERE (place & 0xffffffff) = 7").fetchone()[0]
            changed = data.replace(b"relayed", b"refused")
            attacker.execute("UPDATE timeline SET data = ? WHERE (place & 0xffffffff) = 7", (changed,))
            attacker.execute("DELETE FROM timeline WHERE (place & 0xffffffff) = 9")
            attacker.execute(
                "UPDATE timeline SET data = ?, leaf = ? WHERE (place & 0xffffffff) = 299",
                (changed, merkle.leaf_hash(changed)),
            )
            attacker.commit()
        manifest = await run_of(file_sink(out / "x")).play(node, nothing)
        assert (manifest.tally.damaged, manifest.tally.contiguous, manifest.tally.count) == (1, False, 299)
        # What was changed without its hash is counted; with it, and not in a tile yet, the proof fails.
        assert manifest.proven is False
        assert json.loads((out / f"x{MANIFEST_SUFFIX}").read_text("utf-8"))["last_row_proven"] is False
        last = (await mesh.rows(engine="export"))[-1]
        assert (last["decision"], last["reason"]) == ("finished", "tampered")


@scenario
async def test_a_closed_log_is_exported_under_its_own_name(tmp_path: Path, out: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(5)
        await mesh.store.write(lambda tx: tx.open_log(f"{ORIGIN[:-1]}2"))
        await node.add(2)
        manifest = await run_of(file_sink(out / "x"), RowFilter(log=ORIGIN)).play(node, nothing)
        assert (manifest.standing.origin, manifest.standing.size, manifest.tally.count) == (ORIGIN, 5, 5)
        assert manifest.begun_seq == 2
        (begun, _) = await mesh.rows(engine="export")
        assert begun["extra"]["log"] == ORIGIN
        with refused(ErrorCode.NOT_FOUND, "no log"):
            await node.record_export(ExportNote(step=Step.BEGUN, format=Format.CSV, log="local/x/9"))


@scenario
async def test_a_log_that_cannot_be_signed_is_exported_with_the_checkpoint_that_there_is(
    tmp_path: Path, out: Path
) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(5)
        await node.sign()
        node.unsigned = MeshError(ErrorCode.UNAVAILABLE, "The Keychain is locked.")
        covered = await run_of(file_sink(out / "x")).play(node, nothing)
        assert (covered.standing.size, covered.standing.checkpoint, covered.proven) == (5, "signed 5\n", True)
        await node.add(5)
        beyond = await run_of(file_sink(out / "y")).play(node, nothing)
        assert (beyond.standing.size, beyond.standing.checkpoint, beyond.proven) == (13, "signed 5\n", True)


@scenario
async def test_an_end_without_a_beginning_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        with refused(ErrorCode.INVALID_ARGUMENT):
            await Near(mesh).record_export(ExportNote(step=Step.FINISHED, format=Format.CSV, export="nonsense"))
        assert await mesh.rows(engine="export") == []


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 512, 700, 1024, 1_500])
@scenario
async def test_a_row_is_proven_from_tiles_as_it_is_from_all_leaves(tmp_path: Path, size: int) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(size)
        leaves = await mesh.store.read(lambda reader: [row.leaf for row in reader.rows(0, 10_000)])
        for seq in sorted({0, 1, size // 2, size - 2, size - 1} & set(range(size))):
            for of in {seq + 1, size}:
                proof = await node.prove_exported("", seq, of)
                assert proof.path == merkle.inclusion_proof(merkle.subtrees_of(leaves[:of]), seq, of)
                assert proof.leaf == leaves[seq]


@scenario
async def test_rows_of_which_only_tiles_are_kept_still_prove_the_others(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        node = Near(mesh)
        await node.add(3 * TILE_WIDTH)
        with closing(sqlite3.connect(tmp_path / "node.db")) as pruner:
            pruner.execute("DELETE FROM timeline WHERE (place & 0xffffffff) < ?", (2 * TILE_WIDTH,))
            pruner.commit()
        head = await mesh.store.read(lambda reader: reader.head())
        proof = await node.prove_exported("", 2 * TILE_WIDTH + 3, head.size)
        assert proof.holds(head.root)
        with refused(ErrorCode.INVALID_ARGUMENT, "has 768 rows"):
            await node.prove_exported("", 0, head.size + 1)
        with pytest.raises(MeshError):
            await node.prove_exported("", head.size, head.size)
