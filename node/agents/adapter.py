"""What the node knows of an agent CLI, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from node.core.prompt import PromptProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One agent CLI: `programs` are the file names that start it, `prompt` how its screen looks."""

    name: str
    programs: frozenset[str]
    prompt: PromptProfile

    def recognises(self, words: Sequence[str]) -> bool:
        """Whether the first words of a command line (as file names) start this agent."""
        return any(word in self.programs for word in words)
