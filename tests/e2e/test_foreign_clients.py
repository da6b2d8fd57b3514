"""MCP clients that nobody here wrote, inside a session of a real node: the Inspector's command line and mcp-conform."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from node.core.model import Author
from node.local_client import LocalClient
from node.ports import NewSession
from tests.e2e.lab import HELIO, Lab, lab
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
INSPECTOR = ROOT / ".venv" / "npm" / "node_modules" / ".bin" / "mcp-inspector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command in a session came to."""

    code: int
    out: str
    err: str


async def in_session(built: Lab, name: str, *command: str) -> Done:
    """Runs a command as the agent of a session @name."""
    result = built.home / f"{name}.json"
    env = built.env | {"PATH": os.pathsep.join((str(BIN), str(ROOT / ".venv" / "bin"), built.env["PATH"]))}
    async with LocalClient(built.home) as client:
        await client.run_session(
            NewSession(
                argv=(sys.executable, str(ROOT / "tests" / "e2e" / "in_pane.py"), str(result), *command),
                cwd=str(built.home),
                env=tuple(env.items()),
                nickname=name,
            )
        )
    await until(result.exists, seconds=60)
    return Done(**json.loads(result.read_text(encoding="utf-8")))


async def inspector(built: Lab, name: str, *arguments: str) -> dict[str, object]:
    """What the Inspector's command line prints for one method."""
    assert INSPECTOR.exists(), f"{INSPECTOR} is not there; tools/check installs it"
    # Like many clients it gives its server a short list of variables only; those beyond are named.
    home = f"HELIOGRAPH_HOME={built.home}"
    done = await in_session(built, name, str(INSPECTOR), "--cli", "-e", home, *HELIO, "mcp", *arguments)
    assert done.code == 0, done
    said = json.loads(done.out)
    assert isinstance(said, dict)
    return said


def test_the_inspector_lists_and_calls_the_tools() -> None:
    async def play() -> None:
        async with lab() as built, AsyncExitStack() as stack:
            await built.start()
            listed = await inspector(built, "one", "--method", "tools/list")
            tools = listed["tools"]
            assert isinstance(tools, list)
            assert {"request", "read_inbox", "wait", "deliver"} <= {tool["name"] for tool in tools}
            worker = await built.agent(stack, "worker")
            called = await inspector(
                built, "two", "--method", "tools/call", "--tool-name", "request",
                "--tool-arg", "to=@worker", "--tool-arg", "text=Which day is it?", "--tool-arg", "wait_seconds=0",
                "--tool-arg", "from=@one",
            )  # fmt: skip
            assert not called.get("isError"), called
            inbox = await worker.call("read_inbox")
            (request,) = inbox.messages("request")
            assert (request["from"], request["text"]) == ("@two", "Which day is it?")
            async with LocalClient(built.home) as client:
                conversation = await client.exchange(str(request["exchange"]))
            assert conversation.messages[0].author is Author.SESSION
            assert conversation.exchange.opener == "@two"

    asyncio.run(play())


def test_mcp_conform_finds_nothing_wrong() -> None:
    async def play() -> None:
        async with lab() as built:
            await built.start()
            server = " ".join((*HELIO, "mcp"))
            done = await in_session(
                built,
                "prober",
                "mcp-conform",
                "server",
                "--transport",
                "stdio",
                "--command",
                server,
                "--format",
                "json",
            )
            assert done.code == 0, done
            assert '"fail"' not in done.out.lower(), done.out

    asyncio.run(play())


def test_a_client_outside_every_session_is_told_what_to_do() -> None:
    async def play() -> None:
        async with lab() as built:
            await built.start()
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "list_peers", "arguments": {}},
            }
            process = await asyncio.create_subprocess_exec(
                *HELIO, "mcp", env=built.env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(call).encode() + b"\n")
            async with asyncio.timeout(20):
                result = json.loads(await process.stdout.readline())["result"]
                process.stdin.close()
                assert await process.wait() == 0
            assert result["isError"] is True
            assert "helio run" in result["content"][0]["text"]

    asyncio.run(play())
