"""The node's identity: a P-256 key pair of its own; the node id is the hash of the public key."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from node.core.errors import ErrorCode, MeshError
from node.platform import durability

_KEY_FILE = "node.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`node_id` is the SHA-256 of the public key (DER SubjectPublicKeyInfo) as 52 lowercase base32 characters."""

    key: ec.EllipticCurvePrivateKey
    node_id: str


def node_id_of(key: ec.EllipticCurvePublicKey) -> str:
    """The node id that belongs to a public key."""
    spki = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b32encode(hashlib.sha256(spki).digest()).decode("ascii").lower().rstrip("=")


def load_or_create(folder: Path) -> Identity:
    """The identity kept in `folder`, made on first use; the key file is 0600 and written whole or not at all."""
    path = folder / _KEY_FILE
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        pem = path.read_bytes()
    except FileNotFoundError:
        pem = _create(path)
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except ValueError as error:
        raise MeshError(
            ErrorCode.TAMPERED,
            f"The node's key {path} cannot be read: it is damaged or of another kind. Restore it from a backup; "
            "deleting it gives this node a new identity.",
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise MeshError(ErrorCode.TAMPERED, f"The node's key {path} is not a P-256 key; restore it from a backup.")
    return Identity(key=key, node_id=node_id_of(key.public_key()))


def _create(path: Path) -> bytes:
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, pem)
        durability.flush(descriptor)
    finally:
        os.close(descriptor)
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        durability.flush(folder)
    finally:
        os.close(folder)
    return pem
