"""Where the phrases and patterns of the rules occur in a view, as weighed hits; linear in the view's length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.core.screen_lexicon import LEXICON
from node.core.screen_rules import PATTERNS, PHRASES, Phrase
from node.core.screen_views import View
from node.core.screen_words import COMMA, OTHER, STOP, VOCABULARY, words_of

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
    needs: tuple[frozenset[str], ...]


def _class_of(names: str) -> str:
    return "".join(VOCABULARY.classes[name] for name in names.split("|"))


def _compiled(phrase: Phrase) -> _Compiled:
    """The phrase as a regular expression over letters; every gap is bounded, so matching is linear."""
    source = ""
    needs: list[frozenset[str]] = []
    for item in phrase.form.split():
        if item == "^":
            source += r"(?:\A|(?<=\n))"
        elif item == "$":
            source += r"(?=\n|\Z)"
        elif item.startswith("!"):
            source += rf"(?![^\n]{{0,3}}[{_class_of(item[1:])}])"
        elif item.endswith("+"):
            source += rf"[\s\S]{{0,{int(item[:-1])}}}?"
        elif item.endswith("-"):
            source += rf"[^\n,]{{0,{int(item[:-1])}}}?"
        elif item.isdecimal():
            source += rf"[^\n]{{0,{int(item)}}}?"
        else:
            source += f"[{_class_of(item)}]"
            needs.append(frozenset(_class_of(item)))
    return _Compiled(phrase=phrase, pattern=re.compile(source), needs=tuple(needs))


_COMPILED = tuple(map(_compiled, PHRASES))
_PATTERNS = tuple((pattern, re.compile(pattern.regex)) for pattern in PATTERNS)
_YOU = _class_of("YOU|YOUR")
_NEGATED = re.compile(rf"[{_class_of('NEG')}][^\n,]?\Z")
_DESCRIBED = re.compile(rf"[{_class_of('DESCRIBE|DEFEND')}][^\n]?\Z")
_LISTED = re.compile(rf"(?:\A|\n)[^\n]?[{_class_of('NEG')}][^\n]{{0,8}}\Z")


def phrase_hits(view: View) -> Iterator[Hit]:
    """A hit for each place where a phrase of the rules occurs and is not negated."""
    words = words_of(view.folded)
    present = set(words.letters)
    for compiled in _COMPILED:
        if any(present.isdisjoint(need) for need in compiled.needs):
            continue
        for match in compiled.pattern.finditer(words.letters):
            first, last = match.start(), match.end() - 1
            while last > first and words.letters[last] in (STOP, OTHER, COMMA):
                last -= 1
            matched = [segment[2].languages for segment in words.segments[first : last + 1] if segment[2] is not None]
            if not matched or (compiled.phrase.languages and not matched[0] & compiled.phrase.languages):
                continue
            weight = compiled.phrase.weight
            if compiled.phrase.negatable:
                weight = _weighed(words.letters, first, weight, compiled.phrase.family)
            if weight:
                start, end = words.segments[first][0], words.segments[last][1]
                yield _hit(f"{compiled.phrase.family}.{_language(matched)}", view, start, end, weight)


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
    for pattern, regex in _PATTERNS:
        if any(hint in view.folded for hint in pattern.hints):
            for match in regex.finditer(view.folded):
                yield _hit(f"{pattern.family}.any", view, match.start(), match.end(), pattern.weight)


def _hit(rule: str, view: View, start: int, end: int, weight: int) -> Hit:
    source_start, source_end = view.source_span(start, end)
    room = max(0, (SNIPPET // 2 - (end - start)) // 2)
    excerpt = view.text[max(0, start - room) : min(end + room, start + SNIPPET)]
    layer = f"[{view.name}] " if view.depth else ""
    return Hit(rule=rule, start=source_start, end=source_end, weight=weight, view=view.name, excerpt=layer + excerpt)
