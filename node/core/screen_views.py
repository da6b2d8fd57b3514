"""What a model would read out of a text: canonical form with an offset map, and decoded views.

Every view keeps, for each of its characters, the half-open span of the source text it came from, so that a hit in a
decoded layer is reported at the place where the sender wrote it. All functions are total over `str`, lone surrogates
included, and linear in its length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from node.core import screen_shape
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
    spelled_out,
    tag_runs,
)
from node.core.screen_origin import Origin
from node.core.screen_passages import LEAST_DECODED, MOST_PASSAGES, Passage, blanks_between, in_letters, joined_up

CONTEXT = 200  # characters kept on both sides of a decoded run, so that a phrase half in plain text stays whole
MAX_DEPTH = 2

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_BLANK_GLYPHS = "\u2800\u3164\uffa0"  # drawn as a gap, so a reader sees two words
_DRAWN_AS = {"ϲ": "c", "Ϲ": "c"}  # where the compatibility form no longer looks like the letter
_WITHOUT_DECOMPOSITION = {
    "ł": "l", "ø": "o", "đ": "d", "ı": "i", "ة": "ه", "ى": "ي", "ـ": "", "’": "'", "‘": "'", "ʼ": "'",
}  # fmt: skip
_WORD_SHORTEST, _WORD_LONGEST = 4, 30
_LETTERS = re.compile(r"[^\W\d_]{2,40}")
_LEAST_MIXED = 2
_ENDS = "\n.!?"  # of a sentence
_WORD = re.compile(rf"[^\W\d_]{{{_WORD_SHORTEST},{_WORD_LONGEST}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A text to screen. `text` keeps case, `folded` is for matching; both have the same length.

    `flat` and `shaped` are `text` and `folded` as one byte a character, see screen_shape, and `runs` the different runs
    of letters and digits in it. `origins` leads back to the source text, one step after the other; none at all is the
    identity. `passages` are what of it was decoded.
    """

    name: str
    depth: int
    text: str
    folded: str
    flat: bytes
    shaped: bytes
    runs: frozenset[bytes]
    origins: tuple[Origin, ...]
    passages: tuple[Passage, ...] = ()

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the source behind the non-empty span [start, end) of this view."""
        first, last = self._source_of(start), self._source_of(end - 1)
        return min(first[0], last[0]), max(first[1], last[1])

    def _source_of(self, index: int) -> tuple[int, int]:
        start, end = index, index + 1
        for origin in self.origins:
            start, end = origin.of(start)[0], origin.of(end - 1)[1]
        return start, end


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
    if not screen_shape.is_odd(text):
        folded = text.lower()
        return _plain(text, folded, folded.encode("ascii"), ())
    plain, odd = screen_shape.parted(text)
    origins: tuple[Origin, ...] = ()
    if any(map(_JAMO.search, odd)):
        text, origins = _syllables_joined(text)
        plain, odd = screen_shape.parted(text)
    forms = {char: _fold_char(char) for char in set("".join(odd))}
    irregular = "".join(char for char, form in forms.items() if len(form[1]) != 1)
    if irregular:
        origin = Origin()
        copied = 0
        one = re.compile(f"[{re.escape(irregular)}]")
        for match in (match for slab in screen_shape.slabs(text) for match in one.finditer(text, *slab)):
            origin.copy(copied, match.start())
            origin.replace(len(forms[match.group()][1]), match.start(), match.end())
            copied = match.end()
        origin.copy(copied, len(text))
        origins = (origin, *origins)
    readable = screen_shape.woven(plain, odd, {ord(char): form[0] for char, form in forms.items()})
    lowered = [piece.lower() for piece in plain]
    folded = screen_shape.woven(lowered, odd, {ord(char): form[1] for char, form in forms.items()})
    shapes = {ord(char): screen_shape.shape_of(form[1]) for char, form in forms.items()}
    return _plain(readable, folded, screen_shape.woven(lowered, odd, shapes).encode("ascii"), origins)


def _plain(text: str, folded: str, shaped: bytes, origins: tuple[Origin, ...]) -> View:
    flat = text.encode("ascii", "replace")
    runs = screen_shape.different_runs(shaped)
    return View(name="plain", depth=0, text=text, folded=folded, flat=flat, shaped=shaped, runs=runs, origins=origins)


def _syllables_joined(text: str) -> tuple[str, tuple[Origin, ...]]:
    """Korean letters written one by one, as some file systems store names, put together into syllables."""
    pieces: list[str] = []
    origin = Origin()
    copied = 0
    for match in _JAMO.finditer(text):
        pieces.extend((text[copied : match.start()], unicodedata.normalize("NFC", match.group())))
        origin.copy(copied, match.start())
        origin.replace(len(pieces[-1]), match.start(), match.end())
        copied = match.end()
    pieces.append(text[copied:])
    origin.copy(copied, len(text))
    return "".join(pieces), (origin,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexis:
    """The words of the rules, as those who look for disguised ones need them.

    `known` says whether a folded word belongs to them; `rotated` and `backwards` are their disguises, and those
    that are nothing but letters of ASCII again as bytes.
    """

    known: Callable[[str], bool]
    rotated: frozenset[str]
    rotated_ascii: frozenset[bytes]
    backwards: frozenset[str]
    backwards_ascii: frozenset[bytes]

    @classmethod
    def of(cls, words: Iterable[str], known: Callable[[str], bool]) -> Lexis:
        """Of `words`, and of the stems that only `known` knows, none of which is ASCII."""
        listed = [word for word in words if len(word) >= _WORD_SHORTEST]
        turned, reverse = frozenset(map(rotated, listed)), frozenset(map(backwards, listed))
        return cls(
            known=known,
            rotated=turned,
            rotated_ascii=frozenset(word.encode("ascii") for word in turned if word.isascii() and word.isalpha()),
            backwards=reverse,
            backwards_ascii=frozenset(word.encode("ascii") for word in reverse if word.isascii() and word.isalpha()),
        )


class _Builder:
    """Collects the raw text of a derived view together with what of its parent is behind it."""

    __slots__ = ("origin", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.origin = Origin()

    def copy(self, text: str, start: int, end: int) -> None:
        self.pieces.append(text[start:end])
        self.origin.copy(start, end)

    def turn(self, text: str, start: int, end: int) -> None:
        self.pieces.append(text[start:end][::-1])
        self.origin.turn(start, end)

    def replace(self, piece: str, start: int, end: int) -> None:
        self.pieces.append(piece)
        self.origin.replace(len(piece), start, end)

    def derive(self, parent: View, name: str, passages: Iterable[tuple[int, int, str]]) -> View:
        """The view; `passages` are spans of the parent and what stands there now."""
        own = canonical("".join(self.pieces))
        layered = name if parent.depth == 0 else f"{parent.name}+{name}"
        origins = (*own.origins, self.origin, *parent.origins)
        told = tuple(_passage(parent, *one) for one in islice(passages, MOST_PASSAGES))
        return replace(own, name=layered, depth=parent.depth + 1, origins=origins, passages=told)


def _passage(parent: View, start: int, end: int, text: str) -> Passage:
    first, last = parent.source_span(start, end)
    return Passage(text=canonical(text).text, start=first, end=last)


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
        builder.replace(spelled_out(piece), start, end)
        copied = end
    builder.copy(text, copied, min(len(text), copied + CONTEXT))
    return builder.derive(parent, name, joined_up(text, runs))


def decoded_views(parent: View, lexis: Lexis) -> Iterator[View]:
    """The views one layer below `parent`."""
    if parent.depth >= MAX_DEPTH:
        return
    for name, decode in DECODERS:
        if name == "percent" and parent.name.endswith("leet"):
            continue  # its digits were read as letters
        runs = decode(parent.text, parent.flat)
        view = _substituted(parent, name, parent.text, runs)
        if view is not None:
            # Of prose only blanks and signs are encoded.
            words = name == "percent"
            told = blanks_between(parent.text, runs) if words else joined_up(parent.text, runs, size=in_letters)
            yield replace(view, passages=tuple(_passage(parent, *one) for one in islice(told, MOST_PASSAGES)))
    for name, runs in (
        ("homoglyph", lookalike_runs(parent.folded, lexis.known)),
        ("spaced", spaced_runs(parent.folded, parent.shaped)),
        ("leet", leet_runs(parent.folded, parent.shaped, lexis.known)),
    ):
        view = _substituted(parent, name, parent.folded, runs)
        if view is not None and name == "homoglyph":
            # Short words of Cyrillic and Greek look like others by nature.
            mixed = [one for one in joined_up(parent.folded, runs) if _mixes(parent.folded[one[0] : one[1]])]
            view = replace(view, passages=tuple(_passage(parent, *one) for one in mixed[:MOST_PASSAGES]))
        if view is not None:
            yield view
    if parent.name.endswith(("rot13", "reversed")):
        return
    turned, reverse = _disguised(parent, lexis)
    for name, undo, disguised in (("rot13", rotated, turned), ("reversed", backwards, reverse)):
        view = _transformed(parent, name, undo, {word for word in disguised if not lexis.known(word)})
        if view is not None:
            yield view


def _mixes(folded: str) -> bool:
    """Whether some words have letters of ASCII and others, which no language does."""
    mixed = 0
    for word in _LETTERS.findall(folded):
        mixed += not word.isascii() and any(char.isascii() for char in word)
    return mixed >= _LEAST_MIXED


def _disguised(view: View, lexis: Lexis) -> tuple[set[str], set[str]]:
    """The words of a view, as _WORD finds them, that are one of the rules' rotated, and backwards."""
    spans = screen_shape.foreign_words(view.shaped)
    if spans is None:
        foreign = {match.group() for match in _WORD.finditer(view.folded)}
    else:
        foreign = {word for start, end in spans for word in _WORD.findall(view.folded[start:end])}
    words = screen_shape.words(view.shaped, view.runs)
    long = [word.decode("ascii") for word in words if len(word) > _WORD_LONGEST]
    words.update(part.encode("ascii") for word in long for part in _WORD.findall(word))
    backward = {word for word in foreign if not word.isascii() and lexis.known(backwards(word))}
    return (
        {word.decode("ascii") for word in words & lexis.rotated_ascii} | foreign & lexis.rotated,
        {word.decode("ascii") for word in words & lexis.backwards_ascii} | foreign & lexis.backwards | backward,
    )


def _transformed(parent: View, name: str, undo: Callable[[str], str], disguised: set[str]) -> View | None:
    """The surroundings of words that only make sense after `undo`, undone; None unless two such words are there."""
    if len(disguised) < 2:
        return None
    windows: list[tuple[int, int]] = []
    places: list[Run] = []
    for match in _WORD.finditer(parent.folded):
        if match.group() in disguised:
            places.append((match.start(), match.end(), match.group()))
            start, end = max(0, match.start() - CONTEXT), min(len(parent.text), match.end() + CONTEXT)
            if windows and start <= windows[-1][1]:
                start = windows.pop()[0]
            windows.append((start, end))
    builder = _Builder()
    for start, end in windows:
        if undo is backwards:
            builder.turn(parent.text, start, end)
        else:
            builder.copy(parent.text, start, end)
            builder.pieces[-1] = undo(builder.pieces[-1])
        builder.replace("\n\n", end - 1, end)
    # Words that are rotated are hardly ever others, but many read as one backwards.
    least = LEAST_DECODED if undo is backwards else _WORD_SHORTEST
    spans = [_clause(parent.text, start, end) for start, end, _ in joined_up(parent.text, places, least)]
    passages = ((start, end, undo(parent.text[start:end])) for start, end in dict.fromkeys(spans))
    return builder.derive(parent, name, passages)


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch with the rest of the sentences that it begins and ends in, as far as CONTEXT."""
    low, high = max(0, start - CONTEXT), min(len(text), end + CONTEXT)
    begins = max(text.rfind(sign, low, start) for sign in _ENDS)
    ends = [at for sign in _ENDS if (at := text.find(sign, end, high)) >= 0]
    return max(low, begins + 1), min(ends, default=high)


def smuggled_views(text: str) -> Iterator[View]:
    """Views of what the invisible characters of a raw text spell: tag letters and variation-selector bytes."""
    if text.isascii() or INVISIBLE.search(screen_shape.odd_of(text)) is None:
        return
    raw = View(name="plain", depth=0, text=text, folded=text, flat=b"", shaped=b"", runs=frozenset(), origins=())
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
    if text.isascii() or INVISIBLE.search(screen_shape.odd_of(text)) is None:
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
