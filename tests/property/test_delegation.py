"""The exchange machine under any run of inputs: what holds in every state it can come to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from node.core import delegation as d
from node.core.effects import ArchiveSession
from node.core.errors import ErrorCode, MeshError
from node.core.model import Address, Exchange, Kind, Status

NAMES = st.sampled_from(["q1", "q2", "q3"])
INPUTS = st.one_of(
    st.builds(d.Ask, message=NAMES),
    st.builds(d.Answer, question=NAMES),
    st.sampled_from([d.LaunchFailed(why="No such program."), d.OpeningWithheld(), d.WorkerEnded(), d.WorkerResumed()]),
    st.sampled_from([d.Began(), d.Report(), d.Deliver(), d.Steer(), d.Accept(), d.Reject(), d.Cancel()]),
    st.just(d.WorkerRemoved()),
)


def fresh(kind: Kind) -> Exchange:
    return Exchange(
        id="x" * 16, kind=kind, status=Status.STARTING, opener=Address(node="n", session="o"),
        worker=Address(node="n", session="w"), title="t", chain="c", hops=(), parent=None, root="r", depth=0,
        next_number=1, questions=(), ended_noted=False, reason=None, opened_us=1, changed_us=1,
    )  # fmt: skip


@given(st.sampled_from(Kind), st.lists(INPUTS, max_size=30))
def test_what_holds_after_any_inputs(kind: Kind, inputs: list[d.Input]) -> None:
    now = fresh(kind)
    archived = told = 0
    for given_input in inputs:
        if isinstance(given_input, d.Ask) and given_input.message in now.questions:
            continue  # ids are made once
        before = now
        try:
            step = d.step(before, given_input)
        except MeshError as refused:
            assert refused.code is ErrorCode.WRONG_STATE
            continue
        now = step.exchange
        archived += len(step.effects)
        told += len(step.notes)
        # Closed is for good; asked and open questions go together; a closed exchange says why.
        assert not before.status.closed or now == before
        assert (now.status is Status.ASKED) is bool(now.questions)
        assert now.status.closed is (now.reason is not None)
        # Nobody begins twice.
        assert now.status is not Status.STARTING or before.status is Status.STARTING
        assert all(effect == ArchiveSession(session="w") for effect in step.effects)
    assert archived == (kind is Kind.DELEGATION and now.reason in {"accepted", "rejected", "cancelled"})
    endings = sum(isinstance(one, d.WorkerEnded | d.WorkerRemoved | d.LaunchFailed) for one in inputs)
    assert told <= endings
