"""Content that comes from other nodes, by pieces: kept under its sender until it is whole, then under its hash.

A peer learns nothing of what else is here: how far some content got is told to whoever sent it, of its own sending.
docs/adr/0041-file-channel.md has the rest.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.node_id import is_node_id
from node.core.transfer import Attachment, is_sha256
from node.intake import Intake, finished
from node.platform.disk import check_room, disk_error, flush_folder, private_folder
from node.platform.part_file import ALIGNED, durable_length
from node.ports import Clock
from node.ports_files import Standing
from node.ports_work import Quarantine

T = TypeVar("T")

# Of one message on the wire.
CHUNK_BYTES: Final = 524_288
# Read by a thread at once.
_BATCH_BYTES: Final = 4_194_304
# Of limits.parcel_sync_bytes: two may not be flushed yet, and twice as much may be under way.
_STEPS: Final = 6
# Less than what is written at once would tell nothing.
_LEAST_STEP_BYTES: Final = 4_194_304
_SECOND_US: Final = 1_000_000
_NAME: Final = re.compile(r"(?P<sha256>[0-9a-f]{64})\.(?P<size>0|[1-9][0-9]{0,18})\.(?P<state>part|kept|claimed)")


class State(StrEnum):
    """A part is not whole; what is kept waits for its message; what is claimed is kept by a message."""

    PART = "part"
    KEPT = "kept"
    CLAIMED = "claimed"


@dataclass(slots=True, kw_only=True, eq=False)
class _Parcel:
    """What one peer sent, or is sending, of one content. It hears of its intake as intake.Books.

    `listed` is the table of its peer's parcels, by hash.
    """

    folder: Path
    sha256: str
    size: int
    state: State
    offset: int
    changed_us: int
    listed: dict[str, _Parcel]
    intake: Intake | None = None

    @property
    def path(self) -> Path:
        """The part, or the mark that says that the peer sent all of it."""
        return self.path_as(self.state)

    def path_as(self, state: State) -> Path:
        """The same in another state."""
        return self.folder / f"{self.sha256}.{self.size}.{state.value}"

    def paused(self, offset: int) -> None:
        """So many bytes are durable."""
        self.intake, self.offset = None, offset

    def sealed(self) -> None:
        """All of it is there under its hash."""
        self.intake, self.offset, self.state = None, self.size, State.KEPT

    def spoilt(self) -> None:
        """It had another hash, and is gone."""
        self.intake, self.offset = None, 0
        self.listed.pop(self.sha256, None)


class Parcels:
    """Implements ports_files.Parcels and ports_files.Claims. `load` comes first, before the quarantine is swept."""

    def __init__(self, *, home: Path, limits: Limits, clock: Clock, quarantine: Quarantine) -> None:
        self._home = home
        self._top = home / "parcels"
        self._limits = limits
        self._clock = clock
        self._quarantine = quarantine
        self._step = max(_LEAST_STEP_BYTES, limits.parcel_sync_bytes // _STEPS // ALIGNED * ALIGNED)
        self._peers: dict[str, dict[str, _Parcel]] = {}
        # Held while it is decided what becomes of a peer's parcel, not while bytes move.
        self._books: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def load(self) -> None:
        """Takes up what an earlier run left."""
        await self._in_thread(self._take_up)

    async def offer(self, peer: str, sha256: str, size: int) -> Standing:
        """How far it got; UNAVAILABLE without room for the rest, LIMIT for too much. A push at work ends."""
        self._check(peer, sha256, size)
        async with self._books_of(peer):
            parcel = await self._standing(peer, sha256, size)
            if parcel is not None and parcel.state is not State.PART:
                return Standing(offset=size, complete=True)
            offset = parcel.offset if parcel is not None else 0
            await self._check_room(size - offset)
            return Standing(offset=offset, complete=False)

    async def receive(self, peer: str, sha256: str, size: int, offset: int) -> Intake:
        """Goes on at `offset`, which `offer` gave; WRONG_STATE when it stands otherwise by now."""
        self._check(peer, sha256, size)
        async with self._books_of(peer):
            parcel = await self._standing(peer, sha256, size)
            whole = parcel is not None and parcel.state is not State.PART
            if whole or offset != (parcel.offset if parcel is not None else 0):
                raise MeshError(
                    ErrorCode.WRONG_STATE, "That content stands otherwise by now. Offer it again, and go on from there."
                )
            await self._check_room(size - offset)
            if parcel is None:
                await self._make_way(peer, size)
                parcel = await self._new(peer, sha256, size)
            intake = Intake(
                path=parcel.path,
                home=self._home,
                sha256=sha256,
                size=size,
                offset=offset,
                step=self._step,
                seal=partial(self._seal, parcel),
                books=parcel,
            )
            parcel.intake = intake
        async with AsyncExitStack() as undo:
            undo.push_async_callback(intake.close)
            await intake.start()
            undo.pop_all()
        return intake

    async def missing(self, peer: str, attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
        """Those of which the peer has not sent all; the others stay here until they are claimed."""
        async with self._books_of(peer):
            return tuple([one for one in attachments if not await self._sent(peer, one)])

    async def claim(self, peer: str, attachments: Sequence[Attachment]) -> None:
        """Their message is recorded: from now on that keeps them."""
        async with self._books_of(peer):
            for one in attachments:
                parcel = self._peers.get(peer, {}).get(one.sha256)
                if parcel is not None and parcel.state is State.KEPT:
                    await self._turn(parcel, State.CLAIMED)
                    self._quarantine.unpin(parcel.sha256)

    async def read(self, attachment: Attachment, offset: int) -> AsyncGenerator[bytes, None]:
        """The bytes from `offset` on, in pieces of CHUNK_BYTES at most; NOT_FOUND when they are not here."""
        loop = asyncio.get_running_loop()
        opened = await self._in_thread(lambda: self._quarantine.open(attachment.sha256))
        job: asyncio.Future[list[bytes]] | None = None
        try:
            while offset < attachment.size:
                job = job or loop.run_in_executor(None, _read, opened, offset, attachment.size)
                pieces = await finished(job)
                offset += sum(map(len, pieces))
                job = loop.run_in_executor(None, _read, opened, offset, attachment.size)
                if not pieces:
                    raise MeshError(
                        ErrorCode.TAMPERED, "This node's copy of that file is shorter than what was handed in."
                    )
                for piece in pieces:
                    yield piece
        finally:
            if job is not None:
                await finished(job)
            os.close(opened)

    async def sweep(self) -> int:
        """Gives up what nobody has asked for in limits.parcel_keep_s; says how many."""
        before = self._clock.wall_us() - self._limits.parcel_keep_s * _SECOND_US
        given_up = 0
        for peer in tuple(self._peers):
            async with self._books_of(peer):
                mine = self._peers.get(peer, {}).values()
                old = [parcel for parcel in mine if parcel.changed_us < before and parcel.intake is None]
                for parcel in old:
                    await self._forget(parcel)
            given_up += len(old)
        return given_up

    # --- the books ----------------------------------------------------------------------------------------------------

    def _books_of(self, peer: str) -> asyncio.Lock:
        return self._books.setdefault(peer, asyncio.Lock())

    def _check(self, peer: str, sha256: str, size: int) -> None:
        if not is_node_id(peer) or not is_sha256(sha256) or size < 0:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "Content has a SHA-256 in hex and a size. Nothing was done.")
        limit = self._limits.message_bytes
        if size > limit:
            raise MeshError(
                ErrorCode.LIMIT,
                f"The content has {size:,} bytes; the limit message_bytes of this node is {limit:,}. Nothing was "
                "taken. Attach less; the person at this node can raise the limit in config.toml.",
                {"limit": limit, "given": size, "name": "message_bytes"},
            )

    async def _standing(self, peer: str, sha256: str, size: int) -> _Parcel | None:
        """What is there of it, at rest."""
        parcel = self._peers.get(peer, {}).get(sha256)
        if parcel is not None and parcel.intake is not None:
            await parcel.intake.close()
            # It may have been finished, or been nothing.
            parcel = self._peers.get(peer, {}).get(sha256)
        if parcel is None:
            return None
        if parcel.size != size or not await self._still_there(parcel):
            await self._forget(parcel)
            return None
        parcel.changed_us = self._clock.wall_us()
        return parcel

    async def _sent(self, peer: str, one: Attachment) -> bool:
        parcel = self._peers.get(peer, {}).get(one.sha256)
        if parcel is None or parcel.size != one.size or parcel.state is State.PART:
            return False
        return await self._still_there(parcel)

    async def _still_there(self, parcel: _Parcel) -> bool:
        """False for content that went; what a message alone kept is kept for the peer again."""
        if parcel.state is State.CLAIMED and await self._in_thread(lambda: self._quarantine.pin(parcel.sha256)):
            await self._turn(parcel, State.KEPT)
        return parcel.state is not State.CLAIMED

    async def _make_way(self, peer: str, size: int) -> None:
        """Gives up the peer's oldest, so that its limits have room for one more; LIMIT when all are at work."""
        most = self._limits.parcel_messages * self._limits.message_bytes
        mine = self._peers.get(peer, {})
        while True:
            counted = [one for one in mine.values() if one.state is not State.CLAIMED]
            parts = [one for one in counted if one.state is State.PART]
            crowded = len(parts) >= self._limits.parcels_per_peer
            if not crowded and sum(one.size for one in counted) + size <= most:
                return
            idle = [one for one in (parts if crowded else counted) if one.intake is None]
            if not idle:
                raise MeshError(
                    ErrorCode.LIMIT,
                    f"{len(parts)} contents of this peer are on their way, of parcels_per_peer "
                    f"({self._limits.parcels_per_peer}) and {most:,} bytes at once. Send this one after them.",
                    {"limit": self._limits.parcels_per_peer, "reason": "too_many"},
                )
            # Parts first: whoever wants one of them again sends it again, and a message may wait for the others.
            await self._forget(min(idle, key=lambda one: (one.state is not State.PART, one.changed_us)))

    async def _new(self, peer: str, sha256: str, size: int) -> _Parcel:
        folder, listed = self._top / peer, self._peers.setdefault(peer, {})
        await self._in_thread(lambda: private_folder(folder))
        listed[sha256] = parcel = _Parcel(
            folder=folder,
            sha256=sha256,
            size=size,
            state=State.PART,
            offset=0,
            changed_us=self._clock.wall_us(),
            listed=listed,
        )
        return parcel

    async def _check_room(self, size: int) -> None:
        coming = sum(
            parcel.intake.left for mine in self._peers.values() for parcel in mine.values() if parcel.intake is not None
        )
        await self._in_thread(lambda: check_room(self._home, size + coming, self._limits.spare_bytes))

    async def _turn(self, parcel: _Parcel, state: State) -> None:
        def turn() -> None:
            parcel.path.rename(parcel.path_as(state))
            parcel.state = state

        await self._in_thread(turn)

    async def _forget(self, parcel: _Parcel) -> None:
        parcel.listed.pop(parcel.sha256, None)
        if parcel.state is State.KEPT:
            self._quarantine.unpin(parcel.sha256)
        await self._in_thread(lambda: parcel.path.unlink(missing_ok=True))

    # --- in threads ---------------------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        # Parts first: a mark that has come to be is worth more than the part it was made of.
        for path in sorted(self._top.glob("*/*"), key=lambda path: path.suffix, reverse=True):
            told = _NAME.fullmatch(path.name)
            if told is None or not is_node_id(path.parent.name):
                continue
            info, state, size = path.lstat(), State(told["state"]), int(told["size"])
            if state is State.KEPT and not self._quarantine.pin(told["sha256"]):
                path.unlink()
                continue
            offset = min(size, durable_length(info.st_size, self._step)) if state is State.PART else size
            listed = self._peers.setdefault(path.parent.name, {})
            if (older := listed.get(told["sha256"])) is not None:
                older.path.unlink()
            listed[told["sha256"]] = _Parcel(
                folder=path.parent,
                sha256=told["sha256"],
                size=size,
                state=state,
                offset=offset,
                changed_us=info.st_mtime_ns // 1_000,
                listed=listed,
            )

    def _seal(self, parcel: _Parcel) -> None:
        """The whole part is on the disk, and becomes content of that hash."""
        mark = parcel.path.with_suffix(f".{State.KEPT.value}")
        # First: a mark without content is nothing, content without a mark would be swept.
        mark.touch(mode=0o600)
        flush_folder(parcel.folder)
        self._quarantine.adopt(parcel.path, parcel.sha256)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await finished(asyncio.get_running_loop().run_in_executor(None, work))
        except OSError as error:
            raise disk_error(error, self._home, "nothing was changed") from error


def _read(opened: int, offset: int, end: int) -> list[bytes]:
    """The next pieces from `offset` on, not beyond `end`; none at the end of the file."""
    pieces: list[bytes] = []
    last = min(end, offset + _BATCH_BYTES)
    while offset < last and (data := os.pread(opened, min(CHUNK_BYTES, last - offset), offset)):
        pieces.append(data)
        offset += len(data)
    return pieces
