"""The ledger's rows about what is not a message, and the words beside any row.

Called inside a transaction; it decides nothing. What each event becomes is listed in docs/timeline-rows.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from node.core.approval import Approval
from node.core.approval import Decision as Answer
from node.core.canonical import JsonValue
from node.core.errors import ErrorCode
from node.core.export_manifest import ExportNote
from node.core.export_record import Step
from node.core.mesh import Peer
from node.core.model import Address, Kind, Session
from node.core.redact import Redaction, preview
from node.core.row_codes import ExtraKey, RowDecision, RowEngine, RowReason, RowRole, RowSubject, SideField
from node.core.timeline import SALT_BYTES, Content, Party, Row, RowKind, Scan, commitment
from node.core.transfer import Attachment
from node.ports import Entropy, Reader, Tx
from node.version import SOFTWARE

PREVIEW_CHARS = 200
# Titles and names that are remembered as they are shown, and how long they may be for that.
_LABELS, _LABEL_CHARS = 1_024, 200

# What a peer is refused that may call, but not this.
_OF_MIRRORS: Final = frozenset({RowReason.NOT_GRANTED, RowReason.TOO_OFTEN})

NOT_SCREENED: Final = Scan(engine="none", version="none", status="skipped")
"""Of a message that the node wrote itself: nothing in it is anybody else's."""
SCREEN_UNAVAILABLE: Final = Scan(engine="none", version="none", status="unavailable")

Extra = Mapping[ExtraKey, JsonValue]
Texts = Mapping[SideField, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A message's size with commitments to its text and files, and the seal (hex) that they were made with."""

    content: Content
    seal: str


class LedgerRows:
    """Writes rows of what happened to sessions, peers, keys, files and rules."""

    def __init__(self, node: str, entropy: Entropy, policy: str | None = None) -> None:
        self.node = node
        self.policy = policy
        self._salt = entropy

    def refusal(self, tx: Tx, actor: Address, tool: str, code: ErrorCode) -> None:
        """The row of a command that was refused before it became a message."""
        row = _row(
            RowKind.MESSAGE,
            engine_of(Kind.DELEGATION if tool == "delegate" else Kind.REQUEST),
            RowDecision.REFUSED,
            RowReason(code),
        )
        scan = SCREEN_UNAVAILABLE if code is ErrorCode.SCANNER_UNAVAILABLE else None
        src = self.party(tx, actor, None)
        self.add(tx, replace(row, kind=RowSubject(tool), leg="local", src=src, scan=scan, policy=self.policy))

    def session_row(self, tx: Tx, session: Session, decision: RowDecision, reason: RowReason | None = None) -> None:
        """The row of something that happened to a session."""
        src = Party(node=self.node, workspace=session.workspace, session=session.id, agent=session.profile)
        row = _row(RowKind.LIFECYCLE, RowEngine.SESSION, decision, reason)
        texts = {SideField.NICKNAME: session.nickname or "", SideField.TITLE: session.title}
        self.add(tx, replace(row, src=src), texts)

    def event_row(
        self, tx: Tx, engine: RowEngine, decision: RowDecision, session_id: str, reason: RowReason | None = None
    ) -> None:
        """The row of something that the node did for a session."""
        party = self.party(tx, Address(node=self.node, session=session_id), None)
        self.add(tx, replace(_row(RowKind.LIFECYCLE, engine, decision, reason), src=party))

    def door_row(self, tx: Tx, *, reason: RowReason, session_id: str | None) -> None:
        """The row of a call that was refused at the agents' door; None: nobody knows whose it was."""
        row = _row(RowKind.LIFECYCLE, RowEngine.SESSION, RowDecision.REFUSED, reason)
        src = None if session_id is None else self.party(tx, Address(node=self.node, session=session_id), None)
        self.add(tx, replace(row, src=src, dst=Party(node=self.node)))

    def policy_row(
        self, tx: Tx, engine: RowEngine, decision: RowDecision, name: str, reason: RowReason | None = None
    ) -> None:
        """The row of a rule that a person changed; `name` says which, beside the row."""
        src = Party(node=self.node, role=RowRole.PERSON)
        self.add(tx, replace(_row(RowKind.POLICY, engine, decision, reason), src=src), {SideField.NAME: name})

    def approval_row(self, tx: Tx, approval: Approval, decision: RowDecision) -> None:
        """The row of a question to the person; what it asks is beside it, unless that quotes a held message."""
        row = replace(
            _row(RowKind.POLICY, RowEngine.APPROVAL, decision, RowReason(approval.kind)),
            msg=approval.message or approval.id,
            src=Party(node=self.node, session=approval.session),
        )
        # In words: a whole commit looks like a secret and would be redacted.
        words = "" if approval.kind.holds_message else approval.words
        self.add(tx, row, {SideField.WORDS: words}, {ExtraKey.APPROVAL: approval.id})

    def allow_row(self, tx: Tx, approval: Approval, answer: Answer) -> None:
        """The row of a text that passes from now on, for one reader or for all; which, its approval says."""
        row = replace(
            _row(RowKind.POLICY, RowEngine.SCREENING, RowDecision.ALLOW_ADDED, RowReason(approval.kind)),
            msg=approval.message or approval.id,
            src=Party(node=self.node, role=RowRole.PERSON),
            dst=Party(node=self.node, session=approval.session) if answer is Answer.SESSION else None,
        )
        self.add(tx, row, extra={ExtraKey.APPROVAL: approval.id})

    def screening_row(
        self, tx: Tx, decision: RowDecision, scan: Scan, reason: RowReason | None = None, extra: Extra | None = None
    ) -> None:
        """The row of a change of the screen itself."""
        row = replace(_row(RowKind.POLICY, RowEngine.SCREENING, decision, reason), src=Party(node=self.node), scan=scan)
        self.add(tx, row, extra=extra)

    def peer_row(
        self,
        tx: Tx,
        peer: Peer,
        engine: RowEngine,
        decision: RowDecision,
        *,
        reason: RowReason | None = None,
        extra: Extra | None = None,
        texts: Texts | None = None,
    ) -> None:
        """The row of something that changed between this node and a peer; its name and `texts` go beside the row."""
        row = _row(RowKind.POLICY, engine, decision, reason)
        self.add(
            tx,
            replace(row, src=Party(node=self.node), dst=Party(node=peer.id)),
            {SideField.NAME: peer.name, **(texts or {})},
            extra,
        )

    def pairing_row(self, tx: Tx, decision: RowDecision, role: RowSubject | None, reason: RowReason | None) -> None:
        """The row of a pairing run; a pair that it came to has a row of the peer besides."""
        row = _row(RowKind.POLICY, RowEngine.PAIRING, decision, reason)
        self.add(tx, replace(row, kind=role, src=Party(node=self.node, role=RowRole.PERSON)))

    def export_row(self, tx: Tx, note: ExportNote) -> int:
        """The row of an export that begins or came to its end, and its number; where it went is beside it."""
        extra: dict[ExtraKey, JsonValue] = {
            ExtraKey.EXPORT: note.export, ExtraKey.FORMAT: note.format.value, ExtraKey.FIRST: note.first,
        }  # fmt: skip
        if note.log:
            extra[ExtraKey.LOG] = note.log
        if note.step is not Step.BEGUN:
            extra |= {ExtraKey.NEXT: note.next, ExtraKey.COUNT: note.count, ExtraKey.BYTES: note.bytes}
        if note.sha256:
            extra[ExtraKey.SHA256] = note.sha256
        reason = RowReason(note.reason) if note.reason else None
        row = _row(RowKind.EXPORT, RowEngine.EXPORT, RowDecision(note.step.value), reason)
        row = replace(row, src=Party(node=self.node, role=RowRole.PERSON))
        texts = {SideField.DESTINATION: note.destination, SideField.FILTER: note.wanted}
        return self.add(tx, row, texts, extra)

    def key_row(self, tx: Tx, old: str, new: str, engine: RowEngine, decision: RowDecision, name: str) -> None:
        """The row of a node whose key gave way to another: both node ids."""
        row = _row(RowKind.KEY, engine, decision, None)
        self.add(tx, replace(row, src=Party(node=old), dst=Party(node=new)), {SideField.NAME: name})

    def turned_away(
        self, tx: Tx, reason: RowReason, *, node: str = "", address: str = "", extra: Extra | None = None
    ) -> None:
        """The row of a call from another node that was refused; `node` is the id its key has, empty when unknown."""
        row = _row(RowKind.POLICY, RowEngine.MESH, RowDecision.REFUSED, reason)
        if reason in _OF_MIRRORS:
            row = _row(RowKind.POLICY, RowEngine.MIRROR, RowDecision.LINK_REFUSED, reason)
        src = Party(node=node) if node else None
        self.add(tx, replace(row, src=src, dst=Party(node=self.node)), {SideField.ADDRESS: address}, extra)

    def lifecycle_row(self, tx: Tx, decision: RowDecision, reason: RowReason | None = None) -> None:
        """The row of the node itself; its software and its boot are in it, as in any."""
        row = _row(RowKind.LIFECYCLE, RowEngine.LIFECYCLE, decision, reason)
        self.add(tx, replace(row, src=Party(node=self.node), policy=self.policy))

    def file_row(
        self,
        tx: Tx,
        decision: RowDecision,
        files: Sequence[Attachment],
        *,
        reason: RowReason | None = None,
        src: Party | None = None,
        dst: Party | None = None,
        msg: str | None = None,
        conv: str | None = None,
        scan: Scan | None = None,
        extra: Extra | None = None,
    ) -> None:
        """The row of what became of files: their sizes and commitments to their hashes, never their names."""
        kind = RowKind.POLICY if decision is RowDecision.REFUSED else RowKind.OUTCOME
        row = _row(kind, RowEngine.FILE, decision, reason)
        sealed = self.sealed("", files, truncated=False) if files else None
        row = replace(row, msg=msg, conv=conv, src=src, dst=dst, scan=scan)
        self.add(tx, row, extra=extra, sealed=sealed)

    # --- what stands beside rows --------------------------------------------------------------------------------------

    def sealed(self, text: str, files: Sequence[Attachment], *, truncated: bool) -> Sealed:
        """What a row says of a text and files that are kept elsewhere."""
        salt = self._salt(SALT_BYTES)
        content = Content(
            bytes=len(text.encode("utf-8", "surrogatepass")) if text else sum(file.size for file in files),
            chars=len(text),
            commit=commitment(salt, text) if text else None,
            files=tuple((commitment(salt, file.sha256), file.size) for file in files),
            truncated=truncated,
        )
        return Sealed(content=content, seal=salt.hex())

    def add(
        self,
        tx: Tx,
        row: Row,
        texts: Texts | None = None,
        extra: Extra | None = None,
        *,
        sealed: Sealed | None = None,
        shown: Redaction | None = None,
    ) -> int:
        """Appends the row with `texts` beside it, redacted, and gives its number; how many secrets went is in the row.

        `shown` is the preview of a text, redacted before; what was `sealed` is the row's content.
        """
        side, redacted = _beside(texts or {})
        if shown is not None and shown.text:
            side, redacted = (*side, (SideField.PREVIEW.value, shown.text)), redacted + shown.count
        if sealed is not None:
            row, side = replace(row, content=sealed.content), (*side, (SideField.SEAL.value, sealed.seal))
        plain: dict[str, JsonValue] = {key.value: value for key, value in extra.items()} if extra else {}
        if redacted:
            plain[ExtraKey.REDACTED.value] = redacted
        return tx.append(replace(row, extra=plain) if plain else row, side)

    def party(self, tx: Reader, address: Address, role: str | None) -> Party:
        """An end of an exchange as a row names it."""
        if address.session is None:
            return Party(node=address.node, role=RowRole.PERSON)
        session = tx.session(address.session)
        return Party(
            node=address.node,
            workspace=session.workspace if session else None,
            session=address.session,
            agent=session.profile if session else None,
            role=role,
        )


def _row(kind: RowKind, engine: RowEngine, decision: RowDecision, reason: RowReason | None) -> Row:
    return Row(row=kind, engine=engine, decision=decision, reason=reason, sw=SOFTWARE)


def said_by(answer: Answer) -> RowDecision:
    """What the person said, as rows have it."""
    return RowDecision.DENIED if answer is Answer.DENIED else RowDecision(f"allowed_{answer.value}")


def engine_of(kind: Kind) -> RowEngine:
    """The timeline's code for an exchange of that kind."""
    return RowEngine.DELEGATION if kind is Kind.DELEGATION else RowEngine.REQUEST


def shown_text(text: str) -> Redaction:
    """What may stand beside a row of a text: without secrets, cut to a preview."""
    return preview(text, PREVIEW_CHARS)


def side_text(text: str) -> str:
    """The same as a text alone."""
    return shown_text(text).text


def _beside(texts: Texts) -> tuple[tuple[tuple[str, str], ...], int]:
    """Side texts by name, empty ones left out; and how many secrets were taken out of them."""
    shown = [
        (name, _label(text) if len(text) <= _LABEL_CHARS else shown_text(text)) for name, text in texts.items() if text
    ]
    return tuple((name.value, one.text) for name, one in shown), sum(one.count for _, one in shown)


@lru_cache(maxsize=_LABELS)
def _label(text: str) -> Redaction:
    """The side text of a title or a name: those of an exchange are written with each of its messages."""
    return shown_text(text)
