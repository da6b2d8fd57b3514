"""The timeline's rows about exports of it, and the proof that ties an export's last row to the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from node.core import merkle
from node.core.errors import ErrorCode, MeshError
from node.core.export_manifest import ExportNote, Proof, Recorded, Standing
from node.core.export_record import Step
from node.core.ids import is_id
from node.core.tiles import subtrees_in
from node.ledger import Ledger
from node.ports import Reader, Store, Tx
from node.ports_timeline import LogInfo


class Exports:
    """Implements ports_timeline.Exports."""

    def __init__(self, *, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    async def record(self, note: ExportNote) -> Recorded:
        """Writes the row, which is on disk when this returns. NOT_FOUND when there is no such log."""
        if note.step is Step.BEGUN:
            note = replace(note, export=self._ledger.new_id())
        elif not is_id(note.export):
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, "The end of an export names it by the id that its beginning was given."
            )
        return await self._store.write(partial(self._record, note=note))

    def _record(self, tx: Tx, *, note: ExportNote) -> Recorded:
        log = _log_of(tx, note.log)
        seq = self._ledger.export_row(tx, replace(note, log="" if log.current else note.log))
        head, checkpoint = tx.head(log.id), tx.last_checkpoint(log.id)
        standing = Standing(
            origin=head.origin,
            size=head.size,
            root=head.root,
            first_kept=log.first,
            checkpoint="" if checkpoint is None else checkpoint.note,
        )
        end = seq if log.current else head.size
        return Recorded(export=note.export, seq=seq, standing=standing, end=end)

    async def prove(self, log: str, seq: int, size: int) -> Proof:
        """That row `seq` is in the tree of the log's first `size` rows. INVALID_ARGUMENT for more than it has."""
        return await self._store.read(partial(_prove, origin=log, seq=seq, size=size))

    async def salts(self, log: str, seqs: Sequence[int]) -> Mapping[int, Mapping[str, bytes]]:
        """By row and field, what the commitments to its texts were made with; of erased texts there is none."""
        return await self._store.read(partial(_salts, origin=log, seqs=seqs))


def _salts(reader: Reader, *, origin: str, seqs: Sequence[int]) -> dict[int, dict[str, bytes]]:
    log = _log_of(reader, origin)
    # One row at a time: those that are wanted may be far apart.
    return {seq: {side.field: side.salt for side in reader.sides(seq, seq + 1, log.id)} for seq in seqs}


def _prove(reader: Reader, *, origin: str, seq: int, size: int) -> Proof:
    log = _log_of(reader, origin)
    # One transaction of a reader: the log has not grown since it was looked at.
    if size > log.size:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"The log has {log.size} rows, not {size}. Ask for a size that it has had.",
            {"size": log.size},
        )
    subtree = subtrees_in(partial(_tile, reader, log.id), partial(_leaves, reader, log.id))
    path = merkle.inclusion_proof(subtree, seq, size)
    return Proof(seq=seq, size=size, leaf=subtree(seq, seq + 1), path=path)


def _tile(reader: Reader, log: int, level: int, index: int) -> bytes:
    return reader.tile(level, index, log)


def _leaves(reader: Reader, log: int, first: int, end: int) -> tuple[bytes, ...]:
    rows = reader.rows(first, end - first, log)
    if [row.seq for row in rows] != list(range(first, end)):
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"The timeline no longer has what proves rows {first} to {end - 1}. Run `helio timeline verify`.",
        )
    return tuple(row.leaf for row in rows)


def _log_of(reader: Reader, origin: str) -> LogInfo:
    """The log of that origin, or the current one for none."""
    logs = reader.logs()
    for log in logs:
        if log.origin == origin or (not origin and log.current):
            return log
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"This node has no log of the origin {origin[:160]!r}; leave it out to export the current one.",
    )
