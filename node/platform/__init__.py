"""What differs between Linux and macOS, one small module for each question the node asks its system."""

from __future__ import annotations

import sys
from typing import Final

# A value, not the comparison itself: type checkers then look at both branches on both systems.
IS_DARWIN: Final = bool(sys.platform == "darwin")
