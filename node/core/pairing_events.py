"""What a pairing run takes in besides messages, and what it wants done."""

from __future__ import annotations

from dataclasses import dataclass, field

from node.core.mesh import Grant
from node.core.pairing_messages import Abort, Confirm, Hello, Message, Reason, Reveal

# --- inputs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeTyped:
    """The dialer's person typed what the waiter's screen shows, and with it agrees to what is asked for."""

    code: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """The waiter's person says yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """This side's person says no, or calls it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDerived:
    """The SPAKE2 key of the two messages (32 bytes); a message which gives none is `Unreadable`."""

    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """This node's signature over the statement that was to be signed."""

    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureChecked:
    """Whether the other's signature is of its certificate's key, and that certificate is fit for a node."""

    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """What came is no message of this protocol, holds a certificate unfit for a node, or gives no key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The connection is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """The window is over."""


Input = (
    Hello
    | Reveal
    | Confirm
    | Abort
    | CodeTyped
    | Agreed
    | Declined
    | KeyDerived
    | Signed
    | SignatureChecked
    | Unreadable
    | Lost
    | Expired
)


# --- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """The other end as it introduced itself: a stranger's words until the run is through.

    `wants` and `gives` are as said; `given` is what it would get here, `got` what this node would get there.
    """

    certificate: str
    name: str
    port: int
    wants: tuple[str, ...]
    gives: tuple[str, ...]
    given: frozenset[Grant]
    got: frozenset[Grant]


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """To the other end."""

    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Show this code to this side's person, for the other's person to type, and who it is that asks for what."""

    code: str = field(repr=False)
    other: Other


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCode:
    """Ask this side's person for the code that the other's screen shows."""

    other: Other


@dataclass(frozen=True, slots=True, kw_only=True)
class AskConfirm:
    """Ask this side's person: did the other's person say that their screen took the code, and is this wanted?"""

    other: Other


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveKey:
    """Finish SPAKE2 with the other's message; `KeyDerived` or `Unreadable` comes back."""

    message: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Sign this with the node's key; `Signed` comes back."""

    statement: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSignature:
    """Check it against the key of the certificate, which must be fit for a node; `SignatureChecked` comes back."""

    certificate: str
    statement: bytes
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Record the other end as a peer. It comes before what is sent last: a pair that cannot be recorded is not told."""

    other: Other


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The run is over without a pair; `theirs`: the other end said so. `burned`: it cost a guess at a code."""

    reason: Reason
    theirs: bool
    burned: bool


Effect = Send | Show | AskCode | AskConfirm | DeriveKey | Sign | CheckSignature | Paired | Ended
