"""Notices: the one line typed at a prompt which tells an agent to call read_inbox, and the worker that owes them.

A notice counts only when a turn was seen to start. What cannot be typed is held, the reason stands on the ladder, and
after the last unread notice the sender is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from node.core.delegation import Note
from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.model import Address, Exchange, Message, MessageKind, Session, SessionStatus
from node.core.prompt import HeldReason, PaneRef, Typed
from node.core.row_codes import RowDecision, RowReason
from node.ledger import NOTICE_GRACE_US, Ledger
from node.ports import Bells, Owed, Store, Tx

_log = logging.getLogger(__name__)

ONE = "[heliograph] A message waits for you. Call the read_inbox tool of heliograph now."
SEVERAL = "[heliograph] Several messages wait for you. Call the read_inbox tool of heliograph now."
_SECOND_US = 1_000_000
_BATCH = 256
# What was typed, or entered, had no effect.
_WITHOUT_EFFECT = frozenset({HeldReason.SWALLOWED, HeldReason.STANDING})
# A line was typed, and it is not known what became of it: it counts as a try, for nobody may be flooded with lines.
_MAYBE_ENTERED = _WITHOUT_EFFECT | {HeldReason.UNCONFIRMED}


class NoticeTyper(Protocol):
    """Types one line at a session's prompt, or says why not."""

    async def type_notice(self, session: Session, pane: PaneRef, text: str) -> Typed: ...


class Notices:
    """The worker of the outbox's notices."""

    def __init__(self, *, store: Store, typer: NoticeTyper, bells: Bells, ledger: Ledger, limits: Limits) -> None:
        self._store = store
        self._typer = typer
        self._bells = bells
        self._ledger = ledger
        self._limits = limits
        self._kicked = asyncio.Event()
        self._offered: dict[str, tuple[Owed, ...]] = {}

    def ring(self, _addresses: Sequence[Address]) -> None:
        """Something changed: what is due may be due sooner. Implements ports.Bells."""
        self._kicked.set()

    async def run(self) -> None:
        """Works until cancelled."""
        while True:
            self._kicked.clear()
            pause = float(self._limits.tick_s)
            due = None
            try:
                if await self.deliver_due():
                    due = await self._store.read(lambda reader: reader.next_due("notify"))
            except MeshError as error:
                # The disk, most likely: the next round may do better, and what is owed stays owed.
                _log.warning("notices wait: %s", error.message)
            if due is not None:
                pause = min(pause, max(0.05, (due - self._ledger.now_us()) / _SECOND_US))
            try:
                async with asyncio.timeout(pause):
                    await self._kicked.wait()
            except TimeoutError:
                continue

    async def due_notice(self, session_id: str) -> str | None:
        """What to tell an agent whose turn ends; None when nothing is owed to it. Implements hook_events.TurnEnds."""
        # What was held while it was busy would be tried again within a tick: there is no better time than now.
        soon = self._ledger.now_us() + max(NOTICE_GRACE_US, self._limits.tick_s * _SECOND_US)
        owed = await self._store.read(lambda reader: reader.owed(soon, _BATCH))
        most = self._limits.notice_times
        mine = tuple(
            o
            for o in owed
            if o.session == session_id and not o.settled and not o.taken and o.notices + o.unproven < most
        )
        if not mine:
            return None
        self._offered[session_id] = mine
        return ONE if len(mine) == 1 else SEVERAL

    async def noticed(self, session_id: str) -> None:
        """It was told, and its turn goes on with it: as good as a notice that was typed and confirmed."""
        offered = self._offered.pop(session_id, ())
        await self._store.write(lambda tx: self._note(tx, offered, Typed()), self._wake)

    async def on_idle(self, session_id: str) -> None:
        """It rests at its prompt: what was held for it is tried again at once."""
        await self._store.write(lambda tx: tx.hasten(session_id, self._ledger.now_us()))
        self._kicked.set()

    async def deliver_due(self) -> bool:
        """Types what is due, one line a session however many messages wait there; False when some of it failed."""
        now = self._ledger.now_us()
        due = await self._store.read(lambda reader: reader.owed(now, _BATCH))
        by_session: defaultdict[str, list[Owed]] = defaultdict(list)
        for owed in due:
            by_session[owed.session].append(owed)
        tasks: list[asyncio.Task[bool]] = []
        async with asyncio.TaskGroup() as group:
            for session_id, notices in by_session.items():
                tasks.append(group.create_task(self._delivered(session_id, notices)))
        return all(task.result() for task in tasks)

    async def _delivered(self, session_id: str, notices: Sequence[Owed]) -> bool:
        """Whether the node could do it. One session's trouble must not end a line half typed at another's prompt.

        Nor may it fail the group: on Python 3.11.2 a task whose group failed once takes its next timeout
        for a cancellation, and the worker would end without a word.
        """
        try:
            await self._deliver(session_id, notices)
        except* MeshError as failed:
            _log.warning("notices of session %s wait: %s", session_id, failed.exceptions[0])
            well = False
        else:
            well = True
        return well

    async def _deliver(self, session_id: str, notices: Sequence[Owed]) -> None:
        session = await self._store.read(lambda reader: reader.session(session_id))
        # Nobody will sit in the terminal of an archived session again, unless it is unarchived and asked something new.
        away = session is None or session.status is SessionStatus.ARCHIVED
        settled = [o for o in notices if o.settled or away]
        most = self._limits.notice_times
        done = [o for o in notices if o not in settled and o.notices + o.unproven >= most and not o.taken]
        taken = [o for o in notices if o.taken and o not in settled]
        wanted = [o for o in notices if o not in settled and o not in done and o not in taken]
        if settled:
            await self._store.write(lambda tx: self._drop(tx, settled))
        if done:
            self._bells.ring(await self._store.write(lambda tx: self._give_up(tx, done)))
        if taken:
            # A call has it in hand; should that call give it back, this notice is still owed.
            await self._put_off(taken, self._limits.tick_s)
        if wanted and session is not None:
            await self._type(session, wanted)

    def _drop(self, tx: Tx, notices: Sequence[Owed]) -> None:
        for owed in notices:
            tx.effect_done(owed.outbox)

    async def _put_off(self, notices: Sequence[Owed], seconds: int) -> None:
        def work(tx: Tx) -> None:
            for owed in notices:
                tx.put_off(owed.outbox, self._ledger.now_us() + seconds * _SECOND_US)

        await self._store.write(work)

    async def _type(self, session: Session, wanted: Sequence[Owed]) -> None:
        if session.status is not SessionStatus.RUNNING or session.pane is None:
            typed = Typed(held=HeldReason.GONE)
        else:
            typed = await self._typer.type_notice(session, session.pane, ONE if len(wanted) == 1 else SEVERAL)
        await self._store.write(lambda tx: self._note(tx, wanted, typed), self._wake)

    def _wake(self, told: tuple[Address, ...]) -> None:
        if told:
            self._bells.ring(told)

    def _note(self, tx: Tx, wanted: Sequence[Owed], typed: Typed) -> tuple[Address, ...]:
        """Records what came of a notice; gives the senders that were told something."""
        now = self._ledger.now_us()
        told: list[Address] = []
        for owed in wanted:
            message = tx.message(owed.message)
            exchange = tx.exchange(owed.exchange)
            if message is None or exchange is None:
                tx.effect_done(owed.outbox)
            elif typed.held is None:
                # A quick agent has read the message before this is written down; it was noticed all the same.
                ladder = replace(message.ladder, notices=message.ladder.notices + 1, held=None, confirmed_us=now)
                tx.set_ladder(message.id, ladder)
                tx.put_off(owed.outbox, now + self._limits.notice_again_s * _SECOND_US)
                self._ledger.outcome(tx, exchange, message, RowDecision.NOTICED)
                if ladder.read_us is not None:
                    tx.effect_done(owed.outbox)
            elif message.ladder.read_us is not None:
                tx.effect_done(owed.outbox)
            else:
                if message.ladder.held != typed.held.value:
                    tx.set_ladder(message.id, replace(message.ladder, held=typed.held.value))
                    self._ledger.outcome(tx, exchange, message, RowDecision.HELD, RowReason(typed.held))
                if now - message.ladder.recorded_us > self._limits.notice_held_s * _SECOND_US:
                    told += self._tell_held(tx, exchange, message, typed.held)
                unproven = typed.held in _MAYBE_ENTERED
                pause = self._pause(owed, typed.held, tx.session(owed.session))
                tx.put_off(owed.outbox, now + pause * _SECOND_US, unproven=unproven)
        return tuple(told)

    def _tell_held(self, tx: Tx, exchange: Exchange, message: Message, held: HeldReason) -> tuple[Address, ...]:
        """Tells the sender, once a message, that nobody could be told of it for long; it goes on being tried."""
        if not _worth_telling(exchange, message) or message.ladder.notices or tx.noted(message.id):
            return ()
        text = (
            f"The other side could not be told yet of your {message.kind.value} (message {message.number}): "
            f"{held.words}. It stays in the inbox, and the node goes on trying."
        )
        self._ledger.write_notes(tx, exchange, (Note(to=message.sender, text=text, about=message.id),))
        return (exchange.address(message.sender),)

    def _pause(self, owed: Owed, held: HeldReason, session: Session | None) -> int:
        """Seconds until the next try. Where a line may have been entered, as long as after a notice."""
        ended = session is None or session.status is SessionStatus.ENDED
        # A busy agent takes an Enter for a line end, or drops a paste while it draws its first screen. Once only: one
        # that hangs must not get many at a time.
        if held in _WITHOUT_EFFECT and not owed.unproven:
            return self._limits.notice_retry_s
        if held in _MAYBE_ENTERED or (held is HeldReason.GONE and ended):
            return self._limits.notice_again_s
        # One that is being started, or was since this was tried, is there in a moment.
        return self._limits.tick_s

    def _give_up(self, tx: Tx, done: Sequence[Owed]) -> tuple[Address, ...]:
        told: list[Address] = []
        for owed in done:
            tx.effect_done(owed.outbox)
            message, exchange = tx.message(owed.message), tx.exchange(owed.exchange)
            if message is None or exchange is None:
                continue
            tx.set_ladder(message.id, replace(message.ladder, gave_up_us=self._ledger.now_us()))
            self._ledger.outcome(tx, exchange, message, RowDecision.GAVE_UP, RowReason.UNREAD)
            if _worth_telling(exchange, message):
                self._ledger.write_notes(tx, exchange, (self._told(message),))
                told.append(exchange.address(message.sender))
        return tuple(told)

    def _told(self, message: Message) -> Note:
        times = message.ladder.notices
        noticed = f"was noticed {times} times" if times else "was announced at a prompt that did not take the line"
        text = (
            f"Your {message.kind.value} (message {message.number}) {noticed} and has not been read. It stays in the "
            "other side's inbox; no further notice will be typed."
        )
        return Note(to=message.sender, text=text)


def _worth_telling(exchange: Exchange, message: Message) -> bool:
    """Whether its sender cares that nobody reads it: a note on a note would never end, and what is closed is over."""
    return message.kind is not MessageKind.NOTE and not exchange.status.closed


class ManyBells:
    """Rings several bells; the node's commits tell the inbox and the notices alike."""

    def __init__(self) -> None:
        self._ringers: list[Callable[[Sequence[Address]], None]] = []

    def add(self, ringer: Callable[[Sequence[Address]], None]) -> None:
        """Adds one to ring."""
        self._ringers.append(ringer)

    def ring(self, addresses: Sequence[Address]) -> None:
        """Rings them all."""
        for ringer in self._ringers:
            ringer(addresses)
