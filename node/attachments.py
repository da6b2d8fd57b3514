"""Files of messages on their way: staged before the message is recorded, landed before it can be read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from node.core.approval import ApprovalKind
from node.core.delegation import Note
from node.core.effects import Land
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Address
from node.core.transfer import Attachment
from node.ledger import Ledger
from node.ports import Bells, Store, Tx
from node.ports_work import Approvals, FileStore

_log = logging.getLogger(__name__)

_SECOND_US = 1_000_000
_BATCH = 32
# A disk that is full for now may have room later; a file that was changed in the quarantine will not change back.
_MAY_PASS = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.AUDIT_UNAVAILABLE})


class Attachments:
    """Implements ports.Stager, and the worker of the outbox's landings."""

    def __init__(
        self, *, store: Store, files: FileStore, approvals: Approvals, bells: Bells, ledger: Ledger, limits: Limits
    ) -> None:
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
            await self._files.land(effect.session, message.id, message.files)
        except MeshError as error:
            _log.warning("files of message %s did not land: %s", message.id, error.message)
            await self._store.write(
                partial(self._not_landed, outbox=outbox, effect=effect, error=error), self._bells.ring
            )
            return
        await self._store.write(lambda tx: self._landed(tx, outbox, effect), self._bells.ring)

    def _landed(self, tx: Tx, outbox: int, effect: Land) -> tuple[Address, ...]:
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
            tx.effect_done(outbox)
            return ()
        deadline = message.ladder.recorded_us + self._limits.landing_s * _SECOND_US
        if error.code in _MAY_PASS and now < deadline:
            tx.set_ladder(message.id, replace(message.ladder, held="files"))
            tx.put_off(outbox, now + self._limits.tick_s * _SECOND_US)
            return ()
        exchange = tx.exchange_with(message)
        tx.effect_done(outbox)
        tx.set_ladder(message.id, replace(message.ladder, gave_up_us=now, held="files"))
        self._ledger.outcome(tx, exchange, message, "failed", "files")
        text = (
            f"Your {message.kind.value} (message {message.number}) was not delivered: its files could not be put into "
            f"the other side's inbox. {error.message} Attach them again."
        )
        self._ledger.write_notes(tx, exchange, (Note(to=message.sender, text=text),))
        return (exchange.opener, exchange.worker)
