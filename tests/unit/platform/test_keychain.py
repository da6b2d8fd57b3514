"""The Keychain through `keyring`: what is asked of it, what its errors become, and when there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.platform import keychain
from node.platform.keychain import Keychain, KeychainError
from tests.keychains import FileKeyring


class Forgetful(FileKeyring):
    def set_password(self, service: str, username: str, password: str) -> None:
        pass


def test_a_secret_is_kept_and_forgotten(tmp_path: Path) -> None:
    keyring = FileKeyring(tmp_path / "keychain")
    here = Keychain(keyring)
    assert here.get("a") is None
    here.put("a", "one")
    here.put("b", "two")
    here.put("a", "three")
    assert (here.get("a"), here.get("b")) == ("three", "two")
    here.delete("a")
    here.delete("a")
    assert keyring.items == {"b": "two"}


def test_what_it_says_when_it_is_locked_is_told(tmp_path: Path) -> None:
    keyring = FileKeyring(tmp_path / "keychain")
    here = Keychain(keyring)
    here.put("a", "one")
    keyring.locked = True
    for act in (lambda: here.get("a"), lambda: here.put("a", "two"), lambda: here.delete("a")):
        with pytest.raises(KeychainError, match="keychain: "):
            act()
    assert keyring.items == {"a": "one"}


def test_what_it_did_not_keep_is_not_believed(tmp_path: Path) -> None:
    with pytest.raises(KeychainError, match="did not keep"):
        Keychain(Forgetful(tmp_path / "keychain")).put("a", "one")


FINDS = """
import sys
{before}
from node.platform import keychain
print(keychain.of_library() is not None, keychain.of_this_system() is not None)
"""
MACOS = "import keyring; from keyring.backends import macOS; keyring.set_keyring(macOS.Keyring())"


@pytest.mark.parametrize(("before", "backend", "found"), [
    (MACOS, "", True),
    ("", "keyring.backends.null.Keyring", False),
    ("", "keyring.backends.Windows.WinVaultKeyring", False),
    ("", "nowhere.Keyring", False),
    ("sys.modules['keyring'] = None", "", False),
])  # fmt: skip
def test_it_is_the_one_of_macos_or_none(before: str, backend: str, *, found: bool) -> None:
    environment = {**os.environ, "PYTHON_KEYRING_BACKEND": backend}
    if not backend:
        del environment["PYTHON_KEYRING_BACKEND"]
    told = subprocess.run(
        [sys.executable, "-c", FINDS.format(before=before)],
        cwd=Path(__file__).parents[3], env=environment, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert told == [str(found), str(found and sys.platform == "darwin")]


def test_no_test_finds_the_keychain_of_a_person() -> None:
    assert keychain.of_this_system() is None
