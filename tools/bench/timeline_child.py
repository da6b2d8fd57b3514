"""Checks a node's timeline in a process of its own, so that what that takes of memory can be seen.

    python -m tools.bench.timeline_child verify FOLDER

Reads a line of JSON for each check of FOLDER/node.db and prints a line: rows, seconds, and the most memory ever in use.
`hash` does as little as a check could do: it reads the rows and hashes each.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.core.log_key import KnownKey, LogKey
from node.log_keys import KeySigner
from node.parts import SystemClock
from node.platform import IS_DARWIN, heap
from node.proofs import Proofs
from node.signatures import NoteChecks
from node.store import SqliteStore
from tools.bench import own_node

_PAGE = 500


class Unsigned:
    """The keys of a log that nobody has signed. Implements ports_timeline.LogKeyKeeper."""

    def __init__(self) -> None:
        self._signer = KeySigner(node_key=generate_private_key(SECP256R1()), first=Ed25519PrivateKey.generate())

    def signer(self) -> KeySigner:
        """One of its own."""
        return self._signer

    def former(self, key_ids: frozenset[bytes], origin: str) -> None:
        """None."""

    def forget_former(self) -> None:
        """There is none."""

    def known(self) -> tuple[KnownKey, ...]:
        """None."""
        return ()

    def remember(self, log: str, first: int, key: LogKey) -> None:
        """Nothing is signed."""


async def _nothing() -> None:
    return


async def verified(store: SqliteStore) -> tuple[int, bool]:
    """How many rows were checked, and whether all is as it was written."""
    proofs = Proofs(store=store, keys=Unsigned(), checks=NoteChecks(), clock=SystemClock(), sign=_nothing)
    found = [step.result async for step in proofs.verify() if step.result is not None]
    return (found[0].rows, found[0].ok) if found else (0, False)


async def hashed(store: SqliteStore) -> tuple[int, bool]:
    """The same rows, read as a check reads them and hashed, and nothing else."""
    at = 0
    while rows := await store.read(lambda reader, first=at: reader.rows(first, _PAGE)):  # type: ignore[misc]
        for row in rows:
            sha256(row.data)
        at = rows[-1].seq + 1
    return at, True


async def serve(folder: Path) -> None:
    """Answers until its input ends."""
    heap.keep_freed()
    async with own_node.opened(folder / "node.db", own_node.new_id()) as store:
        while line := await asyncio.to_thread(sys.stdin.readline):
            wanted = json.loads(line)
            begun = time.perf_counter()
            rows, good = await (verified(store) if wanted["do"] == "verify" else hashed(store))
            took = time.perf_counter() - begun
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            told = {"rows": rows, "ok": good, "seconds": took, "peak_mb": peak / (1 << 20 if IS_DARWIN else 1 << 10)}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[2])))
