"""Opens what a session may hand on, name by name from the root, so that no link and no race leads anywhere else."""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.escape import escape

_LINKS_FOLLOWED: Final = 32
# To pass through a folder needs less than to read it, where the system has a flag for that.
_PASS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Should a pipe or a terminal take the file's place in the last moment, it neither blocks nor becomes ours.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS: Final = {
    stat.S_IFIFO: "is a FIFO, not a file",
    stat.S_IFSOCK: "is a socket, not a file",
    stat.S_IFCHR: "is a device, not a file",
    stat.S_IFBLK: "is a device, not a file",
}

Identity = tuple[int, int]


class UnfitFileError(Exception):
    """A file cannot go. `why` ends a sentence about it; `outside` is its real path when a person may allow it."""

    def __init__(self, why: str, code: ErrorCode = ErrorCode.INVALID_ARGUMENT, outside: str = "") -> None:
        super().__init__(why)
        self.why, self.code, self.outside = why, code, outside


def changed() -> UnfitFileError:
    """A file that is not what it was a moment ago."""
    return UnfitFileError("changed while it was read; wait until nothing writes to it", ErrorCode.WRONG_STATE)


def unreadable(error: OSError) -> UnfitFileError:
    """A file that the system does not let this node read."""
    if isinstance(error, FileNotFoundError):
        return UnfitFileError("was not found (`~` and variables are not expanded)", ErrorCode.NOT_FOUND)
    return UnfitFileError(f"cannot be read ({error.strerror})")


def same_file(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both are of one file which nobody has written to in between."""
    return (_id(one), stat.S_IFMT(one.st_mode), one.st_size, one.st_mtime_ns) == (
        _id(other), stat.S_IFMT(other.st_mode), other.st_size, other.st_mtime_ns,
    )  # fmt: skip


class Walk:
    """The way along an absolute path; links are read and walked here, never followed by the system.

    So `real` is free of links, and `ids` proves each step of it. `info` is of what the last name stands for.
    """

    def __init__(self, path: str, *, follow: bool) -> None:
        self.real: list[str] = []
        self._left = path.split("/")[::-1]
        self._links = _LINKS_FOLLOWED if follow else 0
        self._here = os.open("/", _PASS)
        self.info = os.fstat(self._here)
        self.ids: list[Identity] = [_id(self.info)]

    def __enter__(self) -> Walk:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._here)

    @property
    def is_folder(self) -> bool:
        """Whether the way has led to a folder."""
        return stat.S_ISDIR(self.info.st_mode)

    @property
    def target(self) -> str:
        """Where the way leads, free of links as far as it was walked."""
        return posixpath.normpath("/" + "/".join([*self.real, *reversed(self._left)]))

    def go(self) -> None:
        """Walks to the end; OSError with `real` and `ids` standing where it stopped."""
        while self._left:
            name = self._left[-1]
            if name in {"", "."}:
                self._left.pop()
            elif not self.is_folder:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            elif name == "..":
                self._up()
            else:
                self._down(name)

    def open(self) -> int:
        """A descriptor to read the file or folder at the end; UnfitFileError when it is another one by now."""
        try:
            if self.is_folder:
                return os.open(".", _LIST, dir_fd=self._here)
            opened = os.open(self.real[-1], _READ, dir_fd=self._here)
        except OSError as error:
            # ELOOP and ENXIO: a link or a pipe lies where the file was.
            raise changed() if error.errno in {errno.ELOOP, errno.ENXIO} else unreadable(error) from error
        if same_file(os.fstat(opened), self.info):
            return opened
        os.close(opened)
        raise changed()

    def still_there(self) -> bool:
        """Whether the last name still stands for the file that was found, unwritten."""
        try:
            return same_file(os.stat(self.real[-1], dir_fd=self._here, follow_symlinks=False), self.info)
        except OSError:
            return False

    def _down(self, name: str) -> None:
        info = os.stat(name, dir_fd=self._here, follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            self._link(name)
            return
        if stat.S_ISDIR(info.st_mode):
            self._move(os.open(name, _PASS, dir_fd=self._here))
            info = os.fstat(self._here)
        self._left.pop()
        self.real.append(name)
        self.ids.append(_id(info))
        self.info = info

    def _link(self, name: str) -> None:
        if self._links == 0:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._links -= 1
        target = os.readlink(name, dir_fd=self._here)
        self._left[-1:] = target.split("/")[::-1]
        if target.startswith("/"):
            self._move(os.open("/", _PASS))
            self.info = os.fstat(self._here)
            del self.real[:], self.ids[1:]

    def _up(self) -> None:
        if self.real:
            self._move(os.open("..", _PASS, dir_fd=self._here))
            self.info = os.fstat(self._here)
            del self.real[-1], self.ids[-1]
            if self.ids[-1] != _id(self.info):
                raise OSError(errno.ESTALE, "a folder above it was moved meanwhile")
        self._left.pop()

    def _move(self, there: int) -> None:
        os.close(self._here)
        self._here = there


class Reach:
    """What really lies in the folder `base` or in (or is) one of `allowed`, but never what lies in `sealed`.

    All are real paths: one that leads through a link by now opens nothing. `base` and `allowed` may be inside `sealed`.
    Folders are told by device and inode, so a path spelled in another case is the same.
    """

    def __init__(self, *, sealed: Path, base: str, allowed: Sequence[str]) -> None:
        self._sealed = _id(sealed.stat())
        self._base = base
        self._texts = tuple(posixpath.join(posixpath.normpath(root), "") for root in (base, *allowed))
        try:
            self._roots = {_find(base)}
        except OSError as error:
            message = f"The session's folder {base} cannot be entered ({error.strerror}), so no file can come from it."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        for root in allowed:
            try:
                self._roots.add(_find(root))
            except OSError:
                # Gone, or a link took its place: then it opens nothing, and the file itself says so.
                continue

    @contextmanager
    def walk(self, path: str) -> Generator[Walk]:
        """At the end of the way to the regular file or folder `path`; UnfitFileError says why it cannot go.

        Nothing is told of what lies outside, not even whether it is there.
        """
        with Walk(posixpath.join(self._base, path), follow=True) as walk:
            try:
                walk.go()
            except OSError as error:
                if not any(f"{walk.target}/".startswith(root) for root in self._texts):
                    self._check(walk)
                raise unreadable(error) from error
            self._check(walk)
            kind = stat.S_IFMT(walk.info.st_mode)
            if kind not in {stat.S_IFREG, stat.S_IFDIR}:
                raise UnfitFileError(_KINDS.get(kind, "is not a file"))
            yield walk

    def _check(self, walk: Walk) -> None:
        deepest = max((at for at, one in enumerate(walk.ids) if one in self._roots), default=-1)
        if self._sealed in walk.ids and walk.ids.index(self._sealed) >= deepest:
            raise UnfitFileError("belongs to the node itself and is never passed on")
        if deepest >= 0:
            return
        try:
            walk.target.encode()
        except UnicodeEncodeError as error:
            raise UnfitFileError("lies outside the session's folder, at a path that is not UTF-8") from error
        why = f"lies outside the session's folder, at {escape(walk.target)}"
        raise UnfitFileError(why, ErrorCode.REACH, walk.target)


def _find(path: str) -> Identity:
    with Walk(path, follow=False) as walk:
        walk.go()
        return walk.ids[-1]


def _id(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino
