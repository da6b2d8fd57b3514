"""Nodes of which only discovery runs, on a loopback of their own, and a wire on which anybody can say anything."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import wraps

from zeroconf import DNSOutgoing, ServiceInfo
from zeroconf.asyncio import AsyncZeroconf

from node.config import MeshConfig
from node.core.lan import Interface
from node.core.limits import Limits
from node.core.sightings import text_of
from node.discovery import Discovery
from node.mdns import SERVICE, host
from node.platform import IS_DARWIN, clocks, interfaces
from node.platform.local_network import GROUP_V4, PORT
from tests.fake_model.alone import alone
from tests.waiting import until

LOOP = "lo0" if IS_DARWIN else "lo"
A, B, C = "a" * 64, "b" * 64, "c" * 64
RESPONSE = 0x8400


def scenario(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Runs the test where it meets nobody."""

    @wraps(test)
    def run() -> None:
        async def work() -> None:
            async with asyncio.timeout(60):
                await test()

        alone(lambda: asyncio.run(work()))

    return run


@dataclass(slots=True)
class Clock:
    """Implements ports.Clock: the real one, put forward by sleeps that nobody else noticed."""

    slept_s: int = 0

    def wall_us(self) -> int:
        return clocks.wall_us()

    def boottime_us(self) -> int:
        return clocks.boottime_us() + self.slept_s * 1_000_000


@dataclass(slots=True)
class Ears:
    """Implements discovery.Listener."""

    said: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def heard(self, prefix: str, addresses: Sequence[str]) -> None:
        self.said.append((prefix[:1], tuple(addresses)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A discovery that runs until `stop`."""

    discovery: Discovery
    ears: Ears
    clock: Clock
    running: asyncio.Task[None]

    async def stop(self) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])

    async def hears(self, who: str, *addresses: str) -> None:
        await until(lambda: (who[:1], addresses) in self.ears.said, f"{who[:1]} at {addresses}", seconds=8)

    async def announced(self) -> None:
        await until(lambda: self.discovery.state().announced, "announced")


def loopback(address: str = "127.0.0.1", *, name: str = LOOP) -> Interface:
    return Interface(
        name=name, index=1, addresses=(address,), up=True, multicast=False, point_to_point=False, loopback=True
    )


def loopbacks() -> tuple[Interface, ...]:
    """This machine's own, by IPv4 alone."""
    return tuple(replace(one, addresses=one.addresses[:1]) for one in interfaces.interfaces() if one.loopback)


@asynccontextmanager
async def node(
    spki: str,
    *,
    port: int | None = 4354,
    config: MeshConfig | None = None,
    keep: Callable[[str], bool] = lambda _: False,
    survey: Callable[[], Sequence[Interface]] = loopbacks,
    watch_s: float = 0.1,
    engine: Callable[..., AsyncZeroconf] = AsyncZeroconf,
) -> AsyncIterator[Node]:
    ears, clock = Ears(), Clock()
    discovery = Discovery(
        spki=spki, port=port, version="0.1.0", name="Ada's Mac", config=config or MeshConfig(interfaces=(LOOP,)),
        limits=Limits(), clock=clock, keep=keep, listener=ears, survey=survey, watch_s=watch_s, engine=engine,
    )  # fmt: skip
    async with asyncio.TaskGroup() as tasks:
        made = Node(discovery=discovery, ears=ears, clock=clock, running=tasks.create_task(discovery.run()))
        try:
            yield made
        finally:
            await made.stop()


class Wire:
    """Reads and writes packets as anybody on the network can."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind((GROUP_V4, PORT))
        member = struct.pack("4s4s", socket.inet_aton(GROUP_V4), socket.inet_aton("127.0.0.1"))
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        self._socket.setblocking(False)

    def __enter__(self) -> Wire:
        asyncio.get_running_loop().add_reader(self._socket, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    def _read(self) -> None:
        self.packets.append(self._socket.recv(9_000))

    def send(self, packet: bytes) -> None:
        self._socket.sendto(packet, (GROUP_V4, PORT))

    def announcements(self) -> int:
        return sum(len(packet) > 12 and packet[2] & 0x80 != 0 for packet in self.packets)


def announcement(instance: str, *addresses: str, server: str = "", ttl: int | None = None, port: int = 9) -> bytes:
    info = ServiceInfo(
        SERVICE, f"{instance}.{SERVICE}", port=port, properties=text_of(instance, "0.1.0", ""),
        server=server or host(instance), parsed_addresses=list(addresses),
    )  # fmt: skip
    out = DNSOutgoing(RESPONSE)
    for record in (
        info.dns_pointer(override_ttl=ttl),
        info.dns_service(override_ttl=ttl),
        info.dns_text(override_ttl=ttl),
        *info.dns_addresses(override_ttl=ttl),
    ):
        out.add_answer_at_time(record, 0)
    (packet,) = out.packets()
    return packet
