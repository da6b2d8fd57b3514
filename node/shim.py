"""`helio mcp`: speaks MCP with an agent on stdin and stdout, and relays its calls to the node over a unix socket.

An agent's start waits for this program, so it loads the standard library only, and little of that. What needs no node
(initialize, tools/list and their like) is answered at once from node/data/mcp_catalogue.json. A call gets an id here;
its answer counts as taken once its whole line went to stdout, and a call that the client gave up is given back. Both
are told to the node until it confirms them, over restarts of the node.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from node import shim_messages as rpc
from node.shim_messages import RefusedError, known_id, lost_id, object_in, parsed
from node.shim_streams import CHUNK, Lines, Link, Outlet, socket_path
from node.version import SOFTWARE

PATIENCE_S = 8.0
CONFIRM_AGAIN_S = 10.0
LEAVE_S = 2.0
MOST_CALLS = 64
MOST_SENDS = 5
MOST_REMEMBERED = 512
STDOUT_FULL_BYTES = 4 * 1024 * 1024
CATALOGUE = __file__.rpartition("/")[0] + "/data/mcp_catalogue.json"


class Call:
    """One request of the client that the node is to answer."""

    __slots__ = ("id", "is_tool", "line", "request_id", "sends", "since", "stateless")

    def __init__(self, *, request_id: int | str, line: bytes, is_tool: bool, stateless: bool, since: float) -> None:
        self.id = os.urandom(16).hex()
        self.request_id = request_id
        self.line = line
        self.is_tool = is_tool
        self.stateless = stateless
        self.since = since
        self.sends = 0


class Shim:
    """One agent's MCP server: stdin and stdout on one side, the node on the other."""

    def __init__(self, *, stdin: int, stdout: int, stop: int, path: str, catalogue: Mapping[str, object]) -> None:
        self._stdin, self._stop = stdin, stop
        self._out = Outlet(stdout)
        self._catalogue = catalogue
        self._words = object_in(catalogue["words"])
        self._link = Link(path)
        self._shim_id = os.urandom(16).hex()
        self._client: Mapping[str, object] = {}
        line_bytes = catalogue["line_bytes"]
        self._lines = Lines(line_bytes if isinstance(line_bytes, int) else CHUNK)
        self._calls: dict[str, Call] = {}
        self._by_request: dict[int | str, str] = {}
        self._unconfirmed: dict[str, bytes] = {}
        self._confirm_at = 0.0
        self._local: Mapping[str, Callable[[Mapping[str, object]], dict[str, object]]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "tools/list": lambda _: {"tools": catalogue["tools"]},
            "ping": lambda _: {},
            "logging/setLevel": lambda _: {},
            "resources/list": lambda _: {"resources": []},
            "resources/templates/list": lambda _: {"resourceTemplates": []},
            "prompts/list": lambda _: {"prompts": []},
        }

    # --- the loop

    def run(self) -> int:
        """Serves until stdin ends, stdout breaks or a signal asks to stop; the exit status."""
        self._link.down_since = time.monotonic()
        going = True
        while going:
            self._look_at_clock(time.monotonic())
            readers, writers = self._interests()
            readable, writable, _ = select.select(readers, writers, [], self._pause(time.monotonic()))
            if self._stop in readable:
                break
            if self._link.sock in readable:
                for line, whole in self._link.read_some(time.monotonic()):
                    self._from_node(line, whole=whole)
            going = self._out.fd not in writable or self._to_client()
            if going and self._stdin in readable:
                going = self._from_client()
            if self._link.sock in writable:
                self._link.write_some(time.monotonic())
        self._leave()
        return 0

    def _interests(self) -> tuple[list[int | socket.socket], list[int | socket.socket]]:
        readers: list[int | socket.socket] = [self._stop]
        writers: list[int | socket.socket] = []
        # A client that does not read is not read from, and neither is the node: nothing piles up here.
        room = self._out.size < STDOUT_FULL_BYTES
        if room:
            readers.append(self._stdin)
        if self._out:
            writers.append(self._out.fd)
        if self._link.sock is not None:
            if room:
                readers.append(self._link.sock)
            if self._link.out:
                writers.append(self._link.sock)
        return readers, writers

    def _pause(self, now: float) -> float | None:
        due = [self._expires(call) for call in self._calls.values()] if not self._link.welcomed else []
        if self._link.sock is None and self._wants_node():
            due.append(self._link.retry_at)
        if self._link.welcomed and self._unconfirmed:
            due.append(self._confirm_at)
        return max(0.0, min(due) - now) if due else None

    def _wants_node(self) -> bool:
        # Only once the client has said who it is: the node is told with the first line.
        return bool(self._client or self._calls or self._unconfirmed)

    def _expires(self, call: Call) -> float:
        patience = 0.0 if self._link.unsafe else PATIENCE_S
        return max(call.since, self._link.down_since) + patience

    def _look_at_clock(self, now: float) -> None:
        link = self._link
        if link.sock is None and self._wants_node() and now >= link.retry_at and link.connect(now):
            self._say_all()
        if not link.welcomed:
            late = [call for call in self._calls.values() if now >= self._expires(call)]
            for call in late:
                self._give_up(call, "node_unsafe" if link.unsafe else "node_lost" if call.sends else "node_down")
            if late and link.sock is not None:
                # Connected, but no word from it in all that time.
                link.close(now)
        elif self._unconfirmed and now >= self._confirm_at:
            self._confirm_at = now + CONFIRM_AGAIN_S
            for line in self._unconfirmed.values():
                link.send(line)

    # --- the client's side

    def _from_client(self) -> bool:
        try:
            data = os.read(self._stdin, CHUNK)
        except OSError:
            return False
        for line, whole in self._lines.feed(data) if data else self._lines.rest():
            self._take(line, whole=whole)
        return bool(data)

    def _take(self, line: bytes, *, whole: bool) -> None:
        try:
            if not whole:
                why = f"{self._words['too_long']} The limit is {self._lines.limit} bytes."
                raise RefusedError(rpc.INVALID_REQUEST, why, lost_id(line))
            if line.strip():
                self._message(line)
        except RefusedError as refused:
            self._out.put({"jsonrpc": "2.0", "id": refused.request_id, "error": refused.error})

    def _message(self, line: bytes) -> None:
        message = parsed(line)
        method, known = message.get("method"), known_id(message.get("id"))
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                return  # an answer, but nothing is ever asked of the client
            raise RefusedError(rpc.INVALID_REQUEST, "The message has no method.", known)
        params = message.get("params", {})
        if "id" not in message:
            if method == "notifications/cancelled" and isinstance(params, dict):
                self._cancelled(params)
            return
        if known is None:
            raise RefusedError(rpc.INVALID_REQUEST, "The id of a request must be a string or a whole number.")
        if message.get("jsonrpc") != "2.0":
            raise RefusedError(rpc.INVALID_REQUEST, 'The message is not JSON-RPC: "jsonrpc" must be "2.0".', known)
        if not isinstance(params, dict):
            raise RefusedError(rpc.INVALID_PARAMS, "params must be an object.", known)
        stateless = self._stateless(params, known) if method != "initialize" else False
        answer = self._local.get(method)
        if answer is None:
            self._relay(line, known, method, stateless=stateless)
            return
        result = answer(params)
        if stateless:
            result |= self._stamp()
            if method in rpc.CACHEABLE:
                result |= {"ttlMs": 0, "cacheScope": "private"}
        self._out.put({"jsonrpc": "2.0", "id": known, "result": result})

    def _stateless(self, params: Mapping[str, object], request_id: int | str) -> bool:
        """Whether a request carries the envelope of the stateless protocol; RefusedError for a version not served."""
        meta = object_in(params.get("_meta"))
        version = meta.get(rpc.VERSION_KEY)
        if version is None:
            return False
        served = self._catalogue["stateless_versions"]
        if not isinstance(served, list) or version not in served:
            data = {"supported": served, "requested": version}
            raise RefusedError(rpc.UNSUPPORTED_VERSION, "Unsupported protocol version", request_id, data)
        self._met(meta.get(rpc.CLIENT_KEY))
        return True

    def _met(self, client: object) -> None:
        if not self._client:
            self._client = object_in(client) or {"name": "unknown"}

    def _stamp(self) -> dict[str, object]:
        return {"resultType": "complete", "_meta": {rpc.SERVER_KEY: self._catalogue["server"]}}

    def _initialize(self, params: Mapping[str, object]) -> dict[str, object]:
        self._met(params.get("clientInfo"))
        wanted, served = params.get("protocolVersion"), self._catalogue["handshake_versions"]
        versions = served if isinstance(served, list) else []
        return {
            "protocolVersion": wanted if wanted in versions else versions[-1],
            "capabilities": self._catalogue["capabilities"],
            "serverInfo": self._catalogue["server"],
            "instructions": self._catalogue["instructions"],
        }

    def _discover(self, _params: Mapping[str, object]) -> dict[str, object]:
        return {
            "supportedVersions": self._catalogue["stateless_versions"],
            "capabilities": self._catalogue["capabilities"],
            "instructions": self._catalogue["instructions"],
        }

    def _relay(self, line: bytes, request_id: int | str, method: str, *, stateless: bool) -> None:
        call = Call(
            request_id=request_id,
            line=line.strip(),
            is_tool=method == "tools/call",
            stateless=stateless,
            since=time.monotonic(),
        )
        if len(self._calls) + self._out.answers() >= MOST_CALLS:
            self._fail(call, "limit", str(self._words["too_many"]))
            return
        self._calls[call.id] = call
        self._by_request.pop(request_id, None)
        self._by_request[request_id] = call.id
        if len(self._by_request) > MOST_REMEMBERED:
            done = next(known for known, call_id in self._by_request.items() if call_id not in self._calls)
            del self._by_request[done]
        self._link.retry_at = min(self._link.retry_at, call.since)
        self._say_call(call)

    def _cancelled(self, params: Mapping[str, object]) -> None:
        """The client wants no answer any more, or will not look at the one it got."""
        known = known_id(params.get("requestId"))
        call_id = self._by_request.pop(known, None) if known is not None else None
        if call_id is None:
            return
        call = self._calls.pop(call_id, None)
        answered = call is None and not self._out.withdraw(call_id)
        if not (rpc.aborted(params) if answered else call is not None and not call.sends):
            self._confirm(call_id, "cancel")

    def _to_client(self) -> bool:
        """Writes some of what waits for stdout; False when nobody reads there any more."""
        try:
            answered = self._out.write_some()
        except OSError:
            return False
        if answered is not None:
            self._confirm(answered, "ack")
        return True

    # --- the node's side

    def _say_all(self) -> None:
        """Tells a node that was just reached who this is, then all it may have missed."""
        hello = {"t": "hello", "v": 1, "shim": self._shim_id, "sw": SOFTWARE, "client": self._client}
        self._link.send(json.dumps(hello, separators=(",", ":")).encode("ascii"))
        self._confirm_at = time.monotonic() + CONFIRM_AGAIN_S
        for line in self._unconfirmed.values():
            self._link.send(line)
        for call in list(self._calls.values()):
            if call.sends >= MOST_SENDS:
                self._give_up(call, "node_lost")
            else:
                self._say_call(call)

    def _say_call(self, call: Call) -> None:
        if self._link.sock is not None:
            call.sends += 1
            # The client's own bytes: they were read as JSON above, and writing them anew could only change them.
            self._link.send(b'{"t":"call","call":"%s","msg":%s}' % (call.id.encode("ascii"), call.line))

    def _confirm(self, call_id: str, kind: str) -> None:
        line = _confirmation(kind, call_id)
        if not self._unconfirmed:
            self._confirm_at = time.monotonic() + CONFIRM_AGAIN_S
        self._unconfirmed.pop(call_id, None)
        self._unconfirmed[call_id] = line
        if len(self._unconfirmed) > MOST_REMEMBERED:
            del self._unconfirmed[next(iter(self._unconfirmed))]
        self._link.send(line)

    def _from_node(self, line: bytes, *, whole: bool) -> None:
        try:
            said = parsed(line) if whole else {}
        except RefusedError:
            said = {}
        kind, call_id, message = said.get("t"), said.get("call"), object_in(said.get("msg"))
        call = self._calls.get(call_id) if isinstance(call_id, str) else None
        if kind == "welcome":
            self._link.welcome()
            limit = said.get("line_bytes")
            self._lines.limit = limit if isinstance(limit, int) else self._lines.limit
        elif kind == "result" and call is not None:
            del self._calls[call.id]
            self._out.put({**message, "id": call.request_id}, call.id)
        elif kind == "progress" and call is not None:
            self._out.put(message)
        elif kind == "acked" and isinstance(call_id, str):
            # An ack may be confirmed after the client cancelled: that says nothing about the cancel.
            if self._unconfirmed.get(call_id) == _confirmation(str(said.get("of")), call_id):
                del self._unconfirmed[call_id]
        elif kind == "refused":
            for waiting in list(self._calls.values()):
                del self._calls[waiting.id]
                if waiting.sends > 1:
                    self._confirm(waiting.id, "cancel")  # an earlier connection may have done it
                self._fail(waiting, str(said.get("code")), str(said.get("message")))
            self._link.close(time.monotonic())
        elif kind is None:
            self._link.close(time.monotonic())

    def _give_up(self, call: Call, why: str) -> None:
        del self._calls[call.id]
        if call.sends:
            self._confirm(call.id, "cancel")
        self._fail(call, "node_not_running", str(self._words[why]))

    def _fail(self, call: Call, code: str, message: str) -> None:
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": call.request_id}
        if call.is_tool:
            said = {"refused": code, "message": message}
            content = [{"type": "text", "text": text} for text in (message, json.dumps({"refused": code}))]
            stamp = self._stamp() if call.stateless else {}
            answer["result"] = {"content": content, "structuredContent": said, "isError": True, **stamp}
        else:
            answer["error"] = {"code": rpc.INTERNAL_ERROR, "message": message}
        self._out.put(answer)

    # --- the end

    def _leave(self) -> None:
        """Writes out what needed no node and tells the node goodbye; calls without an answer are given up."""
        until = time.monotonic() + LEAVE_S
        # Whoever closed stdin has left: an answer that is not out yet reaches nobody and must not count as taken.
        self._out.withdraw_all()
        while self._out and self._wait_for(self._out.fd, until) and self._to_client():
            pass
        self._link.send(b'{"t":"bye"}')
        while self._link.out and self._link.sock is not None and self._wait_for(self._link.sock, until):
            self._link.write_some(time.monotonic())
        self._link.close(time.monotonic())

    def _wait_for(self, writer: int | socket.socket, until: float) -> bool:
        _, writable, _ = select.select([], [writer], [], max(0.0, until - time.monotonic()))
        return bool(writable)


def _confirmation(kind: str, call_id: str) -> bytes:
    return json.dumps({"t": kind, "call": call_id}, separators=(",", ":")).encode("ascii")


def main(argv: Sequence[str] = ()) -> int:
    """Serves MCP on stdin and stdout until the client leaves; 0, 1 when it cannot, 2 for arguments (it takes none)."""
    if argv:
        sys.stderr.write("usage: helio mcp    (an agent starts it, as an MCP server on stdio)\n")
        return 2
    try:
        with open(CATALOGUE, "rb") as file:  # noqa: PTH123 - pathlib alone would take a third of the time to start
            catalogue = json.loads(file.read())
        stop, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        return Shim(stdin=0, stdout=1, stop=stop, path=socket_path(), catalogue=catalogue).run()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"helio mcp: cannot serve: {error}. Install heliograph again if this stays.\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
