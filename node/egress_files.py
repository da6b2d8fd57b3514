"""The files of messages that cross a mirror: pushed before their message crosses, pulled before it lands."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from node.core.delegation import Note
from node.core.effects import Fetch, Land
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Address, End, Exchange, Message
from node.core.relay import ForwardResult, Outcome, Queued
from node.core.row_codes import RowDecision, RowReason
from node.egress import Egress
from node.labels import host_of
from node.ledger import Ledger
from node.ports import Bells, Reader, Store, Tx
from node.ports_files import Claims
from node.ports_relay import Carrier

_SECOND_US: Final = 1_000_000
_BATCH: Final = 64
# What another try may get.
_MAY_PASS: Final = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.LIMIT, ErrorCode.WRONG_STATE})


class FileEgress:
    """Implements ports_relay.FileEgress."""

    def __init__(
        self, *, store: Store, egress: Egress, claims: Claims, ledger: Ledger, bells: Bells, limits: Limits
    ) -> None:
        self._store = store
        self._egress = egress
        self._claims = claims
        self._ledger = ledger
        self._bells = bells
        self._limits = limits

    async def push_files(self, peer: str, carrier: Carrier) -> None:
        """Pushes the files of messages that wait for that; UNAVAILABLE when the server cannot be reached."""
        later: MeshError | None = None
        for queued in await self._store.read(lambda reader: reader.queued_files(peer, _BATCH)):
            message = await self._store.read(partial(_message, message_id=queued.message))
            if message is None:
                continue
            try:
                for attachment in message.files:
                    await carrier.push(peer, message.id, attachment)
            except MeshError as error:
                if error.code in _MAY_PASS:
                    # Others' may go all the same.
                    later = error
                    continue
                await self._store.write(partial(self._not_pushed, queued=queued, error=error), self._bells.ring)
                continue
            await self._store.write(partial(self._pushed, message=message))
        if later is not None:
            raise later

    def _not_pushed(self, tx: Tx, *, queued: Queued, error: MeshError) -> tuple[Address, ...]:
        message, exchange = tx.message(queued.message), tx.exchange(queued.exchange)
        if message is None or exchange is None:
            return ()
        result = ForwardResult(number=queued.number, message=message.id, outcome=Outcome.REFUSED, code=error.code.value)
        tx.given_up(message.id)
        return self._egress.not_taken(tx, exchange, message, result, error.message)

    async def pull_files(self, peer: str, carrier: Carrier) -> None:
        """Pulls the files of messages that came from there; UNAVAILABLE when the server cannot be reached."""
        now = self._ledger.now_us()
        later: MeshError | None = None
        for outbox, effect in await self._store.read(lambda reader: reader.fetches(peer, _BATCH)):
            message = await self._store.read(partial(_message, message_id=effect.message))
            if message is None:
                await self._store.write(partial(_done, outbox=outbox))
                continue
            exchange = await self._store.read(partial(_exchange, message=message))
            try:
                for attachment in message.files:
                    await carrier.pull(peer, message.id, attachment)
            except MeshError as error:
                late = now > message.ladder.recorded_us + self._limits.relay_deadline_s * _SECOND_US
                if error.code in _MAY_PASS and not late:
                    later = error
                    continue
                await self._store.write(
                    partial(self._not_pulled, outbox=outbox, message=message, error=error), self._bells.ring
                )
                continue
            await self._store.write(partial(self._pulled, outbox=outbox, effect=effect, message=message))
            await self._claims.claim(peer, message.files)
            self._bells.ring((exchange.opener,))
        if later is not None:
            raise later

    def _pushed(self, tx: Tx, *, message: Message) -> None:
        tx.files_crossed(message.id)
        self._ledger.files_row(tx, tx.exchange_with(message), message, RowDecision.PUSHED)

    def _pulled(self, tx: Tx, *, outbox: int, effect: Fetch, message: Message) -> None:
        tx.effect_done(outbox)
        self._ledger.files_row(tx, tx.exchange_with(message), message, RowDecision.FETCHED)
        tx.add_effect(Land(session=effect.session, message=effect.message), self._ledger.now_us())

    def _not_pulled(self, tx: Tx, *, outbox: int, message: Message, error: MeshError) -> tuple[Address, ...]:
        tx.effect_done(outbox)
        exchange = tx.exchange_with(message)
        tx.set_ladder(message.id, replace(message.ladder, gave_up_us=self._ledger.now_us(), held="files"))
        self._ledger.outcome(tx, exchange, message, RowDecision.FAILED, RowReason.FILES)
        self._ledger.files_row(tx, exchange, message, RowDecision.FAILED, RowReason(error.code))
        host = host_of(tx, exchange.worker.node)
        text = (
            f"A {message.kind.value} came from {host} with files that could not be fetched, so it was not landed. "
            f"{error.message} Ask for it once more."
        )
        self._ledger.write_notes(tx, exchange, (Note(to=End.OPENER, text=text, about=message.id),))
        return (exchange.opener,)


def _message(reader: Reader, *, message_id: str) -> Message | None:
    return reader.message(message_id)


def _exchange(reader: Reader, *, message: Message) -> Exchange:
    return reader.exchange_with(message)


def _done(tx: Tx, *, outbox: int) -> None:
    tx.effect_done(outbox)
