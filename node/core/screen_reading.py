"""A folded text read as words: one letter for each word, which says what the word stands for.

Nearly all of a text is read by the regular-expression engine and one dictionary; what Python has to look at itself are
the few words that may begin a phrase, or whose meaning hangs on what they are glued to. Where a word lies in the text
is worked out only once a rule asks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from node.core.screen_words import LONG_WORD, VOCABULARY, Segment

OTHER, STOP, COMMA = " ", "\n", ","  # the letters of a word without a concept, of a sentence's end and of a comma
_LINK = "http"
_TOKEN = re.compile(
    r"([.@]?\w+(?:'\w+)?|,(?=\s)|[，、،]|[.!?:;؟।](?=\s|$)|[。！？]|\n[ \t]*\n"
    r"|\n[ \t]{0,8}(?:[-*#>]|\d{1,2}[.)])[ \t])"
)
_NAME_PART = re.compile(r"[^_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_REMEMBERED_TOKENS, _REMEMBERED_CHARS = 16_384, 32
_SLAB = 16_384  # code points that are cut in one call, during which no other thread runs
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_] )(?=[^\W_])")  # a cut here changes no token

Name = tuple[str, int, int]  # a word to look up, and its start and end in the token


def _names(token: str, *, glued: bool) -> tuple[Name, ...]:
    """The words of a token, with STOP and COMMA for punctuation; `glued`: a letter or digit stands right before it."""
    if token.isalnum():
        return ((token, 0, len(token)),)
    word, start, end = token, 0, len(token)
    if word[0] in ".@" and len(word) > 1:
        if glued and word[0] == "@":
            word = _LINK  # a mail address is a place outside, as a link is
        elif glued or VOCABULARY.lookup(word) is None:
            word, start = word[1:], 1
    if "_" in word:
        parts = [(part.group(), start + part.start(), start + part.end()) for part in _NAME_PART.finditer(word)]
        if len(parts) != 2 or parts[0][0] == "id":  # else an identifier: `system_prompt` is no phrase
            return tuple(parts)
    if word[0] in ",，、،":
        word = COMMA
    elif word == "." or not (word[0].isalnum() or word[0] in "_."):
        word = STOP
    return ((word, start, end),)


def _spelled(name: str, start: int, end: int) -> tuple[str, list[Segment]]:
    """The letters of a word and, one for each, its segments: several for one that is written without blanks."""
    if name in (STOP, COMMA):
        return name, [(start, end, None)]
    lexeme = VOCABULARY.lookup(name)
    if lexeme is not None:
        return lexeme.letter, [(start, end, lexeme)]
    if len(name) < LONG_WORD and name.isascii():
        return OTHER, [(start, end, None)]
    segments = _split(name, start, end)
    return "".join(OTHER if lexeme is None else lexeme.letter for _, _, lexeme in segments), segments


def _split(name: str, start: int, end: int) -> list[Segment]:
    """The segments of a word outside the vocabulary: of a script without blanks, or of several words run together."""
    if not name.isascii() and _UNSPACED.search(name) is not None:
        return VOCABULARY.segment(name, start)
    if len(name) < LONG_WORD or not name.isalpha():
        return [(start, end, None)]
    segments = VOCABULARY.segment(name, start)
    covered = sum(upto - begin for begin, upto, _ in segments if upto - begin > 2)
    return segments if 2 * covered >= len(name) else [(start, end, None)]


def together(run: str) -> str:
    """The letters of the vocabulary's words that a run of letters is read as, written together; "" when it is not."""
    letters = _spelled(run, 0, len(run))[0]
    return letters.replace(OTHER, "") if len(letters) > 1 else ""


class _Tokens(dict[str, str | None]):
    """The letters of a token by itself; None when its neighbours have a say. Remembers, within bounds."""

    def __missing__(self, token: str) -> str | None:
        letters = self._read(token)
        if len(token) <= _REMEMBERED_CHARS:
            if len(self) >= _REMEMBERED_TOKENS:
                self.clear()
            self[token] = letters
        return letters

    def _read(self, token: str) -> str | None:
        names = _names(token, glued=False)
        if token[0] in ".@" and names != _names(token, glued=True):
            return None
        if any(VOCABULARY.begins_phrase(name) for name, _, _ in names):
            return None
        return "".join(_spelled(*name)[0] for name in names)


_letters_of = _Tokens().__getitem__
_remembered_names = lru_cache(maxsize=_REMEMBERED_TOKENS)(_names)


class Words:
    """A view as concepts: each of `letters` stands for a word, and `segments` says where those words are."""

    def __init__(self, folded: str) -> None:
        self._pieces: list[str] = [""]  # what stands between tokens, and the tokens, by turns
        spelled: list[str | None] = []
        for slab in _slabs(folded):
            pieces = _TOKEN.split(slab)
            spelled.extend(map(_letters_of, pieces[1::2]))
            self._pieces[-1] += pieces[0]
            self._pieces.extend(pieces[1:])
        self._spelled: list[str] = []  # the letters of each token; none when it is the rest of a phrase
        self._placed: dict[int, list[Segment]] = {}  # of tokens that were read with their neighbours, from their start
        copied = 0
        for index in [index for index, letters in enumerate(spelled) if letters is None]:
            if index < copied:
                continue
            self._spelled.extend(letters for letters in spelled[copied:index] if letters is not None)
            copied = self._read_on(index)
        self._spelled.extend(letters for letters in spelled[copied:] if letters is not None)
        self.letters = "".join(self._spelled)
        self._first_letters: list[int] = []
        self._starts: list[int] = []

    def segments(self, first: int, last: int) -> list[Segment]:
        """The segments behind letters[first] to letters[last], both included."""
        if not self._starts:
            self._first_letters = list(accumulate(map(len, self._spelled), initial=0))
            self._starts = list(accumulate(map(len, self._pieces)))[::2]
        token = bisect_right(self._first_letters, first) - 1
        skip = first - self._first_letters[token]
        found: list[Segment] = []
        while len(found) < skip + last - first + 1:
            offset = self._starts[token]
            found.extend((offset + start, offset + end, lexeme) for start, end, lexeme in self._in_token(token))
            token += 1
        return found[skip : skip + last - first + 1]

    def _in_token(self, index: int) -> Sequence[Segment]:
        if not self._spelled[index]:
            return ()
        if index in self._placed:
            return self._placed[index]
        names = self._names_at(index)
        return [segment for name in names for segment in _spelled(*name)[1]]

    def _names_at(self, index: int) -> tuple[Name, ...]:
        token = self._pieces[2 * index + 1]
        glued = index > 0 and not self._pieces[2 * index] and self._pieces[2 * index - 1][-1].isalnum()
        return _remembered_names(token, glued=glued) if len(token) <= _REMEMBERED_CHARS else _names(token, glued=glued)

    def _names_from(self, index: int) -> Iterator[tuple[int, str, int, int]]:
        """(token, name, start, end) of the token `index` and all that follow, as seen from the start of `index`."""
        offset = 0
        while 2 * index + 1 < len(self._pieces):
            for name, start, end in self._names_at(index):
                yield index, name, offset + start, offset + end
            offset += len(self._pieces[2 * index + 1]) + len(self._pieces[2 * index + 2])
            index += 1

    def _read_on(self, index: int) -> int:
        """Read token `index` with its neighbours, up to a token where no phrase is under way; the index of that."""
        coming = self._names_from(index)
        ahead: list[tuple[int, str, int, int]] = []
        letters: list[str] = []
        placed: list[Segment] = []
        done = index
        while True:
            while len(ahead) < VOCABULARY.longest and (one := next(coming, None)) is not None:
                ahead.append(one)
            if not ahead or ahead[0][0] > done:
                break
            _, name, start, end = ahead[0]
            merged = VOCABULARY.phrase([word for _, word, _, _ in ahead], 0)
            if merged is not None:
                count, lexeme = merged
                letters.append(lexeme.letter)
                placed.append((start, ahead[count - 1][3], lexeme))
            else:
                count = 1
                spelled, segments = _spelled(name, start, end)
                letters.append(spelled)
                placed.extend(segments)
            done = ahead[count - 1][0]
            del ahead[:count]
        self._placed[index] = placed
        self._spelled.append("".join(letters))
        self._spelled.extend([""] * (done - index))
        return done + 1


def _slabs(text: str) -> Iterator[str]:
    return (text[start:end] for start, end in slab_spans(text, _SLAB))


def slab_spans(text: str, size: int) -> Iterator[tuple[int, int]]:
    """The text in stretches of about `size` code points, cut only where that changes no token."""
    start = 0
    while len(text) - start > 2 * size:
        cut = _BETWEEN_WORDS.search(text, start + size)
        if cut is None:
            break
        yield start, cut.start()
        start = cut.start()
    yield start, len(text)
