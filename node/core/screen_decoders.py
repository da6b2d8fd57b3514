"""Encoded and disguised stretches of a text and what each spells; total over `str`, and linear in its length."""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from node.core import screen_shape

Run = tuple[int, int, str]  # start, end, and the text that stands for what is between

# What a reader does not see.
INVISIBLE = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)

_LOOKALIKES = {
    latin: [ord(other) for other in others]
    for latin, others in {
        "a": "аαɑᴀ", "b": "ьвβʙᏼ", "c": "сϲᴄ", "d": "ԁᴅ", "e": "еєεҽᴇ", "f": "ƒꜰ", "g": "ɡցɢ", "h": "һհнʜ",
        "i": "іɩιӏǀǃɪ", "j": "јյᴊ", "k": "кκᴋ", "l": "ʟⅼ", "m": "мᴍ", "n": "ոпηɴ", "o": "оοօσᴏ", "p": "рρᴘ",
        "q": "ԛզ", "r": "гᴦʀ", "s": "ѕꜱ", "t": "тτᴛ", "u": "սυᴜ", "v": "ѵνᴠ", "w": "ԝωɯᴡ", "x": "хχ",
        "y": "уγүʏ", "z": "ᴢ",
    }.items()
}  # fmt: skip
_LATIN_OF = {
    **{code: latin for latin, codes in _LOOKALIKES.items() for code in codes},
    **{start + i: chr(97 + i) for start in (0x1F150, 0x1F170, 0x1F1E6) for i in range(26)},
}
_LOOKALIKE = re.compile("[" + "".join(map(chr, _LATIN_OF)) + "]")
_LOOKALIKE_WORD = re.compile("[a-z" + "".join(map(chr, _LATIN_OF)) + "]{2,40}")
_SHORTEST_MIXED, _LEAST_MIXED = 3, 3
_ROT13 = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm"
)
_LEET = {"0": "o", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "@": "a", "$": "s", "+": "t", "!": "i", "|": "l"}
_LEET_AS_I = str.maketrans({**_LEET, "1": "i"})
_LEET_AS_L = str.maketrans({**_LEET, "1": "l"})
_UNSPACED_FROM = "\u2e80"  # no digit is drawn like these signs
_LEET_WORD = re.compile(r"[\w@$|+!]{2,30}")

# One letter, up to three separators, one letter, ...: five letters at least. Each step has one way to match.
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[ \t.,:;!?'\-_*·|/~+]{1,3}[^\W\d_](?![^\W_])){4,}")
_SEPARATORS = re.compile(r"[^\w]+|_+")
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}(?:\r?\n[ \t>]{0,8}[A-Za-z0-9+/_-]{4,}"  # wrapped lines too
    r"(?==|[ \t\"'`]*(?:[\r\n]|$)))*(?:\r?\n[ \t>]{0,8}[A-Za-z0-9+/_-]{1,3}(?==))?={0,2}"
)
_BASE32 = re.compile(r"(?<![A-Za-z0-9])(?:[A-Z2-7]{16,}|[a-z2-7]{24,})={0,6}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x|\\x)?[0-9a-fA-F]{2}(?:[ :,\n]{0,2}(?:0x|\\x)?[0-9a-fA-F]{2}){7,}")
# These begin with what they always begin with, outside of any group: the engine then jumps from one to the next.
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*")
_ENTITY_ONE = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});"
_ENTITY = re.compile(f"{_ENTITY_ONE}(?:{_ENTITY_ONE})*")
_BACKSLASHED = r"\\(?:u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2})"
_BACKSLASH = re.compile(f"{_BACKSLASHED}(?:{_BACKSLASHED})*")
_BACKSLASH_ONE = re.compile(r"\\[uUx]\{?([0-9a-fA-F]{2,8})\}?")
# Invisible characters that spell: tag letters one each, variation selectors one byte each.
TAGS = re.compile("[\U000e0020-\U000e007f]{2,}")
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")


def rotated(text: str) -> str:
    return text.translate(_ROT13)


def backwards(text: str) -> str:
    return text[::-1]


def _readable(text: str) -> bool:
    """Whether decoded text is prose, or one run long enough to be a further layer, rather than binary data."""
    if len(text) < 8 or not text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
        if not INVISIBLE.sub("", text).replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
            return False
        if len(text) < 8 and text.isascii():
            return False
    drawn = text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_LATIN_OF)
    letters = max(sum(map(str.isalpha, text)), sum(map(str.isalpha, drawn)))
    further = "%" in text or "&#" in text or text.isalnum()
    return letters * 2 >= len(text) or (len(text) >= 16 and (letters > 2 or further))


def _as_text(data: bytes) -> str | None:
    if len(data) >= 8 and data[1::2].count(0) * 4 >= len(data):  # UTF-16, as shells on Windows encode commands
        data = data.replace(b"\0", b"")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    text = spelled_out(text)
    return text if _readable(text) else None


# No text in UTF-8 begins like this: with what only continues a character, or with one that is not continued.
_NO_UTF8 = re.compile(
    rb"[\x80-\xc1\xf5-\xff]|[\x01-\x7f]{1,3}[\x80-\xc1\xf5-\xff]|[\x01-\x7f]{0,3}[\xc2-\xf4][\x01-\x7f\xc0-\xff]"
)

_NO_START = "ghijklmnopqrstuv+/"  # of base64: the first byte is one of those that begin nothing


def _base64_text(token: str) -> str | None:
    body = token.rstrip("=").replace("-", "+").replace("_", "/")
    for skip in range(4):  # a label glued to the front shifts the alignment
        part = body[skip:]
        if len(part) >= 8 and (part[0] in _NO_START or _NO_UTF8.match(binascii.a2b_base64(part[:8])) is not None):
            continue
        usable = len(part) - (len(part) % 4 == 1)
        try:
            data = binascii.a2b_base64(part[:usable] + "=" * (-usable % 4))
        except binascii.Error:
            continue
        text = _as_text(data)
        if text is not None:
            return text
    return None


def _base64_runs(text: str, flat: bytes) -> list[Run]:
    runs: list[Run] = []
    read = 0
    told: dict[str, str | None] = {}  # paths and ids are repeated more often than not
    for start, _ in screen_shape.long_runs(flat):
        match = _BASE64.match(text, start) if start >= read else None
        if match is None:
            continue
        read = match.end()
        found = match.group()
        if found not in told:
            told[found] = _base64_said("".join(found.split()).replace(">", ""))
        decoded = told[found]
        if decoded is not None:
            runs.append((match.start(), match.end(), decoded))
    return runs


def _base64_said(token: str) -> str | None:
    """What a token says, as it stands, rotated, or backwards."""
    if token.isalpha() and (token.islower() or token.isupper()):
        return None
    for candidate in (token, token.translate(_ROT13), token[::-1].lstrip("=")):
        decoded = _base64_text(candidate)
        if decoded is not None:
            return decoded
    return None


def _base32_runs(text: str, flat: bytes) -> list[Run]:
    runs: list[Run] = []
    for start, end in screen_shape.long_runs(flat):
        for match in _BASE32.finditer(text, start, end + 6):
            token = match.group().rstrip("=").upper()
            usable = len(token) - {1: 1, 3: 1, 6: 1}.get(len(token) % 8, 0)
            decoded = _as_text(base64.b32decode(token[:usable] + "=" * (-usable % 8)))
            if decoded is not None:
                runs.append((match.start(), match.end(), decoded))
    return runs


_HEX_PART = re.compile(r"(?:[0-9a-fA-F]{2}){8,}")
_NOT_HEX = re.compile(r"0x|\\x|[^0-9a-fA-F]")


def _hex_runs(text: str, flat: bytes) -> list[Run]:
    runs: list[Run] = []
    for match in (match for span in screen_shape.hex_runs(flat) for match in _HEX.finditer(text, *span)):
        decoded = _as_text(bytes.fromhex(_NOT_HEX.sub("", match.group())))
        if decoded is not None:
            runs.append((match.start(), match.end(), decoded))
            continue
        for part in _HEX_PART.finditer(match.group()):  # words such as "face" may have joined the run
            decoded = _as_text(bytes.fromhex(part.group()))
            if decoded is not None:
                runs.append((match.start() + part.start(), match.start() + part.end(), decoded))
    return runs


def _percent_runs(text: str, _flat: bytes) -> list[Run]:
    if "%" not in text:
        return []
    return [
        (m.start(), m.end(), unquote_to_bytes(m.group()).decode("utf-8", "replace")) for m in _PERCENT.finditer(text)
    ]


def _entity_runs(text: str, _flat: bytes) -> list[Run]:
    if "&" not in text:
        return []
    return [(m.start(), m.end(), html.unescape(m.group())) for m in _ENTITY.finditer(text)]


def _backslash_runs(text: str, _flat: bytes) -> list[Run]:
    if "\\" not in text:
        return []
    return [
        (m.start(), m.end(), _unescaped([int(code, 16) for code in _BACKSLASH_ONE.findall(m.group())]))
        for m in _BACKSLASH.finditer(text)
    ]


def _unescaped(codes: list[int]) -> str:
    """What escapes spell: bytes of UTF-8 where they can be, halves of a character put together."""
    if max(codes) < 0x100:
        try:
            return bytes(codes).decode("utf-8")
        except UnicodeDecodeError:
            return bytes(codes).decode("latin-1")
    text = "".join(chr(code) if code <= 0x10FFFF else "\ufffd" for code in codes)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tagged(match: re.Match[str]) -> str:
    return "".join(chr(ord(c) - 0xE0000) for c in match.group() if c != "\U000e007f")


def _selected(match: re.Match[str]) -> str:
    data = bytes(ord(c) - 0xFE00 if c <= "\ufe0f" else ord(c) - 0xE0100 + 16 for c in match.group())
    return data.decode("utf-8", "replace")


def tag_runs(text: str) -> list[Run]:
    return [(m.start(), m.end(), _tagged(m)) for m in TAGS.finditer(text)]


def selector_runs(text: str) -> list[Run]:
    return [(m.start(), m.end(), _selected(m)) for m in SELECTORS.finditer(text)]


def spelled_out(text: str) -> str:
    """`text` with what its invisible characters spell in their place."""
    return text if text.isascii() else SELECTORS.sub(_selected, TAGS.sub(_tagged, text))


def lookalike_runs(folded: str, known: Callable[[str], bool]) -> list[Run]:
    """Words of the vocabulary which are written with letters that only look like Latin ones.

    Where several other words mix letters of ASCII with such, all that do.
    """
    if folded.isascii() or _LOOKALIKE.search(screen_shape.odd_of(folded)) is None:
        return []
    runs: list[Run] = []
    others = 0
    for match in _LOOKALIKE_WORD.finditer(folded):
        word = match.group()
        if word.isascii():
            continue
        latin = word.translate(_LATIN_OF)
        if not known(latin):
            if len(word) < _SHORTEST_MIXED or not any(map(str.isascii, word)):
                continue
            others += 1
        runs.append((match.start(), match.end(), latin))
    return runs if others >= _LEAST_MIXED else [run for run in runs if known(run[2])]


def spaced_runs(folded: str, shaped: bytes) -> list[Run]:
    """Runs of single letters, rejoined; a wider gap than the run's usual one stays a blank between words."""
    if not screen_shape.may_be_spaced(shaped):
        return []
    runs: list[Run] = []
    for match in _SPACED.finditer(folded):
        gaps = _SEPARATORS.findall(match.group())
        usual = min(map(len, gaps))
        blanks = ["" if len(gap) == usual else " " for gap in gaps]
        letters = _SEPARATORS.split(match.group())
        joined = "".join(letter + blank for letter, blank in zip(letters, [*blanks, ""], strict=True))
        runs.append((match.start(), match.end(), joined))
    return runs


def leet_runs(folded: str, shaped: bytes, known: Callable[[str], bool]) -> list[Run]:
    """Words of the vocabulary with digits and signs in place of letters; none unless two of them occur."""
    if not screen_shape.may_be_leet(shaped):
        return []
    if screen_shape.is_plain(shaped):
        runs_of_words = screen_shape.leet_words(shaped)
        words = {part for run in runs_of_words for part in ((run,) if len(run) <= 30 else _LEET_WORD.findall(run))}
    else:
        words = {match.group() for match in _LEET_WORD.finditer(folded)}
    readings = {word: reading for word in words if (reading := _leet_reading(word, known)) is not None}
    if not readings:
        return []
    runs: list[Run] = []
    for match in _LEET_WORD.finditer(folded):
        found = readings.get(match.group())
        if found is not None:
            runs.append((match.start(), match.start() + found[0], found[1]))
    return runs if len(runs) >= 2 else []


def _leet_reading(word: str, known: Callable[[str], bool]) -> tuple[int, str] | None:
    """How many characters of `word` spell a word of the vocabulary, and which; None when they do not."""
    if word.isalpha() or word.isdecimal() or max(word) >= _UNSPACED_FROM:
        return None
    shorter = word.rstrip("!|+")  # a sign at the end may be a letter, too
    for written in (word,) if shorter == word else (word, shorter):
        reading = written.translate(_LEET_AS_I)
        if reading != written and known(reading):
            return len(written), reading
        if "1" in written and known(reading := written.translate(_LEET_AS_L)):
            return len(written), reading
    return None


# Each named as the view it makes; called with a text and its flat bytes.
DECODERS: tuple[tuple[str, Callable[[str, bytes], list[Run]]], ...] = (
    ("base64", _base64_runs),
    ("hex", _hex_runs),
    ("base32", _base32_runs),
    ("percent", _percent_runs),
    ("html", _entity_runs),
    ("escape", _backslash_runs),
)
