"""Between protobuf messages and plain values, for the local API: protobuf stops here, on both of its ends.

An absent text is empty on the wire and a time not yet come is 0; both are None in views. Values from the wire are
checked: an enum value that this version does not know is UNSUPPORTED, anything else malformed INVALID_ARGUMENT.
"""

from __future__ import annotations

from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message

from node.codec_values import file_from_wire, file_to_wire, known, wire_text
from node.core.errors import ErrorCode, MeshError
from node.core.model import AgentState, Author, End, Kind, MessageKind, SessionStatus, Status
from node.core.node_status import NodeStatus
from node.core.views import (
    ArrivalView,
    ExchangeView,
    LadderView,
    MessageView,
    ReceiptView,
    SessionView,
    StatusView,
)
from node.ports import NewSession
from node.wire.v1 import local_pb2 as pb

# What both ends of the local API agree on.
TOKEN_METADATA: Final = "helio-token"  # noqa: S105  (a header's name)
REQUEST_BYTES: Final = 4 * 1024 * 1024
RESPONSE_BYTES: Final = 32 * 1024 * 1024
PAGE_BYTES: Final = 1024 * 1024

W = TypeVar("W", bound=Message)

ReceiptWire = (
    pb.SendRequestResponse
    | pb.AnswerQuestionResponse
    | pb.SteerExchangeResponse
    | pb.CloseExchangeResponse
    | pb.CancelExchangeResponse
)


def parsed(data: bytes, kind: type[W]) -> W:
    """The message in `data`; INVALID_ARGUMENT when it is none of that kind."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT, f"The call is malformed: it holds no {kind.DESCRIPTOR.name}. Nothing was done."
        ) from error


def status_to_wire(status: NodeStatus) -> pb.StatusResponse:
    return pb.StatusResponse(
        node_id=status.node_id,
        version=status.version,
        pid=status.pid,
        started_us=status.started_us,
        home=wire_text(status.home),
        sessions_running=status.sessions_running,
        sessions_ended=status.sessions_ended,
        exchanges_open=status.exchanges_open,
        questions_open=status.questions_open,
        timeline_rows=status.timeline_rows,
        timeline_writable=status.timeline_writable,
        screen_engine=status.screen_engine,
        screen_version=status.screen_version,
        notices_owed=status.notices_owed,
        agents_connected=status.agents_connected,
        tmux_version=status.tmux_version,
        screen_scores=status.screen_scores,
        timeline_alarms=[wire_text(words) for words in status.timeline_alarms],
    )


def status_from_wire(wire: pb.StatusResponse) -> StatusView:
    return StatusView(
        node_id=wire.node_id,
        version=wire.version,
        pid=wire.pid,
        started_us=wire.started_us,
        home=wire.home,
        sessions_running=wire.sessions_running,
        sessions_ended=wire.sessions_ended,
        exchanges_open=wire.exchanges_open,
        questions_open=wire.questions_open,
        timeline_rows=wire.timeline_rows,
        timeline_writable=wire.timeline_writable,
        screen_engine=wire.screen_engine,
        screen_version=wire.screen_version,
        notices_owed=wire.notices_owed,
        agents_connected=wire.agents_connected,
        tmux_version=wire.tmux_version,
        screen_scores=tuple(wire.screen_scores),
        timeline_alarms=tuple(wire.timeline_alarms),
    )


def new_session_to_wire(new: NewSession) -> pb.RunSessionRequest:
    """ValueError when an argument, the folder or a variable is not Unicode text."""
    return pb.RunSessionRequest(
        argv=new.argv,
        cwd=new.cwd,
        nickname=new.nickname,
        title=new.title,
        workspace=new.workspace,
        env=dict(new.env),
        width=new.width,
        height=new.height,
    )


def new_session_from_wire(wire: pb.RunSessionRequest) -> NewSession:
    return NewSession(
        argv=tuple(wire.argv),
        cwd=wire.cwd,
        nickname=wire.nickname,
        title=wire.title,
        workspace=wire.workspace,
        env=tuple(sorted(wire.env.items())),
        width=wire.width,
        height=wire.height,
    )


def session_to_wire(view: SessionView) -> pb.Session:
    return pb.Session(
        id=view.id,
        nickname=view.nickname or "",
        title=wire_text(view.title),
        workspace=wire_text(view.workspace),
        profile=wire_text(view.profile),
        argv=[wire_text(argument) for argument in view.argv],
        cwd=wire_text(view.cwd),
        status=view.status.value,
        state=view.state.value,
        created_us=view.created_us,
        changed_us=view.changed_us,
        unread=view.unread,
        open_exchanges=view.open_exchanges,
        pane=view.pane or "",
        branch=wire_text(view.branch or ""),
    )


def session_from_wire(wire: pb.Session) -> SessionView:
    return SessionView(
        id=wire.id,
        nickname=wire.nickname or None,
        title=wire.title,
        workspace=wire.workspace,
        profile=wire.profile,
        argv=tuple(wire.argv),
        cwd=wire.cwd,
        status=known(SessionStatus, wire.status),
        state=known(AgentState, wire.state),
        created_us=wire.created_us,
        changed_us=wire.changed_us,
        unread=wire.unread,
        open_exchanges=wire.open_exchanges,
        pane=wire.pane or None,
        branch=wire.branch or None,
    )


def ladder_to_wire(view: LadderView) -> pb.Ladder:
    return pb.Ladder(
        rung=wire_text(view.rung),
        recorded_us=view.recorded_us,
        screened=view.screened,
        landed_us=view.landed_us or 0,
        notices=view.notices,
        held=wire_text(view.held or ""),
        confirmed_us=view.confirmed_us or 0,
        read_us=view.read_us or 0,
        answered_us=view.answered_us or 0,
        gave_up_us=view.gave_up_us or 0,
    )


def ladder_from_wire(wire: pb.Ladder) -> LadderView:
    return LadderView(
        rung=wire.rung,
        recorded_us=wire.recorded_us,
        screened=wire.screened,
        landed_us=wire.landed_us or None,
        notices=wire.notices,
        held=wire.held or None,
        confirmed_us=wire.confirmed_us or None,
        read_us=wire.read_us or None,
        answered_us=wire.answered_us or None,
        gave_up_us=wire.gave_up_us or None,
    )


def message_to_wire(view: MessageView) -> pb.Message:
    return pb.Message(
        id=view.id,
        exchange=view.exchange,
        number=view.number,
        kind=view.kind.value,
        sender_end=view.sender_end.value,
        author=view.author.value,
        sender=wire_text(view.sender),
        title=wire_text(view.title),
        text=wire_text(view.text),
        reply_to=view.reply_to or "",
        ladder=ladder_to_wire(view.ladder),
        withheld=view.withheld,
        snippet=wire_text(view.snippet),
        advice=wire_text(view.advice),
        files=[file_to_wire(file) for file in view.files],
    )


def message_from_wire(wire: pb.Message) -> MessageView:
    return MessageView(
        id=wire.id,
        exchange=wire.exchange,
        number=wire.number,
        kind=known(MessageKind, wire.kind),
        sender_end=known(End, wire.sender_end),
        author=known(Author, wire.author),
        sender=wire.sender,
        title=wire.title,
        text=wire.text,
        reply_to=wire.reply_to or None,
        ladder=ladder_from_wire(wire.ladder),
        withheld=wire.withheld,
        snippet=wire.snippet,
        advice=wire.advice,
        files=tuple(file_from_wire(file) for file in wire.files),
    )


def exchange_to_wire(view: ExchangeView) -> pb.Exchange:
    return pb.Exchange(
        id=view.id,
        kind=view.kind.value,
        status=view.status.value,
        status_words=view.status_words,
        title=wire_text(view.title),
        opener=wire_text(view.opener),
        worker=wire_text(view.worker),
        opener_session=view.opener_session or "",
        worker_session=view.worker_session or "",
        chain=view.chain,
        hops=[wire_text(hop) for hop in view.hops],
        parent=view.parent or "",
        questions=view.questions,
        reason=wire_text(view.reason or ""),
        opened_us=view.opened_us,
        changed_us=view.changed_us,
        messages=view.messages,
        last_word=wire_text(view.last_word),
        rung=wire_text(view.rung),
        branch=wire_text(view.branch or ""),
    )


def exchange_from_wire(wire: pb.Exchange) -> ExchangeView:
    return ExchangeView(
        id=wire.id,
        kind=known(Kind, wire.kind),
        status=known(Status, wire.status),
        status_words=wire.status_words,
        title=wire.title,
        opener=wire.opener,
        worker=wire.worker,
        opener_session=wire.opener_session or None,
        worker_session=wire.worker_session or None,
        chain=wire.chain,
        hops=tuple(wire.hops),
        parent=wire.parent or None,
        questions=tuple(wire.questions),
        reason=wire.reason or None,
        opened_us=wire.opened_us,
        changed_us=wire.changed_us,
        messages=wire.messages,
        last_word=wire.last_word,
        rung=wire.rung,
        branch=wire.branch or None,
    )


def receipt_from_wire(wire: ReceiptWire) -> ReceiptView:
    return ReceiptView(
        exchange=exchange_from_wire(wire.exchange),
        message=message_from_wire(wire.message),
        repeated=wire.repeated,
    )


def arrival_to_wire(view: ArrivalView) -> pb.WaitExchangeResponse:
    return pb.WaitExchangeResponse(
        exchange=exchange_to_wire(view.exchange),
        messages=[message_to_wire(message) for message in view.messages],
        timed_out=view.timed_out,
        remaining=view.remaining,
    )


def arrival_from_wire(wire: pb.WaitExchangeResponse) -> ArrivalView:
    return ArrivalView(
        exchange=exchange_from_wire(wire.exchange),
        messages=tuple(message_from_wire(message) for message in wire.messages),
        timed_out=wire.timed_out,
        remaining=wire.remaining,
    )
