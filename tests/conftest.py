"""Holds for every test: no key goes into the Keychain of who runs it, and Ctrl-C means what it means at a terminal."""

from __future__ import annotations

import os
import signal

# Read by `keyring`, here and in every node that a test starts.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# A shell has what it runs in the background ignore these, and whatever a test starts would inherit that.
for _key in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_key) is signal.SIG_IGN:
        signal.signal(_key, signal.default_int_handler if _key is signal.SIGINT else signal.SIG_DFL)
