"""What both ends of the file channel call things, and say about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.ports_files import TransferLog

SERVICE: Final = "tunnel.wire.v1.FileService"
OFFER: Final = f"/{SERVICE}/Offer"
PUSH: Final = f"/{SERVICE}/Push"
PULL: Final = f"/{SERVICE}/Pull"
# Of a call's bytes, after which it is asked again whether it is welcome, and its progress is told.
LOOK_BYTES: Final = 4_194_304
TOO_MANY: Final = "too_many"

# What the other node says in words is never shown: it could reach a model.
_REFUSALS: Final[Mapping[ErrorCode, str]] = MappingProxyType(
    {
        ErrorCode.LIMIT: "the file is larger than it takes (its limit message_bytes)",
        ErrorCode.REACH: "this node does not hold the grant `request` there; ask its person for it",
        ErrorCode.NOT_FOUND: "it has no such file for this node",
        ErrorCode.WRONG_STATE: "something else has brought it further meanwhile",
        ErrorCode.TAMPERED: "the file is not what its hash says",
        ErrorCode.UNAUTHENTICATED: "it does not trust this node any more; pair the two again",
        ErrorCode.UNSUPPORTED: "its version has no file channel; update heliograph there",
        ErrorCode.INVALID_ARGUMENT: "it did not understand the call; one of the two is to be updated",
    }
)


def refused_there(error: MeshError, name: str) -> MeshError:
    """What a refusal of the other node's means here: UNAVAILABLE when to try again makes sense."""
    passing = error.code is ErrorCode.LIMIT and error.details.get("reason") == TOO_MANY
    words = _REFUSALS.get(error.code)
    if words is None or passing:
        return MeshError(
            ErrorCode.UNAVAILABLE,
            f"{name} did not get through: the connection broke, or the other node is busy or out of space. It goes "
            "on from there.",
        )
    return MeshError(error.code, f"The other node did not go on with {name}: {words}.")


class Meter:
    """The progress of one transfer, told now and then; `begun` bytes were there before."""

    def __init__(self, log: TransferLog, transfer: str, done: int) -> None:
        self._log = log
        self._transfer = transfer
        self._next = done
        self.done = done

    def add(self, size: int) -> bool:
        """So many bytes moved; True every LOOK_BYTES."""
        self.done += size
        if self.done < self._next:
            return False
        self._next = self.done + LOOK_BYTES
        self._log.moved(self._transfer, self.done)
        return True


@contextmanager
def told(log: TransferLog, transfer: str) -> Iterator[None]:
    """The end of a transfer is told, whatever it is."""
    why = "it was broken off"
    try:
        yield
        why = ""
    except MeshError as error:
        why = error.message
        raise
    finally:
        log.ended(transfer, why)
