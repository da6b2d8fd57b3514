"""Plays `helio` where a test needs no node: an MCP server and a hook that write down what reached them.

    python helio.py LOG mcp [NAME]      an MCP server with the tools read_inbox and list_peers
    python helio.py LOG hook EVENT ...  a hook; prints what stands in LOG.say, once, if that is there

Each thing is one JSON object a line in LOG. Standard library only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TOOLS = ("read_inbox", "list_peers")


def command(log: Path) -> tuple[str, ...]:
    """The command line that plays helio and logs to `log`."""
    return (sys.executable, "-I", "-S", __file__, str(log))


def events(log: Path, kind: str) -> list[dict[str, object]]:
    """What was logged of one kind ("start", "call", "hook"), in order."""
    if not log.exists():
        return []
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return [row for row in rows if row["kind"] == kind]


def _note(log: Path, kind: str, **what: object) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"kind": kind, **what}) + "\n")


def _hook(log: Path, words: Sequence[str]) -> None:
    payload = json.loads(sys.stdin.read() or "{}")
    _note(log, "hook", event=words[0], client=words[-1], payload=payload)
    said = log.with_suffix(".say")
    if words[0] in {"Stop", "AfterAgent"} and said.exists():
        text = said.read_text(encoding="utf-8")
        said.unlink()
        sys.stdout.write(text)


def _serve(log: Path, name: str) -> None:
    _note(log, "start", server=name)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"], **_result(log, name, message)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def _result(log: Path, name: str, message: Mapping[str, object]) -> dict[str, object]:
    method, params = message["method"], message.get("params")
    given = params if isinstance(params, dict) else {}
    if method == "initialize":
        info = {"name": name, "version": "1"}
        return {
            "result": {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        }
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {"result": {"tools": [{"name": tool, "description": tool, "inputSchema": schema} for tool in TOOLS]}}
    if method == "tools/call":
        _note(log, "call", server=name, tool=given.get("name"))
        return {"result": {"content": [{"type": "text", "text": "Your inbox is empty."}]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def main(argv: Sequence[str]) -> int:
    """Command line."""
    log, what, *words = argv
    if what == "hook":
        _hook(Path(log), words)
    else:
        _serve(Path(log), words[0] if words else "heliograph")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
