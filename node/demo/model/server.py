"""A model server on a loopback port that plays scripts, so that real agent CLIs run their real loop without a model.

    with FakeModel() as model:
        model.say(Turn(tool="*read_inbox"), Turn(text="done", gate="later"), script="alice")
        ...                          # start a CLI with the base URL model.base("alice")
        model.wait_for(2, "alice")   # it has called the tool and waits for the model again: it is busy now
        model.open_gate("later")

A turn is used up by a request of the conversation only: one that offers tools, and none of `side_when`.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

from node.demo.model.dialects import DIALECTS, Dialect, Event, Json
from node.demo.model.script import Answer, Request, Turn, answer_to

NO_MORE = Turn(text="(end of script)")
_PATHS = (
    (re.compile(r"/messages$"), "messages"),
    (re.compile(r"/chat/completions$"), "chat"),
    (re.compile(r"/responses$"), "responses"),
    (re.compile(r"/models/[^/:]+:(?:stream)?generateContent$", re.IGNORECASE), "gemini"),
)
# What a client may count with before it asks.
_COUNTS = re.compile(r"/count_tokens$|:countTokens$")


class FakeModel:
    """The server, from `with` on. `side_when` tells requests beside the conversation by their system or newest text."""

    def __init__(self, *, side_when: str = "memory extraction subagent") -> None:
        self.requests: list[Request] = []
        self._side_when = re.compile(side_when)
        self._scripts: defaultdict[str, list[Turn]] = defaultdict(list)
        self._gates: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> FakeModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for gate in tuple(self._gates.values()):
            gate.set()
        self._server.shutdown()
        self._server.server_close()

    def base(self, script: str = "default") -> str:
        """The base URL that plays `script`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/s/{script}"

    def say(self, *turns: Turn, script: str = "default") -> None:
        """Adds turns to the end of a script."""
        with self._changed:
            self._scripts[script].extend(turns)

    def forget(self, script: str = "default") -> None:
        """Drops the turns of a script that were not played."""
        with self._changed:
            self._scripts[script].clear()

    def open_gate(self, gate: str) -> None:
        """Lets every answer go that waits at the gate, or will."""
        self._gates[gate].set()

    def asked(self, script: str = "default") -> list[Request]:
        """The requests of the conversation so far."""
        with self._changed:
            return [request for request in self.requests if request.script == script and not request.side]

    def wait_for(self, count: int, script: str = "default", *, seconds: float = 30) -> list[Request]:
        """Waits until the conversation has made that many requests; TimeoutError when it does not."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self._asked_now(script)) >= count, timeout=seconds)
        if not came:
            raise TimeoutError(f"{len(self.asked(script))} of {count} requests came for {script!r}")
        return self.asked(script)

    def _asked_now(self, script: str) -> list[Request]:
        return [request for request in self.requests if request.script == script and not request.side]

    def take(self, request: Request) -> Answer:
        """The answer to a request, once its gate is open. Called by the server's threads."""
        side = not request.tools or bool(self._side_when.search(f"{request.system}\n{request.newest}"))
        with self._changed:
            turn = Turn(text="ok") if side else self._next(request)
            self.requests.append(replace(request, side=side))
            self._changed.notify_all()
        if turn.gate:
            self._gates[turn.gate].wait()
        return answer_to(request, turn)

    def _next(self, request: Request) -> Turn:
        turns = self._scripts[request.script]
        for turn in turns:
            if not turn.when or re.search(turn.when, request.newest):
                if not turn.again:
                    turns.remove(turn)
                return turn
        return NO_MORE


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    model: FakeModel

    def log_message(self, format: str, *args: object) -> None:
        """Silence: the tests look at `model.requests`."""

    def do_GET(self) -> None:
        """The list of models, which some clients ask for."""
        listed = {"id": "fake-model", "object": "model", "type": "model", "display_name": "Fake"}
        if urlsplit(self.path).path.endswith("/models"):
            self._json(200, {"object": "list", "data": [listed], "has_more": False})
        else:
            self._json(404, {"error": {"type": "not_found_error", "message": self.path}})

    def do_HEAD(self) -> None:
        """As a GET, without the body."""
        self.do_GET()

    def do_POST(self) -> None:
        """What a model is asked."""
        raw = self._body()
        path = urlsplit(self.path).path
        wanted = re.fullmatch(r"/s/([^/]+)(/.*)", path)
        if _COUNTS.search(path):
            self._json(200, {"input_tokens": len(raw) // 4, "totalTokens": len(raw) // 4})
            return
        dialect = next((DIALECTS[name] for shape, name in _PATHS if shape.search(path)), None)
        if wanted is None or dialect is None:
            self._json(404, {"error": {"type": "not_found_error", "message": path}})
            return
        request = _request(dialect, wanted[1], path, json.loads(raw or b"{}"))
        answer = self.model.take(request)
        try:
            if request.stream:
                self._stream(dialect.stream(request, answer))
            else:
                self._json(200, dialect.plain(request, answer))
        except (BrokenPipeError, ConnectionResetError):
            # The client gave up waiting, which is its right.
            self.close_connection = True

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        raw = b""
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            raw += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return raw

    def _json(self, status: int, data: Json) -> None:
        raw = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, events: Iterator[Event]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in events:
            text = data if isinstance(data, str) else json.dumps(data)
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {text}\n\n".encode())
            self.wfile.flush()


def _request(dialect: Dialect, script: str, path: str, body: Json) -> Request:
    tools, system, said = dialect.read(body)
    return Request(
        dialect=dialect.name,
        script=script,
        model=str(body.get("model", "fake-model")),
        stream=bool(body.get("stream")) or ":stream" in path,
        tools=tools,
        system=system,
        said=said,
    )
