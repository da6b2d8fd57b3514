"""Between the relay's messages on the wire and the core's. What comes in is checked here for form and size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from google.protobuf.message import DecodeError

from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id
from node.core.limits import Limits
from node.core.model import (
    AWAITS_APPROVAL,
    REFUSED_BY_PERSON,
    WITHDRAWN,
    Address,
    Author,
    Blocked,
    MessageKind,
    SessionStatus,
    Status,
)
from node.core.prompt import HeldReason
from node.core.relay import (
    FORWARDED,
    ITEMS,
    PROTOCOL,
    Forward,
    ForwardResult,
    Incoming,
    Item,
    Outcome,
    Progress,
    RemoteSession,
)
from node.core.transfer import Attachment
from tunnel.wire.v1 import mirror_pb2 as pb

T = TypeVar("T")

_NAME_CHARS: Final = 128
_WORDS_CHARS: Final = 2_000
_HELD: Final = frozenset({*HeldReason, "files", AWAITS_APPROVAL, REFUSED_BY_PERSON, WITHDRAWN})
_FORWARDED: Final[Mapping[str, MessageKind]] = {kind.value: kind for kind in FORWARDED}
_ITEMS: Final[Mapping[str, MessageKind]] = {kind.value: kind for kind in ITEMS}
_AUTHORS: Final[Mapping[str, Author]] = {one.value: one for one in (Author.SESSION, Author.PERSON, Author.NODE)}
_OUTCOMES: Final[Mapping[str, Outcome]] = {one.value: one for one in Outcome}
_STATUSES: Final[Mapping[str, Status]] = {one.value: one for one in Status}
_SESSION_STATUSES: Final[Mapping[str, SessionStatus]] = {one.value: one for one in SessionStatus}


def request_from(data: bytes) -> pb.RelayRequest:
    """A frame of the client's; INVALID_ARGUMENT when it is none."""
    try:
        return pb.RelayRequest.FromString(data)
    except DecodeError as error:
        raise _bad("a frame that cannot be read") from error


def response_to(frame: pb.RelayResponse) -> bytes:
    """A frame of the server's, as bytes."""
    return frame.SerializeToString()


def hello() -> pb.RelayRequest:
    """The client's first frame."""
    return pb.RelayRequest(hello=pb.Hello(protocol=PROTOCOL))


def check_protocol(given: int) -> None:
    """UNSUPPORTED unless the other end speaks this protocol."""
    if given != PROTOCOL:
        raise MeshError(
            ErrorCode.UNSUPPORTED,
            f"The other node speaks version {given} of the mirror's protocol, this one version {PROTOCOL}. Update the "
            "older of the two.",
        )


# --- client to server ------------------------------------------------------------------------------------------------


def forward_to_wire(forward: Forward, wire: pb.Forward) -> None:
    """Writes one forward into `wire`, which is empty: most forwards leave most fields so."""
    wire.number = forward.number
    wire.message = forward.message
    wire.exchange = forward.exchange
    wire.kind = forward.kind.value
    wire.session = forward.session
    wire.nickname = forward.nickname
    wire.text = forward.text
    if forward.to:
        wire.to = forward.to
    if forward.title:
        wire.title = forward.title
    if forward.chain:
        wire.chain = forward.chain
    if forward.hops:
        wire.hops.extend(forward.hops)
    if forward.reply_to:
        wire.reply_to = forward.reply_to
    if forward.accepted:
        wire.accepted = True
    if forward.files:
        wire.files.extend(_file_to_wire(file) for file in forward.files)


def forwards_from_wire(wire: Sequence[pb.Forward], limits: Limits) -> tuple[Forward, ...]:
    """The forwards of a frame; INVALID_ARGUMENT for what no client of ours sends."""
    if len(wire) > limits.relay_batch:
        raise _bad(f"{len(wire)} messages in one frame")
    return tuple(
        Forward(
            one.number,
            _id(one.message),
            _id(one.exchange),
            _choice(one.kind, _FORWARDED),
            _id(one.session),
            one.nickname[:_NAME_CHARS],
            one.to[:_NAME_CHARS],
            one.title[: limits.title_chars],
            one.text[: limits.text_chars + 1],
            one.reply_to[:_NAME_CHARS],
            one.accepted,
            one.chain[:_NAME_CHARS],
            tuple(hop[:_NAME_CHARS] for hop in one.hops[: limits.hops + 1]) if one.hops else (),
            _files_from_wire(one.files, limits),
        )
        for one in wire
    )


def waits_to_wire(waits: Iterable[Blocked]) -> pb.Waits:
    """Who waits for whom."""
    return pb.Waits(
        edges=[
            pb.Wait(
                who_node=one.who.node,
                who_session=one.who.session or "",
                on_node=one.on.node,
                on_session=one.on.session or "",
                exchange=one.exchange,
            )
            for one in waits
        ]
    )


def waits_from_wire(wire: pb.Waits, limits: Limits, own: str) -> tuple[Blocked, ...]:
    """Who waits for whom, as another node tells; of this node's sessions it can tell nothing."""
    return tuple(
        Blocked(
            who=Address(node=one.who_node[:_NAME_CHARS], session=one.who_session[:_NAME_CHARS] or None),
            on=Address(node=one.on_node[:_NAME_CHARS], session=one.on_session[:_NAME_CHARS] or None),
            exchange=one.exchange[:_NAME_CHARS],
        )
        for one in wire.edges[: limits.waits_told]
        if one.who_node != own and all(is_id(text) for text in (one.who_session, one.on_session, one.exchange))
    )


# --- server to client ------------------------------------------------------------------------------------------------


def result_to_wire(result: ForwardResult, wire: pb.ForwardResult) -> None:
    """Writes what became of one forward into `wire`, which is empty."""
    wire.number = result.number
    wire.message = result.message
    wire.outcome = result.outcome.value
    if result.code:
        wire.code = result.code
    if result.words:
        wire.words = result.words[:_WORDS_CHARS]
    if result.status is not None:
        wire.status = result.status.value


def results_from_wire(wire: Sequence[pb.ForwardResult], limits: Limits) -> tuple[ForwardResult, ...]:
    """What became of forwards."""
    if len(wire) > 2 * limits.relay_batch:
        raise _bad(f"{len(wire)} results in one frame")
    return tuple(
        ForwardResult(
            number=one.number,
            message=_id(one.message),
            outcome=_choice(one.outcome, _OUTCOMES),
            code=one.code[:_NAME_CHARS],
            words=one.words[:_WORDS_CHARS],
            status=_choice(one.status, _STATUSES) if one.status else None,
        )
        for one in wire
    )


def item_to_wire(item: Item) -> pb.Item:
    """One item."""
    told = item.what
    if isinstance(told, Incoming):
        message = pb.Incoming(
            message=told.message,
            exchange=told.exchange,
            kind=told.kind.value,
            author=told.author.value,
            title=told.title,
            text=told.text,
            reply_to=told.reply_to,
            status=told.status.value,
            files=[_file_to_wire(file) for file in told.files],
        )
        return pb.Item(number=item.number, message=message)
    progress = pb.Progress(
        message=told.message,
        exchange=told.exchange,
        landed_us=told.landed_us or 0,
        notices=told.notices,
        held=told.held,
        confirmed_us=told.confirmed_us or 0,
        read_us=told.read_us or 0,
        answered_us=told.answered_us or 0,
        gave_up_us=told.gave_up_us or 0,
        status=told.status.value,
    )
    return pb.Item(number=item.number, progress=progress)


def items_from_wire(wire: Sequence[pb.Item], limits: Limits) -> tuple[Item, ...]:
    """The items of a frame; INVALID_ARGUMENT for what no server of ours sends."""
    if len(wire) > limits.relay_batch:
        raise _bad(f"{len(wire)} items in one frame")
    return tuple(Item(number=one.number, what=_item_from_wire(one, limits)) for one in wire)


def _item_from_wire(wire: pb.Item, limits: Limits) -> Incoming | Progress:
    if wire.WhichOneof("what") == "message":
        told = wire.message
        if len(told.text) > limits.text_chars or len(told.title) > limits.title_chars:
            raise _bad("a message that is longer than messages may be")
        return Incoming(
            message=_id(told.message),
            exchange=_id(told.exchange),
            kind=_choice(told.kind, _ITEMS),
            author=_choice(told.author, _AUTHORS),
            title=told.title,
            text=told.text,
            reply_to=told.reply_to[:_NAME_CHARS],
            status=_choice(told.status, _STATUSES),
            files=_files_from_wire(told.files, limits),
        )
    if wire.WhichOneof("what") == "progress":
        far = wire.progress
        return Progress(
            message=_id(far.message),
            exchange=_id(far.exchange),
            landed_us=far.landed_us or None,
            notices=far.notices,
            held=far.held if far.held in _HELD else "",
            confirmed_us=far.confirmed_us or None,
            read_us=far.read_us or None,
            answered_us=far.answered_us or None,
            gave_up_us=far.gave_up_us or None,
            status=_choice(far.status, _STATUSES),
        )
    raise _bad("an item of no kind")


def directory_to_wire(sessions: Sequence[RemoteSession]) -> pb.Directory:
    """Who can be asked."""
    return pb.Directory(
        entries=[
            pb.DirectoryEntry(
                session=one.id,
                nickname=one.nickname,
                title=one.title,
                status=one.status.value,
                profile=one.profile,
                askable=one.askable,
            )
            for one in sessions
        ],
    )


def directory_from_wire(wire: pb.Directory, peer: str, limits: Limits) -> tuple[RemoteSession, ...]:
    """Who can be asked at that node."""
    if len(wire.entries) > limits.directory_sessions:
        raise _bad(f"a list of {len(wire.entries)} sessions")
    return tuple(
        RemoteSession(
            node=peer,
            id=_id(one.session),
            nickname=one.nickname if len(one.nickname) <= _NAME_CHARS else "",
            title=one.title[: limits.title_chars],
            profile=one.profile[:_NAME_CHARS] if one.profile.isascii() else "",
            status=_choice(one.status, _SESSION_STATUSES),
            askable=one.askable,
        )
        for one in wire.entries
    )


# --- both ------------------------------------------------------------------------------------------------------------


def _file_to_wire(file: Attachment) -> pb.FileRef:
    return pb.FileRef(name=file.name, sha256=file.sha256, size=file.size, folder=file.folder, entries=file.entries)


def _files_from_wire(wire: Sequence[pb.FileRef], limits: Limits) -> tuple[Attachment, ...]:
    if not wire:
        return ()
    if len(wire) > limits.files_per_message or sum(one.size for one in wire) > limits.message_bytes:
        raise _bad("more files, or larger ones, than a message may have")
    return tuple(
        Attachment(name=one.name, sha256=one.sha256, size=one.size, folder=one.folder, entries=one.entries)
        for one in wire
    )


def _id(text: str) -> str:
    if not is_id(text):
        raise _bad("an id that is none")
    return text


def _choice(text: str, allowed: Mapping[str, T]) -> T:
    found = allowed.get(text)
    if found is None:
        raise _bad("a word that is not known")
    return found


def _bad(what: str) -> MeshError:
    return MeshError(
        ErrorCode.INVALID_ARGUMENT,
        f"The other node sent {what}. The mirror's stream was ended; update the older of the two nodes.",
    )
