"""What people are shown of a check of the timeline."""

from __future__ import annotations

from dataclasses import dataclass

from node.core.timeline_check import ClockStep, KeyChange, ProblemCode, Pruned, Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemView:
    """The first thing that is wrong with a timeline: at which row, a code, and words for a person."""

    seq: int
    code: ProblemCode
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResultView:
    """What a verification found; `root` is the tree's root in hex after `rows` rows, `problem` is None when ok.

    The rest is as in `timeline_check.Verification`; `rows` were read, from `first_seq` on.
    """

    origin: str
    root: str
    ok: bool
    problem: ProblemView | None
    warnings: tuple[str, ...]
    rows: int = 0
    first_seq: int = 0
    covered: int = 0
    checkpoints: int = 0
    pruned: tuple[Pruned, ...] = ()
    keys: tuple[KeyChange, ...] = ()
    clock_steps: tuple[ClockStep, ...] = ()
    clock_steps_total: int = 0
    node: str = ""
    vouched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyView:
    """How far a verification is, in rows; the last view, and only that one, has a result."""

    rows: int
    total: int
    result: VerifyResultView | None = None


def view_verification(found: Verification) -> VerifyResultView:
    """What a check found, as it is shown."""
    problem = found.problem
    return VerifyResultView(
        origin=found.origin,
        root=found.root.hex(),
        ok=found.ok,
        problem=None if problem is None else ProblemView(seq=problem.seq, code=problem.code, words=problem.words),
        warnings=found.warnings,
        rows=found.rows,
        first_seq=found.first_seq or 0,
        covered=found.covered,
        checkpoints=found.checkpoints,
        pruned=found.pruned,
        keys=found.keys,
        clock_steps=found.clock_steps,
        clock_steps_total=found.clock_steps_total,
        node=found.node,
        vouched=found.vouched,
    )
