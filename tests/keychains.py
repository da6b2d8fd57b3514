"""A Keychain as `keyring` shows it, kept in a file: it can be locked, deny an item, and see a process end."""

from __future__ import annotations

import json
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringError, KeyringLocked, PasswordDeleteError, PasswordSetError

from node.platform.keychain import Keychain
from node.vault import Vault


class KilledError(BaseException):
    """Stands for the end of the process: nothing that the node does about errors is done about it."""


class FileKeyring(KeyringBackend):
    """Does as the backend for macOS does. `kill_at` is the call after which it all ends; half less, and before it."""

    priority = 0.1

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.locked = False
        self.denied: set[str] = set()
        self.calls = 0
        self.kill_at: float = -1

    @property
    def items(self) -> dict[str, str]:
        """All that is kept, by account."""
        kept: dict[str, str] = json.loads(self._path.read_text()) if self._path.exists() else {}
        return kept

    def get_password(self, service: str, username: str) -> str | None:
        self._step(service, username, KeyringLocked("Can't get password from keychain: (-128, 'Access Denied')"))
        found = self.items.get(username)
        self._end_step()
        return found

    def set_password(self, service: str, username: str, password: str) -> None:
        self._step(service, username, PasswordSetError("Can't store password on keychain: (-25308, 'Unknown Error')"))
        self._keep({**self.items, username: password})
        self._end_step()

    def delete_password(self, service: str, username: str) -> None:
        self._step(service, username, PasswordDeleteError("Can't delete password in keychain: (-25308, 'Unknown')"))
        items = self.items
        del items[username]
        self._keep(items)
        self._end_step()

    def _keep(self, items: dict[str, str]) -> None:
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(items))
        draft.rename(self._path)

    def _step(self, service: str, account: str, error: KeyringError) -> None:
        assert service == "heliograph"
        if self.locked or account in self.denied:
            raise error
        self.calls += 1
        if self.kill_at == self.calls - 0.5:
            raise KilledError

    def _end_step(self) -> None:
        if self.kill_at == self.calls:
            raise KilledError


def vault(keyring: FileKeyring, *, chosen: bool = True) -> Vault:
    """What a node has on a Mac with that Keychain; `chosen` is keychain = "auto"."""
    return Vault(keychain=Keychain(keyring), chosen=chosen)
