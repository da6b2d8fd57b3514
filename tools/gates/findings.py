"""What a house rule reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tools.gates.project import ROOT


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """A breach of `rule` at a line (from 1) of a file; `message` says what to do instead."""

    path: Path
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        place = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{place}:{self.line}: {self.rule}: {self.message}"
