"""Twins of what proves the timeline: answers set by the test, and log keys that are kept in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from node.checkpoints import Checkpoints
from node.core.limits import Limits
from node.core.log_key import KnownKey, LogKey
from node.core.timeline_check import Problem, ProblemCode, Verification
from node.log_keys import KeySigner
from node.ports import Clock, Store
from node.ports_timeline import BundleWish, StoredRow, VerifyProgress
from node.proofs import Proofs
from node.signatures import NoteChecks
from tests.log_lab import signer


class Proving:
    """Implements ports_timeline.Proofs; `asked` is what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.found = Verification(
            origin="local/n/1", rows=5, first_seq=0, last_seq=4, root=b"\x01" * 32, ok=False,
            problem=Problem(seq=3, code=ProblemCode.EDITED, words="row 3 was edited"),
            clock_steps=(), clock_steps_total=0, warnings=("the clock went back",),
        )  # fmt: skip

    async def verify(self, *, log: str = "", seen: Sequence[str] = ()) -> AsyncIterator[VerifyProgress]:
        self.asked.append((log, tuple(seen)))
        yield VerifyProgress(rows=2, total=5)
        yield VerifyProgress(rows=5, total=5, result=self.found)

    async def bundle(self, wish: BundleWish) -> AsyncIterator[StoredRow | str]:
        self.asked.append(wish)
        yield "{}"
        yield StoredRow(seq=3, data=b"\x03\xff", leaf=b"\x03" * 32, side=(("title", "x"),))

    async def prove(self, seq: int, *, log: str = "") -> str:
        self.asked.append((log, seq))
        return f"proof of {seq}"


class MemoryKeys:
    """Implements ports_timeline.LogKeyKeeper. `rotate` gives the node another key, and so the log."""

    def __init__(self, *, dual: bool = False) -> None:
        self.current = signer(dual=dual)
        self.left: list[KeySigner] = []
        self.kept: list[KnownKey] = []
        self.dual = dual

    def rotate(self, *, lose_old: bool = False) -> None:
        """The old log key can still sign, unless it is lost."""
        if not lose_old:
            self.left.append(self.current)
        self.current = signer(node=ec.generate_private_key(ec.SECP256R1()), dual=self.dual)

    def signer(self) -> KeySigner:
        return self.current

    def former(self, key_ids: frozenset[bytes], origin: str) -> KeySigner | None:
        return next((one for one in self.left if bytes.fromhex(one.key.id_of(origin)) in key_ids), None)

    def forget_former(self) -> None:
        self.left.clear()

    def known(self) -> tuple[KnownKey, ...]:
        return tuple(self.kept)

    def remember(self, log: str, first: int, key: LogKey) -> None:
        self.kept.append(KnownKey(log=log, first=first, key=key))


def prover(
    store: Store, clock: Clock, limits: Limits, path: Path, keys: MemoryKeys | None = None
) -> tuple[MemoryKeys, Checkpoints, Proofs]:
    """What signs and proves the timeline of a node without doors; the last note is kept beside its database."""
    keys = keys or MemoryKeys()
    checkpoints = Checkpoints(
        store=store, keys=keys, clock=clock, limits=limits, keep=lambda said: _keep(path.with_suffix(".seen"), said)
    )
    return keys, checkpoints, Proofs(store=store, keys=keys, checks=NoteChecks(), clock=clock, sign=checkpoints.sign)


def _keep(path: Path, written: str) -> None:
    path.write_text(written, encoding="utf-8")
