"""A log with all that stands beside it, in memory, as a node leaves it: what a check reads and attackers change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from node.cli.timeline_rows import row_document
from node.core import bundle, log_key, merkle
from node.core.bundle import BundleHeader, End, Salts, Signed
from node.core.evidence import Evidence, Page
from node.core.log_key import Endorsement
from node.core.merkle import TILE_WIDTH
from node.core.note import TreeHead
from node.core.timeline import Clock, Entry, Head, Row, RowKind, append, commitment
from node.core.timeline_check import Verification
from node.core.views import TimelineRowView
from node.log_keys import KeySigner
from node.ports_timeline import Checkpoint, Side
from node.signatures import NoteChecks

PAGE = 512
SW = "test/1"
SECOND = 1_000_000
DAY_S = 86_400
START = 1_790_000_000 * SECOND
PLAIN = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw=SW)
CHECKS = NoteChecks()
_drawn = count()


def signer(*, node: ec.EllipticCurvePrivateKey | None = None, dual: bool = False) -> KeySigner:
    """A log key, of a node of its own unless one is given."""
    return KeySigner(
        node_key=node or ec.generate_private_key(ec.SECP256R1()),
        first=Ed25519PrivateKey.generate(),
        second=MLDSA44PrivateKey.generate() if dual else None,
    )


def node_of(key: KeySigner) -> str:
    """The id of the node that has this log key."""
    return Endorsement(log="", first=0, key=key.key, spki=key.spki).node


@dataclass(slots=True)
class Log:
    """One log: everything public is what a node stores of it, and may be changed behind its back."""

    key: KeySigner
    origin: str = ""
    rows: list[Entry] = field(default_factory=list[Entry])
    texts: list[Side] = field(default_factory=list[Side])
    checkpoints: list[Checkpoint] = field(default_factory=list[Checkpoint])
    tiles: dict[tuple[int, int], bytes] = field(default_factory=dict[tuple[int, int], bytes])
    first: int = 0
    head: Head = field(default_factory=lambda: Head.empty("local/x/1"))
    endorsed: list[Endorsement] = field(default_factory=list[Endorsement])
    now: Clock = field(default_factory=lambda: Clock(ts_us=START, mono_us=0, boot="boot-1"))

    def __post_init__(self) -> None:
        self.origin = self.origin or f"local/{node_of(self.key)}/1"
        self.head = Head.empty(self.origin)

    def wait(self, seconds: float, *, wall: float = 0) -> None:
        """Time goes by; `wall` is how much more the wall clock shows than went by."""
        now, us = self.now, int(seconds * SECOND)
        self.now = replace(now, ts_us=now.ts_us + us + int(wall * SECOND), mono_us=now.mono_us + us)

    def add(self, row: Row = PLAIN, **texts: str) -> int:
        """One row a second, with texts beside it."""
        salted = [
            (name, sha256(str(next(_drawn)).encode()).digest()[:16], text) for name, text in sorted(texts.items())
        ]
        row = replace(row, side={name: commitment(salt, text) for name, salt, text in salted} or row.side)
        self.head, entry = append(self.head, self.now, row)
        self.wait(1)
        self.rows.append(entry)
        self.texts.extend(Side(seq=entry.seq, field=name, salt=salt, text=text) for name, salt, text in salted)
        if not self.head.size % TILE_WIDTH:
            self.refill(self.head.size // TILE_WIDTH - 1)
        return entry.seq

    def fill(self, times: int, row: Row = PLAIN) -> None:
        """So many rows, with texts and checkpoints as a node makes them."""
        for number in range(times):
            self.add(row, **({"title": f"Title {number}", "preview": "größer \ud83d"} if number % 3 == 0 else {}))
            if not self.head.size % 100:
                self.sign()

    def take_key(self, key: KeySigner | None = None, *, proven: bool = True) -> None:
        """The row of the first key, or of one that follows it."""
        old = self.key if key is not None else None
        new = key or self.key
        step = log_key.step(
            self.origin, self.head.size, new, old=old.key if old else None, old_signer=old if proven else None
        )
        self.endorsed.append(step.endorsement)
        self.add(step.row(SW))
        self.key = new

    def sign(self, key: KeySigner | None = None) -> Checkpoint:
        """A checkpoint of all rows so far."""
        head = TreeHead(origin=self.origin, size=self.head.size, root=self.head.root)
        written = log_key.sign_head(head, key or self.key, self.now.ts_us // SECOND)
        made = Checkpoint(size=head.size, root=head.root, note=written, made_us=self.now.ts_us)
        self.checkpoints.append(made)
        return made

    def prune(self, upto: int, *, why: str = "age", keep_days: int = 90, **lies: int | str) -> int:
        """The prune row, a checkpoint of it, and rows before `upto` gone."""
        said = {
            "first": self.first,
            "next": upto,
            "root": merkle.root_of(self._leaves()[:upto]).hex(),
            "first_ts": self.now.ts_us,
            "last_ts": START + upto * SECOND,
            "keep_days": keep_days,
            "why": why,
            "boots": 2,
        }
        row = Row(row=RowKind.PRUNE, engine="prune", decision="pruned", sw=SW, extra=said | lies)
        seq = self.add(row)
        self.sign()
        self.drop(upto)
        return seq

    def drop(self, upto: int) -> None:
        """Rows before `upto` are gone."""
        self.rows = [row for row in self.rows if row.seq >= upto]
        self.texts = [text for text in self.texts if text.seq >= upto]
        self.first = upto

    def _leaves(self) -> list[bytes]:
        pruned = b"".join(self.tiles[0, index] for index in range(self.first // TILE_WIDTH))
        return [pruned[at : at + 32] for at in range(0, len(pruned), 32)] + [row.leaf for row in self.rows]

    @property
    def blank(self) -> Checkpoint:
        """A checkpoint to be filled in."""
        return Checkpoint(size=0, root=b"", note="", made_us=0)

    def refill(self, index: int) -> None:
        """Writes the leaf tile, and its root into the tile above, as it is when the tile becomes full."""
        hashes = self._leaves()[index * TILE_WIDTH : (index + 1) * TILE_WIDTH]
        self.tiles[0, index] = b"".join(hashes)
        level, root = 1, merkle.root_of(hashes)
        while True:
            tile = index // TILE_WIDTH
            self.tiles[level, tile] = self.tiles.get((level, tile), b"") + root
            if len(self.tiles[level, tile]) < TILE_WIDTH * 32:
                return
            index, level, root = tile, level + 1, merkle.root_of(_split(self.tiles[level, tile]))


def _split(hashes: bytes) -> list[bytes]:
    return [hashes[at : at + 32] for at in range(0, len(hashes), 32)]


def _raw(text: Side) -> tuple[int, bytes, bytes, bytes]:
    """A text as the database hands it to a check."""
    return text.seq, text.field.encode("utf-8", "surrogateescape"), text.salt, _bytes(text.text)


def _bytes(text: str) -> bytes:
    # The flips make bytes that are no UTF-8; what the log itself holds are half characters.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def pages(log: Log) -> Iterator[Page]:
    """What a node reads of its log, a page at a time."""
    size = max((row.seq + 1 for row in log.rows), default=log.first)
    at = log.first
    while at < size:
        end = min(at + PAGE, size)
        yield Page(
            rows=[(row.seq, row.data, row.leaf) for row in log.rows if at <= row.seq < end],
            texts=sorted(_raw(text) for text in log.texts if at <= text.seq < end),
            checkpoints=sorted((one for one in log.checkpoints if at < one.size <= end), key=lambda one: one.size),
            tiles=log.tiles,
        )
        at = end


def checked(
    log: Log,
    *,
    seen: Sequence[TreeHead] = (),
    trusted: frozenset[str] | None = None,
    claimed: Head | None = None,
    signing: bool = True,
) -> Verification:
    """What a check of the log as it stands says, its node's own keys at hand."""
    evidence = Evidence(log.origin, checks=CHECKS, endorsed=log.endorsed, seen=seen)
    for index in range(log.first // TILE_WIDTH):
        evidence.skip_tile(index, log.tiles.get((0, index), b""), log.tiles)
    for page in pages(log):
        if evidence.feed(page) is not None:
            break
    signed = max((one.size for one in log.checkpoints), default=0)
    trusted = frozenset({node_of(log.key)}) if trusted is None else trusted
    return evidence.finish(first=log.first, claimed=claimed, signed=signed, trusted=trusted, signing=signing)


def began(*, dual: bool = False, rows: int = 0) -> Log:
    """A log with its key row and so many more rows."""
    log = Log(key=signer(dual=dual))
    log.add()
    log.take_key()
    log.fill(rows)
    return log


def bundle_of(log: Log, *, until_us: int = 0, size: int = 0) -> bytes:
    """The log as a bundle, as if it were made at `until_us` (now, unless told) when the log had `size` rows."""
    header = BundleHeader(
        log=log.origin,
        first=0,
        end=len(log.rows),
        kept=0,
        size=size or len(log.rows),
        made_us=until_us or log.now.ts_us,
        keys=tuple(log.endorsed),
    )
    lines = [bundle.header_line(header)]
    texts: dict[int, list[Side]] = {}
    for text in log.texts:
        texts.setdefault(text.seq, []).append(text)
    signed = {one.size: one for one in log.checkpoints}
    for row in log.rows:
        beside = texts.get(row.seq, [])
        shown = tuple((text.field, text.text) for text in beside)
        lines.append(row_document(TimelineRowView(seq=row.seq, data=row.data, leaf=row.leaf, side=shown)))
        if beside:
            lines.append(bundle.salts_line(Salts(seq=row.seq, salts=tuple((one.field, one.salt) for one in beside))))
        if (made := signed.get(row.seq + 1)) is not None:
            lines.append(bundle.signed_line(Signed(size=made.size, root=made.root, note=made.note)))
    lines.append(bundle.end_line(End(rows=len(log.rows))))
    return "".join(f"{line}\n" for line in lines).encode()
