"""Programs that drivers run, bounded in time and output, and files that appear whole or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from node.core.errors import ErrorCode, MeshError

COMPLAINT_CHARS: Final = 400
_COMPLAINT_BYTES: Final = 4_096
_CHUNK_BYTES: Final = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a program ended: its exit status (negative: a signal), and the printable end of its complaint."""

    status: int
    complaint: str

    @property
    def why(self) -> str:
        """The reason in a few words."""
        ended = f"exit status {self.status}" if self.status >= 0 else f"signal {-self.status}"
        return f"{self.complaint} ({ended})" if self.complaint else ended


async def run(
    argv: Sequence[str],
    *,
    what: str,
    seconds: float,
    env: Mapping[str, str] | None = None,
    feed: BinaryIO | None = None,
    into: BinaryIO | None = None,
    most_bytes: int = 0,
) -> Outcome:
    """Run `argv`, its input `feed` or nothing, its output written to `into` or dropped; `what` names it in refusals.

    UNAVAILABLE when it cannot be started or takes longer than `seconds`, LIMIT when it writes over `most_bytes`: then
    it is killed with its process group. What it leaves running after an ordinary end stays.
    """
    # Not a pipe: what a start leaves running may keep it open, and would die of one that is closed.
    with tempfile.TemporaryFile() as complaints:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=feed or asyncio.subprocess.DEVNULL, stderr=complaints, env=env, start_new_session=True,
                stdout=asyncio.subprocess.DEVNULL if into is None else asyncio.subprocess.PIPE,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            message = f"{what} could not be started: {error}. Check that the program is on the node's PATH."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        try:
            async with asyncio.timeout(seconds):
                if into is not None and process.stdout is not None:
                    await _pour(process.stdout, into, what, most_bytes)
                status = await process.wait()
        except TimeoutError as error:
            message = f"{what} took longer than {seconds:g} s and was stopped. Try it by hand, or allow it more time."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        size = complaints.seek(0, os.SEEK_END)
        complaints.seek(max(0, size - _COMPLAINT_BYTES))
        return Outcome(status=status, complaint=_printable(complaints.read()))


async def _pour(source: asyncio.StreamReader, into: BinaryIO, what: str, most_bytes: int) -> None:
    total = 0
    while chunk := await source.read(_CHUNK_BYTES):
        total += len(chunk)
        if total > most_bytes:
            raise _too_large(what, most_bytes)
        await asyncio.to_thread(into.write, chunk)


def _printable(raw: bytes) -> str:
    """What a program said, on one line and without anything a terminal would obey."""
    text = " ".join(raw.decode("utf-8", "replace").split())
    shown = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[-COMPLAINT_CHARS:])
    return "".join(shown)


@contextlib.contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A new file (0600) beside `target`, which takes its place once the block has ended well, and else is removed."""
    descriptor, name = tempfile.mkstemp(prefix=".arriving-", dir=target.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def copied(source: Path, target: Path, most_bytes: int) -> None:
    """Copy one regular file to `target`, whole or not at all; NOT_FOUND, or LIMIT when it has over `most_bytes`."""
    with readable(source, most_bytes) as file, appearing(target) as part, part.open("wb") as copy:
        shutil.copyfileobj(file, copy)


@contextlib.contextmanager
def readable(source: Path, most_bytes: int) -> Iterator[BinaryIO]:
    """A regular file, open; NOT_FOUND when it is none or cannot be read, LIMIT when it has over `most_bytes`."""
    try:
        # A FIFO would hold up whoever opens it.
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        message = f"The file {source} cannot be read ({error.strerror}). Name another one."
        raise MeshError(ErrorCode.NOT_FOUND, message) from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise MeshError(ErrorCode.NOT_FOUND, f"{source} is not a file. Name a file.")
    with os.fdopen(descriptor, "rb") as file:
        if found.st_size > most_bytes:
            raise _too_large(f"The file {source}", most_bytes)
        yield file


def _too_large(what: str, most_bytes: int) -> MeshError:
    message = (
        f"{what} has more than {most_bytes} bytes, the limit for the files of a message. Copy less, or raise "
        "`message_bytes` under [limits] in config.toml."
    )
    return MeshError(ErrorCode.LIMIT, message, {"limit": most_bytes})
