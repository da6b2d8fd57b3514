from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RelayRequest(_message.Message):
    __slots__ = ("hello", "forwards", "items_held", "waits", "beat_us")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    FORWARDS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_HELD_FIELD_NUMBER: _ClassVar[int]
    WAITS_FIELD_NUMBER: _ClassVar[int]
    BEAT_US_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    forwards: _containers.RepeatedCompositeFieldContainer[Forward]
    items_held: int
    waits: Waits
    beat_us: int
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., forwards: _Optional[_Iterable[_Union[Forward, _Mapping]]] = ..., items_held: _Optional[int] = ..., waits: _Optional[_Union[Waits, _Mapping]] = ..., beat_us: _Optional[int] = ...) -> None: ...

class RelayResponse(_message.Message):
    __slots__ = ("welcome", "results", "items", "directory", "beat_us")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    BEAT_US_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    results: _containers.RepeatedCompositeFieldContainer[ForwardResult]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    directory: Directory
    beat_us: int
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., results: _Optional[_Iterable[_Union[ForwardResult, _Mapping]]] = ..., items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., directory: _Optional[_Union[Directory, _Mapping]] = ..., beat_us: _Optional[int] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol",)
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    def __init__(self, protocol: _Optional[int] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("protocol",)
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    def __init__(self, protocol: _Optional[int] = ...) -> None: ...

class Forward(_message.Message):
    __slots__ = ("number", "message", "exchange", "kind", "session", "nickname", "to", "title", "text", "reply_to", "accepted", "chain", "hops", "files")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    NICKNAME_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REPLY_TO_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    number: int
    message: str
    exchange: str
    kind: str
    session: str
    nickname: str
    to: str
    title: str
    text: str
    reply_to: str
    accepted: bool
    chain: str
    hops: _containers.RepeatedScalarFieldContainer[str]
    files: _containers.RepeatedCompositeFieldContainer[FileRef]
    def __init__(self, number: _Optional[int] = ..., message: _Optional[str] = ..., exchange: _Optional[str] = ..., kind: _Optional[str] = ..., session: _Optional[str] = ..., nickname: _Optional[str] = ..., to: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., reply_to: _Optional[str] = ..., accepted: _Optional[bool] = ..., chain: _Optional[str] = ..., hops: _Optional[_Iterable[str]] = ..., files: _Optional[_Iterable[_Union[FileRef, _Mapping]]] = ...) -> None: ...

class FileRef(_message.Message):
    __slots__ = ("name", "sha256", "size", "folder", "entries")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    sha256: str
    size: int
    folder: bool
    entries: int
    def __init__(self, name: _Optional[str] = ..., sha256: _Optional[str] = ..., size: _Optional[int] = ..., folder: _Optional[bool] = ..., entries: _Optional[int] = ...) -> None: ...

class ForwardResult(_message.Message):
    __slots__ = ("number", "message", "outcome", "code", "words", "status")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    number: int
    message: str
    outcome: str
    code: str
    words: str
    status: str
    def __init__(self, number: _Optional[int] = ..., message: _Optional[str] = ..., outcome: _Optional[str] = ..., code: _Optional[str] = ..., words: _Optional[str] = ..., status: _Optional[str] = ...) -> None: ...

class Item(_message.Message):
    __slots__ = ("number", "message", "progress")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    number: int
    message: Incoming
    progress: Progress
    def __init__(self, number: _Optional[int] = ..., message: _Optional[_Union[Incoming, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ...) -> None: ...

class Incoming(_message.Message):
    __slots__ = ("message", "exchange", "kind", "author", "title", "text", "reply_to", "status", "files")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REPLY_TO_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    message: str
    exchange: str
    kind: str
    author: str
    title: str
    text: str
    reply_to: str
    status: str
    files: _containers.RepeatedCompositeFieldContainer[FileRef]
    def __init__(self, message: _Optional[str] = ..., exchange: _Optional[str] = ..., kind: _Optional[str] = ..., author: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., reply_to: _Optional[str] = ..., status: _Optional[str] = ..., files: _Optional[_Iterable[_Union[FileRef, _Mapping]]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("message", "exchange", "landed_us", "notices", "held", "confirmed_us", "read_us", "answered_us", "gave_up_us", "status")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    LANDED_US_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_US_FIELD_NUMBER: _ClassVar[int]
    READ_US_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_US_FIELD_NUMBER: _ClassVar[int]
    GAVE_UP_US_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    message: str
    exchange: str
    landed_us: int
    notices: int
    held: str
    confirmed_us: int
    read_us: int
    answered_us: int
    gave_up_us: int
    status: str
    def __init__(self, message: _Optional[str] = ..., exchange: _Optional[str] = ..., landed_us: _Optional[int] = ..., notices: _Optional[int] = ..., held: _Optional[str] = ..., confirmed_us: _Optional[int] = ..., read_us: _Optional[int] = ..., answered_us: _Optional[int] = ..., gave_up_us: _Optional[int] = ..., status: _Optional[str] = ...) -> None: ...

class Directory(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[DirectoryEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[DirectoryEntry, _Mapping]]] = ...) -> None: ...

class DirectoryEntry(_message.Message):
    __slots__ = ("session", "nickname", "title", "status", "profile", "askable")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    NICKNAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    ASKABLE_FIELD_NUMBER: _ClassVar[int]
    session: str
    nickname: str
    title: str
    status: str
    profile: str
    askable: bool
    def __init__(self, session: _Optional[str] = ..., nickname: _Optional[str] = ..., title: _Optional[str] = ..., status: _Optional[str] = ..., profile: _Optional[str] = ..., askable: _Optional[bool] = ...) -> None: ...

class Waits(_message.Message):
    __slots__ = ("edges",)
    EDGES_FIELD_NUMBER: _ClassVar[int]
    edges: _containers.RepeatedCompositeFieldContainer[Wait]
    def __init__(self, edges: _Optional[_Iterable[_Union[Wait, _Mapping]]] = ...) -> None: ...

class Wait(_message.Message):
    __slots__ = ("who_node", "who_session", "on_node", "on_session", "exchange")
    WHO_NODE_FIELD_NUMBER: _ClassVar[int]
    WHO_SESSION_FIELD_NUMBER: _ClassVar[int]
    ON_NODE_FIELD_NUMBER: _ClassVar[int]
    ON_SESSION_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    who_node: str
    who_session: str
    on_node: str
    on_session: str
    exchange: str
    def __init__(self, who_node: _Optional[str] = ..., who_session: _Optional[str] = ..., on_node: _Optional[str] = ..., on_session: _Optional[str] = ..., exchange: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("protocol", "panel", "timeline", "revision", "run", "origin", "seq", "tail")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    PANEL_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    panel: bool
    timeline: bool
    revision: int
    run: str
    origin: str
    seq: int
    tail: int
    def __init__(self, protocol: _Optional[int] = ..., panel: _Optional[bool] = ..., timeline: _Optional[bool] = ..., revision: _Optional[int] = ..., run: _Optional[str] = ..., origin: _Optional[str] = ..., seq: _Optional[int] = ..., tail: _Optional[int] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("snapshot", "delta", "timeline", "beat")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    BEAT_FIELD_NUMBER: _ClassVar[int]
    snapshot: PanelSnapshot
    delta: PanelDelta
    timeline: TimelineBatch
    beat: WatchBeat
    def __init__(self, snapshot: _Optional[_Union[PanelSnapshot, _Mapping]] = ..., delta: _Optional[_Union[PanelDelta, _Mapping]] = ..., timeline: _Optional[_Union[TimelineBatch, _Mapping]] = ..., beat: _Optional[_Union[WatchBeat, _Mapping]] = ...) -> None: ...

class WatchBeat(_message.Message):
    __slots__ = ("now_us", "revision", "rows", "grants")
    NOW_US_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    now_us: int
    revision: int
    rows: int
    grants: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, now_us: _Optional[int] = ..., revision: _Optional[int] = ..., rows: _Optional[int] = ..., grants: _Optional[_Iterable[str]] = ...) -> None: ...

class PanelRow(_message.Message):
    __slots__ = ("id", "kind", "title", "state", "opener", "worker", "parent", "last_word", "changed_us")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OPENER_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    LAST_WORD_FIELD_NUMBER: _ClassVar[int]
    CHANGED_US_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    title: str
    state: str
    opener: str
    worker: str
    parent: str
    last_word: str
    changed_us: int
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., state: _Optional[str] = ..., opener: _Optional[str] = ..., worker: _Optional[str] = ..., parent: _Optional[str] = ..., last_word: _Optional[str] = ..., changed_us: _Optional[int] = ...) -> None: ...

class PanelSnapshot(_message.Message):
    __slots__ = ("revision", "run", "rows", "left_out", "more")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    revision: int
    run: str
    rows: _containers.RepeatedCompositeFieldContainer[PanelRow]
    left_out: int
    more: bool
    def __init__(self, revision: _Optional[int] = ..., run: _Optional[str] = ..., rows: _Optional[_Iterable[_Union[PanelRow, _Mapping]]] = ..., left_out: _Optional[int] = ..., more: _Optional[bool] = ...) -> None: ...

class PanelDelta(_message.Message):
    __slots__ = ("from_revision", "revision", "changed", "removed", "left_out", "more")
    FROM_REVISION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    from_revision: int
    revision: int
    changed: _containers.RepeatedCompositeFieldContainer[PanelRow]
    removed: _containers.RepeatedScalarFieldContainer[str]
    left_out: int
    more: bool
    def __init__(self, from_revision: _Optional[int] = ..., revision: _Optional[int] = ..., changed: _Optional[_Iterable[_Union[PanelRow, _Mapping]]] = ..., removed: _Optional[_Iterable[str]] = ..., left_out: _Optional[int] = ..., more: _Optional[bool] = ...) -> None: ...

class TimelineBatch(_message.Message):
    __slots__ = ("origin", "first_seq", "rows", "texts")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQ_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    origin: str
    first_seq: int
    rows: _containers.RepeatedScalarFieldContainer[bytes]
    texts: _containers.RepeatedCompositeFieldContainer[RowText]
    def __init__(self, origin: _Optional[str] = ..., first_seq: _Optional[int] = ..., rows: _Optional[_Iterable[bytes]] = ..., texts: _Optional[_Iterable[_Union[RowText, _Mapping]]] = ...) -> None: ...

class RowText(_message.Message):
    __slots__ = ("seq", "field", "text")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    seq: int
    field: str
    text: str
    def __init__(self, seq: _Optional[int] = ..., field: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...
