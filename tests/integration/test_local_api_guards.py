"""The local API's guards: the token, the socket's files, and the limits on what is taken in."""

from __future__ import annotations

import socket
import stat
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from node import codec, errmap
from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.grpc_setup import aio, grpc
from node.local_api import SERVICE
from node.local_client import LocalClient
from node.ports import NewSession
from node.ports_timeline import RowFilter
from node.wire.v1 import local_pb2 as pb
from tests.local_twins import METHODS, NODE, STREAMS, Node, played, refusal, stranger


@pytest.mark.parametrize("token", [None, b"", b"0" * 64, b"\xff\xfe"])
@played
async def test_no_method_answers_without_the_token(tmp_path: Path, token: bytes | None) -> None:
    node = Node(tmp_path)
    metadata = () if token is None else ((("helio-token-bin" if b"\xff" in token else "helio-token"), token),)
    async with node.api.serve(node.socket), stranger(node) as channel:
        for name in METHODS:
            make = channel.unary_stream if name in STREAMS else channel.unary_unary
            call = make(f"/{SERVICE}/{name}")(b"", metadata=metadata)
            with pytest.raises(aio.AioRpcError) as caught:
                await (call.read() if name in STREAMS else call)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED, name
            assert errmap.from_rpc(caught.value).code is ErrorCode.UNAUTHENTICATED, name
    assert (node.person.given, node.desk.started, node.glance.stopping.is_set()) == ([], [], False)
    assert (node.pairings.wishes, node.pairings.answers, node.among.me.former_keys) == ([], [], 0)


@played
async def test_a_client_with_a_token_from_before_is_told_so(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.api.serve(node.socket):
        right = node.token.read_text()
        node.token.write_text("0" * 64)
        async with LocalClient(tmp_path) as client:
            assert (await refusal(client.status())).code is ErrorCode.UNAUTHENTICATED
            assert (await refusal(anext(client.timeline(RowFilter())))).code is ErrorCode.UNAUTHENTICATED
        node.token.write_bytes(b"\xff\xfe")
        assert (await refusal(LocalClient(tmp_path).__aenter__())).code is ErrorCode.UNAUTHENTICATED
        node.token.unlink()
        assert (await refusal(LocalClient(tmp_path).__aenter__())).code is ErrorCode.UNAUTHENTICATED
        node.token.write_text(right)
        async with LocalClient(tmp_path) as client:
            assert (await client.status()).node_id == NODE


@played
async def test_socket_and_token_are_the_owners_alone_and_a_token_lives_as_long_as_its_server(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.api.serve(node.socket):
        first = node.token.read_text()
        assert stat.S_IMODE(node.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(node.token.stat().st_mode) == 0o600
        assert stat.S_IMODE(node.socket.parent.stat().st_mode) == 0o700
        assert len(first) == 64
    assert not node.socket.exists()
    async with node.api.serve(node.socket):
        assert node.token.read_text() != first


@played
async def test_a_socket_that_a_killed_node_left_is_replaced(tmp_path: Path) -> None:
    node = Node(tmp_path)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(node.socket))
    assert node.socket.exists()
    node.token.write_text("0" * 64)
    error = await refusal(LocalClient(tmp_path).__aenter__())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)
    # Nobody listens there, which is known without waiting.
    assert "No node listens" in error.message
    async with node.up() as client:
        assert (await client.status()).node_id == NODE


@played
async def test_a_second_server_is_refused_and_the_first_keeps_its_socket_and_token(tmp_path: Path) -> None:
    node, second = Node(tmp_path), Node(tmp_path)
    async with node.up() as client:
        token = node.token.read_text()
        async with AsyncExitStack() as stack:
            error = await refusal(stack.enter_async_context(second.api.serve(second.socket)))
        assert (error.code, "helio down" in error.message) == (ErrorCode.NODE_RUNNING, True)
        assert node.token.read_text() == token
        async with LocalClient(tmp_path) as other:
            assert await other.status() == await client.status()


@played
async def test_what_is_not_known_to_be_left_over_stays(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.socket.write_text("a letter")
    async with AsyncExitStack() as stack:
        assert (await refusal(stack.enter_async_context(node.api.serve(node.socket)))).code is ErrorCode.UNAVAILABLE
    assert node.socket.read_text() == "a letter"
    node.socket.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as foreign:
        foreign.bind(str(node.socket))
        async with AsyncExitStack() as stack:
            error = await refusal(stack.enter_async_context(node.api.serve(node.socket)))
        assert error.code is ErrorCode.UNAVAILABLE
        assert node.socket.is_socket()
    node.socket.unlink()
    node.socket.parent.chmod(0o755)
    async with AsyncExitStack() as stack:
        error = await refusal(stack.enter_async_context(node.api.serve(tmp_path / "run" / "local.sock")))
    assert (error.code, "chmod 700" in error.message) == (ErrorCode.UNAVAILABLE, True)


@played
async def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    node = Node(tmp_path)
    deep = tmp_path / ("d" * 100)
    deep.mkdir(mode=0o700)
    async with AsyncExitStack() as stack:
        error = await refusal(stack.enter_async_context(node.api.serve(deep / "local.sock")))
    assert (error.code, "bytes" in error.message) == (ErrorCode.UNAVAILABLE, True)


@played
async def test_too_much_at_once_is_refused_on_both_sides(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        error = await refusal(client.send_request("@nick2", "x" * codec.REQUEST_BYTES))
        assert error.code is ErrorCode.LIMIT
        metadata = (("helio-token", node.token.read_text()),)
        data = pb.SendRequestRequest(text="x" * codec.REQUEST_BYTES).SerializeToString()
        async with stranger(node, ("grpc.max_send_message_length", -1)) as channel:
            with pytest.raises(aio.AioRpcError) as caught:
                await channel.unary_unary(f"/{SERVICE}/SendRequest")(data, metadata=metadata)
        assert errmap.from_rpc(caught.value).code is ErrorCode.LIMIT
        assert node.person.given == []
        assert await client.send_request("@nick2", "x" * (codec.REQUEST_BYTES - 1_000))


@played
async def test_more_calls_than_the_limit_are_refused_until_some_end(tmp_path: Path) -> None:
    node = Node(tmp_path, Limits(connections=2))
    async with node.up() as client, AsyncExitStack() as stack:
        for _ in range(2):
            rows = await stack.enter_async_context(aclosing(client.timeline(RowFilter(), follow=True)))
            assert (await anext(rows)).seq == 0
        assert (await refusal(client.status())).code is ErrorCode.LIMIT
        await stack.aclose()
        await node.log.left.wait()


@played
async def test_garbage_and_unknown_methods_do_no_harm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    node = Node(tmp_path)
    async with node.up() as client, stranger(node) as channel:
        right, wrong = (("helio-token", node.token.read_text()),), (("helio-token", "0" * 64),)
        for name, metadata, code in (
            ("Status", right, ErrorCode.INVALID_ARGUMENT),
            ("Status", wrong, ErrorCode.UNAUTHENTICATED),
            ("Format", right, ErrorCode.UNSUPPORTED),
        ):
            with pytest.raises(aio.AioRpcError) as caught:
                await channel.unary_unary(f"/{SERVICE}/{name}")(b"\xff\xff\xff", metadata=metadata)
            assert errmap.from_rpc(caught.value).code is code
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.unary_stream(f"/{SERVICE}/ReadTimeline")(b"\xff", metadata=right).read()
        assert errmap.from_rpc(caught.value).code is ErrorCode.INVALID_ARGUMENT
        assert (await client.status()).node_id == NODE
    # Nothing that a stranger sends fills the log.
    assert [record for record in caplog.records if record.name != "asyncio"] == []


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb"])
@played
async def test_text_that_is_no_text_is_refused_before_it_leaves(tmp_path: Path, text: str) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        for call in (
            client.send_request("@nick2", text),
            client.rename_session("@nick2", text),
            client.run_session(NewSession(argv=("a",), cwd="/", env=(("X", text),))),
            client.wait_exchange("e" * 16, -1),
            anext(client.timeline(RowFilter(from_seq=-1))),
        ):
            assert (await refusal(call)).code is ErrorCode.INVALID_ARGUMENT
    assert (node.person.given, node.desk.started) == ([], [])
