"""Runs something where only loopback exists, so that an agent CLI cannot call its maker whatever it is told."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable

_CLONE_NEWNET = 0x40000000


def alone(work: Callable[[], None]) -> None:
    """Runs `work` in a thread of its own network namespace, which the threads and processes it starts share.

    Needs root on Linux; elsewhere `work` runs with the machine's network, and a line on stderr says so.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        print("agent CLIs run with this machine's network: only root on Linux can cut it off", file=sys.stderr)
        work()
        return
    failed: list[BaseException] = []

    def run() -> None:
        try:
            _cut_off()
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the test
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _cut_off() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "no network namespace of its own")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
