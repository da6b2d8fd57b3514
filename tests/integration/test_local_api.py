"""A real server and a real client on a real unix socket; what lies behind the node's ports is simulated."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TypeVar

import pytest

from node import codec, errmap
from node.core import commands
from node.core.commands import Arrival, Receipt, Taken
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
from node.core.timeline import Problem, ProblemCode, Verification
from node.grpc_setup import aio, grpc, unix_target
from node.local_api import SERVICE, Door, LocalApi
from node.local_client import LocalClient
from node.platform import paths
from node.ports import NewSession, NodeStatus, RowFilter, StoredRow, VerifyProgress
from node.wire.v1 import local_pb2 as pb

T = TypeVar("T")
NODE = "n" * 16
PERSON = Address(node=NODE, session=None)
HOSTILE = "\x1b[2J\u202eevil\x00\r\n\u200b \U000e0041 'quote' \\ ünïcode 😀 </tool>\n"
METHODS = [method.name for method in pb.DESCRIPTOR.services_by_name["LocalService"].methods]


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

    async def read(self, work: Callable[[Books], T]) -> T:
        return await asyncio.to_thread(work, self)

    def sessions(self, *, archived: bool = False) -> tuple[Session, ...]:
        found = (s for s in self.all_sessions.values() if archived or s.status is not SessionStatus.ARCHIVED)
        return tuple(sorted(found, key=lambda s: -s.created_us))

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


class Log:
    """A twin of the timeline's reader: rows are added by the test, followers are woken."""

    def __init__(self) -> None:
        self.stored = [self.row(seq) for seq in range(5)]
        self.added = asyncio.Condition()
        self.following = asyncio.Event()
        self.left = asyncio.Event()
        self.wanted: list[RowFilter] = []
        self.streams: list[AsyncIterator[StoredRow]] = []
        self.found = Verification(
            origin="local/n/1", rows=5, first_seq=0, last_seq=4, root=b"\x01" * 32, ok=False,
            problem=Problem(seq=3, code=ProblemCode.EDITED, words="row 3 was edited"),
            clock_steps=(), clock_steps_total=0, warnings=("the clock went back",),
        )  # fmt: skip

    @staticmethod
    def row(seq: int) -> StoredRow:
        return StoredRow(
            seq=seq, data=bytes([seq]) * 9 + b"\xff\x00", leaf=bytes([seq]) * 32, side=(("title", HOSTILE),)
        )

    async def add(self, seq: int) -> None:
        async with self.added:
            self.stored.append(self.row(seq))
            self.added.notify_all()

    def rows(self, wanted: RowFilter, *, follow: bool) -> AsyncIterator[StoredRow]:
        self.wanted.append(wanted)
        # Kept, so that a stream which nobody closes is not closed by the collector either.
        self.streams.append(self._rows(wanted, follow=follow))
        return self.streams[-1]

    async def _rows(self, wanted: RowFilter, *, follow: bool) -> AsyncIterator[StoredRow]:
        at = wanted.from_seq
        try:
            while True:
                for row in self.stored[at:]:
                    yield row
                    at += 1
                if not follow:
                    return
                async with self.added:
                    self.following.set()
                    while len(self.stored) <= at:
                        await self.added.wait()
        finally:
            self.left.set()

    async def verify(self) -> AsyncIterator[VerifyProgress]:
        yield VerifyProgress(rows=2, total=5)
        yield VerifyProgress(rows=5, total=5, result=self.found)


class Glance:
    """A twin of the node's overview."""

    def __init__(self, home: Path) -> None:
        self.stopping = asyncio.Event()
        self.now = NodeStatus(
            node_id=NODE, version="1.2", pid=os.getpid(), started_us=77, home=str(home), sessions_running=1,
            sessions_ended=2, exchanges_open=3, questions_open=4, timeline_rows=2**53, timeline_writable=True,
            screen_engine="rules", screen_version="7", notices_owed=5, agents_connected=6, tmux_version="3.3a",
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
        self.glance = Glance(home)
        self.api = LocalApi(
            node_id=NODE,
            store=self.books,
            sessions=self.desk,
            people=self.person,
            audit=self.log,
            overview=self.glance,
            limits=limits or Limits(),
            entropy=os.urandom,
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
    async with aio.insecure_channel(
        unix_target(node.socket), options=[("grpc.use_local_subchannel_pool", 1), *options]
    ) as c:
        yield c


async def refusal(call: Awaitable[object]) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await call
    return caught.value


@played
async def test_every_method_of_the_service_is_served(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert pb.DESCRIPTOR.services_by_name["LocalService"].full_name == SERVICE
    assert list(node.api.handlers(Door("a"))) == METHODS


@played
async def test_status_and_stop(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        assert asdict(await client.status()) == asdict(node.glance.now)
        assert not node.glance.stopping.is_set()
        assert await client.stop() == os.getpid()
        assert node.glance.stopping.is_set()


@played
async def test_sessions_from_start_to_end(tmp_path: Path) -> None:
    node = Node(tmp_path)
    new = NewSession(
        argv=("claude", "--say", HOSTILE.replace("\0", "")), cwd="/home/zoë", env=(("A", "1"), ("B", "ü=\n")),
        nickname="payments", title="pay", workspace="default", width=120, height=40,
    )  # fmt: skip
    async with node.up() as client:
        started = await client.run_session(new)
        assert node.desk.started == [new]
        assert (started.session.label, started.look_alikes) == ("@payments", ("@nick9l",))
        assert started.session.argv == new.argv

        node.books.unread_of[Address(node=NODE, session=node.worker.id)] = 3
        second, first = (await client.sessions()), node.books.sessions()
        assert [view.id for view in second] == [one.id for one in first]
        seen = {view.label: view for view in second}["@nick2"]
        assert (seen.unread, seen.open_exchanges, seen.title) == (3, 1, node.worker.title)
        assert (seen.status, seen.state, seen.cwd) == (SessionStatus.RUNNING, AgentState.IDLE, node.worker.cwd)

        assert await client.attach_argv("@nick2") == ("tmux", "attach", "-t", node.worker.id)
        assert (await client.rename_session("@nick2", HOSTILE)).title == HOSTILE
        assert (await client.set_nickname("@nick2", "ledger")).session.label == "@ledger"
        assert (await client.set_nickname("@ledger", "")).session.nickname is None
        assert (await client.archive_session(node.worker.id)).status is SessionStatus.ARCHIVED
        assert [view.label for view in await client.sessions()] == ["@payments"]
        assert len(await client.sessions(archived=True)) == 2
        back = await client.unarchive_session(node.worker.id)
        assert (back.session.status, back.nickname_lost) == (SessionStatus.ENDED, "nick2")
        gone = await client.remove_session(node.worker.id)
        assert (gone.id, gone.failed_exchanges) == (node.worker.id, ("e" * 16,))
        error = await refusal(client.attach_argv("@nobody"))
        assert (error.code, error.details) == (ErrorCode.NOT_FOUND, {"wanted": "@nobody"})


@played
async def test_exchanges_are_listed_with_names_and_filtered(tmp_path: Path) -> None:
    node = Node(tmp_path)
    worker = Address(node=NODE, session="gone" * 4)
    node.put(
        exchange("f", node.worker, kind=Kind.DELEGATION, worker=worker),
        exchange("g", node.worker, status=Status.CANCELLED, reason="too late"),
    )
    stopped = message(node.books.all_exchanges["f" * 16], 1, ladder=Ladder(recorded_us=1, screened="withhold"))
    node.books.all_messages = {
        "e" * 16: [message(node.books.all_exchanges["e" * 16], 1, "Done.\nMore.")],
        "f" * 16: [stopped],
    }
    async with node.up() as client:
        request, delegation = await client.exchanges()
        assert (request.opener, request.worker, request.worker_session) == ("the person", "@nick2", node.worker.id)
        assert (request.messages, request.last_word, request.rung) == (1, "Done.", "landed")
        # A session that was deleted keeps its id; a text that was withheld is not spread.
        assert (delegation.worker, delegation.last_word, delegation.rung) == ("gonegone", "", "withheld")
        assert [view.id[0] for view in await client.exchanges(closed=True)] == ["e", "f", "g"]
        assert [view.id[0] for view in await client.exchanges(kind=Kind.DELEGATION, limit=1)] == ["f"]
        assert (await client.exchanges(closed=True))[2].reason == "too late"
        assert (await refusal(client.exchanges(limit=1_001))).code is ErrorCode.LIMIT
        assert (await refusal(client.exchanges(limit=-1))).code is ErrorCode.INVALID_ARGUMENT


@played
async def test_a_conversation_comes_whole_and_unchanged(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    written = [
        message(one, 1, sender=End.OPENER, author=Author.PERSON, title=HOSTILE),
        message(one, 2, kind=MessageKind.ASK, reply_to="e" * 16),
        message(one, 3, author=Author.NODE, snippet=HOSTILE, advice="say it differently"),
    ]
    node.books.all_messages[one.id] = written
    async with node.up() as client:
        shown = await client.exchange("eeeeee")
        assert shown == await client.exchange("E" * 16)
        assert [m.text for m in shown.messages] == [HOSTILE] * 3
        assert [m.sender for m in shown.messages] == ["the person", "@nick2", "the node"]
        assert (shown.messages[0].title, shown.messages[2].snippet) == (HOSTILE, HOSTILE)
        assert (shown.messages[1].reply_to, shown.messages[1].kind) == ("e" * 16, MessageKind.ASK)
        assert (shown.messages[0].ladder.landed_us, shown.messages[0].ladder.read_us) == (8, None)
        assert (await refusal(client.exchange("zzzzzz"))).code is ErrorCode.NOT_FOUND
        assert "helio requests" in (await refusal(client.exchange("e"))).message


@played
async def test_a_conversation_larger_than_any_message_of_grpc_comes_in_pages(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    node.books.all_messages[one.id] = [message(one, n, "語" * 100_000) for n in range(1, 131)]
    async with node.up() as client:
        shown = await client.exchange(one.id)
    assert sum(len(m.text.encode()) for m in shown.messages) > codec.RESPONSE_BYTES
    assert [m.number for m in shown.messages] == list(range(1, 131))


@played
async def test_a_persons_commands(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        receipt = await client.send_request("@nick2", HOSTILE, title="t", key="k1")
        again = await client.send_request("@nick2", HOSTILE, title="t", key="k1")
        assert (receipt.repeated, again.repeated) == (False, True)
        assert (receipt.message, receipt.message.sender) == (again.message, "the person")
        await client.answer("abcdef", "yes")
        await client.answer("", "the only one")
        await client.steer("eeeeee", "faster")
        await client.close_exchange("eeeeee", accepted=False, note="no")
        await client.cancel_exchange("eeeeee", reason="late")
        assert node.person.given == [
            commands.Request(to="@nick2", text=HOSTILE, title="t"),
            commands.Answer(question="abcdef", text="yes"),
            commands.Answer(question=None, text="the only one"),
            commands.Steer(exchange="eeeeee", text="faster"),
            commands.Close(exchange="eeeeee", accepted=False, note="no"),
            commands.Cancel(exchange="eeeeee", reason="late"),
        ]
        for key in ("a b", "x" * 65, "é"):
            assert (await refusal(client.steer("e", "x", key=key))).code is ErrorCode.INVALID_ARGUMENT
        assert len(node.person.given) == 6


@played
async def test_waiting_brings_what_arrives_or_says_that_nothing_came(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    # As many and as long messages as an inbox hands over at once.
    taken = tuple(Taken(message=message(one, n, "語" * 100_000), exchange=one, sender="@nick2") for n in range(1, 21))
    async with node.up() as client:
        assert (await client.wait_exchange(one.id, 0)).timed_out
        await node.person.arrivals.put(Arrival(taken=taken, remaining=4))
        arrival = await client.wait_exchange(one.id, 20)
        assert (len(arrival.messages), arrival.remaining, arrival.timed_out) == (20, 4, False)
        assert (arrival.exchange.id, arrival.messages[19].text) == (one.id, "語" * 100_000)


@played
async def test_the_timeline_is_read_filtered_and_verified(tmp_path: Path) -> None:
    node = Node(tmp_path)
    wanted = RowFilter(
        from_seq=3, limit=9, engine="e", decision="d", session="s", exchange="x", message="m",
        since_us=1, until_us=2, tail=True,
    )  # fmt: skip
    async with node.up() as client:
        rows = [row async for row in client.timeline(wanted)]
        assert node.log.wanted == [wanted]
        assert [asdict(row) for row in rows] == [asdict(row) for row in node.log.stored[3:]]
        first, last = [view async for view in client.verify_timeline()]
        assert (first.rows, first.total, first.result) == (2, 5, None)
        assert last.result is not None
        assert last.result.problem is not None
        assert (last.result.ok, last.result.root, last.result.origin) == (False, "01" * 32, "local/n/1")
        assert asdict(last.result.problem) == {"seq": 3, "code": ProblemCode.EDITED, "words": "row 3 was edited"}
        assert last.result.warnings == ("the clock went back",)


@played
async def test_every_error_code_comes_back_as_itself(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        for code in ErrorCode:
            sent = MeshError(code, f"{code}: {HOSTILE}", {"n": 2**60, "ok": True, "name": HOSTILE, "c": ("a", "b")})
            node.person.failure = sent
            back = await refusal(client.steer("e", "x"))
            assert (back.code, back.message, back.details) == (sent.code, sent.message, sent.details)


@played
async def test_an_error_of_any_size_arrives(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        for message_text in ("x" * 500_000, "\U0001f600" * 500_000, "\ud800" * 500_000):
            node.person.failure = MeshError(ErrorCode.WITHHELD, message_text, {"choices": ("y" * 99,) * 999})
            back = await refusal(client.steer("e", "x"))
            assert (back.code, back.message[:900]) == (ErrorCode.WITHHELD, message_text[:900])
        # As large as passes whole: about twice what gRPC takes as metadata by default.
        node.person.failure = MeshError(ErrorCode.WITHHELD, "x" * 16_000, {"n": 1})
        for _ in range(20):
            back = await refusal(client.steer("e", "x"))
            assert (len(back.message), back.details) == (16_000, {"n": 1})


@played
async def test_a_failure_inside_tells_the_log_and_not_the_caller(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path)
    node.person.failure = ZeroDivisionError("row 17 of messages")
    async with node.up() as client:
        error = await refusal(client.steer("e", "x"))
        assert await client.status()
    assert (error.code, error.details) == (ErrorCode.INTERNAL, {})
    assert "row 17" not in error.message
    assert [record.levelname for record in caplog.records if record.name.startswith("node")] == ["ERROR"]
    assert "ZeroDivisionError: row 17 of messages" in caplog.text
    assert "SteerExchangeRequest failed" in caplog.text


@pytest.mark.parametrize("token", [None, b"", b"0" * 64, b"\xff\xfe"])
@played
async def test_no_method_answers_without_the_token(tmp_path: Path, token: bytes | None) -> None:
    node = Node(tmp_path)
    metadata = () if token is None else ((("helio-token-bin" if b"\xff" in token else "helio-token"), token),)
    async with node.api.serve(node.socket), stranger(node) as channel:
        for name in METHODS:
            make = channel.unary_stream if name.endswith("Timeline") else channel.unary_unary
            call = make(f"/{SERVICE}/{name}")(b"", metadata=metadata)
            with pytest.raises(aio.AioRpcError) as caught:
                await (call.read() if name.endswith("Timeline") else call)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED, name
            assert errmap.from_rpc(caught.value).code is ErrorCode.UNAUTHENTICATED, name
    assert (node.person.given, node.desk.started, node.glance.stopping.is_set()) == ([], [], False)


@played
async def test_a_client_with_a_token_from_before_is_told_so(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.api.serve(node.socket):
        right = node.token.read_text()
        node.token.write_text("0" * 64)
        async with LocalClient(tmp_path) as client:
            assert (await refusal(client.status())).code is ErrorCode.UNAUTHENTICATED
            assert (await refusal(anext(client.timeline(RowFilter())))).code is ErrorCode.UNAUTHENTICATED
        node.token.write_bytes(b"\xff\xfe")
        assert (await refusal(LocalClient(tmp_path).__aenter__())).code is ErrorCode.UNAUTHENTICATED
        node.token.unlink()
        assert (await refusal(LocalClient(tmp_path).__aenter__())).code is ErrorCode.UNAUTHENTICATED
        node.token.write_text(right)
        async with LocalClient(tmp_path) as client:
            assert (await client.status()).node_id == NODE


@played
async def test_socket_and_token_are_the_owners_alone_and_a_token_lives_as_long_as_its_server(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.api.serve(node.socket):
        first = node.token.read_text()
        assert stat.S_IMODE(node.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(node.token.stat().st_mode) == 0o600
        assert stat.S_IMODE(node.socket.parent.stat().st_mode) == 0o700
        assert len(first) == 64
    assert not node.socket.exists()
    async with node.api.serve(node.socket):
        assert node.token.read_text() != first


@played
async def test_a_socket_that_a_killed_node_left_is_replaced(tmp_path: Path) -> None:
    node = Node(tmp_path)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(node.socket))
    assert node.socket.exists()
    node.token.write_text("0" * 64)
    error = await refusal(LocalClient(tmp_path).__aenter__())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)
    # Nobody listens there, which is known without waiting.
    assert "No node listens" in error.message
    async with node.up() as client:
        assert (await client.status()).node_id == NODE


@played
async def test_a_second_server_is_refused_and_the_first_keeps_its_socket_and_token(tmp_path: Path) -> None:
    node, second = Node(tmp_path), Node(tmp_path)
    async with node.up() as client:
        token = node.token.read_text()
        async with AsyncExitStack() as stack:
            error = await refusal(stack.enter_async_context(second.api.serve(second.socket)))
        assert (error.code, "helio down" in error.message) == (ErrorCode.NODE_RUNNING, True)
        assert node.token.read_text() == token
        async with LocalClient(tmp_path) as other:
            assert await other.status() == await client.status()


@played
async def test_what_is_not_known_to_be_left_over_stays(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.socket.write_text("a letter")
    async with AsyncExitStack() as stack:
        assert (await refusal(stack.enter_async_context(node.api.serve(node.socket)))).code is ErrorCode.UNAVAILABLE
    assert node.socket.read_text() == "a letter"
    node.socket.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as foreign:
        foreign.bind(str(node.socket))
        async with AsyncExitStack() as stack:
            error = await refusal(stack.enter_async_context(node.api.serve(node.socket)))
        assert error.code is ErrorCode.UNAVAILABLE
        assert node.socket.is_socket()
    node.socket.unlink()
    node.socket.parent.chmod(0o755)
    async with AsyncExitStack() as stack:
        error = await refusal(stack.enter_async_context(node.api.serve(tmp_path / "run" / "local.sock")))
    assert (error.code, "chmod 700" in error.message) == (ErrorCode.UNAVAILABLE, True)


@played
async def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    node = Node(tmp_path)
    deep = tmp_path / ("d" * 100)
    deep.mkdir(mode=0o700)
    async with AsyncExitStack() as stack:
        error = await refusal(stack.enter_async_context(node.api.serve(deep / "local.sock")))
    assert (error.code, "bytes" in error.message) == (ErrorCode.UNAVAILABLE, True)


@played
async def test_a_home_with_odd_characters_works(tmp_path: Path) -> None:
    home = tmp_path / "a b%41#?ü"
    home.mkdir()
    async with Node(home).up() as client:
        assert (await client.status()).home == str(home)


@played
async def test_nobody_there_is_said_at_once_with_what_to_do(tmp_path: Path) -> None:
    error = await refusal(LocalClient(tmp_path).__aenter__())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)


@played
async def test_a_node_that_hangs_is_not_waited_for_long(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.token.write_text("0" * 64)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(node.socket))
        mute.listen()
        error = await refusal(LocalClient(tmp_path, patience_s=0.2).__aenter__())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)
    assert "did not answer" in error.message


@played
async def test_a_client_that_outlives_the_node_is_told(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with AsyncExitStack() as stack:
        async with node.api.serve(node.socket):
            client = await stack.enter_async_context(LocalClient(tmp_path))
            assert await client.status()
        error = await refusal(client.status())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)


@played
async def test_a_follower_gets_rows_as_they_are_written_and_may_leave(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        async with aclosing(client.timeline(RowFilter(from_seq=4), follow=True)) as rows:
            assert (await anext(rows)).seq == 4
            await node.log.following.wait()
            await node.log.add(5)
            assert (await anext(rows)).seq == 5
            assert not node.log.left.is_set()
        await node.log.left.wait()
        assert (await client.status()).node_id == NODE


@played
async def test_a_reader_who_stops_reading_and_leaves_frees_the_node(tmp_path: Path) -> None:
    node = Node(tmp_path)
    # More than gRPC takes in ahead of the reader, so that the node is in the middle of writing.
    node.log.stored = [node.log.row(seq % 256) for seq in range(50_000)]
    async with node.up() as client:
        async with aclosing(client.timeline(RowFilter())) as rows:
            assert (await anext(rows)).seq == 0
            assert not node.log.left.is_set()
        await node.log.left.wait()


@played
async def test_a_follower_whose_task_is_cancelled_leaves_nothing_running(tmp_path: Path) -> None:
    node = Node(tmp_path)

    async def follow(client: LocalClient) -> None:
        async for _ in client.timeline(RowFilter(), follow=True):
            pass

    async with node.up() as client, asyncio.TaskGroup() as group:
        task = group.create_task(follow(client))
        await node.log.following.wait()
        task.cancel()
        await node.log.left.wait()


@played
async def test_when_the_node_stops_followers_end_well_and_waits_are_told(tmp_path: Path) -> None:
    node = Node(tmp_path)
    seen: list[int] = []

    async def follow(client: LocalClient) -> None:
        seen.extend([row.seq async for row in client.timeline(RowFilter(), follow=True)])

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        server = await stack.enter_async_context(AsyncExitStack())
        await server.enter_async_context(node.api.serve(node.socket))
        client = await stack.enter_async_context(LocalClient(tmp_path))
        following = group.create_task(follow(client))
        waiting = group.create_task(refusal(client.wait_exchange("e" * 16, 600)))
        await node.log.following.wait()
        await node.person.waiting.wait()
        await server.aclose()
        await following
        error = await waiting
    assert seen == [0, 1, 2, 3, 4]
    assert (error.code, "stopping" in error.message) == (ErrorCode.UNAVAILABLE, True)
    assert node.log.left.is_set()
    assert node.person.given_up.is_set()


@played
async def test_a_command_in_the_middle_of_its_work_is_finished_before_the_node_stops(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.person.hold = asyncio.Event()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        server = await stack.enter_async_context(AsyncExitStack())
        await server.enter_async_context(node.api.serve(node.socket))
        client = await stack.enter_async_context(LocalClient(tmp_path))
        sending = group.create_task(client.steer("e", "x"))
        await node.person.waiting.wait()
        closing = group.create_task(server.aclose())
        # It would wait for ten minutes, so its end shows that stopping has begun.
        error = await refusal(client.wait_exchange("e" * 16, 600))
        assert error.code in {ErrorCode.UNAVAILABLE, ErrorCode.NODE_NOT_RUNNING}
        node.person.hold.set()
        assert (await sending).repeated is False
        await closing


@played
async def test_a_wait_that_its_caller_gives_up_is_given_up_in_the_node(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client, asyncio.TaskGroup() as group:
        task = group.create_task(client.wait_exchange("e" * 16, 600))
        await node.person.waiting.wait()
        task.cancel()
        await node.person.given_up.wait()


@played
async def test_leaving_the_client_ends_its_calls(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.api.serve(node.socket):
        async with LocalClient(tmp_path) as client:
            rows = client.timeline(RowFilter(), follow=True)
            assert (await anext(rows)).seq == 0
        await node.log.left.wait()
        await rows.aclose()


@played
async def test_too_much_at_once_is_refused_on_both_sides(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        error = await refusal(client.send_request("@nick2", "x" * codec.REQUEST_BYTES))
        assert error.code is ErrorCode.LIMIT
        metadata = (("helio-token", node.token.read_text()),)
        data = pb.SendRequestRequest(text="x" * codec.REQUEST_BYTES).SerializeToString()
        async with stranger(node, ("grpc.max_send_message_length", -1)) as channel:
            with pytest.raises(aio.AioRpcError) as caught:
                await channel.unary_unary(f"/{SERVICE}/SendRequest")(data, metadata=metadata)
        assert errmap.from_rpc(caught.value).code is ErrorCode.LIMIT
        assert node.person.given == []
        assert await client.send_request("@nick2", "x" * (codec.REQUEST_BYTES - 1_000))


@played
async def test_more_calls_than_the_limit_are_refused_until_some_end(tmp_path: Path) -> None:
    node = Node(tmp_path, Limits(connections=2))
    async with node.up() as client, AsyncExitStack() as stack:
        for _ in range(2):
            rows = await stack.enter_async_context(aclosing(client.timeline(RowFilter(), follow=True)))
            assert (await anext(rows)).seq == 0
        assert (await refusal(client.status())).code is ErrorCode.LIMIT
        await stack.aclose()
        await node.log.left.wait()


@played
async def test_garbage_and_unknown_methods_do_no_harm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    node = Node(tmp_path)
    async with node.up() as client, stranger(node) as channel:
        right, wrong = (("helio-token", node.token.read_text()),), (("helio-token", "0" * 64),)
        for name, metadata, code in (
            ("Status", right, ErrorCode.INVALID_ARGUMENT),
            ("Status", wrong, ErrorCode.UNAUTHENTICATED),
            ("Format", right, ErrorCode.UNSUPPORTED),
        ):
            with pytest.raises(aio.AioRpcError) as caught:
                await channel.unary_unary(f"/{SERVICE}/{name}")(b"\xff\xff\xff", metadata=metadata)
            assert errmap.from_rpc(caught.value).code is code
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.unary_stream(f"/{SERVICE}/ReadTimeline")(b"\xff", metadata=right).read()
        assert errmap.from_rpc(caught.value).code is ErrorCode.INVALID_ARGUMENT
        assert (await client.status()).node_id == NODE
    # Nothing that a stranger sends fills the log.
    assert [record for record in caplog.records if record.name != "asyncio"] == []


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb"])
@played
async def test_text_that_is_no_text_is_refused_before_it_leaves(tmp_path: Path, text: str) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        for call in (
            client.send_request("@nick2", text),
            client.rename_session("@nick2", text),
            client.run_session(NewSession(argv=("a",), cwd="/", env=(("X", text),))),
            client.wait_exchange("e" * 16, -1),
            anext(client.timeline(RowFilter(from_seq=-1))),
        ):
            assert (await refusal(call)).code is ErrorCode.INVALID_ARGUMENT
    assert (node.person.given, node.desk.started) == ([], [])


@played
async def test_a_text_broken_in_the_node_does_not_hide_the_rest(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    node.books.all_messages[one.id] = [message(one, 1, "half \ud83d"), message(one, 2, "whole")]
    async with node.up() as client:
        assert [m.text for m in (await client.exchange(one.id)).messages] == ["half \ufffd", "whole"]


@played
async def test_a_call_that_takes_too_long_ends_with_an_error(tmp_path: Path) -> None:
    door = Door("a" * 64)

    async def never(_given: pb.StatusRequest) -> pb.StatusResponse:
        await asyncio.Event().wait()
        raise AssertionError

    server = aio.server()
    handler = door.unary(never, pb.StatusRequest, waits_s=0.05)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Status": handler}),))
    path = paths.run_dir(tmp_path) / "s"
    server.add_insecure_port(unix_target(path))
    await server.start()
    async with aio.insecure_channel(unix_target(path)) as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.unary_unary(f"/{SERVICE}/Status")(b"", metadata=(("helio-token", "a" * 64),))
    await server.stop(0)
    error = errmap.from_rpc(caught.value)
    assert (error.code, "within 0.05 s" in error.message) == (ErrorCode.UNAVAILABLE, True)
