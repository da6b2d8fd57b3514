"""The shim against a node that follows a script: what it says, in which order, and what it says again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from node.platform.paths import run_dir
from node.shim_messages import lost_id
from node.shim_streams import socket_path
from tests.mcp_client import ShimClient, run, shim, shim_command, shim_env
from tests.mcp_twin import DEADLINE_S, ROOT


@pytest.fixture
def home() -> Iterator[Path]:
    # Not tmp_path: its names grow beyond what a socket's path may have.
    with TemporaryDirectory(prefix="helio-") as made:
        yield Path(made)


class ScriptedNode:
    """Connections of one shim, read and answered line by line as the test says."""

    def __init__(self, home: Path) -> None:
        (home / "run").mkdir(mode=0o700, exist_ok=True)
        self.path = home / "run" / "agent.sock"
        self._arrived: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        self._visits: list[Visit] = []

    async def __aenter__(self) -> ScriptedNode:
        self._server = await asyncio.start_unix_server(
            lambda reader, writer: self._arrived.put_nowait((reader, writer)), self.path, limit=2**24
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        while not self._arrived.empty():
            self._visits.append(Visit(*self._arrived.get_nowait()))
        for visit in self._visits:
            await visit.end()

    async def accept(self, *, welcome: bool = True, **more: object) -> Visit:
        """The next connection, its hello taken and by default answered."""
        async with asyncio.timeout(DEADLINE_S):
            visit = Visit(*await self._arrived.get())
        self._visits.append(visit)
        hello = await visit.hear()
        assert (hello["t"], hello["v"]) == ("hello", 1)
        visit.hello = hello
        if welcome:
            await visit.say({"t": "welcome", "v": 1} | more)
        return visit


class Visit:
    """One connection of the shim."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.hello: dict[str, object] = {}

    async def hear(self) -> dict[str, object]:
        async with asyncio.timeout(DEADLINE_S):
            line = json.loads(await self._reader.readuntil(b"\n"))
        assert isinstance(line, dict)
        return line

    async def write(self, line: bytes) -> None:
        self._writer.write(line)
        await self._writer.drain()

    async def say(self, line: dict[str, object]) -> None:
        await self.write(json.dumps(line).encode() + b"\n")

    async def answer(self, call: dict[str, object], text: str = "done") -> None:
        result = {"content": [{"type": "text", "text": text}] * 2, "structuredContent": {}, "isError": False}
        await self.say({"t": "result", "call": call["call"], "msg": {"jsonrpc": "2.0", "id": 0, "result": result}})

    async def end(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


def conversation(home: Path, play: Callable[[ScriptedNode, ShimClient], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with ScriptedNode(home) as node, shim(home) as client:
            await play(node, client)

    run(whole)


def test_it_says_hello_only_once_its_client_is_known(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.say("ping")
        await client.hear()
        await client.initialize()
        visit = await node.accept()
        assert visit.hello["client"] == {"name": "test", "version": "1"}
        assert str(visit.hello["sw"]).startswith("heliograph/")

    conversation(home, play)


def test_a_call_is_relayed_as_the_client_wrote_it(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        visit = await node.accept()
        raw = '{"jsonrpc": "2.0",  "id":"\\u0061","method":"tools/call","params":{"name":"é \\u2028","n":1.50}}'
        await client.write(raw.encode() + b"\n")
        call = await visit.hear()
        assert call["t"] == "call"
        assert call["msg"] == json.loads(raw)
        await visit.answer(call)
        assert (await client.hear())["id"] == "a"
        assert await visit.hear() == {"t": "ack", "call": call["call"]}

    conversation(home, play)


def test_an_ack_is_said_again_to_the_next_node_until_confirmed(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        first = await node.accept()
        request_id = await client.start_call("read_inbox")
        call = await first.hear()
        await first.answer(call)
        await first.end()
        assert (await client.answer(request_id)).line == "done"
        # With the hello, before anything else: the next call must find what the last one took as read.
        await client.start_call("wait")
        second = await node.accept()
        assert await second.hear() == {"t": "ack", "call": call["call"]}
        waiting = await second.hear()
        assert waiting["t"] == "call"
        await second.end()
        third = await node.accept()
        assert await third.hear() == {"t": "ack", "call": call["call"]}
        await third.say({"t": "acked", "call": call["call"], "of": "ack"})
        assert await third.hear() == waiting
        await third.end()
        # Confirmed, so not said again.
        assert await (await node.accept()).hear() == waiting

    conversation(home, play)


def test_the_confirmation_of_an_ack_does_not_confirm_a_cancel(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        first = await node.accept()
        request_id = await client.start_call("read_inbox")
        call = await first.hear()
        await first.answer(call)
        await client.answer(request_id)
        assert (await first.hear())["t"] == "ack"
        await client.notify("notifications/cancelled", {"requestId": request_id})
        cancel = {"t": "cancel", "call": call["call"]}
        assert await first.hear() == cancel
        await first.say({"t": "acked", "call": call["call"], "of": "ack"})
        await first.end()
        second = await node.accept()
        assert await second.hear() == cancel

    conversation(home, play)


def test_an_abort_of_a_call_that_was_answered_gives_nothing_back(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        visit = await node.accept()
        request_id = await client.start_call("read_inbox")
        await visit.answer(await visit.hear())
        await client.answer(request_id)
        assert (await visit.hear())["t"] == "ack"
        abort = {"requestId": request_id, "reason": "AbortError: The operation was aborted."}
        await client.notify("notifications/cancelled", abort)
        waiting = await client.start_call("wait")
        call = await visit.hear()
        assert call["t"] == "call"
        await client.notify("notifications/cancelled", abort | {"requestId": waiting})
        assert await visit.hear() == {"t": "cancel", "call": call["call"]}

    conversation(home, play)


def test_an_answer_to_a_cancelled_call_is_not_passed_on(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        visit = await node.accept()
        request_id = await client.start_call("wait")
        call = await visit.hear()
        await client.notify("notifications/cancelled", {"requestId": request_id})
        assert (await visit.hear())["t"] == "cancel"
        await visit.answer(call)
        await client.say("ping")
        assert (await client.hear())["result"] == {}
        assert await client.leave() == 0
        assert await visit.hear() == {"t": "bye"}

    conversation(home, play)


def test_a_call_that_every_node_dies_of_is_given_up(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        request_id = await client.start_call("wait")
        calls = []
        for _ in range(5):
            visit = await node.accept()
            calls.append(await visit.hear())
            await visit.end()
        answer = await client.answer(request_id)
        assert answer.data["refused"] == "node_not_running"
        assert "not done twice" in answer.line
        assert calls == [calls[0]] * 5
        assert await (await node.accept()).hear() == {"t": "cancel", "call": calls[0]["call"]}

    conversation(home, play)


def test_a_refusal_is_the_answer_to_what_waits(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        request_id = await client.start_call("wait")
        visit = await node.accept(welcome=False)
        assert (await visit.hear())["t"] == "call"
        await visit.say({"t": "refused", "code": "limit", "message": "Too many."})
        answer = await client.answer(request_id)
        assert (answer.line, answer.data["refused"]) == ("Too many.", "limit")

    conversation(home, play)


def test_the_node_tells_how_long_a_line_may_be(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        visit = await node.accept(line_bytes=1_000)
        await client.start_call("wait")
        await visit.answer(await visit.hear())
        await client.hear()
        request_id = await client.start_call("report", text="a" * 1_000)
        answer = await client.hear()
        assert answer["id"] == request_id
        assert "1000 bytes" in str(answer["error"])

    conversation(home, play)


def test_more_calls_than_it_keeps_are_refused_at_once(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        for _ in range(64):
            await client.start_call("wait")
        one_more = await client.start_call("wait")
        assert (await client.answer(one_more)).data["refused"] == "limit"
        visit = await node.accept()
        await visit.answer(await visit.hear())
        assert (await client.hear())["id"] == one_more - 64

    conversation(home, play)


@pytest.mark.parametrize("line", [b"nonsense\n", b"[]\n", b'{"x":1}\n', b'"\xff"\n'])
def test_a_node_that_talks_nonsense_is_left_and_tried_again(home: Path, line: bytes) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        await client.initialize()
        visit = await node.accept()
        await visit.write(line)
        again = await node.accept()
        request_id = await client.start_call("wait")
        await again.answer(await again.hear())
        assert not (await client.answer(request_id)).refused

    conversation(home, play)


def test_a_socket_in_a_folder_that_others_can_enter_is_not_used(home: Path) -> None:
    async def play(node: ScriptedNode, client: ShimClient) -> None:
        node.path.parent.chmod(0o755)
        await client.initialize()
        answer = await client.call("wait")
        assert answer.refused
        assert "helio doctor" in answer.line

    conversation(home, play)


@pytest.mark.parametrize(
    "place",
    ["short", "a/../b", "./x//y", "deep/" * 30 + "home", "déjà/" * 14 + "./up/../home"],
)
def test_it_looks_where_the_node_listens(home: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    for chosen in (place, f"{home}/{place}"):
        monkeypatch.setenv("HELIOGRAPH_HOME", chosen)
        there = Path(chosen).expanduser().absolute()
        there.mkdir(parents=True, exist_ok=True)
        assert socket_path() == str(run_dir(there) / "agent.sock")
        if not str(run_dir(there)).startswith(str(home)):
            run_dir(there).rmdir()


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        (b'{"id":3,"method":"x","params":{"a":"aa', 3),
        (b'{ "jsonrpc" : "2.0", "id" : "q-1" ,"method"', "q-1"),
        (b'{"method":"x","params":{"a":"' + b'aaa"},"jsonrpc":"2.0","id":-5}', -5),
        (b'{"method":"x","params":{"a":"a","id":5}}', None),
        (b'{"params":{"id":5,"a":"aaaa', None),
        (b'{"method":"x","params":{"a":"\\",\\"id\\":5}"}', None),
        (b'{"id":true,"a":"aaaa', None),
    ],
)
def test_the_id_of_a_line_too_long_to_read_is_found_only_where_it_is_certain(
    ends: bytes, found: int | str | None
) -> None:
    assert lost_id(ends) == found


def test_it_loads_the_standard_library_alone_and_little_of_it() -> None:
    script = "import sys; before = set(sys.modules); import node.shim; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {script}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.split())
    own = {"node", "node.shim", "node.shim_messages", "node.shim_streams", "node.version"}
    assert {name for name in loaded if name.startswith("node")} == own
    assert {name.split(".")[0] for name in loaded} - {"node"} <= set(sys.stdlib_module_names)
    assert not loaded & {"asyncio", "typing", "dataclasses", "inspect", "pathlib", "logging", "uuid", "hashlib", "ssl"}


def test_it_takes_no_arguments(home: Path) -> None:
    script = "import sys; from node.shim import main; sys.exit(main(['--help']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=shim_env(home), check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"usage" in done.stderr


def test_one_line_without_a_line_feed_is_answered_at_the_end_of_the_input(home: Path) -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    done = subprocess.run(shim_command(), input=ping, capture_output=True, env=shim_env(home), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"jsonrpc":"2.0","id":1,"result":{}}\n', b"")


def test_a_reader_that_went_away_ends_it_quietly(home: Path) -> None:
    read, write = os.pipe()
    process = subprocess.Popen(
        shim_command(), stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE, env=shim_env(home)
    )
    os.close(write)
    os.close(read)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert process.wait(DEADLINE_S) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()
