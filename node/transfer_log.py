"""Keeps the transfers of a running node: gives them ids and times. What it knows is gone with the node."""

from __future__ import annotations

from node.core.ids import ID_BYTES, make_id
from node.core.limits import Limits
from node.core.transfer import Attachment
from node.core.transfers import Direction, Transfer, Transfers, TransferState
from node.ports import Clock, Entropy


class TransferLog:
    """Implements ports_files.TransferLog."""

    def __init__(self, *, clock: Clock, entropy: Entropy, limits: Limits) -> None:
        self._clock = clock
        self._entropy = entropy
        self._transfers = Transfers(limits.transfers_listed)

    def begin(self, *, message: str, peer: str, attachment: Attachment, done: int, outgoing: bool) -> str:
        """A new transfer, of which `done` bytes are there; its id."""
        now_us = self._clock.wall_us()
        made = Transfer(
            id=make_id(self._entropy(ID_BYTES)),
            message=message,
            peer=peer,
            name=attachment.name,
            sha256=attachment.sha256,
            direction=Direction.OUT if outgoing else Direction.IN,
            size=attachment.size,
            done=done,
            rate=0,
            state=TransferState.MOVING,
            since_us=now_us,
            changed_us=now_us,
        )
        self._transfers.begin(made)
        return made.id

    def moved(self, transfer: str, done: int) -> None:
        """So many bytes of it are there by now."""
        self._transfers.moved(transfer, done, self._clock.wall_us())

    def ended(self, transfer: str, why: str = "") -> None:
        """It is done, or broke off: why."""
        self._transfers.ended(transfer, self._clock.wall_us(), why)

    def listed(self) -> tuple[Transfer, ...]:
        """Newest first."""
        return self._transfers.listed()

    def progress_of(self, message: str) -> tuple[int, int] | None:
        """Bytes done and in all, of the files of a message that move or moved; None when nothing is known of them."""
        return self._transfers.progress_of(message)
