"""At start: is the timeline the one that was signed last? If it is not, another epoch begins, and says so first."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from node.core import note
from node.core.canonical import decode
from node.core.clock_step import reading_of
from node.core.epochs import Break, Gap, broken, gap_in, gap_row, next_origin
from node.core.errors import MeshError
from node.core.note import TreeHead
from node.core.retention import DAY_US
from node.core.tiles import subtrees_in
from node.core.timeline import Head
from node.ports import Reader, Store, Tx
from node.ports_timeline import LogInfo
from node.version import SOFTWARE

_log = logging.getLogger(__name__)

_TOLD_US: Final = 30 * DAY_US


def read_seen(path: Path) -> tuple[TreeHead, ...]:
    """What was signed last, from the file beside the database; nothing when there is none that can be read."""
    try:
        written = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        _log.warning("%s cannot be read, so nobody can tell whether an old copy was put back: %s", path, error)
        return ()
    try:
        return (note.read_head(note.read(written).text),)
    except MeshError as error:
        _log.warning("%s cannot be read, so nobody can tell whether an old copy was put back: %s", path, error.message)
        return ()


def first_origin(node: str, seen: Sequence[TreeHead]) -> str:
    """The origin of the log that a new database begins with."""
    return next_origin(node, [head.origin for head in seen])


async def begin(store: Store, node: str, seen: Sequence[TreeHead], path: Path) -> None:
    """Begins another epoch if the log is not the one that was `seen`, as the file at `path` says, and keeps that."""
    gap = await store.write(partial(settle, node=node, seen=seen))
    if gap is None:
        return
    _log.error("%s", gap.words)
    epoch = gap.seen.origin.rpartition("/")[2]
    await asyncio.to_thread(_keep, path, path.with_name(f"{path.name}.epoch-{epoch}"))


def _keep(path: Path, kept: Path) -> None:
    """What was signed last is evidence, and the next checkpoint is written over it."""
    if path.exists():
        shutil.copyfile(path, kept)


def settle(tx: Tx, *, node: str, seen: Sequence[TreeHead]) -> Gap | None:
    """The same in one transaction; gives what it found. Nothing may be written before it."""
    gaps = [gap for head in seen if (gap := _gap(tx, head)) is not None] or _damage(tx)
    if not gaps:
        return None
    if tx.logs()[-1].size:
        tx.open_log(next_origin(node, [log.origin for log in tx.logs()] + [head.origin for head in seen]))
    for gap in gaps:
        tx.append(gap_row(gap, SOFTWARE))
    return gaps[0]


def told(reader: Reader, now_us: int) -> str:
    """What the current log's first row says of the one before it, while that is news; empty otherwise."""
    for row in reader.rows(0, 1):
        gap, clock = _gap_of(row.data), reading_of(row.data)
        if row.seq == 0 and gap is not None and clock is not None and clock.ts_us > now_us - _TOLD_US:
            return gap.words
    return ""


def _gap(tx: Tx, seen: TreeHead) -> Gap | None:
    """How the log that was seen is another one now; None when it is not, or an epoch began that says so."""
    logs = tx.logs()
    for log in logs:
        for row in tx.rows(0, 1, log.id):
            known = _gap_of(row.data)
            if known is not None and known.seen.origin == seen.origin and known.seen.size >= seen.size:
                return None
    here = next((log for log in logs if log.origin == seen.origin), None)
    size, root = (None, None) if here is None else (here.size, _root_at(tx, here, seen.size))
    reason = broken(seen, size=size, root=root, new=not any(log.size for log in logs))
    return None if reason is None else Gap(seen=seen, found=size or 0, reason=reason)


def _damage(tx: Tx) -> list[Gap]:
    """That the current log's end as stored is not that of its rows, so that nothing can be added to it."""
    current = tx.logs()[-1]
    try:
        head = tx.head()
    except MeshError:
        head = Head.empty(current.origin)
    if (head.size, head.root) == (current.size, _root_at(tx, current, current.size)):
        return []
    seen = TreeHead(origin=current.origin, size=current.size, root=head.root)
    return [Gap(seen=seen, found=current.size, reason=Break.DAMAGED)]


def _root_at(tx: Tx, log: LogInfo, size: int) -> bytes | None:
    """The root over the first `size` rows, None when they are not there."""
    if size > log.size:
        return None

    def leaves(first: int, end: int) -> list[bytes]:
        found = [leaf for _, _, leaf in tx.entries(first, end, log.id)]
        # What is missing makes for another root.
        return found if len(found) == end - first else [b""]

    return subtrees_in(lambda level, index: tx.tile(level, index, log.id), leaves)(0, size)


def _gap_of(data: bytes) -> Gap | None:
    try:
        row = decode(data)
    except MeshError:
        return None
    return gap_in(row.get("reason"), row.get("extra")) if row.get("row") == "gap" else None
