"""One content on its way in: chunks come in the loop, and threads write, hash and flush them behind it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

from node.core.errors import ErrorCode, MeshError
from node.platform.disk import disk_error
from node.platform.parcel import StoppedError
from node.platform.part_file import ALIGNED, PartFile

T = TypeVar("T")

# Handed to threads at once. What they are not ready for is gathered meanwhile, so that the network need not wait.
_BATCH_BYTES: Final = 2_097_152
_GATHERED_BYTES: Final = 6_291_456


class Books(Protocol):
    """Hears in the loop what became of an intake: one of these, once."""

    def paused(self, offset: int) -> None:
        """So many bytes are durable."""
        ...

    def sealed(self) -> None:
        """All of it is there under its hash."""
        ...

    def spoilt(self) -> None:
        """It had another hash, and is gone."""
        ...


async def finished(job: asyncio.Future[T]) -> T:
    """What a thread's work comes to; its end is waited for also when the caller is cancelled meanwhile."""
    cancelled: asyncio.CancelledError | None = None
    while not job.done():
        try:
            await asyncio.wait((job,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # Looked at, or it would be called lost.
        job.exception()
        raise cancelled
    return job.result()


class Intake:
    """Implements ports_files.Intake: `size` bytes of `sha256`, from `offset` on, for the part file at `path`.

    `step` is as for PartFile. `seal` is called in a thread once the part is whole and on the disk.
    """

    def __init__(
        self,
        *,
        path: Path,
        home: Path,
        sha256: str,
        size: int,
        offset: int,
        step: int,
        seal: Callable[[], None],
        books: Books,
    ) -> None:
        self._path = path
        self._home = home
        self._sha256 = sha256
        self._size = size
        self._step = step
        self._seal = seal
        self._books = books
        # What is durable, and what has come.
        self._offset = offset
        self._taken = offset
        self._batch: deque[bytes] = deque()
        self._gathered = 0
        self._part: PartFile | None = None
        self._jobs: tuple[asyncio.Future[None], ...] = ()
        self._flushing: asyncio.Future[None] | None = None
        # A multiple of the step was passed since the last flush began.
        self._passed = False
        self._closed = False
        self._over = False
        self._stop = threading.Event()
        # Between the call that brings the bytes and another one that takes over.
        self._turn = asyncio.Lock()

    @property
    def left(self) -> int:
        """Bytes that are still to come."""
        return self._size - self._taken

    async def start(self) -> None:
        """Opens the part, and hashes what is there."""
        async with self._turn:
            self._check_open()
            await self._heard(finished(self._begin(self._open)))

    async def write(self, data: bytes) -> None:
        """The next bytes; INVALID_ARGUMENT for more than was said, WRONG_STATE once another call has taken it over."""
        self._check_open()
        if len(data) > self.left:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                f"More came than the {self._size:,} bytes that were said. What is beyond them was not kept.",
            )
        self._taken += len(data)
        self._batch.append(data)
        self._gathered += len(data)
        busy = any(not job.done() for job in self._jobs)
        if self._gathered >= (_GATHERED_BYTES if busy else _BATCH_BYTES):
            async with self._turn:
                self._check_open()
                await self._heard(self._hand_over())

    async def finish(self) -> None:
        """All has come and is on the disk under its hash; TAMPERED when it has another one, and nothing is kept."""
        async with self._turn:
            self._check_open()
            if self.left:
                raise MeshError(
                    ErrorCode.INVALID_ARGUMENT,
                    f"Of {self._size:,} bytes that were said {self.left:,} did not come. What came is kept.",
                )
            while self._batch:
                await self._heard(self._hand_over())
            await self._heard(self._quiet())
            fits: list[bool] = []
            try:
                await self._heard(finished(self._begin(lambda: fits.append(self._settle()))))
            finally:
                if fits:
                    self._closed = self._over = True
                    (self._books.sealed if fits[0] else self._books.spoilt)()
        if not fits[0]:
            raise MeshError(
                ErrorCode.TAMPERED,
                "What came has another hash than was said. Nothing of it was kept; send it again from its beginning.",
            )

    async def close(self) -> None:
        """Keeps what came so far, durably, unless it is finished; once or more often."""
        self._closed = True
        self._stop.set()
        async with self._turn:
            if self._over:
                return
            self._over = True
            try:
                jobs = (*self._jobs, *(() if self._flushing is None else (self._flushing,)))
                await finished(asyncio.gather(*jobs, return_exceptions=True))
            finally:
                try:
                    await self._heard(finished(self._begin(self._leave)))
                finally:
                    self._books.paused(self._offset)

    # --- in the loop --------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                "Another call has taken this content over, or has brought it. What came is kept; offer it again.",
            )

    async def _hand_over(self) -> None:
        """Begins to write what was gathered, once what was handed over before is written."""
        await self._written()
        part, batch, size = self._opened(), list[bytes](), 0
        while self._batch and size < _BATCH_BYTES:
            batch.append(self._batch.popleft())
            size += len(batch[-1])
        self._gathered -= size
        before, after = part.written, part.taken + size
        if after // self._step > before // self._step:
            # Not past the next multiple before the one behind it is flushed.
            if self._flushing is not None:
                await finished(self._flushing)
            self._passed = True
        self._jobs = (self._begin(lambda: part.put(batch)), self._begin(lambda: part.hash(batch)))

    async def _written(self) -> None:
        jobs, self._jobs = self._jobs, ()
        await finished(asyncio.gather(*jobs))
        if self._passed:
            self._passed = False
            self._flushing = self._begin(self._opened().flush)

    async def _quiet(self) -> None:
        await self._written()
        if self._flushing is not None:
            await finished(self._flushing)

    def _opened(self) -> PartFile:
        if self._part is None:
            raise MeshError(ErrorCode.INTERNAL, "A part was written to before it was opened.")
        return self._part

    def _begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(None, work)

    async def _heard(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except OSError as error:
            raise disk_error(error, self._home, "what came is kept as far as it was written") from error
        except StoppedError:
            self._check_open()
            raise

    # --- in threads ---------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._part = PartFile(self._path, offset=self._offset, stop=self._stop)

    def _settle(self) -> bool:
        """Makes the whole part content, or removes it; whether it was what was said."""
        part = self._opened()
        fits = part.sha256() == self._sha256
        if fits:
            part.drain()
            part.flush()
            self._seal()
        else:
            self._path.unlink()
        part.close()
        return fits

    def _leave(self) -> None:
        """What was gathered goes to the disk as far as there is room, and all of it to the medium."""
        if self._part is None:
            return
        try:
            try:
                # A multiple of the step may lie between what is flushed and what was gathered.
                self._part.flush()
                self._part.put(tuple(self._batch))
                self._part.drain()
            finally:
                self._part.flush()
                self._offset = self._part.written - self._part.written % ALIGNED
        finally:
            self._part.close()
