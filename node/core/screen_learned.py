"""What the learnt scorer finds in a view, as hits on the scale of the rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from node.core.screen_match import SNIPPET, Hit, hit_of
from node.core.screen_passages import Passage
from node.core.screen_views import View
from node.core.verdict import DOUBT

if TYPE_CHECKING:
    from node.core.screen_scorer import Scorer

LEARNED: Final = "learned"
DISGUISED: Final = "disguised"
"""The name of what canonical forms take off without a trace."""
LINE: Final = 700
"""The weight (per mille) at which a hit of its own decides; the scorer's own lines are moved there."""
_LEAST: Final = 300
# The scorer takes one text in a hundred for hostile. Of what somebody took the trouble to disguise far more is: so much
# is added to its logit.
HIDDEN: Final = 10.0
"""For what nobody does honestly: letters that are not letters, look like others, are turned, rotated or spaced."""
PARTED: Final = 8.0
"""For wide letters and what nobody sees in words: hyphens that show only where a line ends come with copied pages."""
# People encode for reasons of their own, too: more than hints are needed to stop that.
ENCODED: Final = 4.0
DOUBTED: Final = 8.0
"""What passes with ENCODED and would not with this is held for a person."""
_ENCODINGS: Final = frozenset({"base64", "hex", "base32", "percent", "html", "escape"})
# What has fewer says nothing that could be learnt: a name, a number, a yes. A sign of a script without blanks counts as
# a part of a word.
_LETTERS: Final = 20
_WORD_SIGNS: Final = 3


def learned_hits(view: View, scorer: Scorer) -> Iterator[Hit]:
    """How much the view reads like an attack; nothing for what does not.

    What was decoded is judged by itself, without what stands around it.
    """
    if view.depth:
        yield from passage_hits(view.passages, view.name, scorer)
        return
    if not _says_something(view.text):
        return
    scored = scorer.score(view.text)
    # What it hears of an ask is for people who want to know why: policy decides over those.
    weight = _on_scale(scored.injection, scorer.withhold_at)
    if weight >= _LEAST and scored.end > scored.start:
        yield hit_of(f"{LEARNED}.{scored.kind}", view, scored.start, scored.end, weight)


def passage_hits(passages: Iterable[Passage], name: str, scorer: Scorer) -> Iterator[Hit]:
    """How much each passage that was disguised reads like an attack; `name` says how, as a view's does."""
    honest = _ENCODINGS.issuperset(name.split("+"))
    suspicion = ENCODED if honest else PARTED if name == DISGUISED else HIDDEN

    def hit(rule: str, passage: Passage, weight: int) -> Hit:
        excerpt = f"[{name}] {passage.text[:SNIPPET]}"
        return Hit(rule=rule, start=passage.start, end=passage.end, weight=weight, view=name, excerpt=excerpt)

    for passage in passages:
        if not _says_something(passage.text):
            continue
        scored = scorer.score(passage.text)
        weight = _on_scale(_moved(scored.injection, suspicion), scorer.withhold_at)
        if weight >= _LEAST:
            yield hit(f"{LEARNED}.{scored.kind}", passage, weight)
        if honest and weight < LINE and _moved(scored.injection, DOUBTED) >= scorer.withhold_at:
            yield hit(f"{DOUBT}.{scored.kind}", passage, LINE)


def _says_something(text: str) -> bool:
    letters = 0
    for char in text:
        if char.isalpha():
            letters += _WORD_SIGNS if char >= "\u2e80" else 1
            if letters >= _LETTERS:
                return True
    return False


def _moved(value: int, logits: float) -> int:
    share = min(max(value, 0.5), 999.5) / 1000
    return round(1000 / (1 + math.exp(-(math.log(share / (1 - share)) + logits))))


def _on_scale(value: int, line: int) -> int:
    if value < line:
        return value * LINE // line
    return LINE + (value - line) * (1000 - LINE) // max(1, 1000 - line)
