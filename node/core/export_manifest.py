"""What stands beside an export: which rows it holds, what it hashes to, and what ties them to the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from node.core.canonical import JsonValue
from node.core.export_record import Format, Step, utc_text
from node.core.merkle import verify_inclusion

SCHEMA: Final = "heliograph-export-manifest/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The log when an export began: rows so far, root over them, and the last signed checkpoint, if there is one.

    Where that checkpoint covers the export, size and root are its own.
    """

    origin: str
    size: int
    root: bytes
    first_kept: int = 0
    checkpoint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportNote:
    """What a row is to tell of an export; `export` is empty when it begins, `log` for the current log.

    `destination` and `wanted` are words for a person, kept beside the row.
    """

    step: Step
    format: Format
    export: str = ""
    destination: str = ""
    wanted: str = ""
    log: str = ""
    first: int = 0
    next: int = 0
    count: int = 0
    bytes: int = 0
    sha256: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The row about an export that was written: its number, the export's id, and how the exported log stood.

    An export that begins so holds rows before `end`: those that were there before its own.
    """

    export: str
    seq: int
    standing: Standing
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """That row `seq` with this leaf hash is in the tree of `size` rows: the audit path of RFC 6962, leaf end first."""

    seq: int
    size: int
    leaf: bytes
    path: tuple[bytes, ...]

    def holds(self, root: bytes) -> bool:
        """Whether it proves that under `root`."""
        return verify_inclusion(self.seq, self.size, self.leaf, self.path, root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What was exported so far: rows, the first and the last of them, bytes and their SHA-256 (hex).

    `contiguous` says whether no row between the first and the last is missing; None where only some were wanted.
    """

    count: int = 0
    first: int | None = None
    last: int | None = None
    bytes: int = 0
    sha256: str = ""
    damaged: int = 0
    contiguous: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All that is told of an export that came to its end; `file` is the name without its folder, or None."""

    format: Format
    export: str
    begun_seq: int
    file: str | None
    wanted: Mapping[str, JsonValue]
    tally: Tally
    standing: Standing
    proof: Proof | None
    made_us: int
    software: str
    options: Mapping[str, JsonValue]

    @property
    def proven(self) -> bool | None:
        """Whether the last row is in the tree that the log had; None where nothing could be proven."""
        return None if self.proof is None else self.proof.holds(self.standing.root)

    def document(self) -> dict[str, JsonValue]:
        """As JSON: hashes in hex, times in words and in microseconds."""
        tally, standing = self.tally, self.standing
        return {
            "manifest": SCHEMA,
            "format": self.format.value,
            "options": dict(self.options),
            "export": self.export,
            "export_row": self.begun_seq,
            "file": self.file,
            "count": tally.count,
            "bytes": tally.bytes,
            "sha256": tally.sha256,
            "range": {
                "log": standing.origin,
                "first": tally.first,
                "last": tally.last,
                "contiguous": tally.contiguous,
            },
            "damaged": tally.damaged,
            "filter": dict(self.wanted),
            "log": {
                "origin": standing.origin,
                "size": standing.size,
                "first_kept": standing.first_kept,
                "root": standing.root.hex(),
                "checkpoint": standing.checkpoint or None,
            },
            "last_row_proven": self.proven,
            "last_row_proof": None if self.proof is None else self._proof(self.proof),
            "made": utc_text(self.made_us),
            "made_us": self.made_us,
            "software": self.software,
        }

    @staticmethod
    def _proof(proof: Proof) -> JsonValue:
        return {
            "seq": proof.seq,
            "size": proof.size,
            "leaf": proof.leaf.hex(),
            "path": [one.hex() for one in proof.path],
        }
