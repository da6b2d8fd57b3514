"""The ports of the tunnel: what its streams need of services, and services of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from node.core.effects import Fetch
from node.core.mesh import Peer
from node.core.model import Blocked, Status
from node.core.relay import Forward, ForwardResult, Item, News, Queued, RemoteSession
from node.core.transfer import Attachment


class RelayReader(Protocol):
    """The relay's part of ports.Reader."""

    def queued(self, peer: str, after: int, limit: int, *, forward: bool) -> tuple[Queued, ...]: ...
    def queued_message(self, message_id: str) -> Queued | None: ...
    def queued_before(self, then_us: int, limit: int) -> tuple[Queued, ...]: ...
    def queued_files(self, peer: str, limit: int) -> tuple[Queued, ...]: ...
    def queued_messages(self, peer: str, limit: int) -> tuple[Queued, ...]: ...
    def newest_relay(self) -> int: ...
    def fetches(self, node: str, limit: int) -> tuple[tuple[int, Fetch], ...]: ...
    def remote_session(self, session_id: str) -> RemoteSession | None: ...
    def remote_sessions(self, node: str | None = None) -> tuple[RemoteSession, ...]: ...
    def open_from(self, node: str) -> int: ...
    def standing(self, exchanges: Collection[str]) -> Mapping[str, Status]: ...


class RelayTx(RelayReader, Protocol):
    """The relay's part of ports.Tx."""

    def queue(
        self, peer: str, exchange: str, message: str, now_us: int, *, forward: bool, progress: bool, files: bool
    ) -> None: ...
    def files_crossed(self, message: str) -> None: ...
    def files_wanted(self, message: str) -> None: ...
    def given_up(self, message: str) -> None: ...
    def crossed(self, numbers: Sequence[int]) -> None: ...
    def withdraw(self, exchange: str) -> None: ...
    def forget_gone(self, node: str) -> None: ...
    def forget_relays_of_strangers(self) -> None: ...
    def put_remote_session(self, session: RemoteSession) -> None: ...


class Egress(Protocol):
    """The client's end of a mirror: what it forwards, and what it makes of the server's word."""

    async def forwards(self, peer: str, after: int) -> tuple[Forward, ...]:
        """What may cross now, in order, as much as goes into one frame."""
        ...

    async def settled(self, peer: str, results: Sequence[ForwardResult]) -> None:
        """What became of forwards at the server; on disk when this returns."""
        ...

    async def take(self, peer: str, items: Sequence[Item]) -> int:
        """What came back; the highest number, all up to it on disk when this returns."""
        ...

    async def directory(self, peer: str, sessions: Sequence[RemoteSession]) -> None:
        """Who can be asked there now."""
        ...

    async def reachable(self, peer: str, *, up: bool, why: str = "") -> None:
        """Whether the server takes forwards; the ladders of what waits say since when it does not."""
        ...

    async def next_queued(self, seen: int) -> int:
        """Waits until something may have been queued since `seen` (0 at first); the new count."""
        ...


class FileEgress(Protocol):
    """The files of what a client forwards, and of what comes back. UNAVAILABLE and LIMIT mean: try again later."""

    async def push_files(self, peer: str, carrier: Carrier) -> None:
        """Pushes the files of messages that wait for that."""
        ...

    async def pull_files(self, peer: str, carrier: Carrier) -> None:
        """Pulls the files of messages that came from there."""
        ...


class Ingress(Protocol):
    """The server's end of a mirror."""

    async def take(self, peer: Peer, forwards: Sequence[Forward]) -> tuple[ForwardResult, ...]:
        """What became of each, in order, on disk when this returns."""
        ...

    async def news(self, peer: str, after: int, exchanges: Collection[str]) -> News:
        """What happened in the client's exchanges since, in order, as much as goes into one frame.

        And how those exchanges stand at that moment: whatever is told later of them is not older.
        """
        ...

    async def held(self, items: Sequence[Item]) -> None:
        """The client holds these."""
        ...

    async def directory(self) -> tuple[RemoteSession, ...]:
        """Whom a mirror may ask."""
        ...

    async def next_queued(self, seen: int) -> int:
        """Waits until something may have been queued since `seen` (0 at first); the new count."""
        ...


class RemoteWaits(Protocol):
    """The part of the graph of blocked calls that other nodes have told of."""

    def told(self, peer: str, stream: object, waits: Sequence[Blocked]) -> None:
        """The whole of what that node tells on a stream, which is an object; nothing when that is over."""
        ...

    def towards(self, peer: str) -> tuple[Blocked, ...]:
        """The waits, here and told of by others, that lead to a session of that node."""
        ...

    async def next_wait(self, seen: int) -> int:
        """Waits until the graph has changed since `seen` (0 at first); the new count."""
        ...


class Carrier(Protocol):
    """Carries content between this node and a peer's file channel; UNAVAILABLE means: try again later."""

    async def push(self, peer: str, message: str, attachment: Attachment) -> None: ...
    async def pull(self, peer: str, message: str, attachment: Attachment) -> None: ...
