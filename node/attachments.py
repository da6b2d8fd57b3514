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
from node.core.delegation import Note
from node.core.effects import Land
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Address, Message
from node.core.transfer import Attachment
from node.core.verdict import Field, Verdict
from node.holds import Holds
from node.ledger import Ledger
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
        # Messages whose files were screened and may land, until they have.
        self._screened: set[str] = set()
        self._store = store
        self._files = files
        self._approvals = approvals
        self._bells = bells
        self._ledger = ledger
        self._limits = limits
        self._kicked = asyncio.Event()

    async def stage(self, actor: Address, paths: Sequence[str]) -> tuple[Attachment, ...]:
        """Safe copies of the files; what lies outside the sender's folder needs a person's approval, path by path."""
        if not paths:
            return ()
        session = await self._store.read(lambda reader: reader.session(actor.session or ""))
        if session is None:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "Only a session can attach files: it has a folder of its own.")
        try:
            return await self._files.stage(paths, base=session.cwd, allowed=self._files.inbox(session.id))
        except MeshError as refused:
            outside = refused.details.get("outside")
            if refused.code is not ErrorCode.REACH or not isinstance(outside, tuple):
                raise
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

    async def _may_land(self, outbox: int, message: Message) -> bool:
        """Screens the texts in its files, once; False when they are not to land now, and then nothing is owed."""
        if message.id in self._screened:
            return True
        if not await self._store.read(lambda reader: _allowed(reader, message)):
            flagged = await self._flagged(message)
            if flagged:
                decided = await self._store.write(
                    lambda tx: self._decide(tx, outbox, message.id, flagged), lambda done: self._bells.ring(done[1])
                )
                if not decided[0]:
                    return False
        self._screened.add(message.id)
        return True

    async def _flagged(self, message: Message) -> list[_Flagged]:
        flagged: list[_Flagged] = []
        async with aclosing(self._files.texts(message.files)) as texts:
            async for name, text in texts:
                if text is None:
                    await self._store.write(lambda tx: self._note(tx, message, "files_unscreened", "screened_files"))
                    continue
                field = Field(name="file", text=text)
                verdict = await self._screener.screen((field,))
                if verdict.stops:
                    flagged.append(_Flagged(name, field, verdict))
        return flagged

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
            self._note(tx, message, "files_flagged", judged.policy)
            return True, ()
        tx.effect_done(outbox)
        if judged.held:
            more = f" and {len(flagged) - 1} more" if len(flagged) > 1 else ""
            self._holds.hold_files(tx, message, judged, texts, f"{flagged[0].name}{more}")
        else:
            self._holds.stop_files(tx, message, judged)
        exchange = tx.exchange_with(message)
        return False, (exchange.opener, exchange.worker)

    def _note(self, tx: Tx, message: Message, decision: str, reason: str | None) -> None:
        self._ledger.outcome(tx, tx.exchange_with(message), message, decision, reason)

    def _landed(self, tx: Tx, outbox: int, effect: Land) -> tuple[Address, ...]:
        self._screened.discard(effect.message)
        tx.effect_done(outbox)
        message = tx.message(effect.message)
        if message is None or message.ladder.landed_us is not None:
            return ()
        self._ledger.landed(tx, message)
        exchange = tx.exchange_with(message)
        return (exchange.opener, exchange.worker)

    def _not_landed(self, tx: Tx, *, outbox: int, effect: Land, error: MeshError) -> tuple[Address, ...]:
        message = tx.message(effect.message)
        now = self._ledger.now_us()
        if message is None:
            self._screened.discard(effect.message)
            tx.effect_done(outbox)
            return ()
        deadline = message.ladder.recorded_us + self._limits.landing_s * _SECOND_US
        if error.code in _MAY_PASS and now < deadline:
            tx.set_ladder(message.id, replace(message.ladder, held="files"))
            tx.put_off(outbox, now + self._limits.tick_s * _SECOND_US)
            return ()
        exchange = tx.exchange_with(message)
        self._screened.discard(message.id)
        tx.effect_done(outbox)
        tx.set_ladder(message.id, replace(message.ladder, gave_up_us=now, held="files"))
        self._ledger.outcome(tx, exchange, message, "failed", "files")
        text = (
            f"Your {message.kind.value} (message {message.number}) was not delivered: its files could not be put into "
            f"the other side's inbox. {error.message} Attach them again."
        )
        exchange = self._ledger.write_notes(tx, exchange, (Note(to=message.sender, text=text),))
        # What its opener writes instead needs a reader.
        self._ledger.launch(tx, exchange, message)
        return (exchange.opener, exchange.worker)


def _allowed(reader: Reader, message: Message) -> bool:
    """Whether the person has let its files pass."""
    asked = reader.approvals_for(message.id)
    return any(
        one.kind is ApprovalKind.MESSAGE_FILE and (one.decision.allows or one.decision is Answer.USED) for one in asked
    )
