"""Approvals, workspaces and agents come out of the wire as they went in; no text makes one unreadable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from node import codec_work
from node.core import views_work
from node.core.approval import ApprovalKind, Decision
from node.core.workspace import DriverKind, StateCode
from node.wire.v1 import local_pb2 as pb

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
# Halves of characters are too few among all to be drawn by chance.
ANY_TEXT = st.lists(st.characters() | st.characters(categories=["Cs"]), max_size=40).map("".join)
NAME = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
TIME = st.integers(1, 2**63 - 1)
PAIRS = st.dictionaries(TEXT, TEXT, max_size=4).map(lambda pairs: tuple(sorted(pairs.items())))


def approvals(text: st.SearchStrategy[str] = TEXT) -> st.SearchStrategy[views_work.ApprovalView]:
    return st.builds(
        views_work.ApprovalView,
        id=TEXT,
        kind=st.sampled_from(ApprovalKind),
        session=TEXT,
        asker=text,
        subject=text,
        words=text,
        decision=st.sampled_from(Decision),
        asked_us=TIME,
        decided_us=st.none() | TIME,
    )


WORKSPACES = st.builds(
    views_work.WorkspaceView,
    name=TEXT,
    driver=st.sampled_from(DriverKind),
    settings=PAIRS,
    reach=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    state=st.sampled_from(StateCode),
    why=TEXT,
    sessions=st.integers(0, 2**32 - 1),
)
AGENTS = st.builds(
    views_work.AgentView, name=TEXT, program=TEXT, path=NAME, version=NAME, works=st.booleans(), why=TEXT
)


@given(approvals())
def test_approval(view: views_work.ApprovalView) -> None:
    wire = pb.Approval.FromString(codec_work.approval_to_wire(view).SerializeToString())
    assert codec_work.approval_from_wire(wire) == view


@given(WORKSPACES)
def test_workspace(view: views_work.WorkspaceView) -> None:
    wire = pb.Workspace.FromString(codec_work.workspace_to_wire(view).SerializeToString())
    assert codec_work.workspace_from_wire(wire) == view


@given(AGENTS)
def test_agent(view: views_work.AgentView) -> None:
    wire = pb.Agent.FromString(codec_work.agent_to_wire(view).SerializeToString())
    assert codec_work.agent_from_wire(wire) == view


@given(approvals(ANY_TEXT))
def test_no_text_makes_an_approval_unreadable(view: views_work.ApprovalView) -> None:
    shown = codec_work.approval_from_wire(codec_work.approval_to_wire(view))
    assert (shown.id, len(shown.subject), len(shown.words)) == (view.id, len(view.subject), len(view.words))
