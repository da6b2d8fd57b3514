"""Self-signed certificates of node keys: made so that pinning them works, and read without believing them.

Why each extension is there: docs/adr/0030-mesh.md. Names say nothing about trust; only the hash of the public key does.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from node.core.errors import ErrorCode, MeshError

VALID_DAYS: Final = 3_650
# Clocks of peers differ; whoever is a week behind can still connect.
BACKDATED_DAYS: Final = 7
MOST_BYTES: Final = 4_096
_SERIAL_BITS: Final = 159


def spki_hash(key: ec.EllipticCurvePublicKey) -> str:
    """The SHA-256 of a public key (DER SubjectPublicKeyInfo) as 64 hex digits: what is pinned."""
    return hashlib.sha256(_spki(key)).hexdigest()


def make(key: ec.EllipticCurvePrivateKey, *, now_us: int, serial: bytes) -> str:
    """A new self-signed certificate (PEM) of that key; `serial` are 20 random bytes."""
    public = key.public_key()
    # Pinned certificates with equal subjects are refused almost at random: the name must be the key's own.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, spki_hash(public))])
    now = datetime.fromtimestamp(now_us // 1_000_000, UTC)
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=False, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number((int.from_bytes(serial, "big") % (1 << _SERIAL_BITS)) or 1)
        .not_valid_before(now - timedelta(days=BACKDATED_DAYS))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(spki_hash(public)[:32])]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        # A pinned key must not be able to mint certificates that pass in its stead.
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def target_name(spki: str) -> str:
    """The name that a TLS client expects of the server with that key: the certificate's DNS name."""
    return spki[:32]


def public_key(pem: str) -> ec.EllipticCurvePublicKey:
    """The P-256 key of a node's certificate, which must be signed by itself; INVALID_ARGUMENT for anything else."""
    if len(pem) > MOST_BYTES:
        raise _unfit("is larger than any certificate of a node")
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode("ascii"))
        key = certificate.public_key()
    except (ValueError, TypeError) as error:
        raise _unfit("cannot be read") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise _unfit("is not of a P-256 key")
    try:
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise _unfit("is not signed with its own key") from error
    return key


def expires_us(pem: str) -> int:
    """Until when a certificate is valid, microseconds of UTC."""
    certificate = x509.load_pem_x509_certificate(pem.encode("ascii"))
    return int(certificate.not_valid_after_utc.timestamp() * 1_000_000)


def sign(key: ec.EllipticCurvePrivateKey, statement: bytes) -> bytes:
    """ECDSA with SHA-256, DER."""
    return key.sign(statement, ec.ECDSA(hashes.SHA256()))


def signed(key: ec.EllipticCurvePublicKey, statement: bytes, signature: bytes) -> bool:
    """Whether the signature over the statement is of that key."""
    try:
        key.verify(signature, statement, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


def _spki(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _unfit(why: str) -> MeshError:
    text = f"The other node's certificate {why}: it does not speak as a node does. Update heliograph on both."
    return MeshError(ErrorCode.INVALID_ARGUMENT, text)
