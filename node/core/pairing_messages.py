"""What the two ends of a pairing run say to each other, and what none of it may exceed."""

from __future__ import annotations

import binascii
import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

VERSION: Final = 1
NONCE_BYTES: Final = 32
PAKE_BYTES: Final = 33
KEY_BYTES: Final = 32
PROOF_BYTES: Final = 32
# An ECDSA signature of P-256 in DER is never longer.
MOST_SIGNATURE_BYTES: Final = 72
MOST_CERTIFICATE_CHARS: Final = 4_096
MOST_NAME_CHARS: Final = 64
MOST_GRANTS: Final = 16
MOST_PORT: Final = 65_535

_GRANT: Final = re.compile(r"[a-z][a-z0-9-]{0,31}\Z")
# One block and nothing beside it, so that no other reader of the same text finds another certificate in it.
_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----\n([A-Za-z0-9+/=\n]+)\n-----END CERTIFICATE-----\n?\Z")


class Role(StrEnum):
    """The two ends: the DIALER opened the connection and commits first, the WAITER was asked to wait for it."""

    DIALER = "dialer"
    WAITER = "waiter"


class Reason(StrEnum):
    """Why a run ended without a pair. The values are codes for timeline rows and for the other end."""

    VERSION = "version"
    MALFORMED = "malformed"
    OUT_OF_ORDER = "out_of_order"
    OTHER_WAY = "other_way"
    SAME_NODE = "same_node"
    OTHER_CERTIFICATE = "other_certificate"
    WRONG_COMMITMENT = "wrong_commitment"
    WRONG_CODE = "wrong_code"
    BAD_SIGNATURE = "bad_signature"
    DECLINED = "declined"
    EXPIRED = "expired"
    LOST = "lost"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Who the sender is and what it asks for.

    `opening` is the dialer's commitment or the waiter's nonce; with a code known beforehand it is empty, and `pake`
    holds the sender's SPAKE2 message. `wants` and `gives` are grants as said, which may be ones that are unknown here.
    `port` 0: it does not listen for peers.
    """

    version: int
    certificate: str
    opening: bytes
    pake: bytes
    wants: tuple[str, ...]
    gives: tuple[str, ...]
    name: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reveal:
    """The nonce that the dialer committed to."""

    nonce: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """The sender agrees: a signature over the run and, with a code known beforehand, proof of having known it."""

    signature: bytes
    proof: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Abort:
    """The sender ended the run; `reason` is a code, perhaps one that is unknown here."""

    reason: str


Message = Hello | Reveal | Confirm | Abort


def fingerprint(certificate: str) -> str:
    """The SHA-256 (hex) of a certificate's DER; ValueError unless the text is one PEM block and nothing else."""
    found = _PEM.match(certificate) if len(certificate) <= MOST_CERTIFICATE_CHARS else None
    if found is None:
        raise ValueError("not the PEM of one certificate")
    # binascii.Error, which comes of wrong base64, is a ValueError.
    der = binascii.a2b_base64(found[1].replace("\n", "").encode("ascii"), strict_mode=True)
    return hashlib.sha256(der).hexdigest()


def hello_fault(hello: Hello) -> Reason | None:
    """What keeps a Hello from being one at all, whoever says it; None when it fits."""
    if hello.version != VERSION:
        return Reason.VERSION
    try:
        fingerprint(hello.certificate)
        hello.name.encode("utf-8")
    except ValueError:
        return Reason.MALFORMED
    fits = (
        len(hello.name) <= MOST_NAME_CHARS
        and 0 <= hello.port <= MOST_PORT
        and _are_grants(hello.wants)
        and _are_grants(hello.gives)
        and (len(hello.opening), len(hello.pake)) in {(NONCE_BYTES, 0), (0, PAKE_BYTES)}
    )
    return None if fits else Reason.MALFORMED


def reveal_fits(reveal: Reveal) -> bool:
    """Whether the nonce has its size."""
    return len(reveal.nonce) == NONCE_BYTES


def confirm_fits(confirm: Confirm, *, headless: bool) -> bool:
    """Whether the fields have their sizes; a proof is there exactly when the code was known beforehand."""
    proof = PROOF_BYTES if headless else 0
    return 0 < len(confirm.signature) <= MOST_SIGNATURE_BYTES and len(confirm.proof) == proof


def abort_reason(abort: Abort) -> Reason:
    """The reason that the other end gave, ABORTED when it is none that is known here."""
    try:
        return Reason(abort.reason)
    except ValueError:
        return Reason.ABORTED


def _are_grants(names: tuple[str, ...]) -> bool:
    return len(names) <= MOST_GRANTS and all(_GRANT.match(name) for name in names)
