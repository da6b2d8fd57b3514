"""Files of a message: what they are called, how much there may be, and how a folder becomes one archive."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from node.core.errors import Detail, ErrorCode, MeshError
from node.core.escape import escape
from node.core.limits import Limits

NAME_BYTES: Final = 120
PART_BYTES: Final = 255
BLOCK_BYTES: Final = 512
# Ends an archive; a longer run of zeros is as good to tar, but then one folder would have many archives.
ARCHIVE_END: Final = bytes(2 * BLOCK_BYTES)
# How many bad files one refusal names.
NAMED_AT_ONCE: Final = 20

_UNNAMED: Final = "file"
# Of ASCII, what neither a shell, a URL nor a file system reads as more than itself.
_PLAIN_ASCII: Final = frozenset(" ._-+=@,()[]~#")
# They look like a path's slash.
_SLASHES: Final = frozenset("\u2044\u2215\u29f5\u29f8\uff0f\uff3c")
_LEADING: Final = " .-~"
_TRAILING: Final = " ."
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:[ .]|\Z)", re.IGNORECASE)
_SUFFIX: Final = re.compile(r"(?<=.)\.[^. ]{1,15}\Z")
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")
_PAX_NAME: Final = b"././@PaxHeader"
_USTAR_NAME_BYTES: Final = 100
_LARGEST_MEMBER: Final = 8**11 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One file or folder of a message: `size` bytes are stored under `sha256` (hex) and land as `name`.

    `name` is safe and unlike the other names of its message. A folder is stored as an archive of `entries` files and
    folders and lands unpacked; a file has 0 entries.
    """

    name: str
    sha256: str
    size: int
    folder: bool
    entries: int


class TextFile(NamedTuple):
    """One text in an attachment, called from that one's name on; None in the place of what is too much to be read."""

    name: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why the file at `path` (as the sender wrote it) cannot go; `outside`: its real path if a person may allow it."""

    path: str
    why: str
    code: ErrorCode
    outside: str = ""


# --- names -----------------------------------------------------------------------------------------------------------


def safe_name(raw: str, taken: Collection[str]) -> str:
    """The name to land as for a file called `raw`: one plain part of a path, at most NAME_BYTES, unlike all of `taken`.

    It is NFC, holds nothing hidden, starts with no dot, dash or tilde and means nothing to a shell. A name that is so
    already stays as it is.
    """
    last = next((part for part in reversed(re.split(r"[/\\]", raw)) if part.strip(_LEADING)), "")
    clean = "".join(_plain(ch) for ch in unicodedata.normalize("NFC", last))
    name = clean.lstrip(_LEADING).rstrip(_TRAILING) or _UNNAMED
    if _RESERVED.match(name) or unicodedata.combining(name[0]):
        name = f"_{name}"
    keys = {name_key(one) for one in taken}
    chosen, number = _cut(name, ""), 1
    while name_key(chosen) in keys:
        number += 1
        chosen = _cut(name, f" ({number})")
    return chosen


def name_key(name: str) -> str:
    """What makes two names one on a file system which ignores case and composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def part_problem(part: str) -> str:
    """Why `part` cannot be a name inside a folder that is passed on; an empty string when it can.

    Names inside a folder stay as they are, or programs would not find their files: what is not safe is refused.
    """
    if part in {"", ".", ".."} or "/" in part:
        return "is not a name"
    if escape(part) != part:
        return "has hidden characters or a backslash in its name"
    if len(part.encode()) > PART_BYTES:
        return f"has a name of more than {PART_BYTES} bytes"
    return ""


def check_attachments(attachments: Sequence[Attachment]) -> None:
    """TAMPERED unless every name is one that `safe_name` gives in this company, and every hash is one."""
    taken: list[str] = []
    for one in attachments:
        if safe_name(one.name, taken) != one.name or not _SHA256.match(one.sha256) or one.size < 0 or one.entries < 0:
            raise MeshError(
                ErrorCode.TAMPERED,
                f"The attachment {escape(one.name)[:NAME_BYTES]!r} is not as a node describes one. Nothing was "
                "landed; ask the sender to attach it again.",
            )
        taken.append(one.name)


def is_sha256(name: str) -> bool:
    """Whether `name` is a SHA-256 in hex, as stored bytes are named."""
    return _SHA256.match(name) is not None


def line_of(attachment: Attachment, path: str) -> str:
    """The one line in which a model sees a landed file: name, size, first 12 digits of the hash, path."""
    kind = f"folder of {attachment.entries:,} entries" if attachment.folder else "file"
    size = f"{attachment.size:,} bytes"
    return f"{attachment.name}: {kind}, {size}, sha256 {attachment.sha256[:12]}, at {escape(path)}"


def _plain(ch: str) -> str:
    if ch.isspace():
        return " "
    if ch.isascii():
        return ch if ch.isalnum() or ch in _PLAIN_ASCII else "_"
    return "_" if ch in _SLASHES or escape(ch) != ch else ch


def _cut(name: str, number: str) -> str:
    """`name` with `number` before its suffix, its stem cut so that all of it fits into NAME_BYTES."""
    found = _SUFFIX.search(name)
    stem, suffix = (name[: found.start()], found[0]) if found else (name, "")
    room = NAME_BYTES - len((number + suffix).encode())
    if len(stem.encode()) > room:
        stem = stem.encode()[:room].decode("utf-8", "ignore").rstrip(_TRAILING)
    return f"{stem}{number}{suffix}"


# --- how much --------------------------------------------------------------------------------------------------------


def check_amounts(limits: Limits, *, files: int, size: int, entries: int) -> None:
    """LIMIT when one message's files are too many, too large (bytes to store) or hold too many entries."""
    amounts = (
        (files, limits.files_per_message, "files_per_message", "files and folders", "Put files into one folder"),
        (size, limits.message_bytes, "message_bytes", "bytes", "Attach less, or name a path in the text"),
        (entries, limits.folder_entries, "folder_entries", "entries in folders", "Attach only the part that is needed"),
    )
    for given, limit, name, what, advice in amounts:
        if given > limit:
            count = f"more than {limit:,}" if name == "folder_entries" else f"{given:,}"
            raise MeshError(
                ErrorCode.LIMIT,
                f"The message has {count} {what}; the limit {name} is {limit:,}. Nothing was copied and the message "
                f"was not taken. {advice}; the person at this node can raise the limit in config.toml.",
                {"limit": limit, "given": given, "name": name},
            )


def refusal(problems: Sequence[Problem]) -> MeshError:
    """The error that names every bad file; REACH, with `outside`, when a person's approval would help all of them."""
    shown = [f"{escape(problem.path) or '(an empty path)'} {problem.why}" for problem in problems[:NAMED_AT_ONCE]]
    more = f" More files than these {len(shown)} cannot go." if len(problems) > len(shown) else ""
    codes = {problem.code for problem in problems}
    code = codes.pop() if len(codes) == 1 and not more else ErrorCode.INVALID_ARGUMENT
    advice = (
        "Files outside the session's folder need a person's approval."
        if code is ErrorCode.REACH
        else "Put that right and call again, or leave those files out."
    )
    details: dict[str, Detail] = {"refused": tuple(shown)}
    outside = tuple(dict.fromkeys(problem.outside for problem in problems[:NAMED_AT_ONCE] if problem.outside))
    if outside:
        details["outside"] = outside
    message = f"The message was not taken because of its files: {'; '.join(shown)}.{more} {advice}"
    return MeshError(code, message, details)


# --- archives of folders ---------------------------------------------------------------------------------------------
# POSIX tar (ustar, with a pax record for a path that ustar has no room for), in one form only: sorted, owned by 0,
# times 0, modes 0600 and 0700, no links, every folder before what is in it. The same files give the same bytes and so
# the same hash. Written here byte by byte: tarfile reads far more than this, and does not promise its bytes to stay.


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of `size` bytes or a folder inside an archive; `path` is relative, its parts separated by `/`."""

    path: str
    size: int
    folder: bool


def header(entry: Entry) -> bytes:
    """The blocks which come before the bytes of `entry`; LIMIT for a file of 8 GiB or more, which tar cannot hold."""
    if entry.size > _LARGEST_MEMBER:
        raise MeshError(
            ErrorCode.LIMIT,
            f"{escape(entry.path)} has {entry.size:,} bytes; a file in a folder can have {_LARGEST_MEMBER:,}. "
            "Attach it by itself.",
            {"limit": _LARGEST_MEMBER, "given": entry.size},
        )
    raw = entry.path.encode()
    kind = b"5" if entry.folder else b"0"
    if raw.isascii() and len(raw) <= _USTAR_NAME_BYTES:
        return _block(raw, entry.size, kind)
    record = _pax_path(raw)
    stand_in = entry.path.encode("ascii", "replace")[:_USTAR_NAME_BYTES]
    return _block(_PAX_NAME, len(record), b"x") + record + padding(len(record)) + _block(stand_in, entry.size, kind)


def padding(size: int) -> bytes:
    """The zeros which fill the last block of `size` bytes."""
    return bytes(-size % BLOCK_BYTES)


def archive_size(entries: Sequence[Entry]) -> int:
    """How many bytes the archive of `entries` has."""
    return sum(len(header(one)) + one.size + -one.size % BLOCK_BYTES for one in entries) + len(ARCHIVE_END)


def header_size(first: bytes, limits: Limits) -> int:
    """How long the header is that begins with the block `first`; ValueError when it is none or too long."""
    if first[156:157] != b"x":
        return BLOCK_BYTES
    record = int(first[124:135], 8)
    if not 0 < record <= limits.folder_path_bytes + 16:
        raise ValueError("a path is too long")
    return BLOCK_BYTES + record + -record % BLOCK_BYTES + BLOCK_BYTES


def entry_of(head: bytes) -> Entry:
    """The entry whose header is `head`; ValueError unless it is byte for byte what `header` makes of it."""
    last = head[-BLOCK_BYTES:]
    raw = last[:_USTAR_NAME_BYTES].rstrip(b"\0")
    if len(head) > BLOCK_BYTES:
        _, _, raw = head[BLOCK_BYTES : BLOCK_BYTES + int(head[124:135], 8)].removesuffix(b"\n").partition(b"=")
    entry = Entry(path=raw.decode(), size=int(last[124:135], 8), folder=last[156:157] == b"5")
    if entry.size < 0 or header(entry) != head:
        raise ValueError("a header is not in the one form that nodes write")
    return entry


class Members:
    """Takes the entries of one archive in order and says where each belongs, or why it cannot be there."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._last: tuple[str, ...] = ()
        self._folders: set[tuple[str, ...]] = {()}
        self._keys: set[str] = set()

    def add(self, entry: Entry) -> tuple[str, ...]:
        """The parts of the entry's path; ValueError says what is wrong with it, as the end of a sentence about it."""
        parts = tuple(entry.path.split("/"))
        problem = next((why for why in map(part_problem, parts) if why), "")
        if problem:
            raise ValueError(problem)
        if len(entry.path.encode()) > self._limits.folder_path_bytes:
            raise ValueError(f"has a path of more than {self._limits.folder_path_bytes} bytes inside its folder")
        if parts <= self._last or parts[:-1] not in self._folders or (entry.folder and entry.size):
            raise ValueError("is out of order")
        key = name_key(entry.path)
        if key in self._keys:
            raise ValueError(f"differs only by case or accents from another name in {posixpath.dirname(key) or 'it'}")
        self._keys.add(key)
        self._last = parts
        if entry.folder:
            self._folders.add(parts)
        return parts


def _block(name: bytes, size: int, kind: bytes) -> bytes:
    mode = b"0000700" if kind == b"5" else b"0000600"
    front = name.ljust(100, b"\0") + mode + b"\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"00000000000\0"
    back = kind + bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\0" * 2 + bytes(167)
    # Summed up with its own field as eight spaces.
    total = sum(front) + sum(back) + 8 * ord(" ")
    return front + b"%06o\0 " % total + back


def _pax_path(raw: bytes) -> bytes:
    """The pax record `<length> path=<raw>\\n`, whose length counts its own digits."""
    rest = len(b" path=\n") + len(raw)
    length = rest + len(str(rest))
    length = rest + len(str(length))
    return b"%d path=%s\n" % (length, raw)
