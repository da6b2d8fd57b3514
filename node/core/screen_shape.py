"""One byte for each character of a text, and cheap questions about what that text can hold at all.

Ordinary text holds next to no disguise. Mapping and searching bytes costs a hundredth of what a regular expression
does, and what a question rules out needs none. Every answer errs to the side of yes.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping

_PLAIN = bytes((*range(0x09, 0x0E), *range(0x20, 0x7F)))
_ODD_RUN = re.compile(r"([^\t-\r\x20-\x7e]+)")
_ODD_MARKS = bytes(0x20 if byte in _PLAIN else ord("o") for byte in range(256))
_SELDOM = 16
_LETTER, _DIGIT, _OTHER = "\x01", "\x02", "\x03"
_SLAB = 32_768  # bytes that are cut up in one call, during which no other thread runs
LONG_RUN = 16  # characters of base64 and base32 without a break, digits of hexadecimal


def slabs(text: str | bytes) -> Iterator[tuple[int, int]]:
    """Stretches to search one after the other: no other thread runs while a regular expression looks at one."""
    for start in range(0, len(text), _SLAB):
        yield start, min(start + _SLAB, len(text))


def odd_of(text: str) -> str:
    """What is left of `text` without printable ASCII and blanks."""
    # In UTF-8 a byte of ASCII is never a part of anything else.
    return text.encode("utf-8", "surrogatepass").translate(None, _PLAIN).decode("utf-8", "surrogatepass")


def is_odd(text: str) -> bool:
    """Whether there is anything but printable ASCII and blanks."""
    return not text.isascii() or bool(text.encode("ascii").translate(None, _PLAIN))


def parted(text: str) -> tuple[list[str], list[str]]:
    """The stretches of printable ASCII and blanks of a text, and the odd ones between them, one fewer."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data.translate(None, _PLAIN)) * _SELDOM < len(data):
        return _parted(data)
    plain, odd = [""], list[str]()
    for start, end in slabs(text):
        pieces = _ODD_RUN.split(text[start:end])
        plain[-1] += pieces[0]
        plain += pieces[2::2]
        odd += pieces[1::2]
    return plain, odd


def _parted(data: bytes) -> tuple[list[str], list[str]]:
    """What parted() gives, of a text in UTF-8 in which next to nothing is odd."""
    marks = data.translate(_ODD_MARKS)
    plain, odd = list[str](), list[str]()
    read = 0
    for start, end in _runs(marks, b"o"):
        plain.append(data[read:start].decode("ascii"))
        odd.append(data[start:end].decode("utf-8", "surrogatepass"))
        read = end
    plain.append(data[read:].decode("ascii"))
    return plain, odd


def woven(plain: list[str], odd: list[str], table: Mapping[int, str]) -> str:
    """The parts of a text put together, with odd characters replaced as `table` says, which must hold each."""
    pieces = [""] * (len(plain) + len(odd))
    pieces[::2] = plain
    pieces[1::2] = [piece.translate(table) for piece in odd]
    return "".join(pieces)


def shape_of(text: str) -> str:
    """For each character one of ASCII: ASCII is itself, another letter, digit or sign stands for all of its kind.

    As bytes this is what the questions below call a shape; and flat is a text with a question mark for each other one.
    """
    return text if text.isascii() else "".join(map(_class_of, text))


def _class_of(char: str) -> str:
    if char.isascii():
        return char
    if char == "·":
        return "-"  # it parts spaced letters
    return _DIGIT if char.isdecimal() else _LETTER if char.isalnum() else _OTHER


def _marks(**members: str) -> bytes:
    """A table for bytes.translate: the members of each class become its letter, every other byte a blank."""
    table = bytearray(b" " * 256)
    for mark, chars in members.items():
        for byte in chars.encode("ascii"):
            table[byte] = ord(mark)
    return bytes(table)


_IN_BASE64 = _marks(b=string.ascii_letters + string.digits + "+/_-")
_LONG = b"b" * LONG_RUN


def long_runs(text: bytes) -> list[tuple[int, int]]:
    """The runs of LONG_RUN or more characters of base64, whole. Nothing else is base64 or base32. Of a flat text."""
    return list(_runs(text.translate(_IN_BASE64), _LONG))


_NO_BLANK = bytes(0x20 if byte == 0x20 or 0x09 <= byte <= 0x0D else 0x62 for byte in range(256))


def dense(text: str, least: int) -> str:
    """All runs of at least so many characters without a blank, and perhaps some characters more."""
    marks = text.encode("ascii", "replace").translate(_NO_BLANK)
    return " ".join([text[start:end] for start, end in _runs(marks, b"b" * least)])


def _runs(marks: bytes, least: bytes) -> Iterator[tuple[int, int]]:
    """The runs of one mark that are as long as `least` or longer."""
    start = marks.find(least)
    while start >= 0:
        end = marks.find(b" ", start + len(least))
        end = end if end >= 0 else len(marks)
        yield start, end
        start = marks.find(least, end)


_HEX_PARTS = _marks(h=string.hexdigits + " :,\nx\\")
_ENOUGH_HEX = b"h" * LONG_RUN
_NOT_HEX = bytes(byte for byte in range(256) if chr(byte) not in string.hexdigits)


def hex_runs(text: bytes) -> Iterator[tuple[int, int]]:
    """The stretches with LONG_RUN or more digits that only separators and prefixes stand between. Of a flat text."""
    for start, end in _runs(text.translate(_HEX_PARTS), _ENOUGH_HEX):
        if len(text[start:end].translate(None, _NOT_HEX)) >= LONG_RUN:
            yield start, end


_SPACED_PARTS = _marks(l=string.ascii_letters + _LETTER, s=" \t.,:;!?'-_*|/~+")


def may_be_spaced(shaped: bytes) -> bool:
    """Whether two letters in a row stand for themselves, as at least three of a spaced word do. Of a shape."""
    marks = shaped.translate(_SPACED_PARTS)
    return b"slsls" in marks or b"slssls" in marks or b"slsssls" in marks


_LEET_PARTS = _marks(l=string.ascii_lowercase, d="013457@$|", e="!")


def may_be_leet(shaped: bytes) -> bool:
    """Whether a digit or sign stands between letters, or one before two letters. Of a shape in lower case."""
    marks = shaped.translate(_LEET_PARTS)
    return b"ldl" in marks or b"lel" in marks or b"dll" in marks


def is_plain(shaped: bytes) -> bool:
    """Whether a shape holds no letter and no digit beyond ASCII."""
    return _LETTER.encode("ascii") not in shaped and _DIGIT.encode("ascii") not in shaped


_ALNUM_RUNS = _marks(**{char: char for char in string.ascii_letters + string.digits})
_LETTER_RUNS = _marks(**{char: char for char in string.ascii_letters})
_ALL_LETTERS = _marks(**{char: char for char in string.ascii_letters + _LETTER})
_FOREIGN, _FEW = _LETTER.encode("ascii"), 16
_LEET_RUNS = _marks(**{char: char for char in string.ascii_letters + string.digits + "_@$|+!"})


def alnum_runs(shaped: bytes) -> bytes:
    """A shape with a blank for everything but letters and digits of ASCII."""
    return shaped.translate(_ALNUM_RUNS)


def different_runs(shaped: bytes) -> frozenset[bytes]:
    """The different runs of letters and digits of ASCII in a shape."""
    return frozenset(_different(alnum_runs(shaped)))


def words(shaped: bytes, runs: frozenset[bytes]) -> set[bytes]:
    """The different words of ASCII in a shape with these different_runs(), and perhaps some that hold digits."""
    if _FOREIGN in shaped:
        return {word for word in _different(shaped.translate(_ALL_LETTERS)) if _FOREIGN not in word}
    mixed = [run for run in runs if not run.isalpha()]
    return set(b" ".join(mixed).translate(_LETTER_RUNS).split()).union(runs)


def foreign_words(shaped: bytes) -> list[tuple[int, int]] | None:
    """Where the runs of letters are that hold one beyond ASCII; None when there are many. Of a shape."""
    if _FOREIGN not in shaped:
        return []
    if shaped.count(_FOREIGN) * _FEW > len(shaped):
        return None
    marks = shaped.translate(_ALL_LETTERS)
    found: list[tuple[int, int]] = []
    at = marks.find(_FOREIGN)
    while at >= 0:
        end = marks.find(b" ", at)
        end = end if end >= 0 else len(marks)
        found.append((marks.rfind(b" ", 0, at) + 1, end))
        at = marks.find(_FOREIGN, end)
    return found


def leet_words(shaped: bytes) -> set[str]:
    """The different runs of letters with digits or signs that are drawn like letters in a plain shape."""
    runs = _different(shaped.translate(_LEET_RUNS))
    return {run.decode("ascii") for run in runs if len(run) > 1 and not run.isalpha() and not run.isdigit()}


def _different(marks: bytes) -> set[bytes]:
    found: set[bytes] = set()
    start = 0
    while start < len(marks):
        cut = marks.find(b" ", start + _SLAB)
        end = cut if cut >= 0 else len(marks)
        found.update(marks[start:end].split())
        start = end + 1
    return found
