"""Signatures under checkpoints and endorsements, checked. Implements core.log_key.Checks."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

_WRONG = (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm)


class NoteChecks:
    """The arithmetic; what cannot be read as a key or a signature is none of its."""

    def ed25519(self, public: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature is of that Ed25519 key (32 bytes)."""
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        except _WRONG:
            return False
        return True

    def ml_dsa_44(self, public: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature is of that ML-DSA-44 key (1,312 bytes), with an empty context."""
        try:
            MLDSA44PublicKey.from_public_bytes(public).verify(signature, message)
        except _WRONG:
            return False
        return True

    def node(self, spki: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature (ECDSA with SHA-256, DER) is of that P-256 key (DER SubjectPublicKeyInfo)."""
        try:
            key = serialization.load_der_public_key(spki)
            if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
                return False
            # The id of a node is the hash of these bytes, so only the one way to write the key counts.
            same = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo) == spki
            key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        except _WRONG:
            return False
        return same
