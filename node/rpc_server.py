"""The node-to-node port: gRPC over mutual TLS with the pinned certificates of peers as its roots (see rpc_roots).

Whoever is not pinned is turned away in the handshake, of which gRPC tells Python no more than that it began.
docs/adr/0033-links.md says what follows from that.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Final

from node import codec_mesh
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Beat, Greeting, NodeKey
from node.core.row_codes import RowReason
from node.grpc_setup import aio, grpc, listening_target
from node.ports import Clock
from node.ports_mesh import Calls, Pins
from node.rpc_dial import UNREAD_BYTES
from node.rpc_gate import Caller, Gate, Handlers
from node.rpc_roots import Roots
from node.version import VERSION
from node.wire.v1 import mesh_pb2 as pb

SERVICE: Final = "node.wire.v1.MeshService"
GRACE_SECONDS: Final = 1.0
# A peer's link pings every 10 s. One that pings more often than this is told off and cut.
LEAST_PING_MS: Final = 5_000
_PING_MS: Final = 20_000
_PING_TIMEOUT_MS: Final = 10_000
# A connection on which nothing is called is not a link; one that lives for long shows its certificate anew.
_IDLE_MS: Final = 60_000
_AGE_MS: Final = 3_600_000
_AGE_GRACE_MS: Final = 10_000
_TICK_S: Final = 1.0
# No client's port comes back sooner than this, so an address means one connection meanwhile.
_PORT_RESTS_S: Final = 60.0


class Handshakes:
    """Counts connections that never came to a call: refused in the handshake, broken off, or silent.

    `begun` may be called by any thread, the rest by one.
    """

    def __init__(self, *, within_s: float) -> None:
        self._within_s = within_s
        self._lock = threading.Lock()
        self._begun = 0
        self._waiting: deque[tuple[float, int]] = deque()
        self._heard: OrderedDict[str, float] = OrderedDict()

    def begun(self) -> None:
        """A connection came in."""
        with self._lock:
            self._begun += 1

    def spoke(self, address: str, now: float) -> None:
        """A call came from there."""
        known = address in self._heard
        self._heard[address] = now
        self._heard.move_to_end(address)
        if not known:
            self._settle(now)
            if self._waiting:
                since, count = self._waiting.popleft()
                if count > 1:
                    self._waiting.appendleft((since, count - 1))

    def failed(self, now: float) -> int:
        """How many have had their time since this was asked last, and have not been heard of."""
        self._settle(now)
        while self._heard and next(iter(self._heard.values())) + _PORT_RESTS_S < now:
            self._heard.popitem(last=False)
        gone = 0
        while self._waiting and self._waiting[0][0] + self._within_s <= now:
            gone += self._waiting.popleft()[1]
        return gone

    def _settle(self, now: float) -> None:
        with self._lock:
            count, self._begun = self._begun, 0
        if count:
            self._waiting.append((now, count))


class MeshServer:
    """The port that peers call: `async with server.serve(host, port) as bound: ...`.

    Handlers of other services are made by its `gate`, too: there is no other way in.
    """

    def __init__(self, *, own: NodeKey, trust: Pins, calls: Calls, clock: Clock, limits: Limits, roots: Roots) -> None:
        self._own = own
        self._roots = roots
        self._served: tuple[NodeKey, str] | None = None
        self._trust = trust
        self._calls = calls
        self._clock = clock
        self._limits = limits
        self._handshakes = Handshakes(within_s=limits.mesh_handshake_s + _TICK_S)
        self._lock = threading.Lock()
        self._fresh: grpc.ServerCertificateConfiguration | None = None
        self.gate = Gate(trust=trust, limits=limits, spoke=self._spoke)

    @asynccontextmanager
    async def serve(self, host: str, port: int, more: Handlers = MappingProxyType({})) -> AsyncIterator[int]:
        """Serves at a literal address ("" for all) for the length of the block; gives the port, which 0 leaves open.

        `more` are handlers of other services. UNAVAILABLE when the system refuses the address. Afterwards all calls
        have ended.
        """
        server = aio.server(options=self._options(), maximum_concurrent_rpcs=2 * self._limits.mesh_connections)
        server.add_generic_rpc_handlers((_Methods({**self._handlers(), **more}, self.gate.unknown()),))
        await self._roots.prepare()
        self._served = self._wanted()
        credentials = grpc.dynamic_ssl_server_credentials(
            _configuration(*self._served),
            self._fetch,  # type: ignore[arg-type]  # None is allowed, the stubs do not know it
            require_client_authentication=True,
        )
        try:
            bound = server.add_secure_port(listening_target(host, port), credentials)
        except RuntimeError as error:
            # gRPC says no more than that.
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"The node cannot listen for its peers at {host or 'any address'}, port {port}: the system refused "
                "it. Another program may have that port; set another one under [mesh] in config.toml.",
                {"port": port},
            ) from error
        await server.start()
        try:
            async with asyncio.TaskGroup() as group:
                work = [
                    group.create_task(task)
                    for task in (self._follow_trust(), self._take_turns(), self._count_handshakes())
                ]
                try:
                    yield bound
                finally:
                    self.gate.close()
                    await server.stop(GRACE_SECONDS)
                    for task in work:
                        task.cancel()
        except BaseExceptionGroup as failed:
            if len(failed.exceptions) > 1:
                raise
            # What the block raised leaves it as it was.
            raise failed.exceptions[0] from None

    def _handlers(self) -> Handlers:
        return {
            f"/{SERVICE}/Greet": self.gate.unary(self._greet, pb.GreetRequest),
            f"/{SERVICE}/Attend": self.gate.stream(self._attend, pb.AttendRequest),
            f"/{SERVICE}/Rekey": self.gate.unary(self._rekey, pb.RekeyRequest),
        }

    async def _greet(self, caller: Caller, given: pb.GreetRequest) -> pb.GreetResponse:
        codec_mesh.version_from_wire(given)
        return codec_mesh.greeting_to_wire(
            Greeting(
                version=VERSION,
                grants=self._calls.grants_for(caller.peer),
                now_us=self._clock.wall_us(),
                tls=caller.tls,
                group=caller.group,
                issued=self._roots.issue(caller.peer, caller.presented),
            )
        )

    async def _attend(self, caller: Caller, given: pb.AttendRequest) -> AsyncGenerator[pb.AttendResponse, None]:
        codec_mesh.version_from_wire(given)
        number = 0
        while True:
            seen = self._trust.generation
            # Once the peer is not pinned any more, the gate is about to end this.
            peer = self._trust.pinned(caller.spki) or caller.peer
            grants = self._calls.grants_for(peer)
            number += 1
            yield codec_mesh.beat_to_wire(Beat(number=number, now_us=self._clock.wall_us(), grants=grants))
            try:
                async with asyncio.timeout(self._limits.link_beat_s):
                    while self._calls.grants_for(self._trust.pinned(caller.spki) or peer) == grants:
                        seen = await self._trust.next_change(seen)
            except TimeoutError:
                continue

    async def _rekey(self, caller: Caller, given: pb.RekeyRequest) -> pb.RekeyResponse:
        new = codec_mesh.new_key_from_wire(given)
        await self._trust.rekeyed(caller.peer.id, new.certificate, new.statement, new.signature)
        return pb.RekeyResponse()

    async def _follow_trust(self) -> None:
        seen = self._trust.generation
        while True:
            self._refresh()
            self.gate.enforce()
            if await self._roots.prepare():
                self._refresh()
            seen = await self._trust.next_change(seen)

    async def _take_turns(self) -> None:
        while True:
            await asyncio.sleep(self._limits.peers_turn_s)
            self._roots.next_turn()
            self._refresh()

    async def _count_handshakes(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            for _ in range(self._handshakes.failed(asyncio.get_running_loop().time())):
                await self.gate.note(RowReason.HANDSHAKE_FAILED, "", "")

    def _refresh(self) -> None:
        wanted = self._wanted()
        if wanted == self._served:
            return
        self._served = wanted
        configuration = _configuration(*wanted)
        with self._lock:
            self._fresh = configuration

    def _wanted(self) -> tuple[NodeKey, str]:
        # With no roots at all gRPC would take those of the system.
        return self._own, self._roots.text() or self._own.certificate

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Called by a thread of gRPC's at the beginning of each handshake; None leaves everything as it was."""
        self._handshakes.begun()
        with self._lock:
            fresh, self._fresh = self._fresh, None
        return fresh

    def _spoke(self, address: str) -> None:
        self._handshakes.spoke(address, asyncio.get_running_loop().time())

    def _options(self) -> tuple[tuple[str, int], ...]:
        return (
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", self._limits.mesh_message_bytes),
            ("grpc.max_send_message_length", self._limits.mesh_message_bytes),
            # With frames of 16 KB, as they are otherwise, a file takes a fifth longer.
            ("grpc.http2.max_frame_size", self._limits.mesh_message_bytes),
            # Else it takes in ever more of what nobody has read yet.
            ("grpc.http2.bdp_probe", 0),
            ("grpc.http2.lookahead_bytes", UNREAD_BYTES),
            ("grpc.max_allowed_incoming_connections", self._limits.mesh_connections),
            ("grpc.max_concurrent_streams", 2 * self._limits.mesh_calls_per_peer),
            ("grpc.server_handshake_timeout_ms", 1_000 * self._limits.mesh_handshake_s),
            ("grpc.http2.settings_timeout", 1_000 * self._limits.mesh_handshake_s),
            ("grpc.max_connection_idle_ms", _IDLE_MS),
            ("grpc.max_connection_age_ms", _AGE_MS),
            ("grpc.max_connection_age_grace_ms", _AGE_GRACE_MS),
            ("grpc.keepalive_time_ms", _PING_MS),
            ("grpc.keepalive_timeout_ms", _PING_TIMEOUT_MS),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.min_ping_interval_without_data_ms", LEAST_PING_MS),
        )


class _Methods(grpc.GenericRpcHandler):
    """Every method there is, and one answer for all that there are not."""

    def __init__(self, known: Handlers, unknown: grpc.RpcMethodHandler[Any, Any]) -> None:
        self._known = known
        self._unknown = unknown

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        return self._known.get(handler_call_details.method, self._unknown)


def _configuration(own: NodeKey, roots: str) -> grpc.ServerCertificateConfiguration:
    pair = (own.key, own.certificate.encode("ascii"))
    return grpc.ssl_server_certificate_configuration([pair], roots.encode("ascii"))
