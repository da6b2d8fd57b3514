from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PairRequest(_message.Message):
    __slots__ = ("hello", "reveal", "confirm", "abort")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    REVEAL_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    ABORT_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    reveal: Reveal
    confirm: Confirm
    abort: Abort
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., reveal: _Optional[_Union[Reveal, _Mapping]] = ..., confirm: _Optional[_Union[Confirm, _Mapping]] = ..., abort: _Optional[_Union[Abort, _Mapping]] = ...) -> None: ...

class PairResponse(_message.Message):
    __slots__ = ("hello", "confirm", "abort")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    ABORT_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    confirm: Confirm
    abort: Abort
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., confirm: _Optional[_Union[Confirm, _Mapping]] = ..., abort: _Optional[_Union[Abort, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("version", "certificate", "opening", "pake", "wants", "gives", "name", "port")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    OPENING_FIELD_NUMBER: _ClassVar[int]
    PAKE_FIELD_NUMBER: _ClassVar[int]
    WANTS_FIELD_NUMBER: _ClassVar[int]
    GIVES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    version: int
    certificate: str
    opening: bytes
    pake: bytes
    wants: _containers.RepeatedScalarFieldContainer[str]
    gives: _containers.RepeatedScalarFieldContainer[str]
    name: str
    port: int
    def __init__(self, version: _Optional[int] = ..., certificate: _Optional[str] = ..., opening: _Optional[bytes] = ..., pake: _Optional[bytes] = ..., wants: _Optional[_Iterable[str]] = ..., gives: _Optional[_Iterable[str]] = ..., name: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class Reveal(_message.Message):
    __slots__ = ("nonce",)
    NONCE_FIELD_NUMBER: _ClassVar[int]
    nonce: bytes
    def __init__(self, nonce: _Optional[bytes] = ...) -> None: ...

class Confirm(_message.Message):
    __slots__ = ("signature", "proof")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    signature: bytes
    proof: bytes
    def __init__(self, signature: _Optional[bytes] = ..., proof: _Optional[bytes] = ...) -> None: ...

class Abort(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...
