"""How a message becomes durable: its row, its evidence and what is owed for it, written in one place.

Called inside a transaction by the services; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from node.core.canonical import JsonValue
from node.core.commands import Receipt
from node.core.delegation import Note
from node.core.effects import Effect, Land, Launch, Notify
from node.core.errors import ErrorCode, MeshError
from node.core.ids import ID_BYTES, make_id
from node.core.limits import Limits
from node.core.mesh import Peer
from node.core.model import (
    Address,
    Author,
    End,
    Exchange,
    Kind,
    Ladder,
    Message,
    MessageKind,
    Session,
    SessionStatus,
)
from node.core.redact import preview
from node.core.screen import Decision, Verdict
from node.core.timeline import Content, Party, Row, RowKind, Scan
from node.core.transfer import Attachment
from node.ports import Clock, Entropy, Reader, Tx
from node.version import SOFTWARE

PREVIEW_CHARS = 200
SNIPPET_CHARS = 300
NOTICE_GRACE_US = 1_000_000
"""A waiting call takes a message at once; only what nobody took by then is worth a notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message about to be written; the ledger gives it its number and times.

    `shown` is what the timeline shows of its text, for one that is too long to be redacted while it is written.
    """

    id: str
    kind: MessageKind
    sender: End
    author: Author
    text: str
    title: str = ""
    reply_to: str | None = None
    verdict: Verdict | None = None
    shown: str | None = None
    files: tuple[Attachment, ...] = ()


class Ledger:
    """Writes messages with their timeline rows and notices."""

    def __init__(
        self,
        *,
        node: str,
        clock: Clock,
        entropy: Entropy,
        limits: Limits,
        resumable: frozenset[str] = frozenset(),
    ) -> None:
        self.node = node
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
        """Writes `draft` as the exchange's next message; a withheld one is recorded and goes no further.

        Gives the exchange with its next number; the caller stores it.
        """
        now = self.now_us()
        withheld = draft.verdict is not None and draft.verdict.decision is Decision.WITHHOLD
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
            snippet=draft.verdict.snippet[:SNIPPET_CHARS] if draft.verdict and withheld else "",
            advice=draft.verdict.advice if draft.verdict and withheld else "",
            ladder=Ladder(
                recorded_us=now,
                screened=draft.verdict.decision.value if draft.verdict else Decision.RELAY.value,
                # Files land first: a message can be read only when all of it is there.
                landed_us=None if withheld or draft.files else now,
            ),
            files=draft.files,
        )
        exchange = replace(exchange, next_number=exchange.next_number + 1, changed_us=now)
        tx.put_exchange(exchange)
        to = exchange.address(message.recipient)
        tx.add_message(message, to)
        shown = side_text(draft.text) if draft.shown is None else draft.shown
        side = self._side(tx, exchange, message, "" if withheld else shown)
        tx.append(self._row(tx, exchange, message, draft.verdict), side)
        if not withheld and to.session is not None:
            if draft.files:
                tx.add_effect(Land(session=to.session, message=message.id), now)
            else:
                self.owe_notice(tx, message, to.session, quiet=draft.kind in _QUIET)
        return exchange, message

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
            self.outcome(tx, exchange, message, "given_back")
            given.append((message, address))
        return tuple(given)

    def landed(self, tx: Tx, message: Message) -> Message:
        """The files of a message are in its reader's inbox: it can be read, and is worth a notice."""
        exchange = tx.exchange_with(message)
        message = replace(message, ladder=replace(message.ladder, landed_us=self.now_us(), held=None))
        tx.set_ladder(message.id, message.ladder)
        self.outcome(tx, exchange, message, "landed")
        to = exchange.address(message.recipient)
        if to.session is not None:
            self.owe_notice(tx, message, to.session, quiet=message.kind in _QUIET)
        return message

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

    def outcome(self, tx: Tx, exchange: Exchange, message: Message, decision: str, reason: str | None = None) -> None:
        """The row that tells what became of a message after its decision row."""
        tx.append(
            Row(
                row=RowKind.OUTCOME,
                engine=engine_of(exchange.kind),
                decision=decision,
                reason=reason,
                sw=SOFTWARE,
                msg=message.id,
                conv=exchange.id,
                kind=message.kind.value,
                leg="local",
                dst=self._party(tx, exchange.address(message.recipient), _role(message.recipient, exchange)),
            )
        )

    def refusal(self, tx: Tx, actor: Address, tool: str, reason: str) -> None:
        """The row of a command that was refused before it became a message."""
        tx.append(
            Row(
                row=RowKind.MESSAGE,
                engine=engine_of(Kind.DELEGATION if tool == "delegate" else Kind.REQUEST),
                decision="refused",
                reason=reason,
                sw=SOFTWARE,
                kind=tool,
                leg="local",
                src=self._party(tx, actor, None),
            )
        )

    def session_row(self, tx: Tx, session: Session, decision: str, reason: str | None = None) -> None:
        """The row of something that happened to a session."""
        tx.append(
            Row(
                row=RowKind.LIFECYCLE,
                engine="session",
                decision=decision,
                reason=reason,
                sw=SOFTWARE,
                src=Party(node=self.node, workspace=session.workspace, session=session.id, agent=session.profile),
            ),
            _texts(nickname=session.nickname or "", title=session.title),
        )

    def event_row(self, tx: Tx, engine: str, decision: str, session_id: str, reason: str | None = None) -> None:
        """The row of something that the node did for a session."""
        party = self._party(tx, Address(node=self.node, session=session_id), None)
        tx.append(Row(row=RowKind.LIFECYCLE, engine=engine, decision=decision, reason=reason, sw=SOFTWARE, src=party))

    def policy_row(self, tx: Tx, engine: str, decision: str, name: str) -> None:
        """The row of a rule that a person changed; `name` says which, beside the row."""
        party = Party(node=self.node, role="person")
        row = Row(row=RowKind.POLICY, engine=engine, decision=decision, sw=SOFTWARE, src=party)
        tx.append(row, _texts(name=name))

    def peer_row(
        self,
        tx: Tx,
        peer: Peer,
        engine: str,
        decision: str,
        *,
        reason: str | None = None,
        extra: Mapping[str, JsonValue] | None = None,
        **texts: str,
    ) -> None:
        """The row of something that changed between this node and a peer; its name and `texts` go beside the row."""
        src, dst = Party(node=self.node), Party(node=peer.id)
        row = Row(row=RowKind.POLICY, engine=engine, decision=decision, reason=reason, sw=SOFTWARE, src=src, dst=dst)
        tx.append(replace(row, extra=extra or {}), _texts(name=peer.name, **texts))

    def key_row(self, tx: Tx, old: str, new: str, engine: str, decision: str, **texts: str) -> None:
        """The row of a node whose key gave way to another: both node ids."""
        src, dst = Party(node=old), Party(node=new)
        row = Row(row=RowKind.KEY, engine=engine, decision=decision, sw=SOFTWARE, src=src, dst=dst)
        tx.append(row, _texts(**texts))

    def turned_away(
        self, tx: Tx, reason: str, *, node: str = "", address: str = "", extra: Mapping[str, JsonValue] | None = None
    ) -> None:
        """The row of a call from another node that was refused; `node` is the id its key has, empty when unknown."""
        src, dst = Party(node=node) if node else None, Party(node=self.node)
        row = Row(row=RowKind.POLICY, engine="mesh", decision="refused", reason=reason, sw=SOFTWARE, src=src, dst=dst)
        tx.append(replace(row, extra=extra or {}), _texts(address=address))

    def side(self, **texts: str) -> tuple[tuple[str, str], ...]:
        """Side texts for a row: redacted, cut to a preview, empty ones left out."""
        return _texts(**texts)

    def _row(self, tx: Reader, exchange: Exchange, message: Message, verdict: Verdict | None) -> Row:
        kind = exchange.kind
        return Row(
            row=RowKind.MESSAGE,
            engine=engine_of(kind),
            decision="withheld" if message.withheld else "relayed",
            reason="prompt_injection" if message.withheld else None,
            sw=SOFTWARE,
            msg=message.id,
            conv=exchange.id,
            parent=exchange.parent,
            root=exchange.root,
            depth=exchange.depth,
            kind=message.kind.value,
            leg="local",
            src=self._sender(tx, exchange, message),
            dst=self._party(tx, exchange.address(message.recipient), _role(message.recipient, exchange)),
            content=Content(
                bytes=len(message.text.encode("utf-8")),
                chars=len(message.text),
                files=tuple((file.sha256, file.size) for file in message.files),
            ),
            scan=_scan(verdict),
        )

    def _sender(self, tx: Reader, exchange: Exchange, message: Message) -> Party:
        if message.author is Author.SESSION:
            return self._party(tx, exchange.address(message.sender), _role(message.sender, exchange))
        return Party(node=self.node, role=message.author.value)

    def _party(self, tx: Reader, address: Address, role: str | None) -> Party:
        if address.session is None:
            return Party(node=address.node, role="person")
        session = tx.session(address.session)
        return Party(
            node=address.node,
            workspace=session.workspace if session else None,
            session=address.session,
            agent=session.profile if session else None,
            role=role,
        )

    def _side(self, tx: Reader, exchange: Exchange, message: Message, shown: str) -> tuple[tuple[str, str], ...]:
        texts = _texts(
            title=message.title or exchange.title,
            snippet=message.snippet,
            sender=label_of(tx, exchange.address(message.sender), message.author),
            recipient=label_of(tx, exchange.address(message.recipient), Author.SESSION),
        )
        return (*texts, ("preview", shown)) if shown else texts


_QUIET = frozenset({MessageKind.REPORT, MessageKind.CLOSE})
OPENINGS = frozenset({MessageKind.BRIEF, MessageKind.REQUEST})
# What an agent that ended is started again for. Nobody is for a farewell, which would bring a closed delegate back, nor
# for progress or a word of the node's own, of which some come when whole families of agents end.
_WORTH_WAKING = frozenset(MessageKind) - _QUIET - {MessageKind.CANCEL, MessageKind.NOTE}


def engine_of(kind: Kind) -> str:
    """The timeline's code for an exchange of that kind."""
    return f"agent.{kind.value}"


def label_of(reader: Reader, address: Address, author: Author) -> str:
    """How people and models read an address: @nickname, short id, the person or the node."""
    if author is Author.NODE:
        return "the node"
    if author is Author.PERSON or address.session is None:
        return "the person"
    session = reader.session(address.session)
    return session.label if session else f"deleted session {address.session[:8]}"


def _role(end: End, exchange: Exchange) -> str:
    """The end's word as a code, which has no blanks."""
    return end.role(exchange.kind).replace(" ", "_")


def recall(reader: Reader, known: tuple[str, str]) -> Receipt:
    """The first result of a command done before, as it stands now."""
    exchange, message = reader.exchange(known[0]), reader.message(known[1])
    if exchange is None or message is None:
        raise MeshError(ErrorCode.NOT_FOUND, "That command was done before, and its exchange has been deleted since.")
    return Receipt(exchange=exchange, message=message, repeated=True)


def side_text(text: str) -> str:
    """What may stand beside a row of a text: without secrets, cut to a preview."""
    return preview(text, PREVIEW_CHARS).text


def _texts(**texts: str) -> tuple[tuple[str, str], ...]:
    """Side texts by name; empty ones are left out."""
    return tuple((name, side_text(text)) for name, text in texts.items() if text)


def _scan(verdict: Verdict | None) -> Scan | None:
    if verdict is None:
        return None
    return Scan(
        engine=verdict.engine,
        version=verdict.version,
        status="clean" if verdict.decision is Decision.RELAY else "flagged",
        score=verdict.score,
        rules=tuple(sorted({finding.rule for finding in verdict.findings})),
    )


def _proven(tx: Tx, message: Message) -> bool:
    """Whether work done since proves that an opening message was read, whatever its client said of the call."""
    return message.kind in OPENINGS and tx.worked(message.exchange)
