"""What a message asks its reader to do that only a person may grant, told from the words of the asking clause.

An honest request for a password reads like honest work, so the tone of a text does not separate the two. What does is
who is to do what to what: a word that asks, an act and its object near one another in one sentence, and no negation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from node.core.screen_match import Hit, hit_of
from node.core.screen_policy_gate import asking
from node.core.screen_policy_lexicon import LEXICON, WORD, Entry, Form, fits
from node.core.screen_policy_rules import ACTS, EVIDENCE, RULES, SELDOM_DOCUMENTED, Rule
from node.core.screen_policy_words import ADDRESSES, ENVIRONS, KEY_FILES
from node.core.screen_views import View, fold

_ASKED: Final = 800  # for a request in so many words
_TOLD: Final = 700  # for a bare imperative
_ACT_TO_OBJECT = 90
_TOLD_TO_OBJECT = 60
_AGENT_TO_ACT = 40
_ASK_TO_ACT = 150  # where verbs come last
_ASK_TO_START = 24  # where they come next
_ACT_TO_ASK = 16
_OVERLAP = -1  # a word that asks may be listed with the beginning of the act
_NEGATION = 26
_NEGATION_BEHIND = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    start: int
    end: int
    concept: str
    form: Form
    language: str


_VERB_FIRST = frozenset({"en", "fr", "es", "pt", "it"})
_NAMED = frozenset({"KEYFILE", "ENV", "ADDRESS"})
_WHATEVER_THE_WORDS = frozenset({"secrets", "credential_files", "env_dump"})
_FIELD = frozenset(':=("')
_PART = frozenset("-/._@")
_PAUSES = frozenset(",;:，、")

_FILES = re.compile(KEY_FILES)
_ENVIRONS = re.compile(ENVIRONS)
_ADDRESSES = re.compile(ADDRESSES)
_PLACE_BEFORE = re.compile(
    r"\b(?:in|into|from|under|im|aus|dans|depuis|en|desde|em|no|da|del|from the|in your|in the)\s+\W{0,2}(?:~/)?\Z"
)
# Bringing a branch up to date changes nothing that others have.
_UPDATES = re.compile(
    r"\bmerg\w{1,3}\s(?:\w{1,20}/)?(?:main|master|trunk|develop)\s(?:in|into)\s(?:your|my|our|the|this|that)\b"
)
_NUMBERS = re.compile(r"(?<![\w.])#?\d{2,6}(?![\w.]\w)")
_VERSIONS = re.compile(r"(?<![\w.])v?\d{1,4}\.\d{1,4}")
_TOWARDS = re.compile(
    r"(?:\b(?:to|at|an|auf|unter|bei|a|sur|vers|en|para|pra|su|in|no|as|with|por|into|url|host|address|adresse|endpoint|webhook"
    r"|formulaire|form)|на|по|к|到|至|往|给|post|->|→)\W{0,4}\Z"
)
_TOWARDS_BEHIND = re.compile(
    rf"\S{{0,60}}?(?:\s(?:{fold('adresine|पर|को')}|{fold('へ|に|로')})|{fold('へ|に|로|으로')}|에\b|'y?[ae]\b)"
)
_CLAUSE_START = re.compile(
    r"(?:\A|[,:;—–(>*#\]\"“«„'`-]|(?:\A|[\s,])(?:and|then|so|just|now|also|next|finally|simply|or|but|und|dann|also|puis|et"
    r"|donc|ensuite|y|luego|entonces|e|depois|entao|poi|quindi|allora|i|a|potom))\W{0,4}\Z"
)


def policy_hits(view: View, spans: Iterable[tuple[int, int]] | None = None) -> Iterator[Hit]:
    """A hit `ask.<kind>` over the asking clause for each thing the view asks its reader for; the sentences at `spans`
    (all that may ask, when not given) are read. Total and linear.
    """
    for start, end in asking(view) if spans is None else spans:
        sentence = view.folded[start:end]
        places = list(_places(sentence))
        concepts = {entry.concept for _, _, entry in places}
        if ACTS.isdisjoint(concepts) or "ABOUT" in concepts:
            continue
        if EVIDENCE.isdisjoint(concepts) and all(entry.form is Form.PLAIN for _, _, entry in places):
            continue
        signs = list(_sign_marks(sentence, concepts))
        concepts.update(mark.concept for mark in signs)
        rules = list(_fitting(concepts, sentence))
        if not rules:
            continue
        marks = [*(_mark(*place) for place in places), *signs]
        marks.sort(key=lambda mark: (mark.start, -mark.end))
        for rule in rules:
            found = _asked(rule, sentence, marks)
            if found is not None:
                first, last, weight = found
                yield hit_of(f"ask.{rule.kind}", view, start + first, start + last, weight)


def _fitting(concepts: set[str], sentence: str) -> Iterator[Rule]:
    """The rules whose act and object are in a sentence."""
    for rule in RULES:
        if (
            not rule.acts.isdisjoint(concepts)
            and not rule.objects.isdisjoint(concepts)
            and not (rule.kind == "merge" and _UPDATES.search(sentence))
        ):
            yield rule


def _mark(start: int, end: int, entry: Entry) -> _Mark:
    return _Mark(start=start, end=end, concept=entry.concept, form=entry.form, language=entry.language)


def _places(sentence: str) -> Iterator[tuple[int, int, Entry]]:
    """What the words of a sentence stand for, and where."""
    tokens = WORD.findall(sentence)
    starts: list[int] = []
    for at, entries in enumerate(map(LEXICON.look_up, tokens)):
        for entry in entries:
            size = len(entry.words)
            # Nearly all phrases end at their second word.
            if size > 1 and not (
                at + 1 < len(tokens)
                and tokens[at + 1].startswith(entry.second)
                and fits(tokens[at + 1 : at + size], entry.words[1:])
            ):
                continue
            starts = starts or [match.start() for match in WORD.finditer(sentence)]
            start, last = starts[at], at + size - 1
            # `.example` is the end of an address
            if entry.concept != "ABOUT" or sentence[start - 1 : start] != ".":
                yield start, starts[last] + len(tokens[last]), entry
    if not sentence.isascii():
        yield from LEXICON.anywhere(sentence)


def _sign_marks(sentence: str, concepts: set[str]) -> Iterator[_Mark]:
    """What stands in a sentence that is no word: files, addresses and numbers, where an act in it can be on them."""
    if "GIVE" in concepts or "DUMP" in concepts:
        for match in _FILES.finditer(sentence):
            if not _PLACE_BEFORE.search(sentence[max(0, match.start() - 24) : match.start()]):
                yield _sign(match, "KEYFILE")
        if "env" in sentence or "set" in sentence:
            for match in _ENVIRONS.finditer(sentence):
                yield _sign(match, "ENV")
    if "://" in sentence or "@" in sentence:
        for match in _ADDRESSES.finditer(sentence):
            before = sentence[max(0, match.start() - 24) : match.start()]
            if not before.endswith("]("):
                towards = _TOWARDS.search(before) or _TOWARDS_BEHIND.match(sentence[match.end() : match.end() + 80])
                yield _sign(match, "ADDRESS" if towards else "LINK")
    for act, pattern, concept in (("MERGE", _NUMBERS, "NUMBER"), ("PUBLISH", _VERSIONS, "VERSION")):
        if act in concepts:
            for match in pattern.finditer(sentence):
                yield _sign(match, concept)


def _sign(match: re.Match[str], concept: str) -> _Mark:
    return _Mark(start=match.start(), end=match.end(), concept=concept, form=Form.PLAIN, language="")


def _asked(rule: Rule, sentence: str, marks: Sequence[_Mark]) -> tuple[int, int, int] | None:
    """Start, end and weight of the first clause that asks for what the rule is about."""
    for act in marks:
        # `email:` is a field, `npm-publish` a name
        if (
            act.concept not in rule.acts
            or sentence[act.end : act.end + 1] in _FIELD
            or sentence[act.start - 1 : act.start] in _PART
        ):
            continue
        # Many objects go by their English name in every language.
        own = [mark for mark in marks if mark.language in (act.language, "")]
        aim = min(
            (one for one in marks if one.language in (act.language, "", "en") and _is_object(rule, one, act)),
            key=lambda one: max(one.start - act.end, act.start - one.end),
            default=None,
        )
        if aim is None or max(aim.start - act.end, act.start - aim.end) > _ACT_TO_OBJECT:
            continue
        if act.concept == "TURN" and not any(mark.concept == "AWAY" for mark in own):
            continue
        if _denied(act, aim, sentence, own):
            continue
        evidence = _evidence(rule, act, aim, sentence, own)
        if evidence is not None and (evidence[2] == _ASKED or abs(aim.start - act.end) <= _TOLD_TO_OBJECT):
            first, last, weight = evidence
            return min(first, act.start, aim.start), max(last, act.end, aim.end), weight
    return None


def _is_object(rule: Rule, mark: _Mark, act: _Mark) -> bool:
    if mark.concept == "IT":
        return "IT" in rule.objects and mark.language == act.language and 0 <= mark.start - act.end <= 1
    if mark.concept in ("CHANGE", "NUMBER") and act.language in _VERB_FIRST and mark.start - act.end > 40:
        return False
    return mark.concept in rule.objects and (
        mark.start >= act.end or (mark.end <= act.start and (act.language not in _VERB_FIRST or mark.concept in _NAMED))
    )


def _denied(act: _Mark, aim: _Mark, sentence: str, marks: Sequence[_Mark]) -> bool:
    """Whether the act is forbidden or denied, or is only what somebody wants to know something about."""
    last = max(act.end, aim.end)
    for mark in marks:
        if mark.concept in ("NOT", "NEVER"):
            between = sentence[mark.end : act.start]
            if mark.end <= act.start and len(between) <= _NEGATION and not _PAUSES & set(between):
                return True
        if (
            mark.concept == "NEVER"
            and act.start <= mark.start <= last + _NEGATION_BEHIND
            and not _PAUSES & set(sentence[act.end : mark.start])
        ):
            return True
        if mark.concept == "HOW" and (act.end <= mark.start < aim.start or 0 <= act.start - mark.end <= _ASK_TO_START):
            return True
    return False


def _tells(mark: _Mark, act: _Mark) -> bool:
    """Whether it stands where one names the addressee: an agent before the act, all else behind it."""
    if mark.concept == "AGENT":
        return 0 <= act.start - mark.end <= _AGENT_TO_ACT
    return mark.start >= act.end or act.language == "tr"


def _requests(mark: _Mark, act: _Mark, *, begins: bool, free: bool) -> bool:
    """Whether a word asks for the act: it stands before it, or behind it where that is usual."""
    if mark.concept == "ASKED":
        return act.start <= mark.start <= act.end + _ACT_TO_ASK
    if mark.concept != "ASK" and not (mark.concept == "CAN" and free):
        return False
    gap = act.start - mark.end
    if gap < _OVERLAP:
        return begins and act.form is Form.START and mark.start >= act.end
    return gap <= _ASK_TO_START or (gap <= _ASK_TO_ACT and (act.form is Form.PLAIN or begins))


def _evidence(rule: Rule, act: _Mark, aim: _Mark, sentence: str, marks: Sequence[_Mark]) -> tuple[int, int, int] | None:
    """What makes the act a request to the reader: where that is, and the weight."""
    if act.form is Form.ASKS:
        return act.start, act.end, _ASKED
    begins = act.language == "tr" or _CLAUSE_START.search(sentence, max(0, act.start - 24), act.start) is not None
    leave = next((mark for mark in marks if mark.concept == "FREE"), None)
    for mark in marks:
        if _requests(mark, act, begins=begins, free=leave is not None or "?" in sentence):
            return mark.start, mark.end, _ASKED
    if act.form is Form.START and begins:
        if leave is not None:
            return leave.start, leave.end, _TOLD
        if act.language == aim.language and act.language != "en" and act.concept in SELDOM_DOCUMENTED:
            return act.start, act.end, _TOLD
        for mark in marks:
            if mark.concept in rule.told and _tells(mark, act):
                return mark.start, mark.end, _TOLD
    if rule.kind in _WHATEVER_THE_WORDS:
        for mark in marks:
            if mark.concept in ("ADDRESS", "LINK"):
                return mark.start, mark.end, _TOLD
    return None
