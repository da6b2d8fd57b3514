"""The rule-based screen: one pure function from the fields that can reach a model to a verdict.

A message is read as one text, so a phrase split over title and body is still a phrase. It is matched in its canonical
form and in each decoded view. Findings near one another add up; a finding which the message merely quotes and talks
about is noted in the timeline, never held back.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, pairwise

from node.core.screen_rules import ADVICE, LEXICON, PATTERNS, PHRASES, STOP_WORDS, VERSION, Phrase
from node.core.screen_views import View, canonical, decoded_views, fold, hidden_runs, smuggled_views

ENGINE = "rules"
WITHHOLD_AT = 700  # per mille
LOG_AT = 300
QUOTED_CAP = 600  # a quotation is logged at most
NEAR = 600  # code points within which findings add up; a long message is no more suspect than a short one
SEAM = 80  # code points on each side of a field's end that are also read as one word
LAYERS_TIMES, LAYERS_FREE = 8, 65536  # all layers together may be 8 times the message, and 64 Ki code points more
MAX_FINDINGS = 64
SNIPPET = 300


class Decision(StrEnum):
    RELAY = "relay"
    LOG = "log"  # relayed, and noted in the timeline
    WITHHOLD = "withhold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One hit. `start`, `end` are code points of the original field; `weight` is per mille; `view` says which layer."""

    rule: str
    field: str
    start: int
    end: int
    weight: int
    view: str
    quoted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`score` is per mille; `snippet` and `advice` are for the sender, with control characters escaped."""

    decision: Decision
    score: int
    findings: tuple[Finding, ...]
    snippet: str
    advice: str
    engine: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hit:
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


def screen(fields: Sequence[Field]) -> Verdict:
    """Judge everything of one message that can reach a model. Total, deterministic, linear in the message's length."""
    joined = "\n".join(field.text for field in fields)
    found = [*_structural_hits(joined), *_layer_hits(joined), *_seam_hits(fields)]
    hits = _quotations_marked(joined, _distinct(heapq.nlargest(4 * MAX_FINDINGS, found, key=lambda hit: hit.weight)))
    plain_score, best = _score([hit for hit in hits if not hit.quoted])
    full_score, best_of_all = _score(hits)
    score = max(plain_score, min(full_score, QUOTED_CAP))
    decision = Decision.WITHHOLD if score >= WITHHOLD_AT else Decision.LOG if score >= LOG_AT else Decision.RELAY
    best = best if best is not None and plain_score >= LOG_AT else best_of_all
    field_starts = list(accumulate((len(field.text) + 1 for field in fields), initial=0))
    return Verdict(
        decision=decision,
        score=score,
        findings=tuple(_finding(hit, fields, field_starts) for hit in hits),
        snippet=_escaped(best.excerpt) if best is not None else "",
        advice=ADVICE[best.family] if best is not None and decision is not Decision.RELAY else "",
        engine=ENGINE,
        version=VERSION,
    )


# --- words to concepts ------------------------------------------------------------------------------------------------

_OTHER, _STOP, _COMMA = " ", "\n", ","  # the letters of a word without a concept, of a sentence's end and of a comma
_LINK = "http"
_TOKEN = re.compile(
    r"[.@]?\w+(?:'\w+)?|,(?=\s)|[，、،]|[.!?:;؟।](?=\s|$)|[。！？]|\n[ \t]*\n|\n[ \t]{0,8}(?:[-*#>]|\d{1,2}[.)])[ \t]"
)
_NAME_PART = re.compile(r"[^_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LONG_WORD = 14  # a word of this length may be several, written together


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lexeme:
    letter: str
    languages: frozenset[str]


Segment = tuple[int, int, _Lexeme | None]  # start and end in the view


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """A view as concepts: `letters[i]` stands for the word `segments[i]`."""

    letters: str
    segments: Sequence[Segment]


def _fits(word: str, entry: str) -> bool:
    return word.startswith(entry[:-1]) if entry.endswith("*") else word == entry


class _Vocabulary:
    """The lexicon compiled: exact words, stems and phrases, and for each concept its class of letters."""

    def __init__(self) -> None:
        concepts: dict[str, set[str]] = {}
        languages: dict[str, set[str]] = {}
        for language, table in LEXICON.items():
            concept = ""
            for word in table.split():
                if word.isascii() and word.isupper():
                    concept = word
                    continue
                key = fold(word).replace("-", "_").strip("_")
                concepts.setdefault(key, set()).add(concept)
                languages.setdefault(key, set()).add(language)
        letters: dict[frozenset[str], str] = {}
        self._exact: dict[str, _Lexeme] = {}
        self._stems: dict[str, _Lexeme] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], _Lexeme]]] = {}
        self._parts: set[str] = set()  # every word that occurs in a lexeme
        segments: dict[str, _Lexeme | None] = {fold(word): None for word in STOP_WORDS.split()}
        for key, names in concepts.items():
            letter = letters.setdefault(frozenset(names), chr(0x4E00 + len(letters)))
            lexeme = _Lexeme(letter=letter, languages=frozenset(languages[key]))
            parts = tuple(key.split("_"))
            segments["".join(parts).strip(".*")] = lexeme
            self._parts.update(parts)
            if len(parts) > 1:
                self._phrases.setdefault(parts[0], []).append((parts, lexeme))
            elif key.endswith("*"):
                self._stems[key[:-1]] = lexeme
            else:
                self._exact[key] = lexeme
        self.classes: dict[str, str] = {}
        for group, letter in letters.items():
            for name in group:
                self.classes[name] = self.classes.get(name, "") + letter
        for rows in self._phrases.values():
            rows.sort(key=lambda row: -len(row[0]))
        self._stem_heads = {stem[0] for stem in self._stems}
        self._stem_lengths = sorted({len(stem) for stem in self._stems}, reverse=True)
        self._heads: dict[str, list[tuple[str, _Lexeme | None]]] = {}
        for word, lexeme_or_none in segments.items():
            self._heads.setdefault(word[0], []).append((word, lexeme_or_none))
        for candidates in self._heads.values():
            candidates.sort(key=lambda candidate: -len(candidate[0]))

    def lookup(self, word: str) -> _Lexeme | None:
        found = self._exact.get(word)
        if found is None and word[:1] in self._stem_heads:
            for length in self._stem_lengths:
                found = self._stems.get(word[:length])
                if found is not None:
                    return found
        if found is None and "'" in word:
            left, _, right = word.partition("'")
            found = self._exact.get(right) or self._exact.get(left)
        return found

    def known(self, word: str) -> bool:
        return word in self._parts or self.lookup(word) is not None

    def phrase(self, words: Sequence[str], at: int) -> tuple[int, _Lexeme] | None:
        """The longest phrase that starts at `words[at]`, as (number of words, lexeme)."""
        for parts, lexeme in self._phrases.get(words[at], ()):
            rest = words[at + 1 : at + len(parts)]
            if len(rest) == len(parts) - 1 and all(map(_fits, rest, parts[1:])):
                return len(parts), lexeme
        return None

    def segment(self, text: str, offset: int) -> list[Segment]:
        """The words of a text without blanks, longest first; six letters between them count as one unknown word."""
        found: list[Segment] = []
        position = gap = 0
        while position < len(text):
            for word, lexeme in self._heads.get(text[position], ()):
                if text.startswith(word, position):
                    found.extend((offset + at, offset + min(at + 6, position), None) for at in range(gap, position, 6))
                    found.append((offset + position, offset + position + len(word), lexeme))
                    position = gap = position + len(word)
                    break
            else:
                position += 1
        return found


_VOCABULARY = _Vocabulary()


def _tokens(folded: str) -> Iterator[tuple[str, int, int]]:
    """(word, start, end) of each word of a folded view, with a line feed as the word of a sentence's end."""
    for match in _TOKEN.finditer(folded):
        word = match.group()
        start, end = match.span()
        if word.isalnum():
            yield word, start, end
            continue
        if word[0] in ".@" and len(word) > 1:
            glued = start > 0 and folded[start - 1].isalnum()
            if glued and word[0] == "@":
                word = _LINK  # a mail address is a place outside, as a link is
            elif glued or _VOCABULARY.lookup(word) is None:
                word, start = word[1:], start + 1
        if "_" in word:
            parts = [(part.group(), start + part.start(), start + part.end()) for part in _NAME_PART.finditer(word)]
            if len(parts) != 2 or parts[0][0] == "id":  # else an identifier: `system_prompt` is no phrase
                yield from parts
                continue
        if word[0] in ",，、،":
            word = _COMMA
        elif word == "." or not (word[0].isalnum() or word[0] in "_."):
            word = _STOP
        yield word, start, end


def _words(folded: str) -> _Words:
    """Cut a folded view into words and sentence ends, and name the concept of each word."""
    tokens = list(_tokens(folded))
    names = [token[0] for token in tokens]
    segments: list[Segment] = []
    letters: list[str] = []
    taken = 0  # tokens up to here are part of a phrase already
    for index, (token, start, end) in enumerate(tokens):
        if index < taken:
            continue
        if token in (_STOP, _COMMA):
            letters.append(token)
            segments.append((start, end, None))
            continue
        merged = _VOCABULARY.phrase(names, index)
        if merged is not None:
            taken = index + merged[0]
            letters.append(merged[1].letter)
            segments.append((start, tokens[taken - 1][2], merged[1]))
            continue
        lexeme = _VOCABULARY.lookup(token)
        if lexeme is not None or (len(token) < _LONG_WORD and token.isascii()):
            letters.append(lexeme.letter if lexeme is not None else _OTHER)
            segments.append((start, end, lexeme))
            continue
        for segment in _split(token, start):
            letters.append(segment[2].letter if segment[2] is not None else _OTHER)
            segments.append(segment)
    return _Words(letters="".join(letters), segments=segments)


def _split(token: str, start: int) -> list[Segment]:
    """The segments of a word outside the vocabulary: of a script without blanks, or of several words run together."""
    if token.isascii() or _UNSPACED.search(token) is None:
        if len(token) < _LONG_WORD or not token.isalpha():
            return [(start, start + len(token), None)]
        segments = _VOCABULARY.segment(token, start)
        covered = sum(end - begin for begin, end, _ in segments if end - begin > 2)
        return segments if 2 * covered >= len(token) else [(start, start + len(token), None)]
    return _VOCABULARY.segment(token, start)


# --- concepts to hits -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    phrase: Phrase
    pattern: re.Pattern[str]
    needs: tuple[frozenset[str], ...]


def _class_of(names: str) -> str:
    return "".join(_VOCABULARY.classes[name] for name in names.split("|"))


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


def _phrase_hits(view: View) -> Iterator[_Hit]:
    words = _words(view.folded)
    present = set(words.letters)
    for compiled in _COMPILED:
        if any(present.isdisjoint(need) for need in compiled.needs):
            continue
        for match in compiled.pattern.finditer(words.letters):
            first, last = match.start(), match.end() - 1
            while last > first and words.letters[last] in (_STOP, _OTHER, _COMMA):
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


def _pattern_hits(view: View) -> Iterator[_Hit]:
    for pattern, regex in _PATTERNS:
        if any(hint in view.folded for hint in pattern.hints):
            for match in regex.finditer(view.folded):
                yield _hit(f"{pattern.family}.any", view, match.start(), match.end(), pattern.weight)


def _hit(rule: str, view: View, start: int, end: int, weight: int) -> _Hit:
    source_start, source_end = view.source_span(start, end)
    room = max(0, (SNIPPET // 2 - (end - start)) // 2)
    excerpt = view.text[max(0, start - room) : min(end + room, start + SNIPPET)]
    layer = f"[{view.name}] " if view.depth else ""
    return _Hit(rule=rule, start=source_start, end=source_end, weight=weight, view=view.name, excerpt=layer + excerpt)


def _structural_hits(joined: str) -> Iterator[_Hit]:
    for run in hidden_runs(joined):
        excerpt = joined[max(0, run.start - 60) : run.end + 60]
        yield _Hit(rule=run.rule, start=run.start, end=run.end, weight=run.weight, view="raw", excerpt=excerpt)


def _layer_hits(joined: str) -> Iterator[_Hit]:
    """Hits of the canonical text and of all decoded layers; too many layers to read are a reason of their own."""
    budget = LAYERS_TIMES * len(joined) + LAYERS_FREE
    queue = [canonical(joined), *smuggled_views(joined)]
    while queue:
        view = queue.pop()
        budget -= len(view.text)
        if budget < 0:
            yield _Hit(rule="encoded.excess", start=0, end=len(joined), weight=1000, view="raw", excerpt=joined[:120])
            return
        yield from _phrase_hits(view)
        yield from _pattern_hits(view)
        queue.extend(decoded_views(view, _VOCABULARY.known))


def _seam_hits(fields: Sequence[Field]) -> Iterator[_Hit]:
    """Hits that only appear when neighbouring fields are read in the other order, or as one word across their ends."""
    starts = list(accumulate((len(field.text) + 1 for field in fields), initial=0))
    for left, right in pairwise(range(len(fields))):
        for first, second, glue in ((left, right, ""), (right, left, " ")):
            head, tail = fields[first].text[-SEAM:], fields[second].text[:SEAM]
            if not head or not tail:
                continue
            offset = starts[first] + len(fields[first].text) - len(head)
            for hit in _phrase_hits(canonical(head + glue + tail)):
                if hit.start < len(head) < hit.end:
                    yield replace(hit, start=offset + hit.start, end=offset + len(head), view="joined")


# --- hits to a verdict ------------------------------------------------------------------------------------------------

_QUOTES = re.compile(
    r"^ {0,3}```[^\n]{0,80}\n[\s\S]{1,4000}?^ {0,3}```|```[^`]{1,2000}```|``[^`\n]{1,300}``|`[^`\n]{1,300}`"
    r'|"[^"\n]{1,300}"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|„[^“”\n]{1,300}[“”]|「[^」\n]{1,200}」'
    r"|(?<!\w)['‘][^'’\n]{1,300}['’](?!\w)",
    re.MULTILINE,
)
_ABOUT = re.compile(
    r"\b(?:document(?:s|ed|ation)?|readme|tests?|tested|testing|fixtures?|review(?:s|ed|er)?|detect(?:s|ed|or|ors|ion)?"
    r"|refus(?:e|es|ed|ing|al)|reject(?:s|ed)?|examples?|e\.g|such as|phrases?|strings?|payloads?|injections?|attacks?"
    r"|regex(?:es)?|patterns?|scanners?|screen(?:s|ed|ing|er)?|filter(?:s|ed)?|withheld|flag(?:s|ged)?|block(?:s|ed)?"
    r"|held back|false positives?|jailbreaks?|red.?team(?:ing)?|says|said|contain(?:s|ed|ing)|look(?:s)? like|tried to"
    r"|tries to|malicious|adversarial|prompts? like|sentences?|exemplos?|ejemplos?|beispiele?|exemples?|testes"
    r"|pruebas|ataques?|angriff)\b"
)
_COMMANDED = re.compile(
    r"\b(?:follow|obey|execute|comply with|act on|carry out|decode)\b[^.\n]{0,40}\b(?:it|this|that|these|them|below"
    r"|above|the following|instructions?|block|quoted?)\b"
)

_NEGATION = re.compile(r"\b(?:not|never|refus\w{1,3}|cannot|without)\b|n't\b")


def _quotations_marked(joined: str, hits: Sequence[_Hit]) -> list[_Hit]:
    """Mark the hits inside quotation marks, backticks or code which the message talks about rather than gives."""
    if not hits or all(hit.family in ("hidden", "encoded") for hit in hits):
        return list(hits)
    spans = [match.span() for match in _QUOTES.finditer(joined)]
    outside = _outside(joined, spans)
    starts = [start for start, _ in spans]
    marked: list[_Hit] = []
    for hit in hits:
        at = bisect_right(starts, hit.start) - 1
        quoted = (
            at >= 0
            and hit.end <= spans[at][1]
            and hit.family not in ("hidden", "encoded")
            and _talked_about(outside, spans[at])
        )
        marked.append(replace(hit, quoted=quoted))
    return marked


def _outside(joined: str, spans: Sequence[tuple[int, int]]) -> str:
    """The message in lower case with its quotations blanked out, at the same offsets (case must not change length)."""
    pieces: list[str] = []
    copied = 0
    for start, end in spans:
        pieces.extend((joined[copied:start], " " * (end - start)))
        copied = end
    pieces.append(joined[copied:])
    return "".join(pieces)


def _talked_about(outside: str, span: tuple[int, int]) -> bool:
    start, end = span
    near = outside[max(0, start - 200) : end + 120].lower()
    if _ABOUT.search(near) is None:
        return False
    return not any(
        _NEGATION.search(near, max(0, match.start() - 40), match.start()) is None for match in _COMMANDED.finditer(near)
    )


def _distinct(hits: Sequence[_Hit]) -> list[_Hit]:
    """The heaviest of overlapping hits of one family, at most MAX_FINDINGS, in the order of the message."""
    kept: list[_Hit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.weight, hit.start, hit.end, hit.rule, hit.view)):
        if len(kept) < MAX_FINDINGS and not any(
            other.family == hit.family and other.start < hit.end and hit.start < other.end for other in kept
        ):
            kept.append(hit)
    return sorted(kept, key=lambda hit: (hit.start, hit.end, hit.rule))


def _score(hits: Sequence[_Hit]) -> tuple[int, _Hit | None]:
    """The strongest sum of different families within NEAR of one another, and its heaviest hit."""
    best, heaviest = 0, None
    for index, first in enumerate(hits):
        families: dict[str, _Hit] = {}
        for hit in hits[index:]:
            if hit.start - first.end > NEAR:
                break
            if hit.family not in families or families[hit.family].weight < hit.weight:
                families[hit.family] = hit
        doubt = 1000
        for hit in families.values():
            doubt = doubt * (1000 - hit.weight) // 1000
        if 1000 - doubt > best:
            best, heaviest = 1000 - doubt, max(families.values(), key=lambda hit: hit.weight)
    return best, heaviest


def _finding(hit: _Hit, fields: Sequence[Field], starts: Sequence[int]) -> Finding:
    """The hit in its field; one that crosses fields is placed in the field which holds most of it."""
    first = bisect_right(starts, hit.start) - 1
    best, span, field = -1, (0, 0), fields[0]
    for index in range(min(first, len(fields) - 1), len(fields)):
        if starts[index] >= hit.end and best >= 0:
            break
        length = len(fields[index].text)
        start = min(max(hit.start - starts[index], 0), length)
        end = min(max(hit.end - starts[index], 0), length)
        if end - start > best:
            best, span, field = end - start, (start, end), fields[index]
    return Finding(
        rule=hit.rule, field=field.name, start=span[0], end=span[1], weight=hit.weight, view=hit.view, quoted=hit.quoted
    )


def _escaped(text: str) -> str:
    """At most SNIPPET characters, with everything that is not plainly visible written as an escape."""
    shown: list[str] = []
    room = SNIPPET
    for char in text:
        piece = char if char.isprintable() else f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
        piece = " " if char in "\n\t" else piece
        room -= len(piece)
        if room < 0:
            break
        shown.append(piece)
    return "".join(shown).strip()
