"""How a message becomes durable: its row, its evidence and what is owed for it, written in one place.

Called inside a transaction by the services; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from node.core import holds, relay
from node.core.commands import Receipt
from node.core.delegation import Note
from node.core.effects import Effect, Fetch, Land, Launch, Notify
from node.core.errors import ErrorCode, MeshError
from node.core.ids import ID_BYTES, make_id
from node.core.limits import Limits
from node.core.model import (
    AWAITS_APPROVAL,
    OPENING_HELD,
    Address,
    Author,
    End,
    Exchange,
    Ladder,
    Message,
    MessageKind,
    SessionStatus,
)
from node.core.redact import Redaction
from node.core.row_codes import RowDecision, RowReason, RowRule
from node.core.timeline import Scan
from node.core.transfer import Attachment
from node.core.verdict import Decision, Verdict
from node.ledger_rows import shown_text
from node.message_rows import OPENINGS, Judgement, MessageRows
from node.ports import Clock, Entropy, Reader, Tx

NOTICE_GRACE_US = 1_000_000
"""A waiting call takes a message at once; only what nobody took by then is worth a notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message about to be written; the ledger gives it its number and times.

    `shown` is what the timeline shows of its text, for one that is too long to be redacted while it is written.
    `rule` is the one by which the screen's word was not followed.
    """

    id: str
    kind: MessageKind
    sender: End
    author: Author
    text: str
    title: str = ""
    reply_to: str | None = None
    verdict: Verdict | None = None
    shown: Redaction | None = None
    files: tuple[Attachment, ...] = ()
    rule: RowRule | None = None


class Ledger(MessageRows):
    """Writes messages with their timeline rows, and what is owed for them."""

    def __init__(
        self,
        *,
        node: str,
        clock: Clock,
        entropy: Entropy,
        limits: Limits,
        resumable: frozenset[str] = frozenset(),
        policy: str | None = None,
    ) -> None:
        super().__init__(node, entropy, policy)
        self.resumable = resumable
        self._clock = clock
        self._entropy = entropy
        self._limits = limits

    def new_id(self) -> str:
        """A fresh id."""
        return make_id(self._entropy(ID_BYTES))

    def now_us(self) -> int:
        """Wall clock in microseconds."""
        return self._clock.wall_us()

    def write(self, tx: Tx, exchange: Exchange, draft: Draft) -> tuple[Exchange, Message]:
        """Writes `draft` as the exchange's next message; one withheld or held is recorded and goes no further.

        Gives the exchange with its next number; the caller stores it. What stands behind a held opening waits with it.
        """
        now = self.now_us()
        decision = draft.verdict.decision if draft.verdict is not None else Decision.RELAY
        withheld, held = decision is Decision.WITHHOLD, decision is Decision.HOLD
        waits = not withheld and (held or (exchange.reason == OPENING_HELD and draft.sender is End.OPENER))
        to = exchange.address(draft.sender.other)
        message = Message(
            id=draft.id,
            exchange=exchange.id,
            number=exchange.next_number,
            kind=draft.kind,
            sender=draft.sender,
            author=draft.author,
            title=draft.title,
            text=draft.text,
            reply_to=draft.reply_to,
            snippet=draft.verdict.snippet[: holds.SNIPPET_CHARS] if draft.verdict and (withheld or held) else "",
            advice=_advice(draft.verdict),
            ladder=Ladder(
                recorded_us=now,
                screened=decision.value,
                # Files land first: a message can be read only when all of it is there.
                # What crosses to another node has landed when that says so.
                landed_us=None if withheld or waits or draft.files or self.is_far(to) else now,
                held=AWAITS_APPROVAL if waits else None,
            ),
            files=draft.files,
        )
        exchange = replace(exchange, next_number=exchange.next_number + 1, changed_us=now)
        tx.put_exchange(exchange)
        tx.add_message(message, to)
        judged = Judgement(verdict=draft.verdict, rule=draft.rule, shown=draft.shown or shown_text(draft.text))
        self.message_row(tx, exchange, message, judged)
        if not withheld and not waits:
            self._owe(tx, exchange, message)
        return exchange, message

    def _owe(self, tx: Tx, exchange: Exchange, message: Message) -> None:
        """What is to be done for a message that may go on."""
        now, to = self.now_us(), exchange.address(message.recipient)
        if self.is_far(to):
            if message.kind in crossing(message.sender):
                forward = message.sender is End.OPENER
                # A client pushes its files; what goes to a client is pulled by it.
                files = forward and bool(message.files)
                tx.queue(to.node, exchange.id, message.id, now, forward=forward, progress=False, files=files)
        elif to.session is not None:
            if message.files and self.is_far(exchange.address(message.sender)) and message.sender is End.WORKER:
                tx.add_effect(Fetch(session=to.session, message=message.id), now)
            elif message.files:
                tx.add_effect(Land(session=to.session, message=message.id), now)
            else:
                self.owe_notice(tx, message, to.session, quiet=message.kind in _QUIET)

    def release(self, tx: Tx, exchange: Exchange, message: Message, *, fetched: bool = False) -> None:
        """A message that was held goes on, as it would have at once. `fetched`: its files are on this node already."""
        landed = None if message.files else self.now_us()
        message = replace(message, ladder=replace(message.ladder, landed_us=landed, held=None))
        tx.set_ladder(message.id, message.ladder)
        to = exchange.address(message.recipient)
        if fetched and to.session is not None:
            tx.add_effect(Land(session=to.session, message=message.id), self.now_us())
        else:
            self._owe(tx, exchange, message)

    def answered(self, tx: Tx, exchange: Exchange, message: Message) -> None:
        """The question that a message answers, or the opening that it delivers on, is answered by it."""
        asked = None
        if message.kind is MessageKind.ANSWER and message.reply_to is not None:
            asked = tx.message(message.reply_to)
        elif message.kind is MessageKind.DELIVER:
            asked = tx.opening(exchange.id)
        if asked is not None:
            tx.set_ladder(asked.id, replace(asked.ladder, answered_us=self.now_us()))
            self.outcome(tx, exchange, asked, RowDecision.ANSWERED)

    def wake(self, tx: Tx, session_id: str, messages: Sequence[Message]) -> None:
        """An agent that ended is started again for these, if they are worth it and the node knows how.

        One of them that agents have taken and ended with too often may be why they end: nobody is started for that.
        """
        session = tx.session(session_id)
        if session is None or session.status is not SessionStatus.ENDED or session.profile not in self.resumable:
            return
        most = self._limits.message_returns
        if any(one.kind in _WORTH_WAKING and tx.returned(one.id) <= most for one in messages):
            tx.add_effect(Launch(session=session_id), self.now_us())

    def give_back(self, tx: Tx, call: str) -> tuple[tuple[Message, Address], ...]:
        """Makes what a call took unread again, even what counted as read, and owes notices for it."""
        given: list[tuple[Message, Address]] = []
        for message in tx.release(call):
            exchange = tx.exchange_with(message)
            if _proven(tx, message):
                tx.mark_read(message.id, message.ladder.read_us or self.now_us())
                continue
            address = exchange.address(message.recipient)
            tx.drop_notices(message.id)
            if address.session is not None:
                self.owe_notice(tx, message, address.session, quiet=False)
            self.outcome(tx, exchange, message, RowDecision.GIVEN_BACK)
            given.append((message, address))
        return tuple(given)

    def landed(self, tx: Tx, message: Message, scan: Scan | None = None) -> Message:
        """The files of a message are in its reader's inbox: it can be read, and is worth a notice.

        `scan` is what the screen said of the texts in them.
        """
        exchange = tx.exchange_with(message)
        message = replace(message, ladder=replace(message.ladder, landed_us=self.now_us(), held=None))
        tx.set_ladder(message.id, message.ladder)
        self.outcome(tx, exchange, message, RowDecision.LANDED)
        self.files_row(tx, exchange, message, RowDecision.LANDED, scan=scan)
        to = exchange.address(message.recipient)
        if to.session is not None:
            self.owe_notice(tx, message, to.session, quiet=message.kind in _QUIET)
        self.launch(tx, exchange, message)
        return message

    def launch(self, tx: Tx, exchange: Exchange, brief: Message) -> None:
        """Nothing of a brief is to be judged any more: its delegate is started."""
        session = exchange.worker.session
        if brief.kind is MessageKind.BRIEF and session is not None and not exchange.status.closed:
            tx.add_effect(Launch(session=session), self.now_us())

    def owe_notice(self, tx: Tx, message: Message, session: str, *, quiet: bool) -> None:
        """Puts the notice for a landed message into the outbox; an agent that ended is started to be told."""
        wait_us = self._limits.report_quiet_s * 1_000_000 if quiet else NOTICE_GRACE_US
        tx.add_effect(Notify(session=session, message=message.id, quiet=quiet), self.now_us(), wait_us=wait_us)
        self.wake(tx, session, (message,))

    def write_notes(self, tx: Tx, exchange: Exchange, notes: Sequence[Note]) -> Exchange:
        """Writes what the node itself has to say."""
        for note in notes:
            draft = Draft(
                id=self.new_id(),
                kind=note.kind,
                sender=note.to.other,
                author=note.author,
                text=note.text,
                reply_to=note.about,
            )
            exchange, _ = self.write(tx, exchange, draft)
        return exchange

    def add_effects(self, tx: Tx, effects: Sequence[Effect]) -> None:
        """Puts a step's effects into the outbox, due at once."""
        for effect in effects:
            tx.add_effect(effect, self.now_us())

    def outcome(
        self,
        tx: Tx,
        exchange: Exchange,
        message: Message,
        decision: RowDecision,
        reason: RowReason | None = None,
        rule: RowRule | None = None,
    ) -> None:
        """The row that tells what became of a message after its decision row; its far sender is to learn of it."""
        sender = exchange.address(message.sender)
        if self.is_far(sender) and sender.node == exchange.opener.node:
            tx.queue(sender.node, exchange.id, message.id, self.now_us(), forward=False, progress=True, files=False)
        self.outcome_row(tx, exchange, message, decision, reason, rule)


_QUIET = frozenset({MessageKind.REPORT, MessageKind.CLOSE})
# What an agent that ended is started again for. Nobody is for a farewell, which would bring a closed delegate back, nor
# for progress or a word of the node's own, of which some come when whole families of agents end.
_WORTH_WAKING = frozenset(MessageKind) - _QUIET - {MessageKind.CANCEL, MessageKind.NOTE}


def crossing(sender: End) -> frozenset[MessageKind]:
    """The kinds of message that cross to another node, from that end of an exchange."""
    return relay.FORWARDED if sender is End.OPENER else relay.ITEMS


def recall(reader: Reader, known: tuple[str, str]) -> Receipt:
    """The first result of a command done before, as it stands now."""
    exchange, message = reader.exchange(known[0]), reader.message(known[1])
    if exchange is None or message is None:
        raise MeshError(ErrorCode.NOT_FOUND, "That command was done before, and its exchange has been deleted since.")
    return Receipt(exchange=exchange, message=message, repeated=True)


def _advice(verdict: Verdict | None) -> str:
    """What the sender of a withheld message is to do; of a held one, what it does."""
    if verdict is None or not verdict.stops:
        return ""
    return verdict.advice if verdict.decision is Decision.WITHHOLD else holds.asks_words(verdict)


def _proven(tx: Tx, message: Message) -> bool:
    """Whether work done since proves that an opening message was read, whatever its client said of the call."""
    return message.kind in OPENINGS and tx.worked(message.exchange)
