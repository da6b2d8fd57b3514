"""Files of messages: copied once into a quarantine, named by their hash, and landed whole in the recipient's inbox."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from node.core import transfer
from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id
from node.core.limits import Limits
from node.core.transfer import Attachment, TextFile
from node.platform.disk import check_room, disk_error, flush_folder, private_folder
from node.platform.durability import flush
from node.platform.parcel import CHUNK_BYTES, Plan, Progress, Surveyor, Unpacker, Watch, pour
from node.platform.text_files import texts_of
from node.platform.walk import Reach

T = TypeVar("T")

_OBJECT: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Files:
    """The files of one node. One process alone may use a `home` at a time; the daemon's lock sees to that.

    `progress` hears of every file and chunk in a worker thread, and last of a message's folder before it appears.
    """

    def __init__(self, *, home: Path, limits: Limits, progress: Progress | None = None) -> None:
        self._home = home
        self._store = home / "files"
        self._inbox = home / "inbox"
        self._limits = limits
        self._progress = progress or _silent
        self._guard = threading.Lock()
        # Under the guard: part files at work, how many stages hold an object, and which call made an object new.
        self._parts: set[str] = set()
        self._pins: Counter[str] = Counter()
        self._fresh: dict[str, Watch] = {}
        self._landing = asyncio.Lock()

    async def stage(self, paths: Sequence[str], *, base: str, allowed: Sequence[str]) -> tuple[Attachment, ...]:
        """Copies of the files and folders at `paths` (absolute, or relative to `base`), all of them or none.

        `base` is the sender's folder, `allowed` what a person allows besides; both real paths. The refusal names each
        bad file: REACH when all that is wrong is that files lie outside (`details["outside"]`: their real paths),
        LIMIT before anything is copied, WRONG_STATE when one changed meanwhile, UNAVAILABLE when the disk is full.
        The copies stay until `release`, and after that as long as `sweep` is told that a message has them.
        """
        transfer.check_amounts(self._limits, files=len(paths), size=0, entries=0)
        if not paths:
            return ()
        wanted = tuple(paths)
        return await self._in_thread(lambda watch: self._stage(wanted, base, allowed, watch), self._withdraw)

    def release(self, attachments: Sequence[Attachment]) -> None:
        """The message of a `stage` is committed, or will never be: from now on a sweep decides. Once per `stage`."""
        with self._guard:
            self._unpin(attachments)
            for one in attachments:
                self._fresh.pop(one.sha256, None)

    async def land(self, session_id: str, message_id: str, attachments: Sequence[Attachment]) -> tuple[str, ...]:
        """The paths at which the files are, in order, whole and in the session's inbox; again is the same answer.

        ALREADY_EXISTS when the message has landed with other content, which stays; NOT_FOUND or TAMPERED when the
        quarantine has lost or changed a file, UNAVAILABLE when the disk is full. Then nothing has landed.
        """
        if not (is_id(session_id) and is_id(message_id)):
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "Files land under the ids of a session and of a message.")
        transfer.check_attachments(attachments)
        if not attachments:
            return ()
        folder = self._inbox / session_id / message_id
        async with self._landing:
            return await self._in_thread(lambda watch: self._land(folder, attachments, watch), _keep)

    async def texts(self, attachments: Sequence[Attachment]) -> AsyncGenerator[TextFile, None]:
        """The texts in them that a screen is to read, one at a time; NOT_FOUND when the quarantine has lost one."""
        found = texts_of(attachments, self.open, self._limits)
        try:
            while (one := await self._in_thread(lambda _: next(found, None), _keep)) is not None:
                yield one
        finally:
            found.close()

    def inbox(self, session_id: str) -> tuple[str, ...]:
        """The folder where files for that session land, once there is one: it may pass on what it received."""
        folder = self._inbox / session_id
        return (os.path.realpath(folder),) if is_id(session_id) and folder.is_dir() else ()

    def place(self, session_id: str, message_id: str, attachment: Attachment) -> str:
        """Where a file of a message lands, or has landed."""
        return str(_place(self._inbox / session_id / message_id, attachment, ()))

    # --- what comes from peers: implements ports_work.Quarantine ------------------------------------------------------

    def adopt(self, part: Path, sha256: str) -> None:
        """Names `part`, whose bytes have that hash and are on the disk, by its hash and pins it. Blocks."""
        with self._guard:
            private_folder(self._store)
            part.rename(self._store / sha256)
            flush_folder(self._store)
            self._pins[sha256] += 1
            self._fresh.pop(sha256, None)

    def pin(self, sha256: str) -> bool:
        """Keeps what has that hash until `unpin`, whoever refers to it; False when there is nothing. Blocks."""
        with self._guard:
            if not (self._store / sha256).is_file():
                return False
            self._pins[sha256] += 1
            self._fresh.pop(sha256, None)
        return True

    def unpin(self, sha256: str) -> None:
        """Takes one pin away."""
        with self._guard:
            self._pins[sha256] -= 1
            self._pins = +self._pins

    def open(self, sha256: str) -> int:
        """What has that hash, opened for reading; NOT_FOUND when there is nothing. Blocks."""
        try:
            return os.open(self._store / sha256, _OBJECT)
        except FileNotFoundError as error:
            message = "This node no longer keeps its copy of that file. Ask the sender to attach it again."
            raise MeshError(ErrorCode.NOT_FOUND, message) from error

    async def sweep(self, referenced: Collection[str]) -> int:
        """Removes the copies whose hash is not in `referenced` and what a crash left half-done; says how many."""
        kept = frozenset(referenced)
        async with self._landing:
            return await self._in_thread(lambda _: self._sweep(kept), _keep)

    async def _in_thread(self, work: Callable[[Watch], T], undo: Callable[[T, Watch], None]) -> T:
        """What `work` gives, done in a thread; when cancelled, it has ended and is undone before this returns."""
        watch = Watch(stop=threading.Event(), progress=self._progress)
        job = asyncio.get_running_loop().run_in_executor(None, work, watch)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            watch.stop.set()
            while not job.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait((job,))
            if job.exception() is None:
                undo(job.result(), watch)
            raise
        except OSError as error:
            raise disk_error(error, self._home) from error

    # --- staging ----------------------------------------------------------------------------------------------------

    def _stage(self, paths: Sequence[str], base: str, allowed: Sequence[str], watch: Watch) -> tuple[Attachment, ...]:
        private_folder(self._store)
        reach = Reach(sealed=self._home, base=base, allowed=allowed)
        plans = Surveyor(reach=reach, limits=self._limits, watch=watch).survey(paths)
        check_room(self._home, sum(plan.size for plan in plans), self._limits.spare_bytes)
        with contextlib.ExitStack() as leave:
            copied = [(self._part(leave), plan) for plan in plans]
            hashes = [self._copy(part, plan, reach, watch) for part, plan in copied]
            staged = tuple(_attachment(plan, sha256) for plan, sha256 in zip(plans, hashes, strict=True))
            self._publish([part for part, _ in copied], staged, watch)
        return staged

    def _part(self, leave: contextlib.ExitStack) -> Path:
        """A new empty part file, which is gone when `leave` is left."""
        with self._guard:
            opened, name = tempfile.mkstemp(suffix=".part", dir=self._store)
            os.close(opened)
            part = Path(name)
            self._parts.add(part.name)
        leave.callback(self._drop_part, part)
        return part

    def _drop_part(self, part: Path) -> None:
        with self._guard:
            part.unlink(missing_ok=True)
            self._parts.discard(part.name)

    def _copy(self, part: Path, plan: Plan, reach: Reach, watch: Watch) -> str:
        with part.open("wb", buffering=CHUNK_BYTES) as out:
            sha256 = pour(plan, reach=reach, watch=watch, out=out)
            out.flush()
            flush(out.fileno())
        return sha256

    def _publish(self, parts: Sequence[Path], staged: Sequence[Attachment], watch: Watch) -> None:
        """Names the parts by their hashes and pins them. What is there under such a name has the same bytes."""
        with self._guard, contextlib.ExitStack() as undo:
            made: set[str] = set()
            for part, one in zip(parts, staged, strict=True):
                target = self._store / one.sha256
                if not target.exists():
                    made.add(one.sha256)
                    undo.callback(target.unlink, missing_ok=True)
                part.rename(target)
            flush_folder(self._store)
            undo.pop_all()
            for one in staged:
                self._pins[one.sha256] += 1
                if one.sha256 in made:
                    self._fresh[one.sha256] = watch
                else:
                    self._fresh.pop(one.sha256, None)

    def _withdraw(self, staged: Sequence[Attachment], watch: Watch) -> None:
        """Takes back what a cancelled call published, but for what another call has staged since."""
        with self._guard:
            self._unpin(staged)
            for one in staged:
                if self._fresh.get(one.sha256) is watch:
                    del self._fresh[one.sha256]
                    (self._store / one.sha256).unlink(missing_ok=True)

    def _unpin(self, attachments: Sequence[Attachment]) -> None:
        self._pins.subtract(one.sha256 for one in attachments)
        self._pins = +self._pins

    def _sweep(self, referenced: frozenset[str]) -> int:
        removed = 0
        with self._guard:
            for found in self._store.glob("*"):
                stale = found.suffix == ".part" and found.name not in self._parts
                orphan = transfer.is_sha256(found.name) and found.name not in referenced | self._pins.keys()
                if stale or orphan:
                    found.unlink()
                    removed += 1
        for left in self._inbox.glob("*/*.new"):
            shutil.rmtree(left)
            removed += 1
        return removed

    # --- landing ----------------------------------------------------------------------------------------------------

    def _land(self, folder: Path, attachments: Sequence[Attachment], watch: Watch) -> tuple[str, ...]:
        paths = tuple(str(_place(folder, one, ())) for one in attachments)
        if os.path.lexists(folder):
            self._check_landed(folder, attachments, watch)
            return paths
        private_folder(self._inbox)
        private_folder(folder.parent)
        fresh = folder.with_name(f"{folder.name}.new")
        if os.path.lexists(fresh):
            shutil.rmtree(fresh)
        check_room(self._home, sum(one.size for one in attachments), self._limits.spare_bytes)
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, fresh, ignore_errors=True)
            fresh.mkdir(mode=0o700)
            for one in attachments:
                self._unpack(one, fresh, watch)
            flush_folder(fresh)
            watch.step(str(folder), 0)
            fresh.rename(folder)
            undo.pop_all()
        flush_folder(folder.parent)
        return paths

    def _check_landed(self, folder: Path, attachments: Sequence[Attachment], watch: Watch) -> None:
        """ALREADY_EXISTS unless what lies in `folder` is exactly `attachments`."""
        there: list[Attachment] = []
        with contextlib.suppress(MeshError):
            reach = Reach(sealed=self._home, base=os.path.realpath(folder), allowed=())
            surveyor = Surveyor(reach=reach, limits=self._limits, watch=watch)
            plans = surveyor.survey([one.name for one in attachments])
            there = [_attachment(plan, pour(plan, reach=reach, watch=watch, out=None)) for plan in plans]
        if there != list(attachments) or len(list(folder.iterdir())) != len(attachments):
            raise MeshError(
                ErrorCode.ALREADY_EXISTS,
                f"Files of message {folder.name} have landed before, and what lies there is not these. It was left "
                "alone; attach the files to a new message.",
                {"path": str(folder)},
            )

    def _unpack(self, one: Attachment, fresh: Path, watch: Watch) -> None:
        try:
            opened = os.open(self._store / one.sha256, _OBJECT)
        except FileNotFoundError as error:
            message = f"This node no longer keeps its copy of {one.name}. Ask the sender to attach it again."
            raise MeshError(ErrorCode.NOT_FOUND, message) from error
        with os.fdopen(opened, "rb", buffering=CHUNK_BYTES) as source:
            place = partial(_place, fresh, one)
            Unpacker(one, source=source, place=place, limits=self._limits, watch=watch).unpack()


def _place(folder: Path, one: Attachment, parts: tuple[str, ...]) -> Path:
    """Where `one`, or what has the names `parts` inside it, belongs below `folder`.

    The one function that makes a path of names which a peer or an agent chose; the names were checked, and are again.
    """
    for name in (one.name, *parts):
        problem = transfer.part_problem(name)
        if problem:
            raise ValueError(f"something in it {problem}")
    return folder.joinpath(one.name, *parts)


def _attachment(plan: Plan, sha256: str) -> Attachment:
    entries = len(plan.parts) if plan.folder else 0
    return Attachment(name=plan.name, sha256=sha256, size=plan.size, folder=plan.folder, entries=entries)


def _silent(_path: str, _done: int) -> None:
    """For whom no progress matters."""


def _keep(_result: object, _watch: Watch) -> None:
    """For work that is right as soon as it is done, whoever still waits for it."""
