"""The ledger's rows about messages: the decision before one is delivered, what became of it, and of its files.

Called inside a transaction; it decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from node.core import holds
from node.core.model import OPENING_HELD, Address, Author, End, Exchange, Message, MessageKind
from node.core.redact import Redaction
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason, RowRole, RowRule, SideField
from node.core.timeline import Party, Row, RowKind, Scan
from node.core.verdict import Decision, Verdict
from node.labels import label_of
from node.ledger_rows import NOT_SCREENED, Extra, LedgerRows, Texts, engine_of
from node.ports import Reader, Tx
from node.version import SOFTWARE

OPENINGS: Final = frozenset({MessageKind.BRIEF, MessageKind.REQUEST})
# Reasons of exchanges whose title their workers may not know.
_UNHEARD: Final = frozenset({OPENING_HELD, "withheld"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a message's row says of how it was judged: the verdict, the rule that changed it, and the preview."""

    verdict: Verdict | None
    rule: RowRule | None
    shown: Redaction


class MessageRows(LedgerRows):
    """Writes rows of messages."""

    def is_far(self, address: Address) -> bool:
        """Whether that end is on another node."""
        return address.node != self.node

    def message_row(self, tx: Tx, exchange: Exchange, message: Message, judged: Judgement) -> None:
        """The row of the decision about a message, durable before anybody reads it.

        A text that is too long for a row is cut there; its length and a commitment to the whole stay.
        """
        decision, reason = _decision(message, judged.verdict)
        row = Row(
            row=RowKind.MESSAGE,
            engine=engine_of(exchange.kind),
            decision=decision,
            reason=reason,
            sw=SOFTWARE,
            msg=message.id,
            conv=exchange.id,
            parent=exchange.parent,
            root=exchange.root,
            depth=exchange.depth,
            kind=message.kind.value,
            leg=self._leg(exchange, message),
            src=self._sender(tx, exchange, message),
            dst=self._end(tx, exchange, message.recipient),
            scan=scan_of(judged.verdict),
            policy=self.policy,
        )
        self.add(
            tx,
            row,
            self._texts(tx, exchange, message),
            _rule(judged.rule),
            sealed=self.sealed(message.text, message.files, truncated=judged.shown.cut),
            shown=judged.shown if decision is RowDecision.RELAYED else None,
        )

    def outcome_row(
        self,
        tx: Tx,
        exchange: Exchange,
        message: Message,
        decision: RowDecision,
        reason: RowReason | None = None,
        rule: RowRule | None = None,
    ) -> None:
        """The row that tells what became of a message after its decision row."""
        row = Row(
            row=RowKind.OUTCOME,
            engine=engine_of(exchange.kind),
            decision=decision,
            reason=reason,
            sw=SOFTWARE,
            msg=message.id,
            conv=exchange.id,
            kind=message.kind.value,
            leg=self._leg(exchange, message),
            dst=self._end(tx, exchange, message.recipient),
        )
        self.add(tx, row, extra=_rule(rule))

    def files_row(
        self,
        tx: Tx,
        exchange: Exchange,
        message: Message,
        decision: RowDecision,
        reason: RowReason | None = None,
        scan: Scan | None = None,
    ) -> None:
        """The row of what became of a message's files; `scan` is what the screen said of the texts in them."""
        src, dst = self._sender(tx, exchange, message), self._end(tx, exchange, message.recipient)
        self.file_row(
            tx, decision, message.files, reason=reason, src=src, dst=dst, msg=message.id, conv=exchange.id, scan=scan
        )

    def override_row(
        self,
        tx: Tx,
        exchange: Exchange,
        message: Message,
        reason: RowReason,
        rule: RowRule | None = None,
        scan: Scan | None = None,
    ) -> None:
        """The row of a message that passes although the screen would stop it, and by whose word."""
        row = Row(
            row=RowKind.OVERRIDE,
            engine=RowEngine.OVERRIDE,
            decision=RowDecision.RELAYED,
            reason=reason,
            sw=SOFTWARE,
            msg=message.id,
            conv=exchange.id,
            kind=message.kind.value,
            leg=self._leg(exchange, message),
            src=self._sender(tx, exchange, message),
            dst=self._end(tx, exchange, message.recipient),
            scan=scan,
            policy=self.policy,
        )
        self.add(tx, row, extra=_rule(rule))

    def _leg(self, exchange: Exchange, message: Message) -> str:
        if self.is_far(exchange.address(message.recipient)):
            return "egress"
        far = self.is_far(exchange.address(message.sender)) and message.author is not Author.NODE
        return "ingress" if far else "local"

    def _sender(self, tx: Reader, exchange: Exchange, message: Message) -> Party:
        if message.author is Author.SESSION:
            return self._end(tx, exchange, message.sender)
        far = message.author in {Author.FAR_NODE, Author.FAR_PERSON}
        role = RowRole.PERSON if message.author in {Author.PERSON, Author.FAR_PERSON} else RowRole.NODE
        return Party(node=exchange.address(message.sender).node if far else self.node, role=role)

    def _end(self, tx: Reader, exchange: Exchange, end: End) -> Party:
        """That end of an exchange, in its role."""
        # A code has no blanks.
        return self.party(tx, exchange.address(end), RowRole(end.role(exchange.kind).replace(" ", "_")))

    def _texts(self, tx: Reader, exchange: Exchange, message: Message) -> Texts:
        # What nobody may read is not to be read from the rows of what is said about it.
        hidden = exchange.reason in _UNHEARD and message.kind not in OPENINGS
        return {
            SideField.TITLE: message.title or ("" if hidden else exchange.title),
            SideField.SNIPPET: message.snippet,
            SideField.SENDER: label_of(tx, exchange.address(message.sender), message.author),
            SideField.RECIPIENT: label_of(tx, exchange.address(message.recipient), Author.SESSION),
        }


def reason_of(verdict: Verdict | None) -> RowReason:
    """Why a text is stopped."""
    return RowReason.PROMPT_INJECTION if verdict is None else RowReason(holds.reason_of(verdict))


def scan_of(verdict: Verdict | None) -> Scan:
    """What the screen said of a text, as rows have it."""
    if verdict is None:
        return NOT_SCREENED
    return Scan(
        engine=verdict.engine,
        version=verdict.version,
        status="clean" if verdict.decision is Decision.RELAY else "flagged",
        score=verdict.score,
        rules=tuple(sorted({finding.rule for finding in verdict.findings})),
    )


def _decision(message: Message, verdict: Verdict | None) -> tuple[RowDecision, RowReason | None]:
    if message.withheld:
        return RowDecision.WITHHELD, reason_of(verdict)
    if message.awaits_approval:
        # What waits behind an opening was not found to be anything.
        held = message.ladder.screened == Decision.HOLD and verdict is not None
        return RowDecision.HELD, reason_of(verdict) if held else RowReason.OPENING
    return RowDecision.RELAYED, None


def _rule(rule: RowRule | None) -> Extra | None:
    return {ExtraKey.RULE: rule.value} if rule is not None else None
