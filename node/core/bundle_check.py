"""The check of a bundle, line by line: the same as of a node's own log, without the node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from node.core import bundle, excuse, merkle
from node.core.bundle import BundleHeader, BundleRow, End, Later, Line, Salts, Signed, Skipped
from node.core.errors import ErrorCode, MeshError
from node.core.evidence import Evidence, Page
from node.core.excuse import Excuse
from node.core.key_chain import KeyChain
from node.core.log_key import Checks
from node.core.note import TreeHead
from node.core.timeline_check import INCOMPLETE, ProblemCode, Verification

_PAGE: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text beside a row with its salt."""

    seq: int
    field: str
    salt: bytes
    text: str


class BundleCheck:
    """Reads one bundle. `heard` is told of each row, `told` of how many of how many were read."""

    def __init__(
        self,
        *,
        checks: Checks,
        seen: Sequence[TreeHead] = (),
        told: Callable[[int, int], None] | None = None,
        heard: Callable[[BundleRow], None] | None = None,
    ) -> None:
        self._checks = checks
        self._seen = seen
        self._told = told
        self._heard = heard
        self._rows: list[BundleRow] = []
        self._texts: list[_Text] = []
        self._signed: list[Signed] = []
        self._largest = 0
        self._count = 0
        self._later: Later | None = None
        self._end: End | None = None

    def run(self, lines: Iterable[bytes], *, trusted: frozenset[str]) -> tuple[BundleHeader, Verification]:
        """What the header says and what was found; without `trusted` ids of nodes, nobody vouches for the key.

        INVALID_ARGUMENT for a file that is no bundle.
        """
        read = bundle.read_lines(lines)
        header = next(read, None)
        if not isinstance(header, BundleHeader):
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, "This file is empty; make a bundle with: helio timeline bundle -o FILE"
            )
        evidence = Evidence(header.log, checks=self._checks, endorsed=header.keys, seen=self._seen)
        try:
            for line in read:
                self._take(line, header, evidence)
                if evidence.problem is not None:
                    break
        except MeshError as error:
            if error.code is not ErrorCode.TAMPERED:
                raise
            self._flush(evidence)
            evidence.fail(ProblemCode.NOT_CANONICAL, error.message)
        return header, self._finished(header, evidence, trusted)

    def _finished(self, header: BundleHeader, evidence: Evidence, trusted: frozenset[str]) -> Verification:
        if evidence.problem is None and self._end is None:
            self._flush(evidence)
            words = f"the bundle was cut short after row {evidence.size - 1}; have it made and sent again"
            evidence.doubt(ProblemCode.CUT_SHORT, words)
        elif evidence.problem is None and (
            self._end != End(rows=self._count) or header.end - header.first != self._count
        ):
            evidence.fail(
                ProblemCode.TAIL_MISSING, f"the bundle is of {header.end - header.first} rows and has {self._count}"
            )
        found = evidence.finish(
            first=header.kept if header.whole else 0,
            signed=self._largest if self._end else 0,
            trusted=trusted,
            excuses=self._excuses(header.log, self._later, evidence)
            if self._later is not None and header.whole
            else (),
        )
        return replace(found, warnings=(*_left_out(header), *found.warnings))

    def _excuses(self, log: str, later: Later, evidence: Evidence) -> tuple[Excuse, ...]:
        """What a row of a later log excuses: it has to be signed there, by a node that answers for this log."""
        keys, signed = KeyChain(later.log, self._checks, later.keys), later.signed
        leaf = merkle.leaf_hash(later.data)
        if not merkle.verify_inclusion(later.seq, signed.size, leaf, later.path, signed.root):
            return ()
        problem = keys.check(signed.size, signed.root, signed.note)
        if problem is not None:
            say = evidence.doubt if problem.code in INCOMPLETE else evidence.fail
            say(problem.code, f"in the later log {later.log}, {problem.words}")
        elif evidence.nodes and set(evidence.nodes).isdisjoint(keys.nodes):
            return ()
        found = excuse.of_closed(log, later.log, later.seq, later.data, evidence.root_at)
        return () if found is None else (found,)

    def _take(self, line: Line, header: BundleHeader, evidence: Evidence) -> None:
        if self._end is not None:
            evidence.fail(ProblemCode.NOT_CANONICAL, "something comes after the bundle's last line")
            return
        match line:
            case BundleRow():
                self._row(line, header, evidence)
            case Salts():
                self._salt(line)
            case Signed():
                self._signed.append(line)
                self._largest = max(self._largest, line.size)
            case Skipped():
                self._flush(evidence)
                evidence.skip_rows(line.first, line.end, line.hashes, line.last)
            case Later() if self._later is None:
                self._later = line
            case End():
                self._end = line
                self._flush(evidence)
            case BundleHeader() | Later():
                evidence.fail(ProblemCode.NOT_CANONICAL, "what a bundle has once is in it a second time")

    def _row(self, line: BundleRow, header: BundleHeader, evidence: Evidence) -> None:
        if len(self._rows) >= _PAGE:
            self._flush(evidence)
            if self._told is not None:
                self._told(self._count, header.end - header.first)
        self._rows.append(line)
        self._count += 1
        if self._heard is not None:
            self._heard(line)
        if line.side:
            # Until its salts come, which is the next line.
            self._texts.extend(_Text(seq=line.seq, field=name, salt=b"", text=text) for name, text in line.side)

    def _salt(self, line: Salts) -> None:
        salts = dict(line.salts)
        at = len(self._texts)
        while at and self._texts[at - 1].seq == line.seq:
            at -= 1
            text = self._texts[at]
            self._texts[at] = replace(text, salt=salts.get(text.field, b""))

    def _flush(self, evidence: Evidence) -> None:
        if self._rows or self._signed:
            rows = [(row.seq, row.data, row.leaf) for row in self._rows]
            texts = sorted(
                (text.seq, text.field.encode("utf-8", "surrogatepass"), text.salt, _raw(text.text))
                for text in self._texts
            )
            evidence.feed(Page(rows=rows, texts=texts, checkpoints=self._signed))
            self._rows, self._texts, self._signed = [], [], []


def _left_out(header: BundleHeader) -> Iterator[str]:
    """What a piece cannot prove of the log."""
    if header.kept and not header.whole:
        yield f"rows 0 to {header.kept - 1} are gone; a bundle of all the log's rows shows why"
    for first, end in ((header.kept, header.first), (header.end, header.size)):
        if first < end:
            yield f"rows {first} to {end - 1} of the log are not in this bundle"


def _raw(text: str) -> bytes:
    """A text as a commitment was made of it."""
    return (
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass").encode("utf-8", "surrogatepass")
    )
