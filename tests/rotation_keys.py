"""A twin of certificates and signatures, to be told by their texts: a signature is a hash that names the signer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise

from node.core.errors import ErrorCode, MeshError
from node.core.rotation import Claim, Step, fingerprint

ALREADY_US = 1_000


class TwinKeys:
    """Implements rotation.Keys for certificates of the form "key/serial"."""

    def spki(self, certificate: str) -> str:
        if certificate.count("/") != 1:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "The certificate cannot be read.")
        return sha256(certificate.split("/", maxsplit=1)[0].encode("utf-8", "surrogatepass")).hexdigest()

    def signed(self, certificate: str, statement: bytes, signature: bytes) -> bool:
        return signature == sign(certificate, statement)


KEYS = TwinKeys()


def sign(certificate: str, statement: bytes) -> bytes:
    return sha256(KEYS.spki(certificate).encode() + statement).digest()


def step(old: str, new: str, at_us: int, /, **changes: object) -> Step:
    """The hand-over between two certificates, with parts of the claim changed before it is signed."""
    claim = Claim(old=KEYS.spki(old), new=KEYS.spki(new), certificate=fingerprint(new), at_us=at_us)
    claim = replace(claim, **changes)  # type: ignore[arg-type]
    if "proof" not in changes:
        claim = replace(claim, proof=sign(new, claim.unproven()))
    statement = claim.statement()
    return Step(certificate=new, statement=statement, signature=sign(old, statement))


def chain(certificates: Sequence[str]) -> tuple[Step, ...]:
    """The steps from the first to the last."""
    return tuple(step(old, new, ALREADY_US + at) for at, (old, new) in enumerate(pairwise(certificates)))
