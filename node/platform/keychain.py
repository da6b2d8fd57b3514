"""The macOS Keychain as a place for secrets, through the library `keyring`. Other systems have none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from node.platform import IS_DARWIN

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

try:
    import keyring
    from keyring.backends import macOS
    from keyring.errors import KeyringError
except ImportError:
    # An extra, and on macOS alone: heliograph[keychain].
    _HAS_LIBRARY = False
else:
    _HAS_LIBRARY = True

SERVICE: Final = "heliograph"


class KeychainError(Exception):
    """The Keychain is locked, somebody denied access to it, or it failed; the text is what it said."""


class Keychain:
    """The items of the service `heliograph`, each under an account. Every call may wait for a person at a dialog."""

    def __init__(self, backend: KeyringBackend) -> None:
        self._backend = backend

    def get(self, account: str) -> str | None:
        """The secret; None when there is no such item. KeychainError when it is not given."""
        with _told():
            return self._backend.get_password(SERVICE, account)

    def put(self, account: str, secret: str) -> None:
        """Keeps a secret; KeychainError when it does not hold it afterwards."""
        with _told():
            self._backend.set_password(SERVICE, account, secret)
        if self.get(account) != secret:
            raise KeychainError("it did not keep what it was given")

    def delete(self, account: str) -> None:
        """Forgets a secret, also one that is not there; KeychainError when it stays."""
        if self.get(account) is not None:
            with _told():
                self._backend.delete_password(SERVICE, account)


def of_this_system() -> Keychain | None:
    """The one of the person whom this process belongs to; None on Linux, and where `keyring` is not installed."""
    return of_library() if IS_DARWIN else None


def of_library() -> Keychain | None:
    """The one that `keyring` works with; None when there is no such library, or its settings name another backend."""
    if not _HAS_LIBRARY:
        return None
    try:
        backend = keyring.get_keyring()
    except (ImportError, RuntimeError):
        # Its settings name what is not installed, or not for this system.
        return None
    return Keychain(backend) if isinstance(backend, macOS.Keyring) else None


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except KeyringError as error:
        raise KeychainError(str(error) or type(error).__name__) from error
