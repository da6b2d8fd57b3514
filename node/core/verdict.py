"""What the screen is given and what it says, without the tables that it reads by.

Whoever only speaks of verdicts takes them from here: the tables take longer to load than a short command takes in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CREDENTIAL: Final = "credential"
ASK: Final = "ask"
DOUBT: Final = "doubt"
_FOR_A_PERSON: Final = frozenset({ASK, DOUBT})


class Decision(StrEnum):
    RELAY = "relay"
    LOG = "log"  # relayed, and noted in the timeline
    HOLD = "hold"  # a person at the receiving side is asked first
    WITHHOLD = "withhold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One hit. `start`, `end` are code points of the original field; `weight` is per mille; `view` says which layer."""

    rule: str
    field: str
    start: int
    end: int
    weight: int
    view: str
    quoted: bool

    @property
    def family(self) -> str:
        """What kind of rule it is of."""
        return self.rule.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`score` is per mille; `snippet` and `advice` are for the sender, with control characters escaped.

    `asks` says what a held message asks for; it is empty when a person is to decide only because it is doubtful.
    `credentials` says whether it carries one, however much else was found.
    """

    decision: Decision
    score: int
    findings: tuple[Finding, ...]
    snippet: str
    advice: str
    engine: str
    version: str
    asks: tuple[str, ...] = ()
    credentials: bool = False

    @property
    def stops(self) -> bool:
        """Whether it goes no further by itself."""
        return self.decision in {Decision.HOLD, Decision.WITHHOLD}

    @property
    def decisive(self) -> Finding | None:
        """The finding that told most for the decision; None when it is to relay."""
        asking = self.decision is Decision.HOLD
        told = [one for one in self.findings if (one.family in _FOR_A_PERSON) is asking]
        return max(told, key=lambda one: (not one.quoted, one.weight), default=None) if self.stops else None
