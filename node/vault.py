"""Where private keys are kept: each in a file of its owner's alone, or in the Keychain, and then the file says so.

What is in the Keychain is there before the file that points to it, and is deleted before that file is. So an item that
no file names was left by a crash in between, or by a home that was moved. It may be of a key that was or is in use.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from node.core.errors import ErrorCode, MeshError
from node.platform import durability
from node.platform.disk import flush_folder
from node.platform.keychain import SERVICE, Keychain, KeychainError
from node.ports import Entropy

PrivateKey: TypeAlias = EllipticCurvePrivateKey | Ed25519PrivateKey | MLDSA44PrivateKey
"""What a node keeps: its own key, and those that sign its logs."""

_POINTER: Final = "This is not a key. The key of this node is in the macOS Keychain:\nservice: {}\naccount: {}\n"
_ACCOUNT: Final = "([0-9a-f]{64}[.][0-9a-f]{16}[.][0-9a-f]{16})"
_pointer_in = re.compile(re.escape(_POINTER.format(SERVICE, "@")).replace("@", _ACCOUNT) + r"\Z", re.ASCII).search
_MARK_CHARS: Final = 16
_DRAW_BYTES: Final = 8
_NEEDS: Final = (
    "That takes macOS, and the library `keyring` with the Keychain as its backend. Run: pip install keyring, in the "
    "environment of helio."
)
_OFF: Final = 'set keychain = "off" under [identity] in config.toml'


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """`keychain` is what this system has, None for none; new keys go there if `chosen`, and else into files."""

    keychain: Keychain | None = None
    chosen: bool = False

    def like(self, *, in_keychain: bool) -> Vault:
        """The same, for a key that goes on: nothing puts it into the Keychain that was not there."""
        return replace(self, chosen=self.chosen and in_keychain)

    def entrust(self, key: PrivateKey, folder: Path, entropy: Entropy) -> bytes:
        """What the key's file in the home's `folder` is to hold: the key, or where it is by now; UNAVAILABLE."""
        pem = pem_of(key)
        if not self.chosen or self.keychain is None:
            return pem
        # The same key may be kept twice, by two generations and by two homes; each deletes its own.
        pin = hashlib.sha256(public_bytes(key)).hexdigest()
        account = f"{pin}.{_mark(folder)}.{entropy(_DRAW_BYTES).hex()}"
        try:
            self.keychain.put(account, pem.decode("ascii"))
        except KeychainError as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"The macOS Keychain does not take a new key for this node: {error}. Nothing was changed. Unlock it "
                f"(security unlock-keychain) and do it again. To keep keys in files, {_OFF}.",
            ) from error
        return _POINTER.format(SERVICE, account).encode("ascii")

    def holds(self, path: Path) -> bool:
        """Whether the key of that file is in the Keychain alone."""
        key, account = _parts(path)
        return account is not None and not key

    def read(self, path: Path) -> bytes:
        """The key (PEM) of that file, as it is kept; FileNotFoundError without the file.

        UNAVAILABLE when the Keychain does not give it now, TAMPERED when it has no such item, UNSUPPORTED without one.
        """
        key, account = _parts(path)
        if account is None:
            return path.read_bytes()
        if key:
            return key.encode("utf-8")
        if self.keychain is None:
            raise MeshError(
                ErrorCode.UNSUPPORTED,
                f"{path} says that this node's key is in the macOS Keychain, which cannot be read from here. {_NEEDS} "
                "Nothing was changed.",
            )
        try:
            secret = self.keychain.get(account)
        except KeychainError as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"This node's key is in the macOS Keychain, which does not give it: {error}. Nothing was changed. "
                f"Unlock it (security unlock-keychain), allow Python the item {SERVICE!r} if it asks, and run: helio "
                f"up. If the node is to start before anybody unlocks it: {_OFF}, start the node while it is unlocked, "
                "and run: helio id rotate && helio down && helio up.",
            ) from error
        if secret is None:
            raise MeshError(
                ErrorCode.TAMPERED,
                f"{path} says that this node's key is in the macOS Keychain, which has no such item (service "
                f"{SERVICE!r}, account {account!r}). Start the node as the person whose Keychain has it, or restore "
                f"the Keychain from a backup. Where there is none, move the folder {path.parent} away with all that is "
                "in it, and keep it: the node begins anew with another id, and every peer is paired again.",
            )
        return secret.encode("utf-8")

    def take_out(self, path: Path, folder: Path) -> None:
        """Brings the key of that file from the Keychain into it; errors as of `read` and `delete`."""
        _, account = _parts(path)
        if account is not None:
            key = self.read(path)
            # The pointer goes last: it is all that knows what there is to delete.
            write_whole(path, key + _POINTER.format(SERVICE, account).encode("ascii"))
            self._forget(account, folder)
            write_whole(path, key)

    def delete(self, path: Path, folder: Path) -> None:
        """Deletes a key of the home's `folder`: from the Keychain, then its file; UNAVAILABLE or UNSUPPORTED."""
        _, account = _parts(path)
        if account is not None:
            self._forget(account, folder)
        path.unlink(missing_ok=True)

    def _forget(self, account: str, folder: Path) -> None:
        # What a copy of another home points to is that home's.
        if account.split(".")[1] != _mark(folder):
            return
        if self.keychain is None:
            message = f"A former key of this node is in the macOS Keychain, and cannot be deleted from here. {_NEEDS}"
            raise MeshError(ErrorCode.UNSUPPORTED, message)
        try:
            self.keychain.delete(account)
        except KeychainError as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"A former key of this node is still in the macOS Keychain, which does not let go of it: {error}. It "
                "is deleted at the next helio id rotate.",
            ) from error


FILES_ALONE: Final = Vault()


def public_bytes(key: PrivateKey) -> bytes:
    """The public half: DER SubjectPublicKeyInfo."""
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def pem_of(key: PrivateKey) -> bytes:
    """A private key as TLS wants it: PKCS8, PEM, not encrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write_whole(path: Path, data: bytes) -> None:
    """Puts `data` there whole or not at all, for its owner alone."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        durability.flush(file.fileno())
    draft.rename(path)
    flush_folder(path.parent)


def read_text(path: Path) -> str:
    """What stands in the file; nothing when there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _parts(path: Path) -> tuple[str, str | None]:
    """The key that stands in the file itself, empty for none, and the account of the Keychain that it points to."""
    text = read_text(path)
    found = _pointer_in(text)
    return (text[: found.start()], found[1]) if found is not None else (text, None)


def _mark(folder: Path) -> str:
    return hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:_MARK_CHARS]
