"""Measures files and folders, copies them as one run of bytes, and unpacks such bytes again. All of it blocks."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from node.core import transfer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.transfer import Attachment, Entry, Problem
from node.platform import walk
from node.platform.walk import Reach, UnfitFileError, Walk

# Told the path at work and how many of its bytes are done; 0 before it is opened.
Progress = Callable[[str, int], None]
# Where the part of an attachment belongs that has these names inside it; () is the attachment itself.
Place = Callable[[tuple[str, ...]], Path]

CHUNK_BYTES: Final = 262_144
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class StoppedError(Exception):
    """The caller has given up waiting; what was begun is to be taken back."""


# Not compared by value: each one is also the mark of its call.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Watch:
    """How the work of one call tells its progress and hears that it is to stop."""

    stop: threading.Event
    progress: Progress

    def step(self, path: str, done: int) -> None:
        """Called between any two chunks; StoppedError when the caller has left."""
        self.progress(path, done)
        if self.stop.is_set():
            raise StoppedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to copy: the path to walk again, and what was found there when it was measured."""

    path: str
    seen: os.stat_result


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one attachment is made of: a file has one part, a folder any number; `size` bytes are to be stored."""

    name: str
    folder: bool
    parts: tuple[tuple[Entry, Source | None], ...]
    size: int


class Surveyor:
    """Looks at the files of one message before any is copied."""

    def __init__(self, *, reach: Reach, limits: Limits, watch: Watch) -> None:
        self._reach = reach
        self._limits = limits
        self._watch = watch
        self._problems: list[Problem] = []
        self._entries = 0

    def survey(self, paths: Sequence[str]) -> tuple[Plan, ...]:
        """A plan for each path; the refusal names every one that cannot go, the limits hold for all together."""
        plans: list[Plan] = []
        for path in paths:
            plan = self._plan(path, [plan.name for plan in plans])
            if plan is not None:
                plans.append(plan)
        if self._problems:
            raise transfer.refusal(self._problems)
        size = sum(plan.size for plan in plans)
        transfer.check_amounts(self._limits, files=len(plans), size=size, entries=self._entries)
        return tuple(plans)

    def _plan(self, path: str, taken: Sequence[str]) -> Plan | None:
        try:
            self._check_path(path)
            with self._reach.walk(path) as way:
                given = path.rstrip("/").rpartition("/")[2]
                raw = given if given not in {"", ".", ".."} else "".join(way.real[-1:])
                info, is_folder = way.info, way.is_folder
        except UnfitFileError as unfit:
            self._problems.append(_problem(path, unfit))
            return None
        name = transfer.safe_name(raw, taken)
        if not is_folder:
            entry = Entry(path="", size=info.st_size, folder=False)
            part = (entry, Source(path=path, seen=info))
            return Plan(name=name, folder=False, parts=(part,), size=info.st_size)
        parts = tuple(self._inside(path))
        return Plan(name=name, folder=True, parts=parts, size=transfer.archive_size([entry for entry, _ in parts]))

    def _check_path(self, path: str) -> None:
        if not path.strip() or "\0" in path:
            raise UnfitFileError("names no file")
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise UnfitFileError("is not UTF-8") from error
        if len(path) > self._limits.path_chars:
            raise UnfitFileError(f"is a path of more than path_chars ({self._limits.path_chars}) characters")

    def _inside(self, top: str) -> Iterator[tuple[Entry, Source | None]]:
        """What is in the folder `top`, in the order of its archive. A link is what it leads to, if that may go too."""
        members = transfer.Members(self._limits)
        # The path inside `top`, and the folders on the way to it: a link to one of those would never end.
        pending: list[tuple[str, tuple[walk.Identity, ...]]] = [("", ())]
        while pending and len(self._problems) <= transfer.NAMED_AT_ONCE:
            inside, above = pending.pop()
            path = f"{top.rstrip('/')}/{inside}"
            self._watch.step(path, 0)
            try:
                with self._reach.walk(path) as way:
                    size = 0 if way.is_folder else way.info.st_size
                    entry = Entry(path=inside, size=size, folder=way.is_folder)
                    if inside:
                        members.add(entry)
                    if way.is_folder:
                        if way.ids[-1] in above:
                            raise UnfitFileError("is a link to a folder that it is itself in")
                        names = self._names(way, len(pending))
                        pending += [(f"{inside}/{name}".lstrip("/"), (*above, way.ids[-1])) for name in names]
                    source = None if way.is_folder else Source(path=path, seen=way.info)
            except UnfitFileError as unfit:
                self._problems.append(_problem(path, unfit))
                continue
            except ValueError as wrong:
                self._problems.append(Problem(path=path, why=str(wrong), code=ErrorCode.INVALID_ARGUMENT))
                continue
            if inside:
                self._entries += 1
                yield entry, source

    def _names(self, way: Walk, pending: int) -> list[str]:
        """The names in the folder at the end of `way`, last one first, read no further than folder_entries allows."""
        names: list[str] = []
        opened = way.open()
        try:
            with os.scandir(opened) as found:
                for one in found:
                    names.append(one.name)
                    entries = self._entries + pending + len(names)
                    transfer.check_amounts(self._limits, files=0, size=0, entries=entries)
        except OSError as error:
            raise walk.unreadable(error) from error
        finally:
            os.close(opened)
        return sorted(names, reverse=True)


def pour(plan: Plan, *, reach: Reach, watch: Watch, out: BinaryIO | None) -> str:
    """Writes the bytes of `plan` to `out` and gives their SHA-256; WRONG_STATE when a file is not as measured."""
    sha256 = hashlib.sha256()

    def write(data: bytes) -> None:
        sha256.update(data)
        if out is not None:
            out.write(data)

    for entry, source in plan.parts:
        if plan.folder:
            write(transfer.header(entry))
        if source is not None:
            try:
                _pour_file(source, reach, watch, write)
            except UnfitFileError as unfit:
                raise transfer.refusal([_problem(source.path, unfit)]) from unfit
        if plan.folder:
            write(transfer.padding(entry.size))
    if plan.folder:
        write(transfer.ARCHIVE_END)
    return sha256.hexdigest()


def _pour_file(source: Source, reach: Reach, watch: Watch, write: Callable[[bytes], None]) -> None:
    """The bytes of a file, and never more than one beyond what was measured: it tells a file that grows."""
    watch.step(source.path, 0)
    with reach.walk(source.path) as way:
        if not walk.same_file(way.info, source.seen):
            raise walk.changed()
        opened = way.open()
        try:
            left = source.seen.st_size
            while chunk := _read(opened, min(CHUNK_BYTES, left + 1)):
                left -= len(chunk)
                write(chunk)
                watch.step(source.path, source.seen.st_size - left)
            if left or not way.still_there():
                raise walk.changed()
        finally:
            os.close(opened)


def _read(opened: int, size: int) -> bytes:
    # Only this call: an error in writing is the quarantine's, not the file's.
    try:
        return os.read(opened, size)
    except OSError as error:
        raise walk.unreadable(error) from error


class Unpacker:
    """Reads the stored bytes of attachment `one` once, from first to last, and puts what they hold where it belongs."""

    def __init__(self, one: Attachment, *, source: BinaryIO, place: Place, limits: Limits, watch: Watch) -> None:
        self._one = one
        self._source = source
        self._place = place
        self._limits = limits
        self._watch = watch
        self._sha256 = hashlib.sha256()
        self._done = 0
        # Folders before what is in them.
        self._made: list[Path] = []

    def unpack(self) -> None:
        """Files 0600, folders 0700, each on the disk; TAMPERED at the first byte that is not as it was stored."""
        try:
            if self._one.folder:
                self._unpack_folder()
            else:
                self._write((), self._one.size)
            if self._source.read(1) or self._sha256.hexdigest() != self._one.sha256:
                raise ValueError("it has another hash")
        except ValueError as error:
            raise MeshError(
                ErrorCode.TAMPERED,
                f"The copy of {self._one.name} that this node keeps is not what was handed in ({error}). Nothing was "
                "landed. Ask the sender to attach it again.",
            ) from error
        # Only now: a system that has many files to write does it far faster than one after the other.
        for made in reversed(self._made):
            self._watch.step(str(made), self._done)
            _sync(made)

    def _unpack_folder(self) -> None:
        self._make_folder(())
        members = transfer.Members(self._limits)
        for _ in range(self._one.entries):
            first = self._take(transfer.BLOCK_BYTES)
            head = first + self._take(transfer.header_size(first, self._limits) - len(first))
            entry = transfer.entry_of(head)
            parts = members.add(entry)
            if entry.folder:
                self._make_folder(parts)
            else:
                self._write(parts, entry.size)
                self._expect(transfer.padding(entry.size))
        self._expect(transfer.ARCHIVE_END)

    def _make_folder(self, parts: tuple[str, ...]) -> None:
        target = self._place(parts)
        target.mkdir(mode=0o700)
        self._made.append(target)

    def _write(self, parts: tuple[str, ...], size: int) -> None:
        target = self._place(parts)
        with os.fdopen(os.open(target, _MAKE, 0o600), "wb") as out:
            self._watch.step(str(target), self._done)
            while size:
                chunk = self._take(min(size, CHUNK_BYTES))
                out.write(chunk)
                size -= len(chunk)
                self._watch.step(str(target), self._done)
        self._made.append(target)

    def _take(self, size: int) -> bytes:
        data = self._source.read(size)
        if len(data) != size:
            raise ValueError("it ends too early")
        self._sha256.update(data)
        self._done += size
        return data

    def _expect(self, data: bytes) -> None:
        if self._take(len(data)) != data:
            raise ValueError("it is no archive that a node has made")


def _sync(made: Path) -> None:
    """Returns once a file or folder is with the drive; only `flush` also empties the cache of a drive on macOS."""
    opened = os.open(made, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _problem(path: str, unfit: UnfitFileError) -> Problem:
    return Problem(path=path, why=unfit.why, code=unfit.code, outside=unfit.outside)
