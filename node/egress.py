"""The client's end of a mirror: forwards what its sessions ask of a server, and takes what comes back in that.

Nothing that the server says is believed beyond the exchanges that this node opened with it, and every text of it
passes the screen before it can be read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from node import far_sessions, incoming
from node.changes import Changes
from node.core import relay
from node.core.delegation import Note
from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape
from node.core.limits import Limits
from node.core.model import Address, End, Exchange, Message, MessageKind, Status
from node.core.relay import (
    Forward,
    ForwardResult,
    Incoming,
    Item,
    Outcome,
    Progress,
    RemoteSession,
    after_message,
    after_status,
    ladder_after,
)
from node.core.row_codes import RowDecision, RowReason
from node.core.secret_names import check_name
from node.core.transfer import check_attachments
from node.core.verdict import Field, Verdict
from node.holds import Holds
from node.labels import host_of
from node.ledger import Draft, Ledger
from node.ledger_rows import shown_text
from node.ports import Bells, Reader, Screener, Store, Tx

_log = logging.getLogger(__name__)

_SECOND_US: Final = 1_000_000
_BATCH: Final = 64
# So long what changes in the queues is gathered before the ladders say so.
_QUIET_S: Final = 0.1
_WORDS_CHARS: Final = 600
_CLOSING: Final = frozenset({MessageKind.CLOSE, MessageKind.CANCEL})
_WITHHELD: Final = "(its words were withheld by this node's screen)"


class Egress:
    """Implements ports_relay.Egress, and gives up what waited too long; to be told of every commit."""

    def __init__(
        self, *, store: Store, screener: Screener, ledger: Ledger, bells: Bells, limits: Limits, redacts: bool = False
    ) -> None:
        self._store = store
        self._screener = screener
        self._redacts = redacts
        self._ledger = ledger
        self._bells = bells
        self._limits = limits
        self._holds = Holds(ledger=ledger, limits=limits)
        self._queued = Changes()
        # The highest number that may have been on its way to a server, which may hold it: not known before a look.
        self._tried: dict[str, int] = {}
        self._said: dict[str, deque[int]] = {}
        # Servers that cannot be reached: since when (microseconds), and why.
        self._away: dict[str, tuple[int, str]] = {}

    def committed(self) -> None:
        """Something may wait for another node."""
        self._queued.happened()

    async def next_queued(self, seen: int) -> int:
        """Waits until something may have been queued since `seen`."""
        return await self._queued.after(seen)

    # --- out ---------------------------------------------------------------------------------------------------------

    async def forwards(self, peer: str, after: int) -> tuple[Forward, ...]:
        """What may cross now, in order, as much as goes into one frame."""
        return await self._store.read(lambda reader: self._forwards(reader, peer, after))

    def _forwards(self, reader: Reader, peer: str, after: int) -> tuple[Forward, ...]:
        found: list[Forward] = []
        size = 0
        for queued in reader.queued(peer, after, self._limits.relay_batch, forward=True):
            message = reader.message(queued.message)
            exchange = reader.exchange(queued.exchange)
            if message is None or exchange is None:
                continue
            size += relay.size_of(message, exchange)
            if found and size > self._limits.relay_bytes:
                break
            session = reader.session(exchange.opener.session or "")
            nickname = (session.nickname or "") if session is not None else ""
            found.append(relay.forward_of(queued, message, exchange, nickname))
        if found:
            self._tried[peer] = max(self._tried.get(peer, 0), found[-1].number)
        return tuple(found)

    async def settled(self, peer: str, results: Sequence[ForwardResult]) -> None:
        """What became of forwards at the server; on disk when this returns."""
        words = {one.number: await self._readable(one.words) for one in results if one.words}
        await self._store.write(
            lambda tx: [end for one in results for end in self._settle(tx, peer, one, words.get(one.number, ""))],
            self._bells.ring,
        )

    def _settle(self, tx: Tx, peer: str, result: ForwardResult, words: str) -> tuple[Address, ...]:
        message = tx.message(result.message)
        queued = tx.queued_message(result.message)
        exchange = tx.exchange(message.exchange) if message is not None else None
        if message is None or exchange is None or queued is None:
            return ()
        # A number is of one row of one node: another node can settle nothing with it.
        if queued.peer != peer or queued.number != result.number:
            return ()
        if result.outcome is Outcome.LATER:
            if result.code == relay.FILES:
                tx.files_wanted(message.id)
            return ()
        tx.crossed((queued.number,))
        now = self._ledger.now_us()
        if result.outcome is Outcome.RELAYED:
            ladder = relay.ladder_when_taken(message.ladder, result, now, files=bool(message.files))
            tx.set_ladder(message.id, ladder)
            later = bool(message.files) or ladder.awaits_approval
            why = RowReason.APPROVAL if ladder.awaits_approval else None
            decision = RowDecision.RECORDED_THERE if later else RowDecision.LANDED
            self._ledger.outcome(tx, exchange, message, decision, why)
            if result.status is not None:
                exchange = after_status(exchange, result.status)
                tx.put_exchange(exchange)
            return (exchange.opener,)
        return self.not_taken(tx, exchange, message, result, words)

    def not_taken(
        self, tx: Tx, exchange: Exchange, message: Message, result: ForwardResult, words: str
    ) -> tuple[Address, ...]:
        """The server will not have that message: its sender is told, with `words` that may be read."""
        tx.set_ladder(
            message.id, replace(message.ladder, gave_up_us=self._ledger.now_us(), held=f"{result.outcome.value} there")
        )
        code = RowReason(result.code) if result.code in set(ErrorCode) else RowReason.UNKNOWN
        reason = RowReason.PROMPT_INJECTION if result.outcome is Outcome.WITHHELD else code
        self._ledger.outcome(tx, exchange, message, RowDecision(result.outcome), reason)
        host = host_of(tx, exchange.worker.node)
        said = f" It says: {words}" if words else ""
        what = "withheld by the screen of" if result.outcome is Outcome.WITHHELD else "refused by"
        text = f"Your {message.kind.value} (message {message.number}) was {what} {host}; nobody there read it.{said}"
        if message.kind is MessageKind.REQUEST and not exchange.status.closed:
            exchange = replace(exchange, status=Status.FAILED, questions=(), reason=f"remote_{result.outcome.value}")
            tx.withdraw(exchange.id)
        elif message.kind in _CLOSING and result.status is not None and not result.status.closed:
            # What this end took for closed is not: the server decides how it stands.
            exchange = replace(exchange, status=result.status, reason=None)
        else:
            exchange = _asked_again(exchange, message)
        self._ledger.write_notes(tx, exchange, (Note(to=End.OPENER, text=text),))
        return (exchange.opener,)

    # --- back --------------------------------------------------------------------------------------------------------

    async def take(self, peer: str, items: Sequence[Item]) -> int:
        """What came back; the highest number, all up to it on disk when this returns."""
        checked, verdicts = await incoming.screened(self._screener, items, redacts=self._redacts)
        await self._store.write(
            lambda tx: [end for item in checked for end in self._take(tx, peer, item, verdicts)], self._bells.ring
        )
        return max((item.number for item in items), default=0)

    def _take(self, tx: Tx, peer: str, item: Item, verdicts: dict[int, Verdict]) -> tuple[Address, ...]:
        told = item.what
        exchange = tx.exchange(told.exchange)
        if exchange is None or exchange.worker.node != peer or self._ledger.is_far(exchange.opener):
            if self._may_say(peer):
                _log.warning("a mirrored node spoke of exchange %s, which is none with it", escape(told.exchange)[:16])
            return ()
        if isinstance(told, Progress):
            return self._progress(tx, exchange, told)
        if tx.message(told.message) is not None:
            return ()
        return self._message(tx, peer, exchange, told, verdicts[item.number])

    def _may_say(self, peer: str) -> bool:
        """Whether something that a server did wrong is still worth a row or a line; past a limit a minute it is not."""
        now = self._ledger.now_us()
        said = self._said.setdefault(peer, deque(maxlen=self._limits.refusal_rows_per_minute))
        if len(said) == said.maxlen and now - said[0] < 60 * _SECOND_US:
            return False
        said.append(now)
        return True

    def _progress(self, tx: Tx, exchange: Exchange, told: Progress) -> tuple[Address, ...]:
        message = tx.message(told.message)
        if message is None or message.exchange != exchange.id or message.sender is not End.OPENER:
            return ()
        ladder = ladder_after(message.ladder, told)
        tx.set_ladder(message.id, ladder)
        if ladder.read_us is not None and message.ladder.read_us is None:
            self._ledger.outcome(tx, exchange, message, RowDecision.READ)
        tx.put_exchange(after_status(exchange, told.status))
        return (exchange.opener,)

    def _message(self, tx: Tx, peer: str, exchange: Exchange, told: Incoming, verdict: Verdict) -> tuple[Address, ...]:
        if exchange.next_number > 2 * self._limits.messages_per_exchange:
            _log.warning("exchange %s is full of what its other node says", exchange.id)
            return ()
        try:
            stepped = after_message(exchange, told)
            check_attachments(told.files)
            for file in told.files:
                check_name("name of a file", file.name)
        except MeshError as misfit:
            if self._may_say(peer):
                self._ledger.refusal(tx, exchange.worker, told.kind.value, misfit.code)
            return ()
        reply_to = told.reply_to if told.reply_to and tx.message(told.reply_to) is not None else None
        author, texts = told.author.far, relay.texts_of(told)
        judged = self._holds.judge(tx, stepped, End.WORKER, author, verdict, texts)
        draft = Draft(
            id=told.message,
            kind=told.kind,
            sender=End.WORKER,
            author=author,
            text=told.text,
            title=told.title,
            reply_to=reply_to,
            shown=shown_text(told.text),
            files=() if judged.withheld else told.files,
        )
        stepped, message = self._holds.write(tx, stepped, draft, judged, texts)
        if not message.awaits_approval:
            self._ledger.answered(tx, stepped, message)
        if message.withheld:
            host = host_of(tx, exchange.worker.node)
            text = (
                f"A {told.kind.value} from {host} was withheld by this node's screen. Your user finds it in the "
                "timeline."
            )
            self._ledger.write_notes(tx, stepped, (Note(to=End.OPENER, text=text, about=message.id),))
        return (exchange.opener,)

    async def directory(self, peer: str, sessions: Sequence[RemoteSession]) -> None:
        """Who can be asked there now. A name that the screen would withhold is left out."""
        shown = [await far_sessions.named(self._screener, one) for one in sessions]
        lies = await self._store.write(lambda tx: far_sessions.keep(tx, peer, shown))
        if lies and self._may_say(peer):
            _log.warning("a mirrored node gave %d sessions ids that others have", lies)

    # --- while the server is away ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Says of what waits for a server that is away since when, and gives up what waited too long."""
        seen = looked = 0
        while True:
            seen = await self._news(seen)
            try:
                newest = await self._store.read(lambda reader: reader.newest_relay())
                # Most commits queue nothing, and what waits may be much.
                for peer in tuple(self._away) if newest != looked else ():
                    await self._withdraw(peer, away=True)
                    await self._hold(peer)
                looked = newest
                await self.tidy()
            except MeshError as error:
                _log.warning("the queues to mirrored nodes wait: %s", error.message)
            await asyncio.sleep(_QUIET_S)

    async def _news(self, seen: int) -> int:
        try:
            async with asyncio.timeout(self._limits.tick_s):
                return await self._queued.after(seen)
        except TimeoutError:
            return seen

    async def reachable(self, peer: str, *, up: bool, why: str = "") -> None:
        """Whether the server takes forwards; the ladders of what waits say since when it does not."""
        if up:
            # Before anything crosses: what was called off while it could not have.
            self._away.pop(peer, None)
            await self._withdraw(peer, away=False)
        else:
            since, _ = self._away.get(peer, (self._ledger.now_us(), ""))
            self._away[peer] = (since, why)
        await self._hold(peer)

    async def _hold(self, peer: str) -> None:
        away = self._away.get(peer)
        held = f"server unreachable since {_clock_time(away[0])} UTC: {away[1]}" if away is not None else None

        def stale(reader: Reader) -> list[Message]:
            waiting = (reader.message(one.message) for one in reader.queued_messages(peer, most))
            return [one for one in waiting if one and one.ladder.landed_us is None and one.ladder.held != held]

        def work(tx: Tx) -> None:
            for message in stale(tx):
                tx.set_ladder(message.id, replace(message.ladder, held=held))

        most = self._limits.exchanges_listed
        # A commit wakes whoever asks this: one that changes nothing would go on for ever.
        if await self._store.read(stale):
            await self._store.write(work)

    async def tidy(self) -> None:
        """Gives up what waited too long, and what waits for nobody."""
        then = self._ledger.now_us() - self._limits.relay_deadline_s * _SECOND_US
        if await self._store.read(lambda reader: reader.queued_before(then, 1)):
            await self._store.write(lambda tx: self._give_up(tx, then), self._bells.ring)
            await self._store.write(lambda tx: tx.forget_relays_of_strangers())

    def _give_up(self, tx: Tx, then_us: int) -> tuple[Address, ...]:
        told: list[Address] = []
        for queued in tx.queued_before(then_us, _BATCH):
            exchange, message = tx.exchange(queued.exchange), tx.message(queued.message)
            tx.given_up(queued.message)
            # What waits for a client that never comes again is not missed by anybody here.
            if exchange is None or message is None or self._ledger.is_far(exchange.opener):
                continue
            now = self._ledger.now_us()
            tx.set_ladder(message.id, replace(message.ladder, gave_up_us=now, held="expired"))
            self._ledger.outcome(tx, exchange, message, RowDecision.EXPIRED, RowReason.UNREACHABLE)
            host = host_of(tx, queued.peer)
            hours = self._limits.relay_deadline_s / 3_600
            # Of one that may have been on its way it is not known whether it got there.
            maybe = queued.number <= self._tried.get(queued.peer, queued.number)
            text = (
                f"Your {message.kind.value} (message {message.number}) expired: {host} could not be reached for "
                f"{hours:g} hours, so {'nobody knows whether it got there' if maybe else 'it never got there'}."
            )
            if message.kind is MessageKind.REQUEST and not exchange.status.closed:
                exchange = replace(exchange, status=Status.FAILED, questions=(), reason="expired")
                tx.withdraw(exchange.id)
                if maybe:
                    stop = Note(to=End.WORKER, text="The request expired.", kind=MessageKind.CANCEL)
                    exchange = self._ledger.write_notes(tx, exchange, (stop,))
            else:
                exchange = _asked_again(exchange, message)
            self._ledger.write_notes(tx, exchange, (Note(to=End.OPENER, text=text),))
            told.append(exchange.opener)
        return tuple(told)

    async def _withdraw(self, peer: str, *, away: bool) -> None:
        """Takes back exchanges that were called off while their request had no chance to cross.

        With `away`, only if the server still is so when that is done.
        """
        newest = await self._store.read(lambda reader: reader.newest_relay())
        tried = self._tried.setdefault(peer, newest)

        def called_off(reader: Reader) -> list[tuple[Exchange, Message]]:
            found: list[tuple[Exchange, Message]] = []
            for queued in reader.queued_messages(peer, self._limits.exchanges_listed):
                exchange, message = reader.exchange(queued.exchange), reader.message(queued.message)
                if exchange is None or message is None or queued.number <= tried:
                    continue
                if message.kind is MessageKind.REQUEST and exchange.status is Status.CANCELLED:
                    found.append((exchange, message))
            return found

        def work(tx: Tx) -> None:
            # Once it takes forwards again, something may be on its way that was not when this began.
            for exchange, message in called_off(tx) if peer in self._away or not away else ():
                for one in tx.messages(exchange.id):
                    if tx.queued_message(one.id) is not None:
                        gave_up = replace(one.ladder, gave_up_us=self._ledger.now_us(), held="withdrawn")
                        tx.set_ladder(one.id, gave_up)
                tx.withdraw(exchange.id)
                self._ledger.outcome(tx, exchange, message, RowDecision.WITHDRAWN)

        if await self._store.read(called_off):
            await self._store.write(work)

    async def _readable(self, words: str) -> str:
        """Words of the server's as a model may read them."""
        cut = escape(words)[:_WORDS_CHARS]
        verdict = await self._screener.screen((Field(name="reason", text=cut),))
        return cut if not verdict.stops else _WITHHELD


def _asked_again(exchange: Exchange, message: Message) -> Exchange:
    """An answer that did not get there leaves its question open."""
    question = message.reply_to
    if message.kind is not MessageKind.ANSWER or question is None or exchange.status.closed:
        return exchange
    return replace(exchange, status=Status.ASKED, questions=(*exchange.questions, question))


def _clock_time(now_us: int) -> str:
    seconds = now_us // _SECOND_US % 86_400
    return f"{seconds // 3_600:02}:{seconds // 60 % 60:02}"
