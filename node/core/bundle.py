"""A piece of a log in one file of JSON lines that can be verified anywhere: what its lines say, and reading them.

In order: a header; of a closed log the row of a later one by which rows were pruned, if any were; hashes for the rows
before, if any; rows, each as `helio timeline --json` prints it, with a line of the salts of its texts after it, and
checkpoints where they were made; hashes for rows after, up to the checkpoint that covers the last row; an end, so that
a file which was cut short is not taken for a whole one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from node.core import note
from node.core.errors import ErrorCode, MeshError
from node.core.log_key import Endorsement, LogKey
from node.core.timeline import is_origin

VERSION: Final = 1
MAX_LINE_BYTES: Final = 4_194_304
_MARK: Final = "heliograph_bundle"
_row_in = re.compile(
    rb'\{"seq": (0|[1-9][0-9]{0,15}), "leaf": "([0-9a-f]{64})", "row": (\{.*?\}), "side": (\{.*\})\}'
).fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleHeader:
    """Rows `first` to `end` - 1 of a log that keeps those from `kept` to `size` - 1.

    `keys` are what the node says of its keys.
    """

    log: str
    first: int
    end: int
    kept: int
    size: int
    made_us: int
    keys: tuple[Endorsement, ...]

    @property
    def whole(self) -> bool:
        """Whether it is of all that the log keeps: only then is the row in it that says what was pruned."""
        return (self.first, self.end) == (self.kept, self.size)

    @property
    def node(self) -> str:
        """The node that says whose keys they are; empty when nobody does."""
        return self.keys[-1].node if self.keys else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRow:
    """A row with its texts: (field, text)."""

    seq: int
    data: bytes
    leaf: bytes
    side: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Salts:
    """The salts (field, 16 bytes) of the texts of the row before."""

    seq: int
    salts: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A checkpoint: a signed note, and what it says."""

    size: int
    root: bytes
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Rows [first, end) as the roots of the complete subtrees that they make up, and the leaf hash of the last."""

    first: int
    end: int
    hashes: tuple[bytes, ...]
    last: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A row of the later log `log`, its audit path to a checkpoint of that log, and what the node says of its keys."""

    log: str
    seq: int
    data: bytes
    path: tuple[bytes, ...]
    signed: Signed
    keys: tuple[Endorsement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last line: how many rows there were."""

    rows: int


Line = BundleHeader | BundleRow | Salts | Signed | Skipped | Later | End


def header_line(header: BundleHeader) -> str:
    """The first line."""
    fields = {
        _MARK: VERSION,
        "log": header.log,
        "first": header.first,
        "end": header.end,
        "kept": header.kept,
        "size": header.size,
        "made_us": header.made_us,
        "node": header.node,
        "keys": [_endorsement_fields(one) for one in header.keys],
    }
    return json.dumps(fields)


def salts_line(salts: Salts) -> str:
    """The line after a row that has texts."""
    return json.dumps({"salts": {name: salt.hex() for name, salt in salts.salts}, "seq": salts.seq})


def signed_line(signed: Signed) -> str:
    """A checkpoint."""
    return json.dumps({"checkpoint": signed.size, "note": signed.note})


def skipped_line(skipped: Skipped) -> str:
    """Hashes for rows that are not in the bundle."""
    hashes = [note.encode64(one) for one in skipped.hashes]
    fields = {"first": skipped.first, "end": skipped.end, "hashes": hashes, "last": skipped.last.hex()}
    return json.dumps({"skipped": fields})


def later_line(later: Later) -> str:
    """A row of a later log with its proof."""
    fields = {
        "log": later.log,
        "seq": later.seq,
        "row": later.data.decode("utf-8"),
        "path": [note.encode64(one) for one in later.path],
        "note": later.signed.note,
        "keys": [_endorsement_fields(one) for one in later.keys],
    }
    return json.dumps({"later": fields})


def end_line(end: End) -> str:
    """The last line."""
    return json.dumps({"rows": end.rows})


def read_lines(lines: Iterable[bytes]) -> Iterator[Line]:
    """What the lines say, the header first; INVALID_ARGUMENT for a file that is no bundle, TAMPERED for a bad line."""
    for number, line in enumerate(lines, start=1):
        if number > 1 and not line.endswith(b"\n"):
            # The file ends in the middle of a line; what that means is for who misses the end.
            return
        try:
            read = read_line(line)
            if isinstance(read, BundleHeader) is not (number == 1):
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MeshError) as error:
            if number == 1:
                raise MeshError(
                    ErrorCode.INVALID_ARGUMENT,
                    "This file is no bundle of a timeline, or one of a later version. Make one with: "
                    "helio timeline bundle -o FILE",
                ) from error
            raise MeshError(
                ErrorCode.TAMPERED, f"Line {number} of the bundle is not as a node writes it.", {"line": number}
            ) from error
        yield read


def read_line(line: bytes) -> Line:
    """What one line says; ValueError, TypeError, KeyError, AttributeError or MeshError when it says nothing."""
    if len(line) > MAX_LINE_BYTES or not line.endswith(b"\n"):
        raise ValueError("a line is cut short or too long")
    found = _row_in(line[:-1])
    if found is not None:
        seq, leaf, data, side = found.groups()
        texts = _object(json.loads(side))
        return BundleRow(
            seq=int(seq),
            data=data,
            leaf=bytes.fromhex(leaf.decode("ascii")),
            side=tuple((name, _text(text)) for name, text in texts.items()),
        )
    return _other(_object(json.loads(line, object_pairs_hook=_unique)))


def _other(fields: Mapping[str, object]) -> Line:
    names = set(fields)
    if _MARK in names:
        return _header(fields)
    if "damaged" in names:
        data = bytes.fromhex(_text(fields["damaged"]))
        return BundleRow(seq=_count(fields["seq"]), data=data, leaf=bytes.fromhex(_text(fields["leaf"])), side=())
    if names == {"salts", "seq"}:
        salts = _object(fields["salts"]).items()
        return Salts(seq=_count(fields["seq"]), salts=tuple((name, bytes.fromhex(_text(salt))) for name, salt in salts))
    if names == {"checkpoint", "note"}:
        signed = _signed(_text(fields["note"]))
        if signed.size != _count(fields["checkpoint"]):
            raise ValueError("a checkpoint of another size")
        return signed
    if names == {"skipped"}:
        inside = _object(fields["skipped"])
        return Skipped(
            first=_count(inside["first"]),
            end=_count(inside["end"]),
            hashes=tuple(note.decode64(_text(one)) for one in _list(inside["hashes"])),
            last=bytes.fromhex(_text(inside["last"])),
        )
    if names == {"later"}:
        return _later(_object(fields["later"]))
    if names == {"rows"}:
        return End(rows=_count(fields["rows"]))
    raise ValueError("an unknown line")


def _signed(written: str) -> Signed:
    head = note.read_head(note.read(written).text)
    return Signed(size=head.size, root=head.root, note=written)


def _later(fields: Mapping[str, object]) -> Later:
    log = _text(fields["log"])
    if is_origin(log) is None:
        raise ValueError("not a log")
    return Later(
        log=log,
        seq=_count(fields["seq"]),
        data=_text(fields["row"]).encode("utf-8"),
        path=tuple(note.decode64(_text(one)) for one in _list(fields["path"])),
        signed=_signed(_text(fields["note"])),
        keys=tuple(_endorsement(log, _object(one)) for one in _list(fields["keys"])),
    )


def _header(fields: Mapping[str, object]) -> BundleHeader:
    log = _text(fields["log"])
    if fields[_MARK] != VERSION or is_origin(log) is None:
        raise ValueError("another version")
    return BundleHeader(
        log=log,
        first=_count(fields["first"]),
        end=_count(fields["end"]),
        kept=_count(fields["kept"]),
        size=_count(fields["size"]),
        made_us=_count(fields["made_us"]),
        keys=tuple(_endorsement(log, _object(one)) for one in _list(fields["keys"])),
    )


def _endorsement_fields(one: Endorsement) -> dict[str, object]:
    fields: dict[str, object] = {
        "from": one.first,
        "key": note.encode64(one.key.public),
        "spki": note.encode64(one.spki),
        "signature": note.encode64(one.signature),
    }
    return fields if one.key.second is None else fields | {"second": note.encode64(one.key.second)}


def _endorsement(log: str, fields: Mapping[str, object]) -> Endorsement:
    second = note.decode64(_text(fields["second"])) if "second" in fields else None
    return Endorsement(
        log=log,
        first=_count(fields["from"]),
        key=LogKey(public=note.decode64(_text(fields["key"])), second=second),
        spki=note.decode64(_text(fields["spki"])),
        signature=note.decode64(_text(fields["signature"])),
    )


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return cast("dict[str, object]", value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return cast("list[object]", value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= note.MAX_COUNT:
        raise TypeError("not a count")
    return value
