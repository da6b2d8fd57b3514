"""Files of messages on their way: staged before the message is recorded, landed before it can be read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from node.core.approval import ApprovalKind
from node.core.approval import Decision as Answer
from node.core.canonical import JsonValue
from node.core.delegation import Note
from node.core.effects import Land
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Address, Message
from node.core.refusal_gate import RefusalGate
from node.core.row_codes import ExtraKey, RowDecision, RowReason, RowRule
from node.core.screen_credentials import without_credentials
from node.core.secret_names import check_name
from node.core.timeline import Scan
from node.core.transfer import Attachment
from node.core.verdict import Field, Verdict
from node.holds import Holds
from node.ledger import Ledger
from node.ledger_rows import NOT_SCREENED
from node.message_rows import scan_of
from node.ports import Bells, Reader, Screener, Store, Tx
from node.ports_work import Approvals, FileStore

_log = logging.getLogger(__name__)

_SECOND_US = 1_000_000
_BATCH = 32
# A disk that is full for now may have room later; a file that was changed in the quarantine will not change back.
_MAY_PASS = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.AUDIT_UNAVAILABLE, ErrorCode.SCANNER_UNAVAILABLE})


class _Flagged(NamedTuple):
    """A text in a message's files that the screen does not let pass."""

    name: str
    field: Field
    verdict: Verdict


class Attachments:
    """Implements ports.Stager, and the worker of the outbox's landings."""

    def __init__(
        self,
        *,
        store: Store,
        screener: Screener,
        files: FileStore,
        approvals: Approvals,
        bells: Bells,
        ledger: Ledger,
        limits: Limits,
    ) -> None:
        self._screener = screener
        self._holds = Holds(ledger=ledger, limits=limits)
        # Messages whose files may land, until they have, with what the screen said of the texts in them.
        self._screened: dict[str, Scan] = {}
        self._store = store
        self._files = files
        self._approvals = approvals
        self._bells = bells
        self._ledger = ledger
        self._limits = limits
        self._kicked = asyncio.Event()
        self._refusals = RefusalGate(limits.refusal_rows_per_minute)

    async def stage(self, actor: Address, paths: Sequence[str]) -> tuple[Attachment, ...]:
        """Safe copies of the files; what lies outside the sender's folder needs a person's approval, path by path."""
        if not paths:
            return ()
        try:
            return await self._staged(actor, paths)
        except MeshError as error:
            if self._refusals.take(error.code, self._ledger.now_us()):
                await self._store.write(partial(self._note_refused, actor=actor, error=error))
            raise

    def _note_refused(self, tx: Tx, *, actor: Address, error: MeshError) -> None:
        extra: dict[ExtraKey, JsonValue] = {}
        limit, given, name = (error.details.get(key) for key in ("limit", "given", "name"))
        if isinstance(limit, int) and isinstance(given, int) and isinstance(name, str):
            extra = {ExtraKey.LIMIT: limit, ExtraKey.SIZE: given, ExtraKey.NAME: name}
        src = self._ledger.party(tx, actor, None)
        self._ledger.file_row(tx, RowDecision.REFUSED, (), reason=RowReason(error.code), src=src, extra=extra)

    async def _staged(self, actor: Address, paths: Sequence[str]) -> tuple[Attachment, ...]:
        _check_paths(paths)
        session = await self._store.read(lambda reader: reader.session(actor.session or ""))
        if session is None:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "Only a session can attach files: it has a folder of its own.")
        try:
            return await self._files.stage(paths, base=session.cwd, allowed=self._files.inbox(session.id))
        except MeshError as refused:
            outside = refused.details.get("outside")
            if refused.code is not ErrorCode.REACH or not isinstance(outside, tuple):
                raise
        # Where links lead, and what the person would be asked about.
        _check_paths(outside)
        wanted = {path: f"Attaching {path}, which is outside the folder of {session.label}," for path in outside}
        await self._approvals.ask(ApprovalKind.OUTSIDE_FILE, session.id, wanted, self._limits.approval_wait_s)
        allowed = (*self._files.inbox(session.id), *outside)
        return await self._files.stage(paths, base=session.cwd, allowed=allowed)

    def release(self, attachments: Sequence[Attachment]) -> None:
        """The message is recorded, or never will be."""
        if attachments:
            self._files.release(attachments)

    def ring(self, _addresses: Sequence[Address]) -> None:
        """A commit happened: there may be something to land. Implements ports.Bells."""
        self._kicked.set()

    async def run(self) -> None:
        """Lands what is due until cancelled."""
        while True:
            self._kicked.clear()
            try:
                await self.land_due()
            except MeshError as error:
                _log.warning("landing files waits: %s", error.message)
            try:
                async with asyncio.timeout(self._limits.tick_s):
                    await self._kicked.wait()
            except TimeoutError:
                continue

    async def land_due(self) -> None:
        """Lands the files of every message that is due."""
        now = self._ledger.now_us()
        for outbox, effect in await self._store.read(lambda reader: reader.effects("land", now, _BATCH)):
            if isinstance(effect, Land):
                await self._land(outbox, effect)

    async def _land(self, outbox: int, effect: Land) -> None:
        message = await self._store.read(lambda reader: reader.message(effect.message))
        if message is None:
            await self._store.write(lambda tx: tx.effect_done(outbox))
            return
        try:
            if not await self._may_land(outbox, message):
                return
            await self._files.land(effect.session, message.id, message.files)
        except MeshError as error:
            _log.warning("files of message %s did not land: %s", message.id, error.message)
            await self._store.write(
                partial(self._not_landed, outbox=outbox, effect=effect, error=error), self._bells.ring
            )
            return
        await self._store.write(lambda tx: self._landed(tx, outbox, effect), self._bells.ring)
        self._screened.pop(message.id, None)

    async def _may_land(self, outbox: int, message: Message) -> bool:
        """Screens the texts in its files, once; False when they are not to land now, and then nothing is owed."""
        if message.id in self._screened:
            return True
        scan = NOT_SCREENED
        if not await self._store.read(lambda reader: _allowed(reader, message)):
            flagged, scan = await self._flagged(message)
            if flagged:
                decided = await self._store.write(
                    lambda tx: self._decide(tx, outbox, message.id, flagged), lambda done: self._bells.ring(done[1])
                )
                if not decided[0]:
                    return False
        self._screened[message.id] = scan
        return True

    async def _flagged(self, message: Message) -> tuple[list[_Flagged], Scan]:
        """What the screen stops of the texts in a message's files, and what it said of all of them together."""
        flagged: list[_Flagged] = []
        scan, unread = NOT_SCREENED, False
        async with aclosing(self._files.texts(message.files)) as texts:
            async for name, text in texts:
                if text is None:
                    await self._store.write(
                        lambda tx: self._note(tx, message, RowDecision.FILES_UNSCREENED, RowReason.SCREENED_FILES)
                    )
                    unread = True
                    continue
                field = Field(name="file", text=text)
                verdict = await self._screener.screen((field,))
                if scan is NOT_SCREENED or verdict.score > scan.score:
                    scan = scan_of(verdict)
                if verdict.stops:
                    flagged.append(_Flagged(without_credentials(name), field, verdict))
        return flagged, replace(scan, status="skipped") if unread and not flagged else scan

    def _decide(
        self, tx: Tx, outbox: int, message_id: str, flagged: Sequence[_Flagged]
    ) -> tuple[bool, tuple[Address, ...]]:
        """Whether the message lands in spite of its files, and whom to wake."""
        message = tx.message(message_id)
        if message is None or message.ladder.landed_us is not None:
            tx.effect_done(outbox)
            return False, ()
        texts = tuple(one.field for one in flagged)
        judged = self._holds.judge_files(tx, message, [one.verdict for one in flagged], texts)
        if not judged.held and not judged.withheld:
            self._note(tx, message, RowDecision.FILES_FLAGGED, judged.override, judged.rule)
            return True, ()
        tx.effect_done(outbox)
        if judged.held:
            more = f" and {len(flagged) - 1} more" if len(flagged) > 1 else ""
            self._holds.hold_files(tx, message, judged, texts, f"{flagged[0].name}{more}")
        else:
            self._holds.stop_files(tx, message, judged)
        exchange = tx.exchange_with(message)
        return False, (exchange.opener, exchange.worker)

    def _note(
        self,
        tx: Tx,
        message: Message,
        decision: RowDecision,
        reason: RowReason | None = None,
        rule: RowRule | None = None,
    ) -> None:
        self._ledger.outcome(tx, tx.exchange_with(message), message, decision, reason, rule)

    def _landed(self, tx: Tx, outbox: int, effect: Land) -> tuple[Address, ...]:
        # Left there: this may run twice. What has landed is forgotten after the commit.
        scan = self._screened.get(effect.message)
        tx.effect_done(outbox)
        message = tx.message(effect.message)
        if message is None or message.ladder.landed_us is not None:
            return ()
        self._ledger.landed(tx, message, scan)
        exchange = tx.exchange_with(message)
        return (exchange.opener, exchange.worker)

    def _not_landed(self, tx: Tx, *, outbox: int, effect: Land, error: MeshError) -> tuple[Address, ...]:
        message = tx.message(effect.message)
        now = self._ledger.now_us()
        if message is None:
            self._screened.pop(effect.message, None)
            tx.effect_done(outbox)
            return ()
        deadline = message.ladder.recorded_us + self._limits.landing_s * _SECOND_US
        if error.code in _MAY_PASS and now < deadline:
            tx.set_ladder(message.id, replace(message.ladder, held="files"))
            tx.put_off(outbox, now + self._limits.tick_s * _SECOND_US)
            return ()
        exchange = tx.exchange_with(message)
        self._screened.pop(message.id, None)
        tx.effect_done(outbox)
        tx.set_ladder(message.id, replace(message.ladder, gave_up_us=now, held="files"))
        self._ledger.outcome(tx, exchange, message, RowDecision.FAILED, RowReason.FILES)
        self._ledger.files_row(tx, exchange, message, RowDecision.FAILED, RowReason(error.code))
        text = (
            f"Your {message.kind.value} (message {message.number}) was not delivered: its files could not be put into "
            f"the other side's inbox. {error.message} Attach them again."
        )
        exchange = self._ledger.write_notes(tx, exchange, (Note(to=message.sender, text=text),))
        # What its opener writes instead needs a reader.
        self._ledger.launch(tx, exchange, message)
        return (exchange.opener, exchange.worker)


def _check_paths(paths: Sequence[str]) -> None:
    """WITHHELD for a path that reads like a credential: names of files are kept, and shown to the person."""
    for number, path in enumerate(paths, start=1):
        check_name(f"path of file {number}", path)


def _allowed(reader: Reader, message: Message) -> bool:
    """Whether the person has let its files pass."""
    asked = reader.approvals_for(message.id)
    return any(
        one.kind is ApprovalKind.MESSAGE_FILE and (one.decision.allows or one.decision is Answer.USED) for one in asked
    )
