"""What becomes of calls when clients give up, nodes restart, limits are met and lines are wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from node.agent_socket import Pace
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.ports import CallRecord
from tests.mcp_client import run, shim, shim_command, shim_env
from tests.mcp_twin import DEADLINE_S, TwinNode, serving

STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = b'{"t":"hello","v":1}\n'


@pytest.fixture
def home() -> Iterator[Path]:
    # Not tmp_path: its names grow beyond what a socket's path may have.
    with TemporaryDirectory(prefix="helio-") as made:
        yield Path(made)


def test_a_call_without_a_node_says_helio_up(home: Path) -> None:
    async def play() -> None:
        async with shim(home) as client:
            await client.initialize()
            answer = await client.call("list_peers")
            assert answer.refused
            assert answer.data["refused"] == "node_not_running"
            assert "helio up" in answer.line

    run(play)


def test_a_call_waits_for_a_node_that_is_just_starting(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with shim(home, node, "ada") as client:
            await client.initialize()
            asked = await client.start_call("list_peers")
            async with serving(node, home):
                assert not (await client.answer(asked)).refused

    run(play)


def test_a_blocked_call_outlives_a_restart_of_the_node_under_one_id(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with shim(home, node, "ada") as ada, shim(home, node, "bob") as bob:
            await ada.initialize()
            await bob.initialize()
            async with serving(node, home):
                asked = await ada.start_call("request", to="bob", text="Wait for me.")
                await node.until(lambda: len(node.held) == 1)
            async with serving(node, home):
                assert len((await bob.call("read_inbox")).messages) == 1
                await bob.call("deliver", text="done")
                assert (await ada.answer(asked)).messages[0]["text"] == "done"
            assert len(node.exchanges_) == 1
            sent = [c for c in node.calls_seen if node.calls_seen.count(c) > 1]
            assert len(set(sent)) == 1

    run(play)


def test_a_node_that_stops_leaves_answered_calls_to_be_acknowledged_to_the_next(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with shim(home, node, "ada") as ada:
            await ada.initialize()
            node.session_for(os.getpid(), "bob")
            async with serving(node, home) as sock:
                await ada.call("request", to="bob", text="x", wait_seconds=0)
                reader, writer = await asyncio.open_unix_connection(sock.path)
                call = {"id": 1, "method": "tools/call", "params": {"name": "read_inbox"}}
                writer.write(HELLO + json.dumps({"t": "call", "call": "c1", "msg": call}).encode() + b"\n")
                await reader.readline()
                assert json.loads(await reader.readline())["t"] == "result"
            assert [h.by for h in node.held.values()] == ["c1"]
            async with serving(node, home) as sock:
                _, again = await asyncio.open_unix_connection(sock.path)
                again.write(HELLO + b'{"t":"ack","call":"c1"}\n')
                await node.until(node.settled)
                again.close()
            writer.close()

    run(play)


@pytest.mark.parametrize("way", ["cancelled", "stdin", "killed"])
def test_what_an_abandoned_wait_took_or_would_take_is_unread_again(home: Path, way: str) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home), shim(home, node, "ada") as ada:
            await ada.initialize()
            async with shim(home, node, "bob") as bob:
                await bob.initialize()
                waiting = await bob.start_call("wait")
                await node.until(node.running)
                if way == "cancelled":
                    await bob.notify("notifications/cancelled", {"requestId": waiting})
                elif way == "stdin":
                    assert await bob.leave() == 0
                else:
                    bob.process.kill()
                    await bob.process.wait()
                await node.until(node.abandoned)
                await ada.call("request", to="bob", text="for you", wait_seconds=0)
                assert [h.by for h in node.held.values()] == [None]
                if way == "cancelled":
                    assert [m["text"] for m in (await bob.call("read_inbox")).messages] == ["for you"]

    run(play)


def test_a_cancel_that_crosses_the_answer_makes_it_unread_again(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home), shim(home, node, "ada") as ada, shim(home, node, "bob") as bob:
            await ada.initialize()
            await bob.initialize()
            await ada.call("request", to="bob", text="for you", wait_seconds=0)
            reading = await bob.start_call("read_inbox")
            assert len((await bob.answer(reading)).messages) == 1
            await node.until(node.settled)
            await bob.notify("notifications/cancelled", {"requestId": reading})
            await node.until(lambda: all(h.by is None for h in node.held.values()))
            assert len((await bob.call("read_inbox")).messages) == 1

    run(play)


def test_a_repeated_request_from_a_new_shim_gets_the_first_result(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home), shim(home, node, "bob"):
            async with shim(home, node, "ada") as first:
                await first.initialize()
                await first.start_call("request", to="bob", text="once")
                await node.until(lambda: len(node.held) == 1)
                pane = node.panes[first.process.pid]
            async with shim(home) as second:
                node.panes[second.process.pid] = pane
                await second.initialize()
                await node.until(lambda: all(r.state == "abandoned" for r in node.records.values()))
                again = await second.start_call("request", to="bob", text="once", made_up="ignored")
                await node.until(lambda: len(node.records) == 2)
                await second.notify("notifications/cancelled", {"requestId": again})
                keyed = await second.call("report", text="x")
                assert keyed.refused
            assert len(node.held) == 1

    run(play)


def test_a_session_that_calls_too_often_is_told_to_wait(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home, limits=Limits(calls_per_minute=3)), shim(home, node, "ada") as ada:
            await ada.initialize()
            assert [(await ada.call("list_peers")).refused for _ in range(4)] == [False, False, False, True]

    run(play)


def test_one_connection_too_many_is_refused_with_the_limit(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        limits = Limits(connections=1)
        async with (
            serving(node, home, limits=limits) as sock,
            shim(home, node, "ada") as ada,
            shim(home, node, "b") as b,
        ):
            await ada.initialize()
            assert not (await ada.call("list_peers")).refused
            assert sock.connected == 1
            await b.initialize()
            refused = await b.call("list_peers")
            assert refused.data["refused"] == "limit"
            assert "limits.connections" in refused.line

    run(play)


def test_a_shim_that_does_not_read_is_cut_off_and_gives_back(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        pace = Pace(write_s=0.2, buffer_bytes=1_024)
        async with serving(node, home, pace=pace) as sock, shim(home, node, "ada") as ada:
            await ada.initialize()
            reader, writer = await asyncio.open_unix_connection(sock.path)
            node.session_for(os.getpid(), "deaf")
            await ada.call("request", to="deaf", text="x" * 90_000, wait_seconds=0)
            writer.write(b'{"t":"hello","v":1}\n')
            # A limit on the reading side stops the flow: what the socket itself buffers is soon full.
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            for number in range(40):
                tool = "read_inbox" if number == 0 else "list_delegations"
                arguments = json.dumps({"exchange": next(iter(node.exchanges_))} if number else {})
                call = f'{{"t":"call","call":"c{number}","msg":{{"id":1,"method":"tools/call","params":'
                writer.write(f'{call}{{"name":"{tool}","arguments":{arguments}}}}}}}\n'.encode())
            await node.until(lambda: any(r.state == "abandoned" for r in node.records.values()))
            assert [h.by for h in node.held.values()] == [None]
            assert not (await ada.call("list_peers")).refused
            writer.close()
            del reader

    run(play)


@pytest.mark.parametrize(
    "lines",
    [b'{"t":"call"}\n', b"nonsense\n", b'{"t":"hello","v":2}\n', b'{"t":"hello","v":1}\n{"t":"ack"}\n',
     b'{"t":"hello","v":1}\n[]\n', b'{"t":"hello","v":1}\n{"t":"call","call":"a"}\n',
     b'{"t":"hello","v":1}\n{"t":"call","call":"' + b"a" * 65 + b'","msg":{}}\n',
     HELLO + b"a" * 1_100_000 + b"\n"],
)  # fmt: skip
def test_lines_that_are_not_of_the_protocol_end_that_connection_alone(home: Path, lines: bytes) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home) as sock, shim(home, node, "ada") as ada:
            await ada.initialize()
            reader, writer = await asyncio.open_unix_connection(sock.path)
            writer.write(lines)
            heard = [json.loads(line) for line in (await reader.read()).splitlines()]
            assert heard[-1]["t"] == "refused"
            writer.close()
            assert not (await ada.call("list_peers")).refused

    run(play)


def test_a_strangers_call_cannot_be_settled_or_given_back(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home) as sock, shim(home, node, "ada") as ada, shim(home, node, "bob") as bob:
            await ada.initialize()
            await bob.initialize()
            await ada.call("request", to="bob", text="x", wait_seconds=0)
            assert len((await bob.call("read_inbox")).messages) == 1
            (took,) = {h.by for h in node.held.values()}
            await node.until(node.settled)
            node.session_for(os.getpid(), "eve")
            reader, writer = await asyncio.open_unix_connection(sock.path)
            writer.write(HELLO + json.dumps({"t": "cancel", "call": took}).encode() + b"\n")
            await reader.readline()
            assert json.loads(await reader.readline())["t"] == "acked"
            assert {h.by for h in node.held.values()} == {took}
            writer.close()

    run(play)


class Unreadable(TwinNode):
    """A node whose record of one call cannot be read."""

    def call(self, call_id: str) -> CallRecord | None:
        if call_id == "unreadable":
            raise MeshError(ErrorCode.UNAVAILABLE, "The disk does not answer.")
        return super().call(call_id)


@pytest.mark.parametrize("word", ["ack", "cancel"])
def test_a_record_that_cannot_be_read_ends_no_connection_and_confirms_nothing(home: Path, word: str) -> None:
    async def play() -> None:
        node = Unreadable()
        async with serving(node, home) as sock, shim(home, node, "ada") as ada:
            await ada.initialize()
            node.session_for(os.getpid(), "bob")
            reader, writer = await asyncio.open_unix_connection(sock.path)
            said = [json.dumps({"t": word, "call": call}).encode() + b"\n" for call in ("unreadable", "unknown")]
            writer.write(HELLO + b"".join(said))
            await reader.readline()
            assert json.loads(await reader.readline())["call"] == "unknown"
            writer.close()
            assert not (await ada.call("list_peers")).refused

    run(play)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_shim_cleanly(home: Path, number: signal.Signals) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home), shim(home, node, "ada") as client:
            await client.initialize()
            await client.start_call("wait")
            await node.until(node.running)
            os.kill(client.process.pid, number)
            assert await client.process.wait() == 0
            assert await client.stdout.read() == b""
            await node.until(node.abandoned)

    run(play)


def start_without_reading(home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        shim_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=shim_env(home), bufsize=0
    )


def test_an_answer_that_never_went_out_whole_is_not_taken(home: Path) -> None:
    async def play() -> None:
        node = TwinNode()
        async with serving(node, home), shim(home, node, "ada") as ada:
            await ada.initialize()
            # Its pipe is too small for the answer, and not read before stdin is closed.
            deaf = await asyncio.to_thread(start_without_reading, home)
            assert deaf.stdin is not None
            assert deaf.stdout is not None
            node.session_for(deaf.pid, "bob")
            await ada.call("request", to="bob", text="y" * 90_000, wait_seconds=0)
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_inbox"}}
            deaf.stdin.write(json.dumps(call).encode() + b"\n")
            # The answer has begun to come out, and is stuck.
            assert await asyncio.to_thread(deaf.stdout.read, 1) == b"{"
            deaf.stdin.close()
            rest = await asyncio.to_thread(deaf.stdout.read)
            assert rest.endswith(b"}\n")
            await node.until(node.abandoned)
            assert [h.by for h in node.held.values()] == [None]
            deaf.stdout.close()
            assert await asyncio.to_thread(deaf.wait, DEADLINE_S) == 0

    run(play)
