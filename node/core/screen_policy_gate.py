"""Which sentences can ask for anything at all, told from their words one by one.

Looking at where the words of a sentence stand costs ten times as much as looking them up, and hardly a sentence of
ordinary work has an act, an object of it and a request. Every answer errs to the side of yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from node.core import screen_shape
from node.core.screen_policy_lexicon import LEXICON, UNSPACED, WORD, WORDS, Form
from node.core.screen_policy_rules import ACTS, EVIDENCE, OBJECTS, RULES, SELDOM_DOCUMENTED, TELLING
from node.core.screen_policy_words import FILE_PARTS, FILE_WORDS
from node.core.screen_views import View

_WIDTH: Final = 16  # bits, of which each language has one, and each rule
_ALL: Final = (1 << _WIDTH) - 1
_OBJECT, _REQUEST, _ACT_OF, _OBJECT_OF = _WIDTH, 2 * _WIDTH, 3 * _WIDTH, 4 * _WIDTH
_BITS = {language: 1 << at for at, language in enumerate(WORDS)}
_ENGLISH = _BITS["en"]
_REMEMBERED, _REMEMBERED_CHARS = 16_384, 32
_LONGEST: Final = 400  # code points of a sentence that are read together
_SENTENCE_END = re.compile(r"[.!?;\n。！？；।…](?:(?<=[\n。！？；।…])|(?=[\s\"'”’)*_`]|\Z))")
_IN_FILES = frozenset(WORD.findall(FILE_WORDS))
_IN_FILE = re.compile(FILE_PARTS)


def _rules_over(objects: Iterable[str]) -> int:
    """The bits of the rules about one of these objects."""
    return sum(1 << at for at, rule in enumerate(RULES) if not rule.objects.isdisjoint(objects))


def _rules_by(act: str) -> int:
    return sum(1 << at for at, rule in enumerate(RULES) if act in rule.acts)


_BY = {concept: _rules_by(concept) << _ACT_OF for concept in ACTS}
_OVER = {concept: _rules_over([concept]) << _OBJECT_OF for concept in OBJECTS}
_FILES = _rules_over(("KEYFILE", "ENV")) << _OBJECT_OF
_NUMBERS = _rules_over(("NUMBER", "VERSION")) << _OBJECT_OF
_ADDRESSED = _rules_over(("ADDRESS",)) << _OBJECT_OF | _ALL << _REQUEST | _ALL << _OBJECT


class _Roles(dict[str, int]):
    """By word the languages in which it can begin an act, an object and a request, and the rules of which it can be
    the act and the object: _WIDTH bits for each. Remembers, within bounds.
    """

    def __missing__(self, word: str) -> int:
        roles = 0
        parts = re.split("['-]", word.removeprefix("#"))
        numbers = any(part[0].isdecimal() for part in parts)
        if numbers or not _IN_FILES.isdisjoint(parts):
            roles |= _ALL << _OBJECT
        if numbers:
            roles |= _NUMBERS
        if _IN_FILE.search(word) is not None:
            roles |= _FILES
        for entry in LEXICON.telling(word):
            bit = _BITS[entry.language]
            act = entry.concept in ACTS
            if act:
                roles |= bit | _BY[entry.concept]
            if entry.concept in OBJECTS:
                roles |= bit << _OBJECT | _OVER[entry.concept]
            if (
                entry.concept in EVIDENCE
                or entry.concept in TELLING
                or entry.form is Form.ASKS
                or (act and entry.form is Form.START and entry.concept in SELDOM_DOCUMENTED and bit != _ENGLISH)
            ):
                roles |= bit << _REQUEST
        if len(word) <= _REMEMBERED_CHARS:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = roles
        return roles


_ROLES = _Roles()


def _runs(concepts: frozenset[str]) -> frozenset[bytes]:
    """The runs of letters and digits that begin what stands for one of the concepts, or asks by itself."""
    return frozenset(
        run.encode("ascii")
        for entry in LEXICON.entries()
        if entry.concept in concepts or entry.form is Form.ASKS
        for run in re.findall("[a-z0-9]+", entry.rarest)
    )


_ACT_RUNS = _runs(ACTS)
_REQUEST_RUNS = _runs(EVIDENCE | TELLING | SELDOM_DOCUMENTED)


def asking(view: View) -> Iterator[tuple[int, int]]:
    """Those of its sentences() that may ask."""
    folded, shaped = view.folded, view.shaped
    plain = screen_shape.is_plain(shaped)
    addressed = b"://" in shaped or b"@" in shaped
    if plain and not addressed and (_ACT_RUNS.isdisjoint(view.runs) or _REQUEST_RUNS.isdisjoint(view.runs)):
        return
    runs = screen_shape.alnum_runs(shaped)
    for start, end in sentences(folded):
        words = runs[start:end].split()
        if _REQUEST_RUNS.isdisjoint(words) or _ACT_RUNS.isdisjoint(words):
            # What is not ASCII is told apart below, and an address may be all that makes a request.
            shape = shaped[start:end] if addressed or not plain else b""
            if not (addressed and (b"://" in shape or b"@" in shape)) and (plain or screen_shape.is_plain(shape)):
                continue
        if _may_ask(folded[start:end]):
            yield start, end


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The sentences of a folded text, cut where they are longer than is read together."""
    begin = 0
    for slab in screen_shape.slabs(text):
        ends = [match.end() for match in _SENTENCE_END.finditer(text, *slab)]
        if slab[1] == len(text):
            ends.append(len(text))
        for end in ends:
            if 2 < end - begin <= _LONGEST:
                yield begin, end
            elif end - begin > 2:
                yield from ((at, min(end, at + _LONGEST)) for at in range(begin, end, _LONGEST))
            begin = end


def _may_ask(sentence: str) -> bool:
    """Whether its words can be an act, an object of it and a request in one language."""
    plain = sentence.isascii()
    if not plain and UNSPACED.search(sentence):
        return True
    roles = 0 if plain else _NUMBERS  # which are told by their digits, and every script has its own
    for word in WORD.findall(sentence):
        roles |= _ROLES[word]
    if "://" in sentence or "@" in sentence:
        roles |= _ADDRESSED
    if not roles >> _ACT_OF & roles >> _OBJECT_OF & _ALL:
        return False
    acts, objects, requests = roles & _ALL, roles >> _OBJECT & _ALL, roles >> _REQUEST & _ALL
    return bool(acts & requests and (acts & objects or objects & _ENGLISH))
