"""Where to draw the line: the thresholds that find most while each benign group stays within its allowance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tools.screen.corpus import Row, group

Floats = npt.NDArray[np.float64]
# The share of each benign group that may be flagged; an honest ask may always be held for a person.
ALLOWED = {"engineering": 0.002, "written_hard": 0.02, "trigger_words": 0.01, "written_benign": 0.01, "chat": 0.02}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Texts at or above one of the two are flagged; `recall` is of the written hostile ones."""

    injection: float
    ask: float
    recall: float


def best_lines(rows: Sequence[Row], injection: Floats, ask: Floats, slack: float = 1.0) -> Lines:
    """The two thresholds with the highest recall on written hostile rows within `slack` times the allowances."""
    groups = np.array([group(row) for row in rows])
    wanted = groups == "written_hostile"
    found = Lines(injection=np.inf, ask=np.inf, recall=0.0)
    limited = [(groups == name, allowed * slack) for name, allowed in ALLOWED.items() if (groups == name).any()]
    # An honest ask may be held for a person, never withheld as an attack.
    honest = groups == "written_ask"
    candidates = np.unique(np.quantile(injection[wanted], np.linspace(0, 1, 120)))
    for line in [*candidates, np.inf]:
        caught = injection >= line
        if any(caught[members].mean() > allowed for members, allowed in limited):
            continue
        if honest.any() and caught[honest].mean() > 0.1:
            continue
        least = -np.inf
        for members, allowed in limited:
            free = int(np.floor(allowed * members.sum() + 1e-9)) - int(caught[members].sum())
            rest = np.sort(ask[members & ~caught])[::-1]
            least = max(least, float(rest[free]) + 1e-6 if free < len(rest) else -np.inf)
        recall = float((caught[wanted] | (ask[wanted] >= least)).mean())
        if recall > found.recall:
            found = Lines(injection=float(line), ask=least, recall=recall)
    return found
