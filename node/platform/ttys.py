"""What a terminal is set to. The calls are POSIX and the same on Linux and macOS."""

from __future__ import annotations

import os
import termios

_LOCAL_MODES = 3


def in_line_mode(tty: str) -> bool:
    """Whether that terminal hands on whole lines, as for a shell; False for a raw one, and when it cannot be read."""
    try:
        terminal = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return bool(termios.tcgetattr(terminal)[_LOCAL_MODES] & termios.ICANON)
    except termios.error:
        return False
    finally:
        os.close(terminal)
