"""Text that can be stored and sent."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD; pairs become the character they spell."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
