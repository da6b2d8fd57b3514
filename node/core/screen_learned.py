"""What the learnt scorer finds in a view, as hits on the scale of the rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from node.core.screen_match import Hit, hit_of
from node.core.screen_views import View

if TYPE_CHECKING:
    from node.core.screen_scorer import Scorer

LEARNED: Final = "learned"
ASK: Final = "ask"
LINE: Final = 700
"""The weight (per mille) at which a hit of its own decides; the scorer's own lines are moved there."""
_LEAST: Final = 300


def learned_hits(view: View, scorer: Scorer) -> Iterator[Hit]:
    """How much the view reads like an attack, and how much it asks for; nothing for what reads like neither."""
    scored = scorer.score(view.text)
    for family, kind, value, line in (
        (LEARNED, scored.kind, scored.injection, scorer.withhold_at),
        (ASK, scored.ask_kind, scored.ask, scorer.hold_at),
    ):
        weight = _on_scale(value, line)
        if weight >= _LEAST and scored.end > scored.start:
            yield hit_of(f"{family}.{kind}", view, scored.start, scored.end, weight)


def _on_scale(value: int, line: int) -> int:
    if value < line:
        return value * LINE // line
    return LINE + (value - line) * (1000 - LINE) // max(1, 1000 - line)
