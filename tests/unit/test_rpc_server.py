"""How the node-to-node port counts the connections that never came to a call."""

from __future__ import annotations

import asyncio
import socket

from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.rpc_server import Handshakes, MeshServer
from tests.integration.mesh import refused, scenario
from tests.peer_twin import TrustTwin, person, server_of, serving


def test_those_that_speak_in_time_do_not_count() -> None:
    made = Handshakes(within_s=5)
    for _ in range(3):
        made.begun()
    made.spoke("a:1", 1)
    made.spoke("a:1", 2)
    made.spoke("a:2", 2)
    assert made.failed(5.9) == 0
    assert made.failed(6) == 1
    assert made.failed(100) == 0


def test_each_has_its_own_time() -> None:
    made = Handshakes(within_s=5)
    made.begun()
    assert made.failed(0) == 0
    made.begun()
    assert made.failed(4) == 0
    assert made.failed(5) == 1
    assert made.failed(9) == 1


def test_an_address_that_rested_for_long_is_another_connection() -> None:
    made = Handshakes(within_s=5)
    made.begun()
    made.spoke("a:1", 0)
    assert made.failed(61) == 0
    made.begun()
    made.spoke("a:1", 62)
    assert made.failed(100) == 0
    made.begun()
    made.spoke("a:1", 101)
    assert made.failed(102) == 0
    assert made.failed(110) == 1


def server() -> MeshServer:
    trust = TrustTwin()
    return server_of(person(), trust, Limits())


@scenario
async def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with refused(ErrorCode.UNAVAILABLE, f"port {port}", "[mesh] in config.toml"):
            async with server().serve("127.0.0.1", port):
                raise AssertionError


@scenario
async def test_two_nodes_do_not_share_a_port() -> None:
    async with serving(person(), TrustTwin()) as port:
        with refused(ErrorCode.UNAVAILABLE, f"port {port}"):
            async with server().serve("127.0.0.1", port):
                raise AssertionError


@scenario
async def test_only_addresses_are_listened_at() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "'localhost'"):
        async with server().serve("localhost", 0):
            raise AssertionError


@scenario
async def test_what_the_block_raises_leaves_it_as_it_was() -> None:
    with refused(ErrorCode.UNAVAILABLE, "port"):
        async with serving(person(), TrustTwin()) as port, server().serve("127.0.0.1", port):
            raise AssertionError
    assert asyncio.current_task() is not None
