"""What each error code is called at every border, in one table, and how a MeshError crosses gRPC whole.

The gRPC status is a summary for strangers: between our own programs code, message and details travel in a binary
trailer, as JSON, and come out as the MeshError that went in.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Never, TypeVar

from node.core.errors import Detail, ErrorCode, MeshError
from node.grpc_setup import aio, grpc

TRAILER: Final = "helio-error-bin"
# A larger error loses its details, then the end of its message. In a trailer it grows by a third (base64).
TRAILER_BYTES: Final = 16_384
# What a client must accept as metadata, so that the largest trailer passes.
METADATA_BYTES: Final = 65_536
_SUMMARY_CHARS: Final = 200

_Status = grpc.StatusCode

Q = TypeVar("Q")
R = TypeVar("R")
T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A code at the borders: gRPC status, JSON-RPC error code for MCP, HTTP status, exit status of a process."""

    grpc: grpc.StatusCode
    mcp: int
    http: int
    exit: int


# JSON-RPC keeps -32768..-32000 for itself and for protocols such as MCP: what is ours lies outside, from 1001 on.
# Exit statuses: 1 is a fault of ours, 2 a wrong command line, 3 "is not running" as for service scripts.
MEANINGS: Final[Mapping[ErrorCode, Meaning]] = MappingProxyType(
    {
        ErrorCode.INVALID_ARGUMENT: Meaning(grpc=_Status.INVALID_ARGUMENT, mcp=-32602, http=400, exit=2),
        ErrorCode.NOT_FOUND: Meaning(grpc=_Status.NOT_FOUND, mcp=1001, http=404, exit=4),
        ErrorCode.AMBIGUOUS: Meaning(grpc=_Status.INVALID_ARGUMENT, mcp=1002, http=409, exit=5),
        ErrorCode.ALREADY_EXISTS: Meaning(grpc=_Status.ALREADY_EXISTS, mcp=1003, http=409, exit=6),
        ErrorCode.WRONG_STATE: Meaning(grpc=_Status.FAILED_PRECONDITION, mcp=1004, http=409, exit=7),
        ErrorCode.LIMIT: Meaning(grpc=_Status.RESOURCE_EXHAUSTED, mcp=1005, http=429, exit=8),
        ErrorCode.CYCLE: Meaning(grpc=_Status.FAILED_PRECONDITION, mcp=1006, http=409, exit=9),
        ErrorCode.REACH: Meaning(grpc=_Status.PERMISSION_DENIED, mcp=1007, http=403, exit=10),
        ErrorCode.WITHHELD: Meaning(grpc=_Status.FAILED_PRECONDITION, mcp=1008, http=422, exit=11),
        ErrorCode.UNIDENTIFIED: Meaning(grpc=_Status.UNAUTHENTICATED, mcp=1009, http=401, exit=12),
        ErrorCode.UNAUTHENTICATED: Meaning(grpc=_Status.UNAUTHENTICATED, mcp=1010, http=401, exit=13),
        ErrorCode.AUDIT_UNAVAILABLE: Meaning(grpc=_Status.UNAVAILABLE, mcp=1011, http=503, exit=14),
        ErrorCode.SCANNER_UNAVAILABLE: Meaning(grpc=_Status.UNAVAILABLE, mcp=1012, http=503, exit=15),
        ErrorCode.UNAVAILABLE: Meaning(grpc=_Status.UNAVAILABLE, mcp=1013, http=503, exit=16),
        ErrorCode.NODE_RUNNING: Meaning(grpc=_Status.ALREADY_EXISTS, mcp=1014, http=409, exit=17),
        ErrorCode.NODE_NOT_RUNNING: Meaning(grpc=_Status.UNAVAILABLE, mcp=1015, http=503, exit=3),
        ErrorCode.TAMPERED: Meaning(grpc=_Status.DATA_LOSS, mcp=1016, http=500, exit=18),
        ErrorCode.UNSUPPORTED: Meaning(grpc=_Status.UNIMPLEMENTED, mcp=1017, http=501, exit=19),
        ErrorCode.APPROVAL: Meaning(grpc=_Status.PERMISSION_DENIED, mcp=1018, http=403, exit=20),
        ErrorCode.INTERNAL: Meaning(grpc=_Status.INTERNAL, mcp=-32603, http=500, exit=1),
    }
)

# What gRPC itself says, without a word from the other program.
_BARE: Final[Mapping[grpc.StatusCode, tuple[ErrorCode, str]]] = MappingProxyType(
    {
        _Status.UNAVAILABLE: (ErrorCode.UNAVAILABLE, "The connection was lost before an answer came"),
        _Status.CANCELLED: (ErrorCode.UNAVAILABLE, "The call was ended by the other side before an answer came"),
        _Status.DEADLINE_EXCEEDED: (ErrorCode.UNAVAILABLE, "No answer came in time"),
        _Status.RESOURCE_EXHAUSTED: (ErrorCode.LIMIT, "The call was too large, or too many calls were open at once"),
        _Status.UNIMPLEMENTED: (ErrorCode.UNSUPPORTED, "The other side is of a version which does not know this call"),
        _Status.UNAUTHENTICATED: (ErrorCode.UNAUTHENTICATED, "The other side did not accept the credentials"),
        _Status.PERMISSION_DENIED: (ErrorCode.REACH, "The other side does not allow this call"),
    }
)
_NEXT: Final[Mapping[ErrorCode, str]] = MappingProxyType(
    {
        ErrorCode.UNAVAILABLE: "It is not known whether anything was done. Look, then try again.",
        ErrorCode.LIMIT: "Nothing was done. Send less at once.",
        ErrorCode.UNSUPPORTED: "Restart the older side so that both run the same version.",
        ErrorCode.UNAUTHENTICATED: "Connect again.",
        ErrorCode.REACH: "Ask the person there for the permission.",
        ErrorCode.INTERNAL: "This is a fault of heliograph, not yours: see the node's log.",
    }
)


def code_of(status: object) -> ErrorCode:
    """The code for how a call ended, whatever the other program said of it."""
    return next((code for known, (code, _) in _BARE.items() if known is status), ErrorCode.UNAVAILABLE)


def encode(error: MeshError) -> bytes:
    """The trailer for `error`, at most TRAILER_BYTES."""
    data = _dump(error.code, error.message, error.details)
    if len(data) > TRAILER_BYTES:
        data = _dump(error.code, error.message, {})
    if len(data) > TRAILER_BYTES:
        # One character takes up to 12 bytes as JSON escapes.
        data = _dump(error.code, error.message[: TRAILER_BYTES // 12 - 20] + "…", {})
    return data


def decode(data: bytes) -> MeshError | None:
    """The error in a trailer, or None when it is not one of ours or of a version with other codes."""
    try:
        value = json.loads(data)
        code = ErrorCode(value["code"])
        message = value["message"]
        details = {name: _detail(given) for name, given in value["details"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return MeshError(code, message, details) if isinstance(message, str) else None


async def answer(
    context: aio.ServicerContext[Q, R], what: str, work: Callable[[], Awaitable[T]], seconds: float | None = None
) -> T:
    """What `work` comes to within `seconds`; any failure of it ends the call of `context` with a MeshError.

    `what` names the call in the log, where a failure that nobody foresaw goes: the caller learns nothing of its inside.
    """
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            return await work()
    except MeshError as error:
        refusal = error
    except Exception as error:
        if isinstance(error, TimeoutError) and scope.expired():
            refusal = MeshError(
                ErrorCode.UNAVAILABLE,
                f"The node was not done within {seconds:g} s and gave the call up. It is not known whether anything "
                "was done. Look, then try again.",
            )
        else:
            logger.exception("%s failed", what)
            refusal = MeshError(
                ErrorCode.INTERNAL,
                "The node failed at this call. That is a fault of heliograph, not yours, and the node's log says more: "
                "`helio doctor` shows where it is.",
            )
    return await _abort(context, refusal)


def carried(error: aio.AioRpcError) -> MeshError | None:
    """The MeshError that the other program sent, or None when the failure is gRPC's own."""
    for key, value in error.trailing_metadata() or ():
        if key == TRAILER and isinstance(value, bytes):
            return decode(value)
    return None


def from_rpc(error: aio.AioRpcError) -> MeshError:
    """The MeshError which a failed call amounts to, whoever caused it."""
    sent = carried(error)
    if sent is not None:
        return sent
    code, what = _BARE.get(error.code(), (ErrorCode.INTERNAL, "The call failed inside the transport"))
    return MeshError(code, f"{what} (gRPC: {error.code().name}). {_NEXT[code]}")


async def _abort(context: aio.ServicerContext[Q, R], error: MeshError) -> Never:
    summary = error.message[:_SUMMARY_CHARS].encode("utf-8", "replace").decode("utf-8")
    await context.abort(MEANINGS[error.code].grpc, summary, ((TRAILER, encode(error)),))


def _dump(code: ErrorCode, message: str, details: Mapping[str, Detail]) -> bytes:
    return json.dumps({"code": code.value, "message": message, "details": dict(details)}).encode("ascii")


def _detail(value: object) -> Detail:
    if isinstance(value, list):
        if not all(isinstance(item, str) for item in value):
            raise TypeError("a list among the details holds something else than texts")
        return tuple(value)
    if isinstance(value, str | int):
        return value
    raise TypeError(f"a detail cannot be a {type(value).__name__}")
