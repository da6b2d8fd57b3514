"""How connections to the local API end: no node there, a node that stops, a caller that leaves, a call that hangs."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from node import errmap
from node.core.errors import ErrorCode
from node.grpc_setup import aio, grpc, unix_target
from node.local_api import SERVICE
from node.local_client import LocalClient
from node.local_door import Door
from node.platform import paths
from node.ports_timeline import RowFilter
from node.wire.v1 import local_pb2 as pb
from tests.local_twins import NODE, Node, played, refusal


@played
async def test_nobody_there_is_said_at_once_with_what_to_do(tmp_path: Path) -> None:
    error = await refusal(LocalClient(tmp_path).__aenter__())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)


@played
async def test_a_node_that_hangs_is_not_waited_for_long(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.token.write_text("0" * 64)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(node.socket))
        mute.listen()
        error = await refusal(LocalClient(tmp_path, patience_s=0.2).__aenter__())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)
    assert "did not answer" in error.message


@played
async def test_a_client_that_outlives_the_node_is_told(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with AsyncExitStack() as stack:
        async with node.api.serve(node.socket):
            client = await stack.enter_async_context(LocalClient(tmp_path))
            assert await client.status()
        error = await refusal(client.status())
    assert (error.code, "run `helio up`" in error.message) == (ErrorCode.NODE_NOT_RUNNING, True)


@played
async def test_a_follower_gets_rows_as_they_are_written_and_may_leave(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        async with aclosing(client.timeline(RowFilter(from_seq=4), follow=True)) as rows:
            assert (await anext(rows)).seq == 4
            await node.log.following.wait()
            await node.log.add(5)
            assert (await anext(rows)).seq == 5
            assert not node.log.left.is_set()
        await node.log.left.wait()
        assert (await client.status()).node_id == NODE


@played
async def test_a_reader_who_stops_reading_and_leaves_frees_the_node(tmp_path: Path) -> None:
    node = Node(tmp_path)
    # More than gRPC takes in ahead of the reader, so that the node is in the middle of writing.
    node.log.stored = [node.log.row(seq % 256) for seq in range(50_000)]
    async with node.up() as client:
        async with aclosing(client.timeline(RowFilter())) as rows:
            assert (await anext(rows)).seq == 0
            assert not node.log.left.is_set()
        await node.log.left.wait()


@played
async def test_a_follower_whose_task_is_cancelled_leaves_nothing_running(tmp_path: Path) -> None:
    node = Node(tmp_path)

    async def follow(client: LocalClient) -> None:
        async for _ in client.timeline(RowFilter(), follow=True):
            pass

    async with node.up() as client, asyncio.TaskGroup() as group:
        task = group.create_task(follow(client))
        await node.log.following.wait()
        task.cancel()
        await node.log.left.wait()


@played
async def test_when_the_node_stops_followers_end_well_and_waits_are_told(tmp_path: Path) -> None:
    node = Node(tmp_path)
    seen: list[int] = []

    async def follow(client: LocalClient) -> None:
        seen.extend([row.seq async for row in client.timeline(RowFilter(), follow=True)])

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        server = await stack.enter_async_context(AsyncExitStack())
        await server.enter_async_context(node.api.serve(node.socket))
        client = await stack.enter_async_context(LocalClient(tmp_path))
        following = group.create_task(follow(client))
        waiting = group.create_task(refusal(client.wait_exchange("e" * 16, 600)))
        await node.log.following.wait()
        await node.person.waiting.wait()
        await server.aclose()
        await following
        error = await waiting
    assert seen == [0, 1, 2, 3, 4]
    assert (error.code, "stopping" in error.message) == (ErrorCode.UNAVAILABLE, True)
    assert node.log.left.is_set()
    assert node.person.given_up.is_set()


@played
async def test_a_command_in_the_middle_of_its_work_is_finished_before_the_node_stops(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.person.hold = asyncio.Event()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        server = await stack.enter_async_context(AsyncExitStack())
        await server.enter_async_context(node.api.serve(node.socket))
        client = await stack.enter_async_context(LocalClient(tmp_path))
        sending = group.create_task(client.steer("e", "x"))
        await node.person.waiting.wait()
        closing = group.create_task(server.aclose())
        # It would wait for ten minutes, so its end shows that stopping has begun.
        error = await refusal(client.wait_exchange("e" * 16, 600))
        assert error.code in {ErrorCode.UNAVAILABLE, ErrorCode.NODE_NOT_RUNNING}
        node.person.hold.set()
        assert (await sending).repeated is False
        await closing


@played
async def test_a_wait_that_its_caller_gives_up_is_given_up_in_the_node(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client, asyncio.TaskGroup() as group:
        task = group.create_task(client.wait_exchange("e" * 16, 600))
        await node.person.waiting.wait()
        task.cancel()
        await node.person.given_up.wait()


@played
async def test_leaving_the_client_ends_its_calls(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.api.serve(node.socket):
        async with LocalClient(tmp_path) as client:
            rows = client.timeline(RowFilter(), follow=True)
            assert (await anext(rows)).seq == 0
        await node.log.left.wait()
        await rows.aclose()


@played
async def test_a_call_that_takes_too_long_ends_with_an_error(tmp_path: Path) -> None:
    door = Door("a" * 64)

    async def never(_given: pb.StatusRequest) -> pb.StatusResponse:
        await asyncio.Event().wait()
        raise AssertionError

    server = aio.server()
    handler = door.unary(never, pb.StatusRequest, waits_s=0.05)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Status": handler}),))
    path = paths.run_dir(tmp_path) / "s"
    server.add_insecure_port(unix_target(path))
    await server.start()
    async with aio.insecure_channel(unix_target(path)) as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.unary_unary(f"/{SERVICE}/Status")(b"", metadata=(("helio-token", "a" * 64),))
    await server.stop(0)
    error = errmap.from_rpc(caught.value)
    assert (error.code, "within 0.05 s" in error.message) == (ErrorCode.UNAVAILABLE, True)
