"""Approvals, workspaces, agents and files of messages through the local API, on a real unix socket."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from node.core.approval import Approval, ApprovalKind, Decision
from node.core.errors import ErrorCode
from node.core.model import End, Kind, Ladder
from node.core.transfer import Attachment
from node.core.workspace import DriverKind, ScreenMode, StateCode, WorkspaceState
from node.grpc_setup import grpc
from node.wire.v1 import local_pb2 as pb
from node.wire.v1.local_pb2_grpc import LocalServiceStub
from tests.local_twins import HOSTILE, Node, exchange, message, played, refusal, session, stranger

FILE = Attachment(name="report ü.pdf", sha256="ab" * 32, size=2**40, folder=False, entries=0)
FOLDER = Attachment(name="src", sha256="cd" * 32, size=10_240, folder=True, entries=7)


def approval(letter: str, **changes: object) -> Approval:
    made = Approval(
        id=letter * 16, kind=ApprovalKind.OUTSIDE_FILE, session=session(2).id, subject="/etc/" + HOSTILE,
        words="Attaching " + HOSTILE, decision=Decision.PENDING, asked_us=50,
    )  # fmt: skip
    return replace(made, **changes)


@played
async def test_approvals_are_listed_with_who_asks_and_decided_once(tmp_path: Path) -> None:
    node = Node(tmp_path)
    gone = approval("b", session="gone" * 4, kind=ApprovalKind.WORKTREE_MERGE, decision=Decision.USED, decided_us=60)
    node.questions.known = [approval("a"), gone]
    async with node.up() as client:
        (open_one,) = await client.approvals()
        assert (open_one.asker, open_one.decided_us, open_one.subject) == ("@nick2", None, "/etc/" + HOSTILE)
        both = await client.approvals(pending=False)
        assert [(view.asker, view.kind, view.decision) for view in both[1:]] == [
            ("gonegone", ApprovalKind.WORKTREE_MERGE, Decision.USED)
        ]
        decided = await client.decide_approval("a" * 16, Decision.SESSION)
        assert (decided.decision, decided.decided_us, decided.asker) == (Decision.SESSION, 99, "@nick2")
        assert await client.approvals() == ()
        refused = await refusal(client.decide_approval("a" * 16, Decision.ONCE))
        assert refused.code is ErrorCode.NOT_FOUND
        assert "helio approvals" in refused.message


@played
@pytest.mark.parametrize("said", ["pending", "used", "expired", "", "yes"])
async def test_only_what_a_person_may_say_is_a_decision(tmp_path: Path, said: str) -> None:
    node = Node(tmp_path)
    node.questions.known = [approval("a")]
    async with node.up(), stranger(node) as channel:
        metadata = (("helio-token", node.token.read_text()),)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await LocalServiceStub(channel).DecideApproval(
                pb.DecideApprovalRequest(approval="a" * 16, decision=said), metadata=metadata
            )
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert node.questions.known[0].decision is Decision.PENDING


@played
async def test_a_question_about_a_message_shows_who_wrote_it_and_all_of_it(tmp_path: Path) -> None:
    node = Node(tmp_path)
    worker = node.desk.put(session(2))
    one = exchange("e", worker, kind=Kind.DELEGATION)
    node.put(one)
    held = message(one, 1, sender=End.WORKER, title="Key", text=HOSTILE + "x" * 20_000, files=(FILE,))
    node.books.all_messages[one.id] = [held]
    words = "A deliver from @nick2 to @boss asks for secrets"
    asked = approval(
        "a", kind=ApprovalKind.MESSAGE, session="boss" * 4, subject="ab" * 32, words=words, message=held.id
    )
    node.questions.known = [asked]
    async with node.up() as client:
        (shown,) = await client.approvals()
        decided = await client.decide_approval("a" * 16, Decision.SESSION)
    assert (shown.asker, shown.session, shown.kind, shown.words) == (
        "@nick2", "boss" * 4, ApprovalKind.MESSAGE, words,
    )  # fmt: skip
    assert shown.subject.startswith(f"Key\n{HOSTILE}xxx")
    assert f"more characters in message 1 of exchange {one.id[:8]}]" in shown.subject
    assert "[file: report ü.pdf, 1,099,511,627,776 bytes]" in shown.subject
    assert (decided.subject, decided.asker) == (shown.subject, "@nick2")


@played
async def test_workspaces_from_first_to_last(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        (default,) = await client.workspaces()
        assert (default.name, default.driver, default.reach) == ("default", DriverKind.HOST, None)
        added = await client.add_workspace("Büro", "bubblewrap", {"network": "off", "read": "/opt/ü"})
        assert added.settings == (("network", "off"), ("read", "/opt/ü"))
        assert (await refusal(client.add_workspace("BÜRO", "host", {}))).code is ErrorCode.ALREADY_EXISTS
        assert (await refusal(client.add_workspace("x", "docker", {}))).code is ErrorCode.INVALID_ARGUMENT
        assert (await client.set_workspace("büro", {"read": "", "network": "on"})).settings == (("network", "on"),)
        assert (await client.set_workspace("büro", {}, "log")).mode is ScreenMode.LOG
        kept = await client.set_workspace("büro", {"network": "on"})
        assert (kept.mode, kept.settings) == (ScreenMode.LOG, (("network", "on"),))
        wrong = await refusal(client.set_workspace("büro", {}, "off"))
        assert (wrong.code, "block, hold, log" in wrong.message) == (ErrorCode.INVALID_ARGUMENT, True)
        assert [one.mode for one in await client.workspaces()] == [ScreenMode.BLOCK, ScreenMode.LOG]
        assert (await refusal(client.set_workspace("nowhere", {"network": "on"}))).code is ErrorCode.NOT_FOUND
        assert (await client.set_reach("Büro", ())).reach == ()
        assert (await client.set_reach("Büro", ("default",))).reach == ("default",)
        assert (await client.set_reach("Büro", None)).reach is None
        node.places.states["Büro"] = WorkspaceState(code=StateCode.BROKEN, why=HOSTILE)
        node.places.occupied.add("Büro")
        seen = (await client.workspaces())[1]
        assert (seen.name, seen.state, seen.why, seen.sessions) == ("Büro", StateCode.BROKEN, HOSTILE, 1)
        assert (await refusal(client.remove_workspace("Büro"))).code is ErrorCode.WRONG_STATE
        node.places.occupied.clear()
        assert await client.remove_workspace("büro") == "Büro"
        assert len(await client.workspaces()) == 1


@played
async def test_agents_are_shown_as_the_catalogue_has_them(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        assert [asdict(view) for view in await client.agents()] == [asdict(view) for view in node.installed.known]


@played
async def test_a_node_without_these_parts_says_that_it_does_not_know_them(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.api = replace(node.api, work=None)
    async with node.up() as client:
        for call in (client.approvals, client.workspaces, client.agents):
            assert (await refusal(call())).code is ErrorCode.UNSUPPORTED
        assert await client.status()


@played
async def test_files_show_where_they_landed_and_only_then(tmp_path: Path) -> None:
    node = Node(tmp_path)
    delegate = node.desk.put(session(2, branch="helio/wörk"))
    one = exchange("e", delegate, kind=Kind.DELEGATION)
    node.put(one)
    to_delegate = message(one, 1, sender=End.OPENER, files=(FILE, FOLDER))
    waiting = message(one, 2, sender=End.OPENER, files=(FILE,), ladder=Ladder(recorded_us=7))
    to_person = message(one, 3, sender=End.WORKER, files=(FILE,))
    node.books.all_messages[one.id] = [to_delegate, waiting, to_person]
    async with node.up() as client:
        shown = await client.exchange(one.id)
        first, second, third = (view.files for view in shown.messages)
        (listed,) = await client.exchanges()
    assert [(file.name, file.size, file.folder, file.entries) for file in first] == [
        ("report ü.pdf", 2**40, False, 0), ("src", 10_240, True, 7),
    ]  # fmt: skip
    assert first[0].path == f"/inbox/{delegate.id}/{to_delegate.id}/report ü.pdf"
    assert (second[0].path, second[0].short_hash) == (None, "ab" * 6)
    assert third[0].path is None
    assert (shown.exchange.branch, listed.branch) == ("helio/wörk", "helio/wörk")


@played
async def test_a_request_to_a_session_with_a_branch_is_no_work_on_it(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.desk.put(session(2, branch="helio/work"))
    async with node.up() as client:
        (seen,) = await client.exchanges()
        (listed,) = await client.sessions()
    assert (seen.branch, listed.branch, listed.pane) == (None, "helio/work", None)
