"""The words of the policy compiled: what a word of a folded text stands for, and how it asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from node.core.screen_policy_more_words import MORE_WORDS
from node.core.screen_policy_words import WORDS as FIRST_WORDS
from node.core.screen_views import fold

WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*|#\d+|[^\W\d_a-z]+")
UNSPACED = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


WORDS = FIRST_WORDS | MORE_WORDS


class Form(StrEnum):
    """How a word of an act asks."""

    PLAIN = ""  # with a word that asks, anywhere in the sentence
    START = "+"  # next to a word that asks, or as an imperative that begins a clause
    ASKS = "!"  # by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Words in a row and what they stand for; `second` begins the second of them, empty for a single one."""

    words: tuple[str, ...]
    concept: str
    form: Form
    language: str
    second: str = field(init=False)

    def __post_init__(self) -> None:
        # Once for each entry: it is asked for with every word of a text.
        object.__setattr__(self, "second", self.words[1].removesuffix("*") if len(self.words) > 1 else "")

    @property
    def rarest(self) -> str:
        """The word of a phrase that stands in the fewest texts: the longest."""
        return max((word for word in self.words if not word.endswith("*")), key=len)


class _Lexicon:
    """The words compiled: by their first word those that stand between others, and those that are found anywhere."""

    def __init__(self) -> None:
        self._by_word: dict[str, list[Entry]] = {}
        self._stems: dict[str, list[Entry]] = {}
        self._by_rarest: dict[str, list[Entry]] = {}  # phrases
        self._anywhere: dict[str, list[tuple[str, Entry]]] = {}  # by their first character
        for language, table in WORDS.items():
            concept = ""
            for item in table.split():
                if item.isascii() and item.isupper() and item[0].isalpha():
                    concept = item
                else:
                    self._add(item, concept, language)
        self._stem_lengths = sorted({len(stem) for stem in self._stems}, reverse=True)
        self.look_up = lru_cache(maxsize=8_192)(self._look_up)

    def _add(self, item: str, concept: str, language: str) -> None:
        form = Form(item[0]) if item[0] in "!+" else Form.PLAIN
        text = fold(item.lstrip("!+").replace("_", " "))
        if UNSPACED.search(text):
            found = Entry(words=(text,), concept=concept, form=form, language=language)
            self._anywhere.setdefault(text[0], []).append((text, found))
            return
        stem = text.endswith("*")
        words = tuple(match.group() for match in WORD.finditer(text.rstrip("*")))
        if not words or (len(words) == 1 and len(words[0]) == 1):
            return
        entry = Entry(words=words, concept=concept, form=form, language=language)
        if stem and len(words) == 1:
            self._stems.setdefault(words[0], []).append(entry)
        else:
            if stem:
                entry = Entry(words=(*words[:-1], words[-1] + "*"), concept=concept, form=form, language=language)
            self._by_word.setdefault(words[0], []).append(entry)
            if len(words) > 1:
                self._by_rarest.setdefault(entry.rarest, []).append(entry)

    def _look_up(self, word: str) -> tuple[Entry, ...]:
        found = [*self._by_word.get(word, ())]
        for length in self._stem_lengths:
            if length <= len(word):
                found += self._stems.get(word[:length], ())
        if not found and ("'" in word or "-" in word):
            for part in (re.split("['-]", word)[-1], re.split("['-]", word)[0]):
                found = [entry for entry in self.look_up(part) if len(entry.words) == 1]
                if found:
                    break
        return tuple(sorted(found, key=lambda entry: -len(entry.words)))

    def telling(self, word: str) -> Iterator[Entry]:
        """What a word stands for by itself, and the phrases of which it is the rarest word."""
        yield from (entry for entry in self.look_up(word) if len(entry.words) == 1)
        yield from self._by_rarest.get(word, ())

    def entries(self) -> Iterator[Entry]:
        """All words that stand between others."""
        for entries in (*self._by_word.values(), *self._stems.values()):
            yield from entries

    def anywhere(self, sentence: str) -> Iterator[tuple[int, int, Entry]]:
        """Where the words that are found anywhere stand in a sentence."""
        for head in self._anywhere.keys() & set(sentence):
            for text, entry in self._anywhere[head]:
                start = sentence.find(text)
                while start >= 0:
                    yield start, start + len(text), entry
                    start = sentence.find(text, start + len(text))


LEXICON = _Lexicon()


def fits(words: Sequence[str], entry: tuple[str, ...]) -> bool:
    """Whether the words are those of an entry."""
    return len(words) == len(entry) and all(
        word.startswith(part[:-1]) if part.endswith("*") else word == part
        for word, part in zip(words, entry, strict=True)
    )
