"""The typed client of the local API, for every front door: one method per call, plain views back, MeshError raised.

Raised by any call besides what it names itself: NODE_NOT_RUNNING when there is no node to talk to, UNAUTHENTICATED when
the token does not fit, UNAVAILABLE when the node does not answer in time or is stopping, LIMIT when a call is too big.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec, codec_work, errmap
from node.core.approval import Decision
from node.core.errors import ErrorCode, MeshError
from node.core.ids import ID_BYTES, make_id
from node.core.model import Kind
from node.core.views import (
    ArrivalView,
    ConversationView,
    ExchangeView,
    MessageView,
    NamedSessionView,
    ReceiptView,
    RemovedView,
    SessionView,
    StatusView,
    UnarchivedView,
)
from node.core.views_work import AgentView, ApprovalView, WorkspaceView
from node.grpc_setup import aio, grpc, unix_target
from node.local_client_mesh import MeshCalls
from node.local_client_mirror import MirrorCalls
from node.local_client_timeline import TimelineCalls
from node.platform import paths
from node.ports import NewSession
from node.wire.v1 import local_pb2 as pb
from node.wire.v1.local_pb2_grpc import LocalServiceStub

CALL_SECONDS: Final = 30.0
START_SECONDS: Final = 60.0
SLOW_SECONDS: Final = 150.0
CONNECT_SECONDS: Final = 5.0

_OPTIONS: Final = (
    ("grpc.max_send_message_length", codec.REQUEST_BYTES),
    ("grpc.max_receive_message_length", codec.RESPONSE_BYTES),
    ("grpc.max_metadata_size", errmap.METADATA_BYTES),
    ("grpc.enable_http_proxy", 0),
    # Clients of one process share neither a connection nor the back-off after a failed one.
    ("grpc.use_local_subchannel_pool", 1),
)

Q = TypeVar("Q", bound=WireMessage)
R = TypeVar("R", bound=WireMessage)


class LocalClient(MeshCalls, MirrorCalls, TimelineCalls):
    """A connection to the node whose folder is `home`: `async with LocalClient(paths.home()) as node: ...`.

    Entering connects, and raises NODE_NOT_RUNNING unless a node answers within `patience_s` seconds. Leaving ends
    every call that is still open. `wanted` is an @nickname or an id prefix; `key` makes the retry of a command return
    its first result, and a new one is made when none is given.
    """

    def __init__(self, home: Path, *, patience_s: float = CONNECT_SECONDS) -> None:
        self._home = home
        self._patience_s = patience_s

    async def __aenter__(self) -> Self:
        folder = paths.run_path(self._home)
        self._socket = folder / paths.LOCAL_SOCKET
        if not _exists(self._socket):
            raise _not_running(f"There is no node at {self._socket}")
        paths.check_private(folder)
        self._metadata = ((codec.TOKEN_METADATA, _read_token(folder / paths.LOCAL_TOKEN)),)
        self._channel = aio.insecure_channel(unix_target(self._socket), options=_OPTIONS)
        self._stub = LocalServiceStub(self._channel)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self._channel.close)
            await self._connect()
            undo.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close()

    async def status(self) -> StatusView:
        """The node at a glance."""
        return codec.status_from_wire(await self._ask(self._stub.Status, pb.StatusRequest))

    async def stop(self) -> int:
        """Ask the node to stop; its process id, which is to be waited for. Sessions keep running."""
        return (await self._ask(self._stub.Stop, pb.StopRequest)).pid

    async def run_session(self, new: NewSession) -> NamedSessionView:
        """Start a session in a new terminal; ALREADY_EXISTS names the holder of a nickname, LIMIT for too many."""
        wire = await self._ask(self._stub.RunSession, lambda: codec.new_session_to_wire(new), START_SECONDS)
        return NamedSessionView(session=codec.session_from_wire(wire.session), look_alikes=tuple(wire.look_alikes))

    async def sessions(self, *, archived: bool = False) -> tuple[SessionView, ...]:
        """Sessions, newest first; with `archived`, also those put away."""
        wire = await self._ask(self._stub.ListSessions, lambda: pb.ListSessionsRequest(archived=archived))
        return tuple(codec.session_from_wire(session) for session in wire.sessions)

    async def attach_argv(self, wanted: str) -> tuple[str, ...]:
        """The command which shows that session's terminal; WRONG_STATE when it has none any more."""
        wire = await self._ask(self._stub.AttachSession, lambda: pb.AttachSessionRequest(session=wanted))
        return tuple(wire.argv)

    async def set_nickname(self, wanted: str, nickname: str) -> NamedSessionView:
        """Give a session a nickname, or take it away with an empty one; ALREADY_EXISTS names the holder."""
        wire = await self._ask(self._stub.SetNickname, lambda: pb.SetNicknameRequest(session=wanted, nickname=nickname))
        return NamedSessionView(session=codec.session_from_wire(wire.session), look_alikes=tuple(wire.look_alikes))

    async def rename_session(self, wanted: str, title: str) -> SessionView:
        """Change a session's title."""
        wire = await self._ask(self._stub.RenameSession, lambda: pb.RenameSessionRequest(session=wanted, title=title))
        return codec.session_from_wire(wire.session)

    async def archive_session(self, wanted: str) -> SessionView:
        """Put a session away: its terminal ends, its record stays."""
        wire = await self._ask(self._stub.ArchiveSession, lambda: pb.ArchiveSessionRequest(session=wanted))
        return codec.session_from_wire(wire.session)

    async def unarchive_session(self, wanted: str) -> UnarchivedView:
        """Take an archived session out again, named by id prefix: an archived session holds no nickname."""
        wire = await self._ask(self._stub.UnarchiveSession, lambda: pb.UnarchiveSessionRequest(session=wanted))
        return UnarchivedView(session=codec.session_from_wire(wire.session), nickname_lost=wire.nickname_lost or None)

    async def remove_session(self, wanted: str) -> RemovedView:
        """Delete a session for good; the exchanges which it still worked for fail."""
        wire = await self._ask(self._stub.RemoveSession, lambda: pb.RemoveSessionRequest(session=wanted))
        return RemovedView(id=wire.id, failed_exchanges=tuple(wire.failed_exchanges))

    async def exchanges(
        self, *, closed: bool = False, kind: Kind | None = None, limit: int = 0
    ) -> tuple[ExchangeView, ...]:
        """Exchanges, newest change first; with `closed`, also those closed; a `limit` of 0 is the node's default."""
        wire = await self._ask(
            self._stub.ListExchanges,
            lambda: pb.ListExchangesRequest(closed=closed, kind=kind.value if kind else "", limit=limit),
        )
        return tuple(codec.exchange_from_wire(exchange) for exchange in wire.exchanges)

    async def exchange(self, wanted: str) -> ConversationView:
        """One exchange, by id prefix, with all its messages and their ladders."""
        messages: list[MessageView] = []
        request = partial(pb.GetExchangeRequest, exchange=wanted)
        while True:
            after = messages[-1].number if messages else 0
            wire = await self._ask(self._stub.GetExchange, partial(request, after=after))
            messages.extend(codec.message_from_wire(message) for message in wire.messages)
            if not wire.more or not wire.messages:
                return ConversationView(exchange=codec.exchange_from_wire(wire.exchange), messages=tuple(messages))

    async def send_request(self, to: str, text: str, *, title: str = "", key: str | None = None) -> ReceiptView:
        """As the person, ask the running session `to` for something; a withheld message comes back marked."""
        wire = await self._ask(
            self._stub.SendRequest, lambda: pb.SendRequestRequest(to=to, text=text, title=title, key=key or new_key())
        )
        return codec.receipt_from_wire(wire)

    async def answer(self, question: str, text: str, *, key: str | None = None) -> ReceiptView:
        """As the person, answer a question named by its id or its exchange's id, in whole or by prefix."""
        wire = await self._ask(
            self._stub.AnswerQuestion,
            lambda: pb.AnswerQuestionRequest(question=question, text=text, key=key or new_key()),
        )
        return codec.receipt_from_wire(wire)

    async def steer(self, exchange: str, text: str, *, key: str | None = None) -> ReceiptView:
        """As the person, add to what is wanted in an exchange of theirs."""
        wire = await self._ask(
            self._stub.SteerExchange,
            lambda: pb.SteerExchangeRequest(exchange=exchange, text=text, key=key or new_key()),
        )
        return codec.receipt_from_wire(wire)

    async def close_exchange(
        self, exchange: str, *, accepted: bool, note: str = "", key: str | None = None
    ) -> ReceiptView:
        """As the person, accept or reject what was delivered in an exchange of theirs."""
        wire = await self._ask(
            self._stub.CloseExchange,
            lambda: pb.CloseExchangeRequest(exchange=exchange, accepted=accepted, note=note, key=key or new_key()),
        )
        return codec.receipt_from_wire(wire)

    async def cancel_exchange(self, exchange: str, *, reason: str = "", key: str | None = None) -> ReceiptView:
        """As the person, call work off, in any exchange."""
        wire = await self._ask(
            self._stub.CancelExchange,
            lambda: pb.CancelExchangeRequest(exchange=exchange, reason=reason, key=key or new_key()),
        )
        return codec.receipt_from_wire(wire)

    async def wait_exchange(self, exchange: str, seconds: int) -> ArrivalView:
        """Block until something arrives for the person in an exchange of theirs; what comes back counts as read."""
        wire = await self._ask(
            self._stub.WaitExchange,
            lambda: pb.WaitExchangeRequest(exchange=exchange, seconds=seconds),
            seconds + CALL_SECONDS,
        )
        return codec.arrival_from_wire(wire)

    async def approvals(self, *, pending: bool = True) -> tuple[ApprovalView, ...]:
        """What agents ask of the person, newest first; without `pending`, also what was decided."""
        wire = await self._ask(self._stub.ListApprovals, lambda: pb.ListApprovalsRequest(pending=pending))
        return tuple(codec_work.approval_from_wire(approval) for approval in wire.approvals)

    async def decide_approval(self, wanted: str, decision: Decision) -> ApprovalView:
        """Decide an open approval, named by id prefix; NOT_FOUND when there is none."""
        wire = await self._ask(
            self._stub.DecideApproval,
            lambda: pb.DecideApprovalRequest(approval=wanted, decision=decision.value),
        )
        return codec_work.approval_from_wire(wire.approval)

    async def workspaces(self) -> tuple[WorkspaceView, ...]:
        """Every workspace, the default one first."""
        wire = await self._ask(self._stub.ListWorkspaces, pb.ListWorkspacesRequest)
        return tuple(codec_work.workspace_from_wire(workspace) for workspace in wire.workspaces)

    async def add_workspace(self, name: str, driver: str, settings: Mapping[str, str]) -> WorkspaceView:
        """A new workspace; ALREADY_EXISTS for a taken name, INVALID_ARGUMENT for a wrong driver or setting."""
        wire = await self._ask(
            self._stub.AddWorkspace,
            lambda: pb.AddWorkspaceRequest(name=name, driver=driver, settings=settings),
            SLOW_SECONDS,
        )
        return codec_work.workspace_from_wire(wire.workspace)

    async def set_workspace(self, name: str, settings: Mapping[str, str], screen: str = "") -> WorkspaceView:
        """Change settings of a workspace, an empty value takes one away, and the mode of its screen if one is given."""
        request = partial(pb.SetWorkspaceRequest, name=name, settings=settings, screen=screen)
        wire = await self._ask(self._stub.SetWorkspace, request, SLOW_SECONDS)
        return codec_work.workspace_from_wire(wire.workspace)

    async def set_reach(self, name: str, names: Sequence[str] | None) -> WorkspaceView:
        """Say which workspaces the sessions of one may ask besides their own; None for every one."""
        wire = await self._ask(
            self._stub.SetReach, lambda: pb.SetReachRequest(name=name, reach=codec_work.reach_to_wire(names))
        )
        return codec_work.workspace_from_wire(wire.workspace)

    async def remove_workspace(self, name: str) -> str:
        """Remove a workspace, and give its name as it was; WRONG_STATE while sessions run in it."""
        request = partial(pb.RemoveWorkspaceRequest, name=name)
        return (await self._ask(self._stub.RemoveWorkspace, request, SLOW_SECONDS)).name

    async def agents(self) -> tuple[AgentView, ...]:
        """The agent CLIs that the node knows, as it finds them on this machine."""
        wire = await self._ask(self._stub.ListAgents, pb.ListAgentsRequest)
        return tuple(codec_work.agent_from_wire(agent) for agent in wire.agents)

    async def _connect(self) -> None:
        state = self._channel.get_state(try_to_connect=True)
        try:
            async with asyncio.timeout(self._patience_s):
                while state is not grpc.ChannelConnectivity.READY:
                    if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                        raise _not_running(f"No node listens at {self._socket}")
                    await self._channel.wait_for_state_change(state)
                    state = self._channel.get_state(try_to_connect=True)
        except TimeoutError as error:
            raise _not_running(
                f"Something listens at {self._socket}, but it did not answer within {self._patience_s:g} s. If "
                "`helio doctor` shows a node which hangs, end that process"
            ) from error

    async def _ask(
        self, method: aio.UnaryUnaryMultiCallable[Q, R], request: Callable[[], Q], seconds: float = CALL_SECONDS
    ) -> R:
        call = method(_built(request), timeout=seconds, metadata=self._metadata)
        try:
            return await call
        except aio.AioRpcError as error:
            raise self._meaning(error) from error
        finally:
            # A call that was dropped is neither ended nor collected by the library (grpc/grpc#43462).
            call.cancel()

    async def _stream(
        self, method: aio.UnaryStreamMultiCallable[Q, R], request: Callable[[], Q]
    ) -> AsyncGenerator[R, None]:
        call = method(_built(request), metadata=self._metadata)
        try:
            async for wire in call:
                yield wire
        except aio.AioRpcError as error:
            raise self._meaning(error) from error
        finally:
            call.cancel()

    def _meaning(self, error: aio.AioRpcError) -> MeshError:
        if error.code() is grpc.StatusCode.UNAVAILABLE and errmap.carried(error) is None:
            return _not_running(
                f"The node at {self._socket} went away before it answered; it is not known whether anything was done"
            )
        return errmap.from_rpc(error)


def new_key() -> str:
    """A key for a command that is to be done once."""
    return make_id(secrets.token_bytes(ID_BYTES))


def _built(request: Callable[[], Q]) -> Q:
    try:
        return request()
    except ValueError as error:
        # Text which is no Unicode (undecodable bytes of an argument), or a number outside of its field.
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            "A value of the call cannot be sent: it is not valid Unicode text, or a number that is negative or far too "
            "large. Nothing was done; correct the value and call again.",
        ) from error


def _exists(path: Path) -> bool:
    return path.exists()


def _read_token(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise MeshError(
            ErrorCode.UNAUTHENTICATED,
            f"The node's token cannot be read from {path}: only the user who runs the node may use it. Run this as "
            "that user, or restart the node with `helio down` and `helio up`.",
            {"path": str(path)},
        ) from error


def _not_running(what: str) -> MeshError:
    return MeshError(ErrorCode.NODE_NOT_RUNNING, f"{what}. The node is not running: run `helio up`.")
