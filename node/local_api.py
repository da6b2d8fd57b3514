"""The local API's server: gRPC on a unix socket that only this user can reach, every call checked against a token.

Texts pass as their authors wrote them: the door which displays one escapes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec
from node.core import commands, views
from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id, match_prefix
from node.core.limits import Limits
from node.core.model import Address, Exchange, Kind, Message, Session
from node.core.transfer import Attachment
from node.grpc_setup import aio, bind_private, clear_stale, grpc
from node.labels import far_label
from node.local_api_mesh import MeshApi
from node.local_api_mirror import MirrorApi
from node.local_api_timeline import TimelineApi
from node.local_api_work import WorkApi
from node.local_door import UNARY_SECONDS, Door
from node.platform import paths
from node.ports import Entropy, Overview, People, Reader, Sessions, Store
from node.wire.v1 import local_pb2 as pb

SERVICE: Final = "node.wire.v1.LocalService"
GRACE_SECONDS: Final = 2.0
LIST_DEFAULT: Final = 100
LIST_MAX: Final = 1_000
# A prefix is looked up among the newest exchanges; a whole id finds any.
PREFIX_AMONG: Final = 10_000
TOKEN_BYTES: Final = 32

_is_key = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII).fullmatch

R = TypeVar("R", bound=WireMessage)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalApi:
    """Answers the calls of this machine's front doors over the node's ports."""

    node_id: str
    store: Store
    sessions: Sessions
    people: People
    timeline: TimelineApi
    overview: Overview
    limits: Limits
    entropy: Entropy
    # Where a file lands: (session id, message id, file) -> path.
    place: Callable[[str, str, Attachment], str] | None = None
    # Without it the calls about approvals, workspaces and agents are UNSUPPORTED.
    work: WorkApi | None = None
    # Without it the calls about other nodes are.
    mesh: MeshApi | None = None
    # Without it the calls about mirrors are.
    mirror: MirrorApi | None = None

    @asynccontextmanager
    async def serve(self, path: Path) -> AsyncIterator[None]:
        """Serves on the unix socket `path`, with a new token in the file beside it, for the length of the block.

        NODE_RUNNING when somebody listens there already; UNAVAILABLE when the folder is open to others or the socket
        cannot be made. Afterwards waits end at once, other calls have GRACE_SECONDS, and the socket is gone.
        """
        paths.check_private(path.parent)
        clear_stale(path)
        door = Door(_write_token(path.with_name(paths.LOCAL_TOKEN), self.entropy))
        server = aio.server(
            options=(
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", codec.REQUEST_BYTES),
                ("grpc.max_send_message_length", codec.RESPONSE_BYTES),
            ),
            maximum_concurrent_rpcs=self.limits.connections,
        )
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, self.handlers(door)),))
        bind_private(server, path)
        await server.start()
        try:
            yield
        finally:
            door.close()
            await server.stop(GRACE_SECONDS)

    def handlers(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Every method of the service by its name, behind `door`."""
        wait_s = self.limits.wait_max_s + UNARY_SECONDS
        return {
            "Status": door.unary(self._status, pb.StatusRequest),
            "Stop": door.unary(self._stop, pb.StopRequest),
            "RunSession": door.unary(self._run_session, pb.RunSessionRequest),
            "ListSessions": door.unary(self._list_sessions, pb.ListSessionsRequest),
            "AttachSession": door.unary(self._attach_session, pb.AttachSessionRequest),
            "SetNickname": door.unary(self._set_nickname, pb.SetNicknameRequest),
            "RenameSession": door.unary(self._rename_session, pb.RenameSessionRequest),
            "ArchiveSession": door.unary(self._archive_session, pb.ArchiveSessionRequest),
            "UnarchiveSession": door.unary(self._unarchive_session, pb.UnarchiveSessionRequest),
            "RemoveSession": door.unary(self._remove_session, pb.RemoveSessionRequest),
            "ListExchanges": door.unary(self._list_exchanges, pb.ListExchangesRequest),
            "GetExchange": door.unary(self._get_exchange, pb.GetExchangeRequest),
            "SendRequest": door.unary(self._send_request, pb.SendRequestRequest),
            "AnswerQuestion": door.unary(self._answer_question, pb.AnswerQuestionRequest),
            "SteerExchange": door.unary(self._steer_exchange, pb.SteerExchangeRequest),
            "CloseExchange": door.unary(self._close_exchange, pb.CloseExchangeRequest),
            "CancelExchange": door.unary(self._cancel_exchange, pb.CancelExchangeRequest),
            "WaitExchange": door.unary(self._wait_exchange, pb.WaitExchangeRequest, waits_s=wait_s),
            **self.timeline.handlers(door),
            **(self.work.handlers(door) if self.work is not None else {}),
            **(self.mesh.handlers(door) if self.mesh is not None else {}),
            **(self.mirror.handlers(door) if self.mirror is not None else {}),
        }

    async def _status(self, _asked: pb.StatusRequest) -> pb.StatusResponse:
        return codec.status_to_wire(await self.overview.status())

    async def _stop(self, _asked: pb.StopRequest) -> pb.StopResponse:
        self.overview.stop()
        return pb.StopResponse(pid=os.getpid())

    async def _run_session(self, asked: pb.RunSessionRequest) -> pb.RunSessionResponse:
        session, alike = await self.sessions.run(codec.new_session_from_wire(asked))
        return pb.RunSessionResponse(session=await self._session(session), look_alikes=alike)

    async def _list_sessions(self, asked: pb.ListSessionsRequest) -> pb.ListSessionsResponse:
        def work(reader: Reader) -> list[pb.Session]:
            return [self._session_seen(reader, session) for session in reader.sessions(archived=asked.archived)]

        return pb.ListSessionsResponse(sessions=await self.store.read(work))

    async def _attach_session(self, asked: pb.AttachSessionRequest) -> pb.AttachSessionResponse:
        return pb.AttachSessionResponse(argv=await self.sessions.attach_argv(asked.session))

    async def _set_nickname(self, asked: pb.SetNicknameRequest) -> pb.SetNicknameResponse:
        session, alike = await self.sessions.set_nickname(asked.session, asked.nickname)
        return pb.SetNicknameResponse(session=await self._session(session), look_alikes=alike)

    async def _rename_session(self, asked: pb.RenameSessionRequest) -> pb.RenameSessionResponse:
        session = await self.sessions.rename(asked.session, asked.title)
        return pb.RenameSessionResponse(session=await self._session(session))

    async def _archive_session(self, asked: pb.ArchiveSessionRequest) -> pb.ArchiveSessionResponse:
        return pb.ArchiveSessionResponse(session=await self._session(await self.sessions.archive(asked.session)))

    async def _unarchive_session(self, asked: pb.UnarchiveSessionRequest) -> pb.UnarchiveSessionResponse:
        session, lost = await self.sessions.unarchive(asked.session)
        return pb.UnarchiveSessionResponse(session=await self._session(session), nickname_lost=lost)

    async def _remove_session(self, asked: pb.RemoveSessionRequest) -> pb.RemoveSessionResponse:
        removed, failed = await self.sessions.remove(asked.session)
        return pb.RemoveSessionResponse(id=removed, failed_exchanges=failed)

    async def _list_exchanges(self, asked: pb.ListExchangesRequest) -> pb.ListExchangesResponse:
        limit = asked.limit or LIST_DEFAULT
        if limit > LIST_MAX:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{limit} exchanges were asked for; the most at once is {LIST_MAX}. Ask for fewer.",
                {"limit": LIST_MAX},
            )
        if asked.kind and asked.kind not in set(Kind):
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, f"{asked.kind[:40]!r} is no kind of exchange. The kinds: {', '.join(Kind)}."
            )

        def work(reader: Reader) -> list[pb.Exchange]:
            among = reader.exchanges(closed=asked.closed, limit=PREFIX_AMONG if asked.kind else limit)
            chosen = [exchange for exchange in among if asked.kind in {"", exchange.kind.value}][:limit]
            return [self._exchange_seen(reader, exchange) for exchange in chosen]

        return pb.ListExchangesResponse(exchanges=await self.store.read(work))

    async def _get_exchange(self, asked: pb.GetExchangeRequest) -> pb.GetExchangeResponse:
        def work(reader: Reader) -> pb.GetExchangeResponse:
            exchange = _find_exchange(reader, asked.exchange)
            label = _labels(reader)
            page = pb.GetExchangeResponse(exchange=self._exchange_seen(reader, exchange))
            size = 0
            for message in reader.messages(exchange.id):
                if message.number <= asked.after:
                    continue
                if size >= codec.PAGE_BYTES:
                    page.more = True
                    break
                wire = codec.message_to_wire(self._message_seen(message, exchange, label))
                size += wire.ByteSize()
                page.messages.append(wire)
            return page

        return await self.store.read(work)

    async def _send_request(self, asked: pb.SendRequestRequest) -> pb.SendRequestResponse:
        command = commands.Request(to=asked.to, text=asked.text, title=asked.title)
        return await self._send(command, asked.key, pb.SendRequestResponse)

    async def _answer_question(self, asked: pb.AnswerQuestionRequest) -> pb.AnswerQuestionResponse:
        command = commands.Answer(question=asked.question or None, text=asked.text)
        return await self._send(command, asked.key, pb.AnswerQuestionResponse)

    async def _steer_exchange(self, asked: pb.SteerExchangeRequest) -> pb.SteerExchangeResponse:
        command = commands.Steer(exchange=asked.exchange or None, text=asked.text)
        return await self._send(command, asked.key, pb.SteerExchangeResponse)

    async def _close_exchange(self, asked: pb.CloseExchangeRequest) -> pb.CloseExchangeResponse:
        command = commands.Close(exchange=asked.exchange or None, accepted=asked.accepted, note=asked.note)
        return await self._send(command, asked.key, pb.CloseExchangeResponse)

    async def _cancel_exchange(self, asked: pb.CancelExchangeRequest) -> pb.CancelExchangeResponse:
        command = commands.Cancel(exchange=asked.exchange or None, reason=asked.reason)
        return await self._send(command, asked.key, pb.CancelExchangeResponse)

    async def _wait_exchange(self, asked: pb.WaitExchangeRequest) -> pb.WaitExchangeResponse:
        exchange, arrival = await self.people.wait(asked.exchange, asked.seconds)

        def work(reader: Reader) -> views.ArrivalView:
            label = _labels(reader)
            return views.ArrivalView(
                exchange=views.view_exchange(exchange, reader.messages(exchange.id), label, reader.session),
                messages=tuple(self._message_seen(taken.message, taken.exchange, label) for taken in arrival.taken),
                remaining=arrival.remaining,
                timed_out=arrival.timed_out,
            )

        return codec.arrival_to_wire(await self.store.read(work))

    async def _send(self, command: commands.Command, key: str, response: Callable[..., R]) -> R:
        if _is_key(key) is None:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                "The key of a command must be 1 to 64 letters, digits, '.', '-' or '_'. Nothing was done.",
            )
        receipt = await self.people.send(command, key)

        def work(reader: Reader) -> R:
            seen = self._message_seen(receipt.message, receipt.exchange, _labels(reader))
            return response(
                exchange=self._exchange_seen(reader, receipt.exchange),
                message=codec.message_to_wire(seen),
                repeated=receipt.repeated,
            )

        return await self.store.read(work)

    def _message_seen(self, message: Message, exchange: Exchange, label: Callable[[Address], str]) -> views.MessageView:
        # Files of a message to another node land there.
        here = exchange.address(message.recipient).node == self.node_id
        return views.view_message(message, exchange, label, self.place if here else None)

    def _exchange_seen(self, reader: Reader, exchange: Exchange) -> pb.Exchange:
        label = _labels(reader)
        view = views.view_exchange(exchange, reader.messages(exchange.id), label, reader.session)
        return codec.exchange_to_wire(view)

    async def _session(self, session: Session) -> pb.Session:
        return await self.store.read(lambda reader: self._session_seen(reader, session))

    def _session_seen(self, reader: Reader, session: Session) -> pb.Session:
        address = Address(node=self.node_id, session=session.id)
        view = views.view_session(
            session,
            unread=sum(count for _, count in reader.unread_counts(address)),
            open_exchanges=len(reader.exchanges_of(address, closed=False)),
        )
        return codec.session_to_wire(view)


def _labels(reader: Reader) -> Callable[[Address], str]:
    return views.labels(reader.session, lambda session_id: far_label(reader, session_id))


def _find_exchange(reader: Reader, wanted: str) -> Exchange:
    whole = wanted.strip().lower()
    if is_id(whole) and (found := reader.exchange(whole)) is not None:
        return found
    among = {exchange.id: exchange for exchange in reader.exchanges(closed=True, limit=PREFIX_AMONG)}
    try:
        return among[match_prefix(wanted, among, what="exchange")]
    except MeshError as error:
        if error.code is ErrorCode.AMBIGUOUS:
            raise
        raise MeshError(
            error.code,
            f"No exchange is called {wanted[:40]!r}. Give its id, or at least the first 6 characters of it; "
            "`helio requests` and `helio delegations` list them.",
        ) from error


def _write_token(path: Path, entropy: Entropy) -> str:
    """A new token in a file that only its owner can read, put in place in one step."""
    token = entropy(TOKEN_BYTES).hex()
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600, exist_ok=False)
    fresh.write_text(token, encoding="ascii")
    fresh.replace(path)
    return token
