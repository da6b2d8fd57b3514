"""Approvals: what a person is asked, how often, what their answer covers, and that no answer means no."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from node.approvals import Approvals
from node.core.approval import Approval, ApprovalKind, Decision
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from tests.integration.mesh import Mesh, refused, running, scenario

FILE, MERGE = ApprovalKind.OUTSIDE_FILE, ApprovalKind.WORKTREE_MERGE
LONG = 600.0


def desk(mesh: Mesh) -> Approvals:
    return Approvals(store=mesh.store, bells=mesh.bells, ledger=mesh.ledger, limits=mesh.limits)


async def asked(
    at: Approvals, session: str = "one", *subjects: str, kind: ApprovalKind = FILE, seconds: float = 0
) -> None:
    await at.ask(kind, session, {s: f"Doing {s}" for s in subjects or ("/a",)}, seconds)


async def only(at: Approvals) -> str:
    """The id of the one question that is open."""
    (question,) = await at.listed(pending=True)
    return question.id


async def decisions(mesh: Mesh) -> list[object]:
    return [row["decision"] for row in await mesh.rows(engine="approval")]


@scenario
async def test_no_answer_means_no_and_the_question_stays(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL, "Doing /a waits for the person's approval", "helio approvals", "Nothing was"):
            await asked(at)
        question = await only(at)
        with refused(ErrorCode.APPROVAL, question[:8]):
            await asked(at, seconds=0.01)
        assert await only(at) == question
        assert await decisions(mesh) == ["asked"]


@scenario
async def test_whoever_waits_goes_on_with_the_answer(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(asked(at, seconds=LONG))
            while not await at.listed(pending=True):
                await mesh.caught_up()
            await at.decide(await only(at), Decision.ONCE)
        assert waiting.exception() is None
        assert await decisions(mesh) == ["asked", "allowed_once", "used"]
        assert (await mesh.verification()).ok


@scenario
async def test_all_that_wait_for_one_answer_get_it(tmp_path: Path) -> None:
    """One that has given up waiting does not take the answer from the others."""
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(asked(at, seconds=LONG)) for _ in range(3)]
            with refused(ErrorCode.APPROVAL):
                await asked(at, seconds=0.05)
            await at.decide(await only(at), Decision.SESSION)
        assert all(task.exception() is None for task in waiting)


@scenario
async def test_once_is_used_up_by_one_of_two(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        outcomes: list[str] = []

        async def one() -> None:
            try:
                await asked(at, seconds=0.5)
            except MeshError as error:
                outcomes.append(error.code.value)
            else:
                outcomes.append("done")

        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(one())
            while not await at.listed(pending=True):
                await mesh.caught_up()
            await at.decide(await only(at), Decision.ONCE)
        assert sorted(outcomes) == ["approval", "done"]
        # The other one has asked anew.
        assert len(await at.listed(pending=True)) == 1
        assert (await decisions(mesh)).count("used") == 1


@scenario
async def test_once_holds_for_a_while_and_for_who_asked(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        for _ in range(2):
            with refused(ErrorCode.APPROVAL):
                await asked(at)
            await at.decide(await only(at), Decision.ONCE)
            with refused(ErrorCode.APPROVAL):
                await asked(at, "two")
            await at.decide(await only(at), Decision.DENIED)
            mesh.clock.advance(mesh.limits.approval_once_s + 1)
        with refused(ErrorCode.APPROVAL):
            await asked(at)


@scenario
async def test_session_holds_for_that_session_and_that_subject(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL):
            await asked(at)
        await at.decide(await only(at), Decision.SESSION)
        mesh.clock.advance(10**6)
        for _ in range(3):
            await asked(at)
        for session, subject, kind in (("two", "/a", FILE), ("one", "/a/b", FILE), ("one", "/a", MERGE)):
            with refused(ErrorCode.APPROVAL):
                await asked(at, session, subject, kind=kind)


@scenario
async def test_always_is_for_anybody_and_exactly_that_subject(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL):
            await asked(at)
        await at.decide(await only(at), Decision.ALWAYS)
        mesh.clock.advance(10**6)
        await asked(at, "two")
        for subject in ("/a/", "/a/b", "/", "/A", ""):
            with refused(ErrorCode.APPROVAL):
                await asked(at, "two", subject)


@scenario
async def test_no_stays_no_for_a_while(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL):
            await asked(at)
        await at.decide(await only(at), Decision.DENIED)
        for _ in range(2):
            # At once, however long it would have waited.
            with refused(ErrorCode.APPROVAL, "was denied by the person", "Go on without it"):
                await asked(at, seconds=1000)
        assert await at.listed(pending=True) == ()
        mesh.clock.advance(mesh.limits.approval_again_s + 1)
        with refused(ErrorCode.APPROVAL, "waits for the person"):
            await asked(at)
        assert await decisions(mesh) == ["asked", "denied", "asked"]


@scenario
async def test_several_things_are_asked_at_once_and_used_up_together(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL):
            await asked(at, "one", "/a", "/b")
        open_ones = {q.subject: q.id for q in await at.listed(pending=True)}
        assert open_ones.keys() == {"/a", "/b"}
        await at.decide(open_ones["/a"], Decision.ONCE)
        with refused(ErrorCode.APPROVAL, "Doing /b"):
            await asked(at, "one", "/a", "/b")
        # What was allowed once is still there for the call in which it is needed.
        await at.decide(open_ones["/b"], Decision.ONCE)
        await asked(at, "one", "/a", "/b")
        with refused(ErrorCode.APPROVAL, "Doing /a"):
            await asked(at, "one", "/a")


@scenario
async def test_a_denied_one_of_several_ends_the_wait(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_outcome(asked(at, "one", "/a", "/b", seconds=LONG)))
            while len(await at.listed(pending=True)) < 2:
                await mesh.caught_up()
            denied = next(q for q in await at.listed(pending=True) if q.subject == "/b")
            await at.decide(denied.id, Decision.DENIED)
        assert "Doing /b was denied" in waiting.result()


async def _outcome(work: object) -> str:
    with pytest.raises(MeshError) as caught:
        await work  # type: ignore[misc]
    return caught.value.message


@scenario
async def test_only_so_many_questions_of_one_session_wait(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(approvals_pending=2)) as mesh:
        at = desk(mesh)
        for subject in ("/a", "/b"):
            with refused(ErrorCode.APPROVAL):
                await asked(at, "one", subject)
        with refused(ErrorCode.LIMIT, "2 of your questions", "the limit is 2"):
            await asked(at, "one", "/c")
        with refused(ErrorCode.APPROVAL):
            await asked(at, "two", "/c")
        # One question over the limit leaves none of its call behind.
        await at.decide(next(q.id for q in await at.listed(pending=True) if q.subject == "/a"), Decision.DENIED)
        with refused(ErrorCode.LIMIT):
            await asked(at, "one", "/d", "/e")
        assert {q.subject for q in await at.listed(pending=True)} == {"/b", "/c"}


@scenario
async def test_what_is_open_outlives_the_node(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        with refused(ErrorCode.APPROVAL):
            await asked(desk(mesh))
        back = await mesh.reopened()
        at = desk(back)
        await at.decide(await only(at), Decision.ONCE)
        await asked(at)
        await back.store.close()


@pytest.mark.parametrize("decision", [Decision.PENDING, Decision.USED, Decision.EXPIRED])
@scenario
async def test_only_four_words_are_an_answer(tmp_path: Path, decision: Decision) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL):
            await asked(at)
        with refused(ErrorCode.INVALID_ARGUMENT, "once, session, always or deny"):
            await at.decide(await only(at), decision)


@scenario
async def test_a_no_can_be_taken_back_and_a_yes_is_final(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL):
            await asked(at)
        question = await only(at)
        await at.decide(question[:6], Decision.DENIED)
        await at.decide(question, Decision.ALWAYS)
        await asked(at)
        with refused(ErrorCode.NOT_FOUND):
            await at.decide(question, Decision.DENIED)


@scenario
async def test_a_question_can_be_answered_however_many_were_withdrawn_since(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        at = desk(mesh)
        with refused(ErrorCode.APPROVAL):
            await asked(at)
        question = (await at.listed(pending=True))[0]
        gone = [
            replace(question, id=mesh.ledger.new_id(), decision=Decision.EXPIRED, asked_us=question.asked_us + n)
            for n in range(1_001)
        ]
        await mesh.store.write(lambda tx: [tx.put_approval(one) for one in gone])
        assert (await at.decide(question.id[:8], Decision.ALWAYS)).decision is Decision.ALWAYS
        await asked(at)


@scenario
async def test_of_what_is_used_up_or_withdrawn_only_so_much_is_kept(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(approvals_kept=2)) as mesh:
        at = desk(mesh)
        kept = [Decision.DENIED, Decision.SESSION, Decision.ALWAYS, Decision.PENDING]
        for n, decision in enumerate([Decision.USED, Decision.EXPIRED, *kept, Decision.USED, Decision.EXPIRED]):
            one = Approval(
                id=mesh.ledger.new_id(), kind=FILE, session="x", subject="/x", words="", decision=decision, asked_us=n
            )
            await mesh.store.write(lambda tx, one=one: tx.put_approval(one))
        with refused(ErrorCode.APPROVAL):
            await asked(at)
        left = [one.decision for one in reversed(await at.listed(pending=False))]
        assert left == [*kept, Decision.USED, Decision.EXPIRED, Decision.PENDING]


@scenario
async def test_an_unknown_approval_is_told_in_words_for_a_person(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        for wanted in ("aaaaaaaa", "!"):
            with pytest.raises(MeshError) as caught:
                await desk(mesh).decide(wanted, Decision.ONCE)
            assert "`helio approvals`" in caught.value.message
            assert "list_delegations" not in caught.value.message
