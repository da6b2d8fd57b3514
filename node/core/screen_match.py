"""Where the phrases and patterns of the rules occur in a view, as weighed hits; linear in the view's length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from node.core import screen_shape
from node.core.screen_gate import Gate, Step
from node.core.screen_lexicon import LEXICON
from node.core.screen_reading import COMMA, OTHER, STOP, Words
from node.core.screen_rules import PATTERNS, PHRASES, Phrase
from node.core.screen_views import View
from node.core.screen_words import VOCABULARY

_LETTERS = re.compile("[a-z]*")
_ALWAYS = 1  # a bit that every text has
_REMEMBERED_RUNS, _REMEMBERED_CHARS = 16_384, 32
_REACH = 2_000  # more than any raw pattern matches or looks at
SNIPPET = 300  # characters of an excerpt that are shown to the sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A finding in code points of the joined message; `excerpt` is what it reads as in its view, with some context."""

    rule: str
    start: int
    end: int
    weight: int
    view: str
    excerpt: str
    quoted: bool = False

    @property
    def family(self) -> str:
        return self.rule.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    phrase: Phrase
    pattern: re.Pattern[str]
    steps: tuple[Step, ...]


def _class_of(names: str) -> str:
    return "".join(VOCABULARY.classes[name] for name in names.split("|"))


def _compiled(phrase: Phrase) -> _Compiled:
    """The phrase as a regular expression over letters; every gap is bounded, so matching is linear."""
    source = ""
    steps: list[Step] = []
    gap = 0
    for item in phrase.form.split():
        if item == "^":
            source += r"(?:\A|(?<=\n))"
        elif item == "$":
            source += r"(?=\n|\Z)"
        elif item.startswith("!"):
            source += rf"(?![^\n]{{0,3}}[{_class_of(item[1:])}])"
        elif item.rstrip("+-").isdecimal():
            between = {"+": r"[\s\S]", "-": r"[^\n,]"}.get(item[-1], r"[^\n]")
            source += rf"{between}{{0,{int(item.rstrip('+-'))}}}?"
            gap = int(item.rstrip("+-"))
        else:
            source += f"[{_class_of(item)}]"
            steps.append(Step(letters=frozenset(_class_of(item)), gap=gap))
            gap = 0
    return _Compiled(phrase=phrase, pattern=re.compile(source), steps=tuple(steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hint:
    """What a text must hold: `foreign` when it is not ASCII, else `whole`, with the longest run of letters as a bit."""

    whole: bytes
    foreign: str
    bit: int


class _Heard(dict[bytes, int]):
    """The bits of the hints whose letters are in a run of letters and digits. Remembers, within bounds."""

    def __init__(self) -> None:
        super().__init__()
        self._bits: dict[bytes, int] = {}

    def hint(self, hint: str) -> _Hint:
        foreign = not hint.isascii() or "-" in hint  # which stands for others in a shape
        whole = b"" if foreign else hint.encode("ascii")
        letters = b"" if foreign else max(_LETTERS.findall(hint), key=len).encode("ascii")
        bit = self._bits.setdefault(letters, _ALWAYS << 1 + len(self._bits)) if letters else 0
        return _Hint(whole=whole, foreign=hint if foreign else "", bit=bit)

    def __missing__(self, run: bytes) -> int:
        heard = sum(bit for letters, bit in self._bits.items() if letters in run)
        if len(run) <= _REMEMBERED_CHARS:
            if len(self) >= _REMEMBERED_RUNS:
                self.clear()
            self[run] = heard
        return heard


def _first_bits(group: Sequence[_Hint]) -> int:
    """Of which one at least is heard where a hint of the group occurs; all when one of them has no letters."""
    return reduce(int.__or__, (hint.bit for hint in group)) if all(hint.bit for hint in group) else -1


_HEARD = _Heard()
_COMPILED = tuple(map(_compiled, PHRASES))
_PATTERNS = tuple(
    (_first_bits(groups[0]), pattern, groups, re.compile(pattern.regex))
    for pattern, groups in (
        (pattern, tuple(tuple(map(_HEARD.hint, group)) for group in pattern.hints)) for pattern in PATTERNS
    )
)
_YOU = _class_of("YOU|YOUR")
_NEGATED = re.compile(rf"[{_class_of('NEG')}][^\n,]?\Z")
_DESCRIBED = re.compile(rf"[{_class_of('DESCRIBE|DEFEND')}][^\n]?\Z")
_LISTED = re.compile(rf"(?:\A|\n)[^\n]?[{_class_of('NEG')}][^\n]{{0,8}}\Z")


_GATE = Gate([compiled.steps for compiled in _COMPILED], link=_class_of("OUT"))


def phrase_hits(view: View, stretches: Iterable[tuple[int, int]] | None = None) -> Iterator[Hit]:
    """A hit for each place where a phrase of the rules occurs and is not negated; `stretches` (all that can hold one,
    when not given) are read.
    """
    for start, end in _possible(view) if stretches is None else stretches:
        words = Words(view.folded[start:end])
        present = set(words.letters)
        for compiled in _COMPILED:
            if not any(present.isdisjoint(step.letters) for step in compiled.steps):
                yield from _hits_of(compiled, words, view, start)


def _possible(view: View) -> Iterator[tuple[int, int]]:
    return _GATE.stretches(view.folded, view.shaped, view.runs)


def _hits_of(compiled: _Compiled, words: Words, view: View, offset: int) -> Iterator[Hit]:
    for match in compiled.pattern.finditer(words.letters):
        first, last = match.start(), match.end() - 1
        while last > first and words.letters[last] in (STOP, OTHER, COMMA):
            last -= 1
        segments = words.segments(first, last)
        matched = [segment[2].languages for segment in segments if segment[2] is not None]
        if not matched or (compiled.phrase.languages and not matched[0] & compiled.phrase.languages):
            continue
        weight = compiled.phrase.weight
        if compiled.phrase.negatable:
            weight = _weighed(words.letters, first, weight, compiled.phrase.family)
        if weight:
            rule = f"{compiled.phrase.family}.{_language(matched)}"
            yield hit_of(rule, view, offset + segments[0][0], offset + segments[-1][1], weight)


def _weighed(letters: str, first: int, weight: int, family: str) -> int:
    """The weight of a phrase after what stands before it: "never reveal" is a defence, "it ignores" a description."""
    before = letters[max(0, first - 12) : first]
    near = before[-2:]
    if _NEGATED.search(near):
        return 0
    if family in ("extraction", "exfiltration") and _LISTED.search(before):
        return weight // 2
    if _DESCRIBED.search(near) and not any(letter in _YOU for letter in before[-4:]):
        return weight // 2
    return weight


def _language(matched: Sequence[frozenset[str]]) -> str:
    for language in LEXICON:
        if all(language in languages for languages in matched):
            return language
    return next(language for language in LEXICON if language in matched[0])


def pattern_hits(view: View) -> Iterator[Hit]:
    """A hit for each match of a raw pattern of the rules."""
    folded, shaped = view.folded, view.shaped
    heard = reduce(int.__or__, set(map(_HEARD.__getitem__, view.runs)), _ALWAYS)
    for bits, pattern, groups, regex in _PATTERNS:
        if not bits & heard or (pattern.runs and pattern.runs.isdisjoint(view.runs)):
            continue
        for group in groups:
            for hint in group:
                if hint.bit & heard == hint.bit and (hint.foreign in folded if hint.foreign else hint.whole in shaped):
                    break
            else:
                break
        else:
            for start, end in _places(regex, folded):
                yield hit_of(f"{pattern.family}.any", view, start, end, pattern.weight)


def _places(regex: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The spans of all matches, each of which is shorter than _REACH; looked for in one slab after the other."""
    read = 0
    for start, end in screen_shape.slabs(text):
        for match in regex.finditer(text, max(start, read), end + _REACH):
            if match.start() >= end:
                break
            yield match.span()
            read = match.end()


def hit_of(rule: str, view: View, start: int, end: int, weight: int) -> Hit:
    """A finding at [start, end) of `view`, where that is in the message, and how it reads there."""
    source_start, source_end = view.source_span(start, end)
    room = max(0, (SNIPPET // 2 - (end - start)) // 2)
    excerpt = view.text[max(0, start - room) : min(end + room, start + SNIPPET)]
    layer = f"[{view.name}] " if view.depth else ""
    return Hit(rule=rule, start=source_start, end=source_end, weight=weight, view=view.name, excerpt=layer + excerpt)
