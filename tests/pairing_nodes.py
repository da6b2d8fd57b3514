"""Nodes that pair with each other on real sockets, each with its store and peers, and the people at their terminals."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from cryptography.hazmat.primitives.asymmetric import ec

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant, Peer
from node.core.pairing_events import Unreadable
from node.core.pairing_messages import Message
from node.core.pairing_run import Introduction
from node.core.timeline import Row
from node.core.views_mesh import PairingEvent, PairingStep
from node.identity import Identity, Signer, shown_id
from node.pairing_desk import GATE, PairingDesk
from node.pake import Pake
from node.peers import Peers
from node.ports import Reader, Store, Tx
from node.ports_mesh import PairingNet as Net
from node.ports_mesh import PairingWire, PairingWish
from node.rpc_pairing import PairingNet
from tests.clock_twins import CountedEntropy
from tests.integration.mesh import Mesh
from tests.peer_book import certificate
from tests.rule_screener import RuleScreener

T = TypeVar("T")

REQUEST, PANEL, TIMELINE = Grant.REQUEST, Grant.MIRROR_PANEL, Grant.MIRROR_TIMELINE
ALL = frozenset(Grant)
NONE: frozenset[Grant] = frozenset()
HERE = "127.0.0.1"
QUICK = Limits(mesh_call_s=2)
# Where a node says that it serves its peers.
SERVED = 4_354


def new_identity() -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    return Identity(key=key, certificate=certificate(key))


class NoRows:
    """A transaction in which the timeline takes no row."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> object:
        return getattr(self._tx, name)

    def append(self, _row: Row, _side: Sequence[tuple[str, str]] = ()) -> None:
        raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, "The timeline takes no row.")


class FragileStore:
    """A store that refuses writes while it is `broken`, as on a disk which is full, and rows alone while it is `mute`.

    `slow` is set to hold a write back: it is on disk, and whoever waits does not hear of it before `slow` is set.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.broken = self.mute = False
        self.slow: asyncio.Event | None = None
        self.held = asyncio.Event()

    async def write(self, work: Callable[[Tx], T], then: Callable[[T], None] | None = None) -> T:
        if self.broken:
            raise MeshError(ErrorCode.AUDIT_UNAVAILABLE, "The disk is full, so nothing can be recorded.")
        mute = self.mute
        done = await self._store.write(lambda tx: work(NoRows(tx) if mute else tx), then)  # type: ignore[arg-type]
        if self.slow is not None:
            self.held.set()
            await self.slow.wait()
        return done

    async def read(self, work: Callable[[Reader], T]) -> T:
        return await self._store.read(work)


class Talk:
    """A pairing run and the person who began it: what they were told, and what they say."""

    def __init__(self, node: PairingNode, wish: PairingWish) -> None:
        self._node = node
        self._wish = wish
        self._fresh: asyncio.Queue[PairingEvent | None] = asyncio.Queue()
        self.told: list[PairingEvent] = []
        self.refusal: MeshError | None = None
        self.task: asyncio.Task[None] | None = None

    async def play(self) -> None:
        try:
            async with aclosing(self._node.desk.run(self._wish)) as events:
                async for event in events:
                    self.told.append(event)
                    self._fresh.put_nowait(event)
        except MeshError as error:
            self.refusal = error
        finally:
            self._fresh.put_nowait(None)

    async def until(self, step: PairingStep) -> PairingEvent:
        """The next event of that step."""
        while (event := await self._fresh.get()) is not None:
            if event.step is step:
                return event
        raise AssertionError(f"never came: {step}; but: {self.told}, {self.refusal}")

    async def end(self) -> PairingEvent:
        """The last event, once the run is over and recorded."""
        assert self.task is not None
        await asyncio.wait({self.task})
        assert self.told, self.refusal
        return self.told[-1]

    async def refused(self) -> MeshError:
        """Why the run did not begin."""
        assert self.task is not None
        await asyncio.wait({self.task})
        assert self.refusal is not None, self.told
        assert not self.told
        return self.refusal

    async def failed(self, reason: str, *words: str) -> None:
        """The run ends so, and says it last."""
        last = await self.end()
        assert (last.step, last.reason) == (PairingStep.FAILED, reason), self.told
        missing = [word for word in words if word not in last.words]
        assert not missing, f"{missing} not in {last.words!r}"
        assert last.words

    def steps(self) -> list[str]:
        return [event.step.value for event in self.told]

    def say(self, *, code: str = "", confirmed: bool = True) -> None:
        self._node.desk.answer(self.told[-1].run, code=code, confirmed=confirmed)

    def go(self) -> None:
        """The person presses Ctrl-C; again, when they will not wait for the other to be told."""
        assert self.task is not None
        self.task.cancel()

    async def leave(self) -> None:
        """The person presses Ctrl-C and waits."""
        assert self.task is not None
        self.go()
        await asyncio.wait({self.task})


@dataclass(slots=True, kw_only=True)
class PairingNode:
    """One node, as far as pairing needs it. `address` is where its last run waits."""

    mesh: Mesh
    me: Identity
    limits: Limits
    store: FragileStore
    net: Net
    desk: PairingDesk = field(init=False)
    peers: Peers = field(init=False)
    name: str = "node"
    found: dict[str, str] = field(default_factory=dict)
    group: asyncio.TaskGroup
    address: str = ""

    async def start(self) -> None:
        """The node comes up on what its store holds; again, when it has been up before."""
        self.peers = Peers(
            store=self.store, screener=RuleScreener(), ledger=self.mesh.ledger, limits=self.limits,
            own=(self.me.certificate,),
        )  # fmt: skip
        await self.peers.load()
        counted, mine = CountedEntropy(), bytes.fromhex(self.me.spki)

        def draw(size: int) -> bytes:
            # Two nodes draw other numbers.
            return sha256(counted(32) + mine).digest()[:size] if size <= 32 else os.urandom(size)

        self.desk = PairingDesk(
            store=self.store, ledger=self.mesh.ledger, clock=self.mesh.clock, entropy=draw, limits=self.limits,
            net=self.net, pake=Pake(draw), signer=Signer(self.me), trust=self.peers, me=self.introduction,
            find=self.found.get, identify=shown_id,
        )  # fmt: skip

    def introduction(self) -> Introduction:
        return Introduction(certificate=self.me.certificate, wants=NONE, gives=NONE, name=self.name, port=SERVED)

    def begin(self, wish: PairingWish) -> Talk:
        talk = Talk(self, wish)
        talk.task = self.group.create_task(talk.play())
        return talk

    async def waits(
        self, *, wants: frozenset[Grant] = NONE, gives: frozenset[Grant] = ALL, code: str = "", headless: bool = False
    ) -> Talk:
        """A run that has its port open."""
        talk = self.begin(PairingWish(wants=wants, gives=gives, code=code, headless=headless, name=self.name))
        waiting = await talk.until(PairingStep.WAITING)
        self.address = f"{HERE}:{waiting.port}"
        return talk

    def dials(
        self, target: str, *, wants: frozenset[Grant] = NONE, gives: frozenset[Grant] = NONE, code: str = ""
    ) -> Talk:
        return self.begin(PairingWish(target=target, wants=wants, gives=gives, code=code, name=self.name))

    async def rows(self) -> list[str]:
        """The timeline's rows of pairing, as "kind decision reason"; the whole chain verifies."""
        found = await self.mesh.rows()
        check = await self.mesh.verification()
        assert (check.ok, check.rows) == (True, len(found)), check
        return [
            " ".join(str(row[part]) for part in ("kind", "decision", "reason") if row.get(part))
            for row in found
            if row["engine"] == "pairing"
        ]

    def knows(self, other: PairingNode) -> Peer | None:
        return self.peers.pinned(other.me.spki)

    async def nobody(self) -> None:
        """No peers: neither in memory nor on disk."""
        assert self.peers.peers() == ()
        assert await self.mesh.store.read(lambda reader: reader.peers()) == ()

    async def burned(self) -> int:
        """How many codes were tried here since pairing closed last or a pair was made."""
        kept = await self.gate()
        return int(str(kept["burned"])) if kept else 0

    async def gate(self) -> dict[str, object]:
        """What is kept of the gate."""
        kept = await self.mesh.store.read(lambda reader: reader.mesh_state(GATE))
        return dict(json.loads(kept)) if kept else {}


@asynccontextmanager
async def nodes(
    folder: Path, *names: str, limits: Limits = QUICK, waits_with: Limits | None = None
) -> AsyncIterator[list[PairingNode]]:
    """Nodes of these names; the first, which may have limits of its own, waits in most tests."""
    made: list[PairingNode] = []
    try:
        async with asyncio.TaskGroup() as group:
            for name in names or ("waiter", "dialer"):
                own = waits_with if waits_with is not None and not made else limits
                mesh = await Mesh.open(folder / f"{name}.db", limits=own)
                me = new_identity()
                node = PairingNode(
                    mesh=mesh, me=me, limits=own, store=FragileStore(mesh.store), net=PairingNet(me, own, host=HERE),
                    name=name, group=group,
                )  # fmt: skip
                made.append(node)
                await node.start()
            yield made
    finally:
        for node in made:
            await node.mesh.store.close()


async def met(waiter: PairingNode, dialer: PairingNode, **wishes: frozenset[Grant]) -> tuple[Talk, Talk, str]:
    """Two people in the middle of a run, and the code: one screen shows it, the other asks for it."""
    here = await waiter.waits()
    there = dialer.dials(waiter.address, **wishes)
    shown = await here.until(PairingStep.CODE)
    await there.until(PairingStep.ASK_CODE)
    return here, there, shown.code


async def paired(waiter: PairingNode, dialer: PairingNode, **wishes: frozenset[Grant]) -> None:
    """Two people pair their nodes."""
    here, there, code = await met(waiter, dialer, **wishes)
    there.say(code=code)
    await here.until(PairingStep.ASK_CONFIRM)
    here.say()
    assert (await here.end()).step is PairingStep.PAIRED
    assert (await there.end()).step is PairingStep.PAIRED


async def heard(wire: PairingWire) -> list[Message | Unreadable]:
    """All that the other end says until the connection ends."""
    found: list[Message | Unreadable] = []
    with suppress(MeshError):
        async with aclosing(wire.messages()) as messages:
            while (message := await anext(messages, None)) is not None:
                found.append(message)
    return found


async def finish(here: Talk, there: Talk) -> None:
    """Two people who are in the middle of it pair their nodes."""
    shown = await here.until(PairingStep.CODE)
    await there.until(PairingStep.ASK_CODE)
    there.say(code=shown.code)
    await here.until(PairingStep.ASK_CONFIRM)
    here.say()
    assert (await here.end()).step is (await there.end()).step is PairingStep.PAIRED


async def nobody_is_a_peer(*both: PairingNode) -> None:
    for node in both:
        await node.nobody()
