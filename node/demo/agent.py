"""A scripted agent: a real MCP client in a terminal, whose decisions come from a script instead of a model.

It has a prompt like the agents it stands for, starts `helio mcp` as its MCP server, and takes a turn when a line is
entered. With --control it decides nothing: whoever connects to that unix socket is its script, is told of every line
that was entered, and makes the calls. Without a script, or when that has left, it delivers a short reply to whatever it
is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

PROMPT = "helio-agent> "
WORKING = "helio-agent is working"
NOTICE = "[heliograph]"
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_CALL_TIMEOUT_S = 900.0


class McpClient:
    """The least of an MCP client: initialize, then tools/call, several at a time."""

    def __init__(self, server: list[str]) -> None:
        self._process = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock = threading.Lock()
        self._next = 0
        self._waiting: dict[int, queue.Queue[dict[str, object]]] = {}
        threading.Thread(target=self._read, daemon=True).start()
        self._ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "helio-agent", "version": "1"},
            },
        )
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _write(self, message: Mapping[str, object]) -> None:
        pipe = self._process.stdin
        if pipe is not None:
            with self._lock:
                pipe.write(json.dumps(message).encode("utf-8") + b"\n")
                pipe.flush()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            message = json.loads(line)
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None:
                waiting.put(message)

    def _ask(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        answer: queue.Queue[dict[str, object]] = queue.Queue()
        with self._lock:
            self._next += 1
            number = self._next
            self._waiting[number] = answer
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return answer.get(timeout=_CALL_TIMEOUT_S)

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """The result of a tool call, or the JSON-RPC error, as the server gave it."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        result = answer.get("result", {"isError": True, "error": answer.get("error")})
        return result if isinstance(result, dict) else {}

    def close(self) -> None:
        """Ends the server as clients do: end of input, then patience."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)


class Script:
    """Whoever is connected to the control socket; lines of JSON both ways."""

    def __init__(self, path: Path, agent: Agent) -> None:
        self._agent = agent
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path.unlink(missing_ok=True)
        self._server.bind(str(path))
        path.chmod(0o600)
        self._server.listen(1)
        self._connection: socket.socket | None = None
        # What is said before the script has come for the first time is kept for it.
        self._early: list[bytes] | None = []
        self._lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._server.accept()
            with self._lock:
                self._connection = connection
                for line in self._early or ():
                    connection.sendall(line)
                self._early = None
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    order = json.loads(line)
                    threading.Thread(target=self._carry_out, args=(order,), daemon=True).start()
            self._connection = None

    def _carry_out(self, order: Mapping[str, object]) -> None:
        arguments = order.get("args")
        result = self._agent.call(str(order["tool"]), arguments if isinstance(arguments, dict) else {})
        self.tell({"id": order.get("id"), "result": result})

    def tell(self, what: Mapping[str, object]) -> bool:
        """Sends an answer or an event, or keeps it for a script that is yet to come; False when the script has left."""
        line = json.dumps(what).encode("utf-8") + b"\n"
        with self._lock:
            if self._early is not None:
                self._early.append(line)
                return True
            if self._connection is None:
                return False
            try:
                self._connection.sendall(line)
            except OSError:
                return False
        return True


class Agent:
    """The agent itself: prints what it does, so that its terminal can be followed."""

    def __init__(self, name: str, server: list[str], control: Path | None) -> None:
        self._name = name
        self._printing = threading.Lock()
        self._client = McpClient(server)
        self._script = Script(control, self) if control else None

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """Calls a tool and shows the call and its answer in the terminal."""
        self._show(f"* {tool} {json.dumps(arguments, ensure_ascii=True)[:160]}")
        result = self._client.call(tool, arguments)
        content = result.get("content")
        said = content[0].get("text", "") if isinstance(content, list) and content else str(result.get("error", ""))
        self._show(f"  -> {json.dumps(said, ensure_ascii=True)[1:-1][:400]}")
        return result

    def turn(self, line: str) -> None:
        """One turn: the script's, or the reply of an agent without one."""
        self._show(WORKING)
        if self._script is not None and self._script.tell({"event": "line", "text": line}):
            return
        if line.startswith(NOTICE):
            self._answer_inbox()
        else:
            self._show(f"  {self._name} follows no script and acts on notices only")

    def _answer_inbox(self) -> None:
        data = self.call("read_inbox", {}).get("structuredContent")
        messages = data.get("messages") if isinstance(data, dict) else None
        for message in messages if isinstance(messages, list) else ():
            exchange = message.get("exchange")
            match message.get("kind"):
                case "request" | "brief" | "steer":
                    reply = f"{self._name} has read it and has no script to do more."
                    self.call("deliver", {"exchange": exchange, "text": reply})
                case "ask":
                    self.call("answer", {"question": message.get("id"), "text": "Decide as you see fit."})
                case _:
                    continue

    def _show(self, line: str) -> None:
        with self._printing:
            # Whatever stood on the line (an empty prompt) gives way, and the prompt comes back below.
            sys.stdout.write(f"\r\x1b[K{line}\r\n")
            if line != WORKING:
                sys.stdout.write(PROMPT)
            sys.stdout.flush()

    def prompt(self) -> None:
        """Shows the prompt."""
        with self._printing:
            sys.stdout.write(f"\r\x1b[K{PROMPT}")
            sys.stdout.flush()

    def close(self) -> None:
        """Ends the MCP server."""
        self._client.close()


def _keys() -> Iterator[str]:
    """What the terminal sends, in pieces as they come; ends with the terminal."""
    descriptor = sys.stdin.fileno()
    while True:
        select.select([descriptor], [], [])
        data = os.read(descriptor, 4096)
        if not data:
            return
        yield data.decode("utf-8", "replace")


@contextmanager
def _raw_terminal() -> Iterator[None]:
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    attributes = termios.tcgetattr(descriptor)
    attributes[0] &= ~termios.ICRNL
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    sys.stdout.write("\x1b[?2004h")
    try:
        yield
    finally:
        sys.stdout.write("\x1b[?2004l")
        sys.stdout.flush()
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _lines() -> Iterator[str]:
    """Entered lines, edited with Backspace; a bracketed paste is text, whatever it holds."""
    line, pasting, held = "", False, ""
    for piece in _keys():
        held += piece
        while held:
            mark = _PASTE_ENDS if pasting else _PASTE_BEGINS
            if held.startswith(mark):
                pasting, held = not pasting, held[len(mark) :]
                continue
            if mark.startswith(held[: len(mark)]) and len(held) < len(mark):
                break
            key, held = held[0], held[1:]
            if key == "\r" and not pasting:
                sys.stdout.write("\r\n")
                entered, line = line, ""
                yield entered
            elif key in "\x7f\b" and line:
                line = line[:-1]
                sys.stdout.write("\b \b")
            elif key.isprintable():
                line += key
                sys.stdout.write(key)
            sys.stdout.flush()


def main() -> int:
    """Runs until its terminal ends or it is told to stop."""
    parser = argparse.ArgumentParser(prog="helio-agent", description=__doc__)
    parser.add_argument("--name", default="agent", help="what it calls itself in replies")
    parser.add_argument("--control", type=Path, help="unix socket on which a script takes over")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # In a sandbox its own folder can only be read: no script can come, and it gets on without one.
    reachable = options.control is not None and os.access(options.control.parent, os.W_OK)
    server = [sys.executable, "-m", "node.entry", "mcp"]
    agent = Agent(options.name, server, options.control if reachable else None)
    try:
        with _raw_terminal():
            agent.prompt()
            for line in _lines():
                if line.strip() in {"exit", "/exit"}:
                    break
                if line.strip():
                    agent.turn(line)
                agent.prompt()
    except KeyboardInterrupt:
        return 130
    finally:
        agent.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
