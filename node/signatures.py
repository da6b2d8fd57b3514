"""Signatures under checkpoints and endorsements, checked, and whose key a file holds."""

from __future__ import annotations

from hashlib import sha256

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

from node.core import trust
from node.core.errors import ErrorCode, MeshError

_WRONG = (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm)


class NoteChecks:
    """Implements core.log_key.Checks; what cannot be read as a key or a signature is none of its."""

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


def node_in_pem(data: bytes) -> str:
    """The id of the node whose certificate or public key (PEM) this is; INVALID_ARGUMENT for anything else."""
    try:
        key = (
            x509.load_pem_x509_certificate(data).public_key()
            if b"-----BEGIN CERTIFICATE-----" in data
            else serialization.load_pem_public_key(data)
        )
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            "That file is not the certificate or the public key (PEM) of a node. Give the node's id instead: --node.",
        )
    spki = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return trust.node_id_of(sha256(spki).hexdigest())
