"""Pairing runs: takes the person's wish, plays the machine through with the other node, records what came of it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Paired, Peer
from node.core.pairing_events import Agreed, CodeTyped, Declined, Input, Other
from node.core.pairing_gate import PairingGate, at, ended, opened, started
from node.core.pairing_messages import NONCE_BYTES, Reason, Role
from node.core.pairing_run import Introduction, Step, dial, dial_with_code, wait, wait_with_code
from node.core.row_codes import RowDecision, RowReason, RowSubject
from node.core.trust import parse_address
from node.core.views_mesh import PairingEvent, PairingStep
from node.ledger import Ledger
from node.pairing_play import PairingPlay
from node.ports import Clock, Entropy, Store, Tx
from node.ports_mesh import PairingNet, PairingWire, PairingWish, Pake, PakeRun, Signer, Trust

_log = logging.getLogger(__name__)

WriteRow = Callable[[Tx], None]
"""Writes a row, as part of a transaction."""

MADE_CODE_DIGITS: Final = 8
GATE: Final = "pairing_gate"
_INPUTS: Final = 32
_EVENTS: Final = 64
# So long the other node is given to hear that this one leaves.
_LEAVE_S: Final = 3.0


@dataclass(slots=True, kw_only=True)
class _Current:
    """The run under way: what the person says goes to `inputs`, what they are told comes from `events`."""

    id: str
    inputs: asyncio.Queue[Input] = field(default_factory=lambda: asyncio.Queue(_INPUTS))
    events: asyncio.Queue[PairingEvent | None] = field(default_factory=asyncio.Queue)
    asked: PairingStep | None = None
    met: bool = False
    pake: PakeRun | None = None


class PairingDesk:
    """Implements ports_mesh.PairingDesk."""

    def __init__(
        self,
        *,
        store: Store,
        ledger: Ledger,
        clock: Clock,
        entropy: Entropy,
        limits: Limits,
        net: PairingNet,
        pake: Pake,
        signer: Signer,
        trust: Trust,
        me: Callable[[], Introduction],
        find: Callable[[str], str | None],
        identify: Callable[[str], str],
        port: int = 0,
        where: Callable[[int], str] = lambda _port: "",
    ) -> None:
        """`me` is how this node introduces itself; `find` gives the address of a node that is heard on the network.

        `identify` gives the shown id of a certificate, INVALID_ARGUMENT for one that no node has. It waits at `port`
        unless the person chooses another; `where` gives the address that others may dial for a port, if it is known.
        """
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self._entropy = entropy
        self._limits = limits
        self._net = net
        self._pake = pake
        self._signer = signer
        self._trust = trust
        self._me = me
        self._find = find
        self._identify = identify
        self._port = port
        self._where = where
        self._current: _Current | None = None

    async def run(self, wish: PairingWish) -> AsyncGenerator[PairingEvent, None]:
        """The steps of a run; leaving it ends it."""
        if self._current is not None:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                "This node is pairing already. Finish that in its terminal, or leave it there with Ctrl-C.",
            )
        current = self._current = _Current(id=self._ledger.new_id())
        role = Role.DIALER if wish.target else Role.WAITER
        try:
            await self._gate(self._cut_off, self._row(RowDecision.FAILED, None, RowReason.INTERRUPTED))
            await self._gate(lambda gate, now: opened(gate, now, self._limits), self._row(RowDecision.BEGAN, role))
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._conduct(wish, role, current))
                try:
                    while (event := await current.events.get()) is not None:
                        yield event
                except GeneratorExit:
                    # A group would make an error of it; the generator ends all the same.
                    pass
                finally:
                    await self._leave(current, task)
        finally:
            self._current = None

    def answer(self, run: str, *, code: str, confirmed: bool) -> None:
        """What the person said."""
        current = self._current
        if current is None or current.id != run:
            raise MeshError(ErrorCode.NOT_FOUND, "That pairing run is over. Begin a new one with helio pair.")
        if current.asked is None:
            raise MeshError(ErrorCode.WRONG_STATE, "Nothing is asked in this pairing run right now; wait for it.")
        asked, current.asked = current.asked, None
        if not confirmed:
            given: Input = Declined()
        elif asked is PairingStep.ASK_CODE:
            given = CodeTyped(code=code)
        else:
            given = Agreed()
        try:
            current.inputs.put_nowait(given)
        except asyncio.QueueFull as error:
            raise MeshError(ErrorCode.LIMIT, "Too much is going on in this pairing run; it is about to end.") from error

    # --- one run -----------------------------------------------------------------------------------------------------

    async def _leave(self, current: _Current, task: asyncio.Task[None]) -> None:
        """Ends the run if it goes on; the other node is told rather than cut off."""
        if current.met:
            with suppress(asyncio.QueueFull):
                current.inputs.put_nowait(Declined())
            await asyncio.wait({task}, timeout=_LEAVE_S)
        task.cancel()

    async def _conduct(self, wish: PairingWish, role: Role, current: _Current) -> None:
        """Plays a run to its end; whatever goes wrong is an event, and the last one is None."""
        deadline = asyncio.get_running_loop().time() + self._limits.pairing_window_s
        play: PairingPlay | None = None
        # What is so when the person leaves before anybody came.
        reason = Reason.DECLINED.value
        try:
            async with self._connected(wish, role, current, deadline) as (wire, step):
                current.met = True
                play = self._play(current, wire, deadline)
                await play.through(step)
        except MeshError as error:
            expired = asyncio.get_running_loop().time() >= deadline
            reason = Reason.EXPIRED.value if expired else error.code.value
            self._tell(
                current, PairingEvent(step=PairingStep.FAILED, run=current.id, reason=reason, words=error.message)
            )
        finally:
            try:
                await self._settle(role, play, reason)
            except MeshError as error:
                _log.warning("how a pairing run ended is not in the timeline: %s", error.message)
            current.events.put_nowait(None)

    def _play(self, current: _Current, wire: PairingWire, deadline: float) -> PairingPlay:
        return PairingPlay(
            id=current.id,
            wire=wire,
            inputs=current.inputs,
            deadline=deadline,
            signer=self._signer,
            pake=current.pake,
            tell=lambda event: self._tell(current, event),
            identify=self._identify,
            begun=lambda: self._gate(started),
            record=lambda other: self._record(other, wire.address),
        )

    @asynccontextmanager
    async def _connected(
        self, wish: PairingWish, role: Role, current: _Current, deadline: float
    ) -> AsyncIterator[tuple[PairingWire, Step]]:
        """The connection to the other node, and how the run begins."""
        me = replace(self._me(), wants=wish.wants, gives=wish.gives, name=wish.name or self._me().name)
        code = wish.code or (self._made_code() if wish.headless and not wish.target else "")
        # Before anybody waits: a code that is none is said at once.
        pake = current.pake = self._pake.begin(role, code) if code else None
        if wish.target:
            left = deadline - asyncio.get_running_loop().time()
            async with self._net.dial(self._address(wish.target), left) as wire:
                if pake is not None:
                    yield wire, dial_with_code(me, pake=pake.message, presented=wire.presented)
                else:
                    yield wire, dial(me, nonce=self._entropy(NONCE_BYTES), presented=wire.presented)
            return
        run = wait(me, nonce=self._entropy(NONCE_BYTES)) if pake is None else wait_with_code(me, pake=pake.message)
        async with self._net.listen(wish.port or self._port) as listener:
            shown = code if not wish.code else ""
            self._tell(
                current,
                PairingEvent(
                    step=PairingStep.WAITING,
                    run=current.id,
                    port=listener.port,
                    code=shown,
                    address=self._where(listener.port),
                ),
            )
            try:
                async with asyncio.timeout_at(deadline):
                    accepted = await listener.accept()
            except TimeoutError as error:
                raise MeshError(
                    ErrorCode.UNAVAILABLE,
                    f"Nobody came within {self._limits.pairing_window_s} s, so the port is closed again. Nothing was "
                    "changed.",
                ) from error
            yield accepted, Step(run=run)

    def _address(self, target: str) -> str:
        """Where to dial: the target itself, or where the node of that name is heard."""
        address = target if ":" in target else self._find(target)
        if address is None:
            raise MeshError(
                ErrorCode.NOT_FOUND,
                f"No node whose name begins with {target[:40]!r} is heard on the network. Give its address: "
                "the other machine says it when it waits (helio pair).",
            )
        return address

    def _made_code(self) -> str:
        """A fresh code, each digit as likely as any other."""
        return f"{int.from_bytes(self._entropy(16), 'big') % 10**MADE_CODE_DIGITS:0{MADE_CODE_DIGITS}d}"

    def _tell(self, current: _Current, event: PairingEvent) -> None:
        if event.step in {PairingStep.ASK_CODE, PairingStep.ASK_CONFIRM}:
            current.asked = event.step
        # Whoever does not listen misses steps, but not the end.
        if current.events.qsize() < _EVENTS or event.step in {PairingStep.PAIRED, PairingStep.FAILED}:
            current.events.put_nowait(event)

    # --- what lasts --------------------------------------------------------------------------------------------------

    async def _gate(
        self, change: Callable[[PairingGate, int], PairingGate | None], row: WriteRow | None = None
    ) -> None:
        """Changes the gate, durably and with the row about it; what `change` refuses is not done, None is no change."""
        now = self._clock.wall_us()

        def work(tx: Tx) -> MeshError | None:
            kept = _from_json(tx.mesh_state(GATE))
            gate = at(kept, now, self._limits)
            try:
                changed = change(gate, now)
            except MeshError as refusal:
                # Kept also then: else an hour would begin again with each refusal, until the clock is where it was.
                if gate != kept:
                    tx.put_mesh_state(GATE, _to_json(gate))
                return refusal
            if changed is not None:
                tx.put_mesh_state(GATE, _to_json(changed))
                if row is not None:
                    row(tx)
            return None

        refusal = await self._store.write(work)
        if refusal is not None:
            raise refusal

    def _cut_off(self, gate: PairingGate, now_us: int) -> PairingGate | None:
        """The end of a run that is on disk as under way, though none is: a crash hid what was tried in it."""
        return ended(gate, now_us, self._limits, paired=False, burned=True) if gate.running else None

    def _row(self, decision: RowDecision, role: Role | None, reason: RowReason | None = None) -> WriteRow:
        end = RowSubject(role) if role is not None else None
        return lambda tx: self._ledger.pairing_row(tx, decision, end, reason)

    async def _settle(self, role: Role, play: PairingPlay | None, reason: str) -> None:
        """The end of a run: the gate knows, and so does the timeline. `reason` is of a run that knows none itself."""
        paired, burned = (play.paired, play.burned) if play is not None else (False, False)
        if play is not None and play.reason is not None:
            reason = play.reason
        why = RowReason(reason) if reason in set(RowReason) else RowReason.UNKNOWN
        await self._gate(
            lambda gate, now: ended(gate, now, self._limits, paired=paired, burned=burned),
            self._row(RowDecision.PAIRED, role) if paired else self._row(RowDecision.FAILED, role, why),
        )

    async def _record(self, other: Other, address: str) -> Peer:
        return await self._trust.add(
            Paired(
                certificate=other.certificate,
                name=other.name,
                given=other.given,
                got=other.got,
                addresses=_served(address, other.port),
            )
        )


def _served(address: str, port: int) -> tuple[str, ...]:
    """Where the other node serves its peers, if it does: at the address it was met at, and the port it named."""
    try:
        return (parse_address(f"{address.rpartition(':')[0]}:{port}"),) if port else ()
    except MeshError:
        # What cannot be dialled again does not undo the pair: discovery finds it, or a person adds its address.
        return ()


def _to_json(gate: PairingGate) -> str:
    return json.dumps(asdict(gate))


def _from_json(text: str | None) -> PairingGate:
    if not text:
        return PairingGate()
    kept = json.loads(text)
    return PairingGate(**{**kept, "runs_us": tuple(kept["runs_us"])})
