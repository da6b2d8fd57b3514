"""The timeline's rows about exports of it, and the proof that ties an export's last row to the log."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from node.core.errors import ErrorCode, MeshError
from node.core.export_manifest import ExportNote, Proof, Recorded, Standing
from node.core.export_record import Step
from node.core.ids import is_id
from node.ledger import Ledger
from node.log_trees import log_of, path_of, subtrees
from node.ports import Reader, Store, Tx

logger = logging.getLogger(__name__)


class Exports:
    """Implements ports_timeline.Exports. `sign` makes a checkpoint of what is not signed yet."""

    def __init__(self, *, store: Store, ledger: Ledger, sign: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._ledger = ledger
        self._sign = sign

    async def record(self, note: ExportNote) -> Recorded:
        """Writes the row, which is on disk when this returns; what an export that begins can hold is signed then.

        NOT_FOUND when there is no such log.
        """
        if note.step is Step.BEGUN:
            note = replace(note, export=self._ledger.new_id())
        elif not is_id(note.export):
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, "The end of an export names it by the id that its beginning was given."
            )
        origin, seq = await self._store.write(partial(self._write, note=note))
        if note.step is Step.BEGUN and not note.log:
            try:
                await self._sign()
            except MeshError as error:
                # The manifest then has the last checkpoint that there is, which says itself how far it reaches.
                logger.warning("the log was not signed for an export: %s", error.message)
        return await self._store.read(partial(_recorded, origin=origin, note=note, seq=seq))

    def _write(self, tx: Tx, *, note: ExportNote) -> tuple[str, int]:
        """The origin of the log that is exported, and the number of the row about it."""
        log = log_of(tx, note.log)
        return log.origin, self._ledger.export_row(tx, replace(note, log="" if log.current else note.log))

    async def prove(self, log: str, seq: int, size: int) -> Proof:
        """That row `seq` is in the tree of the log's first `size` rows. INVALID_ARGUMENT for more than it has."""
        return await self._store.read(partial(_prove, origin=log, seq=seq, size=size))

    async def salts(self, log: str, seqs: Sequence[int]) -> Mapping[int, Mapping[str, bytes]]:
        """By row and field, what the commitments to its texts were made with; of erased texts there is none."""
        return await self._store.read(partial(_salts, origin=log, seqs=seqs))


def _recorded(reader: Reader, *, origin: str, note: ExportNote, seq: int) -> Recorded:
    log = log_of(reader, origin)
    head, signed = reader.head(log.id), reader.last_checkpoint(log.id)
    end = seq if log.current else log.size
    # What is signed proves more than where the log has got to meanwhile.
    covered = signed is not None and end <= signed.size
    standing = Standing(
        origin=origin,
        size=signed.size if signed is not None and covered else head.size,
        root=signed.root if signed is not None and covered else head.root,
        first_kept=log.first,
        checkpoint="" if signed is None else signed.note,
    )
    return Recorded(export=note.export, seq=seq, standing=standing, end=end)


def _salts(reader: Reader, *, origin: str, seqs: Sequence[int]) -> dict[int, dict[str, bytes]]:
    log = log_of(reader, origin)
    # One row at a time: those that are wanted may be far apart.
    return {seq: {side.field: side.salt for side in reader.sides(seq, seq + 1, log.id)} for seq in seqs}


def _prove(reader: Reader, *, origin: str, seq: int, size: int) -> Proof:
    log = log_of(reader, origin)
    # One transaction of a reader: the log has not grown since it was looked at.
    if size > log.size:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"The log has {log.size} rows, not {size}. Ask for a size that it has had.",
            {"size": log.size},
        )
    path = path_of(reader, log.id, seq, size)
    return Proof(seq=seq, size=size, leaf=subtrees(reader, log.id)(seq, seq + 1), path=path)
