"""The version of this software, as rows and `--version` name it."""

from __future__ import annotations

VERSION = "0.1.0"
SOFTWARE = f"heliograph/{VERSION}"
