"""Transfers of files between nodes as people see them: what moves, how far it got, how fast. Pure; kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

# A rate is of at least this long: of less it would jump.
_RATE_US: Final = 1_000_000
_SECOND_US: Final = 1_000_000


class Direction(StrEnum):
    """Which way the bytes go, seen from this node."""

    IN = "in"
    OUT = "out"


class TransferState(StrEnum):
    """How a transfer stands. One that broke off goes on as a new one, from where it stopped."""

    MOVING = "moving"
    DONE = "done"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One content on its way, or lately; sizes in bytes, `rate` in bytes a second, times in microseconds of UTC.

    `message` is empty when only the other node knows it, `name` too. `why` is said of one that broke off. `peer_name`
    is how this node calls the peer, and known where it is shown.
    """

    id: str
    message: str
    peer: str
    name: str
    sha256: str
    direction: Direction
    size: int
    done: int
    rate: int
    state: TransferState
    since_us: int
    changed_us: int
    why: str = ""
    peer_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """Where a rate is measured from."""

    done: int
    at_us: int


class Transfers:
    """The newest transfers, `most` of them; those that move are the last to be left out."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all: OrderedDict[str, Transfer] = OrderedDict()
        self._marks: dict[str, _Mark] = {}

    def begin(self, transfer: Transfer) -> None:
        """A new one; an earlier one of the same content of the same message makes way."""
        for one in tuple(self._all.values()):
            if one.state is not TransferState.MOVING and _same(one, transfer):
                self._remove(one.id)
        while len(self._all) >= self._most:
            ended = (one.id for one in self._all.values() if one.state is not TransferState.MOVING)
            self._remove(next(ended, next(iter(self._all))))
        self._all[transfer.id] = transfer
        self._marks[transfer.id] = _Mark(done=transfer.done, at_us=transfer.since_us)

    def moved(self, transfer_id: str, done: int, now_us: int) -> None:
        """So many bytes are there; nothing happens for one that is no longer known."""
        one = self._all.get(transfer_id)
        if one is None:
            return
        mark, rate = self._marks[transfer_id], one.rate
        if now_us - mark.at_us >= _RATE_US:
            rate = _rate(done - mark.done, now_us - mark.at_us)
            self._marks[transfer_id] = _Mark(done=done, at_us=now_us)
        self._all[transfer_id] = replace(one, done=done, rate=rate, changed_us=now_us)

    def ended(self, transfer_id: str, now_us: int, why: str = "") -> None:
        """It is done, or broke off: why."""
        one = self._all.get(transfer_id)
        if one is None:
            return
        mark = self._marks.pop(transfer_id)
        state = TransferState.BROKEN if why else TransferState.DONE
        done = one.done if why else one.size
        rate = one.rate or _rate(done - mark.done, now_us - mark.at_us)
        self._all[transfer_id] = replace(one, done=done, rate=rate, state=state, changed_us=now_us, why=why)

    def listed(self) -> tuple[Transfer, ...]:
        """Newest first."""
        return tuple(reversed(self._all.values()))

    def progress_of(self, message: str) -> tuple[int, int] | None:
        """Bytes done and in all, of the files of a message that move or moved; None when nothing is known of them."""
        of_message = [one for one in self._all.values() if message and one.message == message]
        if not of_message:
            return None
        return sum(one.done for one in of_message), sum(one.size for one in of_message)

    def _remove(self, transfer_id: str) -> None:
        self._all.pop(transfer_id)
        self._marks.pop(transfer_id, None)


def _same(one: Transfer, other: Transfer) -> bool:
    return (one.peer, one.message, one.sha256, one.direction) == (
        other.peer, other.message, other.sha256, other.direction,
    )  # fmt: skip


def _rate(size: int, took_us: int) -> int:
    return max(0, size) * _SECOND_US // max(1, took_us)
