"""Ten thousand single bytes changed, one at a time, in all that is stored of a log: none is ever called fine."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.log_lab import Log, began, checked, node_of

FLIPS = 10_000
PARTS = 10
DUAL = began(dual=True, rows=257)
DUAL.sign()


def flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    changed[chance.randrange(len(changed))] ^= chance.randrange(1, 256)
    return bytes(changed)


def flipped_text(text: str, chance: random.Random) -> str:
    """As a database hands out what is no longer UTF-8."""
    return flipped(text.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "surrogateescape")


def flip(log: Log, chance: random.Random) -> str:
    """Changes one byte somewhere in the log; gives where."""
    what = chance.choices(("row", "leaf", "tile", "root", "note", "text", "salt", "field"), (8, 2, 3, 1, 4, 2, 1, 1))[0]
    if what in {"row", "leaf"}:
        at = chance.randrange(len(log.rows))
        row = log.rows[at]
        changed = {"data": flipped(row.data, chance)} if what == "row" else {"leaf": flipped(row.leaf, chance)}
        log.rows[at] = replace(row, **changed)
    elif what == "tile":
        place = chance.choice(list(log.tiles))
        log.tiles[place] = flipped(log.tiles[place], chance)
    elif what in {"root", "note"}:
        at = chance.randrange(len(log.checkpoints))
        made = log.checkpoints[at]
        log.checkpoints[at] = (
            replace(made, root=flipped(made.root, chance))
            if what == "root"
            else replace(made, note=flipped_text(made.note, chance))
        )
    else:
        at = chance.randrange(len(log.texts))
        text = log.texts[at]
        if what == "salt":
            log.texts[at] = replace(text, salt=flipped(text.salt, chance))
        else:
            log.texts[at] = replace(text, **{what: flipped_text(getattr(text, what), chance)})
    return what


@pytest.mark.parametrize("part", range(PARTS))
def test_no_changed_byte_is_called_fine(part: int) -> None:
    chance = random.Random(f"flips/{part}")  # noqa: S311  # the same flips every time
    trusted = frozenset({node_of(DUAL.key)})
    for _ in range(FLIPS // PARTS):
        log = replace(
            DUAL, rows=list(DUAL.rows), texts=list(DUAL.texts), checkpoints=list(DUAL.checkpoints),
            tiles=dict(DUAL.tiles),
        )  # fmt: skip
        log.head = DUAL.head
        where = flip(log, chance)
        found = checked(log, trusted=trusted, claimed=DUAL.head)
        assert not found.ok, where
        assert found.problem is not None


def test_the_log_itself_is_fine() -> None:
    found = checked(DUAL, claimed=DUAL.head)
    assert found.ok, found.problem
    assert (found.rows, found.covered) == (DUAL.head.size, DUAL.head.size)
