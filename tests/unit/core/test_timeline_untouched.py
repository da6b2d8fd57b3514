"""What a node does itself is no alarm, what excuses rows that are gone, and what only leaves a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from node.core import log_key, merkle, tiles
from node.core.note import TreeHead
from node.core.timeline import Party, Row, RowKind
from node.core.timeline_check import INCOMPLETE, MAX_FINDINGS, ProblemCode, Verifier
from tests.log_lab import DAY_S, PLAIN, SW, Log, began, checked, node_of, signer

SIZE = 602
VICTIM = 300


@pytest.fixture
def log() -> Log:
    """602 rows, signed at each hundred and at the end."""
    made = began(rows=SIZE - 2)
    made.sign()
    return made


# Clocks and pruning


def aged(log: Log, days: float = 120) -> Log:
    """The log after so long a time, in which the node ran on."""
    log.wait(days * DAY_S)
    log.fill(10)
    return log


def test_14_a_clock_put_back_a_day_is_told(log: Log) -> None:
    log.wait(0, wall=-DAY_S)
    seq = log.add()
    found = checked(log)
    assert found.ok
    assert [(step.seq, step.step_us) for step in found.clock_steps] == [(seq, -DAY_S * 1_000_000)]


def test_15_a_clock_put_forward_excuses_no_pruning(log: Log) -> None:
    log.wait(0, wall=91 * DAY_S)
    log.fill(5)
    seq = log.prune(256)
    problem = checked(log).problem
    assert problem is not None
    assert (problem.code, problem.seq) == (ProblemCode.PRUNE_TOO_YOUNG, seq)


@pytest.mark.parametrize("days", [[-91, 91], [91, -91, 91], [46, 46]])
def test_15_a_clock_that_went_to_and_fro_and_is_ahead_excuses_no_pruning(log: Log, days: list[int]) -> None:
    for step in days:
        log.wait(0, wall=step * DAY_S)
        log.fill(5)
    log.prune(256, last_ts=log.now.ts_us - 90 * DAY_S * 1_000_000)
    problem = checked(log).problem
    assert problem is not None
    assert problem.code is ProblemCode.PRUNE_TOO_YOUNG


def test_15_steps_too_small_to_be_told_are_counted(log: Log) -> None:
    verifier = Verifier(log.origin, start=log.head)
    for _ in range(20):
        log.wait(0, wall=1.9)
        log.add()
        row = log.rows[-1]
        assert verifier.feed(row.seq, row.data, row.leaf) is None
    assert verifier.finish().clock_steps == ()
    assert verifier.ahead == 19 * 1_900_000


@pytest.mark.parametrize(
    ("lies", "code"),
    [
        pytest.param({"last_ts": 1_799_000_000_000_000}, ProblemCode.PRUNE_TOO_YOUNG, id="26 rows that were too young"),
        pytest.param({"keep_days": 0}, ProblemCode.PRUNE_TOO_YOUNG, id="26 kept for no time at all"),
        pytest.param({"root": "0" * 64}, ProblemCode.PRUNE_WRONG, id="27 another range's row"),
        pytest.param({"first": 256, "next": 256}, ProblemCode.PRUNE_WRONG, id="27 nothing"),
        pytest.param({"next": 512}, ProblemCode.PRUNE_WRONG, id="27 another end"),
        pytest.param({"next": 9_999_872}, ProblemCode.PRUNE_WRONG, id="27 rows that are yet to come"),
    ],
)
def test_a_prune_row_must_say_what_is_so(log: Log, lies: dict[str, int | str], code: ProblemCode) -> None:
    seq = aged(log).prune(256, **lies)
    problem = checked(log).problem
    assert problem is not None
    assert (problem.code, problem.seq) == (code, seq)


def test_27_a_prune_row_excuses_only_its_own_range(log: Log) -> None:
    aged(log).prune(256)
    log.drop(512)
    problem = checked(log).problem
    assert problem is not None
    assert (problem.code, problem.seq) == (ProblemCode.HEAD_MISSING, 0)
    assert "0 to 511" in problem.words


def test_27_a_pruned_range_cannot_be_edited_afterwards(log: Log) -> None:
    aged(log).prune(512)
    assert checked(log).ok
    leaves = bytearray(log.tiles[0, 0])
    leaves[40] ^= 1
    log.tiles[0, 0] = bytes(leaves)
    problem = checked(log).problem
    assert problem is not None
    assert problem.code is ProblemCode.TILE_DIFFERS


def test_29_a_proof_for_another_size_proves_nothing(log: Log) -> None:
    leaves = [row.leaf for row in log.rows]
    subtree = tiles.subtrees_in(lambda level, index: log.tiles.get((level, index), b""), lambda a, b: leaves[a:b])
    proof = merkle.inclusion_proof(subtree, VICTIM, SIZE)
    roots = {size: merkle.root_of(leaves[:size]) for size in (SIZE - 1, SIZE)}
    assert merkle.verify_inclusion(VICTIM, SIZE, leaves[VICTIM], proof, roots[SIZE])
    assert not merkle.verify_inclusion(VICTIM, SIZE - 1, leaves[VICTIM], proof, roots[SIZE - 1])
    assert not merkle.verify_inclusion(VICTIM + 1, SIZE, leaves[VICTIM], proof, roots[SIZE])


# No false alarm


def untouched_days(log: Log) -> None:
    log.wait(5 * DAY_S)
    log.fill(200)


def slept_and_slewed(log: Log) -> None:
    log.wait(10 * DAY_S, wall=60)
    log.fill(200)


def corrected_back(log: Log) -> None:
    log.wait(1, wall=-7_200)
    log.fill(200)


def corrected_forward(log: Log) -> None:
    log.wait(1, wall=7_200)
    log.fill(200)


def restarted(log: Log) -> None:
    log.now = replace(log.now, mono_us=17, boot="boot-2", ts_us=log.now.ts_us + 40_000_000)
    log.fill(200)


def pruned(log: Log) -> None:
    aged(log).prune(256)


def pruned_twice(log: Log) -> None:
    aged(log).prune(256)
    aged(log).fill(300)
    aged(log).prune(768)


def pruned_so_often_that_not_all_is_listed(log: Log) -> None:
    for _ in range(MAX_FINDINGS + 1):
        log.prune(256, why="size", first=0)
    log.prune(512, why="size")


def pruned_for_size(log: Log) -> None:
    log.prune(512, why="size")


def pruned_after_the_clock_was_wrong_for_a_while(log: Log) -> None:
    log.wait(0, wall=30 * DAY_S)
    log.fill(5)
    log.wait(0, wall=-30 * DAY_S)
    aged(log, days=91).prune(256)


def prune_not_yet_done(log: Log) -> None:
    kept, texts = log.rows, log.texts
    aged(log).prune(256)
    log.rows, log.texts, log.first = [*kept[:256], *log.rows], [*(t for t in texts if t.seq < 256), *log.texts], 0


def pruned_after_the_clock_was_corrected(log: Log) -> None:
    log.wait(1, wall=3_600)
    aged(log, 90).fill(3)
    log.prune(256)


def rotated(log: Log) -> None:
    log.take_key(signer())
    log.fill(120)
    log.take_key(signer(dual=True))
    log.fill(120)


def rotated_then_pruned(log: Log) -> None:
    rotated(log)
    aged(log).prune(768)


def said_twice(log: Log) -> None:
    log.take_key(signer())
    step = log_key.step(log.origin, log.head.size, log.key, old=None, old_signer=None)
    log.add(step.row(SW))
    log.fill(200)


def erased(log: Log) -> None:
    log.texts = log.texts[::2]


@pytest.mark.parametrize(
    "change",
    [
        untouched_days, slept_and_slewed, corrected_back, corrected_forward, restarted, pruned, pruned_twice,
        pruned_so_often_that_not_all_is_listed, pruned_for_size, prune_not_yet_done,
        pruned_after_the_clock_was_corrected, pruned_after_the_clock_was_wrong_for_a_while, rotated,
        rotated_then_pruned, said_twice, erased,
    ],
)  # fmt: skip
def test_what_a_node_does_itself_is_no_alarm(log: Log, change: Callable[[Log], None]) -> None:
    kept = TreeHead(origin=log.origin, size=log.head.size, root=log.head.root)
    change(log)
    found = checked(log, seen=[kept] if log.first < kept.size else [])
    assert found.ok, found.problem
    assert found.vouched
    assert found.covered > SIZE - 2
    log.add()
    assert checked(log).ok, "rows that are not yet signed are no alarm"


def test_the_result_says_what_was_covered_pruned_and_signed_by_which_key(log: Log) -> None:
    first_key = log.key.key.id_of(log.origin)
    rotated_then_pruned(log)
    log.add()
    found = checked(log)
    assert [(one.first, one.next, one.why) for one in found.pruned] == [(0, 768, "age")]
    assert found.pruned[0].row == found.covered - 1
    assert (found.first_seq, found.last_seq) == (768, found.covered)
    assert [one.how for one in found.keys] == ["in_force"]
    assert found.keys[0].key == log.key.key.id_of(log.origin) != first_key
    assert found.node == node_of(log.key)


def test_a_key_that_was_lost_leaves_it_open_who_signed_before(log: Log) -> None:
    log.take_key(signer(), proven=False)
    log.fill(50)
    found = checked(log)
    assert found.problem is not None
    assert (found.problem.code, found.problem.seq) == (ProblemCode.KEY_UNPROVEN, SIZE)


def test_rows_of_a_later_schema_leave_it_open_what_they_say(log: Log) -> None:
    row = Row(row=RowKind.GAP, engine="store", decision="recorded", sw=SW, src=Party(node="x"))
    log.add(row)
    rows = [*log.rows[:-1], replace(log.rows[-1], data=log.rows[-1].data.replace(b'"v":1}', b'"v":7}'))]
    rows[-1] = replace(rows[-1], leaf=merkle.leaf_hash(rows[-1].data))
    log.rows = rows
    problem = checked(log).problem
    assert problem is not None
    assert problem.code is ProblemCode.UNKNOWN_VERSION
    assert problem.code in INCOMPLETE


def test_nothing_that_is_signed_is_nothing_that_anybody_answers_for() -> None:
    bare = Log(key=signer())
    for _ in range(3):
        bare.add(PLAIN)
    assert checked(bare).ok, "the node is yet to sign it"
    problem = checked(bare, signing=False).problem
    assert problem is not None
    assert problem.code is ProblemCode.NOT_COMPARED
