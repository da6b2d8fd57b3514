from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class GreetRequest(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: str
    def __init__(self, version: _Optional[str] = ...) -> None: ...

class GreetResponse(_message.Message):
    __slots__ = ("version", "grants", "now_us", "tls", "group", "issued")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    NOW_US_FIELD_NUMBER: _ClassVar[int]
    TLS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    version: str
    grants: _containers.RepeatedScalarFieldContainer[str]
    now_us: int
    tls: str
    group: str
    issued: str
    def __init__(self, version: _Optional[str] = ..., grants: _Optional[_Iterable[str]] = ..., now_us: _Optional[int] = ..., tls: _Optional[str] = ..., group: _Optional[str] = ..., issued: _Optional[str] = ...) -> None: ...

class AttendRequest(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: str
    def __init__(self, version: _Optional[str] = ...) -> None: ...

class AttendResponse(_message.Message):
    __slots__ = ("beat", "now_us", "grants")
    BEAT_FIELD_NUMBER: _ClassVar[int]
    NOW_US_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    beat: int
    now_us: int
    grants: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, beat: _Optional[int] = ..., now_us: _Optional[int] = ..., grants: _Optional[_Iterable[str]] = ...) -> None: ...

class RekeyRequest(_message.Message):
    __slots__ = ("certificate", "statement", "signature")
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    certificate: str
    statement: bytes
    signature: bytes
    def __init__(self, certificate: _Optional[str] = ..., statement: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class RekeyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
