"""Certificates: made so that pinning them works, and nothing else is taken for one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from node import certificates
from node.core.errors import ErrorCode
from tests.clock_twins import START_US
from tests.integration.mesh import refused

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
SERIALS = count(1)
Builder = x509.CertificateBuilder
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def made(key: ec.EllipticCurvePrivateKey = KEY) -> str:
    return certificates.make(key, now_us=START_US, serial=next(SERIALS).to_bytes(20, "big"))


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def like(
    certificate: x509.Certificate,
    key: PrivateKey,
    *,
    name: x509.Name | None = None,
    change: Callable[[x509.Extension[x509.ExtensionType]], tuple[x509.ExtensionType, bool] | None] = lambda e: (
        e.value,
        e.critical,
    ),
    signer: PrivateKey | None = None,
) -> str:
    """A certificate like that one, signed by hand with a part changed."""
    builder = (
        Builder()
        .subject_name(name or certificate.subject)
        .issuer_name(name or certificate.subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(certificate.not_valid_before_utc)
        .not_valid_after(certificate.not_valid_after_utc)
    )
    for extension in certificate.extensions:
        changed = change(extension)
        if changed is not None:
            builder = builder.add_extension(changed[0], critical=changed[1])
    signer = signer or key
    return pem(builder.sign(signer, None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()))


def test_what_is_made_says_whose_key_it_is_and_that_it_may_sign_nothing_but_handshakes() -> None:
    text = made()
    certificate = x509.load_pem_x509_certificate(text.encode())
    spki = KEY.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    pin = hashlib.sha256(spki).hexdigest()
    assert certificates.spki_hash(KEY.public_key()) == pin
    assert certificate.subject == certificate.issuer == x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, pin)])
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert usage.value.digital_signature
    assert not any((usage.value.key_cert_sign, usage.value.crl_sign, usage.value.key_agreement))
    subject_key = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    authority = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert authority.key_identifier == subject_key.digest
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [certificates.target_name(pin)]
    made_at = datetime.fromtimestamp(START_US // 1_000_000, UTC)
    assert certificate.not_valid_before_utc <= made_at - timedelta(days=1)
    assert certificate.not_valid_after_utc > made_at + timedelta(days=3_000)
    assert certificates.expires_us(text) == int(certificate.not_valid_after_utc.timestamp()) * 1_000_000
    assert certificates.spki_hash(certificates.public_key(text)) == pin


def test_two_of_one_key_have_one_pin_and_two_texts() -> None:
    one, two = made(), made()
    keys = certificates.CertificateKeys()
    assert one != two
    assert keys.spki(one) == keys.spki(two) != keys.spki(made(OTHER))


@pytest.mark.parametrize(
    "text",
    ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "ü" * 9, "\ud800", "\0" * 64,
     "A" * (certificates.MOST_BYTES + 1)],
)  # fmt: skip
def test_garbage_is_refused(text: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "certificate"):
        certificates.public_key(text)


def test_any_cut_is_refused() -> None:
    text = made()
    for at in range(0, len(text), 7):
        with refused(ErrorCode.INVALID_ARGUMENT):
            certificates.public_key(text[:at])


@pytest.mark.parametrize(
    "key",
    [rsa.generate_private_key(65_537, 2_048), ed25519.Ed25519PrivateKey.generate(),
     ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP256K1())],
    ids=["rsa", "ed25519", "p384", "secp256k1"],
)  # fmt: skip
def test_a_key_of_another_kind_is_refused(key: PrivateKey) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "P-256"):
        certificates.public_key(like(x509.load_pem_x509_certificate(made().encode()), key))


def test_one_that_another_key_signed_is_refused() -> None:
    certificate = x509.load_pem_x509_certificate(made().encode())
    assert certificates.public_key(like(certificate, KEY)) == KEY.public_key()
    with refused(ErrorCode.INVALID_ARGUMENT, "own key"):
        certificates.public_key(like(certificate, KEY, signer=OTHER))


def test_a_second_certificate_behind_the_first_is_refused() -> None:
    """A TLS library would trust both."""
    for text in (made() + made(OTHER), "words\n" + made(), made() + "\n"):
        with refused(ErrorCode.INVALID_ARGUMENT, "alone"):
            certificates.public_key(text)


def test_the_name_of_another_is_refused() -> None:
    certificate = x509.load_pem_x509_certificate(made().encode())
    theirs = x509.load_pem_x509_certificate(made(OTHER).encode()).subject
    with refused(ErrorCode.INVALID_ARGUMENT, "name"):
        certificates.public_key(like(certificate, KEY, name=theirs))


SIGNS_ALL = x509.KeyUsage(
    digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=False, encipher_only=False, decipher_only=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        (x509.KeyUsage, None),
        (x509.KeyUsage, (SIGNS_ALL, True)),
        (x509.SubjectKeyIdentifier, None),
        (x509.AuthorityKeyIdentifier, None),
        (x509.SubjectKeyIdentifier, (x509.SubjectKeyIdentifier(b"12345678901234567890"), False)),
        (x509.SubjectAlternativeName, (x509.SubjectAlternativeName([x509.DNSName("a.b")]), False)),
    ],
)
def test_one_without_the_limits_of_a_node_is_refused(
    kind: type[x509.ExtensionType], instead: tuple[x509.ExtensionType, bool] | None
) -> None:
    certificate = x509.load_pem_x509_certificate(made().encode())
    changed = like(certificate, KEY, change=lambda e: instead if isinstance(e.value, kind) else (e.value, e.critical))
    with refused(ErrorCode.INVALID_ARGUMENT, "limits"):
        certificates.public_key(changed)


def test_a_limit_that_is_not_critical_or_one_too_many_is_refused() -> None:
    certificate = x509.load_pem_x509_certificate(made().encode())
    lax = like(certificate, KEY, change=lambda e: (e.value, False))
    with refused(ErrorCode.INVALID_ARGUMENT, "limits"):
        certificates.public_key(lax)
    ca = like(
        certificate, KEY,
        change=lambda e: (x509.BasicConstraints(ca=True, path_length=None), True)
        if isinstance(e.value, x509.SubjectAlternativeName) else (e.value, e.critical),
    )  # fmt: skip
    with refused(ErrorCode.INVALID_ARGUMENT, "limits"):
        certificates.public_key(ca)


def test_signatures() -> None:
    signature = certificates.sign(KEY, b"words")
    keys = certificates.CertificateKeys()
    assert keys.signed(made(), b"words", signature)
    for statement, by, over in ((b"word", KEY, signature), (b"words", OTHER, signature), (b"words", KEY, b"\0" * 70)):
        assert not certificates.signed(by.public_key(), statement, over)
    assert not keys.signed(made(), b"words", b"")


def authority(key: ec.EllipticCurvePrivateKey = KEY) -> str:
    return certificates.make_authority(key, now_us=START_US, serial=next(SERIALS).to_bytes(20, "big"))


def issued(by: str, key: ec.EllipticCurvePrivateKey, to: str, *, days: int = 0) -> str:
    now_us = START_US + days * 86_400_000_000
    return certificates.issue(by, key, to, now_us=now_us, serial=next(SERIALS).to_bytes(20, "big"))


def extensions(text: str) -> dict[str, tuple[bool, x509.ExtensionType]]:
    found = x509.load_pem_x509_certificate(text.encode()).extensions
    return {type(extension.value).__name__: (extension.critical, extension.value) for extension in found}


def test_an_authority_may_sign_certificates_of_nodes_and_nothing_else() -> None:
    parts = extensions(authority())
    assert parts.keys() == {"BasicConstraints", "KeyUsage", "SubjectKeyIdentifier", "AuthorityKeyIdentifier"}
    assert parts["BasicConstraints"] == (True, x509.BasicConstraints(ca=True, path_length=0))
    critical, usage = parts["KeyUsage"]
    assert isinstance(usage, x509.KeyUsage)
    assert (critical, usage.key_cert_sign) == (True, True)
    assert not any((usage.digital_signature, usage.crl_sign, usage.key_agreement, usage.key_encipherment))
    assert certificates.is_authority(authority(), KEY.public_key())
    assert not certificates.is_authority(authority(), OTHER.public_key())
    assert not certificates.is_authority(made(), KEY.public_key())
    with refused(ErrorCode.INVALID_ARGUMENT, "limits"):
        certificates.public_key(authority())


def test_what_an_authority_issues_is_for_one_key_and_may_sign_nothing() -> None:
    root, node = authority(), made(OTHER)
    text = issued(root, KEY, node)
    found, of_root = (x509.load_pem_x509_certificate(one.encode()) for one in (text, root))
    found.verify_directly_issued_by(of_root)
    pin = certificates.spki_hash(OTHER.public_key())
    assert found.subject == x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, pin)])
    parts = extensions(text)
    assert parts["BasicConstraints"] == (True, x509.BasicConstraints(ca=False, path_length=None))
    critical, usage = parts["KeyUsage"]
    assert isinstance(usage, x509.KeyUsage)
    assert (critical, usage.digital_signature, usage.key_cert_sign) == (True, True, False)
    assert parts["SubjectAlternativeName"][1] == x509.SubjectAlternativeName(
        [x509.DNSName(certificates.target_name(pin))]
    )
    _, own_id = parts["SubjectKeyIdentifier"]
    _, issuer_id = parts["AuthorityKeyIdentifier"]
    assert own_id == x509.SubjectKeyIdentifier.from_public_key(OTHER.public_key())
    assert issuer_id == x509.AuthorityKeyIdentifier.from_issuer_public_key(KEY.public_key())
    made_at = datetime.fromtimestamp(START_US // 1_000_000, UTC)
    assert found.not_valid_before_utc <= made_at - timedelta(days=1)
    assert found.not_valid_after_utc > made_at + timedelta(days=3_000)
    # None outlives the authority.
    assert certificates.expires_us(issued(root, KEY, node, days=2_000)) == certificates.expires_us(root)
    with refused(ErrorCode.INVALID_ARGUMENT, "limits"):
        certificates.public_key(like(found, OTHER))


def test_whose_an_issued_certificate_is_and_who_issued_it() -> None:
    root, node = authority(), made(OTHER)
    text = issued(root, KEY, node)
    assert certificates.is_issued_by(root, text)
    assert certificates.is_issued_for(node, text)
    assert not certificates.is_issued_by(authority(OTHER), text)
    assert not certificates.is_issued_by(root, node)
    assert not certificates.is_issued_for(made(), text)
    for bad in ("", "x", "\u00fc", text[:-9], text + text, text + root, text + " " * certificates.MOST_BYTES):
        assert not certificates.is_issued_for(node, bad), bad
        assert not certificates.is_issued_by(root, bad), bad
