"""Signs what the timeline has become: often enough that little stands unsigned, and once more when the node stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from node.core import log_key, note
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.log_key import KnownKey, LogKey, LogSigner
from node.core.note import TreeHead
from node.ports import Clock, Reader, Store, Tx
from node.ports_timeline import Checkpoint, LogKeyKeeper
from node.version import SOFTWARE

_log = logging.getLogger(__name__)

_SECOND_US: Final = 1_000_000
# Rows are often written many at a time; so long a pause between two looks costs nothing that anybody could see.
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Where the current log stands."""

    origin: str
    size: int
    signed: Checkpoint | None


class Checkpoints:
    """Keeps a signed checkpoint near the end of the current log. `keep` gets each note, to put it elsewhere as well."""

    def __init__(
        self, *, store: Store, keys: LogKeyKeeper, clock: Clock, limits: Limits, keep: Callable[[str], None]
    ) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._limits = limits
        self._keep = keep
        self._rung = asyncio.Event()
        self._turn = asyncio.Lock()
        self._ready_for = ""
        self._since_us: int | None = None

    def ring(self) -> None:
        """A commit happened."""
        self._rung.set()

    async def run(self) -> None:
        """Signs when it is due, for ever."""
        while True:
            self._rung.clear()
            try:
                wait_s = await self.tend()
            except MeshError as error:
                # The disk may be full; rows wait for it, too, and there is nothing to sign before it is back.
                _log.warning("the timeline was not signed: %s", error.message)
                wait_s = float(self._limits.checkpoint_s)
            try:
                async with asyncio.timeout(wait_s):
                    await self._rung.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(_PAUSE_S)

    async def tend(self) -> float | None:
        """Signs if it is due; gives the seconds until it will be, None when there is nothing new."""
        state = await self._store.read(_state)
        newer = state.size - (state.signed.size if state.signed is not None else 0)
        if newer == 0 and state.origin == self._ready_for:
            self._since_us = None
            return None
        now = self._clock.boottime_us()
        since = self._since_us = now if self._since_us is None else self._since_us
        due = since + self._limits.checkpoint_s * _SECOND_US
        if newer >= self._limits.checkpoint_rows or now >= due:
            await self.sign()
            return None
        return (due - now) / _SECOND_US

    async def sign(self) -> None:
        """Signs the log as it is, unless it is signed already."""
        async with self._turn:
            await self.settle_key()
            signer = await asyncio.to_thread(self._keys.signer)
            time_us = self._clock.wall_us()
            written = await self._store.write(partial(_sign, signer=signer, origin=self._ready_for, time_us=time_us))
            self._since_us = None
            if written is not None:
                await asyncio.to_thread(self._keep, written)
                await asyncio.to_thread(self._keys.forget_former)

    async def settle_key(self) -> None:
        """Sees to it that the log says with which key it is signed from here on."""
        state = await self._store.read(_state)
        if state.origin == self._ready_for:
            return
        signer = await asyncio.to_thread(self._keys.signer)
        signed_by = _key_ids(state)
        known = await asyncio.to_thread(self._keys.known)
        # What a node says of its key may be all that it managed to say before it was stopped.
        said = any((one.log, one.key) == (state.origin, signer.key) for one in known)
        ours = bytes.fromhex(signer.key.id_of(state.origin))
        if ours not in signed_by and (signed_by or not said):
            old = _key_of(known, signed_by, state.origin)
            old_signer = await asyncio.to_thread(self._keys.former, signed_by, state.origin)
            first = await self._store.write(
                partial(_say, origin=state.origin, signer=signer, old=old, old_signer=old_signer)
            )
            if first is None:
                return
            await asyncio.to_thread(self._keys.remember, state.origin, first, signer.key)
        self._ready_for = state.origin


def _state(reader: Reader) -> _State:
    head = reader.head()
    return _State(origin=head.origin, size=head.size, signed=reader.last_checkpoint())


def _key_ids(state: _State) -> frozenset[bytes]:
    """Ids of the keys that signed the last checkpoint in the log's name."""
    if state.signed is None:
        return frozenset()
    try:
        lines = note.read(state.signed.note).signatures
    except MeshError:
        # Somebody changed it, which the check of the timeline says; the log goes on with what is known.
        return frozenset()
    return frozenset(line.key_id for line in lines if line.name == state.origin)


def _key_of(known: tuple[KnownKey, ...], key_ids: frozenset[bytes], origin: str) -> LogKey | None:
    for one in known:
        if one.log == origin and bytes.fromhex(one.key.id_of(origin)) in key_ids:
            return one.key
    return None


def _say(tx: Tx, *, origin: str, signer: LogSigner, old: LogKey | None, old_signer: LogSigner | None) -> int | None:
    """Writes the row by which the log's key is this one; None when another log has begun meanwhile."""
    if tx.head().origin != origin:
        return None
    # The row's number is part of what is signed, so nothing may come between.
    tx.tell_clock_step(SOFTWARE)
    head = tx.head()
    before = old if old_signer is None else old_signer.key
    step = log_key.step(origin, head.size, signer, old=before, old_signer=old_signer)
    if (seq := tx.append(step.row(SOFTWARE))) != head.size:
        raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, "The row of the log's key did not get the number that was signed.")
    return seq


def _sign(tx: Tx, *, signer: LogSigner, origin: str, time_us: int) -> str | None:
    head, last = tx.head(), tx.last_checkpoint()
    if head.origin != origin or head.size == (last.size if last is not None else 0):
        return None
    stands = TreeHead(origin=head.origin, size=head.size, root=head.root)
    written = log_key.sign_head(stands, signer, time_us // _SECOND_US)
    tx.add_checkpoint(Checkpoint(size=head.size, root=head.root, note=written, made_us=time_us))
    return written
