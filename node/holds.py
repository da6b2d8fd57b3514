"""Messages that wait for a person: who is asked, what their yes lets go on and what their no undoes.

Called inside a transaction. A held message is a row like any other; what is asked about it is an approval, and nothing
of it lives in memory. The approval has an id of its own: a message's may have been chosen by another node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from node.core import holds, workspace
from node.core.approval import Approval, ApprovalKind, covers
from node.core.approval import Decision as Answer
from node.core.delegation import Note
from node.core.effects import ArchiveSession
from node.core.limits import Limits
from node.core.model import (
    AWAITS_APPROVAL,
    OPENING_HELD,
    REFUSED_BY_PERSON,
    WITHDRAWN,
    Address,
    Author,
    End,
    Exchange,
    Message,
    MessageKind,
)
from node.core.row_codes import RowDecision, RowReason, RowRule
from node.core.verdict import Decision, Field, Verdict
from node.core.workspace import ScreenMode
from node.labels import label_of
from node.ledger import Draft, Ledger
from node.ledger_rows import said_by
from node.message_rows import OPENINGS, reason_of, scan_of
from node.ports import Reader, Tx

_FULL_ADVICE: Final = (
    "What you ask for needs the approval of the person at the other end, and {most} messages to that session wait for "
    "theirs already. Ask for something that needs none, or try again once they have answered some."
)
# Answers that allow a text from now on.
_LASTING: Final = frozenset({Answer.SESSION, Answer.ALWAYS})
# Why a text passes that the screen would stop, where it is not for what the person wrote themselves.
_OVERRIDES: Final[Mapping[RowRule, RowReason]] = MappingProxyType(
    {RowRule.LOG: RowReason.LOG_ONLY, RowRule.ALLOWED: RowReason.ALLOW_LIST}
)
_FAREWELLS: Final = frozenset({MessageKind.CLOSE, MessageKind.CANCEL})


class Judged(NamedTuple):
    """What is done with a text: the screen's verdict with the decision that holds, and the rule that changed it."""

    verdict: Verdict
    rule: RowRule | None

    @property
    def withheld(self) -> bool:
        """Whether nobody is to read it."""
        return self.verdict.decision is Decision.WITHHOLD

    @property
    def held(self) -> bool:
        """Whether a person is to decide."""
        return self.verdict.decision is Decision.HOLD

    @property
    def override(self) -> RowReason | None:
        """By whose word it passes although the screen would stop it; None when it does not, or is stopped."""
        return None if self.rule is None or self.verdict.stops else _OVERRIDES.get(self.rule, RowReason.PERSON)


class Holds:
    """Decides over flagged texts, asks the person, and does what they answer."""

    def __init__(self, *, ledger: Ledger, limits: Limits) -> None:
        self._ledger = ledger
        self._limits = limits

    # --- deciding ----------------------------------------------------------------------------------------------------

    def judge(
        self,
        tx: Tx,
        exchange: Exchange,
        sender: End,
        author: Author,
        verdict: Verdict,
        texts: Sequence[Field],
        *,
        kind: ApprovalKind = ApprovalKind.MESSAGE,
        place: str = "",
    ) -> Judged:
        """What is done with a message of `sender`, by the mode of its reader's workspace and what a person allowed.

        What goes to another node or to a person is decided by the mode of the workspace that it comes from. `place` is
        the workspace of a reader of whom there is no record yet.
        """
        if not verdict.stops:
            return Judged(verdict, None)
        to = exchange.address(sender.other)
        to_here = to.session is not None and not self._ledger.is_far(to)
        where = tx.session((to if to_here else exchange.address(sender)).session or "")
        mode = _mode(tx, where.workspace if where is not None else place)
        allowed = self._allowed(tx, kind, to.session or "", holds.text_digest(texts))
        decision = holds.judged(verdict, mode=mode, allowed=allowed, author=author, to_here=to_here)
        changed = RowRule.ALLOWED if allowed else RowRule(f"screen.{mode.value}")
        most = self._limits.approvals_pending
        if decision is Decision.HOLD and len(tx.holds_of(to.session or "")) >= most:
            full = replace(verdict, decision=Decision.WITHHOLD, advice=_FULL_ADVICE.format(most=most))
            return Judged(full, RowRule.APPROVALS_PENDING)
        return Judged(replace(verdict, decision=decision), None if decision is verdict.decision else changed)

    def _allowed(self, tx: Reader, kind: ApprovalKind, session: str, digest: str) -> bool:
        now = self._ledger.now_us()
        known = tx.approvals_of(kind.value, digest)
        return any(covers(one, kind=kind, session=session, subject=digest, now_us=now) for one in known)

    def write(
        self, tx: Tx, exchange: Exchange, draft: Draft, judged: Judged, texts: Sequence[Field]
    ) -> tuple[Exchange, Message]:
        """Writes a judged message, and asks the person about it if it is held."""
        if judged.held and draft.kind in OPENINGS:
            exchange = replace(exchange, reason=OPENING_HELD)
        draft = replace(draft, verdict=judged.verdict, rule=judged.rule)
        exchange, message = self._ledger.write(tx, exchange, draft)
        self._note_override(tx, exchange, message, judged)
        if judged.held:
            self._ask(tx, exchange, message, ApprovalKind.MESSAGE, judged.verdict, holds.text_digest(texts))
        return exchange, message

    def _note_override(self, tx: Tx, exchange: Exchange, message: Message, judged: Judged) -> None:
        """What passes although the screen would stop it has a row that says so."""
        if judged.override is not None:
            self._ledger.override_row(tx, exchange, message, judged.override, judged.rule, scan_of(judged.verdict))

    def stepped(self, before: Exchange, after: Exchange) -> Exchange:
        """`after`, still unknown to its worker if `before` was: also once it is closed."""
        return replace(after, reason=OPENING_HELD) if before.reason == OPENING_HELD else after

    # --- asking ------------------------------------------------------------------------------------------------------

    def judge_files(self, tx: Tx, message: Message, verdicts: Sequence[Verdict], texts: Sequence[Field]) -> Judged:
        """What is done with a message of whose files these were flagged, each of which is one of `texts`."""
        exchange, kind = tx.exchange_with(message), ApprovalKind.MESSAGE_FILE
        worst = holds.worst(verdicts)
        judged = self.judge(tx, exchange, message.sender, message.author, worst, texts, kind=kind)
        self._note_override(tx, exchange, message, judged)
        return judged

    def stop_files(self, tx: Tx, message: Message, judged: Judged) -> None:
        """Nobody can be asked about its files: nobody reads it, and who wrote it is told what to do."""
        exchange = tx.exchange_with(message)
        why = f"because a file of it {holds.asks_words(judged.verdict)}"
        text = f"Your {_named(message)} was withheld {why}: nobody read it. {judged.verdict.advice}"
        if self._ledger.is_far(exchange.worker):
            text = f"A {_named(message)} was withheld {why}, and your user is asked about too much already."
        reason = reason_of(judged.verdict)
        self._ledger.files_row(tx, exchange, message, RowDecision.WITHHELD, reason, scan_of(judged.verdict))
        self._stop(tx, exchange, message, None, (RowDecision.WITHHELD, reason), text)

    def hold_files(self, tx: Tx, message: Message, judged: Judged, texts: Sequence[Field], file: str) -> None:
        """A message whose file was flagged waits for a person; its files do not land before."""
        ladder = replace(message.ladder, screened=Decision.HOLD.value, held=AWAITS_APPROVAL)
        tx.set_ladder(message.id, ladder)
        exchange = tx.exchange_with(message)
        if _over(exchange, message):
            self._withdraw(tx, exchange, replace(message, ladder=ladder))
            return
        if message.kind in OPENINGS:
            exchange = replace(exchange, reason=OPENING_HELD)
            tx.put_exchange(exchange)
        reason = reason_of(judged.verdict)
        self._ledger.outcome(tx, exchange, message, RowDecision.HELD, reason)
        self._ledger.files_row(tx, exchange, message, RowDecision.HELD, reason, scan_of(judged.verdict))
        kind, digest = ApprovalKind.MESSAGE_FILE, holds.text_digest(texts)
        self._ask(tx, exchange, message, kind, judged.verdict, digest, file)

    def _ask(
        self,
        tx: Tx,
        exchange: Exchange,
        message: Message,
        kind: ApprovalKind,
        verdict: Verdict,
        digest: str,
        file: str = "",
    ) -> None:
        to = exchange.address(message.recipient)
        sender = label_of(tx, exchange.address(message.sender), message.author)
        recipient = label_of(tx, to, Author.SESSION)
        shown = replace(verdict, snippet=verdict.snippet[: holds.SNIPPET_CHARS])
        approval = Approval(
            id=self._ledger.new_id(),
            kind=kind,
            session=to.session or "",
            subject=digest,
            words=holds.question(message.kind, sender, recipient, shown, file=file),
            decision=Answer.PENDING,
            asked_us=self._ledger.now_us(),
            message=message.id,
        )
        tx.put_approval(approval)
        tx.prune_approvals(self._limits.approvals_kept)
        self._ledger.approval_row(tx, approval, RowDecision.ASKED)

    # --- the answer --------------------------------------------------------------------------------------------------

    def answer(self, tx: Tx, approval: Approval, answer: Answer) -> tuple[Approval, tuple[Address, ...]]:
        """Does what the person said about a held message; gives the approval as it is kept, and whom to wake.

        What is allowed once is used by this very message. The rest is a text that passes from now on.
        """
        message = tx.message(approval.message)
        if message is not None and message.awaits_approval and answer.allows:
            exchange = tx.exchange_with(message)
            if _over(exchange, message):
                # Nothing more is done there: a yes does not bring it back.
                self._withdraw(tx, exchange, message)
                gone = replace(approval, decision=Answer.EXPIRED, decided_us=self._ledger.now_us())
                return gone, (exchange.opener, exchange.worker)
        kept = Answer.USED if answer is Answer.ONCE else answer
        decided = replace(approval, decision=kept, decided_us=self._ledger.now_us())
        tx.put_approval(decided)
        self._ledger.approval_row(tx, approval, said_by(answer))
        if answer in _LASTING:
            self._ledger.allow_row(tx, approval, answer)
        if message is None or not message.awaits_approval:
            return decided, ()
        exchange = tx.exchange_with(message)
        if answer is Answer.DENIED:
            self._refuse(tx, exchange, message, approval.kind)
        else:
            self._approve(tx, exchange, message, approval.kind)
        return decided, (exchange.opener, exchange.worker)

    def _approve(self, tx: Tx, exchange: Exchange, message: Message, kind: ApprovalKind) -> None:
        self._ledger.outcome(tx, exchange, message, RowDecision.APPROVED, RowReason(kind))
        self._ledger.override_row(tx, exchange, message, RowReason.PERSON)
        exchange = replace(exchange, changed_us=self._ledger.now_us())
        tx.put_exchange(exchange)
        if exchange.reason == OPENING_HELD and message.kind not in OPENINGS:
            # Its reader is to know of the exchange first.
            return
        if exchange.reason == OPENING_HELD:
            exchange = self._open(tx, exchange, message)
        self._ledger.release(tx, exchange, message, fetched=kind is ApprovalKind.MESSAGE_FILE)
        if kind is ApprovalKind.MESSAGE:
            self._ledger.answered(tx, exchange, message)
        if message.kind in OPENINGS:
            for behind in tx.messages(exchange.id):
                if behind.awaits_approval and behind.recipient is End.WORKER and not _asked(tx, behind):
                    self._ledger.release(tx, exchange, behind)
                    self._ledger.outcome(tx, exchange, behind, RowDecision.RELEASED, RowReason.OPENING)

    def _open(self, tx: Tx, exchange: Exchange, opening: Message) -> Exchange:
        """The worker may know of the exchange; a delegate is started, if no files are to land first."""
        exchange = replace(exchange, reason=None)
        tx.put_exchange(exchange)
        if not opening.files:
            self._ledger.launch(tx, exchange, opening)
        return exchange

    def _refuse(self, tx: Tx, exchange: Exchange, message: Message, kind: ApprovalKind) -> None:
        why = f"it {message.advice}" if kind is ApprovalKind.MESSAGE else "for what is in its files"
        text = f"Your {_named(message)} was refused by the person at the other end: {why}; nobody read it. "
        text += "Do not send it again."
        if self._ledger.is_far(exchange.worker):
            text = f"A {_named(message)} was refused by your user: {why}. You are not shown it; go on without it."
        self._stop(tx, exchange, message, REFUSED_BY_PERSON, (RowDecision.REFUSED_BY_PERSON, RowReason(kind)), text)

    def _stop(
        self,
        tx: Tx,
        exchange: Exchange,
        message: Message,
        held: str | None,
        outcome: tuple[RowDecision, RowReason | None],
        text: str,
    ) -> None:
        """Nobody reads it, what its recording had changed is undone, and who wrote it is told."""
        now = self._ledger.now_us()
        # Where the other node keeps the worker's end, it says how the exchange stands.
        if not self._ledger.is_far(exchange.worker):
            exchange = holds.after_refusal(exchange, message, tx.messages(exchange.id))
        ladder = replace(message.ladder, screened=Decision.WITHHOLD.value, held=held, gave_up_us=now)
        tx.set_ladder(message.id, ladder)
        tx.put_exchange(exchange)
        self._ledger.outcome(tx, exchange, message, *outcome)
        if message.kind is MessageKind.BRIEF and exchange.worker.session is not None:
            self._ledger.add_effects(tx, (ArchiveSession(session=exchange.worker.session),))
        if message.kind in OPENINGS:
            self._withdraw_waiting(tx, exchange)
        # Nothing goes to a server but what its clients ask: of what it wrote, its reader is told.
        told = End.OPENER if self._ledger.is_far(exchange.worker) else message.sender
        about = message.id if told is not message.sender else None
        self._ledger.write_notes(tx, exchange, (Note(to=told, text=text, about=about),))

    # --- when it comes to no answer ----------------------------------------------------------------------------------

    def closed(self, tx: Tx, exchange: Exchange) -> None:
        """An exchange is over: what waits in it for a person waits no more, but a farewell to one who knows of it."""
        for message in tx.messages(exchange.id) if exchange.status.closed else ():
            if message.awaits_approval and _over(exchange, message):
                self._withdraw(tx, exchange, message)

    def removed(self, tx: Tx, session_id: str) -> None:
        """A session is deleted: nobody is left to read what was held for it."""
        for approval in tx.holds_of(session_id):
            message = tx.message(approval.message)
            if message is not None:
                self._withdraw(tx, tx.exchange_with(message), message)

    def _withdraw_waiting(self, tx: Tx, exchange: Exchange) -> None:
        for message in tx.messages(exchange.id):
            if message.awaits_approval:
                self._withdraw(tx, exchange, message)

    def _withdraw(self, tx: Tx, exchange: Exchange, message: Message) -> None:
        now = self._ledger.now_us()
        tx.set_ladder(message.id, replace(message.ladder, held=WITHDRAWN, gave_up_us=now))
        self._ledger.outcome(tx, exchange, message, RowDecision.WITHDRAWN)
        for approval in tx.approvals_for(message.id):
            if approval.decision is Answer.PENDING:
                tx.put_approval(replace(approval, decision=Answer.EXPIRED, decided_us=now))
                self._ledger.approval_row(tx, approval, RowDecision.WITHDRAWN)


def _named(message: Message) -> str:
    return f"{message.kind.value} (message {message.number})"


def _over(exchange: Exchange, message: Message) -> bool:
    """Whether it is too late for a message: its exchange is closed, and it is not what tells its reader so."""
    return exchange.status.closed and (message.kind not in _FAREWELLS or exchange.reason == OPENING_HELD)


def _asked(tx: Reader, message: Message) -> bool:
    """Whether the person is still asked about that very message."""
    return any(one.decision is Answer.PENDING for one in tx.approvals_for(message.id))


def _mode(tx: Reader, place: str) -> ScreenMode:
    """How that workspace screens; for nobody's, and for one that is gone, as the screen says."""
    known = workspace.with_default(tx.workspaces())
    key = workspace.name_key(place)
    return next((one.mode for one in known if one.key == key), ScreenMode.BLOCK)
