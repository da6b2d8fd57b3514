"""A client and a server with a file channel between them: real files, real sockets, twins for who may do what."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.mesh import LinkState
from node.core.transfer import Attachment
from node.files import Files
from node.parcels import Parcels
from node.rpc_client import LinkKeeper
from node.transfer_log import TransferLog
from tests.peer_twin import Person, ShiftedClock, TrustTwin, person, server_of
from tests.waiting import until
from tunnel.session.file_client import Carrier
from tunnel.session.file_server import FileServer

MB = 1 << 20
MESSAGE = "m" * 16
LIMITS = Limits(spare_bytes=1, link_beat_s=1, link_dead_s=4, link_retry_s=1, mesh_handshake_s=2)


class GroundTwin:
    """Implements ports_files.FileGround: one grant, and files of messages by message and hash."""

    def __init__(self) -> None:
        self.granted = True
        self.files: dict[tuple[str, str, str], Attachment] = {}
        self.rows: list[tuple[str, int, ErrorCode | None]] = []

    async def came(self, peer: str, content: Attachment, refused: ErrorCode | None = None) -> None:
        self.rows.append((content.sha256, content.size, refused))

    def may_request(self, peer: str) -> bool:
        return self.granted

    async def may_pull(self, peer: str, message: str, sha256: str) -> Attachment | None:
        return self.files.get((peer, message, sha256))


class Watched(Parcels):
    """Parcels that count what is read of them, and call `at` once so many bytes have been handed out."""

    read_bytes = 0
    after = 0
    at: Callable[[], Awaitable[None]] | None = None

    async def read(self, attachment: Attachment, offset: int) -> AsyncGenerator[bytes, None]:
        async for data in super().read(attachment, offset):
            yield data
            self.read_bytes += len(data)
            if self.at is not None and self.read_bytes >= self.after:
                at, self.at = self.at, None
                await at()

    def once(self, after: int, at: Callable[[], Awaitable[None]]) -> None:
        self.read_bytes, self.after, self.at = 0, after, at


@dataclass(kw_only=True)
class FileNode:
    """A node's home and what keeps files in it."""

    home: Path
    who: Person
    limits: Limits
    files: Files = field(init=False)
    parcels: Watched = field(init=False)
    log: TransferLog = field(init=False)

    async def start(self) -> None:
        """As after a start of the node, over what lies in its home."""
        self.home.mkdir(exist_ok=True)
        clock = ShiftedClock()
        self.files = Files(home=self.home, limits=self.limits)
        self.parcels = Watched(home=self.home, limits=self.limits, clock=clock, quarantine=self.files)
        self.log = TransferLog(clock=clock, entropy=os.urandom, limits=self.limits)
        await self.parcels.load()

    async def has(self, name: str, data: bytes) -> Attachment:
        """A file in the node's quarantine, as when an agent has attached it."""
        folder = self.home.with_name(f"{self.home.name}-agent")
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        (one,) = await self.files.stage([name], base=os.path.realpath(folder), allowed=())
        return one

    def kept(self) -> set[str]:
        """What is in the quarantine."""
        return {path.name for path in (self.home / "files").glob("*")}

    def parts(self) -> list[str]:
        """What lies there of peers' content, without its hashes."""
        return sorted(path.name[65:] for path in (self.home / "parcels").glob("*/*"))

    def content(self, one: Attachment) -> bytes:
        return (self.home / "files" / one.sha256).read_bytes()


@dataclass(kw_only=True)
class Stage:
    """Both of them, connected."""

    client: FileNode
    server: FileNode
    ground: GroundTwin
    trust: TrustTwin
    keeper: LinkKeeper
    carrier: Carrier
    port: int

    async def push(self, *attachments: Attachment) -> None:
        for one in attachments:
            await self.carrier.push(self.server.who.id, MESSAGE, one)

    async def pull(self, *attachments: Attachment) -> None:
        for one in attachments:
            await self.carrier.pull(self.server.who.id, MESSAGE, one)

    def sent_by_server(self, one: Attachment, message: str = MESSAGE) -> None:
        """A message with that file is addressed to the client."""
        self.ground.files[self.client.who.id, message, one.sha256] = one

    async def linked(self) -> None:
        await until(lambda: self.keeper.link(self.server.who.id).state is LinkState.UP, "the link")


@asynccontextmanager
async def answering(node: FileNode, trust: TrustTwin, ground: GroundTwin, port: int = 0) -> AsyncIterator[int]:
    """The server node's port."""
    server = server_of(node.who, trust, node.limits)
    files = FileServer(gate=server.gate, ground=ground, parcels=node.parcels, log=node.log, limits=node.limits)
    async with server.serve("127.0.0.1", port, files.handlers()) as bound:
        yield bound


@asynccontextmanager
async def staged(
    folder: Path, *, server_limits: Limits = LIMITS, client_limits: Limits = LIMITS
) -> AsyncIterator[Stage]:
    """The two, with the link up."""
    a, b = person(), person()
    client = FileNode(home=folder / "client", who=a, limits=client_limits)
    server = FileNode(home=folder / "server", who=b, limits=server_limits)
    await client.start()
    await server.start()
    trust, ground = TrustTwin(a.peer()), GroundTwin()
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(answering(server, trust, ground))
        known = TrustTwin(b.peer(f"127.0.0.1:{port}"))
        keeper = LinkKeeper(own=(a.own,), book=known, clock=ShiftedClock(), entropy=os.urandom, limits=client_limits)
        keeper.wanted(known.peers())
        group = await stack.enter_async_context(asyncio.TaskGroup())
        work = group.create_task(keeper.run())
        stack.callback(work.cancel)
        carrier = Carrier(channels=keeper.extra_channel, parcels=client.parcels, log=client.log, limits=client_limits)
        stage = Stage(
            client=client, server=server, ground=ground, trust=trust, keeper=keeper, carrier=carrier, port=port
        )
        await stage.linked()
        yield stage


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
