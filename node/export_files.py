"""Where an export in a file goes: a part file beside its name, which takes the name once all of it is on disk."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from node.core.errors import ErrorCode, MeshError
from node.core.export_record import Record
from node.platform import durability

MANIFEST_SUFFIX: Final = ".manifest.json"
_BUFFER: Final = 1 << 20
_NAME_BYTES: Final = 200
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


class TargetFile:
    """A file in the making, only this user's; counted and hashed as it is written. Also a binary file to write to."""

    def __init__(self, path: Path, *, force: bool) -> None:
        self.path = path
        self.bytes = 0
        self._force = force
        self._digest = sha256()
        self._stream: BinaryIO | None = None
        # Part of the name, so that what is left of it tells where it comes from; names are limited in bytes.
        named = path.name.encode("utf-8", "ignore")[:_NAME_BYTES].decode("utf-8", "ignore")
        self._part = path.with_name(f".{named}.{secrets.token_hex(4)}.part")

    @property
    def sha256(self) -> str:
        """Of all that was written so far, in hex."""
        return self._digest.hexdigest()

    @property
    def closed(self) -> bool:
        """Whether nothing can be written to it."""
        return self._stream is None

    def open(self) -> None:
        """Begins the part file. ALREADY_EXISTS when the name is taken and is not to be."""
        if not self._force and (self.path.exists() or self.path.is_symlink()):
            raise _taken(self.path)
        with _troubles(self.path):
            descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            self._stream = os.fdopen(descriptor, "wb", buffering=_BUFFER)

    def write(self, data: bytes) -> int:
        """More of it; UNAVAILABLE when the disk is full or gone."""
        if self._stream is None:
            raise ValueError("the export's file is closed")
        with _troubles(self.path):
            self._stream.write(data)
        self.bytes += len(data)
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Hands what was written to the system."""
        if self._stream is not None:
            with _troubles(self.path):
                self._stream.flush()

    def close(self) -> None:
        """Puts what was written on the disk; it has its name only after `publish`."""
        if (stream := self._stream) is None:
            return
        self._stream = None
        with _troubles(self.path), stream:
            stream.flush()
            durability.flush(stream.fileno())

    def publish(self) -> None:
        """Gives it its name. ALREADY_EXISTS when somebody took that meanwhile."""
        self.close()
        with _troubles(self.path):
            self._take_name()
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _take_name(self) -> None:
        if self._force:
            self._part.replace(self.path)
            return
        try:
            # Unlike a renaming, a link never takes a name that is taken.
            os.link(self._part, self.path)
        except FileExistsError as error:
            raise _taken(self.path) from error
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if self.path.exists():
                raise _taken(self.path) from error
            self._part.rename(self.path)
        else:
            self._part.unlink()

    def abandon(self) -> None:
        """Leaves nothing behind."""
        stream, self._stream = self._stream, None
        with suppress(OSError):
            if stream is not None:
                stream.close()
        self._part.unlink(missing_ok=True)


class InFiles:
    """What sinks have in common whose rows are in a file, with the manifest beside it."""

    warnings: tuple[str, ...] = ()

    def __init__(self, target: TargetFile, manifest: TargetFile) -> None:
        self._target = target
        self._manifest = manifest

    @property
    def written(self) -> int:
        """How much was written."""
        return self._target.bytes

    @property
    def sha256(self) -> str:
        """Of all of it, in hex."""
        return self._target.sha256

    async def open(self) -> None:
        """Begins both files."""
        self._target.open()
        self._manifest.open()

    async def finish(self) -> None:
        """Puts all rows on the disk."""
        self._target.close()

    async def publish(self, manifest: bytes) -> None:
        """Gives both files their names, the manifest's last."""
        self._manifest.write(manifest)
        self._manifest.close()
        self._target.publish()
        self._manifest.publish()

    async def abandon(self) -> None:
        """Leaves nothing behind."""
        self._target.abandon()
        self._manifest.abandon()


class FileSink(InFiles):
    """Rows as lines of a file."""

    def __init__(
        self, target: TargetFile, manifest: TargetFile, header: bytes, encode: Callable[[Record], bytes]
    ) -> None:
        super().__init__(target, manifest)
        self._header = header
        self._encode = encode

    async def open(self) -> None:
        """Begins both files, and writes what comes before the rows."""
        await super().open()
        self._target.write(self._header)

    async def add(self, record: Record) -> None:
        """Writes a row."""
        self._target.write(self._encode(record))


class StreamSink:
    """Rows as lines on standard output; the manifest is written only where one was asked for."""

    warnings: tuple[str, ...] = ()

    def __init__(self, manifest: TargetFile | None, header: bytes, encode: Callable[[Record], bytes]) -> None:
        self.written = 0
        self._digest = sha256()
        self._manifest = manifest
        self._header = header
        self._encode = encode

    @property
    def sha256(self) -> str:
        """Of all of it, in hex."""
        return self._digest.hexdigest()

    async def open(self) -> None:
        """Writes what comes before the rows."""
        if self._manifest is not None:
            self._manifest.open()
        self._write(self._header)

    async def add(self, record: Record) -> None:
        """Writes a row."""
        self._write(self._encode(record))

    async def finish(self) -> None:
        """Hands all rows to whoever reads them."""
        sys.stdout.buffer.flush()

    async def publish(self, manifest: bytes) -> None:
        """Writes the manifest."""
        publish_manifest(self._manifest, manifest)

    async def abandon(self) -> None:
        """Leaves no manifest behind."""
        if self._manifest is not None:
            self._manifest.abandon()

    def _write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        self.written += len(data)
        self._digest.update(data)


def publish_manifest(target: TargetFile | None, manifest: bytes) -> None:
    """Writes a manifest where one is wanted."""
    if target is not None:
        target.write(manifest)
        target.publish()


def _taken(path: Path) -> MeshError:
    return MeshError(
        ErrorCode.ALREADY_EXISTS,
        f"{path} is there already and was left as it is. Choose another name, or give --force.",
    )


@contextmanager
def _troubles(path: Path) -> Iterator[None]:
    """What the system says of a file, as a refusal."""
    try:
        yield
    except OSError as error:
        advice = (
            "Free some space, or write to another disk"
            if error.errno in _FULL
            else "Choose a folder that you may write to"
        )
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"{path} cannot be written: {error.strerror}. Nothing of the export was kept. {advice}.",
        ) from error
