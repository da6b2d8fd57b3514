"""What a model would read out of a text: canonical form with an offset map, and decoded views.

Every view keeps, for each of its characters, the half-open span of the source text it came from, so that a hit in a
decoded layer is reported at the place where the sender wrote it. All functions are total over `str`, lone surrogates
included, and linear in its length.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from node.core.screen_decoders import (
    DECODERS,
    INVISIBLE,
    SELECTORS,
    TAGS,
    Run,
    backwards,
    leet_runs,
    lookalike_runs,
    rotated,
    selector_runs,
    spaced_runs,
    tag_runs,
)

CONTEXT = 200  # characters kept on both sides of a decoded run, so that a phrase half in plain text stays whole
MAX_DEPTH = 2

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_BLANK_GLYPHS = "\u2800\u3164\uffa0"  # drawn as a gap, so a reader sees two words
_DRAWN_AS = {"ϲ": "c", "Ϲ": "c"}  # where the compatibility form no longer looks like the letter
_WITHOUT_DECOMPOSITION = {
    "ł": "l", "ø": "o", "đ": "d", "ı": "i", "ة": "ه", "ى": "ي", "ـ": "", "’": "'", "‘": "'", "ʼ": "'",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]{4,30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A text to screen. `text` keeps case, `folded` is for matching; both have the same length.

    `starts[i]`, `ends[i]` is the span of the source text behind character i; None means the identity.
    """

    name: str
    depth: int
    text: str
    folded: str
    starts: array[int] | None
    ends: array[int] | None

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the source behind the non-empty span [start, end) of this view."""
        if self.starts is None or self.ends is None:
            return start, end
        return min(self.starts[start], self.starts[end - 1]), max(self.ends[start], self.ends[end - 1])


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> tuple[str, str]:
    """(readable, folded) of one character: same length, both empty for what a reader does not see."""
    if INVISIBLE.match(char) or _CONTROL.match(char):
        return "", ""
    if char in _BLANK_GLYPHS:
        return " ", " "
    if char in _DRAWN_AS:
        return _DRAWN_AS[char], _DRAWN_AS[char]
    if "\uac00" <= char <= "\ud7a3":
        return char, char
    readable = unicodedata.normalize("NFKC", char)
    folded = "".join(
        _WITHOUT_DECOMPOSITION.get(part, part)
        for part in unicodedata.normalize("NFD", readable.casefold())
        if unicodedata.category(part)[0] != "M"
    )
    return (readable if len(readable) == len(folded) else folded), folded


def fold(text: str) -> str:
    """The matching form of a word or phrase of a rule table."""
    return canonical(text).folded


_JAMO = re.compile("[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?")


def canonical(text: str) -> View:
    """The plain view of `text`: invisible characters gone, compatibility forms and case folded."""
    if text.isascii() and not _CONTROL.search(text):
        return View(name="plain", depth=0, text=text, folded=text.lower(), starts=None, ends=None)
    text, starts, ends = _syllables_joined(text)
    forms = {char: _fold_char(char) for char in set(text)}
    readable_table = {ord(char): form[0] for char, form in forms.items()}
    folded_table = {ord(char): form[1] for char, form in forms.items()}
    irregular = "".join(char for char, form in forms.items() if len(form[1]) != 1)
    if irregular:
        from_text = array("L")  # the index in `text` behind each character of the view
        copied = 0
        for match in re.finditer(f"[{re.escape(irregular)}]", text):
            from_text.extend(range(copied, match.start()))
            from_text.extend([match.start()] * len(forms[match.group()][1]))
            copied = match.end()
        from_text.extend(range(copied, len(text)))
        starts, ends = _composed(from_text, from_text, starts, ends)
    return View(
        name="plain",
        depth=0,
        text=text.translate(readable_table),
        folded=text.translate(folded_table),
        starts=starts,
        ends=ends,
    )


def _composed(
    first: array[int], last: array[int], starts: array[int] | None, ends: array[int] | None
) -> tuple[array[int], array[int]]:
    """The spans behind characters which come from [first[i], last[i]] of a text whose own spans are given."""
    if starts is None or ends is None:
        return first, array("L", (index + 1 for index in last))
    return array("L", map(starts.__getitem__, first)), array("L", map(ends.__getitem__, last))


def _syllables_joined(text: str) -> tuple[str, array[int] | None, array[int] | None]:
    """Korean letters written one by one, as some file systems store names, put together into syllables."""
    if _JAMO.search(text) is None:
        return text, None, None
    pieces: list[str] = []
    starts, ends = array("L"), array("L")
    copied = 0
    for match in _JAMO.finditer(text):
        pieces.extend((text[copied : match.start()], unicodedata.normalize("NFC", match.group())))
        starts.extend(range(copied, match.start() + 1))
        ends.extend(range(copied + 1, match.start() + 1))
        ends.append(match.end())
        copied = match.end()
    pieces.append(text[copied:])
    starts.extend(range(copied, len(text)))
    ends.extend(range(copied + 1, len(text) + 1))
    return "".join(pieces), starts, ends


class _Builder:
    """Collects the raw text of a derived view together with the parent span of each of its characters."""

    __slots__ = ("ends", "pieces", "starts")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.starts = array("L")
        self.ends = array("L")

    def copy(self, text: str, start: int, end: int) -> None:
        self.pieces.append(text[start:end])
        self.starts.extend(range(start, end))
        self.ends.extend(range(start + 1, end + 1))

    def turn_last(self) -> None:
        """Turn the last copied piece around."""
        size = len(self.pieces[-1])
        self.pieces[-1] = self.pieces[-1][::-1]
        self.starts[-size:] = self.starts[-size:][::-1]
        self.ends[-size:] = self.ends[-size:][::-1]

    def replace(self, piece: str, start: int, end: int) -> None:
        self.pieces.append(piece)
        self.starts.extend(array("L", [start]) * len(piece))
        self.ends.extend(array("L", [end]) * len(piece))

    def derive(self, parent: View, name: str) -> View:
        own = canonical("".join(self.pieces))
        starts, ends = self.starts, self.ends
        if own.starts is not None and own.ends is not None:
            starts, ends = _composed(own.starts, array("L", (end - 1 for end in own.ends)), starts, ends)
        if parent.starts is not None:
            starts, ends = _composed(starts, array("L", (end - 1 for end in ends)), parent.starts, parent.ends)
        layered = name if parent.depth == 0 else f"{parent.name}+{name}"
        return View(name=layered, depth=parent.depth + 1, text=own.text, folded=own.folded, starts=starts, ends=ends)


def _substituted(parent: View, name: str, text: str, runs: list[Run]) -> View | None:
    """A view in which each run (start, end, replacement) of `text` is replaced; only their surroundings are kept."""
    if not runs:
        return None
    builder = _Builder()
    copied = 0
    for start, end, piece in runs:
        if start - copied > 2 * CONTEXT or not builder.pieces:
            if builder.pieces:
                builder.copy(text, copied, copied + CONTEXT)
                builder.replace("\n\n", copied + CONTEXT - 1, copied + CONTEXT)
            copied = max(copied, start - CONTEXT)
        builder.copy(text, copied, start)
        builder.replace(piece, start, end)
        copied = end
    builder.copy(text, copied, min(len(text), copied + CONTEXT))
    return builder.derive(parent, name)


def decoded_views(parent: View, known: Callable[[str], bool]) -> Iterator[View]:
    """The views one layer below `parent`. `known` says whether a folded word belongs to the rule vocabulary."""
    if parent.depth >= MAX_DEPTH:
        return
    for name, decode in DECODERS:
        view = _substituted(parent, name, parent.text, decode(parent.text))
        if view is not None:
            yield view
    for name, runs in (
        ("homoglyph", lookalike_runs(parent.folded, known)),
        ("spaced", spaced_runs(parent.folded)),
        ("leet", leet_runs(parent.folded, known)),
    ):
        view = _substituted(parent, name, parent.folded, runs)
        if view is not None:
            yield view
    if parent.name.endswith(("rot13", "reversed")):
        return
    strange = [word for word in set(_WORD.findall(parent.folded)) if not known(word)]
    for name, undo in (("rot13", rotated), ("reversed", backwards)):
        view = _transformed(parent, name, undo, {word for word in strange if known(undo(word))})
        if view is not None:
            yield view


def _transformed(parent: View, name: str, undo: Callable[[str], str], disguised: set[str]) -> View | None:
    """The surroundings of words that only make sense after `undo`, undone; None unless two such words are there."""
    if len(disguised) < 2:
        return None
    windows: list[tuple[int, int]] = []
    for match in _WORD.finditer(parent.folded):
        if match.group() in disguised:
            start, end = max(0, match.start() - CONTEXT), min(len(parent.text), match.end() + CONTEXT)
            if windows and start <= windows[-1][1]:
                start = windows.pop()[0]
            windows.append((start, end))
    builder = _Builder()
    for start, end in windows:
        builder.copy(parent.text, start, end)
        if undo is backwards:
            builder.turn_last()
        else:
            builder.pieces[-1] = undo(builder.pieces[-1])
        builder.replace("\n\n", end - 1, end)
    return builder.derive(parent, name)


def smuggled_views(text: str) -> Iterator[View]:
    """Views of what the invisible characters of a raw text spell: tag letters and variation-selector bytes."""
    if text.isascii():
        return
    raw = View(name="plain", depth=0, text=text, folded=text, starts=None, ends=None)
    for name, decode in (("tags", tag_runs), ("selectors", selector_runs)):
        view = _substituted(raw, name, text, decode(text))
        if view is not None:
            yield view


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRun:
    """Characters of a raw text that a reader does not see; `weight` is per mille."""

    rule: str
    start: int
    end: int
    weight: int


_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_OVERRIDE = re.compile("[\u202d\u202e]")
_ISOLATE = re.compile("[\u202a\u202b\u2066-\u2068]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_ZERO_WIDTH_RUN = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff\u180e]{6,}")
_ZERO_WIDTH_IN_WORD = re.compile("(?<=[A-Za-z])[\u200b-\u200d\u2060-\u2064\ufeff](?=[A-Za-z])")
_ESCAPE_SEQUENCE = re.compile("\x1b[\\]P^_]")  # commands to the terminal; plain colours are common in pasted output


def hidden_runs(text: str) -> Iterator[HiddenRun]:
    """What is hidden in a raw text without honest use, sparing emoji, flags and joiners of scripts that need them."""
    if "\x1b" in text:
        yield from (_hidden("control", m, 400) for m in _ESCAPE_SEQUENCE.finditer(text))
    if text.isascii():
        return
    flags = {m.end() for m in _FLAG.finditer(text)}
    yield from (_hidden("tags", m, 1000) for m in TAGS.finditer(text) if m.end() not in flags)
    yield from (_hidden("selectors", m, 1000) for m in SELECTORS.finditer(text))
    yield from (_hidden("zero_width", m, 800) for m in _ZERO_WIDTH_RUN.finditer(text))
    right_to_left = _RIGHT_TO_LEFT.search(text.replace("\ufeff", "")) is not None
    yield from (_hidden("bidi", m, 350 if right_to_left else 800) for m in _OVERRIDE.finditer(text))
    if not right_to_left:
        yield from (_hidden("bidi", m, 300) for m in _ISOLATE.finditer(text))
    inside = list(_ZERO_WIDTH_IN_WORD.finditer(text))
    if len(inside) >= 3:
        yield from (_hidden("zero_width", m, 400) for m in inside)


def _hidden(name: str, match: re.Match[str], weight: int) -> HiddenRun:
    return HiddenRun(rule=f"hidden.{name}", start=match.start(), end=match.end(), weight=weight)
