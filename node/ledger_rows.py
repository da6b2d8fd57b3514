"""The ledger's rows about what is not a message, and the words beside any row.

Called inside a transaction; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from node.core.approval import Approval
from node.core.canonical import JsonValue
from node.core.export_manifest import ExportNote
from node.core.export_record import Step
from node.core.mesh import Peer
from node.core.model import Address, Kind, Session
from node.core.redact import preview
from node.core.timeline import Party, Row, RowKind
from node.ports import Reader, Tx
from node.version import SOFTWARE

PREVIEW_CHARS = 200
# Titles and names that are remembered as they are shown, and how long they may be for that.
_LABELS, _LABEL_CHARS = 1_024, 200


class LedgerRows:
    """Writes rows of what happened to sessions, peers, keys and rules."""

    def __init__(self, node: str) -> None:
        self.node = node

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
                src=self.party(tx, actor, None),
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
            texts_of(nickname=session.nickname or "", title=session.title),
        )

    def event_row(self, tx: Tx, engine: str, decision: str, session_id: str, reason: str | None = None) -> None:
        """The row of something that the node did for a session."""
        party = self.party(tx, Address(node=self.node, session=session_id), None)
        tx.append(Row(row=RowKind.LIFECYCLE, engine=engine, decision=decision, reason=reason, sw=SOFTWARE, src=party))

    def policy_row(self, tx: Tx, engine: str, decision: str, name: str) -> None:
        """The row of a rule that a person changed; `name` says which, beside the row."""
        party = Party(node=self.node, role="person")
        row = Row(row=RowKind.POLICY, engine=engine, decision=decision, sw=SOFTWARE, src=party)
        tx.append(row, texts_of(name=name))

    def approval_row(self, tx: Tx, approval: Approval, decision: str) -> None:
        """The row of a question to the person; what it asks is beside it, unless that quotes a held message."""
        row = Row(
            row=RowKind.POLICY,
            engine="approval",
            decision=decision,
            reason=approval.kind.value,
            sw=SOFTWARE,
            msg=approval.message or approval.id,
            src=Party(node=self.node, session=approval.session),
            extra={"approval": approval.id},
        )
        # In words: a whole commit looks like a secret and would be redacted.
        tx.append(row, () if approval.kind.holds_message else texts_of(words=approval.words))

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
        tx.append(replace(row, extra=extra or {}), texts_of(name=peer.name, **texts))

    def export_row(self, tx: Tx, note: ExportNote) -> int:
        """The row of an export that begins or came to its end, and its number; where it went is beside it."""
        extra: dict[str, JsonValue] = {"export": note.export, "format": note.format.value, "first": note.first}
        if note.log:
            extra["log"] = note.log
        if note.step is not Step.BEGUN:
            extra |= {"next": note.next, "count": note.count, "bytes": note.bytes}
        if note.sha256:
            extra["sha256"] = note.sha256
        row = Row(
            row=RowKind.EXPORT,
            engine="export",
            decision=note.step.value,
            reason=note.reason or None,
            sw=SOFTWARE,
            src=Party(node=self.node, role="person"),
            extra=extra,
        )
        return tx.append(row, texts_of(destination=note.destination, filter=note.wanted))

    def key_row(self, tx: Tx, old: str, new: str, engine: str, decision: str, **texts: str) -> None:
        """The row of a node whose key gave way to another: both node ids."""
        src, dst = Party(node=old), Party(node=new)
        row = Row(row=RowKind.KEY, engine=engine, decision=decision, sw=SOFTWARE, src=src, dst=dst)
        tx.append(row, texts_of(**texts))

    def turned_away(
        self, tx: Tx, reason: str, *, node: str = "", address: str = "", extra: Mapping[str, JsonValue] | None = None
    ) -> None:
        """The row of a call from another node that was refused; `node` is the id its key has, empty when unknown."""
        src, dst = Party(node=node) if node else None, Party(node=self.node)
        row = Row(row=RowKind.POLICY, engine="mesh", decision="refused", reason=reason, sw=SOFTWARE, src=src, dst=dst)
        tx.append(replace(row, extra=extra or {}), texts_of(address=address))

    def side(self, **texts: str) -> tuple[tuple[str, str], ...]:
        """Side texts for a row: redacted, cut to a preview, empty ones left out."""
        return texts_of(**texts)

    def party(self, tx: Reader, address: Address, role: str | None) -> Party:
        """An end of an exchange as a row names it."""
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


def engine_of(kind: Kind) -> str:
    """The timeline's code for an exchange of that kind."""
    return f"agent.{kind.value}"


def side_text(text: str) -> str:
    """What may stand beside a row of a text: without secrets, cut to a preview."""
    return preview(text, PREVIEW_CHARS).text


def texts_of(**texts: str) -> tuple[tuple[str, str], ...]:
    """Side texts by name; empty ones are left out."""
    shown = {name: _label(text) if len(text) <= _LABEL_CHARS else side_text(text) for name, text in texts.items()}
    return tuple((name, text) for name, text in shown.items() if texts[name])


@lru_cache(maxsize=_LABELS)
def _label(text: str) -> str:
    """The side text of a title or a name: those of an exchange are written with each of its messages."""
    return side_text(text)
