"""Holds for every test: no key of a test goes into the Keychain of the person who runs it."""

from __future__ import annotations

import os

# Read by `keyring`, here and in every node that a test starts.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
