"""A folded text as words, and words as concepts: the lexicon compiled, with one letter for each set of concepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from node.core.screen_lexicon import LEXICON, STOP_WORDS
from node.core.screen_views import fold

OTHER, STOP, COMMA = " ", "\n", ","  # the letters of a word without a concept, of a sentence's end and of a comma
_LINK = "http"
_TOKEN = re.compile(
    r"[.@]?\w+(?:'\w+)?|,(?=\s)|[，、،]|[.!?:;؟।](?=\s|$)|[。！？]|\n[ \t]*\n|\n[ \t]{0,8}(?:[-*#>]|\d{1,2}[.)])[ \t]"
)
_NAME_PART = re.compile(r"[^_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_REMEMBERED_WORDS, _REMEMBERED_CHARS = 8_192, 32
_LONG_WORD = 14  # a word of this length may be several, written together


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexeme:
    """What a word of the lexicon stands for: the letter of its set of concepts, in the languages that have it."""

    letter: str
    languages: frozenset[str]


Segment = tuple[int, int, Lexeme | None]  # start and end in the view


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
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
        self._remembered = lru_cache(maxsize=_REMEMBERED_WORDS)(self._look_up)
        self._exact: dict[str, Lexeme] = {}
        self._stems: dict[str, Lexeme] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], Lexeme]]] = {}
        self._parts: set[str] = set()  # every word that occurs in a lexeme
        segments: dict[str, Lexeme | None] = {fold(word): None for word in STOP_WORDS.split()}
        for key, names in concepts.items():
            letter = letters.setdefault(frozenset(names), chr(0x4E00 + len(letters)))
            lexeme = Lexeme(letter=letter, languages=frozenset(languages[key]))
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
        self._heads: dict[str, list[tuple[str, Lexeme | None]]] = {}
        for word, lexeme_or_none in segments.items():
            self._heads.setdefault(word[0], []).append((word, lexeme_or_none))
        for candidates in self._heads.values():
            candidates.sort(key=lambda candidate: -len(candidate[0]))

    def lookup(self, word: str) -> Lexeme | None:
        # A text says the same words over and over, and is read in many views.
        return self._remembered(word) if len(word) <= _REMEMBERED_CHARS else self._look_up(word)

    def _look_up(self, word: str) -> Lexeme | None:
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

    def phrase(self, words: Sequence[str], at: int) -> tuple[int, Lexeme] | None:
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


VOCABULARY = _Vocabulary()


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
            elif glued or VOCABULARY.lookup(word) is None:
                word, start = word[1:], start + 1
        if "_" in word:
            parts = [(part.group(), start + part.start(), start + part.end()) for part in _NAME_PART.finditer(word)]
            if len(parts) != 2 or parts[0][0] == "id":  # else an identifier: `system_prompt` is no phrase
                yield from parts
                continue
        if word[0] in ",，、،":
            word = COMMA
        elif word == "." or not (word[0].isalnum() or word[0] in "_."):
            word = STOP
        yield word, start, end


def words_of(folded: str) -> Words:
    """Cut a folded view into words and sentence ends, and name the concept of each word."""
    tokens = list(_tokens(folded))
    names = [token[0] for token in tokens]
    segments: list[Segment] = []
    letters: list[str] = []
    taken = 0  # tokens up to here are part of a phrase already
    for index, (token, start, end) in enumerate(tokens):
        if index < taken:
            continue
        if token in (STOP, COMMA):
            letters.append(token)
            segments.append((start, end, None))
            continue
        merged = VOCABULARY.phrase(names, index)
        if merged is not None:
            taken = index + merged[0]
            letters.append(merged[1].letter)
            segments.append((start, tokens[taken - 1][2], merged[1]))
            continue
        lexeme = VOCABULARY.lookup(token)
        if lexeme is not None or (len(token) < _LONG_WORD and token.isascii()):
            letters.append(lexeme.letter if lexeme is not None else OTHER)
            segments.append((start, end, lexeme))
            continue
        for segment in _split(token, start):
            letters.append(segment[2].letter if segment[2] is not None else OTHER)
            segments.append(segment)
    return Words(letters="".join(letters), segments=segments)


def _split(token: str, start: int) -> list[Segment]:
    """The segments of a word outside the vocabulary: of a script without blanks, or of several words run together."""
    if token.isascii() or _UNSPACED.search(token) is None:
        if len(token) < _LONG_WORD or not token.isalpha():
            return [(start, start + len(token), None)]
        segments = VOCABULARY.segment(token, start)
        covered = sum(end - begin for begin, end, _ in segments if end - begin > 2)
        return segments if 2 * covered >= len(token) else [(start, start + len(token), None)]
    return VOCABULARY.segment(token, start)
