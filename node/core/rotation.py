"""How one key hands over to the next: a statement signed by the old key, and chains of them.

A step is also how a certificate is renewed: whoever pins a certificate takes no other one, of the same key even.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol

from node.core.canonical import JsonValue, decode, encode
from node.core.errors import ErrorCode, MeshError

USE: Final = "heliograph/rotation/1"
MAX_STEPS: Final = 64
_FIELDS: Final = frozenset({"certificate", "new", "old", "proof", "ts", "use"})

_is_hash = re.compile(r"[0-9a-f]{64}", re.ASCII).fullmatch
_is_signature = re.compile(r"(?:[0-9a-f]{2}){8,72}", re.ASCII).fullmatch


class Keys(Protocol):
    """What is asked of certificates (PEM): adapters know how they are read."""

    def spki(self, certificate: str) -> str:
        """The SHA-256 (hex) of its public key; MeshError when it is not fit for a node."""
        ...

    def signed(self, certificate: str, statement: bytes, signature: bytes) -> bool:
        """Whether the signature over these bytes is of its key."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One hand-over: the new certificate, and what the old key signed about it."""

    certificate: str
    statement: bytes
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a statement says: which key hands over to which, with which certificate (its SHA-256), and when.

    `proof` is the new key's own signature: nobody can hand over to a key that is not theirs.
    """

    old: str
    new: str
    certificate: str
    at_us: int
    proof: bytes = b""

    @property
    def renewal(self) -> bool:
        """Whether the key stays and only its certificate is new."""
        return self.old == self.new

    def unproven(self) -> bytes:
        """The bytes that the new key signs."""
        return encode(self._fields())

    def statement(self) -> bytes:
        """The bytes that the old key signs, the new key's proof among them."""
        return encode(self._fields() | {"proof": self.proof.hex()})

    def _fields(self) -> dict[str, JsonValue]:
        return {"certificate": self.certificate, "new": self.new, "old": self.old, "ts": self.at_us, "use": USE}


def fingerprint(certificate: str) -> str:
    """The SHA-256 (hex) of a certificate's text: two of one key differ in it."""
    return sha256(certificate.encode("utf-8", "surrogatepass")).hexdigest()


def read(statement: bytes) -> Claim:
    """What a statement says, before anything is known of who signed it; TAMPERED when no node wrote it so."""
    fields = decode(statement)
    old, new, certificate, proof = (fields.get(name) for name in ("old", "new", "certificate", "proof"))
    at_us = fields.get("ts")
    if (
        fields.keys() == _FIELDS
        and fields["use"] == USE
        and isinstance(old, str)
        and isinstance(new, str)
        and isinstance(certificate, str)
        and isinstance(proof, str)
        and all(_is_hash(one) for one in (old, new, certificate))
        and _is_signature(proof)
        and type(at_us) is int
        and at_us > 0
    ):
        return Claim(old=old, new=new, certificate=certificate, at_us=at_us, proof=bytes.fromhex(proof))
    raise _tampered("it does not say what a hand-over says")


def check(step: Step, *, holder: str, after_us: int, keys: Keys) -> Claim:
    """What the step says, once it is sure that the key of certificate `holder` handed over to the one in the step.

    `after_us` is the time of the step before, 0 for none: an older statement is not taken again. TAMPERED otherwise.
    """
    claim = read(step.statement)
    if claim.old != keys.spki(holder) or not keys.signed(holder, step.statement, step.signature):
        raise _tampered("the old key has not signed it")
    if claim.certificate != fingerprint(step.certificate) or claim.new != keys.spki(step.certificate):
        raise _tampered("it is about another certificate than the one that came with it")
    if not keys.signed(step.certificate, claim.unproven(), claim.proof):
        raise _tampered("the new key has not signed it")
    if claim.at_us <= after_us:
        raise _tampered("it is not newer than the one before it")
    return claim


def check_chain(first: str, steps: Sequence[Step], *, last: str, keys: Keys) -> tuple[Claim, ...]:
    """What the steps say, once it is sure that they lead from certificate `first` to certificate `last`.

    TAMPERED when one is changed, missing, out of order or of others; also when a key comes back that was left.
    """
    if len(steps) > MAX_STEPS:
        raise _tampered(f"it has {len(steps)} steps and the limit is {MAX_STEPS}")
    holder, claims = first, list[Claim]()
    left: set[str] = set()
    for step in steps:
        claim = check(step, holder=holder, after_us=claims[-1].at_us if claims else 0, keys=keys)
        if not claim.renewal:
            left.add(claim.old)
        if claim.new in left:
            raise _tampered("a key comes back that was left")
        holder = step.certificate
        claims.append(claim)
    if holder != last:
        raise _tampered("it does not lead to the certificate that is in use")
    return tuple(claims)


def _tampered(why: str) -> MeshError:
    text = f"The statement about a new key was refused: {why}. Nothing was changed; pair the two nodes again."
    return MeshError(ErrorCode.TAMPERED, text)
