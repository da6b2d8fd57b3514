"""The ports of the file channel: what its two ends need of the node they run in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from node.core.errors import ErrorCode
from node.core.transfer import Attachment
from node.core.transfers import Transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How much of some content is here durably; `complete` when all of it is, with its hash checked."""

    offset: int
    complete: bool


class Intake(Protocol):
    """One content on its way in; whoever got it closes it."""

    async def write(self, data: bytes) -> None:
        """The next bytes; INVALID_ARGUMENT for more than was said, WRONG_STATE once another call has taken it over."""
        ...

    async def finish(self) -> None:
        """All has come and is on the disk under its hash; TAMPERED when it has another one, and nothing is kept."""
        ...

    async def close(self) -> None:
        """Keeps what came so far, durably, unless it is finished; once or more often."""
        ...


class Parcels(Protocol):
    """Content that comes from peers or goes to them; `peer` is the id of a node that is proven."""

    async def offer(self, peer: str, sha256: str, size: int) -> Standing:
        """How far it got; UNAVAILABLE without room for the rest, LIMIT for too much. A push at work ends."""
        ...

    async def receive(self, peer: str, sha256: str, size: int, offset: int) -> Intake:
        """Goes on at `offset`, which `offer` gave; WRONG_STATE when it stands otherwise by now."""
        ...

    def read(self, attachment: Attachment, offset: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `offset` on, in pieces that one message has room for; NOT_FOUND when they are not here."""
        ...


class FileGround(Protocol):
    """What a peer may do with files here."""

    def may_request(self, peer: str) -> bool:
        """Whether the peer holds the grant `request` now; asked every few megabytes, so answered from memory."""
        ...

    async def may_pull(self, peer: str, message: str, sha256: str) -> Attachment | None:
        """The file, when that message is addressed to the peer in an exchange that it opened and carries it."""
        ...

    async def came(self, peer: str, content: Attachment, refused: ErrorCode | None = None) -> None:
        """All of a content has come, or it was refused for good: for the timeline. Its name is not known."""
        ...


class TransferLog(Protocol):
    """Hears of the bytes that move."""

    def begin(self, *, message: str, peer: str, attachment: Attachment, done: int, outgoing: bool) -> str:
        """A new transfer, of which `done` bytes are there; its id. What is not known of it is empty."""
        ...

    def moved(self, transfer: str, done: int) -> None:
        """So many bytes of it are there by now, those of an earlier attempt included."""
        ...

    def ended(self, transfer: str, why: str = "") -> None:
        """It is done, or broke off: why."""
        ...

    def progress_of(self, message: str) -> tuple[int, int] | None:
        """Bytes done and bytes in all of the files of a message that move or moved; None when nothing is known."""
        ...


class TransferBoard(Protocol):
    """What moves between this node and others, and what moved lately."""

    def listed(self) -> tuple[Transfer, ...]:
        """Newest first."""
        ...


class Claims(Protocol):
    """What became of content that a peer sent or was asked for; `peer` is that node's id."""

    async def missing(self, peer: str, attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
        """Those of which the peer has not sent all; the others stay here until they are claimed."""
        ...

    async def claim(self, peer: str, attachments: Sequence[Attachment]) -> None:
        """Their message is recorded: from now on that keeps them."""
        ...
