"""Shows any text as one physical line in which nothing is hidden: for terminals, panels, logs and exports."""

from __future__ import annotations

import re

ELLIPSIS = "…"

# Spelled out as ranges rather than asked of `unicodedata`, so that the same row looks the same under every Python.
_HIDDEN = re.compile(
    "["
    r"\\"  # the escape's own mark, so that two texts never look alike
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: new lines, tab, ESC and CSI of terminal sequences, NEL
    "\u00ad\u034f\u061c\u070f\u180b-\u180f"  # soft hyphen, joiners and marks without a shape
    "\u0600-\u0605\u06dd\u0890\u0891\u08e2"  # Arabic number and end signs: format characters
    "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters and fillers that draw nothing
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line and paragraph separators, bidi controls
    "\ufe00-\ufe0d\ufeff\ufff0-\uffff"  # variation selectors but for the two of emoji, BOM, interlinear marks
    "\ud800-\udfff\ue000-\uf8ff"  # lone surrogates, private use
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format characters
    "\U000e0000-\U0010ffff"  # tags, variation selectors beyond 16, private planes
    "]"
)


def escape(text: str) -> str:
    r"""`text` on one line: hidden characters as \x1b or \u{202e}, a backslash doubled. No two texts look the same."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return _HIDDEN.sub(_visible, text)


def escape_to_width(text: str, limit: int) -> str:
    """`escape(text)` in at most `limit` (>= 1) characters, cut between whole escapes and marked by an ellipsis."""
    # Every character shows as one or more, so what lies beyond the limit cannot come into view.
    shown = escape(text[: limit + 1])
    if len(shown) <= limit:
        return shown
    kept: list[str] = []
    room = limit - len(ELLIPSIS)
    for character in text:
        piece = escape(character)
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + ELLIPSIS


def _visible(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\\":
        return "\\\\"
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
