"""What the end of a session means for its exchanges. Called inside the transaction that records the end."""

from __future__ import annotations

from dataclasses import replace

from node.core import delegation
from node.core.delegation import Note
from node.core.limits import Limits
from node.core.model import Address, End, Exchange, MessageKind, Status
from node.holds import Holds
from node.ledger import Ledger
from node.ports import Tx

_SECOND_US = 1_000_000


class Lifecycle:
    """Steps the exchanges of a session whose agent ended, runs again, could not be started, or is deleted.

    Each method gives the exchanges that changed; whoever waits at their ends is to be woken after the commit.
    """

    def __init__(self, ledger: Ledger, limits: Limits) -> None:
        self._ledger = ledger
        self._limits = limits
        self._holds = Holds(ledger=ledger, limits=limits)

    def ended(self, tx: Tx, session_id: str) -> tuple[Exchange, ...]:
        """Tells each opener, once an ending, that this worker's agent ended without delivering."""
        return self._step_all(tx, session_id, delegation.WorkerEnded())

    def ended_meanwhile(self, tx: Tx, session_id: str, since_us: int, *, resting: bool) -> None:
        """An agent ended, last seen at `since_us`: what came, or was taken, while it left reached no model.

        Such a message is unread, and the agent is started again for it: twice is better than never. It may have been
        leaving for a while when it was last seen. One that was `resting` had ended the turn in which it was told.
        """
        leaving_us = since_us - self._limits.agent_leaving_s * _SECOND_US
        self._ledger.wake(tx, session_id, tx.owed_since(session_id, leaving_us))
        if not resting:
            for call in tx.calls_that_took(session_id, leaving_us):
                self._ledger.give_back(tx, call)

    def resumed(self, tx: Tx, session_id: str) -> tuple[Exchange, ...]:
        """The worker's agent runs again."""
        return self._step_all(tx, session_id, delegation.WorkerResumed())

    def launch_failed(self, tx: Tx, session_id: str, why: str) -> tuple[Exchange, ...]:
        """The delegate could not be started: its exchange fails, and the delegator is told why."""
        return self._step_all(tx, session_id, delegation.LaunchFailed(why=why))

    def removed(self, tx: Tx, session_id: str) -> tuple[Exchange, ...]:
        """Fails what this session still owed, and calls off what it had asked for: nobody will read the result."""
        failed = self._step_all(tx, session_id, delegation.WorkerRemoved())
        self._holds.removed(tx, session_id)
        opener = Address(node=self._ledger.node, session=session_id)
        asked_for = [e for e in tx.exchanges_of(opener, closed=False) if e.opener == opener]
        return (*failed, *(self._call_off(tx, exchange) for exchange in asked_for))

    def _step_all(self, tx: Tx, session_id: str, given: delegation.Input) -> tuple[Exchange, ...]:
        worker = Address(node=self._ledger.node, session=session_id)
        changed: list[Exchange] = []
        # Also those of which it does not know yet: their openers wait all the same.
        for exchange in tx.exchanges_of(worker, closed=False, hidden=True):
            if exchange.worker == worker:
                step = delegation.step(exchange, given)
                if step.exchange != exchange:
                    stepped = self._holds.stepped(exchange, step.exchange)
                    tx.put_exchange(stepped)
                    changed.append(self._ledger.write_notes(tx, stepped, step.notes))
                    self._holds.closed(tx, stepped)
                    self._ledger.add_effects(tx, step.effects)
        return tuple(changed)

    def _call_off(self, tx: Tx, exchange: Exchange) -> Exchange:
        step = delegation.step(exchange, delegation.Cancel())
        words = "The session that asked for this was deleted. Stop: nobody will read the result."
        note = Note(to=End.WORKER, text=words, kind=MessageKind.CANCEL)
        gone = replace(step.exchange, status=Status.CANCELLED, reason="opener_removed")
        gone = self._holds.stepped(exchange, gone)
        self._ledger.add_effects(tx, step.effects)
        gone = self._ledger.write_notes(tx, gone, (note,))
        self._holds.closed(tx, gone)
        return gone


def ends(exchanges: tuple[Exchange, ...]) -> tuple[Address, ...]:
    """Both ends of each exchange, to be woken."""
    return tuple(dict.fromkeys(address for e in exchanges for address in (e.opener, e.worker)))
