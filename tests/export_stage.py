"""What tests of exports stand on: a real store with rows, seen as an export sees a node, and runs into files."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path

from node.core.errors import MeshError
from node.core.export_manifest import ExportNote, Proof, Recorded
from node.core.export_record import Format, Record, line_of
from node.core.timeline import Row, RowKind
from node.core.timeline_filter import RowFilter
from node.core.views import TimelineRowView
from node.export_files import MANIFEST_SUFFIX, FileSink, TargetFile
from node.export_run import Run, Sink, Wish
from node.exports import Exports
from node.ports import Tx
from node.ports_timeline import Checkpoint
from tests.export_rows import NOW_US
from tests.integration.mesh import Mesh

ROW = Row(row=RowKind.MESSAGE, engine="agent.request", decision="relayed", sw="test/1", conv="c" * 16)


def add_rows(tx: Tx, *, count: int, row: Row = ROW) -> None:
    for number in range(count):
        tx.append(row, (("title", f"title {number}"),))


def _checkpoint(tx: Tx) -> int:
    head = tx.head()
    tx.add_checkpoint(Checkpoint(size=head.size, root=head.root, note=f"signed {head.size}\n", made_us=NOW_US))
    return head.size


class Near:
    """The node's timeline without a door between: an export_run.Source. `each` is called with every row's number."""

    def __init__(self, mesh: Mesh, each: Callable[[int], None] = lambda _seq: None) -> None:
        self.mesh = mesh
        self.exports = Exports(store=mesh.store, ledger=mesh.ledger, sign=self.sign)
        self.signs: list[int] = []
        self.unsigned: MeshError | None = None
        self.asked: list[ExportNote] = []
        self._each = each

    async def exported(self, wanted: RowFilter, *, salts: bool = False) -> AsyncGenerator[TimelineRowView, None]:
        async with aclosing(self.mesh.audit.rows(wanted, follow=False)) as rows:  # type: ignore[type-var]
            async for row in rows:
                self._each(row.seq)
                salted = await self.exports.salts(wanted.log, [row.seq]) if salts else {row.seq: {}}
                yield TimelineRowView(
                    seq=row.seq, data=row.data, leaf=row.leaf, side=row.side, salts=tuple(salted[row.seq].items())
                )

    async def sign(self) -> None:
        """Signs the log as it is, if anybody can."""
        if self.unsigned is not None:
            raise self.unsigned
        self.signs.append(await self.mesh.store.write(_checkpoint))

    async def record_export(self, note: ExportNote) -> Recorded:
        self.asked.append(note)
        return await self.exports.record(note)

    async def prove_exported(self, log: str, seq: int, size: int) -> Proof:
        return await self.exports.prove(log, seq, size)

    async def add(self, count: int, row: Row = ROW) -> None:
        await self.mesh.store.write(partial(add_rows, count=count, row=row))


def file_sink(path: Path, *, force: bool = False, encode: Callable[[Record], bytes] = line_of) -> FileSink:
    manifest = path.with_name(path.name + MANIFEST_SUFFIX)
    return FileSink(TargetFile(path, force=force), TargetFile(manifest, force=force), b"", encode)


def run_of(sink: Sink, wanted: RowFilter | None = None, *, form: Format = Format.JSONL, file: str | None = "x") -> Run:
    wish = Wish(
        format=form, wanted=wanted or RowFilter(), destination="/somewhere/x", file=file, words="",
        now_us=lambda: NOW_US, software="test/1", filter={}, options={},
    )  # fmt: skip
    return Run(wish, sink)


def nothing(_run: Run) -> None:
    """No progress is shown."""
