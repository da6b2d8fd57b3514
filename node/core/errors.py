"""The one error type of the mesh and its closed set of codes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

Detail = str | int | bool | tuple[str, ...]


class ErrorCode(StrEnum):
    """What went wrong, as a code that scripts and models may match on; `errmap` is total over it."""

    INVALID_ARGUMENT = "invalid_argument"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    ALREADY_EXISTS = "already_exists"
    WRONG_STATE = "wrong_state"
    LIMIT = "limit"
    CYCLE = "cycle"
    REACH = "reach"
    WITHHELD = "withheld"
    APPROVAL = "approval"
    UNIDENTIFIED = "unidentified"
    UNAUTHENTICATED = "unauthenticated"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    SCANNER_UNAVAILABLE = "scanner_unavailable"
    UNAVAILABLE = "unavailable"
    NODE_RUNNING = "node_running"
    NODE_NOT_RUNNING = "node_not_running"
    TAMPERED = "tampered"
    UNSUPPORTED = "unsupported"
    INTERNAL = "internal"


class MeshError(Exception):
    """A refusal. `message` says what happened, whose fault it is and what to do next.

    `details` holds small plain values (ids, limits, choices), never a secret and never a body.
    """

    def __init__(self, code: ErrorCode, message: str, details: Mapping[str, Detail] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, Detail] = dict(details or {})

    def __repr__(self) -> str:
        return f"MeshError({self.code.value}: {self.message})"
