"""The lexicon compiled: which concepts a word names, with one letter for each set of concepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from node.core.screen_lexicon import LEXICON, STOP_WORDS
from node.core.screen_views import Lexis, fold

_ALNUM = re.compile("[a-z0-9]+")
LONG_WORD = 14  # a word of this length may be several, written together
_WEIGHED_CHARS = 400  # up to here it is weighed up which words a text without blanks consists of
_REMEMBERED_WORDS, _REMEMBERED_CHARS = 8_192, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexeme:
    """What a word of the lexicon stands for: the letter of its set of concepts, in the languages that have it."""

    letter: str
    languages: frozenset[str]


Segment = tuple[int, int, Lexeme | None]  # start and end in the view


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
        # Lexemes in ASCII: the runs of letters and digits which each consists of, and its letter.
        self.in_runs = [
            (tuple(_ALNUM.findall(key)), letters[frozenset(names)]) for key, names in concepts.items() if key.isascii()
        ]
        self.classes: dict[str, str] = {}
        for group, letter in letters.items():
            for name in group:
                self.classes[name] = self.classes.get(name, "") + letter
        for rows in self._phrases.values():
            rows.sort(key=lambda row: -len(row[0]))
        self.longest = max(len(row[0]) for rows in self._phrases.values() for row in rows)
        self._stem_heads = {stem[0] for stem in self._stems}
        self._stem_lengths = sorted({len(stem) for stem in self._stems}, reverse=True)
        self._written: dict[str, Lexeme | None] = segments
        lengths: dict[str, set[int]] = {}  # of the words, by their first letter
        for word in segments:
            lengths.setdefault(word[0], set()).add(len(word))
        self._lengths = {head: sorted(found, reverse=True) for head, found in lengths.items()}

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

    def begins_phrase(self, word: str) -> bool:
        return word in self._phrases

    def lexis(self) -> Lexis:
        """The vocabulary as the decoders of whole words use it."""
        return Lexis.of((*self._parts, *self._exact), self.known)

    def phrase(self, words: Sequence[str], at: int) -> tuple[int, Lexeme] | None:
        """The longest phrase that starts at `words[at]`, as (number of words, lexeme)."""
        for parts, lexeme in self._phrases.get(words[at], ()):
            rest = words[at + 1 : at + len(parts)]
            if len(rest) == len(parts) - 1 and all(map(_fits, rest, parts[1:])):
                return len(parts), lexeme
        return None

    def segment(self, text: str, offset: int) -> list[Segment]:
        """The words of a text without blanks; six letters between them count as one unknown word."""
        fewest = text.isascii() and len(text) <= _WEIGHED_CHARS
        found: list[Segment] = []
        gap = 0
        for start, end in self._best_words(text) if fewest else self._longest_words(text):
            found.extend((offset + at, offset + min(at + 6, start), None) for at in range(gap, start, 6))
            found.append((offset + start, offset + end, self._written[text[start:end]]))
            gap = end
        return found

    def _longest_words(self, text: str) -> Iterator[tuple[int, int]]:
        """Of the words that start at a place the longest, then on from its end."""
        position = 0
        while position < len(text):
            for length in self._lengths.get(text[position], ()):
                word = text[position : position + length]
                if word in self._written:
                    yield position, position + len(word)
                    position += len(word)
                    break
            else:
                position += 1

    def _best_words(self, text: str) -> Iterator[tuple[int, int]]:
        """The words that leave the fewest letters over, and of those the fewest words: `do not tell`, not `dono`."""
        best = [(0, 0, 0)] * (len(text) + 1)  # from a place on: letters left over, words, and the length of the first
        for at in range(len(text) - 1, -1, -1):
            best[at] = (best[at + 1][0] + 1, best[at + 1][1], 0)
            for length in self._lengths.get(text[at], ()):
                if at + length <= len(text) and text[at : at + length] in self._written:
                    left, words, _ = best[at + length]
                    best[at] = min(best[at], (left, words + 1, length))
        at = 0
        while at < len(text):
            length = best[at][2]
            if length:
                yield at, at + length
            at += length or 1


VOCABULARY = _Vocabulary()
LEXIS = VOCABULARY.lexis()
