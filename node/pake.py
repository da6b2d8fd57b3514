"""SPAKE2, the key exchange behind a pairing code that both ends know beforehand: one message each way, one try.

The library is not constant in time. What that tells is of one code, which one exchange uses up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from spake2 import SPAKE2_A, SPAKE2_B, SPAKEError
from spake2.ed25519_basic import NotOnCurve, bytes_to_element
from spake2.spake2 import OnlyCallFinishOnce

from node.core.errors import ErrorCode, MeshError
from node.core.pairing_code import FEWEST_DIGITS, MOST_DIGITS
from node.core.pairing_messages import PAKE_BYTES, Role
from node.ports import Entropy

_NAMES: Final = {role: f"heliograph pairing 1 {role.value}".encode() for role in Role}
_SIDES: Final = {Role.DIALER: SPAKE2_A, Role.WAITER: SPAKE2_B}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One end's exchange under way. It holds the code and can be finished once."""

    role: Role
    spake: SPAKE2_A | SPAKE2_B = field(repr=False, compare=False)


def start(role: Role, code: str, entropy: Entropy) -> tuple[Exchange, bytes]:
    """Begins with a code of 6 to 8 digits, blanks and dashes aside: what to keep, and the message for the other end."""
    digits = "".join(code.split()).replace("-", "")
    if not (digits.isascii() and digits.isdigit() and FEWEST_DIGITS <= len(digits) <= MOST_DIGITS):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"A pairing code has {FEWEST_DIGITS} to {MOST_DIGITS} digits. Give the one that the other node showed.",
        )
    spake = _SIDES[role](digits.encode("ascii"), idA=_NAMES[Role.DIALER], idB=_NAMES[Role.WAITER], entropy_f=entropy)
    return Exchange(role=role, spake=spake), spake.start()


def finish(exchange: Exchange, message: bytes) -> bytes:
    """The key (32 bytes) of both messages: the other end's is equal when the code is, and tells nothing of it if not.

    INVALID_ARGUMENT for a message that is malformed or comes back to its sender; WRONG_STATE on a second try.
    """
    if not _is_plain(message):
        raise _malformed()
    try:
        key: bytes = exchange.spake.finish(message)
    except OnlyCallFinishOnce as error:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            "This key exchange was finished before: a code is good for one try. Begin again with a new code.",
        ) from error
    except SPAKEError as error:
        raise _malformed() from error
    return key


def _is_plain(message: bytes) -> bool:
    """Whether it is a side and an element of the group as the library itself spells it.

    The library takes other spellings, even of the neutral element which it refuses, and cuts what is too long.
    """
    try:
        return len(message) == PAKE_BYTES and bytes_to_element(message[1:]).to_bytes() == message[1:]
    except (NotOnCurve, ValueError):
        return False


def _malformed() -> MeshError:
    return MeshError(
        ErrorCode.INVALID_ARGUMENT,
        "The other node's key exchange message is malformed: it does not speak as a node does, or somebody changed it "
        "on its way. Begin again with a new code.",
    )


class PakeRun:
    """Implements ports_mesh.PakeRun."""

    def __init__(self, role: Role, code: str, entropy: Entropy) -> None:
        self._exchange, self.message = start(role, code, entropy)

    def finish(self, message: bytes) -> bytes:
        """The shared key."""
        return finish(self._exchange, message)


class Pake:
    """Implements ports_mesh.Pake."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def begin(self, role: Role, code: str) -> PakeRun:
        """Begins with a code of 6 to 8 digits."""
        return PakeRun(role, code, self._entropy)
