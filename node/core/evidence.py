"""The check of all that a log is: its chain, tiles, texts, checkpoints, keys and prune rows, in one pass.

It takes pages of rows with what stands beside them, from a node's store or out of a bundle, and says what is proven.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Protocol, TypeAlias

from node.core import merkle
from node.core.canonical import JsonValue, decode
from node.core.excuse import Excuse, why_gone
from node.core.key_chain import KeyChain
from node.core.log_key import Checks, Endorsement
from node.core.merkle import HASH_BYTES, TILE_WIDTH
from node.core.note import TreeHead
from node.core.retention import DAY_US
from node.core.timeline import SALT_BYTES, Head
from node.core.timeline_check import INCOMPLETE, MAX_FINDINGS, Problem, ProblemCode, Pruned, Verification, Verifier

_CLOCK_SLACK_US: Final = DAY_US
_TILE_HEIGHT: Final = 8
_LAST_OF_TILE: Final = TILE_WIDTH - 1


RowTuple: TypeAlias = tuple[int, bytes, bytes]
"""A stored row: number, bytes, leaf hash. Tuples, because a check looks at very many."""
TextTuple: TypeAlias = tuple[int, bytes, bytes, bytes]
"""A text beside a row: number, field, salt, text."""


class CheckpointLike(Protocol):
    """What was signed of a log."""

    @property
    def size(self) -> int: ...
    @property
    def root(self) -> bytes: ...
    @property
    def note(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Rows in order, the texts beside them by number and field, checkpoints of as many rows, tiles with their hashes.

    `tiles` is by (level, index); a tile that a page fills and that is not here is not compared.
    """

    rows: Sequence[RowTuple] = ()
    texts: Sequence[TextTuple] = ()
    checkpoints: Sequence[CheckpointLike] = ()
    tiles: Mapping[tuple[int, int], bytes] = field(default_factory=dict[tuple[int, int], bytes])


class Evidence:
    """One check of one log. Call `skip_…` for rows that are not there, `feed` with pages in order, then `finish`.

    `endorsed` are keys of the log that came from outside it; `seen` are checkpoints that somebody kept elsewhere.
    """

    def __init__(
        self,
        origin: str,
        *,
        checks: Checks,
        endorsed: Sequence[Endorsement] = (),
        seen: Sequence[TreeHead] = (),
    ) -> None:
        self._verifier = Verifier(origin)
        self._keys = KeyChain(origin, checks, endorsed)
        self._compared: set[int] = set()
        self._seen = sorted(seen, key=lambda head: head.size)
        # The roots at each 256 rows: 1 byte for 8 rows, so that a prune row can be held against them.
        self._roots = bytearray()
        self._roots_from = 0
        # The newest: what they name goes furthest.
        self._excuses: deque[Excuse] = deque(maxlen=MAX_FINDINGS)
        self._end: int | None = None
        self._covered = 0
        self._checkpoints = 0
        for head in self._seen:
            if head.origin != origin:
                words = f"row 0: the checkpoint that was kept is of the log {head.origin}"
                self._verifier.fail(Problem(seq=0, code=ProblemCode.FOREIGN, words=words))

    @property
    def problem(self) -> Problem | None:
        """The first thing that is wrong so far."""
        return self._verifier.problem

    @property
    def nodes(self) -> tuple[str, ...]:
        """The ids of the nodes that answer for the log's keys so far."""
        return tuple(self._keys.nodes)

    @property
    def size(self) -> int:
        """How many rows the tree has so far."""
        return self._verifier.tree.size

    def doubt(self, code: ProblemCode, words: str) -> None:
        """Whoever feeds this could not do it in full."""
        self._verifier.doubt(Problem(seq=self.size, code=code, words=words))

    def fail(self, code: ProblemCode, words: str) -> None:
        """Whoever feeds this found something wrong beside the rows."""
        self._fail(self.size, code, words)

    def skip_tile(self, index: int, hashes: bytes, above: Mapping[tuple[int, int], bytes]) -> None:
        """The next 256 rows were pruned; their leaf hashes are in this tile, the roots of tiles in those `above`."""
        if len(hashes) != TILE_WIDTH * HASH_BYTES:
            self._fail(index * TILE_WIDTH, ProblemCode.TILE_DIFFERS, f"tile {index} of pruned rows has not 256 hashes")
            return
        root = merkle.root_of(hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))
        self._verifier.tree.filled.append((1, index, root))
        self._verifier.skip(_TILE_HEIGHT, root, hashes[-HASH_BYTES:])
        self._compare_tiles(Page(tiles=above))
        self._keep_root()

    def skip_rows(self, first: int, end: int, subtrees: Sequence[bytes], last: bytes) -> None:
        """Rows [first, end) are not here, only the roots of the subtrees that they make up, and the last one's leaf."""
        cover = merkle.cover(first, end)
        if first != self.size or len(cover) != len(subtrees) or any(len(one) != HASH_BYTES for one in subtrees):
            self._fail(self.size, ProblemCode.MISSING, f"rows {first} to {end - 1} are neither here nor hashed")
            return
        if first:
            self._end = self._end or first
        for (height, _), root in zip(cover, subtrees, strict=True):
            if self._end is None:
                self._verifier.skip(height, root, last)
            else:
                self._verifier.tree.add_subtree(height, root)
        if end and not first:
            self._roots_from = end
            self._roots.extend(self._verifier.tree.root)
        self._verifier.tree.filled.clear()

    def feed(self, page: Page) -> Problem | None:
        """The next rows. Gives the first problem so far; what comes after it is not looked at."""
        verifier = self._verifier
        checkpoints = iter(page.checkpoints)
        checkpoint = next(checkpoints, None)
        texts, commits, place = page.texts, _commits(page.texts), 0
        beside = texts[0][0] if texts else -1
        stop = -1
        for seq, data, leaf in page.rows:
            if seq >= stop:
                checkpoint = self._compare(checkpoint, checkpoints)
                stop = self._next_stop(checkpoint)
            if seq == beside:
                first = place
                while beside == seq:
                    place += 1
                    beside = texts[place][0] if place < len(texts) else -1
                side = b",".join(commits[first:place])
                if verifier.feed(seq, data, leaf, side) is None and verifier.side != side:
                    self._compare_texts(seq, texts[first:place], commits[first:place])
            else:
                verifier.feed(seq, data, leaf)
            if verifier.problem is not None:
                return verifier.problem
            if verifier.row in _SPECIAL:
                self._special(seq, data)
            if seq & _LAST_OF_TILE == _LAST_OF_TILE:
                self._keep_root()
        self._compare(checkpoint, checkpoints)
        if place < len(texts) and verifier.problem is None:
            self._fail(beside, ProblemCode.TEXT_DIFFERS, "there is a text beside it, and no such row")
        verifier.tree.fold()
        if page.tiles:
            self._compare_leaves(page)
        self._compare_tiles(page)
        return verifier.problem

    def finish(
        self,
        *,
        first: int = 0,
        claimed: Head | None = None,
        signed: int = 0,
        trusted: frozenset[str] = frozenset(),
        signing: bool = False,
        excuses: Sequence[Excuse] = (),
    ) -> Verification:
        """What was found. `first` is the first row that the log still keeps, `claimed` how far it says that it goes.

        `signed` is the size of the largest checkpoint there is, `trusted` the ids of nodes that may answer for the log;
        with `signing` the node still writes the log, and need not have signed all of it. `excuses` are in later logs.
        """
        tree, end = self._verifier.tree, self.size if self._end is None else self._end
        self._compare_seen()
        beyond = max([signed, *(head.size for head in self._seen), claimed.size if claimed else 0])
        if beyond > tree.size:
            self._fail(
                tree.size, ProblemCode.TAIL_MISSING, f"{beyond} rows are known of, the log ends after {tree.size}"
            )
        elif claimed is not None and not self._verifier.ends(claimed):
            self._fail(max(tree.size - 1, 0), ProblemCode.ROOT_DIFFERS, "the log's stored end is not that of its rows")
        excused = self._excuse(first, excuses)
        self._judge_keys(trusted, signing=signing)
        found = self._verifier.finish()
        begin = end if found.first_seq is None else min(found.first_seq, end)
        gone = tuple(
            Pruned(first=one.first, next=one.next, row=one.row, why=one.why)
            for one in (*self._excuses, *excuses)
            if one.first < first
        )
        return replace(
            found,
            rows=end - begin,
            first_seq=begin if begin < end else None,
            last_seq=end - 1 if begin < end else None,
            covered=self._covered,
            checkpoints=self._checkpoints,
            pruned=gone if excused else (),
            keys=tuple(self._keys.changes),
            node=self._keys.nodes[-1] if self._keys.nodes else "",
            vouched=self._checkpoints > 0 and not trusted.isdisjoint(self._keys.nodes),
        )

    def _compare_seen(self) -> None:
        """Holds what somebody kept of rows that were not read against what is known of them."""
        for head in self._seen:
            if head.size in self._compared or head.size > self.size:
                continue
            known = self.root_at(head.size)
            if known is None:
                words = f"the checkpoint of {head.size} rows that was kept is of rows that are not here"
                self.doubt(ProblemCode.NOT_COMPARED, words)
            elif known != head.root:
                self._rewritten(head.size)

    def _rewritten(self, size: int) -> None:
        words = f"the first {size} rows are not those of the checkpoint that was kept"
        self._fail(max(size - 1, 0), ProblemCode.ROOT_DIFFERS, words)

    def _judge_keys(self, trusted: frozenset[str], *, signing: bool) -> None:
        nodes = self._keys.nodes
        end = self.size if self._end is None else self._end
        if not signing and self._covered < end:
            words = f"rows {self._covered} to {end - 1} are not signed, so nobody answers for them"
            self.doubt(ProblemCode.NOT_COMPARED, words)
        if not trusted or not trusted.isdisjoint(nodes):
            return
        if nodes:
            words = f"the node {nodes[-1]} answers for this log, and not the one that was to be expected"
            self._fail(0, ProblemCode.NOT_VOUCHED, words)
        elif self._checkpoints:
            self.doubt(ProblemCode.KEY_UNKNOWN, "no node answers for the key that signed this log")

    def _excuse(self, first: int, later: Sequence[Excuse]) -> bool:
        """Whether the rows before `first` were pruned as a prune row says; TAMPERED otherwise."""
        if first == 0 or any(one.first < first <= one.next for one in self._excuses):
            return True
        # Of later rows only the last is at hand: what it goes on from was gone before it was written.
        if any(one.first <= first <= one.next for one in later):
            return True
        words = f"rows 0 to {first - 1} are gone, and no row that is kept says that they were pruned"
        self._fail(0, ProblemCode.HEAD_MISSING, words)
        return False

    def _next_stop(self, checkpoint: CheckpointLike | None) -> int:
        """At how many rows there is something to compare next."""
        sizes = [head.size for head in self._seen if head.size > self.size]
        if checkpoint is not None:
            sizes.append(checkpoint.size)
        return min(sizes, default=1 << 62)

    def _compare(self, checkpoint: CheckpointLike | None, following: Iterable[CheckpointLike]) -> CheckpointLike | None:
        """Holds what was signed of the rows so far against them; gives the next checkpoint there is."""
        tree, upcoming = self._verifier.tree, iter(following)
        for head in self._seen:
            if head.size == tree.size:
                self._compared.add(head.size)
                if head.root != tree.root:
                    self._rewritten(tree.size)
        while checkpoint is not None and checkpoint.size <= tree.size:
            if checkpoint.size == tree.size:
                self._read_checkpoint(checkpoint)
            checkpoint = next(upcoming, None)
        return checkpoint

    def _read_checkpoint(self, checkpoint: CheckpointLike) -> None:
        size, root = self.size, self._verifier.tree.root
        if checkpoint.root != root:
            words = f"the first {size} rows are not those that a checkpoint was made of"
            self._fail(max(size - 1, 0), ProblemCode.ROOT_DIFFERS, words)
            return
        problem = self._keys.check(size, root, checkpoint.note)
        if problem is None:
            self._covered = size
            self._checkpoints += 1
        else:
            self._report(problem)

    def _special(self, seq: int, data: bytes) -> None:
        fields = decode(data)
        if self._verifier.row == b"key":
            if (problem := self._keys.take(seq, fields)) is not None:
                self._report(problem)
            return
        extra = fields.get("extra")
        first, after, root = (
            extra.get(name) if isinstance(extra, dict) else None for name in ("first", "next", "root")
        )
        if not isinstance(extra, dict) or type(first) is not int or type(after) is not int or not isinstance(root, str):
            # Other rows of that kind, such as one about texts that were erased, excuse nothing.
            return
        if not 0 <= first < after <= seq or ((kept := self._kept_root(after)) is not None and kept.hex() != root):
            words = f"it names rows {first} to {after - 1}, and they are not those that were pruned"
            self._fail(seq, ProblemCode.PRUNE_WRONG, words)
            return
        why = self._why(seq, extra)
        if why and kept is not None:
            self._excuses.append(Excuse(row=seq, first=first, next=after, why=why))

    def _why(self, seq: int, extra: Mapping[str, JsonValue]) -> str:
        """Why rows were pruned; empty when they were not old enough for that."""
        now = 0 if self._verifier.times is None else self._verifier.times[0]
        # Time that only a step of the clock brought proves no age; a day of slack is for clocks set right.
        if why := why_gone(extra, now - max(self._verifier.ahead - _CLOCK_SLACK_US, 0)):
            return why
        words = "it says that rows were pruned for their age, and they had not reached it"
        self._fail(seq, ProblemCode.PRUNE_TOO_YOUNG, words)
        return ""

    def _compare_texts(self, seq: int, texts: Sequence[TextTuple], commits: Sequence[bytes]) -> None:
        """Holds the texts beside a row against it, of which some were erased."""
        side = self._verifier.side or b""
        for (_, named, _, _), commit in zip(texts, commits, strict=True):
            if commit not in side:
                name = ascii(named.decode("utf-8", "replace"))[:80]
                self._fail(seq, ProblemCode.TEXT_DIFFERS, f"the text beside it called {name} is not the one it was")
                return

    def _keep_root(self) -> None:
        self._roots.extend(self._verifier.tree.root)

    def root_at(self, size: int) -> bytes | None:
        """The root after so many of the rows so far, None where it is not known."""
        return self._verifier.tree.root if size == self.size else self._kept_root(size)

    def _kept_root(self, size: int) -> bytes | None:
        place, rest = divmod(size - self._roots_from, TILE_WIDTH)
        # Rows that were skipped by their subtrees left one root, the one after them.
        at = HASH_BYTES * (place if self._roots_from else place - 1)
        return bytes(self._roots[at : at + HASH_BYTES]) if not rest and 0 <= at < len(self._roots) else None

    def _compare_leaves(self, page: Page) -> None:
        """Holds each leaf tile that lies in the page against its rows."""
        if not page.rows or self._verifier.problem is not None:
            return
        start = page.rows[0][0]
        for first in range(-(-start // TILE_WIDTH) * TILE_WIDTH, start + len(page.rows) - TILE_WIDTH + 1, TILE_WIDTH):
            kept = page.tiles.get((0, first // TILE_WIDTH))
            inside = page.rows[first - start : first - start + TILE_WIDTH]
            if kept is not None and kept != b"".join(row[2] for row in inside):
                self._fail(first, ProblemCode.TILE_DIFFERS, f"tile {first // TILE_WIDTH} of level 0 has other hashes")
                return

    def _compare_tiles(self, page: Page) -> None:
        """Holds the roots of what the rows completed against the tiles that keep them."""
        filled = self._verifier.tree.filled
        for level, index, root in filled:
            tile, place = divmod(index, TILE_WIDTH)
            kept = page.tiles.get((level, tile))
            if kept is not None and kept[place * HASH_BYTES : (place + 1) * HASH_BYTES] != root:
                first = index << (_TILE_HEIGHT * level)
                self._fail(first, ProblemCode.TILE_DIFFERS, f"tile {tile} of level {level} has other hashes")
                break
        filled.clear()

    def _fail(self, seq: int, code: ProblemCode, words: str) -> None:
        self._report(Problem(seq=seq, code=code, words=f"row {seq}: {words}"))

    def _report(self, problem: Problem) -> None:
        if problem.code in INCOMPLETE:
            self._verifier.doubt(problem)
        else:
            self._verifier.fail(problem)


def _commits(texts: Sequence[TextTuple]) -> list[bytes]:
    """What each text commits its row to, as it stands in the row; something that stands in none for a bad salt."""
    return [
        b'"%b":"%b"' % (field, sha256(salt + text).hexdigest().encode()) if len(salt) == SALT_BYTES else b"\n"
        for _, field, salt, text in texts
    ]


_SPECIAL: Final = frozenset({b"key", b"prune"})
