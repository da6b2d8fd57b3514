"""A store with retention and erasure over it, clocks that a test sets, and a check of logs that needs no verifier."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from node.config import TimelineConfig
from node.core import merkle
from node.core.canonical import JsonValue, decode
from node.core.merkle import HASH_BYTES, TILE_WIDTH
from node.core.retention import DAY_US
from node.core.row_codes import ExtraKey
from node.core.timeline import Clock as RowClock
from node.core.timeline import Row, RowKind, commitment
from node.erasure import Erasures
from node.ports import Reader, Tx
from node.ports_timeline import Checkpoint, PruneStep
from node.retention import Retention
from node.store import SqliteStore, StoreSettings
from tests.clock_twins import START_US, CountedEntropy
from tests.integration.mesh import NODE, ORIGIN

ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
HOUR_US = DAY_US // 24


@dataclass(slots=True)
class Clocks:
    """Wall clock and steady clock of a machine, each set by hand; a microsecond passes with every reading."""

    wall_us: int = START_US
    mono_us: int = 1_000_000
    boot: str = "boot-1"

    def row(self) -> RowClock:
        self.wall_us += 1
        self.mono_us += 1
        return RowClock(ts_us=self.wall_us, mono_us=self.mono_us, boot=self.boot)

    def pass_asleep(self, us: int) -> None:
        """The machine sleeps for so long: both clocks count it, and nothing is read meanwhile."""
        self.wall_us += us
        self.mono_us += us

    def boots(self, boot: str, *, off_us: int = 0) -> None:
        """The machine was off for so long and starts anew."""
        self.boot, self.mono_us = boot, 1_000_000
        self.wall_us += off_us


@dataclass(slots=True, kw_only=True)
class Stage:
    """The parts, with the keys' place taken by checkpoints that nobody signed."""

    path: Path
    clocks: Clocks
    store: SqliteStore
    retention: Retention
    erasures: Erasures
    unsigned: list[bool] = field(default_factory=lambda: [False])

    async def write(self, count: int, *, every_us: int = 0, texts: Sequence[tuple[str, str]] = ()) -> None:
        """So many rows, so far apart in time."""
        while count:
            some = min(count, 1 if every_us else 256)
            await self.store.write(partial(_append, count=some, texts=texts))
            self.clocks.pass_asleep(every_us)
            count -= some

    async def sign(self) -> None:
        """A checkpoint of all there is."""
        await self.store.write(_sign)

    async def prune(self, *, dry_run: bool = False) -> list[PruneStep]:
        """The last step of each range that was, or would be, pruned."""
        last: dict[tuple[int, int, object], PruneStep] = {}
        async for step in self.retention.prune(dry_run=dry_run, by_person=True):
            last[step.range.log, step.range.first, step.doubt] = step
        return list(last.values())

    async def kept(self) -> tuple[int, int]:
        """First row and size of the current log."""
        log = (await self.store.read(lambda reader: reader.logs()))[-1]
        return log.first, log.size

    async def check(self) -> None:
        """Every log is whole: see `whole`."""
        await self.store.read(whole)


async def opened(
    path: Path,
    clocks: Clocks,
    keep: TimelineConfig | None = None,
    settings: StoreSettings | None = None,
    origin: str = ORIGIN,
) -> Stage:
    """The stage over the file at `path`, as a node that starts has it."""
    store = await SqliteStore.open(
        path, origin=origin, row_clock=clocks.row, entropy=CountedEntropy(), settings=settings or StoreSettings()
    )
    keep = keep or TimelineConfig()
    unsigned = [False]

    async def sign() -> None:
        if not unsigned[0]:
            await store.write(_sign)

    return Stage(
        path=path,
        clocks=clocks,
        store=store,
        retention=Retention(
            store=store, keep=keep, node=NODE, row_clock=clocks.row, sign=sign, scrub=store.scrub
        ),
        erasures=Erasures(
            store=store, node=NODE, texts_days=keep.keep_texts_days, row_clock=clocks.row, scrub=store.scrub
        ),
        unsigned=unsigned,
    )  # fmt: skip


@asynccontextmanager
async def retaining(
    folder: Path, clocks: Clocks, keep: TimelineConfig | None = None, settings: StoreSettings | None = None
) -> AsyncIterator[Stage]:
    """The stage over a file in `folder`, closed afterwards."""
    stage = await opened(folder / "node.db", clocks, keep, settings)
    try:
        yield stage
    finally:
        await stage.store.close()


def whole(reader: Reader) -> None:
    """Every log's rows are all there from the first that is kept, chained, and under the root that its head claims.

    What is gone last is named by a prune row, with the root over all of it; every text is what its row says.
    """
    excuses = prunes_by_log(reader)
    for log in reader.logs():
        head = reader.head(log.id)
        assert head.size == log.size
        assert log.first % TILE_WIDTH == 0
        rows = reader.rows(0, log.size + 1, log.id)
        assert [row.seq for row in rows] == list(range(log.first, log.size))
        leaves = [hashed for index in range(log.size // TILE_WIDTH) for hashed in split(reader.tile(0, index, log.id))]
        if rows:
            assert leaves[log.first :] == [row.leaf for row in rows][: len(leaves) - log.first]
        leaves += [row.leaf for row in rows if row.seq >= len(leaves)]
        assert len(leaves) == log.size
        assert merkle.root_of(leaves) == head.root
        before = leaves[log.first - 1] if log.first else None
        sizes = 0
        for row in rows:
            assert merkle.leaf_hash(row.data) == row.leaf
            assert decode(row.data).get("prev") == (before.hex() if before is not None else None)
            before, sizes = row.leaf, sizes + len(row.data)
            assert keys_of(decode(row.data).get("extra")) <= set(ExtraKey)
        for _, after, root in excuses.get(log.origin, []):
            assert merkle.root_of(leaves[:after]).hex() == root
        # Earlier prune rows may be pruned themselves: each has the root over all that was there.
        assert log.first == 0 or any(first < log.first <= after for first, after, _ in excuses[log.origin])
        by_row = {row.seq: decode(row.data) for row in rows}
        for text in reader.sides(0, log.size, log.id):
            side = by_row[text.seq]["side"]
            assert isinstance(side, dict)
            assert side[text.field] == commitment(text.salt, text.text)
            sizes += len(text.text.encode())
        assert reader.log_bytes(log.id) == sizes


def prunes_by_log(reader: Reader) -> dict[str, list[tuple[int, int, str]]]:
    """What prune rows that are kept say of each log: first row, next row, root."""
    found: dict[str, list[tuple[int, int, str]]] = {}
    for log in reader.logs():
        for row in reader.rows(log.first, log.size + 1, log.id):
            fields = decode(row.data)
            extra = fields.get("extra")
            if fields["row"] != "prune" or not isinstance(extra, dict):
                continue
            said = extra.get("pruned", extra)
            assert isinstance(said, dict)
            first, after, root = said["first"], said["next"], said["root"]
            assert isinstance(first, int)
            assert isinstance(after, int)
            assert isinstance(root, str)
            found.setdefault(str(extra.get("log", log.origin)), []).append((first, after, root))
    return found


def keys_of(extra: JsonValue) -> set[str]:
    """The names of a row's plain values, at every depth."""
    return set[str]().union(extra, *map(keys_of, extra.values())) if isinstance(extra, dict) else set()


def split(hashes: bytes) -> list[bytes]:
    """A tile as its hashes."""
    return [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]


def _append(tx: Tx, *, count: int, texts: Sequence[tuple[str, str]]) -> None:
    for _ in range(count):
        tx.append(ROW, texts)


def _sign(tx: Tx) -> None:
    head = tx.head()
    if head.size:
        tx.add_checkpoint(Checkpoint(size=head.size, root=head.root, note="unsigned", made_us=START_US))
