from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MirrorRequest(_message.Message):
    __slots__ = ("hello", "forward", "heartbeat")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    FORWARD_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    forward: ForwardBatch
    heartbeat: Heartbeat
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., forward: _Optional[_Union[ForwardBatch, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ...) -> None: ...

class MirrorResponse(_message.Message):
    __slots__ = ("welcome", "ack", "incoming", "snapshot", "delta", "timeline", "heartbeat")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    INCOMING_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    ack: ForwardAck
    incoming: IncomingBatch
    snapshot: PanelSnapshot
    delta: PanelDelta
    timeline: TimelineBatch
    heartbeat: Heartbeat
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., ack: _Optional[_Union[ForwardAck, _Mapping]] = ..., incoming: _Optional[_Union[IncomingBatch, _Mapping]] = ..., snapshot: _Optional[_Union[PanelSnapshot, _Mapping]] = ..., delta: _Optional[_Union[PanelDelta, _Mapping]] = ..., timeline: _Optional[_Union[TimelineBatch, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol", "incoming_seen", "panel_revision", "timeline_origin", "timeline_seq")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    INCOMING_SEEN_FIELD_NUMBER: _ClassVar[int]
    PANEL_REVISION_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_ORIGIN_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_SEQ_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    incoming_seen: int
    panel_revision: int
    timeline_origin: str
    timeline_seq: int
    def __init__(self, protocol: _Optional[int] = ..., incoming_seen: _Optional[int] = ..., panel_revision: _Optional[int] = ..., timeline_origin: _Optional[str] = ..., timeline_seq: _Optional[int] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("protocol", "forward_seen", "grants")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    FORWARD_SEEN_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    forward_seen: int
    grants: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, protocol: _Optional[int] = ..., forward_seen: _Optional[int] = ..., grants: _Optional[_Iterable[str]] = ...) -> None: ...

class Forward(_message.Message):
    __slots__ = ("number", "message", "exchange", "kind", "to", "title", "text", "reply_to", "chain", "hops")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REPLY_TO_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    number: int
    message: str
    exchange: str
    kind: str
    to: str
    title: str
    text: str
    reply_to: str
    chain: str
    hops: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, number: _Optional[int] = ..., message: _Optional[str] = ..., exchange: _Optional[str] = ..., kind: _Optional[str] = ..., to: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., reply_to: _Optional[str] = ..., chain: _Optional[str] = ..., hops: _Optional[_Iterable[str]] = ...) -> None: ...

class ForwardBatch(_message.Message):
    __slots__ = ("forwards",)
    FORWARDS_FIELD_NUMBER: _ClassVar[int]
    forwards: _containers.RepeatedCompositeFieldContainer[Forward]
    def __init__(self, forwards: _Optional[_Iterable[_Union[Forward, _Mapping]]] = ...) -> None: ...

class ForwardResult(_message.Message):
    __slots__ = ("number", "message", "outcome", "code", "words")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    number: int
    message: str
    outcome: str
    code: str
    words: str
    def __init__(self, number: _Optional[int] = ..., message: _Optional[str] = ..., outcome: _Optional[str] = ..., code: _Optional[str] = ..., words: _Optional[str] = ...) -> None: ...

class ForwardAck(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ForwardResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ForwardResult, _Mapping]]] = ...) -> None: ...

class Incoming(_message.Message):
    __slots__ = ("number", "message", "exchange", "kind", "title", "text", "reply_to", "status")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REPLY_TO_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    number: int
    message: str
    exchange: str
    kind: str
    title: str
    text: str
    reply_to: str
    status: str
    def __init__(self, number: _Optional[int] = ..., message: _Optional[str] = ..., exchange: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., reply_to: _Optional[str] = ..., status: _Optional[str] = ...) -> None: ...

class IncomingBatch(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Incoming]
    def __init__(self, messages: _Optional[_Iterable[_Union[Incoming, _Mapping]]] = ...) -> None: ...

class PanelRow(_message.Message):
    __slots__ = ("id", "title", "state", "opener", "worker", "last_word", "changed_us")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OPENER_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    LAST_WORD_FIELD_NUMBER: _ClassVar[int]
    CHANGED_US_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    state: str
    opener: str
    worker: str
    last_word: str
    changed_us: int
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., state: _Optional[str] = ..., opener: _Optional[str] = ..., worker: _Optional[str] = ..., last_word: _Optional[str] = ..., changed_us: _Optional[int] = ...) -> None: ...

class PanelSnapshot(_message.Message):
    __slots__ = ("revision", "rows")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    rows: _containers.RepeatedCompositeFieldContainer[PanelRow]
    def __init__(self, revision: _Optional[int] = ..., rows: _Optional[_Iterable[_Union[PanelRow, _Mapping]]] = ...) -> None: ...

class PanelDelta(_message.Message):
    __slots__ = ("from_revision", "revision", "changed", "removed")
    FROM_REVISION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    from_revision: int
    revision: int
    changed: _containers.RepeatedCompositeFieldContainer[PanelRow]
    removed: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, from_revision: _Optional[int] = ..., revision: _Optional[int] = ..., changed: _Optional[_Iterable[_Union[PanelRow, _Mapping]]] = ..., removed: _Optional[_Iterable[str]] = ...) -> None: ...

class TimelineBatch(_message.Message):
    __slots__ = ("origin", "first_seq", "rows")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQ_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    origin: str
    first_seq: int
    rows: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, origin: _Optional[str] = ..., first_seq: _Optional[int] = ..., rows: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("sent_us",)
    SENT_US_FIELD_NUMBER: _ClassVar[int]
    sent_us: int
    def __init__(self, sent_us: _Optional[int] = ...) -> None: ...
