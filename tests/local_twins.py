"""A node whose local API and socket are real, and whose inside, behind the ports, is simulated."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TypeVar

import pytest

from node.core import commands
from node.core.commands import Arrival, Receipt
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import (
    Address,
    AgentState,
    Author,
    End,
    Exchange,
    Kind,
    Ladder,
    Message,
    MessageKind,
    Session,
    SessionStatus,
    Status,
)
from node.core.node_status import NodeStatus
from node.core.relay import RemoteSession
from node.grpc_setup import aio, unix_target
from node.local_api import LocalApi
from node.local_api_mesh import MeshApi
from node.local_api_mirror import MirrorApi
from node.local_api_timeline import TimelineApi
from node.local_api_work import WorkApi
from node.local_client import LocalClient
from node.platform import paths
from node.ports import NewSession
from node.wire.v1 import local_pb2 as pb
from tests.local_twins_mesh import Among, Moving, Pairings, Trusted
from tests.local_twins_mirror import Mirroring
from tests.local_twins_proof import Proving
from tests.local_twins_retention import Erasing, Pruning
from tests.local_twins_timeline import HOSTILE, Log, Noted
from tests.local_twins_work import Installed, Places, Questions, place

T = TypeVar("T")
NODE = "n" * 16
PERSON = Address(node=NODE, session=None)
METHODS = [method.name for method in pb.DESCRIPTOR.services_by_name["LocalService"].methods]
STREAMS = [m.name for m in pb.DESCRIPTOR.services_by_name["LocalService"].methods if m.server_streaming]


def played(scenario: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    """A test written as a coroutine; it has 30 seconds."""

    @wraps(scenario)
    def test(**fixtures: object) -> None:
        async def timed() -> None:
            async with asyncio.timeout(30):
                await scenario(**fixtures)

        asyncio.run(timed())

    return test


def session(number: int, **changes: object) -> Session:
    made = Session(
        id=f"s{number:015}".replace("0", "a").replace("1", "b"),
        nickname=f"nick{number}",
        title=f"title {HOSTILE}",
        workspace="default",
        profile="",
        argv=("claude", "--flag", "ü"),
        cwd="/home/zoë/a b",
        pane=None,
        status=SessionStatus.RUNNING,
        state=AgentState.IDLE,
        created_us=1_000 + number,
        changed_us=2_000 + number,
    )
    return replace(made, **changes)


def exchange(letter: str, to: Session, /, **changes: object) -> Exchange:
    made = Exchange(
        id=letter * 16,
        kind=Kind.REQUEST,
        status=Status.WORKING,
        opener=PERSON,
        worker=Address(node=NODE, session=to.id),
        title="count " + HOSTILE,
        chain="c" * 16,
        hops=("the person", to.label),
        parent=None,
        root=letter * 16,
        depth=1,
        next_number=1,
        questions=(),
        ended_noted=False,
        reason=None,
        opened_us=5,
        changed_us=6,
    )
    return replace(made, **changes)


def message(of: Exchange, number: int, text: str = HOSTILE, **changes: object) -> Message:
    made = Message(
        id=f"{of.id[0]}{number:015}",
        exchange=of.id,
        number=number,
        kind=MessageKind.REPORT,
        sender=End.WORKER,
        author=Author.SESSION,
        title="",
        text=text,
        reply_to=None,
        ladder=Ladder(recorded_us=7, landed_us=8),
    )
    return replace(made, **changes)


@dataclass
class Books:
    """Both a twin of the store and the view that it gives to readers."""

    all_sessions: dict[str, Session] = field(default_factory=dict)
    all_exchanges: dict[str, Exchange] = field(default_factory=dict)
    all_messages: dict[str, list[Message]] = field(default_factory=dict)
    unread_of: dict[Address, int] = field(default_factory=dict)
    remote: list[RemoteSession] = field(default_factory=list)

    async def read(self, work: Callable[[Books], T]) -> T:
        return await asyncio.to_thread(work, self)

    def sessions(self, *, archived: bool = False) -> tuple[Session, ...]:
        found = (s for s in self.all_sessions.values() if archived or s.status is not SessionStatus.ARCHIVED)
        return tuple(sorted(found, key=lambda s: -s.created_us))

    def remote_session(self, session_id: str) -> RemoteSession | None:
        return next((one for one in self.remote if one.id == session_id), None)

    def peer(self, peer_id: str) -> None:
        return None

    def session(self, session_id: str) -> Session | None:
        return self.all_sessions.get(session_id)

    def exchange(self, exchange_id: str) -> Exchange | None:
        return self.all_exchanges.get(exchange_id)

    def exchanges(self, *, closed: bool, limit: int) -> tuple[Exchange, ...]:
        return tuple(e for e in self.all_exchanges.values() if closed or not e.status.closed)[:limit]

    def exchanges_of(self, address: Address, *, closed: bool) -> tuple[Exchange, ...]:
        return tuple(e for e in self.exchanges(closed=closed, limit=1_000_000) if e.end_of(address) is not None)

    def messages(self, exchange_id: str) -> tuple[Message, ...]:
        return tuple(self.all_messages.get(exchange_id, ()))

    def message(self, message_id: str) -> Message | None:
        return next((m for messages in self.all_messages.values() for m in messages if m.id == message_id), None)

    def exchange_with(self, message: Message) -> Exchange:
        return self.all_exchanges[message.exchange]

    def unread_counts(self, address: Address) -> tuple[tuple[str, int], ...]:
        count = self.unread_of.get(address, 0)
        return (("x" * 16, count),) if count else ()


class Desk:
    """A twin of the sessions service, over the same books."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.started: list[NewSession] = []

    def find(self, wanted: str) -> Session:
        for found in self.books.all_sessions.values():
            if wanted in {found.label, found.id}:
                return found
        raise MeshError(ErrorCode.NOT_FOUND, f"No session is called {wanted}.", {"wanted": wanted})

    def put(self, changed: Session) -> Session:
        self.books.all_sessions[changed.id] = changed
        return changed

    async def run(self, new: NewSession) -> tuple[Session, tuple[str, ...]]:
        self.started.append(new)
        return self.put(session(9, nickname=new.nickname or None, title=new.title, argv=new.argv)), ("@nick9l",)

    async def set_nickname(self, wanted: str, nickname: str) -> tuple[Session, tuple[str, ...]]:
        return self.put(replace(self.find(wanted), nickname=nickname or None)), ()

    async def rename(self, wanted: str, title: str) -> Session:
        return self.put(replace(self.find(wanted), title=title))

    async def archive(self, wanted: str) -> Session:
        return self.put(replace(self.find(wanted), status=SessionStatus.ARCHIVED))

    async def unarchive(self, wanted: str) -> tuple[Session, str]:
        return self.put(replace(self.find(wanted), status=SessionStatus.ENDED, nickname=None)), "nick2"

    async def remove(self, wanted: str) -> tuple[str, tuple[str, ...]]:
        found = self.find(wanted)
        del self.books.all_sessions[found.id]
        return found.id, tuple(
            e.id for e in self.books.exchanges_of(Address(node=NODE, session=found.id), closed=False)
        )

    async def attach_argv(self, wanted: str) -> tuple[str, ...]:
        return ("tmux", "attach", "-t", self.find(wanted).id)


class Person:
    """A twin of the people service: keeps first results by key, fails or holds back on demand."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.given: list[commands.Command] = []
        self.results: dict[str, Receipt] = {}
        self.failure: Exception | None = None
        self.arrivals: asyncio.Queue[Arrival] = asyncio.Queue()
        self.waiting = asyncio.Event()
        self.given_up = asyncio.Event()
        self.hold: asyncio.Event | None = None

    async def send(self, command: commands.Command, key: str) -> Receipt:
        if self.failure is not None:
            raise self.failure
        self.waiting.set()
        if self.hold is not None:
            await self.hold.wait()
        if key in self.results:
            return replace(self.results[key], repeated=True)
        self.given.append(command)
        found = next(iter(self.books.all_exchanges.values()))
        written = message(found, 50 + len(self.given), sender=End.OPENER, author=Author.PERSON)
        self.results[key] = Receipt(exchange=found, message=written)
        return self.results[key]

    async def wait(self, exchange: str, seconds: int) -> tuple[Exchange, Arrival]:
        self.waiting.set()
        try:
            async with asyncio.timeout(seconds):
                return self.books.all_exchanges[exchange], await self.arrivals.get()
        except TimeoutError:
            return self.books.all_exchanges[exchange], Arrival(timed_out=True)
        except asyncio.CancelledError:
            self.given_up.set()
            raise


class Glance:
    """A twin of the node's overview."""

    def __init__(self, home: Path) -> None:
        self.stopping = asyncio.Event()
        self.now = NodeStatus(
            node_id=NODE, version="1.2", pid=os.getpid(), started_us=77, home=str(home), sessions_running=1,
            sessions_ended=2, exchanges_open=3, questions_open=4, timeline_rows=2**53, timeline_writable=True,
            screen_engine="rules", screen_version="7", notices_owed=5, agents_connected=6, tmux_version="3.3a",
            timeline_alarms=("The disk is full.",),
        )  # fmt: skip

    async def status(self) -> NodeStatus:
        return self.now

    def stop(self) -> None:
        self.stopping.set()


class Node:
    """A node whose inside is simulated, in the folder `home`."""

    def __init__(self, home: Path, limits: Limits | None = None) -> None:
        self.home = home
        self.books = Books()
        self.desk = Desk(self.books)
        self.person = Person(self.books)
        self.log = Log()
        self.proofs = Proving()
        self.pruning, self.erasing = Pruning(), Erasing()
        self.noted = Noted()
        self.glance = Glance(home)
        self.questions = Questions()
        self.places = Places()
        self.installed = Installed()
        self.trusted = Trusted()
        self.among = Among(self.trusted)
        self.pairings = Pairings()
        self.mirroring = Mirroring()
        self.transfers = Moving()
        self.api = LocalApi(
            node_id=NODE,
            store=self.books,
            sessions=self.desk,
            people=self.person,
            timeline=TimelineApi(
                audit=self.log, exports=self.noted, proofs=self.proofs, retention=self.pruning, erasures=self.erasing
            ),
            overview=self.glance,
            limits=limits or Limits(),
            entropy=os.urandom,
            place=place,
            work=WorkApi(store=self.books, approvals=self.questions, workspaces=self.places, agents=self.installed),
            mesh=MeshApi(overview=self.among, peers=self.trusted, pairing=self.pairings, transfers=self.transfers),
            mirror=MirrorApi(
                mirrors=self.mirroring, watch=self.mirroring, relaying=self.mirroring, limits=limits or Limits()
            ),
        )
        self.worker = self.desk.put(session(2))
        self.put(exchange("e", self.worker))

    def put(self, *exchanges: Exchange) -> None:
        for one in exchanges:
            self.books.all_exchanges[one.id] = one

    @property
    def socket(self) -> Path:
        return paths.run_dir(self.home) / "local.sock"

    @property
    def token(self) -> Path:
        return self.socket.with_name("token")

    @asynccontextmanager
    async def up(self) -> AsyncIterator[LocalClient]:
        async with self.api.serve(self.socket), LocalClient(self.home) as client:
            yield client


@asynccontextmanager
async def stranger(node: Node, *options: tuple[str, int]) -> AsyncIterator[aio.Channel]:
    """A program which speaks gRPC to the node's socket, but is not our client."""
    alone = ("grpc.use_local_subchannel_pool", 1)
    async with aio.insecure_channel(unix_target(node.socket), options=[alone, *options]) as channel:
        yield channel


async def refusal(call: Awaitable[object]) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await call
    return caught.value
