"""Where the keys that sign this node's logs are kept: beside its identity, in files of its owner's or the Keychain.

Each key of the node has a log key of its own, made when it is first needed. A former one stays until the new one has
signed; its public half stays for good, for whoever checks what it signed.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from node import certificates
from node.core import note
from node.core.errors import ErrorCode, MeshError
from node.core.log_key import KnownKey, LogKey
from node.identity import Identity
from node.ports import Entropy
from node.vault import FILES_ALONE, PrivateKey, Vault, public_bytes, read_text, write_whole

_log = logging.getLogger(__name__)

_KNOWN_FILE: Final = "log-keys.json"
_MOST_KNOWN: Final = 256
_ID_CHARS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySigner:
    """Implements core.log_key.LogSigner with keys in memory."""

    node_key: EllipticCurvePrivateKey
    first: Ed25519PrivateKey
    second: MLDSA44PrivateKey | None = None

    @property
    def key(self) -> LogKey:
        """The public half."""
        second = None if self.second is None else self.second.public_key().public_bytes_raw()
        return LogKey(public=self.first.public_key().public_bytes_raw(), second=second)

    @property
    def spki(self) -> bytes:
        """The node's public key (DER SubjectPublicKeyInfo)."""
        return public_bytes(self.node_key)

    def sign(self, message: bytes) -> bytes:
        """With the Ed25519 key."""
        return self.first.sign(message)

    def sign_second(self, message: bytes) -> bytes:
        """With the ML-DSA-44 key, of a log key that has one."""
        if self.second is None:
            raise MeshError(ErrorCode.UNSUPPORTED, "This log key has no second key.")
        return self.second.sign(message)

    def sign_as_node(self, message: bytes) -> bytes:
        """With the node's key."""
        return certificates.sign(self.node_key, message)


class LogKeys:
    """The log keys of the node whose identity is in `folder`; `dual` has new ones sign with ML-DSA-44 as well."""

    def __init__(
        self, folder: Path, me: Identity, *, entropy: Entropy, vault: Vault = FILES_ALONE, dual: bool = False
    ) -> None:
        self._folder = folder
        self._me = me
        self._entropy = entropy
        self._vault = vault
        self._name = f"log-{me.node_id[:_ID_CHARS]}{'-dual' if dual else ''}"
        self._dual = dual
        self._signer: KeySigner | None = None

    def signer(self) -> KeySigner:
        """The log key of the node's key in use, made when it is not there; errors as of Vault.read and entrust."""
        if self._signer is None:
            for kind in ("key", "second") if self._dual else ("key",):
                path = self._folder / f"{self._name}.{kind}"
                if not path.exists():
                    made = Ed25519PrivateKey.generate() if kind == "key" else _new_second()
                    write_whole(path, self._vault.entrust(made, self._folder, self._entropy))
            self._signer = self._load(self._name)
        return self._signer

    def former(self, key_ids: frozenset[bytes], origin: str) -> KeySigner | None:
        """A log key that is still here, of those with one of these ids; None when it is lost."""
        for path in sorted(self._folder.glob("log-*.key")):
            if path.stem == self._name:
                continue
            try:
                found = self._load(path.stem)
            except MeshError as error:
                _log.warning("a former log key cannot be had: %s", error.message)
                continue
            if bytes.fromhex(found.key.id_of(origin)) in key_ids:
                return found
        return None

    def forget_former(self) -> None:
        """Deletes former private keys: what follows them is signed by both, and they are to sign nothing more."""
        for path in sorted(self._folder.glob("log-*")):
            if path.suffix in {".key", ".second"} and path.stem != self._name:
                try:
                    self._vault.delete(path, self._folder)
                except MeshError as error:
                    _log.warning("%s", error.message)

    def known(self) -> tuple[KnownKey, ...]:
        """The public halves of all log keys that this node ever used, oldest first."""
        try:
            return tuple(_known_of(one) for one in json.loads(read_text(self._folder / _KNOWN_FILE) or "[]"))
        except (ValueError, TypeError, KeyError, MeshError):
            _log.warning("%s is damaged; of logs that were pruned, former keys are not known", _KNOWN_FILE)
            return ()

    def remember(self, log: str, first: int, key: LogKey) -> None:
        """Keeps that this key signs this log from row `first` on."""
        known = [one for one in self.known() if (one.log, one.first) != (log, first)]
        kept = [*known, KnownKey(log=log, first=first, key=key)][-_MOST_KNOWN:]
        write_whole(self._folder / _KNOWN_FILE, json.dumps([_fields_of(one) for one in kept], indent=1).encode("ascii"))

    def _load(self, name: str) -> KeySigner:
        first = self._read(self._folder / f"{name}.key")
        second = self._read(self._folder / f"{name}.second") if name.endswith("-dual") else None
        if not isinstance(first, Ed25519PrivateKey) or not isinstance(second, MLDSA44PrivateKey | None):
            raise _damaged(self._folder / f"{name}.key")
        return KeySigner(node_key=self._me.key, first=first, second=second)

    def _read(self, path: Path) -> PrivateKey:
        try:
            key = serialization.load_pem_private_key(self._vault.read(path), password=None)
        except (FileNotFoundError, ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise _damaged(path) from error
        if not isinstance(key, PrivateKey):
            raise _damaged(path)
        return key


def keep_note(path: Path, written: str) -> None:
    """Keeps the last checkpoint beside the database, so that an old copy of that, put back, can be told from this."""
    write_whole(path, written.encode("utf-8"))


def _damaged(path: Path) -> MeshError:
    return MeshError(
        ErrorCode.TAMPERED,
        f"The key {path}, which signs this node's timeline, cannot be read: it is missing, damaged or of another kind. "
        "Restore it from a backup. Where there is none, move it away and start the node: it makes another, and the "
        "timeline says that the old one did not agree to that.",
    )


def _new_second() -> MLDSA44PrivateKey:
    try:
        return MLDSA44PrivateKey.generate()
    except UnsupportedAlgorithm as error:
        raise MeshError(
            ErrorCode.UNSUPPORTED,
            "The library `cryptography` of this installation has no ML-DSA-44. Take second_signature out of [timeline] "
            "in config.toml, or run: pip install --upgrade cryptography, in the environment of helio.",
        ) from error


def _fields_of(one: KnownKey) -> dict[str, str | int]:
    fields: dict[str, str | int] = {"log": one.log, "from": one.first, "key": note.encode64(one.key.public)}
    return fields if one.key.second is None else fields | {"second": note.encode64(one.key.second)}


def _known_of(fields: dict[str, str | int]) -> KnownKey:
    second = fields.get("second")
    key = LogKey(
        public=note.decode64(str(fields["key"])), second=None if second is None else note.decode64(str(second))
    )
    return KnownKey(log=str(fields["log"]), first=int(fields["from"]), key=key)
