"""Plays one pairing run through: carries out what the machine wants, and gives it what comes back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final

from node.core import pairing
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Peer
from node.core.pairing_events import (
    AskCode,
    AskConfirm,
    CheckSignature,
    DeriveKey,
    Effect,
    Ended,
    Expired,
    Input,
    KeyDerived,
    Lost,
    Other,
    Paired,
    Send,
    Show,
    Sign,
    SignatureChecked,
    Signed,
    Unreadable,
)
from node.core.pairing_messages import Abort, Hello, Reason
from node.core.pairing_run import Run, State, Step
from node.core.views_mesh import PairingEvent, PairingStep
from node.ports_mesh import PairingWire, PakeRun, Signer
from node.to_the_end import to_the_end

_WORDS: Final = {
    Reason.VERSION: "The other node speaks another version of pairing. Update heliograph on both.",
    Reason.MALFORMED: "The other node does not speak as a node does. Update heliograph on both; or it is none.",
    Reason.OUT_OF_ORDER: "The other node broke the order of pairing, so it was ended. Begin anew on both.",
    Reason.OTHER_WAY: "Only one side has a code that both know beforehand. Begin anew, both the same way.",
    Reason.SAME_NODE: "That is this very node. Dial the other machine.",
    Reason.OTHER_CERTIFICATE: "Somebody stands between the two nodes: the connection is not to the one that answers.",
    Reason.WRONG_COMMITMENT: "Somebody stands between the two nodes: what was revealed is not what was promised.",
    Reason.WRONG_CODE: "The code is not the right one. It was mistyped, or somebody stands between the two nodes.",
    Reason.BAD_SIGNATURE: "The other node could not prove its key. Begin anew on both.",
    Reason.DECLINED: "It was declined.",
    Reason.EXPIRED: "The time for pairing is over. Begin anew on both.",
    Reason.LOST: "The connection to the other node was lost. Begin anew on both.",
    Reason.ABORTED: "The other node ended it. Begin anew on both.",
}


@dataclass(slots=True, kw_only=True)
class PairingPlay:
    """One run, from its first step until it is over; what came of it is here at any time, however it is left.

    `inputs` is what the person and the other node say, `tell` tells the person, `identify` gives the shown id of a
    certificate (INVALID_ARGUMENT for an unfit one), `begun` is called at the other's first word and may refuse the run,
    `record` makes a peer of the other end; `paired` says that it has.
    """

    id: str
    wire: PairingWire
    inputs: asyncio.Queue[Input]
    deadline: float
    signer: Signer
    pake: PakeRun | None
    tell: Callable[[PairingEvent], None]
    identify: Callable[[str], str]
    begun: Callable[[], Awaitable[None]]
    record: Callable[[Other], Awaitable[Peer]]
    paired: bool = False
    _own: deque[Input] = field(default_factory=deque)
    _shown: str = ""
    _run: Run | None = None
    _ended: Ended | None = None
    _error: MeshError | None = None
    # How the connection was lost, where that is known.
    _why: str = ""

    @property
    def burned(self) -> bool:
        """Whether the code counts as tried and came to nothing."""
        if self._ended is not None:
            return self._ended.burned
        return not self.paired and self._run is not None and pairing.is_given_away(self._run)

    @property
    def reason(self) -> str | None:
        """Why the run came to nothing, as far as that is known."""
        if self._ended is not None:
            return self._ended.reason.value
        return self._error.code.value if self._error is not None else None

    async def through(self, step: Step) -> None:
        """Plays on from `step` to the end. A MeshError of this node's ends it."""
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._listen())
            try:
                await self._play(step)
            except MeshError as error:
                self._error = error
            finally:
                listening.cancel()
        if self._error is not None:
            # This node cannot go on; the other one need not wait for it.
            with suppress(MeshError):
                await self.wire.send(Abort(reason=Reason.ABORTED.value))
            raise self._error

    async def _play(self, step: Step) -> None:
        other: Other | None = None
        while True:
            self._run = step.run
            for effect in step.effects:
                if isinstance(effect, Paired):
                    other = effect.other
                await self._do(effect)
            if step.run.state is State.PAIRED and other is not None:
                self.tell(self._event(PairingStep.PAIRED, other))
            if step.run.state.over:
                return
            step = await self._stepped(step.run)

    async def _stepped(self, run: Run) -> Step:
        """What the next input that fits does."""
        while True:
            given = await self._next()
            if isinstance(given, Hello) and not self._shown:
                await self.begun()
                try:
                    self._shown = self.identify(given.certificate)
                except MeshError:
                    given = Unreadable()
            try:
                return pairing.step(run, given)
            except MeshError as error:
                # Of a person: a code without enough digits is asked for again, the rest came too late to matter.
                if error.code is ErrorCode.INVALID_ARGUMENT:
                    self.tell(PairingEvent(step=PairingStep.ASK_CODE, run=self.id, words=error.message))

    async def _next(self) -> Input:
        if self._own:
            return self._own.popleft()
        try:
            async with asyncio.timeout_at(self.deadline):
                return await self.inputs.get()
        except TimeoutError:
            return Expired()

    async def _listen(self) -> None:
        try:
            async with aclosing(self.wire.messages()) as messages:
                async for message in messages:
                    await self.inputs.put(message)
        except MeshError as error:
            self._why = error.message
        await self.inputs.put(Lost())

    async def _do(self, effect: Effect) -> None:
        match effect:
            case Send(message=message):
                try:
                    await self.wire.send(message)
                except MeshError as error:
                    self._why = error.message
                    self._own.append(Lost())
            case Show(code=code, other=other):
                self.tell(self._event(PairingStep.MET, other))
                self.tell(PairingEvent(step=PairingStep.CODE, run=self.id, code=code))
            case AskCode(other=other):
                self.tell(self._event(PairingStep.MET, other))
                self.tell(self._event(PairingStep.ASK_CODE, other))
            case AskConfirm(other=other):
                self.tell(self._event(PairingStep.ASK_CONFIRM, other))
            case DeriveKey(message=message):
                self._own.append(self._key(message))
            case Sign(statement=statement):
                self.tell(PairingEvent(step=PairingStep.AGREED, run=self.id))
                self._own.append(Signed(signature=self.signer.sign(statement)))
            case CheckSignature(certificate=certificate, statement=statement, signature=signature):
                ok = self.signer.signed(certificate, statement, signature)
                self._own.append(SignatureChecked(ok=ok))
            case Paired(other=other):
                # Whoever is cancelled meanwhile leaves when it is known whether there is a peer.
                await to_the_end(self._recorded(other))
            case Ended(reason=reason):
                self._ended = effect
                words = self._why if reason is Reason.LOST and self._why else _said(effect)
                self.tell(PairingEvent(step=PairingStep.FAILED, run=self.id, reason=reason.value, words=words))

    async def _recorded(self, other: Other) -> None:
        await self.record(other)
        self.paired = True

    def _key(self, message: bytes) -> Input:
        if self.pake is None:
            return Unreadable()
        try:
            return KeyDerived(key=self.pake.finish(message))
        except MeshError:
            return Unreadable()

    def _event(self, step: PairingStep, other: Other) -> PairingEvent:
        over = step is PairingStep.PAIRED
        return PairingEvent(
            step=step,
            run=self.id,
            name=other.name,
            shown=self._shown,
            asks=other.given if over or step is PairingStep.ASK_CONFIRM else known_grants(other.wants),
            offers=other.got if over or step is PairingStep.ASK_CONFIRM else known_grants(other.gives),
            address=self.wire.address,
        )


def known_grants(names: Sequence[str]) -> frozenset[Grant]:
    """Those of the names that are grants here; a newer node may know more."""
    return frozenset(Grant(name) for name in names if name in set(Grant))


def _said(ended: Ended) -> str:
    words = _WORDS[ended.reason]
    return f"The other side says: {words}" if ended.theirs else words
