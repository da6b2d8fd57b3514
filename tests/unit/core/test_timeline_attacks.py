"""Each way to change a log behind its node's back: found with row and reason, or by what finds it instead.

The numbers are those of the attacks as they were listed when the timeline was designed. Who owns the node's key can
make any log that looks right; what finds it then is a checkpoint that somebody kept, or the rows of the other node.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from node.core import log_key, merkle
from node.core.canonical import decode
from node.core.note import TreeHead
from node.core.timeline import Entry, Head, Row, RowKind
from node.core.timeline_check import INCOMPLETE, ProblemCode
from tests.log_lab import SW, Log, began, checked, node_of, signer

WITHHELD = Row(row=RowKind.MESSAGE, engine="agent.request", decision="withheld", reason="prompt_injection", sw=SW)
SIZE = 602
VICTIM = 300


@pytest.fixture
def log() -> Log:
    """602 rows, signed at each hundred and at the end, one of them about a message that was withheld."""
    made = began(rows=VICTIM - 2)
    made.add(WITHHELD)
    made.fill(SIZE - made.head.size)
    made.sign()
    return made


def rebuilt(log: Log, rows: list[Entry], *, first: int) -> None:
    """Chains, numbers and hashes all rows from `first` on anew, as one who can write the database does."""
    log.rows, log.head = rows[:first], Head.empty(log.origin)
    for row in log.rows:
        frontier = merkle.grow(row.seq, log.head.frontier, row.leaf)
        log.head = Head(origin=log.origin, size=row.seq + 1, last=row.leaf, frontier=frontier)
    for row in rows[first:]:
        fields = decode(row.data) | {"seq": log.head.size, "prev": (log.head.last or b"").hex(), "log": log.origin}
        if log.head.last is None:
            del fields["prev"]
        data = json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()
        leaf = merkle.leaf_hash(data)
        log.rows.append(Entry(seq=log.head.size, data=data, leaf=leaf))
        frontier = merkle.grow(log.head.size, log.head.frontier, leaf)
        log.head = Head(origin=log.origin, size=log.head.size + 1, last=leaf, frontier=frontier)
    log.texts = [text for text in log.texts if text.seq < first]
    log.tiles = {}
    for index in range(log.head.size // 256):
        log.refill(index)


def signed_anew(log: Log, *, first: int) -> None:
    """Signs the changed log with the node's own key, at the sizes at which there were checkpoints."""
    leaves = [row.leaf for row in log.rows]
    sizes = [one.size for one in log.checkpoints if first < one.size <= len(leaves)]
    log.checkpoints = [one for one in log.checkpoints if one.size <= first]
    for size in sizes:
        head = TreeHead(origin=log.origin, size=size, root=merkle.root_of(leaves[:size]))
        log.checkpoints.append(
            replace(log.blank, size=size, root=head.root, note=log_key.sign_head(head, log.key, 1_790_000_000))
        )


def with_decision(row: Entry, decision: bytes) -> Entry:
    data = row.data.replace(b'"decision":"withheld"', b'"decision":"%s"' % decision)
    assert data != row.data
    return replace(row, data=data, leaf=merkle.leaf_hash(data))


def edited(log: Log) -> list[Entry]:
    return [with_decision(row, b"relayed") if row.seq == VICTIM else row for row in log.rows]


# What a node finds by itself


def edit(log: Log) -> None:
    log.rows = [replace(row, leaf=log.rows[VICTIM].leaf) if row.seq == VICTIM else row for row in edited(log)]


def edit_and_chain(log: Log) -> None:
    rebuilt(log, edited(log), first=VICTIM)


def delete(log: Log) -> None:
    del log.rows[VICTIM]


def cut_tail(log: Log) -> None:
    log.rows = log.rows[:550]


def drop_head(log: Log) -> None:
    log.drop(256)


def swap(log: Log) -> None:
    one, two = log.rows[VICTIM], log.rows[VICTIM + 1]
    log.rows[VICTIM : VICTIM + 2] = [replace(two, seq=one.seq), replace(one, seq=two.seq)]


def duplicate(log: Log) -> None:
    log.rows.insert(VICTIM, log.rows[VICTIM - 1])


def other_key(log: Log) -> None:
    made = log.checkpoints[3]
    head = TreeHead(origin=log.origin, size=made.size, root=made.root)
    log.checkpoints[3] = replace(made, note=log_key.sign_head(head, signer(), 1_790_000_000))


def forged_signature(log: Log) -> None:
    made = log.checkpoints[3]
    other = log_key.sign_head(TreeHead(origin=log.origin, size=made.size, root=bytes(32)), log.key, 1)
    text, _, _ = made.note.rpartition("\n\n")
    log.checkpoints[3] = replace(made, note=text + "\n\n" + other.rpartition("\n\n")[2])


def note_of_another_size(log: Log) -> None:
    log.checkpoints[3] = replace(log.checkpoints[3], note=log.checkpoints[2].note)


def step_from_a_key_that_never_was(log: Log) -> None:
    stranger, new = signer(), signer(node=log.key.node_key)
    step = log_key.step(log.origin, log.head.size, new, old=stranger.key, old_signer=stranger)
    log.add(step.row(SW))
    log.sign(new)


def key_row_moved(log: Log) -> None:
    step = log_key.step(log.origin, 7, signer(node=log.key.node_key), old=log.key.key, old_signer=log.key)
    log.add(step.row(SW))


def same_key_twice(log: Log) -> None:
    row = log.rows[VICTIM]
    data = row.data.replace(b'"decision":', b'"decision":"relayed","decision":')
    log.rows[VICTIM] = replace(row, data=data, leaf=merkle.leaf_hash(data))


def spliced(log: Log) -> None:
    other = began(rows=SIZE)
    log.rows[VICTIM] = other.rows[VICTIM]


def spaces(log: Log) -> None:
    row = log.rows[VICTIM]
    data = row.data.replace(b'":', b'": ', 1)
    log.rows[VICTIM] = replace(row, data=data, leaf=merkle.leaf_hash(data))


def later_schema(log: Log) -> None:
    row = log.rows[VICTIM]
    data = row.data.replace(b'"v":1}', b'"v":2}')
    log.rows[VICTIM] = replace(row, data=data, leaf=merkle.leaf_hash(data))
    rebuilt(log, log.rows, first=VICTIM + 1)


def other_text(log: Log) -> None:
    place = next(at for at, text in enumerate(log.texts) if text.seq > VICTIM)
    log.texts[place] = replace(log.texts[place], text="something harmless")


def other_salt(log: Log) -> None:
    log.texts[9] = replace(log.texts[9], salt=bytes(16))


def text_of_nothing(log: Log) -> None:
    log.texts.append(replace(log.texts[0], seq=VICTIM, field="note"))


def leaf_tile(log: Log) -> None:
    log.tiles[0, 1] = log.tiles[0, 1][:-1] + b"\x00"


def upper_tile(log: Log) -> None:
    log.tiles[1, 0] = bytes(32) + log.tiles[1, 0][32:]


def lost_tile(log: Log) -> None:
    log.tiles[0, 0] = b""


def forged_key(log: Log) -> None:
    thief = signer()
    step = log_key.step(log.origin, log.head.size, thief, old=log.key.key, old_signer=thief)
    log.endorsed.append(step.endorsement)
    log.add(step.row(SW))
    log.sign(thief)


def key_that_says_it_began(log: Log) -> None:
    thief = signer()
    step = log_key.step(log.origin, log.head.size, thief, old=None, old_signer=None)
    log.add(step.row(SW))
    log.sign(thief)


def old_key_after_the_new(log: Log) -> None:
    old = log.key
    log.take_key(signer())
    log.fill(10)
    log.sign(old)


@pytest.mark.parametrize(
    ("attack", "code", "seq"),
    [
        pytest.param(edit, ProblemCode.EDITED, VICTIM, id="1 edit a row"),
        pytest.param(edit_and_chain, ProblemCode.ROOT_DIFFERS, 399, id="2 edit and chain anew"),
        pytest.param(delete, ProblemCode.MISSING, VICTIM, id="4 delete a row"),
        pytest.param(cut_tail, ProblemCode.TAIL_MISSING, 550, id="6 cut the tail"),
        pytest.param(drop_head, ProblemCode.HEAD_MISSING, 0, id="9 drop the head"),
        pytest.param(swap, ProblemCode.RENUMBERED, VICTIM, id="10 swap rows"),
        pytest.param(duplicate, ProblemCode.DUPLICATE, VICTIM - 1, id="13 duplicate a row"),
        pytest.param(other_key, ProblemCode.CHECKPOINT_KEY, 399, id="17 a checkpoint by another key"),
        pytest.param(forged_signature, ProblemCode.CHECKPOINT_KEY, 399, id="17 a signature of something else"),
        pytest.param(note_of_another_size, ProblemCode.CHECKPOINT_FORGED, 399, id="17 a checkpoint in another's place"),
        pytest.param(step_from_a_key_that_never_was, ProblemCode.KEY_FORGED, SIZE, id="17 a step from another key"),
        pytest.param(key_row_moved, ProblemCode.KEY_FORGED, SIZE, id="17 a key row of another place"),
        pytest.param(forged_key, ProblemCode.KEY_FORGED, SIZE, id="17 a key that the old one did not agree to"),
        pytest.param(key_that_says_it_began, ProblemCode.NOT_VOUCHED, 0, id="17 a key of another node"),
        pytest.param(old_key_after_the_new, ProblemCode.CHECKPOINT_KEY, SIZE + 10, id="17 a key that was left"),
        pytest.param(same_key_twice, ProblemCode.NOT_CANONICAL, VICTIM, id="19 the same name twice"),
        pytest.param(spliced, ProblemCode.FOREIGN, VICTIM, id="20 a row of another node"),
        pytest.param(spaces, ProblemCode.NOT_CANONICAL, VICTIM, id="23 white space"),
        pytest.param(later_schema, ProblemCode.ROOT_DIFFERS, 399, id="28 a later schema as cover"),
        pytest.param(other_text, ProblemCode.TEXT_DIFFERS, 301, id="30 an erased text replaced"),
        pytest.param(other_salt, ProblemCode.TEXT_DIFFERS, 14, id="30 another salt"),
        pytest.param(text_of_nothing, ProblemCode.TEXT_DIFFERS, VICTIM, id="30 a text that no row has"),
        pytest.param(leaf_tile, ProblemCode.TILE_DIFFERS, 256, id="a changed leaf tile"),
        pytest.param(upper_tile, ProblemCode.TILE_DIFFERS, 0, id="a changed tile further up"),
        pytest.param(lost_tile, ProblemCode.TILE_DIFFERS, 0, id="a lost tile"),
    ],
)
def test_a_node_finds_it(log: Log, attack: Callable[[Log], None], code: ProblemCode, seq: int) -> None:
    assert checked(log).ok
    mine = frozenset({node_of(log.key)})
    attack(log)
    found = checked(log, trusted=mine)
    assert not found.ok
    assert found.problem is not None
    assert (found.problem.code, found.problem.seq, found.origin) == (code, seq, log.origin)
    assert code not in INCOMPLETE


# What only a checkpoint that somebody kept can show


def sign_edit(log: Log) -> None:
    rebuilt(log, edited(log), first=VICTIM)
    signed_anew(log, first=VICTIM)


def sign_deletion(log: Log) -> None:
    rebuilt(log, [row for row in log.rows if row.seq != VICTIM], first=VICTIM)
    log.checkpoints = [one for one in log.checkpoints if one.size <= VICTIM]
    log.sign()


def cut_tail_and_checkpoints(log: Log) -> None:
    log.rows = log.rows[:VICTIM]
    log.texts = [text for text in log.texts if text.seq < VICTIM]
    log.checkpoints = [one for one in log.checkpoints if one.size <= VICTIM]


def swap_and_sign(log: Log) -> None:
    rows = list(log.rows)
    rows[VICTIM], rows[VICTIM + 1] = rows[VICTIM + 1], rows[VICTIM]
    rebuilt(log, rows, first=VICTIM)
    signed_anew(log, first=VICTIM)


def rewrite_all(log: Log) -> None:
    rebuilt(log, [row for row in log.rows if row.seq < 2] + [row for row in edited(log) if row.seq >= 2], first=2)
    signed_anew(log, first=2)


def old_snapshot(log: Log) -> None:
    cut_tail_and_checkpoints(log)
    rebuilt(log, log.rows, first=VICTIM)
    log.fill(SIZE - VICTIM + 50)
    log.sign()


def extra_row(log: Log) -> None:
    forged = replace(log.rows[VICTIM], data=with_decision(log.rows[VICTIM], b"relayed").data)
    rebuilt(log, [*log.rows[:VICTIM], forged, *log.rows[VICTIM:]], first=VICTIM)
    log.checkpoints = [one for one in log.checkpoints if one.size <= VICTIM]
    log.sign()


@pytest.mark.parametrize(
    ("attack", "code"),
    [
        pytest.param(sign_edit, ProblemCode.ROOT_DIFFERS, id="3 edit, chain and sign anew"),
        pytest.param(sign_deletion, ProblemCode.TAIL_MISSING, id="5 delete, number and sign anew"),
        pytest.param(cut_tail_and_checkpoints, ProblemCode.TAIL_MISSING, id="7 cut tail and checkpoints"),
        pytest.param(swap_and_sign, ProblemCode.ROOT_DIFFERS, id="11 swap and sign anew"),
        pytest.param(rewrite_all, ProblemCode.ROOT_DIFFERS, id="12 rewrite everything"),
        pytest.param(old_snapshot, ProblemCode.ROOT_DIFFERS, id="16 an old copy that goes on"),
        pytest.param(extra_row, ProblemCode.ROOT_DIFFERS, id="22 a row made up by the owner of the key"),
    ],
)
def test_a_kept_checkpoint_finds_it(log: Log, attack: Callable[[Log], None], code: ProblemCode) -> None:
    kept = TreeHead(origin=log.origin, size=log.head.size, root=log.head.root)
    assert checked(log, seen=[kept]).ok
    attack(log)
    assert checked(log).ok, "whoever has the key makes what looks right"
    problem = checked(log, seen=[kept]).problem
    assert problem is not None
    assert problem.code is code
    assert f"{SIZE} rows" in problem.words
    assert problem.seq == (SIZE - 1 if code is ProblemCode.ROOT_DIFFERS else len(log.rows))


def test_a_checkpoint_of_another_log_is_no_comparison(log: Log) -> None:
    other = TreeHead(origin="local/other/1", size=5, root=bytes(32))
    problem = checked(log, seen=[other]).problem
    assert problem is not None
    assert problem.code is ProblemCode.FOREIGN
