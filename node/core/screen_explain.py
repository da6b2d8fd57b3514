"""Why the screen judged a text as it did: every layer that it read, what the scorer made of each, and the findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from node.core.screen import layers, screen
from node.core.screen_credentials import masked
from node.core.screen_scorer import Scorer
from node.core.verdict import Field, Verdict

MOST_LAYERS: Final = 16
MOST_WINDOWS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTold:
    """A stretch of a layer as it reads there, and its scores in per mille."""

    text: str
    injection: int
    ask: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTold:
    """One layer: scores of the whole, the kinds it is nearest to, its strongest windows, and their telling words."""

    view: str
    characters: int
    injection: int
    kind: str
    ask: int
    ask_kind: str
    windows: tuple[WindowTold, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`withhold_at` is the line (per mille) that the scorer's injection score is held against."""

    verdict: Verdict
    withhold_at: int
    layers: tuple[LayerTold, ...]
    left_out: int


def explained(fields: Sequence[Field], scorer: Scorer) -> Explained:
    """The verdict over the fields with its reasons; much slower than the verdict alone."""
    told: list[LayerTold] = []
    left_out = 0
    for view in layers("\n".join(field.text for field in fields if field.text)):
        if view is None or len(told) == MOST_LAYERS:
            left_out += 1
            continue
        why = scorer.explain(view.text)
        shown = masked(view.text)
        strongest = sorted(why.windows, key=lambda one: max(one.injection, one.ask), reverse=True)[:MOST_WINDOWS]
        told.append(
            LayerTold(
                view=view.name,
                characters=len(view.text),
                injection=why.scored.injection,
                kind=why.scored.kind,
                ask=why.scored.ask,
                ask_kind=why.scored.ask_kind,
                windows=tuple(
                    WindowTold(text=shown[one.start : one.end], injection=one.injection, ask=one.ask)
                    for one in sorted(strongest, key=lambda one: one.start)
                ),
                words=tuple(word for word in why.words if word in shown),
            )
        )
    return Explained(
        verdict=screen(fields, scorer),
        withhold_at=scorer.withhold_at,
        layers=tuple(told),
        left_out=left_out,
    )
