"""Signed notes and checkpoints of C2SP (signed-note, tlog-checkpoint, tlog-cosignature): text, and who signed it.

A note is a text, an empty line, and signature lines. Signing and checking come in as arguments: here is only form.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NoReturn

from node.core.errors import ErrorCode, MeshError
from node.core.merkle import HASH_BYTES
from node.core.timeline import is_origin

ED25519: Final = 0x01
"""The signature type of a plain Ed25519 signature over the note's text."""
ML_DSA_44: Final = 0x06
"""The signature type of a timestamped ML-DSA-44 (co)signature of a checkpoint, of tlog-cosignature."""
MAX_SIGNATURES: Final = 32
MAX_NOTE_BYTES: Final = 262_144
MAX_COUNT: Final = 2**53 - 1

_DASH: Final = "\u2014 "
_ID_BYTES: Final = 4
_TIME_BYTES: Final = 8
_SIZE_DIGITS: Final = 16
_SUBTREE_LABEL: Final = b"subtree/v1\n\0"
_is_name = re.compile(r"[^\s+]+").fullmatch
_is_size = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII).fullmatch
_has_control = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]").search


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One signature line: the key's name, its id (4 bytes), and the bytes of the signature."""

    name: str
    key_id: bytes
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A text that ends with a line end, and its signatures in their order."""

    text: str
    signatures: tuple[Signature, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeHead:
    """What a checkpoint says: that the tree of this log had this root (32 bytes) when it had so many leaves."""

    origin: str
    size: int
    root: bytes


def key_id(name: str, kind: int, public: bytes) -> bytes:
    """The four bytes that tell keys of one name apart; they prove nothing."""
    return sha256(name.encode() + b"\n" + bytes((kind,)) + public).digest()[:_ID_BYTES]


def verifier_key(name: str, kind: int, public: bytes) -> str:
    """A public key as signed-note writes one in a line: name, id and the key itself."""
    return f"{name}+{key_id(name, kind, public).hex()}+{encode64(bytes((kind,)) + public)}"


def write(note: Note) -> str:
    """The note as one text; INVALID_ARGUMENT for what no reader would take."""
    lines = [f"{_DASH}{one.name} {encode64(one.key_id + one.data)}\n" for one in note.signatures]
    written = f"{note.text}\n{''.join(lines)}"
    try:
        same = read(written) == note
    except MeshError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT, f"This cannot be written as a signed note. {error.message}"
        ) from error
    if not same:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "This cannot be written as a signed note: it would read otherwise.")
    return written


def read(written: str) -> Note:
    """The note in a text; TAMPERED unless every byte of it is as signed-note says."""
    if len(written.encode("utf-8", "surrogatepass")) > MAX_NOTE_BYTES:
        refuse(f"it is longer than {MAX_NOTE_BYTES} bytes")
    if _has_control(written):
        refuse("it has a control character or half a character")
    body, found, tail = written.rpartition("\n\n")
    if not found or not body or not tail.endswith("\n"):
        refuse("it is not a text, an empty line and signature lines")
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        refuse(f"it has {len(lines)} signatures, the limit is {MAX_SIGNATURES}")
    return Note(text=body + "\n", signatures=tuple(map(_signature, lines)))


def _signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or _is_name(name) is None:
        refuse("a line after its empty line is no signature line")
    data = decode64(encoded)
    if len(data) <= _ID_BYTES:
        refuse("a signature line has no signature")
    return Signature(name=name, key_id=data[:_ID_BYTES], data=data[_ID_BYTES:])


def head_text(head: TreeHead) -> str:
    """The text of a checkpoint: origin, size, root, each on a line."""
    return f"{head.origin}\n{head.size}\n{encode64(head.root)}\n"


def read_head(text: str) -> TreeHead:
    """What the text of a checkpoint says; TAMPERED for any other, also one with extension lines: nodes write none."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3]:
        refuse("a checkpoint has three lines: origin, size, root")
    origin, size, root = lines[0], lines[1], decode64(lines[2])
    if is_origin(origin) is None or _is_size(size) is None or len(root) != HASH_BYTES:
        refuse("its lines are not the origin of a log, a size and a root")
    return TreeHead(origin=origin, size=int(size), root=root)


def cosigned_message(head: TreeHead, name: str, time_s: int) -> bytes:
    """The bytes that an ML-DSA-44 key of that name signs of a checkpoint at a time (POSIX seconds)."""
    parts: Sequence[bytes] = (
        _SUBTREE_LABEL,
        _counted(name.encode()),
        time_s.to_bytes(_TIME_BYTES, "big"),
        _counted(head.origin.encode()),
        (0).to_bytes(8, "big"),
        head.size.to_bytes(8, "big"),
        head.root,
    )
    return b"".join(parts)


def timed(time_s: int, signature: bytes) -> bytes:
    """A timestamped signature, as it stands in a signature line after the key id."""
    return time_s.to_bytes(_TIME_BYTES, "big") + signature


def read_timed(data: bytes) -> tuple[int, bytes]:
    """The time (POSIX seconds) and the signature in a timestamped signature."""
    if len(data) <= _TIME_BYTES:
        refuse("a timestamped signature is cut short")
    return int.from_bytes(data[:_TIME_BYTES], "big"), data[_TIME_BYTES:]


def encode64(data: bytes) -> str:
    """Standard base 64."""
    return b64encode(data).decode("ascii")


def decode64(text: str) -> bytes:
    """The bytes in standard base 64 that could not be written in any other way; TAMPERED otherwise."""
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        refuse("a part of it is not base 64")
    if encode64(data) != text:
        refuse("a part of it is not base 64 as it is written")
    return data


def refuse(why: str) -> NoReturn:
    """TAMPERED."""
    raise MeshError(ErrorCode.TAMPERED, f"This is not a signed note of a log: {why}.")


def _counted(data: bytes) -> bytes:
    if not 0 < len(data) < 256:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "The name of a key and the origin of a log have 1 to 255 bytes.")
    return bytes((len(data),)) + data
