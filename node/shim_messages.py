"""JSON-RPC as the shim reads it: one object a line, and an error for every other thing.

Standard library only, and little of it (see node/shim.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
UNSUPPORTED_VERSION = -32022
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
# Methods whose stateless results say how long they may be kept.
CACHEABLE = frozenset({"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"})

# Where the id of a line stands that is too long to be read: first, or last before the one brace that closes it.
_ID_FIRST = rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\\n]{1,128}")\s*,'
_ID_LAST = rb',\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\\n]{1,128}")\s*\}\s*$'


class RefusedError(Exception):
    """A message that is answered by a JSON-RPC error."""

    def __init__(self, code: int, message: str, request_id: int | str | None = None, data: object = None) -> None:
        super().__init__(message)
        self.error: dict[str, object] = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data
        self.request_id = request_id


def aborted(params: Mapping[str, object]) -> bool:
    """Whether a cancellation is none of patience: opencode aborts every call anew once it has looked at the answer."""
    return str(params.get("reason")).startswith("AbortError")


def lost_id(ends: bytes) -> int | str | None:
    """The request id of a line of which only both ends are left, so that its sender hears of it."""
    found = re.match(_ID_FIRST, ends) or re.search(_ID_LAST, ends)
    return json.loads(found[1]) if found else None


def known_id(value: object) -> int | str | None:
    """`value` when it can be the id of a request."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def object_in(value: object) -> dict[str, object]:
    """`value` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def parsed(line: bytes) -> dict[str, object]:
    """The JSON object that `line` holds; RefusedError when it holds none."""
    try:
        message = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise RefusedError(PARSE_ERROR, "The line is not UTF-8.") from None
    except (ValueError, RecursionError):
        raise RefusedError(PARSE_ERROR, "The line is not JSON.") from None
    if isinstance(message, list):
        raise RefusedError(INVALID_REQUEST, "Batches are not served: send one message a line.")
    if not isinstance(message, dict):
        raise RefusedError(INVALID_REQUEST, "The message is not a JSON object.")
    return message
