from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusResponse(_message.Message):
    __slots__ = ("node_id", "version", "pid", "started_us", "home", "sessions_running", "sessions_ended", "exchanges_open", "questions_open", "timeline_rows", "timeline_writable", "screen_engine", "screen_version", "notices_owed", "agents_connected", "tmux_version", "screen_scores", "timeline_alarms")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    STARTED_US_FIELD_NUMBER: _ClassVar[int]
    HOME_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_ENDED_FIELD_NUMBER: _ClassVar[int]
    EXCHANGES_OPEN_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_OPEN_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_ROWS_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_WRITABLE_FIELD_NUMBER: _ClassVar[int]
    SCREEN_ENGINE_FIELD_NUMBER: _ClassVar[int]
    SCREEN_VERSION_FIELD_NUMBER: _ClassVar[int]
    NOTICES_OWED_FIELD_NUMBER: _ClassVar[int]
    AGENTS_CONNECTED_FIELD_NUMBER: _ClassVar[int]
    TMUX_VERSION_FIELD_NUMBER: _ClassVar[int]
    SCREEN_SCORES_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_ALARMS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    version: str
    pid: int
    started_us: int
    home: str
    sessions_running: int
    sessions_ended: int
    exchanges_open: int
    questions_open: int
    timeline_rows: int
    timeline_writable: bool
    screen_engine: str
    screen_version: str
    notices_owed: int
    agents_connected: int
    tmux_version: str
    screen_scores: _containers.RepeatedScalarFieldContainer[int]
    timeline_alarms: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_id: _Optional[str] = ..., version: _Optional[str] = ..., pid: _Optional[int] = ..., started_us: _Optional[int] = ..., home: _Optional[str] = ..., sessions_running: _Optional[int] = ..., sessions_ended: _Optional[int] = ..., exchanges_open: _Optional[int] = ..., questions_open: _Optional[int] = ..., timeline_rows: _Optional[int] = ..., timeline_writable: _Optional[bool] = ..., screen_engine: _Optional[str] = ..., screen_version: _Optional[str] = ..., notices_owed: _Optional[int] = ..., agents_connected: _Optional[int] = ..., tmux_version: _Optional[str] = ..., screen_scores: _Optional[_Iterable[int]] = ..., timeline_alarms: _Optional[_Iterable[str]] = ...) -> None: ...

class StopRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopResponse(_message.Message):
    __slots__ = ("pid",)
    PID_FIELD_NUMBER: _ClassVar[int]
    pid: int
    def __init__(self, pid: _Optional[int] = ...) -> None: ...

class RunSessionRequest(_message.Message):
    __slots__ = ("argv", "cwd", "nickname", "title", "workspace", "env", "width", "height")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ARGV_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    NICKNAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    argv: _containers.RepeatedScalarFieldContainer[str]
    cwd: str
    nickname: str
    title: str
    workspace: str
    env: _containers.ScalarMap[str, str]
    width: int
    height: int
    def __init__(self, argv: _Optional[_Iterable[str]] = ..., cwd: _Optional[str] = ..., nickname: _Optional[str] = ..., title: _Optional[str] = ..., workspace: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., width: _Optional[int] = ..., height: _Optional[int] = ...) -> None: ...

class RunSessionResponse(_message.Message):
    __slots__ = ("session", "look_alikes")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    LOOK_ALIKES_FIELD_NUMBER: _ClassVar[int]
    session: Session
    look_alikes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., look_alikes: _Optional[_Iterable[str]] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("id", "nickname", "title", "workspace", "profile", "argv", "cwd", "status", "state", "created_us", "changed_us", "unread", "open_exchanges", "pane", "branch")
    ID_FIELD_NUMBER: _ClassVar[int]
    NICKNAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    ARGV_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_US_FIELD_NUMBER: _ClassVar[int]
    CHANGED_US_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    OPEN_EXCHANGES_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    BRANCH_FIELD_NUMBER: _ClassVar[int]
    id: str
    nickname: str
    title: str
    workspace: str
    profile: str
    argv: _containers.RepeatedScalarFieldContainer[str]
    cwd: str
    status: str
    state: str
    created_us: int
    changed_us: int
    unread: int
    open_exchanges: int
    pane: str
    branch: str
    def __init__(self, id: _Optional[str] = ..., nickname: _Optional[str] = ..., title: _Optional[str] = ..., workspace: _Optional[str] = ..., profile: _Optional[str] = ..., argv: _Optional[_Iterable[str]] = ..., cwd: _Optional[str] = ..., status: _Optional[str] = ..., state: _Optional[str] = ..., created_us: _Optional[int] = ..., changed_us: _Optional[int] = ..., unread: _Optional[int] = ..., open_exchanges: _Optional[int] = ..., pane: _Optional[str] = ..., branch: _Optional[str] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("archived",)
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    archived: bool
    def __init__(self, archived: _Optional[bool] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ...) -> None: ...

class AttachSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class AttachSessionResponse(_message.Message):
    __slots__ = ("argv",)
    ARGV_FIELD_NUMBER: _ClassVar[int]
    argv: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, argv: _Optional[_Iterable[str]] = ...) -> None: ...

class SetNicknameRequest(_message.Message):
    __slots__ = ("session", "nickname")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    NICKNAME_FIELD_NUMBER: _ClassVar[int]
    session: str
    nickname: str
    def __init__(self, session: _Optional[str] = ..., nickname: _Optional[str] = ...) -> None: ...

class SetNicknameResponse(_message.Message):
    __slots__ = ("session", "look_alikes")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    LOOK_ALIKES_FIELD_NUMBER: _ClassVar[int]
    session: Session
    look_alikes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., look_alikes: _Optional[_Iterable[str]] = ...) -> None: ...

class RenameSessionRequest(_message.Message):
    __slots__ = ("session", "title")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    session: str
    title: str
    def __init__(self, session: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class RenameSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class ArchiveSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class ArchiveSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class UnarchiveSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class UnarchiveSessionResponse(_message.Message):
    __slots__ = ("session", "nickname_lost")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    NICKNAME_LOST_FIELD_NUMBER: _ClassVar[int]
    session: Session
    nickname_lost: str
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., nickname_lost: _Optional[str] = ...) -> None: ...

class RemoveSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class RemoveSessionResponse(_message.Message):
    __slots__ = ("id", "failed_exchanges")
    ID_FIELD_NUMBER: _ClassVar[int]
    FAILED_EXCHANGES_FIELD_NUMBER: _ClassVar[int]
    id: str
    failed_exchanges: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., failed_exchanges: _Optional[_Iterable[str]] = ...) -> None: ...

class Ladder(_message.Message):
    __slots__ = ("rung", "recorded_us", "screened", "landed_us", "notices", "held", "confirmed_us", "read_us", "answered_us", "gave_up_us")
    RUNG_FIELD_NUMBER: _ClassVar[int]
    RECORDED_US_FIELD_NUMBER: _ClassVar[int]
    SCREENED_FIELD_NUMBER: _ClassVar[int]
    LANDED_US_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_US_FIELD_NUMBER: _ClassVar[int]
    READ_US_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_US_FIELD_NUMBER: _ClassVar[int]
    GAVE_UP_US_FIELD_NUMBER: _ClassVar[int]
    rung: str
    recorded_us: int
    screened: str
    landed_us: int
    notices: int
    held: str
    confirmed_us: int
    read_us: int
    answered_us: int
    gave_up_us: int
    def __init__(self, rung: _Optional[str] = ..., recorded_us: _Optional[int] = ..., screened: _Optional[str] = ..., landed_us: _Optional[int] = ..., notices: _Optional[int] = ..., held: _Optional[str] = ..., confirmed_us: _Optional[int] = ..., read_us: _Optional[int] = ..., answered_us: _Optional[int] = ..., gave_up_us: _Optional[int] = ...) -> None: ...

class File(_message.Message):
    __slots__ = ("name", "size", "sha256", "folder", "entries", "path")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    name: str
    size: int
    sha256: str
    folder: bool
    entries: int
    path: str
    def __init__(self, name: _Optional[str] = ..., size: _Optional[int] = ..., sha256: _Optional[str] = ..., folder: _Optional[bool] = ..., entries: _Optional[int] = ..., path: _Optional[str] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("id", "exchange", "number", "kind", "sender_end", "author", "sender", "title", "text", "reply_to", "ladder", "withheld", "snippet", "advice", "files")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SENDER_END_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REPLY_TO_FIELD_NUMBER: _ClassVar[int]
    LADDER_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    id: str
    exchange: str
    number: int
    kind: str
    sender_end: str
    author: str
    sender: str
    title: str
    text: str
    reply_to: str
    ladder: Ladder
    withheld: bool
    snippet: str
    advice: str
    files: _containers.RepeatedCompositeFieldContainer[File]
    def __init__(self, id: _Optional[str] = ..., exchange: _Optional[str] = ..., number: _Optional[int] = ..., kind: _Optional[str] = ..., sender_end: _Optional[str] = ..., author: _Optional[str] = ..., sender: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., reply_to: _Optional[str] = ..., ladder: _Optional[_Union[Ladder, _Mapping]] = ..., withheld: _Optional[bool] = ..., snippet: _Optional[str] = ..., advice: _Optional[str] = ..., files: _Optional[_Iterable[_Union[File, _Mapping]]] = ...) -> None: ...

class Exchange(_message.Message):
    __slots__ = ("id", "kind", "status", "status_words", "title", "opener", "worker", "opener_session", "worker_session", "chain", "hops", "parent", "questions", "reason", "opened_us", "changed_us", "messages", "last_word", "rung", "branch")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STATUS_WORDS_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    OPENER_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    OPENER_SESSION_FIELD_NUMBER: _ClassVar[int]
    WORKER_SESSION_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPENED_US_FIELD_NUMBER: _ClassVar[int]
    CHANGED_US_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    LAST_WORD_FIELD_NUMBER: _ClassVar[int]
    RUNG_FIELD_NUMBER: _ClassVar[int]
    BRANCH_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    status: str
    status_words: str
    title: str
    opener: str
    worker: str
    opener_session: str
    worker_session: str
    chain: str
    hops: _containers.RepeatedScalarFieldContainer[str]
    parent: str
    questions: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    opened_us: int
    changed_us: int
    messages: int
    last_word: str
    rung: str
    branch: str
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ..., status: _Optional[str] = ..., status_words: _Optional[str] = ..., title: _Optional[str] = ..., opener: _Optional[str] = ..., worker: _Optional[str] = ..., opener_session: _Optional[str] = ..., worker_session: _Optional[str] = ..., chain: _Optional[str] = ..., hops: _Optional[_Iterable[str]] = ..., parent: _Optional[str] = ..., questions: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ..., opened_us: _Optional[int] = ..., changed_us: _Optional[int] = ..., messages: _Optional[int] = ..., last_word: _Optional[str] = ..., rung: _Optional[str] = ..., branch: _Optional[str] = ...) -> None: ...

class ListExchangesRequest(_message.Message):
    __slots__ = ("closed", "kind", "limit")
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    closed: bool
    kind: str
    limit: int
    def __init__(self, closed: _Optional[bool] = ..., kind: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListExchangesResponse(_message.Message):
    __slots__ = ("exchanges",)
    EXCHANGES_FIELD_NUMBER: _ClassVar[int]
    exchanges: _containers.RepeatedCompositeFieldContainer[Exchange]
    def __init__(self, exchanges: _Optional[_Iterable[_Union[Exchange, _Mapping]]] = ...) -> None: ...

class GetExchangeRequest(_message.Message):
    __slots__ = ("exchange", "after")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    exchange: str
    after: int
    def __init__(self, exchange: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class GetExchangeResponse(_message.Message):
    __slots__ = ("exchange", "messages", "more")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    exchange: Exchange
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    more: bool
    def __init__(self, exchange: _Optional[_Union[Exchange, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., more: _Optional[bool] = ...) -> None: ...

class SendRequestRequest(_message.Message):
    __slots__ = ("to", "text", "title", "key")
    TO_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    to: str
    text: str
    title: str
    key: str
    def __init__(self, to: _Optional[str] = ..., text: _Optional[str] = ..., title: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class SendRequestResponse(_message.Message):
    __slots__ = ("exchange", "message", "repeated")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    exchange: Exchange
    message: Message
    repeated: bool
    def __init__(self, exchange: _Optional[_Union[Exchange, _Mapping]] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class AnswerQuestionRequest(_message.Message):
    __slots__ = ("question", "text", "key")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    question: str
    text: str
    key: str
    def __init__(self, question: _Optional[str] = ..., text: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class AnswerQuestionResponse(_message.Message):
    __slots__ = ("exchange", "message", "repeated")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    exchange: Exchange
    message: Message
    repeated: bool
    def __init__(self, exchange: _Optional[_Union[Exchange, _Mapping]] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class SteerExchangeRequest(_message.Message):
    __slots__ = ("exchange", "text", "key")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    exchange: str
    text: str
    key: str
    def __init__(self, exchange: _Optional[str] = ..., text: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class SteerExchangeResponse(_message.Message):
    __slots__ = ("exchange", "message", "repeated")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    exchange: Exchange
    message: Message
    repeated: bool
    def __init__(self, exchange: _Optional[_Union[Exchange, _Mapping]] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class CloseExchangeRequest(_message.Message):
    __slots__ = ("exchange", "accepted", "note", "key")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    exchange: str
    accepted: bool
    note: str
    key: str
    def __init__(self, exchange: _Optional[str] = ..., accepted: _Optional[bool] = ..., note: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class CloseExchangeResponse(_message.Message):
    __slots__ = ("exchange", "message", "repeated")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    exchange: Exchange
    message: Message
    repeated: bool
    def __init__(self, exchange: _Optional[_Union[Exchange, _Mapping]] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class CancelExchangeRequest(_message.Message):
    __slots__ = ("exchange", "reason", "key")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    exchange: str
    reason: str
    key: str
    def __init__(self, exchange: _Optional[str] = ..., reason: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class CancelExchangeResponse(_message.Message):
    __slots__ = ("exchange", "message", "repeated")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    exchange: Exchange
    message: Message
    repeated: bool
    def __init__(self, exchange: _Optional[_Union[Exchange, _Mapping]] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., repeated: _Optional[bool] = ...) -> None: ...

class WaitExchangeRequest(_message.Message):
    __slots__ = ("exchange", "seconds")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    exchange: str
    seconds: int
    def __init__(self, exchange: _Optional[str] = ..., seconds: _Optional[int] = ...) -> None: ...

class WaitExchangeResponse(_message.Message):
    __slots__ = ("exchange", "messages", "timed_out", "remaining")
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TIMED_OUT_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    exchange: Exchange
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    timed_out: bool
    remaining: int
    def __init__(self, exchange: _Optional[_Union[Exchange, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., timed_out: _Optional[bool] = ..., remaining: _Optional[int] = ...) -> None: ...

class ReadTimelineRequest(_message.Message):
    __slots__ = ("from_seq", "limit", "follow", "engine", "decision", "session", "exchange", "message", "since_us", "until_us", "tail", "log", "before_seq", "row", "outcome", "reason", "workspace", "peer", "text", "whole", "batches", "salts")
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    UNTIL_US_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    BEFORE_SEQ_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    SALTS_FIELD_NUMBER: _ClassVar[int]
    from_seq: int
    limit: int
    follow: bool
    engine: str
    decision: str
    session: str
    exchange: str
    message: str
    since_us: int
    until_us: int
    tail: bool
    log: str
    before_seq: int
    row: str
    outcome: str
    reason: str
    workspace: str
    peer: str
    text: str
    whole: bool
    batches: bool
    salts: bool
    def __init__(self, from_seq: _Optional[int] = ..., limit: _Optional[int] = ..., follow: _Optional[bool] = ..., engine: _Optional[str] = ..., decision: _Optional[str] = ..., session: _Optional[str] = ..., exchange: _Optional[str] = ..., message: _Optional[str] = ..., since_us: _Optional[int] = ..., until_us: _Optional[int] = ..., tail: _Optional[bool] = ..., log: _Optional[str] = ..., before_seq: _Optional[int] = ..., row: _Optional[str] = ..., outcome: _Optional[str] = ..., reason: _Optional[str] = ..., workspace: _Optional[str] = ..., peer: _Optional[str] = ..., text: _Optional[str] = ..., whole: _Optional[bool] = ..., batches: _Optional[bool] = ..., salts: _Optional[bool] = ...) -> None: ...

class ReadTimelineResponse(_message.Message):
    __slots__ = ("seq", "data", "leaf", "side", "rows", "salts")
    class SideEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class SaltsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    SEQ_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    LEAF_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SALTS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    data: bytes
    leaf: bytes
    side: _containers.ScalarMap[str, str]
    rows: _containers.RepeatedCompositeFieldContainer[ReadTimelineResponse]
    salts: _containers.ScalarMap[str, bytes]
    def __init__(self, seq: _Optional[int] = ..., data: _Optional[bytes] = ..., leaf: _Optional[bytes] = ..., side: _Optional[_Mapping[str, str]] = ..., rows: _Optional[_Iterable[_Union[ReadTimelineResponse, _Mapping]]] = ..., salts: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class RecordExportRequest(_message.Message):
    __slots__ = ("step", "export", "format", "destination", "filter", "log", "first", "next", "count", "bytes", "sha256", "reason")
    STEP_FIELD_NUMBER: _ClassVar[int]
    EXPORT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    step: str
    export: str
    format: str
    destination: str
    filter: str
    log: str
    first: int
    next: int
    count: int
    bytes: int
    sha256: str
    reason: str
    def __init__(self, step: _Optional[str] = ..., export: _Optional[str] = ..., format: _Optional[str] = ..., destination: _Optional[str] = ..., filter: _Optional[str] = ..., log: _Optional[str] = ..., first: _Optional[int] = ..., next: _Optional[int] = ..., count: _Optional[int] = ..., bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RecordExportResponse(_message.Message):
    __slots__ = ("export", "seq", "origin", "size", "root", "first_kept", "checkpoint", "end")
    EXPORT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEPT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    export: str
    seq: int
    origin: str
    size: int
    root: bytes
    first_kept: int
    checkpoint: str
    end: int
    def __init__(self, export: _Optional[str] = ..., seq: _Optional[int] = ..., origin: _Optional[str] = ..., size: _Optional[int] = ..., root: _Optional[bytes] = ..., first_kept: _Optional[int] = ..., checkpoint: _Optional[str] = ..., end: _Optional[int] = ...) -> None: ...

class ProveRowRequest(_message.Message):
    __slots__ = ("log", "seq", "size")
    LOG_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    log: str
    seq: int
    size: int
    def __init__(self, log: _Optional[str] = ..., seq: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class ProveRowResponse(_message.Message):
    __slots__ = ("leaf", "path")
    LEAF_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    leaf: bytes
    path: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, leaf: _Optional[bytes] = ..., path: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ListTimelineLogsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTimelineLogsResponse(_message.Message):
    __slots__ = ("logs",)
    LOGS_FIELD_NUMBER: _ClassVar[int]
    logs: _containers.RepeatedCompositeFieldContainer[TimelineLog]
    def __init__(self, logs: _Optional[_Iterable[_Union[TimelineLog, _Mapping]]] = ...) -> None: ...

class TimelineLog(_message.Message):
    __slots__ = ("origin", "size", "first", "current")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    origin: str
    size: int
    first: int
    current: bool
    def __init__(self, origin: _Optional[str] = ..., size: _Optional[int] = ..., first: _Optional[int] = ..., current: _Optional[bool] = ...) -> None: ...

class GetTimelineOverviewRequest(_message.Message):
    __slots__ = ("since_us",)
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    since_us: int
    def __init__(self, since_us: _Optional[int] = ...) -> None: ...

class GetTimelineOverviewResponse(_message.Message):
    __slots__ = ("since_us", "rows", "relayed", "withheld", "held", "refused", "undelivered", "files", "file_bytes", "peers", "peers_total", "approvals_asked", "approvals_allowed", "approvals_denied", "clock_steps", "exports", "prunes", "turned_away", "damaged", "blocks", "overrides", "gaps")
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    RELAYED_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    UNDELIVERED_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    FILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    PEERS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_ASKED_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_DENIED_FIELD_NUMBER: _ClassVar[int]
    CLOCK_STEPS_FIELD_NUMBER: _ClassVar[int]
    EXPORTS_FIELD_NUMBER: _ClassVar[int]
    PRUNES_FIELD_NUMBER: _ClassVar[int]
    TURNED_AWAY_FIELD_NUMBER: _ClassVar[int]
    DAMAGED_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    GAPS_FIELD_NUMBER: _ClassVar[int]
    since_us: int
    rows: int
    relayed: int
    withheld: int
    held: int
    refused: int
    undelivered: int
    files: int
    file_bytes: int
    peers: _containers.RepeatedScalarFieldContainer[str]
    peers_total: int
    approvals_asked: int
    approvals_allowed: int
    approvals_denied: int
    clock_steps: int
    exports: int
    prunes: int
    turned_away: int
    damaged: int
    blocks: _containers.RepeatedCompositeFieldContainer[ReadTimelineResponse]
    overrides: int
    gaps: int
    def __init__(self, since_us: _Optional[int] = ..., rows: _Optional[int] = ..., relayed: _Optional[int] = ..., withheld: _Optional[int] = ..., held: _Optional[int] = ..., refused: _Optional[int] = ..., undelivered: _Optional[int] = ..., files: _Optional[int] = ..., file_bytes: _Optional[int] = ..., peers: _Optional[_Iterable[str]] = ..., peers_total: _Optional[int] = ..., approvals_asked: _Optional[int] = ..., approvals_allowed: _Optional[int] = ..., approvals_denied: _Optional[int] = ..., clock_steps: _Optional[int] = ..., exports: _Optional[int] = ..., prunes: _Optional[int] = ..., turned_away: _Optional[int] = ..., damaged: _Optional[int] = ..., blocks: _Optional[_Iterable[_Union[ReadTimelineResponse, _Mapping]]] = ..., overrides: _Optional[int] = ..., gaps: _Optional[int] = ...) -> None: ...

class VerifyTimelineRequest(_message.Message):
    __slots__ = ("log", "seen")
    LOG_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    log: str
    seen: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, log: _Optional[str] = ..., seen: _Optional[_Iterable[str]] = ...) -> None: ...

class VerifyTimelineResponse(_message.Message):
    __slots__ = ("rows", "total", "done", "ok", "root", "origin", "problem_seq", "problem_code", "problem_words", "warnings", "read_rows", "first_seq", "covered", "checkpoints", "pruned", "keys", "clock_steps", "clock_steps_total", "node", "vouched")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_SEQ_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_CODE_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_WORDS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    READ_ROWS_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQ_FIELD_NUMBER: _ClassVar[int]
    COVERED_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    PRUNED_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_STEPS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_STEPS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    VOUCHED_FIELD_NUMBER: _ClassVar[int]
    rows: int
    total: int
    done: bool
    ok: bool
    root: str
    origin: str
    problem_seq: int
    problem_code: str
    problem_words: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    read_rows: int
    first_seq: int
    covered: int
    checkpoints: int
    pruned: _containers.RepeatedCompositeFieldContainer[PrunedRows]
    keys: _containers.RepeatedCompositeFieldContainer[LogKeyChange]
    clock_steps: _containers.RepeatedCompositeFieldContainer[TimelineClockStep]
    clock_steps_total: int
    node: str
    vouched: bool
    def __init__(self, rows: _Optional[int] = ..., total: _Optional[int] = ..., done: _Optional[bool] = ..., ok: _Optional[bool] = ..., root: _Optional[str] = ..., origin: _Optional[str] = ..., problem_seq: _Optional[int] = ..., problem_code: _Optional[str] = ..., problem_words: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ..., read_rows: _Optional[int] = ..., first_seq: _Optional[int] = ..., covered: _Optional[int] = ..., checkpoints: _Optional[int] = ..., pruned: _Optional[_Iterable[_Union[PrunedRows, _Mapping]]] = ..., keys: _Optional[_Iterable[_Union[LogKeyChange, _Mapping]]] = ..., clock_steps: _Optional[_Iterable[_Union[TimelineClockStep, _Mapping]]] = ..., clock_steps_total: _Optional[int] = ..., node: _Optional[str] = ..., vouched: _Optional[bool] = ...) -> None: ...

class PrunedRows(_message.Message):
    __slots__ = ("first", "next", "row", "why")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    first: int
    next: int
    row: int
    why: str
    def __init__(self, first: _Optional[int] = ..., next: _Optional[int] = ..., row: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class LogKeyChange(_message.Message):
    __slots__ = ("seq", "key", "how")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    HOW_FIELD_NUMBER: _ClassVar[int]
    seq: int
    key: str
    how: str
    def __init__(self, seq: _Optional[int] = ..., key: _Optional[str] = ..., how: _Optional[str] = ...) -> None: ...

class TimelineClockStep(_message.Message):
    __slots__ = ("seq", "step_us")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    STEP_US_FIELD_NUMBER: _ClassVar[int]
    seq: int
    step_us: int
    def __init__(self, seq: _Optional[int] = ..., step_us: _Optional[int] = ...) -> None: ...

class BundleTimelineRequest(_message.Message):
    __slots__ = ("log", "from_seq", "to_seq")
    LOG_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    log: str
    from_seq: int
    to_seq: int
    def __init__(self, log: _Optional[str] = ..., from_seq: _Optional[int] = ..., to_seq: _Optional[int] = ...) -> None: ...

class BundleTimelineResponse(_message.Message):
    __slots__ = ("line", "row")
    LINE_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    line: str
    row: ReadTimelineResponse
    def __init__(self, line: _Optional[str] = ..., row: _Optional[_Union[ReadTimelineResponse, _Mapping]] = ...) -> None: ...

class ProveTimelineRequest(_message.Message):
    __slots__ = ("log", "seq")
    LOG_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    log: str
    seq: int
    def __init__(self, log: _Optional[str] = ..., seq: _Optional[int] = ...) -> None: ...

class ProveTimelineResponse(_message.Message):
    __slots__ = ("proof",)
    PROOF_FIELD_NUMBER: _ClassVar[int]
    proof: str
    def __init__(self, proof: _Optional[str] = ...) -> None: ...

class PruneTimelineRequest(_message.Message):
    __slots__ = ("dry_run",)
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    dry_run: bool
    def __init__(self, dry_run: _Optional[bool] = ...) -> None: ...

class PruneTimelineResponse(_message.Message):
    __slots__ = ("log", "first", "next", "first_us", "last_us", "why", "deleted", "doubt")
    LOG_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    FIRST_US_FIELD_NUMBER: _ClassVar[int]
    LAST_US_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    DOUBT_FIELD_NUMBER: _ClassVar[int]
    log: str
    first: int
    next: int
    first_us: int
    last_us: int
    why: str
    deleted: int
    doubt: str
    def __init__(self, log: _Optional[str] = ..., first: _Optional[int] = ..., next: _Optional[int] = ..., first_us: _Optional[int] = ..., last_us: _Optional[int] = ..., why: _Optional[str] = ..., deleted: _Optional[int] = ..., doubt: _Optional[str] = ...) -> None: ...

class EraseTimelineRequest(_message.Message):
    __slots__ = ("log", "seqs", "field", "exchange", "session", "before_us", "dry_run")
    LOG_FIELD_NUMBER: _ClassVar[int]
    SEQS_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    BEFORE_US_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    log: str
    seqs: _containers.RepeatedScalarFieldContainer[int]
    field: str
    exchange: str
    session: str
    before_us: int
    dry_run: bool
    def __init__(self, log: _Optional[str] = ..., seqs: _Optional[_Iterable[int]] = ..., field: _Optional[str] = ..., exchange: _Optional[str] = ..., session: _Optional[str] = ..., before_us: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class EraseTimelineResponse(_message.Message):
    __slots__ = ("seq", "size", "found", "erased")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    ERASED_FIELD_NUMBER: _ClassVar[int]
    seq: int
    size: int
    found: int
    erased: int
    def __init__(self, seq: _Optional[int] = ..., size: _Optional[int] = ..., found: _Optional[int] = ..., erased: _Optional[int] = ...) -> None: ...

class ListApprovalsRequest(_message.Message):
    __slots__ = ("pending",)
    PENDING_FIELD_NUMBER: _ClassVar[int]
    pending: bool
    def __init__(self, pending: _Optional[bool] = ...) -> None: ...

class ListApprovalsResponse(_message.Message):
    __slots__ = ("approvals",)
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    approvals: _containers.RepeatedCompositeFieldContainer[Approval]
    def __init__(self, approvals: _Optional[_Iterable[_Union[Approval, _Mapping]]] = ...) -> None: ...

class Approval(_message.Message):
    __slots__ = ("id", "kind", "session", "asker", "subject", "words", "decision", "asked_us", "decided_us")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    ASKER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    ASKED_US_FIELD_NUMBER: _ClassVar[int]
    DECIDED_US_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    session: str
    asker: str
    subject: str
    words: str
    decision: str
    asked_us: int
    decided_us: int
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ..., session: _Optional[str] = ..., asker: _Optional[str] = ..., subject: _Optional[str] = ..., words: _Optional[str] = ..., decision: _Optional[str] = ..., asked_us: _Optional[int] = ..., decided_us: _Optional[int] = ...) -> None: ...

class DecideApprovalRequest(_message.Message):
    __slots__ = ("approval", "decision")
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    approval: str
    decision: str
    def __init__(self, approval: _Optional[str] = ..., decision: _Optional[str] = ...) -> None: ...

class DecideApprovalResponse(_message.Message):
    __slots__ = ("approval",)
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    approval: Approval
    def __init__(self, approval: _Optional[_Union[Approval, _Mapping]] = ...) -> None: ...

class ListWorkspacesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListWorkspacesResponse(_message.Message):
    __slots__ = ("workspaces",)
    WORKSPACES_FIELD_NUMBER: _ClassVar[int]
    workspaces: _containers.RepeatedCompositeFieldContainer[Workspace]
    def __init__(self, workspaces: _Optional[_Iterable[_Union[Workspace, _Mapping]]] = ...) -> None: ...

class Workspace(_message.Message):
    __slots__ = ("name", "driver", "settings", "reach", "state", "why", "sessions", "screen")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    REACH_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    SCREEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    driver: str
    settings: _containers.ScalarMap[str, str]
    reach: Reach
    state: str
    why: str
    sessions: int
    screen: str
    def __init__(self, name: _Optional[str] = ..., driver: _Optional[str] = ..., settings: _Optional[_Mapping[str, str]] = ..., reach: _Optional[_Union[Reach, _Mapping]] = ..., state: _Optional[str] = ..., why: _Optional[str] = ..., sessions: _Optional[int] = ..., screen: _Optional[str] = ...) -> None: ...

class Reach(_message.Message):
    __slots__ = ("every", "names")
    EVERY_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    every: bool
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, every: _Optional[bool] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class AddWorkspaceRequest(_message.Message):
    __slots__ = ("name", "driver", "settings")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    driver: str
    settings: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., driver: _Optional[str] = ..., settings: _Optional[_Mapping[str, str]] = ...) -> None: ...

class AddWorkspaceResponse(_message.Message):
    __slots__ = ("workspace",)
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    workspace: Workspace
    def __init__(self, workspace: _Optional[_Union[Workspace, _Mapping]] = ...) -> None: ...

class SetWorkspaceRequest(_message.Message):
    __slots__ = ("name", "settings", "screen")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    SCREEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    settings: _containers.ScalarMap[str, str]
    screen: str
    def __init__(self, name: _Optional[str] = ..., settings: _Optional[_Mapping[str, str]] = ..., screen: _Optional[str] = ...) -> None: ...

class SetWorkspaceResponse(_message.Message):
    __slots__ = ("workspace",)
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    workspace: Workspace
    def __init__(self, workspace: _Optional[_Union[Workspace, _Mapping]] = ...) -> None: ...

class SetReachRequest(_message.Message):
    __slots__ = ("name", "reach")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REACH_FIELD_NUMBER: _ClassVar[int]
    name: str
    reach: Reach
    def __init__(self, name: _Optional[str] = ..., reach: _Optional[_Union[Reach, _Mapping]] = ...) -> None: ...

class SetReachResponse(_message.Message):
    __slots__ = ("workspace",)
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    workspace: Workspace
    def __init__(self, workspace: _Optional[_Union[Workspace, _Mapping]] = ...) -> None: ...

class RemoveWorkspaceRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RemoveWorkspaceResponse(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListAgentsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListAgentsResponse(_message.Message):
    __slots__ = ("agents",)
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedCompositeFieldContainer[Agent]
    def __init__(self, agents: _Optional[_Iterable[_Union[Agent, _Mapping]]] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("name", "program", "path", "version", "works", "why")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WORKS_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    name: str
    program: str
    path: str
    version: str
    works: bool
    why: str
    def __init__(self, name: _Optional[str] = ..., program: _Optional[str] = ..., path: _Optional[str] = ..., version: _Optional[str] = ..., works: _Optional[bool] = ..., why: _Optional[str] = ...) -> None: ...

class GetIdentityRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetIdentityResponse(_message.Message):
    __slots__ = ("identity",)
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    identity: Identity
    def __init__(self, identity: _Optional[_Union[Identity, _Mapping]] = ...) -> None: ...

class RotateIdentityRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RotateIdentityResponse(_message.Message):
    __slots__ = ("identity",)
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    identity: Identity
    def __init__(self, identity: _Optional[_Union[Identity, _Mapping]] = ...) -> None: ...

class Identity(_message.Message):
    __slots__ = ("id", "shown", "spki", "expires_us", "former_keys", "in_keychain")
    ID_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    SPKI_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_US_FIELD_NUMBER: _ClassVar[int]
    FORMER_KEYS_FIELD_NUMBER: _ClassVar[int]
    IN_KEYCHAIN_FIELD_NUMBER: _ClassVar[int]
    id: str
    shown: str
    spki: str
    expires_us: int
    former_keys: int
    in_keychain: bool
    def __init__(self, id: _Optional[str] = ..., shown: _Optional[str] = ..., spki: _Optional[str] = ..., expires_us: _Optional[int] = ..., former_keys: _Optional[int] = ..., in_keychain: _Optional[bool] = ...) -> None: ...

class GetMeshRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetMeshResponse(_message.Message):
    __slots__ = ("port", "discovery", "why", "interfaces", "peers", "found")
    PORT_FIELD_NUMBER: _ClassVar[int]
    DISCOVERY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    INTERFACES_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    port: int
    discovery: bool
    why: str
    interfaces: _containers.RepeatedScalarFieldContainer[str]
    peers: _containers.RepeatedCompositeFieldContainer[MeshPeer]
    found: _containers.RepeatedCompositeFieldContainer[FoundNode]
    def __init__(self, port: _Optional[int] = ..., discovery: _Optional[bool] = ..., why: _Optional[str] = ..., interfaces: _Optional[_Iterable[str]] = ..., peers: _Optional[_Iterable[_Union[MeshPeer, _Mapping]]] = ..., found: _Optional[_Iterable[_Union[FoundNode, _Mapping]]] = ...) -> None: ...

class MeshPeer(_message.Message):
    __slots__ = ("id", "shown", "name", "addresses", "given", "got", "paired_us", "seen_us", "link", "link_since_us", "link_address", "rtt_us", "tls", "group", "link_why")
    ID_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    GIVEN_FIELD_NUMBER: _ClassVar[int]
    GOT_FIELD_NUMBER: _ClassVar[int]
    PAIRED_US_FIELD_NUMBER: _ClassVar[int]
    SEEN_US_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    LINK_SINCE_US_FIELD_NUMBER: _ClassVar[int]
    LINK_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    RTT_US_FIELD_NUMBER: _ClassVar[int]
    TLS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    LINK_WHY_FIELD_NUMBER: _ClassVar[int]
    id: str
    shown: str
    name: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    given: _containers.RepeatedScalarFieldContainer[str]
    got: _containers.RepeatedScalarFieldContainer[str]
    paired_us: int
    seen_us: int
    link: str
    link_since_us: int
    link_address: str
    rtt_us: int
    tls: str
    group: str
    link_why: str
    def __init__(self, id: _Optional[str] = ..., shown: _Optional[str] = ..., name: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., given: _Optional[_Iterable[str]] = ..., got: _Optional[_Iterable[str]] = ..., paired_us: _Optional[int] = ..., seen_us: _Optional[int] = ..., link: _Optional[str] = ..., link_since_us: _Optional[int] = ..., link_address: _Optional[str] = ..., rtt_us: _Optional[int] = ..., tls: _Optional[str] = ..., group: _Optional[str] = ..., link_why: _Optional[str] = ...) -> None: ...

class FoundNode(_message.Message):
    __slots__ = ("instance", "version", "addresses", "seen_us", "peer", "name")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    SEEN_US_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    instance: str
    version: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    seen_us: int
    peer: str
    name: str
    def __init__(self, instance: _Optional[str] = ..., version: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., seen_us: _Optional[int] = ..., peer: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RenamePeerRequest(_message.Message):
    __slots__ = ("peer", "name")
    PEER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    peer: str
    name: str
    def __init__(self, peer: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RenamePeerResponse(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: MeshPeer
    def __init__(self, peer: _Optional[_Union[MeshPeer, _Mapping]] = ...) -> None: ...

class SetGrantsRequest(_message.Message):
    __slots__ = ("peer", "give", "take")
    PEER_FIELD_NUMBER: _ClassVar[int]
    GIVE_FIELD_NUMBER: _ClassVar[int]
    TAKE_FIELD_NUMBER: _ClassVar[int]
    peer: str
    give: _containers.RepeatedScalarFieldContainer[str]
    take: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, peer: _Optional[str] = ..., give: _Optional[_Iterable[str]] = ..., take: _Optional[_Iterable[str]] = ...) -> None: ...

class SetGrantsResponse(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: MeshPeer
    def __init__(self, peer: _Optional[_Union[MeshPeer, _Mapping]] = ...) -> None: ...

class AddPeerAddressRequest(_message.Message):
    __slots__ = ("peer", "address")
    PEER_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    peer: str
    address: str
    def __init__(self, peer: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class AddPeerAddressResponse(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: MeshPeer
    def __init__(self, peer: _Optional[_Union[MeshPeer, _Mapping]] = ...) -> None: ...

class UnpairRequest(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: str
    def __init__(self, peer: _Optional[str] = ...) -> None: ...

class UnpairResponse(_message.Message):
    __slots__ = ("id", "name")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RunPairingRequest(_message.Message):
    __slots__ = ("target", "wants", "gives", "code", "headless", "name", "port")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    WANTS_FIELD_NUMBER: _ClassVar[int]
    GIVES_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    HEADLESS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    target: str
    wants: _containers.RepeatedScalarFieldContainer[str]
    gives: _containers.RepeatedScalarFieldContainer[str]
    code: str
    headless: bool
    name: str
    port: int
    def __init__(self, target: _Optional[str] = ..., wants: _Optional[_Iterable[str]] = ..., gives: _Optional[_Iterable[str]] = ..., code: _Optional[str] = ..., headless: _Optional[bool] = ..., name: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class RunPairingResponse(_message.Message):
    __slots__ = ("step", "run", "name", "shown", "asks", "offers", "code", "port", "address", "reason", "words")
    STEP_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    ASKS_FIELD_NUMBER: _ClassVar[int]
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    step: str
    run: str
    name: str
    shown: str
    asks: _containers.RepeatedScalarFieldContainer[str]
    offers: _containers.RepeatedScalarFieldContainer[str]
    code: str
    port: int
    address: str
    reason: str
    words: str
    def __init__(self, step: _Optional[str] = ..., run: _Optional[str] = ..., name: _Optional[str] = ..., shown: _Optional[str] = ..., asks: _Optional[_Iterable[str]] = ..., offers: _Optional[_Iterable[str]] = ..., code: _Optional[str] = ..., port: _Optional[int] = ..., address: _Optional[str] = ..., reason: _Optional[str] = ..., words: _Optional[str] = ...) -> None: ...

class AnswerPairingRequest(_message.Message):
    __slots__ = ("run", "code", "confirmed")
    RUN_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    run: str
    code: str
    confirmed: bool
    def __init__(self, run: _Optional[str] = ..., code: _Optional[str] = ..., confirmed: _Optional[bool] = ...) -> None: ...

class AnswerPairingResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AddMirrorRequest(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: str
    def __init__(self, peer: _Optional[str] = ...) -> None: ...

class AddMirrorResponse(_message.Message):
    __slots__ = ("mirror",)
    MIRROR_FIELD_NUMBER: _ClassVar[int]
    mirror: Mirror
    def __init__(self, mirror: _Optional[_Union[Mirror, _Mapping]] = ...) -> None: ...

class RemoveMirrorRequest(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: str
    def __init__(self, peer: _Optional[str] = ...) -> None: ...

class RemoveMirrorResponse(_message.Message):
    __slots__ = ("mirror",)
    MIRROR_FIELD_NUMBER: _ClassVar[int]
    mirror: Mirror
    def __init__(self, mirror: _Optional[_Union[Mirror, _Mapping]] = ...) -> None: ...

class SetMirrorRequest(_message.Message):
    __slots__ = ("peer", "paused")
    PEER_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    peer: str
    paused: bool
    def __init__(self, peer: _Optional[str] = ..., paused: _Optional[bool] = ...) -> None: ...

class SetMirrorResponse(_message.Message):
    __slots__ = ("mirror",)
    MIRROR_FIELD_NUMBER: _ClassVar[int]
    mirror: Mirror
    def __init__(self, mirror: _Optional[_Union[Mirror, _Mapping]] = ...) -> None: ...

class ListMirrorsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListMirrorsResponse(_message.Message):
    __slots__ = ("mirrors",)
    MIRRORS_FIELD_NUMBER: _ClassVar[int]
    mirrors: _containers.RepeatedCompositeFieldContainer[Mirror]
    def __init__(self, mirrors: _Optional[_Iterable[_Union[Mirror, _Mapping]]] = ...) -> None: ...

class Mirror(_message.Message):
    __slots__ = ("id", "shown", "name", "paused", "added_us", "got", "link", "link_since_us", "link_address", "link_why", "relay_why")
    ID_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    ADDED_US_FIELD_NUMBER: _ClassVar[int]
    GOT_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    LINK_SINCE_US_FIELD_NUMBER: _ClassVar[int]
    LINK_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LINK_WHY_FIELD_NUMBER: _ClassVar[int]
    RELAY_WHY_FIELD_NUMBER: _ClassVar[int]
    id: str
    shown: str
    name: str
    paused: bool
    added_us: int
    got: _containers.RepeatedScalarFieldContainer[str]
    link: str
    link_since_us: int
    link_address: str
    link_why: str
    relay_why: str
    def __init__(self, id: _Optional[str] = ..., shown: _Optional[str] = ..., name: _Optional[str] = ..., paused: _Optional[bool] = ..., added_us: _Optional[int] = ..., got: _Optional[_Iterable[str]] = ..., link: _Optional[str] = ..., link_since_us: _Optional[int] = ..., link_address: _Optional[str] = ..., link_why: _Optional[str] = ..., relay_why: _Optional[str] = ...) -> None: ...

class WatchMirrorRequest(_message.Message):
    __slots__ = ("peer", "panel", "timeline", "tail")
    PEER_FIELD_NUMBER: _ClassVar[int]
    PANEL_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    peer: str
    panel: bool
    timeline: bool
    tail: int
    def __init__(self, peer: _Optional[str] = ..., panel: _Optional[bool] = ..., timeline: _Optional[bool] = ..., tail: _Optional[int] = ...) -> None: ...

class WatchMirrorResponse(_message.Message):
    __slots__ = ("standing", "panel", "delta", "rows")
    STANDING_FIELD_NUMBER: _ClassVar[int]
    PANEL_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    standing: MirrorStanding
    panel: MirrorPanel
    delta: MirrorPanelDelta
    rows: MirrorRows
    def __init__(self, standing: _Optional[_Union[MirrorStanding, _Mapping]] = ..., panel: _Optional[_Union[MirrorPanel, _Mapping]] = ..., delta: _Optional[_Union[MirrorPanelDelta, _Mapping]] = ..., rows: _Optional[_Union[MirrorRows, _Mapping]] = ...) -> None: ...

class MirrorStanding(_message.Message):
    __slots__ = ("state", "why", "grants", "since_us")
    STATE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    state: str
    why: str
    grants: _containers.RepeatedScalarFieldContainer[str]
    since_us: int
    def __init__(self, state: _Optional[str] = ..., why: _Optional[str] = ..., grants: _Optional[_Iterable[str]] = ..., since_us: _Optional[int] = ...) -> None: ...

class MirrorPanelRow(_message.Message):
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

class MirrorPanel(_message.Message):
    __slots__ = ("run", "revision", "rows", "left_out")
    RUN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    run: str
    revision: int
    rows: _containers.RepeatedCompositeFieldContainer[MirrorPanelRow]
    left_out: int
    def __init__(self, run: _Optional[str] = ..., revision: _Optional[int] = ..., rows: _Optional[_Iterable[_Union[MirrorPanelRow, _Mapping]]] = ..., left_out: _Optional[int] = ...) -> None: ...

class MirrorPanelDelta(_message.Message):
    __slots__ = ("from_revision", "revision", "changed", "removed", "left_out")
    FROM_REVISION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    from_revision: int
    revision: int
    changed: _containers.RepeatedCompositeFieldContainer[MirrorPanelRow]
    removed: _containers.RepeatedScalarFieldContainer[str]
    left_out: int
    def __init__(self, from_revision: _Optional[int] = ..., revision: _Optional[int] = ..., changed: _Optional[_Iterable[_Union[MirrorPanelRow, _Mapping]]] = ..., removed: _Optional[_Iterable[str]] = ..., left_out: _Optional[int] = ...) -> None: ...

class MirrorRows(_message.Message):
    __slots__ = ("origin", "since", "next", "rows", "breaks", "breaks_total", "missed")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BREAKS_FIELD_NUMBER: _ClassVar[int]
    BREAKS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    origin: str
    since: int
    next: int
    rows: _containers.RepeatedCompositeFieldContainer[ReadTimelineResponse]
    breaks: _containers.RepeatedCompositeFieldContainer[MirrorBreak]
    breaks_total: int
    missed: int
    def __init__(self, origin: _Optional[str] = ..., since: _Optional[int] = ..., next: _Optional[int] = ..., rows: _Optional[_Iterable[_Union[ReadTimelineResponse, _Mapping]]] = ..., breaks: _Optional[_Iterable[_Union[MirrorBreak, _Mapping]]] = ..., breaks_total: _Optional[int] = ..., missed: _Optional[int] = ...) -> None: ...

class MirrorBreak(_message.Message):
    __slots__ = ("first", "last", "code", "words")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    first: int
    last: int
    code: str
    words: str
    def __init__(self, first: _Optional[int] = ..., last: _Optional[int] = ..., code: _Optional[str] = ..., words: _Optional[str] = ...) -> None: ...

class ListTransfersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTransfersResponse(_message.Message):
    __slots__ = ("transfers",)
    TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    transfers: _containers.RepeatedCompositeFieldContainer[Transfer]
    def __init__(self, transfers: _Optional[_Iterable[_Union[Transfer, _Mapping]]] = ...) -> None: ...

class Transfer(_message.Message):
    __slots__ = ("id", "message", "peer", "peer_name", "name", "sha256", "direction", "size", "done", "rate", "state", "since_us", "changed_us", "why")
    ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    PEER_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    CHANGED_US_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    id: str
    message: str
    peer: str
    peer_name: str
    name: str
    sha256: str
    direction: str
    size: int
    done: int
    rate: int
    state: str
    since_us: int
    changed_us: int
    why: str
    def __init__(self, id: _Optional[str] = ..., message: _Optional[str] = ..., peer: _Optional[str] = ..., peer_name: _Optional[str] = ..., name: _Optional[str] = ..., sha256: _Optional[str] = ..., direction: _Optional[str] = ..., size: _Optional[int] = ..., done: _Optional[int] = ..., rate: _Optional[int] = ..., state: _Optional[str] = ..., since_us: _Optional[int] = ..., changed_us: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...
