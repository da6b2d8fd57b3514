"""Certificates of node keys: made so that pinning them works, and read without believing them.

Why each extension is there: docs/adr/0030-mesh.md, and 0033-links.md for what a port issues. Names say nothing about
trust; only the hash of the public key does.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from node.core.errors import ErrorCode, MeshError

VALID_DAYS: Final = 3_650
# Clocks of peers differ; whoever is a week behind can still connect.
BACKDATED_DAYS: Final = 7
MOST_BYTES: Final = 4_096
_SERIAL_BITS: Final = 159

_Extensions = tuple[x509.Extension[x509.ExtensionType], ...]


def spki_hash(key: ec.EllipticCurvePublicKey) -> str:
    """The SHA-256 of a public key (DER SubjectPublicKeyInfo) as 64 hex digits: what is pinned."""
    return hashlib.sha256(_spki(key)).hexdigest()


def make(key: ec.EllipticCurvePrivateKey, *, now_us: int, serial: bytes) -> str:
    """A new self-signed certificate (PEM) of that key; `serial` are 20 random bytes."""
    public = key.public_key()
    return _made(public, key, _extensions(public), now_us=now_us, until=_end(now_us), serial=serial)


def make_authority(key: ec.EllipticCurvePrivateKey, *, now_us: int, serial: bytes) -> str:
    """The certificate (PEM) under which that key signs those of others, and nothing else."""
    public = key.public_key()
    parts = (
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (_usage(signs_certificates=True), True),
        *_key_ids(public, public),
    )
    return _made(public, key, _in_order(parts), now_us=now_us, until=_end(now_us), serial=serial)


def is_authority(pem: str, key: ec.EllipticCurvePublicKey) -> bool:
    """Whether the certificate is one that `make_authority` made of that key."""
    found = _single(pem)
    parts = ((x509.BasicConstraints, True), (x509.KeyUsage, True))
    return (
        found is not None
        and found.subject == _name(key)
        and _is_signed(found, found)
        and [(type(e.value), e.critical) for e in found.extensions][: len(parts)] == list(parts)
        and found.public_key() == key
    )


def issue(authority: str, key: ec.EllipticCurvePrivateKey, certificate: str, *, now_us: int, serial: bytes) -> str:
    """A certificate (PEM) of the key in a node's one, signed by an authority, with which it ends at the latest."""
    public, root = public_key(certificate), key.public_key()
    parts = (
        (x509.SubjectAlternativeName([x509.DNSName(target_name(spki_hash(public)))]), False),
        *_key_ids(public, root),
        (_usage(signs_certificates=False), True),
        (x509.BasicConstraints(ca=False, path_length=None), True),
    )
    until = min(_end(now_us), x509.load_pem_x509_certificate(authority.encode("ascii")).not_valid_after_utc)
    return _made(public, key, _in_order(parts), now_us=now_us, until=until, serial=serial)


def is_issued_by(authority: str, pem: str) -> bool:
    """Whether that authority signed the certificate."""
    found = _single(pem)
    return found is not None and _is_signed(found, x509.load_pem_x509_certificate(authority.encode("ascii")))


def is_issued_for(certificate: str, pem: str) -> bool:
    """Whether `pem` is one more certificate of the very key in a node's certificate, alone in its text."""
    found = _single(pem)
    key = public_key(certificate)
    return found is not None and found.subject == _name(key) and found.public_key() == key


def target_name(spki: str) -> str:
    """The name that a TLS client expects of the server with that key: the certificate's DNS name."""
    return spki[:32]


def public_key(pem: str) -> ec.EllipticCurvePublicKey:
    """The P-256 key of a certificate that is as `make` makes them; INVALID_ARGUMENT for anything else."""
    if len(pem) > MOST_BYTES:
        raise _unfit("is larger than any certificate of a node")
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode("ascii"))
        key = certificate.public_key()
        extensions = tuple(certificate.extensions)
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension) as error:
        raise _unfit("cannot be read") from error
    # A TLS library would trust everything that stands in the text, a second certificate too.
    if certificate.public_bytes(serialization.Encoding.PEM).decode("ascii") != pem:
        raise _unfit("is not alone in its text")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise _unfit("is not of a P-256 key")
    try:
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise _unfit("is not signed with its own key") from error
    # Somebody else's name, or a right to sign certificates, would spoil the links to other peers.
    if certificate.subject != _name(key) or extensions != _extensions(key):
        raise _unfit("does not have the name and the limits of its key")
    return key


def begins_us(pem: str) -> int:
    """From when on a certificate is valid, microseconds of UTC."""
    certificate = x509.load_pem_x509_certificate(pem.encode("ascii"))
    return int(certificate.not_valid_before_utc.timestamp() * 1_000_000)


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


class CertificateKeys:
    """Implements rotation.Keys."""

    def spki(self, certificate: str) -> str:
        """The pin of the key in a certificate; INVALID_ARGUMENT when it is not fit for a node."""
        return spki_hash(public_key(certificate))

    def same(self, certificate: str, issued: str) -> bool:
        """Whether `issued` is of the key in the certificate, too."""
        return is_issued_for(certificate, issued)

    def signed(self, certificate: str, statement: bytes, signature: bytes) -> bool:
        """Whether the signature is of the key in the certificate."""
        return signed(public_key(certificate), statement, signature)


def _name(key: ec.EllipticCurvePublicKey) -> x509.Name:
    # Pinned certificates with equal subjects are refused almost at random: the name must be the key's own.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, spki_hash(key))])


def _extensions(key: ec.EllipticCurvePublicKey) -> _Extensions:
    """All that a node's certificate has, in order."""
    return _in_order(
        (
            (x509.SubjectAlternativeName([x509.DNSName(target_name(spki_hash(key)))]), False),
            *_key_ids(key, key),
            # A pinned key must not be able to mint certificates that pass in its stead.
            (_usage(signs_certificates=False), True),
        )
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates, key_cert_sign=signs_certificates,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _key_ids(
    key: ec.EllipticCurvePublicKey, issuer: ec.EllipticCurvePublicKey
) -> tuple[tuple[x509.ExtensionType, bool], ...]:
    return (
        (x509.SubjectKeyIdentifier.from_public_key(key), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), False),
    )


def _in_order(parts: tuple[tuple[x509.ExtensionType, bool], ...]) -> _Extensions:
    return tuple(x509.Extension(value.oid, critical, value) for value, critical in parts)


def _end(now_us: int) -> datetime:
    return _time(now_us) + timedelta(days=VALID_DAYS)


def _time(now_us: int) -> datetime:
    return datetime.fromtimestamp(now_us // 1_000_000, UTC)


def _made(
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    extensions: _Extensions,
    *,
    now_us: int,
    until: datetime,
    serial: bytes,
) -> str:
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(key))
        .issuer_name(_name(signer.public_key()))
        .public_key(key)
        .serial_number((int.from_bytes(serial, "big") % (1 << _SERIAL_BITS)) or 1)
        .not_valid_before(_time(now_us) - timedelta(days=BACKDATED_DAYS))
        .not_valid_after(until)
    )
    for extension in extensions:
        builder = builder.add_extension(extension.value, critical=extension.critical)
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode("ascii")


def _single(pem: str) -> x509.Certificate | None:
    """The certificate that is all of the text; None when there is none that can be read."""
    if len(pem) > MOST_BYTES:
        return None
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode("ascii"))
        # Parts are read on demand, and may be what fails.
        _ = certificate.public_key(), tuple(certificate.extensions)
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension):
        return None
    return certificate if certificate.public_bytes(serialization.Encoding.PEM).decode("ascii") == pem else None


def _is_signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _spki(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _unfit(why: str) -> MeshError:
    text = f"The other node's certificate {why}: it does not speak as a node does. Update heliograph on both."
    return MeshError(ErrorCode.INVALID_ARGUMENT, text)
