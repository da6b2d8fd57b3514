"""What a client says of an export arrives unchanged, and so does the answer, on a real unix socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.codec_timeline import export_note_from_wire
from node.core.errors import ErrorCode, MeshError
from node.core.export_manifest import ExportNote
from node.core.export_record import Format, Step
from node.core.timeline_filter import RowFilter
from node.wire.v1 import local_pb2 as pb
from tests.local_twins import HOSTILE, Node, played, refusal


@played
async def test_an_export_is_noted_and_a_row_proven(tmp_path: Path) -> None:
    node = Node(tmp_path)
    note = ExportNote(
        step=Step.FAILED, format=Format.OCSF, export="e" * 16, destination=HOSTILE, wanted="decision=withheld",
        log="local/n/1", first=3, next=2**53, count=7, bytes=2**40, sha256="ab" * 32, reason="unavailable",
    )  # fmt: skip
    async with node.up() as client:
        recorded = await client.record_export(note)
        assert node.noted.notes == [note]
        standing = recorded.standing
        assert (recorded.export, recorded.seq, standing.origin, standing.size) == ("e" * 16, 8, "local/n/1", 9)
        assert recorded.end == 7
        assert (standing.root, standing.first_kept, standing.checkpoint) == (b"\x07" * 32, 256, "note\n\nÿ\n")
        proof = await client.prove_exported("local/n/1", 4, 9)
        assert node.noted.proven == [("local/n/1", 4, 9)]
        assert (proof.seq, proof.size, proof.leaf) == (4, 9, b"\x01" * 32)
        assert proof.path == (b"\x02" * 32, b"\x03" * 32)


@played
async def test_what_no_field_holds_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        error = await refusal(client.record_export(ExportNote(step=Step.BEGUN, format=Format.CSV, first=-1)))
        assert error.code is ErrorCode.INVALID_ARGUMENT
        assert node.noted.notes == []


@played
async def test_rows_come_in_batches_with_the_salts_of_their_texts(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for seq in range(5, 450):
        node.log.stored.append(node.log.row(seq % 250))
    async with node.up() as client:
        wanted = RowFilter(log="local/n/1", engine="x")
        found = [row async for row in client.exported(wanted, salts=True)]
        assert node.log.wanted == [wanted]
        assert [(row.data, row.leaf, row.side) for row in found] == [
            (row.data, row.leaf, row.side) for row in node.log.stored
        ]
        assert [row.salts for row in found] == [(("title", bytes([row.seq]) * 16),) for row in found]
        assert [(log, len(seqs)) for log, seqs in node.noted.salted] == [("local/n/1", n) for n in (200, 200, 50)]
        plain = [row async for row in client.exported(wanted)]
        assert [row.salts for row in plain] == [()] * 450
        assert len(node.noted.salted) == 3


@pytest.mark.parametrize(
    ("step", "form", "reason"),
    [("begun", "xml", ""), ("", "csv", ""), ("BEGUN", "csv", ""), ("failed", "csv", "because")],
)
def test_what_another_version_may_say_is_refused(step: str, form: str, reason: str) -> None:

    with pytest.raises(MeshError) as caught:
        export_note_from_wire(pb.RecordExportRequest(step=step, format=form, reason=reason))
    assert caught.value.code is ErrorCode.UNSUPPORTED
