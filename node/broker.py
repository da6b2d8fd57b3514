"""Command in: screen, decide, step the exchange machine, commit, receipt. The only way a message comes to be."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from node.core import delegation, policy
from node.core.commands import (
    MESSAGE_KINDS,
    Answer,
    Ask,
    Cancel,
    Close,
    Command,
    Delegate,
    Deliver,
    Receipt,
    Report,
    Request,
    Steer,
    body_of,
    check_fields,
    fields_of,
    title_of,
    tool_of,
    with_texts,
    without_credentials_in,
)
from node.core.effects import Launch
from node.core.errors import ErrorCode, MeshError
from node.core.ids import match_prefix, short
from node.core.limits import Limits
from node.core.model import (
    Address,
    Author,
    End,
    Exchange,
    Message,
    Status,
)
from node.core.redact import Redaction
from node.core.relay import Origin
from node.core.row_codes import RowDecision, RowReason
from node.core.secret_names import check_name
from node.core.text import well_formed
from node.core.transfer import Attachment
from node.core.verdict import Field, Verdict
from node.holds import Holds, Judged
from node.ledger import Draft, Ledger, recall
from node.ledger_rows import shown_text
from node.openings import Openings
from node.ports import Bells, Screener, Store, Tx
from node.ports_work import LaunchPlan

_OPENERS_OWN = (Answer, Steer, Close, Cancel)
_MINUTE_US = 60_000_000
_INLINE_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """A command with all that its transaction needs."""

    actor: Address
    command: Command
    verdict: Verdict
    shown: Redaction
    key: str
    message_id: str
    exchange_id: str
    files: tuple[Attachment, ...]
    plan: LaunchPlan | None
    origin: Origin | None


class Broker:
    """Implements ports.Broker. It `redacts` credentials, or has the screen withhold what holds one."""

    def __init__(
        self,
        *,
        store: Store,
        screener: Screener,
        bells: Bells,
        ledger: Ledger,
        limits: Limits,
        redacts: bool = False,
    ) -> None:
        self._store = store
        self._screener = screener
        self._redacts = redacts
        self._bells = bells
        self._ledger = ledger
        self._limits = limits
        self._openings = Openings(ledger=ledger, limits=limits)
        self._holds = Holds(ledger=ledger, limits=limits)
        self._refusals: dict[Address, deque[int]] = {}

    async def handle(
        self,
        actor: Address,
        command: Command,
        *,
        key: str,
        exchange_id: str,
        files: tuple[Attachment, ...] = (),
        plan: LaunchPlan | None = None,
        origin: Origin | None = None,
    ) -> Receipt:
        """Does `command` once for its `key`; a request opens exchange `exchange_id`.

        A withheld message comes back in the receipt, marked. Refusals are raised and change nothing. `origin` is of a
        command of another node, which has given its message an id.
        """
        command = with_texts(command, well_formed)
        check_fields(command, self._limits)
        if self._redacts:
            command = without_credentials_in(command)
        for file in files:
            # What becomes of the message is of no matter: they are kept as they are.
            check_name("name of a file", file.name)
        verdict = await self._screener.screen(fields_of(command, files))
        if verdict.credentials:
            # Whatever becomes of the message: what it must not carry is kept nowhere.
            command = without_credentials_in(command)
        body = body_of(command)
        # Redacting a long text takes longer than a commit, and the writer has everybody's commands to do.
        shown = await asyncio.to_thread(shown_text, body) if len(body) > _INLINE_CHARS else shown_text(body)
        given = _Given(
            actor=actor,
            command=command,
            verdict=verdict,
            shown=shown,
            key=key,
            message_id=origin.message if origin is not None else self._ledger.new_id(),
            exchange_id=exchange_id,
            files=files,
            plan=plan,
            origin=origin,
        )
        # Rung by the commit itself: a caller who gives up meanwhile must not leave the other end asleep.
        return await self._store.write(partial(self._apply, given=given), self._ring_ends)

    def _ring_ends(self, receipt: Receipt) -> None:
        self._bells.ring((receipt.exchange.opener, receipt.exchange.worker))

    async def note_refusal(self, actor: Address, tool: str, code: ErrorCode) -> None:
        """Writes the row of a refused command; past the limit per minute further ones are not written.

        While nothing can be written, the store itself bounds these rows and counts the others, so it is told of all.
        """
        if code is ErrorCode.AUDIT_UNAVAILABLE:
            with suppress(MeshError):
                await self._store.write(lambda tx: self._ledger.refusal(tx, actor, tool, code))
            return
        now = self._ledger.now_us()
        # Another node's sessions are its own invention.
        budget = Address(node=actor.node, session=None) if self._ledger.is_far(actor) else actor
        if budget not in self._refusals:
            self._refusals = {who: rows for who, rows in self._refusals.items() if now - rows[-1] < _MINUTE_US}
        recent = self._refusals.setdefault(budget, deque(maxlen=self._limits.refusal_rows_per_minute))
        if len(recent) == recent.maxlen and now - recent[0] < _MINUTE_US:
            return
        recent.append(now)
        await self._store.write(lambda tx: self._ledger.refusal(tx, actor, tool, code))

    def _apply(self, tx: Tx, *, given: _Given) -> Receipt:
        known = tx.command(given.key)
        if known is not None:
            return recall(tx, known)
        before = tx.message(given.message_id) if given.origin is not None else None
        if before is not None:
            if tx.exchange_with(before).opener == given.actor:
                # Its node has another key since.
                return recall(tx, (before.exchange, before.id))
            raise MeshError(ErrorCode.ALREADY_EXISTS, "A message of that id is here already. Nothing was recorded.")
        if isinstance(given.command, Request | Delegate):
            exchange, message = self._open(tx, given)
        else:
            exchange, message = self._continue(tx, given)
        tx.add_command(given.key, exchange.id, message.id, self._ledger.now_us())
        return Receipt(exchange=exchange, message=message)

    def _open(self, tx: Tx, given: _Given) -> tuple[Exchange, Message]:
        command, plan = given.command, given.plan
        if isinstance(command, Delegate) and plan is not None:
            exchange, session = self._openings.delegation(tx, given.actor, command, given.exchange_id, plan)
            judged = self._judged(tx, exchange, End.OPENER, given, place=session.workspace)
            if not judged.withheld:
                tx.put_session(session)
                tx.put_launch(plan)
                self._ledger.session_row(tx, session, RowDecision.RESERVED)
            if not judged.withheld and not judged.held and not given.files:
                self._ledger.add_effects(tx, (Launch(session=session.id),))
        elif isinstance(command, Request):
            exchange = self._openings.request(tx, given.actor, command, given.exchange_id, given.origin)
            judged = self._judged(tx, exchange, End.OPENER, given)
        else:
            raise TypeError(command)
        if judged.withheld:
            exchange = delegation.step(exchange, delegation.OpeningWithheld()).exchange
        return self._write(tx, exchange, self._draft(given, End.OPENER, None, judged), judged, given)

    def _continue(self, tx: Tx, given: _Given) -> tuple[Exchange, Message]:
        command = given.command
        end = End.OPENER if isinstance(command, _OPENERS_OWN) else End.WORKER
        exchange, question = self._resolve(tx, given.actor, command)
        if exchange.next_number > self._limits.messages_per_exchange and not _may_end(exchange, command):
            raise MeshError(
                ErrorCode.LIMIT,
                f"Exchange {short(exchange.id)} has {self._limits.messages_per_exchange} messages, which is the limit. "
                "Deliver or close it and open a new one.",
                {"limit": self._limits.messages_per_exchange},
            )
        if isinstance(command, Ask) and len(exchange.questions) >= self._limits.open_questions:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{len(exchange.questions)} of your questions are unanswered; the limit is "
                f"{self._limits.open_questions}. Call wait for the answers first.",
                {"limit": self._limits.open_questions},
            )
        # The step is tried even for a text which is then withheld: what does not fit is refused, not recorded.
        step = delegation.step(exchange, _input(command, given.message_id, question))
        judged = self._judged(tx, exchange, end, given)
        draft = self._draft(given, end, question, judged)
        if judged.withheld:
            return self._write(tx, exchange, draft, judged, given)
        changed, message = self._write(tx, self._holds.stepped(exchange, step.exchange), draft, judged, given)
        if not message.awaits_approval:
            self._ledger.answered(tx, changed, message)
        if end is End.WORKER:
            changed = self._mark_opening_read(tx, changed)
        changed = self._ledger.write_notes(tx, changed, step.notes)
        self._holds.closed(tx, changed)
        self._ledger.add_effects(tx, step.effects)
        return changed, message

    def _judged(self, tx: Tx, exchange: Exchange, end: End, given: _Given, place: str = "") -> Judged:
        return self._holds.judge(tx, exchange, end, _author(given), given.verdict, _texts(given), place=place)

    def _write(
        self, tx: Tx, exchange: Exchange, draft: Draft, judged: Judged, given: _Given
    ) -> tuple[Exchange, Message]:
        return self._holds.write(tx, exchange, draft, judged, _texts(given))

    def _draft(self, given: _Given, end: End, reply_to: str | None, judged: Judged) -> Draft:
        return Draft(
            id=given.message_id,
            kind=MESSAGE_KINDS[type(given.command)],
            sender=end,
            author=_author(given),
            text=body_of(given.command),
            title=title_of(given.command).strip(),
            reply_to=reply_to,
            shown=given.shown,
            files=() if judged.withheld else given.files,
        )

    def _resolve(self, tx: Tx, actor: Address, command: Command) -> tuple[Exchange, str | None]:
        if isinstance(command, Answer):
            # A closed exchange has no open question.
            open_ones = _candidates(tx, actor, self._limits, closed=False)
            return _find_question(tx, open_ones, actor, command.question)
        if isinstance(command, Request | Delegate):
            raise TypeError(command)
        wanted = command.exchange
        tool = tool_of(command)
        if actor.is_person:
            by_id = {e.id: e for e in _candidates(tx, actor, self._limits, closed=True)}
            return by_id[match_prefix(wanted or "", by_id, what="exchange")], None
        end = End.OPENER if isinstance(command, _OPENERS_OWN) else End.WORKER
        mine = tx.exchanges_of(actor, closed=wanted is not None)
        if isinstance(command, Deliver) and not wanted:
            # What was delivered before does not compete for a bare delivery.
            undelivered = tuple(e for e in mine if e.status is not Status.DELIVERED)
            mine = undelivered if any(e.end_of(actor) is end for e in undelivered) else mine
        return policy.resolve_exchange(wanted, mine, actor, end=end, tool=tool), None

    def _mark_opening_read(self, tx: Tx, exchange: Exchange) -> Exchange:
        """A message of the worker proves that it knows what was asked of it, if that has landed."""
        opening = tx.opening(exchange.id)
        if opening is not None and opening.ladder.landed_us is not None and opening.ladder.read_us is None:
            tx.mark_read(opening.id, self._ledger.now_us())
            self._ledger.outcome(tx, exchange, opening, RowDecision.READ, RowReason.IMPLIED)
        return exchange


def _author(given: _Given) -> Author:
    return Author.PERSON if given.actor.is_person else Author.SESSION


def _texts(given: _Given) -> tuple[Field, ...]:
    return fields_of(given.command, given.files)


def _may_end(exchange: Exchange, command: Command) -> bool:
    """Whether a command is one of the few that bring a full exchange to its end: the way out must stay open."""
    return isinstance(command, Close | Cancel) or (
        isinstance(command, Deliver) and exchange.status is not Status.DELIVERED
    )


def _candidates(tx: Tx, actor: Address, limits: Limits, *, closed: bool) -> tuple[Exchange, ...]:
    """The exchanges an actor may act in: an agent its own, the person every one of the node."""
    if actor.is_person:
        return tx.exchanges(closed=closed, limit=limits.exchanges_listed)
    return tx.exchanges_of(actor, closed=closed)


def _heard(tx: Tx, question: str) -> bool:
    """Whether whoever is to answer may read it: nobody answers blind."""
    message = tx.message(question)
    return message is None or not message.unheard


def _find_question(tx: Tx, candidates: Sequence[Exchange], actor: Address, wanted: str | None) -> tuple[Exchange, str]:
    mine = [e for e in candidates if actor.is_person or e.opener == actor]
    asked = [(e, question) for e in mine for question in e.questions if _heard(tx, question)]
    if not asked:
        raise MeshError(ErrorCode.WRONG_STATE, "No question waits for your answer.")
    if wanted:
        names = {question: (e, question) for e, question in asked}
        of_each = Counter(e.id for e, _ in asked)
        names |= {e.id: (e, question) for e, question in asked if of_each[e.id] == 1}
        return names[match_prefix(wanted, names, what="open question")]
    if len(asked) == 1:
        return asked[0]
    choices = ", ".join(f"{short(question)} (in {short(e.id)})" for e, question in asked[:8])
    raise MeshError(
        ErrorCode.AMBIGUOUS,
        f"{len(asked)} questions are open: {choices}. Call answer again with question set to the id you mean.",
        {"choices": tuple(question for _, question in asked[:8]), "titles": tuple(e.title for e, _ in asked[:8])},
    )


def _input(command: Command, message_id: str, question: str | None) -> delegation.Input:
    match command:
        case Ask():
            return delegation.Ask(message=message_id)
        case Report():
            return delegation.Report()
        case Deliver():
            return delegation.Deliver()
        case Answer():
            return delegation.Answer(question=question or "")
        case Steer():
            return delegation.Steer()
        case Close(accepted=accepted):
            return delegation.Accept() if accepted else delegation.Reject()
        case Cancel():
            return delegation.Cancel()
        case Request() | Delegate():
            raise MeshError(ErrorCode.INTERNAL, "What opens an exchange is no input to one.")
