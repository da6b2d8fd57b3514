"""The node's check and its bundles, over the real database: what changed is found, what did not is no alarm."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path

import pytest

from node.cli.timeline_rows import row_document
from node.codec_timeline import row_from_wire, row_to_wire
from node.core import merkle, note
from node.core.bundle import BundleHeader
from node.core.bundle_check import BundleCheck
from node.core.errors import ErrorCode, MeshError
from node.core.timeline import Row, RowKind
from node.core.timeline_check import INCOMPLETE, ProblemCode, Verification
from node.ports import Tx
from node.ports_timeline import BundleWish
from node.signatures import NoteChecks
from tests.integration.mesh import Mesh, refused, running, scenario
from tests.log_lab import node_of

ROW = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="test/1")
NINETY_DAYS_S = 90 * 86_400
FLIPS = 100
KEYS = {"timeline_side": "place || '/' || field", "timeline_checkpoints": "size"}
CELLS = {
    "timeline": ("data", "leaf"),
    "timeline_side": ("field", "salt", "body"),
    "timeline_tiles": ("hashes",),
    "timeline_checkpoints": ("root", "note"),
    "timeline_logs": ("last", "frontier"),
}


async def add(mesh: Mesh, times: int) -> None:
    def work(tx: Tx) -> None:
        for number in range(times):
            tx.append(ROW, (("title", f"größer {number}"), ("preview", "two\nlines")) if number % 5 == 0 else ())

    await mesh.store.write(work)


@asynccontextmanager
async def signed(tmp_path: Path, rows: int) -> AsyncIterator[Mesh]:
    """A node with so many rows, signed now and then."""
    async with running(tmp_path) as mesh:
        for _ in range(rows // 100):
            await add(mesh, 100)
            await mesh.checkpoints.sign()
        await add(mesh, rows % 100)
        await mesh.checkpoints.sign()
        yield mesh


async def prune(mesh: Mesh, upto: int) -> None:
    """What retention does: a row, signed, and then the rows are gone."""
    leaves = [row.leaf for row in await mesh.store.read(lambda reader: reader.rows(0, upto))]
    extra = {
        "first": 0, "next": upto, "root": merkle.root_of(leaves).hex(), "first_ts": 1, "last_ts": 1_750_000_000_000_000,
        "keep_days": 90, "why": "age", "boots": 2,
    }  # fmt: skip
    row = Row(row=RowKind.PRUNE, engine="prune", decision="pruned", sw="test/1", extra=extra)
    mesh.clock.advance(NINETY_DAYS_S)
    await mesh.store.write(lambda tx: tx.append(row))
    await mesh.checkpoints.sign()
    with closing(sqlite3.connect(mesh.path)) as db, db:
        db.execute("DELETE FROM timeline WHERE place < ?", (upto,))
        db.execute("DELETE FROM timeline_side WHERE place < ?", (upto,))
        db.execute("UPDATE timeline_logs SET first = ?", (upto,))


def flip(db: sqlite3.Connection, chance: random.Random) -> tuple[Callable[[], None], str]:
    """Changes one byte of one stored value; gives what puts it back, and where it was."""
    table = chance.choice(list(CELLS))
    column = chance.choice(CELLS[table])
    key = KEYS.get(table, "rowid")
    rows = db.execute(f"SELECT {key}, CAST({column} AS BLOB), typeof({column}) FROM {table}").fetchall()  # noqa: S608
    place, before, kind = chance.choice(rows)
    after = bytearray(before)
    after[chance.randrange(len(after))] ^= chance.randrange(1, 256)

    def put(value: bytes, at: object) -> None:
        with db:
            db.execute(
                f"UPDATE {table} SET {column} = CAST(? AS {kind.decode()}) "  # noqa: S608
                f"WHERE CAST({key} AS BLOB) = CAST(? AS BLOB)",
                (value, at),
            )

    put(bytes(after), place)
    if table == "timeline_side" and column == "field":
        new = db.execute(
            "SELECT place || '/' || field FROM timeline_side WHERE CAST(field AS BLOB) = ? AND place = ?",
            (bytes(after), int(place.partition(b"/")[0])),
        ).fetchone()[0]
        place = new
    return lambda: put(before, place), f"{table}.{column}"


@scenario
async def test_no_changed_byte_of_the_database_is_called_fine(tmp_path: Path) -> None:
    chance = random.Random("database")  # noqa: S311  # the same flips every time
    async with signed(tmp_path, 300) as mesh:
        with closing(sqlite3.connect(mesh.path)) as db:
            db.text_factory = bytes
            for _ in range(FLIPS):
                put_back, where = flip(db, chance)
                found = await mesh.verification()
                assert not found.ok, where
                put_back()
        assert (await mesh.verification()).ok


def stray_text(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO timeline_side VALUES (99999, 'title', x'00', 'x')")


def lost_tile(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM timeline_tiles WHERE level = 0")


def cut_with_its_head(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM timeline WHERE place >= 290")
    db.execute("DELETE FROM timeline_side WHERE place >= 290")


def unpruned_head(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM timeline WHERE place < 256")
    db.execute("DELETE FROM timeline_side WHERE place < 256")
    db.execute("UPDATE timeline_logs SET first = 256")


@pytest.mark.parametrize(
    ("attack", "code"),
    [
        (stray_text, ProblemCode.TEXT_DIFFERS),
        (lost_tile, ProblemCode.TILE_DIFFERS),
        (cut_with_its_head, ProblemCode.TAIL_MISSING),
        (unpruned_head, ProblemCode.HEAD_MISSING),
    ],
)
@scenario
async def test_what_is_gone_or_too_much_is_found(
    tmp_path: Path, attack: Callable[[sqlite3.Connection], None], code: ProblemCode
) -> None:
    async with signed(tmp_path, 300) as mesh:
        with closing(sqlite3.connect(mesh.path)) as db, db:
            attack(db)
        problem = (await mesh.verification()).problem
        assert problem is not None
        assert problem.code is code


@scenario
async def test_a_pruned_log_verifies_and_says_by_which_row(tmp_path: Path) -> None:
    async with signed(tmp_path, 700) as mesh:
        await prune(mesh, 512)
        await add(mesh, 3)
        found = await mesh.verification()
        assert found.ok, found.problem
        assert [(one.first, one.next, one.row, one.why) for one in found.pruned] == [(0, 512, 701, "age")]
        assert (found.first_seq, found.last_seq, found.covered) == (512, 704, 702)


@scenario
async def test_rows_that_are_pruned_while_they_are_read_are_no_alarm(tmp_path: Path) -> None:
    async with signed(tmp_path, 2_000) as mesh:
        async with aclosing(mesh.proofs.verify()) as checking:
            await anext(checking)
            await prune(mesh, 1_536)
            *_, last = [progress async for progress in checking]
        assert last.result is not None
        assert last.result.ok, last.result.problem
        assert last.result.first_seq == 1_536


# Bundles


async def bundled(mesh: Mesh, wish: BundleWish | None = None) -> list[bytes]:
    """The lines of a bundle as the command line writes them."""
    lines: list[bytes] = []
    async for item in mesh.proofs.bundle(wish or BundleWish()):
        line = item if isinstance(item, str) else row_document(row_from_wire(row_to_wire(item)))
        lines.append(line.encode() + b"\n")
    return lines


def judged(lines: list[bytes], *, trusted: frozenset[str] = frozenset()) -> tuple[BundleHeader, Verification]:
    return BundleCheck(checks=NoteChecks()).run(lines, trusted=trusted)


@pytest.mark.parametrize(
    ("wish", "first", "rows", "covered"),
    [
        (BundleWish(), 0, 701, 701),
        (BundleWish(from_seq=300), 256, 445, 701),
        (BundleWish(to_seq=440), 0, 441, 501),
        (BundleWish(from_seq=300, to_seq=440), 256, 185, 501),
        (BundleWish(from_seq=5_000), 512, 189, 701),
    ],
)
@scenario
async def test_a_bundle_verifies_anywhere(
    tmp_path: Path, wish: BundleWish, first: int, rows: int, covered: int
) -> None:
    async with signed(tmp_path, 700) as mesh:
        lines = await bundled(mesh, wish)
        header, found = judged(lines, trusted=frozenset({node_of(mesh.keys.current)}))
        assert found.ok, found.problem
        assert (header.first, found.first_seq, found.rows, found.covered) == (first, first, rows, covered)
        assert (found.vouched, found.node) == (True, node_of(mesh.keys.current))
        _, unasked = judged(lines)
        assert (unasked.ok, unasked.vouched) == (True, False)
        problem = judged(lines, trusted=frozenset({"somebodyelse"}))[1].problem
        assert problem is not None
        assert problem.code is ProblemCode.NOT_VOUCHED


@scenario
async def test_a_bundle_of_a_pruned_log_whose_key_changed(tmp_path: Path) -> None:
    async with signed(tmp_path, 700) as mesh:
        mesh.keys.rotate()
        mesh.take_keys(mesh.keys)
        await add(mesh, 50)
        await mesh.checkpoints.sign()
        lines = await bundled(mesh)
        header, found = judged(lines)
        assert found.ok, found.problem
        assert [one.how for one in found.keys] == ["log_key_began", "log_key_followed"]
        await prune(mesh, 512)
        _, found = judged(await bundled(mesh))
        assert found.ok, found.problem
        assert [one.how for one in found.keys] == ["in_force", "log_key_followed"]
        assert [one.next for one in found.pruned] == [512]
        assert header.kept == 0


@pytest.mark.parametrize(
    ("wish", "left_out"),
    [
        (BundleWish(), []),
        (BundleWish(to_seq=640), ["rows 0 to 511 are gone", "rows 641 to 701 of"]),
        (BundleWish(to_seq=599), ["rows 0 to 511 are gone", "rows 600 to 701 of"]),
        (BundleWish(from_seq=530, to_seq=599), ["rows 0 to 511 are gone", "rows 600 to 701 of"]),
    ],
)
@scenario
async def test_a_piece_without_the_row_that_says_what_was_pruned_is_no_alarm(
    tmp_path: Path, wish: BundleWish, left_out: list[str]
) -> None:
    async with signed(tmp_path, 700) as mesh:
        await prune(mesh, 512)
        _, found = judged(await bundled(mesh, wish))
        assert found.ok, found.problem
        assert len(found.warnings) == len(left_out)
        assert all(words in told for words, told in zip(left_out, found.warnings, strict=True))
        assert bool(found.pruned) != bool(left_out)


def changed(lines: list[bytes], chance: random.Random) -> list[bytes]:
    number = chance.randrange(len(lines))
    line = bytearray(lines[number])
    line[chance.randrange(len(line))] ^= chance.randrange(1, 256)
    return [*lines[:number], bytes(line), *lines[number + 1 :]]


@scenario
async def test_a_changed_line_of_a_bundle_changes_what_it_proves(tmp_path: Path) -> None:
    chance = random.Random("bundle")  # noqa: S311  # the same flips every time
    async with signed(tmp_path, 40) as mesh:
        lines = await bundled(mesh)
    good = judged(lines, trusted=frozenset({node_of(mesh.keys.current)}))
    for _ in range(400):
        other = changed(lines, chance)
        try:
            header, found = judged(other, trusted=frozenset({node_of(mesh.keys.current)}))
        except MeshError as error:
            assert error.code is ErrorCode.INVALID_ARGUMENT
            continue
        # When it was made and whose it says to be is not evidence: the keys are.
        same = (header.log, header.first, header.end) == (good[0].log, good[0].first, good[0].end)
        assert not found.ok or (same and found == good[1]), next(set(other) - set(lines))


def without(mark: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [line for line in lines if not line.startswith(mark)]


def other_text(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b"two\\nlines", b"no\\nlines") for line in lines]


def no_row(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if b'"seq": 17, "leaf"' not in line]


@pytest.mark.parametrize(
    ("attack", "code"),
    [
        (without(b'{"rows"'), ProblemCode.CUT_SHORT),
        (lambda lines: lines[:200], ProblemCode.CUT_SHORT),
        (lambda lines: [*lines[:100], lines[100][:30]], ProblemCode.CUT_SHORT),
        (without(b'{"checkpoint"'), ProblemCode.NOT_COMPARED),
        (without(b'{"salts"'), ProblemCode.TEXT_DIFFERS),
        (other_text, ProblemCode.TEXT_DIFFERS),
        (no_row, ProblemCode.MISSING),
        (lambda lines: [*lines, lines[-2]], ProblemCode.NOT_CANONICAL),
        (lambda lines: [*lines[:9], b'{"what": 1}\n', *lines[9:]], ProblemCode.NOT_CANONICAL),
        (lambda lines: [lines[0], *lines], ProblemCode.NOT_CANONICAL),
    ],
)
@scenario
async def test_a_bundle_that_was_tampered_with(
    tmp_path: Path, attack: Callable[[list[bytes]], list[bytes]], code: ProblemCode
) -> None:
    async with signed(tmp_path, 300) as mesh:
        lines = await bundled(mesh)
        problem = judged(attack(lines), trusted=frozenset({node_of(mesh.keys.current)}))[1].problem
        assert problem is not None
        assert problem.code is code
        assert (code in INCOMPLETE) is (code in {ProblemCode.CUT_SHORT, ProblemCode.NOT_COMPARED})


@pytest.mark.parametrize("lines", [[], [b"\n"], [b"{}\n"], [b"\xff\n"], [b'{"seq": 0}\n'], [b"[" * 100_000 + b"\n"]])
def test_what_is_no_bundle(lines: list[bytes]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "helio timeline bundle"):
        judged(lines)


# Proofs of one row


def parsed(proof: str) -> Iterator[str]:
    head, _, rest = proof.partition("\n\n")
    kind, index, *hashes = head.split("\n")
    assert kind == "c2sp.org/tlog-proof@v1"
    yield index.removeprefix("index ")
    yield rest
    yield from hashes


@pytest.mark.parametrize("seq", [0, 255, 256, 599, 600])
@scenario
async def test_a_row_is_proven_by_itself(tmp_path: Path, seq: int) -> None:
    async with signed(tmp_path, 600) as mesh:
        index, written, *hashes = parsed(await mesh.proofs.prove(seq))
        (row,) = await mesh.store.read(lambda reader: reader.rows(seq, 1))
        head = note.read_head(note.read(written).text)
        path = [note.decode64(one) for one in hashes]
        assert int(index) == seq
        assert merkle.verify_inclusion(seq, head.size, merkle.leaf_hash(row.data), path, head.root)
        with refused(ErrorCode.NOT_FOUND, "0 to 600"):
            await mesh.proofs.prove(601)


@scenario
async def test_what_somebody_kept_is_compared(tmp_path: Path) -> None:
    async with signed(tmp_path, 300) as mesh:
        last = await mesh.store.read(lambda reader: reader.last_checkpoint())
        assert last is not None
        results = [one.result async for one in mesh.proofs.verify(seen=[last.note])]
        assert results[-1] is not None
        assert results[-1].ok
        longer = last.note.replace("\n301\n", "\n999\n")
        results = [one.result async for one in mesh.proofs.verify(seen=[longer])]
        assert results[-1] is not None
        assert results[-1].problem is not None
        assert (results[-1].problem.code, results[-1].problem.seq) == (ProblemCode.TAIL_MISSING, 301)
        for bad, code in (("no note", ErrorCode.INVALID_ARGUMENT),):
            with refused(code, "no checkpoint"):
                await anext(mesh.proofs.verify(seen=[bad]))
        with refused(ErrorCode.NOT_FOUND, "local/none/1"):
            await anext(mesh.proofs.verify(log="local/none/1"))
    assert json.loads(json.dumps(longer)) == longer
