"""What is shown is one line, hides nothing, and says exactly what was there."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.escape import ELLIPSIS, escape, escape_to_width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, 100 %", "plain words, 100 %"),
        ("größer 日本語 🙂 ⚠️", "größer 日本語 🙂 ⚠️"),
        ("two\nlines\r\n", r"two\x0alines\x0d\x0a"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m and \x9d0;title\x07", r"\x9b31m and \x9d0;title\x07"),
        ("tab\tdel\x7fnul\0", r"tab\x09del\x7fnul\x00"),
        ("next\x85line", r"next\x85line"),
        ("a\u2028b\u2029c", r"a\u{2028}b\u{2029}c"),
        ("user\u202egnp.exe", r"user\u{202e}gnp.exe"),
        ("\u2066isolate\u2069 \u061c", r"\u{2066}isolate\u{2069} \u{61c}"),
        ("pay\u200bments\ufeff", r"pay\u{200b}ments\u{feff}"),
        ("tag\U000e0041", r"tag\u{e0041}"),
        ("half \ud83d", r"half \u{d83d}"),
        ("filler \u3164 \u2800", r"filler \u{3164} \u{2800}"),
        (r"C:\new \x1b", r"C:\\new \\x1b"),
    ],
)
def test_hidden_characters_are_spelled_out(text: str, shown: str) -> None:
    assert escape(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_the_result_is_one_line_of_visible_characters(text: str) -> None:
    shown = escape(text)
    assert len(shown.splitlines()) <= 1
    hidden = [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}]
    assert not hidden
    shown.encode()


@given(st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from("\\xu{}0a1b"))))
def test_the_text_can_be_read_back(text: str) -> None:
    def original(match: re.Match[str]) -> str:
        return "\\" if match[1] == "\\" else chr(int(match[2] or match[3], 16))

    assert re.sub(r"\\(\\|x([0-9a-f]{2})|u\{([0-9a-f]+)\})", original, escape(text)) == text


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 40))
def test_a_width_is_kept_and_no_escape_is_cut(text: str, limit: int) -> None:
    shown, whole = escape_to_width(text, limit), escape(text)
    assert len(shown) <= limit
    if len(whole) <= limit:
        assert shown == whole
    else:
        assert shown.endswith(ELLIPSIS)
        pieces = [escape(character) for character in text]
        assert shown.removesuffix(ELLIPSIS) in {"".join(pieces[:count]) for count in range(len(pieces) + 1)}


def test_a_long_text_is_not_escaped_beyond_the_limit() -> None:
    assert escape_to_width("\n" * 1_000_000, 9) == r"\x0a\x0a" + ELLIPSIS
