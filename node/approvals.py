"""Approvals: asks the person, waits, and remembers what they said. No answer means no."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from node.core.approval import Approval, ApprovalKind, Decision, covers
from node.core.errors import ErrorCode, MeshError
from node.core.ids import match_prefix, short
from node.core.limits import Limits
from node.core.timeline import Party, Row, RowKind
from node.ledger import Ledger
from node.ports import Reader, Store, Tx
from node.version import SOFTWARE

_SECOND_US = 1_000_000
_LISTED = 1_000


class Approvals:
    """Implements ports.Approvals."""

    def __init__(self, *, store: Store, ledger: Ledger, limits: Limits) -> None:
        self._store = store
        self._ledger = ledger
        self._limits = limits
        self._decided: dict[str, asyncio.Event] = {}

    async def ask(self, kind: ApprovalKind, session: str, subject: str, words: str, seconds: float) -> None:
        """Returns when the person allowed it; APPROVAL when they denied it or have not answered within `seconds`.

        The question stays open: whoever asks again later gets the answer that was given meanwhile.
        """
        approval = await self._store.write(lambda tx: self._find_or_ask(tx, kind, session, subject, words))
        if approval.decision is Decision.PENDING and seconds > 0:
            approval = await self._wait(approval, seconds)
        if not approval.decision.allows:
            raise _refusal(approval)
        if approval.decision is Decision.ONCE:
            await self._store.write(lambda tx: self._use(tx, approval.id))

    def _find_or_ask(self, tx: Tx, kind: ApprovalKind, session: str, subject: str, words: str) -> Approval:
        now = self._ledger.now_us()
        known = tx.approvals_of(kind.value, subject)
        for approval in known:
            if covers(approval, kind=kind, session=session, subject=subject, now_us=now):
                return approval
        mine = [a for a in known if a.session == session]
        if mine and mine[0].decision is Decision.PENDING:
            return mine[0]
        # A fresh no is an answer; asking again at once would only wear the person down.
        again_us = self._limits.approval_again_s * _SECOND_US
        if mine and mine[0].decision is Decision.DENIED and now - (mine[0].decided_us or now) < again_us:
            return mine[0]
        waiting = [a for a in tx.approvals(pending=True, limit=_LISTED) if a.session == session]
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
        self._row(tx, approval, "asked")
        return approval

    async def _wait(self, approval: Approval, seconds: float) -> Approval:
        event = self._decided.setdefault(approval.id, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            self._decided.pop(approval.id, None)
        return await self._store.read(lambda reader: _found(reader, approval))

    def _use(self, tx: Tx, approval_id: str) -> None:
        for approval in tx.approvals(pending=False, limit=_LISTED):
            if approval.id == approval_id and approval.decision is Decision.ONCE:
                tx.put_approval(replace(approval, decision=Decision.USED))
                self._row(tx, approval, "used")

    async def decide(self, wanted: str, decision: Decision) -> Approval:
        """The person's answer to an open question, by id prefix."""
        if not (decision.allows or decision is Decision.DENIED):
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "An answer is once, session, always or deny.")

        def work(tx: Tx) -> Approval:
            pending = {a.id: a for a in tx.approvals(pending=True, limit=_LISTED)}
            approval = pending[match_prefix(wanted, pending, what="open approval")]
            now = self._ledger.now_us()
            decided = replace(
                approval,
                decision=decision,
                decided_us=now,
                expires_us=now + self._limits.approval_once_s * _SECOND_US,
            )
            tx.put_approval(decided)
            self._row(tx, decided, "denied" if decision is Decision.DENIED else f"allowed_{decision.value}")
            return decided

        decided = await self._store.write(work)
        event = self._decided.get(decided.id)
        if event is not None:
            event.set()
        return decided

    async def listed(self, *, pending: bool) -> tuple[Approval, ...]:
        """Questions to the person, newest first."""
        return await self._store.read(lambda reader: reader.approvals(pending=pending, limit=_LISTED))

    def _row(self, tx: Tx, approval: Approval, decision: str) -> None:
        tx.append(
            Row(
                row=RowKind.POLICY,
                engine="approval",
                decision=decision,
                reason=approval.kind.value,
                sw=SOFTWARE,
                msg=approval.id,
                src=Party(node=self._ledger.node, session=approval.session),
            ),
            self._ledger.side(subject=approval.subject),
        )


def _found(reader: Reader, approval: Approval) -> Approval:
    known = reader.approvals_of(approval.kind.value, approval.subject)
    return next((a for a in known if a.id == approval.id), approval)


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
