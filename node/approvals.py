"""Approvals: asks the person, waits, and remembers what they said. No answer means no."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from node.core.approval import Approval, ApprovalKind, Decision, covers
from node.core.errors import ErrorCode, MeshError
from node.core.ids import match_prefix, short
from node.core.limits import Limits
from node.core.model import Address
from node.core.row_codes import RowDecision
from node.holds import Holds
from node.ledger import Ledger
from node.ledger_rows import said_by
from node.ports import Bells, Store, Tx

_SECOND_US = 1_000_000
_LISTED = 1_000


class Approvals:
    """Implements ports.Approvals."""

    def __init__(self, *, store: Store, bells: Bells, ledger: Ledger, limits: Limits) -> None:
        self._store = store
        self._bells = bells
        self._holds = Holds(ledger=ledger, limits=limits)
        self._ledger = ledger
        self._limits = limits
        self._decision = asyncio.Event()

    async def ask(self, kind: ApprovalKind, session: str, wanted: Mapping[str, str], seconds: float) -> None:
        """Returns when the person allowed all of it; APPROVAL when they denied some or have not answered in time.

        `wanted` has the words for each subject. All of it is asked at once, and what was allowed once is used up only
        when nothing is missing. The questions stay open: whoever asks again later gets what was answered meanwhile.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        while True:
            # Taken before looking: a decision that comes in between is not slept through.
            decision = self._decision
            missing = await self._store.write(lambda tx: self._take(tx, kind, session, wanted))
            if missing is None:
                return
            if missing.decision is Decision.DENIED or clock() >= deadline:
                raise _refusal(missing)
            try:
                async with asyncio.timeout_at(deadline):
                    await decision.wait()
            except TimeoutError:
                continue

    def _take(self, tx: Tx, kind: ApprovalKind, session: str, wanted: Mapping[str, str]) -> Approval | None:
        """Makes use of what allows all of `wanted`, or gives one that stands in the way, first of all a denied one."""
        found = [self._find_or_ask(tx, kind, session, subject, words) for subject, words in wanted.items()]
        missing = sorted((a for a in found if not a.decision.allows), key=lambda a: a.decision is not Decision.DENIED)
        if missing:
            return missing[0]
        for approval in found:
            if approval.decision is Decision.ONCE:
                tx.put_approval(replace(approval, decision=Decision.USED))
                self._ledger.approval_row(tx, approval, RowDecision.USED)
        return None

    def _find_or_ask(self, tx: Tx, kind: ApprovalKind, session: str, subject: str, words: str) -> Approval:
        now = self._ledger.now_us()
        known = tx.approvals_of(kind.value, subject)
        allowing = [a for a in known if covers(a, kind=kind, session=session, subject=subject, now_us=now)]
        if allowing:
            # What holds on goes first: it leaves what is good for one time alone.
            return min(allowing, key=lambda a: a.decision is Decision.ONCE)
        mine = [a for a in known if a.session == session]
        if mine and mine[0].decision is Decision.PENDING:
            return mine[0]
        # A fresh no is an answer; asking again at once would only wear the person down.
        again_us = self._limits.approval_again_s * _SECOND_US
        if mine and mine[0].decision is Decision.DENIED and now - (mine[0].decided_us or now) < again_us:
            return mine[0]
        # What others want of it is bounded for itself, or they could keep it from asking.
        pending = tx.approvals(pending=True, limit=_LISTED)
        waiting = [a for a in pending if a.session == session and not a.kind.holds_message]
        if len(waiting) >= self._limits.approvals_pending:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{len(waiting)} of your questions to the person are unanswered; the limit is "
                f"{self._limits.approvals_pending}. Wait for their answers.",
                {"limit": self._limits.approvals_pending},
            )
        approval = Approval(
            id=self._ledger.new_id(),
            kind=kind,
            session=session,
            subject=subject,
            words=words,
            decision=Decision.PENDING,
            asked_us=now,
        )
        tx.put_approval(approval)
        tx.prune_approvals(self._limits.approvals_kept)
        self._ledger.approval_row(tx, approval, RowDecision.ASKED)
        return approval

    async def decide(self, wanted: str, decision: Decision) -> Approval:
        """The person's answer to an open question, by id prefix.

        About a held message it is final, and done in the same transaction: the message goes on, or its sender is told.
        """
        if not (decision.allows or decision is Decision.DENIED):
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "An answer is once, session, always or deny.")

        def work(tx: Tx) -> tuple[Approval, tuple[Address, ...]]:
            found = tx.approvals_like(wanted.strip().lower(), _LISTED)
            answerable = {a.id: a for a in found if _answerable(a)}
            approval = answerable[match_prefix(wanted, answerable, what="approval", listed="`helio approvals`")]
            now = self._ledger.now_us()
            if approval.kind.holds_message and approval.decision is not Decision.PENDING:
                return _same(approval, decision), ()
            if approval.kind.holds_message:
                return self._holds.answer(tx, approval, decision)
            decided = replace(
                approval,
                decision=decision,
                decided_us=now,
                expires_us=now + self._limits.approval_once_s * _SECOND_US,
            )
            tx.put_approval(decided)
            self._ledger.approval_row(tx, decided, said_by(decision))
            return decided, ()

        # By the commit itself: whoever asked for this may have gone away meanwhile.
        decided, _ = await self._store.write(work, lambda done: self._bells.ring(done[1]))
        made, self._decision = self._decision, asyncio.Event()
        made.set()
        return decided

    async def listed(self, *, pending: bool) -> tuple[Approval, ...]:
        """Questions to the person, newest first."""
        return await self._store.read(lambda reader: reader.approvals(pending=pending, limit=_LISTED))


def _answerable(approval: Approval) -> bool:
    """Whether a person may still say something about it, were it the same once more.

    A no to a call can be taken back: people deny what they wanted to look at first.
    """
    return approval.decision in {Decision.PENDING, Decision.DENIED} or approval.kind.holds_message


def _same(approval: Approval, decision: Decision) -> Approval:
    """The approval, if that is what was answered before; WRONG_STATE otherwise: the message's sender was told."""
    said = Decision.ONCE if approval.decision is Decision.USED else approval.decision
    if said is decision:
        return approval
    words = "withdrawn" if said is Decision.EXPIRED else "denied" if said is Decision.DENIED else "allowed"
    raise MeshError(
        ErrorCode.WRONG_STATE,
        f"{short(approval.id)} was {words} already, and the sender of the message knows. Nothing was changed; have the "
        "agent ask anew.",
        {"approval": approval.id, "decision": approval.decision.value},
    )


def _refusal(approval: Approval) -> MeshError:
    said = "was denied by the person" if approval.decision is Decision.DENIED else "waits for the person's approval"
    then = (
        "Go on without it."
        if approval.decision is Decision.DENIED
        else f"They see it with `helio approvals` (id {short(approval.id)}). Nothing was done; make the same call "
        "again once they allowed it."
    )
    return MeshError(
        ErrorCode.APPROVAL, f"{approval.words} {said}. {then}", {"approval": approval.id, "kind": approval.kind.value}
    )
