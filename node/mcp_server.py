"""The MCP door: one request of an agent in, one JSON-RPC response out. Tools are in mcp_tools, words in mcp_words.

pydantic stops here: inward go commands of the core, outward plain JSON. The MCP kit judges it in the tests and where
the catalogue is made; loading it here would triple the time that a node takes to start.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final, cast

from node import mcp_arguments as carried
from node import mcp_lists as lists
from node import mcp_tools as tools
from node import mcp_words as words
from node.core.errors import MeshError
from node.core.model import Address
from node.mcp_words import Json, JsonObject, Said
from node.ports import Agents, Call
from node.ports_work import TreeTools
from node.shim_messages import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_KEY, VERSION_KEY

Identify = Callable[[], Awaitable[Address]]
Tell = Callable[[JsonObject], Awaitable[None]]

# Characters that JSON may hold as they are, but which some screens draw as a new line or not at all.
_UNSEEN: Final = {
    code: f"\\u{code:04x}"
    for first, last in (
        (0x7F, 0x9F),
        (0x200B, 0x200F),
        (0x2028, 0x202E),
        (0x2060, 0x206F),
        (0xD800, 0xDFFF),
        (0xFEFF, 0xFEFF),
    )
    for code in range(first, last + 1)
}

log = logging.getLogger(__name__)


class McpServer:
    """Answers the requests that shims relay, for sessions that `identify` proves."""

    def __init__(self, agents: Agents, trees: TreeTools, *, progress_s: float = 10.0) -> None:
        self._agents = agents
        self._trees = trees
        self._progress_s = progress_s

    async def respond(self, call_id: str, request: Mapping[str, object], identify: Identify, tell: Tell) -> JsonObject:
        """The JSON-RPC response to `request`; `tell` passes progress on while the call blocks."""
        head: dict[str, Json] = {"jsonrpc": "2.0", "id": cast("Json", request.get("id"))}
        method, params = request.get("method"), request.get("params")
        if method != "tools/call":
            shown = method[:80] if isinstance(method, str) else ""
            return head | _error(METHOD_NOT_FOUND if shown else INVALID_REQUEST, f"Method not found: {shown}")
        if not isinstance(params, dict):
            return head | _error(INVALID_PARAMS, "tools/call needs params with the name of a tool.")
        name, given = params.get("name"), params.get("arguments")
        tool = tools.TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            return head | _error(INVALID_PARAMS, f"There is no such tool. The tools are: {', '.join(tools.TOOLS)}.")
        if not isinstance(given, dict | None):
            return head | _error(INVALID_PARAMS, "arguments must be an object.")
        found = params.get("_meta")
        meta = found if isinstance(found, dict) else {}
        said = await self._said(call_id, tool, given or {}, identify, _progress(meta, tell))
        return head | {"result": result_of(said, stateless=VERSION_KEY in meta)}

    async def _said(
        self,
        call_id: str,
        tool: tools.Tool,
        given: Mapping[str, object],
        identify: Identify,
        progress: _Progress | None,
    ) -> Said:
        if progress is None:
            return await self._answered(call_id, tool, given, identify)
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(progress.tick(self._progress_s))
            said = await self._answered(call_id, tool, given, identify)
            ticking.cancel()
        return said

    async def _answered(self, call_id: str, tool: tools.Tool, given: Mapping[str, object], identify: Identify) -> Said:
        try:
            actor = await identify()
            arguments = tools.parse(tool, given)
            named = isinstance(arguments, carried.Sending) and arguments.idempotency_key is not None
            call = Call(id=call_id, actor=actor, digest=tools.digest(tool, arguments), named=named)
            return await self._do(call, arguments)
        except MeshError as error:
            return words.refusal(error)
        except Exception:  # the one place where a fault of ours becomes an answer instead of a lost agent
            log.exception("tool %s failed in call %s", tool.name, call_id)
            return words.refusal(words.internal_fault(tool.name))

    async def _do(self, call: Call, arguments: carried.Arguments) -> Said:
        agents, me = self._agents, call.actor
        match arguments:
            case carried.ListPeersArguments():
                return lists.peers(await agents.peers(call))
            case carried.ListDelegationsArguments(exchange=exchange, include_closed=closed):
                found = await agents.exchanges(call, exchange, closed=closed)
                names = {peer.session.id: peer.name for peer in await agents.peers(call)}
                return lists.exchanges(found, me, names, one=exchange is not None)
            case carried.ReadInboxArguments(exchange=exchange):
                return words.arrived(await agents.read_inbox(call, exchange), me, waiting_on=None)
            case carried.WaitArguments(exchange=exchange, wait_seconds=seconds):
                return words.arrived(await agents.wait(call, exchange, seconds), me, waiting_on=exchange)
            case carried.WorktreeCreateArguments(name=name):
                return lists.tree(await self._trees.create(me, name))
            case carried.WorktreeStatusArguments(exchange=exchange):
                return lists.tree(await self._trees.view(me, exchange))
            case carried.WorktreeMergeArguments(exchange=exchange):
                return lists.merged(*await self._trees.merge(me, exchange))
            case carried.Sending():
                seconds = (
                    arguments.wait_seconds
                    if isinstance(arguments, carried.RequestArguments | carried.AskArguments)
                    else 0
                )
                receipt, arrival = await agents.send(call, arguments.command(), seconds)
                return words.receipt_and_arrival(receipt, arrival, me, tools.line_end(arguments))
            case _:
                raise TypeError(f"no tool takes {type(arguments).__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Progress:
    """Tells a client that asked for it that its call is alive."""

    token: int | str
    tell: Tell

    async def tick(self, every_s: float) -> None:
        """One notification every `every_s` seconds, until cancelled."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in count(1):
            await asyncio.sleep(every_s)
            waited = round(loop.time() - began)
            params: JsonObject = {
                "progressToken": self.token,
                "progress": number,
                "message": words.still_waiting(waited),
            }
            await self.tell({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def _progress(meta: Mapping[str, object], tell: Tell) -> _Progress | None:
    token = meta.get("progressToken")
    if not isinstance(token, int | str) or isinstance(token, bool):
        return None
    return _Progress(token=token, tell=tell)


def _error(code: int, message: str) -> dict[str, Json]:
    return {"error": {"code": code, "message": message}}


def result_of(said: Said, *, stateless: bool) -> JsonObject:
    """A CallToolResult: the node's line, then the JSON in the content too, for clients that show only that."""
    shown = {name: value for name, value in said.data.items() if value != said.line}
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).translate(_UNSEEN)
    data = said.data if said.refused else {"summary": said.line, **said.data}
    result: dict[str, Json] = {
        "content": [{"type": "text", "text": said.line}, {"type": "text", "text": text}],
        "structuredContent": data,
        "isError": said.refused,
    }
    if stateless:
        result |= {"resultType": "complete", "_meta": {SERVER_KEY: tools.server_info()}}
    return result
