"""A node's home, a sender's folder beside it, and the service between them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from node.core.errors import MeshError
from node.core.limits import Limits
from node.core.transfer import Attachment
from node.files import Files
from node.platform.parcel import Progress

SESSION, MESSAGE = "s" * 16, "m" * 16
LIMITS = Limits(spare_bytes=1)


@dataclass
class Bench:
    """A node's home, a sender's folder beside it, and the service between them."""

    home: Path
    base: Path
    limits: Limits = LIMITS
    progress: Progress | None = None
    files: Files = field(init=False)

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.base.mkdir(exist_ok=True)
        self.files = Files(home=self.home, limits=self.limits, progress=self.progress)

    def with_(self, *, limits: Limits = LIMITS, progress: Progress | None = None) -> Bench:
        """A node started anew on the same folders."""
        return Bench(self.home, self.base, limits, progress)

    def write(self, name: str, data: bytes = b"hello") -> Path:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def stage(self, *paths: str, allowed: Sequence[str] = ()) -> tuple[Attachment, ...]:
        return asyncio.run(self.files.stage(paths, base=str(self.base), allowed=allowed))

    def refused(self, *paths: str, allowed: Sequence[str] = ()) -> MeshError:
        """The refusal of a stage, after which the quarantine is as it was."""
        before = self.kept()
        with pytest.raises(MeshError) as caught:
            self.stage(*paths, allowed=allowed)
        assert self.kept() == before
        return caught.value

    def land(self, attachments: Sequence[Attachment], message: str = MESSAGE) -> tuple[str, ...]:
        return asyncio.run(self.files.land(SESSION, message, attachments))

    def sweep(self, *referenced: str) -> int:
        return asyncio.run(self.files.sweep(referenced))

    def kept(self) -> set[str]:
        return {path.name for path in (self.home / "files").glob("*")}

    def landed(self) -> dict[str, bytes | None]:
        """Everything below the inbox; None for a folder."""
        top = self.home / "inbox"
        return {str(p.relative_to(top)): None if p.is_dir() else p.read_bytes() for p in sorted(top.glob("*/*/**/*"))}


def bench_in(folder: Path) -> Bench:
    real = Path(os.path.realpath(folder))
    return Bench(real / "home", real / "base")


def tree(top: Path) -> dict[str, bytes | None]:
    """Everything below `top`; None for a folder."""
    return {str(p.relative_to(top)): None if p.is_dir() else p.read_bytes() for p in sorted(top.glob("**/*"))}
